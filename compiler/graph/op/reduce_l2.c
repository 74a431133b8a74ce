/* Euclidean length over axes (ONNX ReduceL2 18); 0 for an empty group. Integers: in
 * double, cut towards zero. k squares and their sum are off by k + 1 roundoffs; the
 * root halves that and adds one. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

static double map(double x, double shift) {
    (void)shift;
    return x * x;
}

static double finish(double acc, double shift, int64_t count) {
    (void)shift;
    (void)count;
    return sqrt(acc);
}

static kiln_bound error_bound(const kiln_node *n) {
    kiln_bound b = kiln_bound_reduce(n);
    b.k += 2;
    return b;
}

static const kiln_reduce_fn fn = {.map = map, .finish = finish};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_reduce(n, cx, &fn);
}

const kiln_op_def kiln_op_reduce_l2 = {
    KILN_ROW_REDUCE,          .name = "reduce_l2",  .doc = "sqrt(sum of x^2) over axes",
    .dtypes = KILN_DT_NUMBER, .eval_ref = eval_ref, .error_bound = error_bound,
};
