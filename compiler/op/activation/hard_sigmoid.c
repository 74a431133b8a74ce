/* Hard sigmoid (ONNX HardSigmoid 22). NaN stays NaN.
 * 16 ulp, or 4 roundoffs: alpha * x + beta cancels near zero. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { ALPHA, BETA };

static const kiln_attr_def attrs[] = {
    [ALPHA] = {.name = "alpha",
               .kind = KILN_ATTR_FLOAT,
               .doc = "slope",
               .default_f = 0.2},
    [BETA] = {.name = "beta",
              .kind = KILN_ATTR_FLOAT,
              .doc = "value at 0",
              .default_f = 0.5},
};

static double f1(double x, const kiln_attr *attr) {
    const double y = attr[ALPHA].f * x + attr[BETA].f;
    return y < 0 ? 0 : y > 1 ? 1 : y;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_expr *y =
        kiln_x_add(a, kiln_x_mul(a, kiln_x_like(a, x, attr[ALPHA].f), x),
                   kiln_x_like(a, x, attr[BETA].f));
    y = kiln_x_binary(a, KILN_EXPR_MAX, y, kiln_x_like(a, x, 0));
    return kiln_x_binary(a, KILN_EXPR_MIN, y, kiln_x_like(a, x, 1));
}

const kiln_op_def kiln_op_hard_sigmoid = {
    KILN_ROW_UNARY,
    .name = "hard_sigmoid",
    .doc = "max(0, min(1, alpha * x + beta))",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
