/* Softsign (ONNX Softsign 22).
 * 4 ulp: one addition, one division. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return x / (1 + fabs(x));
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_div(
        a, x, kiln_x_add(a, kiln_x_like(a, x, 1), kiln_x_fn(a, KILN_INTRIN_abs, x)));
}

const kiln_op_def kiln_op_softsign = {
    KILN_ROW_UNARY,
    .name = "softsign",
    .doc = "x / (1 + |x|)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
