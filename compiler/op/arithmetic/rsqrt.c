/* Reciprocal square root. 4 ulp: an estimate and two Newton steps, or a square root and
 * a division. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return 1 / sqrt(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_rsqrt, x);
}

const kiln_op_def kiln_op_rsqrt = {
    KILN_ROW_UNARY,
    .name = "rsqrt",
    .doc = "1 / sqrt(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
