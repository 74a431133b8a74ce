/* Negation (ONNX Neg 13). The smallest integer wraps to itself, as two's complement
 * does. Exact: only the sign bit changes. */
#include "compiler/op/op_compute.h"

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return -x;
}

static int64_t i1(int64_t x, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return (int64_t)(0 - (uint64_t)x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_neg(a, x);
}

const kiln_op_def kiln_op_neg = {
    KILN_ROW_UNARY,
    .name = "neg",
    .doc = "-x",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .i1 = i1,
    .x1 = x1,
};
