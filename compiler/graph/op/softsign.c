/* Softsign (ONNX Softsign 22).
 * 4 ulp: one addition, one division. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return x / (1 + fabs(x));
}

const kiln_op_def kiln_op_softsign = {
    KILN_ROW_UNARY,
    .name = "softsign",
    .doc = "x / (1 + |x|)",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_ulp_4,
    .f1 = f1,
};
