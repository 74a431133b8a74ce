/* Quotient (ONNX Div 14). Integers are cut towards zero; a quotient by zero, which ONNX
 * leaves open, is 0; the smallest integer by -1 wraps to itself. Exact: the quotient in
 * double, rounded once more, is the correctly rounded one (Figueroa, When is double
 * rounding innocuous?, 1995). */
#include "compiler/op/op_compute.h"

static double f2(double x, double y, const kiln_attr *attr) {
    (void)attr;
    return x / y;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    if (y == 0)
        return 0;
    if (dtype == KILN_U64)
        return (int64_t)((uint64_t)x / (uint64_t)y);
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    (void)attr;
    if (kiln_dtype_is_float(x->dtype))
        return kiln_x_div(a, x, y);
    const kiln_expr *zero = kiln_x_like(a, x, 0);
    const kiln_expr *by_zero = kiln_x_binary(a, KILN_EXPR_EQ, y, zero);
    const kiln_expr *q = kiln_x_div(a, x, kiln_compute_safe_divisor(a, y));
    if (kiln_dtype_is_in(x->dtype, KILN_DT_SIGNED))
        q = kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_EQ, y, kiln_x_like(a, y, -1)),
                          kiln_x_neg(a, x), q);
    return kiln_x_select(a, by_zero, zero, q);
}

const kiln_op_def kiln_op_div = {
    KILN_ROW_BINARY,
    .name = "div",
    .doc = "x / y; integers: towards zero, by zero is 0",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f2 = f2,
    .i2 = i2,
    .x2 = x2,
};
