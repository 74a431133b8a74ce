/* Softmax along one axis (ONNX Softmax 13), with the largest element taken off first so
 * that exp never overflows. 16 ulp, or one roundoff for each element of the lane: the
 * sum of k exponentials is off by up to k roundoffs of itself. */
#include "compiler/graph/op/op_common.h"

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

const kiln_op_def kiln_op_softmax = {
    KILN_ROW_LANES,
    .name = "softmax",
    .doc = "e^(x - max) / sum of e^(x - max), along one axis",
    .eval_ref = eval_ref,
    .cost = kiln_cost_softmax,
    .error_bound = kiln_bound_lane_sum,
};
