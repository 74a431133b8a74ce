/* Logarithm of softmax along one axis (ONNX LogSoftmax 13), with the largest element
 * taken off first. 16 ulp, or one roundoff for each element of the lane: see softmax;
 * the logarithm makes the sum's relative error an absolute one. */
#include "compiler/op/op_compute.h"

#include <math.h>

static void lane(const double *x, double *y, const kiln_lanes *l) {
    double max = -HUGE_VAL, sum = 0;
    for (int64_t k = 0; k < l->n; k++)
        max = fmax(max, x[k * l->inner]);
    for (int64_t k = 0; k < l->n; k++)
        sum += exp(x[k * l->inner] - max);
    const double log_sum = log(sum);
    for (int64_t k = 0; k < l->n; k++)
        y[k * l->inner] = x[k * l->inner] - max - log_sum;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_lanes(n, cx, lane);
}

/* Stages: max, exp, sum, the difference. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    kiln_softmax_stages s;
    KILN_TRY(kiln_compute_softmax_stages(n, cx, &s));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    kiln_compute_lane_index(cx, s.axis, index, at);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, index));
    const kiln_expr *sum = kiln_compute_read_value(cx, &s.sum, at);
    x = kiln_x_sub(a, x, kiln_compute_read_value(cx, &s.max, at));
    return kiln_compute_end(cx, 0, y,
                            kiln_x_sub(a, x, kiln_x_fn(a, KILN_INTRIN_log, sum)));
}

const kiln_op_def kiln_op_log_softmax = {
    KILN_ROW_LANES,
    .name = "log_softmax",
    .doc = "x - max - ln(sum of e^(x - max)), along one axis",
    .eval_ref = eval_ref,
    .cost = kiln_cost_softmax,
    .error_bound = kiln_bound_lane_sum,
    .compute = compute,
};
