/* Coordinates and weights of one resized axis as stages: what resize_axis.h holds in
 * tables, computed where it is needed. Coordinates are f64, as in the reference. */
#ifndef KILN_COMPILER_OP_IMAGE_RESIZE_EXPR_H
#define KILN_COMPILER_OP_IMAGE_RESIZE_EXPR_H

#include "compiler/op/op_compute.h"
#include "compiler/op/image/resize_axis.h"

typedef struct kiln_resize_expr {
    kiln_resize_axis_spec spec;
    kiln_arena *arena;
    int64_t n_taps;
    bool is_kept;     /* output element o is input element o */
    bool is_nearest;  /* one element each */
    bool is_rational; /* nearest: it is (o * num + add) / den, at most in - 1 */
    int64_t num, den, add;
    bool has_all_weights;   /* no tap has weight 0 */
    kiln_te_value position; /* [out] f64; no stage where it is kept or rational */
    kiln_te_value
        at; /* [n_taps, out] i32 (i64: of longer axes), in [0, in); not for nearest */
    kiln_te_value weight; /* [n_taps, out] */
} kiln_resize_expr;

/* Makes the stages, named after `axis`; weights have dtype `dtype`. */
kiln_status kiln_resize_expr_init(kiln_resize_expr *r, kiln_compute_cx *cx, int axis,
                                  const kiln_resize_axis_spec *spec, kiln_dtype dtype);
/* Input index of output element o, by the stage begun last: kept and nearest. */
const kiln_expr *kiln_resize_index(const kiln_resize_expr *r, const kiln_compute_cx *cx,
                                   const kiln_expr *o);
/* Tap t of output element o: input index and weight. */
const kiln_expr *kiln_resize_tap(const kiln_resize_expr *r, const kiln_compute_cx *cx,
                                 const kiln_expr *o, const kiln_expr *t,
                                 const kiln_expr **weight);
/* tf_crop_and_resize: is output element o outside of the input? NULL: never. */
const kiln_expr *kiln_resize_outside(const kiln_resize_expr *r,
                                     const kiln_compute_cx *cx, const kiln_expr *o);

#endif
