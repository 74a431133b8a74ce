/* Exponential (ONNX Exp 13).
 * 4 ulp: polynomial exponentials with Cody-Waite range reduction stay within 2. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return exp(x);
}

const kiln_op_def kiln_op_exp = {
    KILN_ROW_UNARY,
    .name = "exp",
    .doc = "e^x",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
};
