/* 1 at the first largest element along one axis, 0 elsewhere (ONNX Hardmax 13). A NaN
 * is largest, as in numpy.argmax. Exact: a selection. */
#include "compiler/op/op_compute.h"

#include <math.h>

static void lane(const double *x, double *y, const kiln_lanes *l) {
    int64_t best = 0;
    for (int64_t k = 0; k < l->n; k++) {
        const double v = x[k * l->inner], top = x[best * l->inner];
        if (v > top || (isnan(v) && !isnan(top)))
            best = k;
        y[k * l->inner] = 0;
    }
    y[best * l->inner] = 1;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_lanes(n, cx, lane);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    kiln_te_value best;
    int axis = 0;
    KILN_TRY(kiln_check_axis(n, KILN_LANES_AXIS, &axis, cx->err));
    KILN_TRY(kiln_compute_best(cx, axis, true, false, &best));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    kiln_compute_lane_index(cx, axis, index, at);
    const kiln_expr *found =
        kiln_x_cast(a, KILN_I64, kiln_compute_read_value(cx, &best, at));
    const kiln_expr *is_best = kiln_x_binary(a, KILN_EXPR_EQ, index[axis], found);
    return kiln_compute_end(cx, 0, y,
                            kiln_x_select(a, is_best, kiln_x_number(a, KILN_F32, 1),
                                          kiln_x_number(a, KILN_F32, 0)));
}

const kiln_op_def kiln_op_hardmax = {
    KILN_ROW_LANES,
    .name = "hardmax",
    .doc = "1 at the first largest element along one axis, else 0",
    .eval_ref = eval_ref,
    .jumps = true,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
