/* The reference interpreter: what a graph means.
 *
 * Each operator is evaluated by its row's eval_ref in double or 64-bit integers and its
 * outputs are rounded once to their dtype. Slow but sure; convolution and matrix
 * products are blocked well enough for whole networks.
 */
#ifndef KILN_COMPILER_REFERENCE_REFERENCE_H
#define KILN_COMPILER_REFERENCE_REFERENCE_H

#include "compiler/graph/graph.h"

/* Runs a whole graph.
 *   in   one tensor per graph input, of exactly its type (KILN_ERR_SHAPE names it)
 *   out  one tensor per graph output, made in `a`
 * Intermediate values are released after their last use, so the peak is that of a live
 * set. */
kiln_status kiln_ref_run(kiln_arena *a, const kiln_graph *g, const kiln_tensor *in,
                         size_t n_in, kiln_tensor *out, kiln_err *err);

/* The same, and beside it runs whose operators err as other arithmetic may (noise_f64.c
 * says how, docs/numerics.md why): a double that is rounded elsewhere, sums of f32 in
 * another order, functions within their bounds. What leaps (round, compare, argmax:
 * kiln_op_def.jumps, or integers made of floats) sees inputs that are moved to both
 * sides of where arithmetic since the last leap may have put them, so that what lies at
 * a boundary shows in half of the lanes, however rarely it would be met by chance.
 * lane[j * n_outputs + i] receives output i of lane j. (After Parker, Monte Carlo
 * Arithmetic, UCLA CSD-970002, 1997, and Vignes, A stochastic arithmetic for reliable
 * scientific computation, 1993.) */
enum { KILN_REF_MAX_LANES = 16 };
typedef struct kiln_ref_lanes {
    int n; /* 0 to KILN_REF_MAX_LANES */
    uint64_t seed;
    /* As other engines may err. Integer kernels: one element in eight of what a
     * quantiser makes is a step off in a lane, each in another one. And what their
     * operators do less exactly (kiln_op_def.elsewhere_bound). */
    bool elsewhere;
} kiln_ref_lanes;
kiln_status kiln_ref_run_lanes(kiln_arena *a, const kiln_graph *g,
                               const kiln_tensor *in, size_t n_in,
                               const kiln_ref_lanes *o, kiln_tensor *out,
                               kiln_tensor *lane, kiln_err *err);

/* Evaluates one node on native tensors (in[i].data NULL: absent); out is made in `a`.
 */
kiln_status kiln_ref_eval_node(kiln_arena *a, const kiln_node *n, const kiln_tensor *in,
                               kiln_tensor *out, kiln_err *err);

/* Chosen elements of output 0 of a node, unrounded: out[j] (double, integers converted)
 * receives the element at row-major index pick[j]. With `bound` not NULL also the
 * absolute error that generated code may have there (the row's error_bound). Costs only
 * the chosen elements where the row says can_pick. */
kiln_status kiln_ref_pick(kiln_arena *scratch, const kiln_node *n,
                          const kiln_tensor *in, const int64_t *pick, int64_t n_pick,
                          double *out, double *bound, kiln_err *err);

/* The constant that a value would have if it depends on constants only: computes what
 * is needed, at most max_bytes per value (else KILN_ERR_LIMIT); KILN_ERR_ARG names the
 * graph input it depends on. The result is in g's arena and remembered in the values
 * (kiln_value.known), so all demands together cost one evaluation of the graph. For
 * frontends, where an operand decides a shape. `given` (may be NULL) supplies values
 * for graph inputs, borrowed as long as g's arena; one graph is asked with one `given`
 * only. */
typedef bool (*kiln_ref_given_fn)(void *user, const kiln_value *input,
                                  kiln_tensor *out);
kiln_status kiln_ref_constant(kiln_graph *g, const kiln_value *v, int64_t max_bytes,
                              kiln_ref_given_fn given, void *user, kiln_tensor *out,
                              kiln_err *err);

/* How two tensors of one type differ, against |got - want| <= atol + rtol * |want|; NaN
 * equals NaN, infinities must be equal. */
typedef struct kiln_diff {
    bool ok;
    int64_t n_bad;       /* elements outside the tolerance */
    int64_t worst_index; /* row-major; -1 when all are equal */
    double worst_got, worst_want;
    double max_abs, max_rel; /* over finite elements; rel against max(|want|, tiny) */
    double rms_error, rms_want;
} kiln_diff;
kiln_status kiln_ref_compare(const kiln_tensor *got, const kiln_tensor *want,
                             double rtol, double atol, kiln_diff *out, kiln_err *err);

/* Reference values and bounds of a graph's outputs. */
typedef struct kiln_expected {
    double *value, *bound; /* by row-major element, or by `pick`; NULL bound: exact */
    const int64_t *pick;   /* row-major elements, ascending; NULL: all */
    int64_t n_pick, n_elems;
} kiln_expected;
/* What the outputs of a workload (a fused group as a graph, and its anchor) must be,
 * and how far generated code may be off. plain: inputs and constants by value id. out:
 * one per graph output, in `a`. amplification: factor on the anchor's bound, of the
 * algorithm that computed what is compared. KILN_ERR_UNSUPPORTED: no bound is known. */
kiln_status kiln_expect(kiln_arena *a, const kiln_graph *g, const kiln_node *anchor,
                        const kiln_tensor *plain, double amplification, uint64_t seed,
                        kiln_expected *out, kiln_err *err);

/* A seeded random tensor for checks: floats uniform in [-1, 1), integers small, bool
 * fair. */
kiln_tensor kiln_ref_random(kiln_arena *a, const kiln_type *t, uint64_t seed);

/* The same by another law for floats; integers as above. */
typedef enum kiln_ref_law {
    KILN_LAW_UNIFORM,  /* [-1, 1) */
    KILN_LAW_NORMAL,   /* of deviation 1: a sum of twelve uniform ones */
    KILN_LAW_POSITIVE, /* [0, 1) */
    KILN_LAW_SMALL,    /* [-2^-6, 2^-6) */
    KILN_LAW_SPARSE,   /* one in eight of [-1, 1), the others 0 */
    KILN_N_LAWS
} kiln_ref_law;
const char *kiln_ref_law_name(kiln_ref_law law); /* "uniform", ... */
kiln_tensor kiln_ref_draw(kiln_arena *a, const kiln_type *t, kiln_ref_law law,
                          uint64_t seed);

#endif
