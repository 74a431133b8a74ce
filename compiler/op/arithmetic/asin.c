/* Arc sine (ONNX Asin 22): NaN outside [-1, 1].
 * 4 ulp: piecewise polynomials. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return asin(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_asin, x);
}

const kiln_op_def kiln_op_asin = {
    KILN_ROW_UNARY,
    .name = "asin",
    .doc = "asin(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
