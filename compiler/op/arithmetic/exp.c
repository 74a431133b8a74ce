/* Exponential (ONNX Exp 13).
 * 4 ulp: polynomial exponentials with Cody-Waite range reduction stay within 2. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return exp(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_exp, x);
}

const kiln_op_def kiln_op_exp = {
    KILN_ROW_UNARY,
    .name = "exp",
    .doc = "e^x",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
