/* Swish, also SiLU (Ramachandran et al., 2017; ONNX Swish 24).
 * 16 ulp: a logistic function and a product. */
#include "compiler/graph/op/op_common.h"

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

const kiln_op_def kiln_op_swish = {
    KILN_ROW_UNARY,
    .name = "swish",
    .doc = "x / (1 + e^(-alpha * x))",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_16,
    .f1 = f1,
};
