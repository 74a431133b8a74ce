/* Square root (ONNX Sqrt 13, IEEE 754 squareRoot): NaN below zero.
 * Exact: the square root in double, rounded once more, is the correctly rounded one
 * (Figueroa, When is double rounding innocuous?, 1995), and every target rounds it
 * correctly. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return sqrt(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_sqrt, x);
}

const kiln_op_def kiln_op_sqrt = {
    KILN_ROW_UNARY,
    .name = "sqrt",
    .doc = "sqrt(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .x1 = x1,
};
