/* Absolute value (ONNX Abs 13). The smallest integer wraps to itself, as two's
 * complement does. Exact: only the sign bit changes. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return fabs(x);
}

static int64_t i1(int64_t x, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    if (kiln_dtype_is_in(dtype, KILN_DT_SIGNED) && x < 0)
        return (int64_t)(0 - (uint64_t)x);
    return x;
}

const kiln_op_def kiln_op_abs = {
    KILN_ROW_UNARY,
    .name = "abs",
    .doc = "|x|",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .i1 = i1,
};
