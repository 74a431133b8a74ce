/* Child processes with limits. No shell: argv is executed as it is. */
#ifndef KILN_BASE_PROCESS_H
#define KILN_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/core.h"

typedef struct kiln_process_options {
    const char *const
        *argv;       /* NULL-terminated; argv[0] without a slash is looked up in PATH */
    const char *dir; /* working folder; NULL: ours. A relative argv[0] starts there */
    const char *const *env; /* NULL-terminated NAME=value added to ours; NULL: none */
    kiln_str input;         /* standard input; empty: end of file at once */
    int64_t time_limit_ms;  /* wall clock, then SIGKILL to the whole group; 0: none */
    int64_t cpu_limit_s;    /* RLIMIT_CPU: SIGXCPU, a second later SIGKILL; 0: none */
    /* RLIMIT_DATA: private writable memory, not address space; 0: none. A program under
     * AddressSanitizer or ThreadSanitizer does not start under it: their shadow counts.
     */
    uint64_t data_limit_bytes;
    size_t output_limit_bytes; /* kept per stream; the rest is read and dropped; 0: 1
                                  MiB */
    /* Called with what the child writes to stream 1 or 2, as it comes, and whether or
     * not it is kept; after a second in which it wrote nothing, with stream -1. NULL:
     * nobody listens. */
    void (*heard)(void *user, int stream, const char *bytes, size_t n);
    void *user;
} kiln_process_options;

typedef enum kiln_process_end {
    KILN_PROCESS_EXITED,   /* `code` is the exit code */
    KILN_PROCESS_SIGNALED, /* `code` is the signal */
    KILN_PROCESS_TIMED_OUT /* killed by time_limit_ms */
} kiln_process_end;

typedef struct kiln_process_result {
    kiln_process_end end;
    int code;
    kiln_str out, err;     /* in the arena, terminated; may hold any byte */
    bool out_cut, err_cut; /* the limit was reached */
    int64_t wall_ms;
    /* Of the child, and at least our own at its start: Linux counts from the fork. A
     * small child of a large parent that must know reads VmHWM in /proc/self/status
     * itself. */
    int64_t peak_rss_bytes;
} kiln_process_result;

/* Runs to the end. Fails (KILN_ERR_IO) only when the child could not be started, or
 * when we were interrupted (interrupt.h) and so killed it; how it ended is in the
 * result. The child is in its own process group, gets no descriptor but
 * 0, 1, 2, default signal handling and no core dumps. What it leaves running in its
 * group is killed when it ends; it is killed itself when the calling thread dies. */
kiln_status kiln_process_run(kiln_arena *a, const kiln_process_options *o,
                             kiln_process_result *out, kiln_err *err);

/* When the process started, in clock ticks since the system did: with its number it
 * names one process among all of this boot. 0: there is none, or only what its parent
 * has not collected yet. */
uint64_t kiln_process_start(int64_t pid);

/* Monotonic clock. */
int64_t kiln_now_ns(void);

#endif
