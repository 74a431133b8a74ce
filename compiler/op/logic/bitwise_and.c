/* Logic on bits (ONNX BitwiseAnd 18). Exact: integers. */
#include "compiler/op/op_compute.h"

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return x & y;
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    (void)attr;
    return kiln_x_binary(a, KILN_EXPR_AND, x, y);
}

const kiln_op_def kiln_op_bitwise_and = {
    KILN_ROW_BINARY,
    .name = "bitwise_and",
    .doc = "x & y",
    .dtypes = KILN_DT_INT,
    .error_bound = kiln_bound_exact,
    .i2 = i2,
    .x2 = x2,
};
