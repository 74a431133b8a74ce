/* Compiled code on every machine that can run it here: this one for the profiles that
 * it runs, and others in emulators (qemu-aarch64 with build/aarch64/kernel_runner and
 * the like, which make builds where there is a cross compiler). */
#ifndef KILN_TESTS_SUPPORT_KERNEL_CODE_RUN_H
#define KILN_TESTS_SUPPORT_KERNEL_CODE_RUN_H

#include "compiler/codegen/codegen.h"

/* The profiles whose code runs here, by number; NULL past the end. The first call finds
 * them, and prints which do not run and why. */
const kiln_profile *code_profile_at(int i);
/* Differs from another by dot products alone: programs without them are the same there.
 */
bool code_is_variant(const kiln_profile *p);
/* Does what runs the profile's code here convert vectors of floats to integers? QEMU
 * before 8 ends with an assertion at RISC-V's conversions towards zero, unless a vector
 * operation on floats came just before (QEMU's issue 1441). */
bool code_converts(const kiln_profile *p);
/* Those that do not: for tests that would skip. NULL past the end. */
const char *code_missing_at(int i);

/* A kernel that was loaded. */
typedef struct code_kernel code_kernel;
/* Compiles; fails the test where that does not succeed. */
code_kernel *code_compile(kiln_arena *a, const kiln_program *p,
                          const kiln_profile *prof);
/* Calls it with the tensors of its program's arguments: see kernel_call_run for what is
 * watched. What goes wrong fails the test with `what`. */
void code_call(const code_kernel *k, void *const *tensor, const char *what);
/* On a pool of so many threads, up to KERNEL_MAX_THREADS. */
void code_call_threads(const code_kernel *k, void *const *tensor, int n_threads,
                       const char *what);
void code_close(code_kernel *k);

#endif
