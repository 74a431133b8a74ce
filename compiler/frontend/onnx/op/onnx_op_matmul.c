/* Importers of MatMul (1, 9, 13) and Gemm (1 to 13). */
#include "compiler/frontend/onnx/onnx_internal.h"

kiln_status kiln_onnx_import_matmul(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *a, *b, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", &a));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "B", &b));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_matmul, a, b, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* Gemm-6 says by attribute 'broadcast' whether C is stretched; a C of the result's
 * shape means the same either way. C became optional in Gemm-11. */
kiln_status kiln_onnx_import_gemm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[3], *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "B", &in[1]));
    in[2] = kiln_onnx_in(cx, n, 2);
    const kiln_attr_arg args[] = {
        kiln_arg_float("alpha", kiln_onnx_attr_f(cx, n, "alpha", 1.0)),
        kiln_arg_float("beta", kiln_onnx_attr_f(cx, n, "beta", 1.0)),
        kiln_arg_bool("trans_a", kiln_onnx_attr_i(cx, n, "transA", 0) != 0),
        kiln_arg_bool("trans_b", kiln_onnx_attr_i(cx, n, "transB", 0) != 0),
    };
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_gemm, in, 3, args, 4, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
