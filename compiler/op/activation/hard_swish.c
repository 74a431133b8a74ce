/* Hard swish (Howard et al., 2019; ONNX HardSwish 22).
 * 16 ulp, or 4 roundoffs: x / 6 + 1/2 cancels near -3. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    const double y = x / 6 + 0.5;
    return x * (y < 0 ? 0 : y > 1 ? 1 : y);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    /* x + 3 is exact near -3, where x / 6 + 1/2 cancels. */
    const kiln_expr *y = kiln_x_add(a, x, kiln_x_like(a, x, 3));
    y = kiln_x_binary(a, KILN_EXPR_MAX, y, kiln_x_like(a, x, 0));
    y = kiln_x_binary(a, KILN_EXPR_MIN, y, kiln_x_like(a, x, 6));
    return kiln_x_mul(a, x, kiln_x_mul(a, y, kiln_x_like(a, x, 1.0 / 6)));
}

const kiln_op_def kiln_op_hard_swish = {
    KILN_ROW_UNARY,
    .name = "hard_swish",
    .doc = "x * max(0, min(1, x / 6 + 1/2))",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
