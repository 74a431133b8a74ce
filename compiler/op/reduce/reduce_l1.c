/* Sum of absolute values over axes (ONNX ReduceL1 18); 0 for an empty group. Integers
 * wrap. Bound: see reduce_sum. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double map(double x, double shift) {
    (void)shift;
    return fabs(x);
}

static int64_t fold_i(int64_t acc, int64_t x, kiln_dtype dtype) {
    const uint64_t size = kiln_less_i(x, 0, dtype) ? 0 - (uint64_t)x : (uint64_t)x;
    return (int64_t)((uint64_t)acc + size);
}

static const kiln_reduce_fn fn = {.map = map, .fold_i = fold_i};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_reduce(n, cx, &fn);
}

static const kiln_expr *map_expr(kiln_arena *a, const kiln_expr *x,
                                 const kiln_expr *shift) {
    (void)shift;
    if (kiln_dtype_is_float(x->dtype))
        return kiln_x_fn(a, KILN_INTRIN_abs, x);
    return kiln_x_select(a, kiln_x_less(a, x, kiln_x_like(a, x, 0)), kiln_x_neg(a, x),
                         x);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    static const kiln_reduce_expr r = {.map = map_expr};
    return kiln_compute_reduce(n, cx, &r);
}

const kiln_op_def kiln_op_reduce_l1 = {
    KILN_ROW_REDUCE,          .name = "reduce_l1",  .doc = "sum of |x| over axes",
    .dtypes = KILN_DT_NUMBER, .eval_ref = eval_ref, .error_bound = kiln_bound_reduce,
    .compute = compute,
};
