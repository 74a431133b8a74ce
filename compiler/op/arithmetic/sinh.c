/* Hyperbolic sine (ONNX Sinh 22).
 * 4 ulp: a polynomial near zero, exponentials beyond. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return sinh(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_sinh, x);
}

const kiln_op_def kiln_op_sinh = {
    KILN_ROW_UNARY,
    .name = "sinh",
    .doc = "sinh(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
