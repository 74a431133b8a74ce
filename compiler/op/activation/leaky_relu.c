/* Leaky rectified linear unit (Maas et al., 2013; ONNX LeakyRelu 16).
 * 1 ulp: one product, with a slope rounded to the dtype. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { ALPHA };

static const kiln_attr_def attrs[] = {
    [ALPHA] = {.name = "alpha",
               .kind = KILN_ATTR_FLOAT,
               .doc = "slope below 0",
               .default_f = 0.01},
};

static double f1(double x, const kiln_attr *attr) {
    return x < 0 ? attr[ALPHA].f * x : x;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    return kiln_x_select(a, kiln_x_less(a, x, kiln_x_like(a, x, 0)),
                         kiln_x_mul(a, kiln_x_like(a, x, attr[ALPHA].f), x), x);
}

const kiln_op_def kiln_op_leaky_relu = {
    KILN_ROW_UNARY,
    .name = "leaky_relu",
    .doc = "x; alpha * x below 0",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_1,
    .f1 = f1,
    .x1 = x1,
};
