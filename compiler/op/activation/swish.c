/* Swish, also SiLU (Ramachandran et al., 2017; ONNX Swish 24).
 * 16 ulp: a logistic function and a product. Where the logistic function is subnormal,
 * below -87, its spacing of 2^-149 is multiplied by at most 104.
 * Other engines: what their logistic functions are off by (sigmoid.c), times an x of up
 * to 18 / alpha, from which on they are 0. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { ALPHA };

static const kiln_attr_def attrs[] = {
    [ALPHA] = {.name = "alpha",
               .kind = KILN_ATTR_FLOAT,
               .doc = "steepness",
               .default_f = 1},
};

static double f1(double x, const kiln_attr *attr) {
    return x / (1 + exp(-attr[ALPHA].f * x));
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_expr *t = kiln_x_mul(a, kiln_x_like(a, x, attr[ALPHA].f), x);
    return kiln_x_mul(a, x, kiln_op_sigmoid.x1(a, t, NULL));
}

static kiln_bound error_bound(const kiln_node *n) {
    (void)n;
    /* 2^-142 = 2^-118 unit roundoffs */
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 16, .floor = 0x1p-118};
}

/* Of functions flatter than alpha = 1 no more is allowed: their results are larger, too.
 */
static kiln_bound elsewhere_bound(const kiln_node *n) {
    const double steep = fmax(1, fabs(n->attr[ALPHA].f));
    kiln_bound b = error_bound(n);
    b.floor = kiln_op_sigmoid.elsewhere_bound(n).floor * 18 / steep;
    return b;
}

const kiln_op_def kiln_op_swish = {
    KILN_ROW_UNARY,
    .name = "swish",
    .doc = "x / (1 + e^(-alpha * x))",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = error_bound,
    .elsewhere_bound = elsewhere_bound,
    .f1 = f1,
    .x1 = x1,
};
