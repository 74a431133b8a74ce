/* One kernel called on random arguments, guarded and poisoned, and held against the
 * reference. */
#ifndef KILN_PIPELINE_KERNELS_CALL_H
#define KILN_PIPELINE_KERNELS_CALL_H

#include "compiler/network/kernel.h"
#include "compiler/reference/reference.h"
#include "pipeline/kernels/team.h"
#include "runtime/loader.h"

/* Makes a kernel of kiln_kernel_make callable, until the arena is reset.
 * KILN_ERR_UNSUPPORTED where this machine cannot run the profile's code. */
kiln_status kiln_kernel_load(kiln_arena *a, const kiln_profile *p, const kiln_kernel *k,
                             kiln_kernel_fn **out, kiln_err *err);

typedef struct kiln_guarded {
    unsigned char *whole, *data; /* data: page-aligned, canaries on both sides */
    size_t bytes;
} kiln_guarded;

typedef struct kiln_call {
    const kiln_kernel *kernel;
    kiln_kernel_fn *fn;
    kiln_tensor *plain; /* row-major, by graph value id; inputs and constants */
    kiln_guarded *arg;  /* the kernel's arguments, packed */
    uint64_t *hash;     /* of each input's bytes, before any call */
    kiln_guarded workspace;
    kiln_guarded *scratch; /* of each thread */
    void **tensor, **scratch_data;
    kiln_args args;
    kiln_team team;
} kiln_call;

/* fn: of kiln_kernel_load. Random inputs by `seed`; outputs, workspace and scratch are
 * poisoned (NaN). */
kiln_status kiln_call_new(kiln_arena *a, const kiln_kernel *k, kiln_kernel_fn *fn,
                          kiln_team team, uint64_t seed, kiln_call *out, kiln_err *err);
/* Poisons everything that the kernel may write, again. */
void kiln_call_poison(kiln_call *c);
int kiln_call_run(kiln_call *c); /* the kernel's result: 0 is good */

typedef struct kiln_verdict {
    bool ok;
    const char *problem; /* "" when ok */
    double worst;        /* largest |got - want| / bound; 0 where all are equal */
    double max_abs;      /* largest |got - want| */
    int64_t n_checked, n_elems;
} kiln_verdict;
/* Runs the kernel once on poisoned memory and compares with the reference: all elements
 * where that is cheap, else corners, edges and 4096 random ones. Wrong is a verdict,
 * not an error; KILN_ERR_UNSUPPORTED: a graph whose bound is not known. */
kiln_status kiln_call_check(kiln_arena *a, kiln_call *c, uint64_t seed,
                            kiln_verdict *out, kiln_err *err);

/* Holds one output, row-major, against what it must be; adds to the verdict. */
void kiln_expected_compare(kiln_arena *a, const kiln_expected *want,
                           const kiln_tensor *got, const char *name, kiln_verdict *out);

#endif
