/* Product over axes (ONNX ReduceProd 18); 1 for an empty group. Integers wrap. As many
 * ulp as factors: each product rounds once. */
#include "compiler/op/op_compute.h"

static double fold(double acc, double x) { return acc * x; }

static int64_t fold_i(int64_t acc, int64_t x, kiln_dtype dtype) {
    (void)dtype;
    return (int64_t)((uint64_t)acc * (uint64_t)x);
}

static kiln_bound error_bound(const kiln_node *n) {
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = (double)kiln_bound_reduce(n).k};
}

static const kiln_reduce_fn fn = {
    .fold = fold, .init = 1, .fold_i = fold_i, .init_i = 1};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_reduce(n, cx, &fn);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {.reducer = kiln_reducer_prod};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_prod = {
    KILN_ROW_REDUCE,          .name = "reduce_prod", .doc = "product of x over axes",
    .dtypes = KILN_DT_NUMBER, .eval_ref = eval_ref,  .error_bound = error_bound,
    .compute = compute,
};
