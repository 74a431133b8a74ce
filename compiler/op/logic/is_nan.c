/* NaN test (ONNX IsNaN 20). Exact: a predicate. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return isnan(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_binary(a, KILN_EXPR_NE, x, x);
}

const kiln_op_def kiln_op_is_nan = {
    KILN_ROW_PREDICATE,
    .name = "is_nan",
    .doc = "x is not a number",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .x1 = x1,
};
