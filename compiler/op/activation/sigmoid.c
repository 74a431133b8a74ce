/* Logistic function (ONNX Sigmoid 13), written so that exp never overflows.
 * 4 ulp: one exponential, one addition, one division. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    if (x >= 0)
        return 1 / (1 + exp(-x));
    const double e = exp(x);
    return e / (1 + e);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_sigmoid, x);
}

const kiln_op_def kiln_op_sigmoid = {
    KILN_ROW_UNARY,
    .name = "sigmoid",
    .doc = "1 / (1 + e^-x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
