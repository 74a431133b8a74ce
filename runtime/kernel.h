/* The kernel ABI: how compiled kernels are called. Part of what ships to a device:
 * plain C, includes nothing.
 *
 * A kernel is `int f(const kiln_args *, kiln_ctx *)` with C linkage. It returns 0, or a
 * code of its own that the caller reports (1: parallel_for failed). It imports nothing:
 * all it needs comes through the context.
 */
#ifndef KILN_RUNTIME_KERNEL_H
#define KILN_RUNTIME_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* Layout is fixed: generated code addresses the fields by offset (asserted in
 * kernel_abi.c). */
typedef struct kiln_args {
    void *const *tensor; /* inputs, then outputs; 64-byte aligned, in the layout of the
                            program's buffers */
    void *workspace; /* workspace_bytes of the kernel, 64-byte aligned; shared by its
                        threads */
} kiln_args;

typedef struct kiln_ctx kiln_ctx;
/* One part of a parallel loop: iterations [begin, end), `scratch` is this thread's own
 * (64-byte aligned). */
typedef int kiln_parallel_fn(const kiln_args *args, kiln_ctx *ctx, void *closure,
                             int64_t begin, int64_t end, void *scratch);

struct kiln_ctx {
    /* Runs fn over [0, n) split among threads; returns the first non-zero result, or 0.
     */
    int (*parallel_for)(kiln_ctx *ctx, kiln_parallel_fn *fn, const kiln_args *args,
                        void *closure, int64_t n);
    void *scratch; /* of the calling thread: scratch_bytes of the kernel */
    int32_t n_threads;
    int32_t reserved;
};

typedef int kiln_kernel_fn(const kiln_args *args, kiln_ctx *ctx);

#endif
