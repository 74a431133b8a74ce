/* Inverse hyperbolic sine (ONNX Asinh 22).
 * 16 ulp, or 4 roundoffs: logarithms of sums. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return asinh(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_asinh, x);
}

const kiln_op_def kiln_op_asinh = {
    KILN_ROW_UNARY,
    .name = "asinh",
    .doc = "asinh(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
