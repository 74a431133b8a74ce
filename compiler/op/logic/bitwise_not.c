/* Bitwise complement (ONNX BitwiseNot 18). Exact: integers. */
#include "compiler/op/op_compute.h"

static int64_t i1(int64_t x, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return ~x;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_not(a, x);
}

const kiln_op_def kiln_op_bitwise_not = {
    KILN_ROW_UNARY,
    .name = "bitwise_not",
    .doc = "~x",
    .dtypes = KILN_DT_INT,
    .error_bound = kiln_bound_exact,
    .i1 = i1,
    .x1 = x1,
};
