/* Smallest element over axes (ONNX ReduceMin 20): for bool and; NaN if one is. An empty
 * group gives infinity, or the end of the integers' range. Exact: a selection. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double fold(double acc, double x) { return isnan(x) || x < acc ? x : acc; }

static int64_t fold_i(int64_t acc, int64_t x, kiln_dtype dtype) {
    return kiln_less_i(x, acc, dtype) ? x : acc;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_dtype dtype = cx->in[0].type.dtype;
    const kiln_reduce_fn fn = {
        .fold = fold,
        .init = HUGE_VAL,
        .fold_i = fold_i,
        .init_i = dtype == KILN_U64 ? -1 : kiln_dtype_get(dtype)->max_i,
    };
    return kiln_eval_reduce(n, cx, &fn);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {.reducer = kiln_reducer_min};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_min = {
    KILN_ROW_REDUCE,
    .name = "reduce_min",
    .doc = "smallest of x over axes; NaN if one is",
    .dtypes = KILN_DT_ANY,
    .eval_ref = eval_ref,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
