/* Continuously differentiable exponential linear unit (Barron, 2017; ONNX Celu 12).
 * 16 ulp, or 4 roundoffs: see elu. */
#include "compiler/graph/op/op_common.h"

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

const kiln_op_def kiln_op_celu = {
    KILN_ROW_UNARY,
    .name = "celu",
    .doc = "x; alpha * (e^(x / alpha) - 1) below 0",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
};
