/* Logarithm of the sum over axes (ONNX ReduceLogSum 18); -inf for an empty group.
 * Integers: in double, cut towards zero. 16 ulp, or as many roundoffs as terms, as long
 * as the terms have one sign: the logarithm makes the sum's relative error an absolute
 * one. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double finish(double acc, double shift, int64_t count) {
    (void)shift;
    (void)count;
    return log(acc);
}

static const kiln_reduce_fn fn = {.finish = finish};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_reduce(n, cx, &fn);
}

static const kiln_expr *finish_expr(kiln_arena *a, const kiln_expr *acc,
                                    const kiln_expr *shift, int64_t count) {
    (void)shift;
    (void)count;
    return kiln_x_fn(a, KILN_INTRIN_log, acc);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {.finish = finish_expr,
                                       .ints = KILN_REDUCE_INTS_DOUBLE};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_log_sum = {
    KILN_ROW_REDUCE,
    .name = "reduce_log_sum",
    .doc = "ln(sum of x) over axes",
    .dtypes = KILN_DT_NUMBER,
    .eval_ref = eval_ref,
    .error_bound = kiln_bound_log_sum,
    .compute = compute,
};
