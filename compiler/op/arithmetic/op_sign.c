/* Sign (ONNX Sign 13): -1, 0 or 1; zeros and NaN stay themselves. Exact: a selection.
 */
#include "compiler/op/op_compute.h"

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static int64_t i1(int64_t x, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    if (x == 0 || dtype == KILN_U64)
        return x != 0;
    return x > 0 ? 1 : -1;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    const kiln_expr *zero = kiln_x_like(a, x, 0);
    const kiln_expr *rest = x;
    if (!kiln_dtype_is_in(x->dtype, KILN_DT_UNSIGNED))
        rest = kiln_x_select(a, kiln_x_less(a, x, zero), kiln_x_like(a, x, -1), x);
    return kiln_x_select(a, kiln_x_less(a, zero, x), kiln_x_like(a, x, 1), rest);
}

const kiln_op_def kiln_op_sign = {
    KILN_ROW_UNARY,
    .name = "sign",
    .doc = "-1, 0 or 1; NaN stays",
    .dtypes = KILN_DT_NUMBER,
    .jumps = true,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .i1 = i1,
    .x1 = x1,
};
