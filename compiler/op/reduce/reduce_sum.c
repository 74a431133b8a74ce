/* Sum over axes (ONNX ReduceSum 13); 0 for an empty group. Integers wrap. k terms in
 * any order are off by at most k roundoffs of the sum of absolute values (Higham,
 * Accuracy and Stability, 2nd ed., 4.2). */
#include "compiler/op/op_compute.h"

static int64_t fold_i(int64_t acc, int64_t x, kiln_dtype dtype) {
    (void)dtype;
    return (int64_t)((uint64_t)acc + (uint64_t)x);
}

static const kiln_reduce_fn fn = {.fold_i = fold_i};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_reduce(n, cx, &fn);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {.ints = KILN_REDUCE_INTS_WRAP};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_sum = {
    KILN_ROW_REDUCE,          .name = "reduce_sum", .doc = "sum of x over axes",
    .dtypes = KILN_DT_NUMBER, .eval_ref = eval_ref, .error_bound = kiln_bound_reduce,
    .compute = compute,
};
