/* Mish (Misra, 2019; ONNX Mish 22).
 * 16 ulp, or 4 roundoffs: tanh of a softplus. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return x * tanh(x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)));
}

const kiln_op_def kiln_op_mish = {
    KILN_ROW_UNARY,
    .name = "mish",
    .doc = "x * tanh(ln(1 + e^x))",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
};
