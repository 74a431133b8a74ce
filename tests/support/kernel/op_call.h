/* One kernel called in the test's own process, on random arguments, guarded and
 * poisoned, and held against the reference. What kiln itself measures, other processes
 * run (pipeline/measure). */
#ifndef KILN_TESTS_SUPPORT_KERNEL_OP_CALL_H
#define KILN_TESTS_SUPPORT_KERNEL_OP_CALL_H

#include "compiler/network/network_kernel.h"
#include "pipeline/kernels/kernels_compare.h"
#include "runtime/loader.h"
#include "runtime/pool.h"

/* Who runs kernels. Zeroed: the caller alone. */
typedef struct kiln_test_team {
    kiln_pool *pool; /* closed with the arena; NULL: parallel loops run in place */
} kiln_test_team;
/* n >= 1 threads, each on a CPU of its own where there are so many. */
kiln_test_team kiln_test_team_open(kiln_arena *a, int n);

/* Makes a kernel of kiln_kernel_make callable, until the arena is reset.
 * KILN_ERR_UNSUPPORTED where this machine cannot run the profile's code. */
kiln_status kiln_test_kernel_load(kiln_arena *a, const kiln_profile *p,
                                  const kiln_kernel *k, kiln_kernel_fn **out,
                                  kiln_err *err);

typedef struct kiln_test_guarded {
    unsigned char *whole, *data; /* data: page-aligned, canaries on both sides */
    size_t bytes;
} kiln_test_guarded;

typedef struct kiln_test_call {
    const kiln_kernel *kernel;
    kiln_kernel_fn *fn;
    kiln_tensor *plain;     /* row-major, by graph value id; inputs and constants */
    kiln_test_guarded *arg; /* the kernel's arguments, packed */
    uint64_t *hash;         /* of each input's bytes, before any call */
    kiln_test_guarded workspace;
    kiln_test_guarded *scratch; /* of each thread */
    void **tensor, **scratch_data;
    kiln_args args;
    kiln_test_team team;
} kiln_test_call;

/* fn: of kiln_test_kernel_load. Random inputs by `seed`; outputs, workspace and scratch are
 * poisoned (NaN). */
kiln_status kiln_test_call_new(kiln_arena *a, const kiln_kernel *k, kiln_kernel_fn *fn,
                               kiln_test_team team, uint64_t seed, kiln_test_call *out,
                               kiln_err *err);
/* Runs the kernel once on poisoned memory and compares with the reference: all elements
 * where that is cheap, else corners, edges and 4096 random ones. Wrong is a verdict,
 * not an error; KILN_ERR_UNSUPPORTED: a graph whose bound is not known. */
kiln_status kiln_test_call_check(kiln_arena *a, kiln_test_call *c, uint64_t seed,
                                 kiln_verdict *out, kiln_err *err);

#endif
