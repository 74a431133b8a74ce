/* Mish (Misra, 2019; ONNX Mish 22).
 * 16 ulp, or 4 roundoffs: tanh of a softplus. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return x * tanh(x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)));
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    /* tanh(ln(1 + e)) = n / (n + 2) with n = e * (e + 2); from 20 on it is 1. */
    const kiln_expr *two = kiln_x_like(a, x, 2);
    const kiln_expr *e =
        kiln_x_fn(a, KILN_INTRIN_exp_low,
                  kiln_x_binary(a, KILN_EXPR_MIN, x, kiln_x_like(a, x, 20)));
    const kiln_expr *n = kiln_x_mul(a, e, kiln_x_add(a, e, two));
    return kiln_x_mul(a, x, kiln_x_div(a, n, kiln_x_add(a, n, two)));
}

const kiln_op_def kiln_op_mish = {
    KILN_ROW_UNARY,
    .name = "mish",
    .doc = "x * tanh(ln(1 + e^x))",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
