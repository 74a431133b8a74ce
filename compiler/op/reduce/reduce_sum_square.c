/* Sum of squares over axes (ONNX ReduceSumSquare 18); 0 for an empty group. Integers
 * wrap. k squares, rounded once each, and their sum: at most k + 1 roundoffs of the
 * result (Higham, Accuracy and Stability, 2nd ed., 4.2). */
#include "compiler/op/op_compute.h"

static double map(double x, double shift) {
    (void)shift;
    return x * x;
}

static int64_t fold_i(int64_t acc, int64_t x, kiln_dtype dtype) {
    (void)dtype;
    return (int64_t)((uint64_t)acc + (uint64_t)x * (uint64_t)x);
}

static kiln_bound error_bound(const kiln_node *n) {
    kiln_bound b = kiln_bound_reduce(n);
    b.k++;
    return b;
}

static const kiln_reduce_fn fn = {.map = map, .fold_i = fold_i};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_reduce(n, cx, &fn);
}

static const kiln_expr *map_expr(kiln_arena *a, const kiln_expr *x,
                                 const kiln_expr *shift) {
    (void)shift;
    return kiln_x_mul(a, x, x);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {.map = map_expr};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_sum_square = {
    KILN_ROW_REDUCE,
    .name = "reduce_sum_square",
    .doc = "sum of x^2 over axes",
    .dtypes = KILN_DT_NUMBER,
    .eval_ref = eval_ref,
    .error_bound = error_bound,
    .compute = compute,
};
