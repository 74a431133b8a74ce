/* Logistic function (ONNX Sigmoid 13), written so that exp never overflows.
 * 4 ulp: one exponential, one addition, one division.
 * Other engines: 3 roundoffs, too. Some add 1/2 to an odd function of x, so that results
 * near 0 are what the addition leaves of them, and cut x where the result is less than
 * half a roundoff: ONNX Runtime's is 0 below -18 (where it is 1.5e-8 by right), and off
 * by up to 2.4 roundoffs above. */
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

static kiln_bound elsewhere_bound(const kiln_node *n) {
    kiln_bound b = kiln_bound_ulp_4(n);
    b.floor = 3;
    return b;
}

const kiln_op_def kiln_op_sigmoid = {
    KILN_ROW_UNARY,
    .name = "sigmoid",
    .doc = "1 / (1 + e^-x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .elsewhere_bound = elsewhere_bound,
    .f1 = f1,
    .x1 = x1,
};
