/* Gaussian error linear unit (Hendrycks, Gimpel, 2016; ONNX Gelu 20).
 * 16 ulp, or 4 roundoffs: the negative tail is a difference of what is much larger. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { APPROXIMATE };
enum { NONE, TANH };
static const char *const words[] = {[NONE] = "none", [TANH] = "tanh", NULL};

static const kiln_attr_def attrs[] = {
    [APPROXIMATE] = {.name = "approximate",
                     .kind = KILN_ATTR_WORD,
                     .doc = "none: by erf; tanh: by tanh of a cubic",
                     .choices = words},
};

static const double sqrt_half = 0x1.6a09e667f3bcdp-1;      /* sqrt(1/2) */
static const double sqrt_2_over_pi = 0x1.9884533d43651p-1; /* sqrt(2/pi) */

static double f1(double x, const kiln_attr *attr) {
    if (attr[APPROXIMATE].i == NONE)
        return 0.5 * x * erfc(-x * sqrt_half);
    return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    if (attr[APPROXIMATE].i == NONE)
        return kiln_x_fn(a, KILN_INTRIN_gelu, x);
    /* (1 + tanh(u)) / 2 is the logistic function of 2u, which keeps the negative tail.
     */
    const kiln_expr *cube = kiln_x_mul(a, kiln_x_mul(a, x, x), x);
    const kiln_expr *u =
        kiln_x_add(a, x, kiln_x_mul(a, kiln_x_like(a, x, 0.044715), cube));
    return kiln_x_mul(
        a, x,
        kiln_x_fn(a, KILN_INTRIN_sigmoid,
                  kiln_x_mul(a, u, kiln_x_like(a, x, 2 * sqrt_2_over_pi))));
}

const kiln_op_def kiln_op_gelu = {
    KILN_ROW_UNARY,
    .name = "gelu",
    .doc = "x * P(X <= x) of the normal distribution, or its tanh form",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
    .x1 = x1,
};
