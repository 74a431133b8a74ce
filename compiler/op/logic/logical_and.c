/* Logic on bool (ONNX And 7). Exact: a predicate. */
#include "compiler/op/op_compute.h"

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return x && y;
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    (void)attr;
    return kiln_x_binary(a, KILN_EXPR_AND, x, y);
}

const kiln_op_def kiln_op_logical_and = {
    KILN_ROW_COMPARE,
    .name = "logical_and",
    .doc = "x and y",
    .dtypes = KILN_DT_BOOL,
    .error_bound = kiln_bound_exact,
    .i2 = i2,
    .x2 = x2,
};
