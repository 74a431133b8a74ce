/* Comparison (ONNX Greater 13): false where an operand is NaN. Exact: a predicate. */
#include "compiler/op/op_compute.h"

static double f2(double x, double y, const kiln_attr *attr) {
    (void)attr;
    return x > y;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    return kiln_less_i(y, x, dtype);
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    (void)attr;
    return kiln_x_binary(a, KILN_EXPR_LT, y, x);
}

const kiln_op_def kiln_op_greater = {
    KILN_ROW_COMPARE,
    .name = "greater",
    .doc = "x > y",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f2 = f2,
    .i2 = i2,
    .x2 = x2,
};
