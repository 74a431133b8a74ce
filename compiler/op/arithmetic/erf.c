/* Error function (ONNX Erf 13).
 * 4 ulp: piecewise polynomials reach 1 to 2. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return erf(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_erf, x);
}

const kiln_op_def kiln_op_erf = {
    KILN_ROW_UNARY,
    .name = "erf",
    .doc = "2 / sqrt(pi) * integral of e^-t^2 from 0 to x",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
