/* Shared inside compiler/reference: evaluating one node on wide tensors, and checks. */
#ifndef KILN_COMPILER_REFERENCE_REFERENCE_INTERNAL_H
#define KILN_COMPILER_REFERENCE_REFERENCE_INTERNAL_H

#include <math.h>
#include <string.h>

#include "compiler/reference/reference.h"

enum { KILN_REF_MAX_DEPTH = 32 }; /* regions inside regions: bounds the C stack */

/* Largest value that is evaluated, in elements: 16 GiB in wide form. */
#define KILN_REF_MAX_ELEMS ((int64_t)1 << 31)

/* KILN_ERR_UNSUPPORTED for a blocked or permuted layout, KILN_ERR_LIMIT for a value
 * that is too large; the message starts with `what` 'name'. */
kiln_status kiln_ref_check_type(const kiln_type *t, const char *what, const char *name,
                                kiln_err *err);
/* KILN_ERR_SHAPE unless `got` has the dtype, shape and layout of `want`. */
kiln_status kiln_ref_check_same(const kiln_type *want, const kiln_type *got,
                                const char *what, const char *name, kiln_err *err);

/* One evaluation of a node. */
typedef struct kiln_ref_eval {
    kiln_arena *scratch; /* outputs and all that eval_ref needs; the caller resets it */
    const kiln_wide *in; /* n->n_in; absent: f and i NULL */
    kiln_wide *out;      /* n->n_out, made here; not rounded yet */
    const int64_t *pick; /* as in kiln_eval_cx */
    int64_t n_pick;
    bool is_magnitude; /* as in kiln_eval_cx */
    int depth;         /* of the graph that holds the node: 0 outside of regions */
    kiln_rng *noise;   /* regions err by it; NULL: exact */
} kiln_ref_eval;

kiln_status kiln_ref_eval_wide(const kiln_node *n, kiln_ref_eval *e, kiln_err *err);

/* Is `given` what input k of the node must be? */
kiln_status kiln_ref_check_input(const kiln_node *n, int k, const kiln_tensor *given,
                                 kiln_err *err);
/* Wide copies of a node's native inputs, in `a`: n->n_in entries of *out. An input with
 * data == NULL is absent, unless the operator reads types only. */
kiln_status kiln_ref_widen_inputs(kiln_arena *a, const kiln_node *n,
                                  const kiln_tensor *in, kiln_wide **out,
                                  kiln_err *err);

/* Runs a region on wide inputs; the outputs are made in `a`. With `noise` its operators
 * err as a lane's. */
kiln_status kiln_ref_run_region(kiln_arena *a, const kiln_graph *region,
                                const kiln_wide *in, kiln_wide *out, int depth,
                                kiln_rng *noise, kiln_err *err);

/* ---- what arithmetic may do (pick.c, noise_f64.c, reference_lanes.c) -------------------------- */

/* How close a float dtype's values lie. */
typedef struct kiln_ref_spacing {
    int min_exponent; /* of the smallest normal number, as frexp counts */
    int bits;         /* of the mantissa */
} kiln_ref_spacing;
kiln_ref_spacing kiln_ref_spacing_of(kiln_dtype dtype);

/* The exponent as frexp counts; of zero and what is smaller than a normal double, below
 * every dtype's. Elements are many, so this and the next are not left to the library. */
static inline int kiln_ref_exponent(double v) {
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    return (int)(bits >> 52 & 0x7FF) - 1022;
}

static inline double kiln_ref_power_of_two(int k) {
    if (k < -1022 || k > 1023)
        return ldexp(1.0, k);
    const uint64_t bits = (uint64_t)(k + 1023) << 52;
    double v = 0;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Distance between neighbours at v: the spacing of the binade that holds |v|. */
static inline double kiln_ref_ulp_at(kiln_ref_spacing s, double v) {
    const int exponent = kiln_ref_exponent(v);
    return kiln_ref_power_of_two(
        (exponent > s.min_exponent ? exponent : s.min_exponent) - s.bits);
}
/* Of `dtype`; 1 where it is no float. */
double kiln_ref_ulp(kiln_dtype dtype, double v);
/* All floats of a node's inputs by their absolute value: what a magnitude is made of.
 */
void kiln_ref_make_absolute(const kiln_node *n, kiln_wide *in);
/* Puts an error on unrounded output k. `magnitude` (of a DOT bound): the same output
 * of absolute inputs; NULL: taken from the typical size of its elements. `elsewhere`:
 * as other engines may err. */
void kiln_ref_add_noise(const kiln_node *n, const kiln_wide *magnitude, bool elsewhere,
                        kiln_wide *w, kiln_rng *noise);
/* Does output k of n leap where an input crosses a boundary? */
bool kiln_ref_leaps(const kiln_node *n, int k);
/* Moves one float input's lanes (lane[j], j < n) to both sides of where they are, by
 * how far `smooth`, the lane in which nothing leaps, lies from `base`. `salt`: of all
 * the run, so that equal elements move alike wherever they are. */
void kiln_ref_spread_lanes(const kiln_wide *base, const kiln_wide *smooth,
                           kiln_wide *const *lane, int n, uint64_t salt);
/* Integers of one step each, as quantisers make them; others are places, or truths. */
bool kiln_ref_is_quantity(kiln_dtype d);
/* Moves the elements whose turn it is in this lane by a step. `turn`: the same for all
 * lanes. */
void kiln_ref_step_off(kiln_wide *w, int lane, uint64_t turn);

#endif
