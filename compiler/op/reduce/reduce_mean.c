/* Mean over axes (ONNX ReduceMean 18); NaN for an empty group. Integers: summed in
 * 64 bits, divided towards zero, 0 for an empty group. Bound: see reduce_sum. */
#include "compiler/op/op_compute.h"
#include "base/fault.h"

static double finish(double acc, double shift, int64_t count) {
    (void)shift;
    return acc / (double)count;
}

static int64_t fold_i(int64_t acc, int64_t x, kiln_dtype dtype) {
    (void)dtype;
    return (int64_t)((uint64_t)acc + (uint64_t)x);
}

static int64_t finish_i(int64_t acc, int64_t count, kiln_dtype dtype) {
    if (count == 0)
        return 0;
    if (dtype == KILN_U64)
        return (int64_t)((uint64_t)acc / (uint64_t)count);
    return acc / count;
}

static const kiln_reduce_fn fn = {
    .finish = finish, .fold_i = fold_i, .finish_i = finish_i};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_reduce(n, cx, &fn);
}

static const kiln_expr *finish_expr(kiln_arena *a, const kiln_expr *acc,
                                    const kiln_expr *shift, int64_t count) {
    (void)shift;
    if (count == 0 && !kiln_dtype_is_float(acc->dtype))
        return acc; /* nothing: 0 */
    return kiln_x_div(
        a, acc,
        kiln_x_like(a, acc, (double)(count - (KILN_FAULT(reduce_mean_count) ? 1 : 0))));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {.finish = finish_expr,
                                       .ints = KILN_REDUCE_INTS_WIDE};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_mean = {
    KILN_ROW_REDUCE,          .name = "reduce_mean", .doc = "mean of x over axes",
    .dtypes = KILN_DT_NUMBER, .eval_ref = eval_ref,  .error_bound = kiln_bound_reduce,
    .compute = compute,
};
