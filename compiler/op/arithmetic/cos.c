/* Cosine (ONNX Cos 22), x in radians.
 * 4 ulp: polynomials after a range reduction that keeps the whole argument (Payne,
 * Hanek, 1983). */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return cos(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_cos, x);
}

const kiln_op_def kiln_op_cos = {
    KILN_ROW_UNARY,
    .name = "cos",
    .doc = "cos(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
