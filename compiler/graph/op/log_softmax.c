/* Logarithm of softmax along one axis (ONNX LogSoftmax 13), with the largest element
 * taken off first. 16 ulp, or one roundoff for each element of the lane: see softmax;
 * the logarithm makes the sum's relative error an absolute one. */
#include "compiler/graph/op/op_common.h"

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

const kiln_op_def kiln_op_log_softmax = {
    KILN_ROW_LANES,
    .name = "log_softmax",
    .doc = "x - max - ln(sum of e^(x - max)), along one axis",
    .eval_ref = eval_ref,
    .cost = kiln_cost_softmax,
    .error_bound = kiln_bound_lane_sum,
};
