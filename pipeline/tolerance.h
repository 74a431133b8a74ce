/* How far a right result may be from the reference's, for each element of each output.
 *
 * The reference computes in double and rounds at the end of every operator. Compiled
 * code and other engines compute in f32, sum in another order, and may round a f16 or
 * bf16 network's values elsewhere (docs/numerics.md). Bounds follow the arithmetic: the
 * graph is run several times beside the reference, in lanes (kiln_ref_run_lanes), with
 * errors as large as arithmetic may make them put on what each operator gives, carried
 * on by the operators that come after; what an element does then is its spread. Part of
 * pipeline.h. */
#ifndef KILN_PIPELINE_TOLERANCE_H
#define KILN_PIPELINE_TOLERANCE_H

#include "compiler/reference/reference.h"

/* One output: |got - value| <= bound, element by element. NaN must be NaN, an infinity
 * that very one. */
typedef struct kiln_bounded {
    kiln_tensor value; /* the reference's, whole */
    float *bound;      /* negative: it hangs on rounding, nobody can be held to it */
    bool *is_weak;     /* NULL: none. The bound is more than a quarter of what elements
                          are (rms), so that little is known of it */
    int64_t n_elems, n_loose, n_weak; /* loose: of negative bound */
    double rms;                       /* of the value, where it is finite */
    double typical;                   /* rms of the bounds that are not negative */
} kiln_bounded;

/* `in`: one tensor for each graph input; `out`: one for each output, made in `a`. The
 * same graph, inputs and seed give the same bounds. KILN_ERR_... of kiln_ref_run. */
kiln_status kiln_expect_network(kiln_arena *a, const kiln_graph *g,
                                const kiln_tensor *in, uint64_t seed, kiln_bounded *out,
                                kiln_err *err);

/* The same for another engine's results, which may compute quantised networks in
 * integers, so that each element that a quantiser makes may be a step off, and some
 * operators less exactly (kiln_op_def.elsewhere_bound). */
kiln_status kiln_expect_elsewhere(kiln_arena *a, const kiln_graph *g,
                                  const kiln_tensor *in, uint64_t seed,
                                  kiln_bounded *out, kiln_err *err);

/* Is there a node that makes steps of real numbers (i8 to u16 of floats)? */
bool kiln_graph_quantises(const kiln_graph *g);
/* Are the bounds of kiln_expect_elsewhere others? */
bool kiln_graph_errs_elsewhere(const kiln_graph *g);

/* How `got` fares. */
typedef struct kiln_bounded_diff {
    bool ok;
    int64_t n_bad, n_held; /* outside of their bound; compared at all */
    int64_t worst; /* row-major index of the element that is farthest outside, in
                      bounds; -1: none is outside */
    double got, want, bound; /* of it */
    double ratio;            /* the largest |got - want| / bound of all elements */
} kiln_bounded_diff;
/* KILN_ERR_SHAPE where dtype or shape differ. */
kiln_status kiln_bounded_compare(const kiln_bounded *want, const kiln_tensor *got,
                                 kiln_bounded_diff *out, kiln_err *err);

#endif
