/* Bitwise complement (ONNX BitwiseNot 18). Exact: integers. */
#include "compiler/graph/op/op_common.h"

static int64_t i1(int64_t x, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return ~x;
}

const kiln_op_def kiln_op_bitwise_not = {
    KILN_ROW_UNARY,        .name = "bitwise_not",           .doc = "~x",
    .dtypes = KILN_DT_INT, .error_bound = kiln_bound_exact, .i1 = i1,
};
