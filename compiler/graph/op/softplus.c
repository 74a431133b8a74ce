/* Softplus (ONNX Softplus 22), written so that exp never overflows.
 * 16 ulp, or 4 roundoffs: log(1 + e^x) loses the tail unless it is written as log1p. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

const kiln_op_def kiln_op_softplus = {
    KILN_ROW_UNARY,
    .name = "softplus",
    .doc = "ln(1 + e^x)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
};
