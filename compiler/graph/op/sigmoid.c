/* Logistic function (ONNX Sigmoid 13), written so that exp never overflows.
 * 4 ulp: one exponential, one addition, one division. */
#include "compiler/graph/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    if (x >= 0)
        return 1 / (1 + exp(-x));
    const double e = exp(x);
    return e / (1 + e);
}

/* As above, with one exponential, of -|x|: large results and small ones keep their
 * accuracy, also where 1 + e^-x would overflow. */
static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    const kiln_expr *one = kiln_x_like(a, x, 1);
    const kiln_expr *e =
        kiln_x_fn(a, KILN_INTRIN_exp, kiln_x_neg(a, kiln_x_fn(a, KILN_INTRIN_abs, x)));
    const kiln_expr *top =
        kiln_x_select(a, kiln_x_less(a, x, kiln_x_like(a, x, 0)), e, one);
    return kiln_x_div(a, top, kiln_x_add(a, one, e));
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
