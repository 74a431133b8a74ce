/* Product (ONNX Mul 14). Integers wrap.
 * Exact: see add. */
#include "compiler/op/op_compute.h"

static double f2(double x, double y, const kiln_attr *attr) {
    (void)attr;
    return x * y;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    (void)attr;
    return kiln_x_mul(a, x, y);
}

const kiln_op_def kiln_op_mul = {
    KILN_ROW_BINARY,
    .name = "mul",
    .doc = "x * y",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f2 = f2,
    .i2 = i2,
    .x2 = x2,
};
