/* Arc tangent (ONNX Atan 22).
 * 4 ulp: piecewise polynomials. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return atan(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_atan, x);
}

const kiln_op_def kiln_op_atan = {
    KILN_ROW_UNARY,
    .name = "atan",
    .doc = "atan(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
