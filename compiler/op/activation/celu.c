/* Continuously differentiable exponential linear unit (Barron, 2017; ONNX Celu 12).
 * 16 ulp, or 4 roundoffs: see elu. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { ALPHA };

static const kiln_attr_def attrs[] = {
    [ALPHA] = {.name = "alpha",
               .kind = KILN_ATTR_FLOAT,
               .doc = "value at minus infinity, negated",
               .default_f = 1},
};

static double f1(double x, const kiln_attr *attr) {
    return x < 0 ? attr[ALPHA].f * expm1(x / attr[ALPHA].f) : x;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_expr *alpha = kiln_x_like(a, x, attr[ALPHA].f);
    const kiln_expr *e = kiln_x_fn(a, KILN_INTRIN_expm1, kiln_x_div(a, x, alpha));
    return kiln_x_select(a, kiln_x_less(a, x, kiln_x_like(a, x, 0)),
                         kiln_x_mul(a, alpha, e), x);
}

const kiln_op_def kiln_op_celu = {
    KILN_ROW_UNARY,
    .name = "celu",
    .doc = "x; alpha * (e^(x / alpha) - 1) below 0",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
