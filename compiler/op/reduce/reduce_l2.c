/* Euclidean length over axes (ONNX ReduceL2 18); 0 for an empty group. Integers: in
 * double, cut towards zero. k squares and their sum are off by k + 1 roundoffs; the
 * root halves that and adds one. */
#include "compiler/op/op_compute.h"

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

static const kiln_expr *map_expr(kiln_arena *a, const kiln_expr *x,
                                 const kiln_expr *shift) {
    (void)shift;
    return kiln_x_mul(a, x, x);
}

static const kiln_expr *finish_expr(kiln_arena *a, const kiln_expr *acc,
                                    const kiln_expr *shift, int64_t count) {
    (void)shift;
    (void)count;
    return kiln_x_fn(a, KILN_INTRIN_sqrt, acc);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {
        .map = map_expr, .finish = finish_expr, .ints = KILN_REDUCE_INTS_DOUBLE};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_l2 = {
    KILN_ROW_REDUCE,          .name = "reduce_l2",  .doc = "sqrt(sum of x^2) over axes",
    .dtypes = KILN_DT_NUMBER, .eval_ref = eval_ref, .error_bound = error_bound,
    .compute = compute,
};
