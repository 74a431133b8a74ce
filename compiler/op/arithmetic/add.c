/* Sum (ONNX Add 14). Integers wrap.
 * Exact: the sum in double, rounded once more, is the correctly rounded one (Figueroa,
 * When is double rounding innocuous?, 1995). */
#include "compiler/op/op_compute.h"

static double f2(double x, double y, const kiln_attr *attr) {
    (void)attr;
    return x + y;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    (void)attr;
    return kiln_x_add(a, x, y);
}

const kiln_op_def kiln_op_add = {
    KILN_ROW_BINARY,
    .name = "add",
    .doc = "x + y",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f2 = f2,
    .i2 = i2,
    .x2 = x2,
};
