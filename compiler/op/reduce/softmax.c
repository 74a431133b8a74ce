/* Softmax along one axis (ONNX Softmax 13), with the largest element taken off first so
 * that exp never overflows. 16 ulp, or one roundoff for each element of the lane: the
 * sum of k exponentials is off by up to k roundoffs of itself. */
#include "compiler/op/op_compute.h"

#include <math.h>

static void lane(const double *x, double *y, const kiln_lanes *l) {
    double max = -HUGE_VAL, sum = 0;
    for (int64_t k = 0; k < l->n; k++)
        max = fmax(max, x[k * l->inner]);
    for (int64_t k = 0; k < l->n; k++)
        sum += y[k * l->inner] = exp(x[k * l->inner] - max);
    for (int64_t k = 0; k < l->n; k++)
        y[k * l->inner] /= sum;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_lanes(n, cx, lane);
}

/* Stages: max, exp, sum, the quotient. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    kiln_softmax_stages s;
    KILN_TRY(kiln_compute_softmax_stages(n, cx, &s));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    kiln_compute_lane_index(cx, s.axis, index, at);
    const kiln_expr *e = kiln_compute_read_value(cx, &s.exp, index);
    const kiln_expr *sum = kiln_compute_read_value(cx, &s.sum, at);
    /* One division a lane instead of one an element; the sum is at least 1, its
     * reciprocal one rounding more. */
    const kiln_expr *one = kiln_x_number(cx->arena, sum->dtype, 1);
    const kiln_expr *scale = kiln_x_div(cx->arena, one, sum);
    return kiln_compute_end(cx, 0, y, kiln_x_mul(cx->arena, e, scale));
}

const kiln_op_def kiln_op_softmax = {
    KILN_ROW_LANES,
    .name = "softmax",
    .doc = "e^(x - max) / sum of e^(x - max), along one axis",
    .eval_ref = eval_ref,
    .cost = kiln_cost_softmax,
    .error_bound = kiln_bound_lane_sum,
    .compute = compute,
};
