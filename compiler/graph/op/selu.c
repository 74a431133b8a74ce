/* Scaled exponential linear unit (Klambauer et al., 2017; ONNX Selu 22).
 * 16 ulp, or 4 roundoffs: see elu. */
#include "compiler/graph/op/op_common.h"

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

const kiln_op_def kiln_op_selu = {
    KILN_ROW_UNARY,
    .name = "selu",
    .doc = "gamma * x; gamma * alpha * (e^x - 1) below 0",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
};
