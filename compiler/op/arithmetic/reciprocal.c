/* Reciprocal (ONNX Reciprocal 13). Exact: see div. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return 1 / x;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_div(a, kiln_x_like(a, x, 1), x);
}

const kiln_op_def kiln_op_reciprocal = {
    KILN_ROW_UNARY,
    .name = "reciprocal",
    .doc = "1 / x",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .x1 = x1,
};
