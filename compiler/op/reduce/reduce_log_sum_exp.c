/* Logarithm of the sum of exponentials over axes (ONNX ReduceLogSumExp 18), with the
 * largest element taken off first; -inf for an empty group. Integers: in double, cut
 * towards zero. 16 ulp, or as many roundoffs as terms: see reduce_log_sum. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double map(double x, double shift) { return exp(x - shift); }

static double finish(double acc, double shift, int64_t count) {
    (void)count;
    return shift + log(acc);
}

static const kiln_reduce_fn fn = {.map = map, .finish = finish, .needs_max = true};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_reduce(n, cx, &fn);
}

static const kiln_expr *map_expr(kiln_arena *a, const kiln_expr *x,
                                 const kiln_expr *shift) {
    return kiln_x_fn(a, KILN_INTRIN_exp, kiln_x_sub(a, x, shift));
}

static const kiln_expr *finish_expr(kiln_arena *a, const kiln_expr *acc,
                                    const kiln_expr *shift, int64_t count) {
    (void)count;
    return kiln_x_add(a, shift, kiln_x_fn(a, KILN_INTRIN_log, acc));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {.map = map_expr,
                                       .finish = finish_expr,
                                       .needs_max = true,
                                       .ints = KILN_REDUCE_INTS_DOUBLE};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_log_sum_exp = {
    KILN_ROW_REDUCE,
    .name = "reduce_log_sum_exp",
    .doc = "ln(sum of e^x) over axes",
    .dtypes = KILN_DT_NUMBER,
    .eval_ref = eval_ref,
    .error_bound = kiln_bound_log_sum,
    .compute = compute,
};
