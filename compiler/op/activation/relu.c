/* Rectified linear unit (ONNX Relu 14). NaN stays NaN, -0 becomes 0.
 * Exact: a selection. */
#include "compiler/op/op_compute.h"
#include "base/fault.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return x > 0 || isnan(x) ? x : 0;
}

static int64_t i1(int64_t x, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return x > 0 ? x : 0;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    if (KILN_FAULT(relu_dropped))
        return x;
    return kiln_x_binary(a, KILN_EXPR_MAX, x, kiln_x_like(a, x, 0));
}

const kiln_op_def kiln_op_relu = {
    KILN_ROW_UNARY,
    .name = "relu",
    .doc = "max(x, 0)",
    .dtypes = KILN_DT_FLOAT | KILN_DT_SIGNED,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .i1 = i1,
    .x1 = x1,
};
