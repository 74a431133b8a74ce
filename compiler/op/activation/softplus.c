/* Softplus (ONNX Softplus 22), written so that exp never overflows.
 * 16 ulp, or 4 roundoffs: log(1 + e^x) loses the tail unless it is written as log1p. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    const kiln_expr *e = kiln_x_fn(a, KILN_INTRIN_exp_low,
                                   kiln_x_neg(a, kiln_x_fn(a, KILN_INTRIN_abs, x)));
    return kiln_x_add(a, kiln_x_binary(a, KILN_EXPR_MAX, x, kiln_x_like(a, x, 0)),
                      kiln_x_fn(a, KILN_INTRIN_log1p, e));
}

const kiln_op_def kiln_op_softplus = {
    KILN_ROW_UNARY,
    .name = "softplus",
    .doc = "ln(1 + e^x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
