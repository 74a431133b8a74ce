/* Hyperbolic tangent (ONNX Tanh 13).
 * 4 ulp: rational approximations and (e^2x - 1) / (e^2x + 1) stay within 4. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return tanh(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_tanh, x);
}

const kiln_op_def kiln_op_tanh = {
    KILN_ROW_UNARY,
    .name = "tanh",
    .doc = "tanh(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
