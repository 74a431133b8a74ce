/* Natural logarithm (ONNX Log 13): -inf at zero, NaN below.
 * 4 ulp: polynomial logarithms that reduce to [sqrt(1/2), sqrt(2)] stay within 2. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return log(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_log, x);
}

const kiln_op_def kiln_op_log = {
    KILN_ROW_UNARY,
    .name = "log",
    .doc = "ln(x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
    .x1 = x1,
};
