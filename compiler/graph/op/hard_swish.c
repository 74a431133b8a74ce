/* Hard swish (Howard et al., 2019; ONNX HardSwish 22).
 * 16 ulp, or 4 roundoffs: x / 6 + 1/2 cancels near -3. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    const double y = x / 6 + 0.5;
    return x * (y < 0 ? 0 : y > 1 ? 1 : y);
}

const kiln_op_def kiln_op_hard_swish = {
    KILN_ROW_UNARY,
    .name = "hard_swish",
    .doc = "x * max(0, min(1, x / 6 + 1/2))",
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_composed,
    .f1 = f1,
};
