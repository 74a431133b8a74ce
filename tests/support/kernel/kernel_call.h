/* One call of a compiled kernel with everything around its memory watched. Plain C over
 * runtime/ alone: it is part of the test programs and of the runner that works under an
 * emulator (tests/tools/kernel_runner_linux.c). */
#ifndef KILN_TESTS_SUPPORT_KERNEL_KERNEL_CALL_H
#define KILN_TESTS_SUPPORT_KERNEL_KERNEL_CALL_H

#include "runtime/kernel.h"

enum { KERNEL_MAX_ARGS = 16, KERNEL_MAX_THREADS = 4, KERNEL_TEXT = 160 };

typedef struct kernel_call {
    int n_args, n_inputs;
    void *const *tensor; /* inputs are read, outputs written */
    const size_t *bytes;
    size_t workspace_bytes, scratch_bytes; /* scratch: of each thread */
    int n_threads;                         /* 0, 1: without a pool */
} kernel_call;

/* Copies the inputs into guarded memory; outputs, workspace and scratch start as 0xFF
 * bytes: NaN for floats. Afterwards canaries beside every buffer and the inputs must be
 * as they were, and outputs are copied back. 0, or `text` says what is wrong. */
int kernel_call_run(const kernel_call *c, kiln_kernel_fn *fn, char text[KERNEL_TEXT]);

/* ---- what the runner reads from standard input and writes to standard output ---- */

enum { KERNEL_MAGIC = 0x6b696c6e, KERNEL_NAME = 64 };

/* Then the object (0 bytes: the one of the job before), then the inputs. */
typedef struct kernel_job {
    uint32_t magic, n_args, n_inputs, n_threads;
    uint64_t object_bytes, workspace_bytes, scratch_bytes;
    uint64_t bytes[KERNEL_MAX_ARGS];
    char name[KERNEL_NAME];
} kernel_job;

/* Then, where status is 0, the outputs. */
typedef struct kernel_reply {
    uint32_t magic;
    int32_t status;
    char text[KERNEL_TEXT];
} kernel_reply;

#endif
