/* Absolute value (ONNX Abs 13). The smallest integer wraps to itself, as two's
 * complement does. Exact: only the sign bit changes. */
#include "compiler/op/op_compute.h"

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

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    if (kiln_dtype_is_float(x->dtype))
        return kiln_x_fn(a, KILN_INTRIN_abs, x);
    return kiln_x_select(a, kiln_x_less(a, x, kiln_x_like(a, x, 0)), kiln_x_neg(a, x),
                         x);
}

const kiln_op_def kiln_op_abs = {
    KILN_ROW_UNARY,
    .name = "abs",
    .doc = "|x|",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .i1 = i1,
    .x1 = x1,
};
