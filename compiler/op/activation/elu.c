/* Exponential linear unit (Clevert et al., 2016; ONNX Elu 22).
 * 16 ulp, or 4 roundoffs: e^x - 1 cancels near 0 unless it is written as expm1. */
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
    return x < 0 ? attr[ALPHA].f * expm1(x) : x;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_expr *e = kiln_x_fn(a, KILN_INTRIN_expm1, x);
    return kiln_x_select(a, kiln_x_less(a, x, kiln_x_like(a, x, 0)),
                         kiln_x_mul(a, kiln_x_like(a, x, attr[ALPHA].f), e), x);
}

const kiln_op_def kiln_op_elu = {
    KILN_ROW_UNARY,
    .name = "elu",
    .doc = "x; alpha * (e^x - 1) below 0",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
