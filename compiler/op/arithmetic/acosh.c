/* Inverse hyperbolic cosine (ONNX Acosh 22): NaN below 1.
 * 16 ulp, or 4 roundoffs: logarithms of sums. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return acosh(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_acosh, x);
}

const kiln_op_def kiln_op_acosh = {
    KILN_ROW_UNARY,
    .name = "acosh",
    .doc = "acosh(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
