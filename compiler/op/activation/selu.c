/* Scaled exponential linear unit (Klambauer et al., 2017; ONNX Selu 22).
 * 16 ulp, or 4 roundoffs: see elu. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { ALPHA, GAMMA };

static const kiln_attr_def attrs[] = {
    [ALPHA] = {.name = "alpha",
               .kind = KILN_ATTR_FLOAT,
               .doc = "from the fixed point of mean and variance",
               .default_f = 1.67326319217681884765625},
    [GAMMA] = {.name = "gamma",
               .kind = KILN_ATTR_FLOAT,
               .doc = "from the fixed point of mean and variance",
               .default_f = 1.05070102214813232421875},
};

static double f1(double x, const kiln_attr *attr) {
    return attr[GAMMA].f * (x < 0 ? attr[ALPHA].f * expm1(x) : x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_expr *e = kiln_x_mul(a, kiln_x_like(a, x, attr[ALPHA].f),
                                    kiln_x_fn(a, KILN_INTRIN_expm1, x));
    const kiln_expr *y =
        kiln_x_select(a, kiln_x_less(a, x, kiln_x_like(a, x, 0)), e, x);
    return kiln_x_mul(a, kiln_x_like(a, x, attr[GAMMA].f), y);
}

const kiln_op_def kiln_op_selu = {
    KILN_ROW_UNARY,
    .name = "selu",
    .doc = "gamma * x; gamma * alpha * (e^x - 1) below 0",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
