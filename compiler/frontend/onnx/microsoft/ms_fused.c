/* Importers of com.microsoft's convolutions and matrix products: FusedConv,
 * NhwcFusedConv, NhwcConv, NhwcMaxPool, FusedGemm, FusedMatMul, TransposeMatMul,
 * FusedMatMulActivation, GemmFastGelu, MatMulInteger16. */
#include "compiler/frontend/onnx/ms.h"
#include "compiler/frontend/onnx/spatial_attrs.h"

/* activation(conv(x, w) + bias + z). */
static kiln_status fused_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n, bool is_last) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[3], *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "W", &in[1]));
    in[2] = kiln_onnx_in(cx, n, 2);
    kiln_value *z = kiln_onnx_in(cx, n, 3);
    if (is_last)
        in[0] = kiln_ms_channels_first(&c, in[0]);
    if (is_last && z != NULL)
        z = kiln_ms_channels_first(&c, z);
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_emit_conv(cx, n, in, &y));
    if (z != NULL && !kiln_type_same_shape(&y->type, &z->type))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'Z' must have the shape of the result");
    y = kiln_ms_add(&c, y, z);
    KILN_TRY(kiln_ms_activate(&c, "activation_params", &y));
    if (is_last)
        y = kiln_ms_channels_last(&c, y);
    kiln_onnx_set(cx, n, 0, y);
    return c.status;
}

kiln_status kiln_onnx_import_ms_fused_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    return fused_conv(cx, n, false);
}

/* Weights have the usual layout [M, C / group, spatial...]. */
kiln_status kiln_onnx_import_ms_nhwc_fused_conv(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    return fused_conv(cx, n, true);
}

/* Here the weights are channels last too: [M, spatial..., C / group]. */
kiln_status kiln_onnx_import_ms_nhwc_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[3], *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "W", &in[1]));
    in[2] = kiln_onnx_in(cx, n, 2);
    in[0] = kiln_ms_channels_first(&c, in[0]);
    in[1] = kiln_ms_channels_first(&c, in[1]);
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_emit_conv(cx, n, in, &y));
    kiln_onnx_set(cx, n, 0, kiln_ms_channels_last(&c, y));
    return c.status;
}

kiln_status kiln_onnx_import_ms_nhwc_max_pool(kiln_onnx_cx *cx,
                                              const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "x", &x));
    x = kiln_ms_channels_first(&c, x);
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_emit_pool(cx, n, &kiln_op_max_pool, x, &y));
    kiln_onnx_set(cx, n, 0, kiln_ms_channels_last(&c, y));
    return c.status;
}

/* ---- matrix products ---- */

kiln_status kiln_onnx_import_ms_fused_gemm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *in[3];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "B", &in[1]));
    in[2] = kiln_onnx_in(cx, n, 2);
    const kiln_attr_arg args[] = {
        kiln_arg_float("alpha", kiln_onnx_attr_f(cx, n, "alpha", 1.0)),
        kiln_arg_float("beta", kiln_onnx_attr_f(cx, n, "beta", 1.0)),
        kiln_arg_bool("trans_a", kiln_onnx_attr_i(cx, n, "transA", 0) != 0),
        kiln_arg_bool("trans_b", kiln_onnx_attr_i(cx, n, "transB", 0) != 0),
    };
    kiln_value *y = kiln_compose_op(&c, &kiln_op_gemm, in, 3, args, 4);
    KILN_TRY(kiln_ms_activate(&c, NULL, &y));
    kiln_onnx_set(cx, n, 0, y);
    return c.status;
}

/* An operand as [batch..., rows, columns]. A batched one has its rows in front of the
 * batch: [rows, batch..., columns]. Transposing comes after that. */
static kiln_value *operand(kiln_compose *c, kiln_value *x, const char *trans,
                           const char *batched) {
    const bool turns = kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, trans, 0) != 0;
    const bool is_batched =
        batched != NULL &&
        kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, batched, 0) != 0;
    const int rank = x->type.rank;
    int64_t perm[KILN_MAX_RANK];
    if (rank < 2)
        return x; /* a vector has nothing to turn */
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    if (is_batched) {
        for (int i = 0; i < rank - 2; i++)
            perm[i] = i + 1;
        perm[rank - 2] = 0;
    }
    if (turns) {
        const int64_t row = perm[rank - 2];
        perm[rank - 2] = perm[rank - 1];
        perm[rank - 1] = row;
    }
    return kiln_compose_transpose(c, x, perm);
}

/* alpha a b; TransposeMatMul has no batched operands. */
static kiln_status fused_matmul(kiln_compose *c, bool may_batch, kiln_value **y) {
    kiln_value *a, *b;
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 0, "A", &a));
    KILN_TRY(kiln_onnx_need(kiln_onnx_of(c->cx), c->site, 1, "B", &b));
    a = operand(c, a, "transA", may_batch ? "transBatchA" : NULL);
    b = operand(c, b, "transB", may_batch ? "transBatchB" : NULL);
    *y = kiln_compose_2(c, &kiln_op_matmul, a, b);
    const double alpha = kiln_onnx_attr_f(kiln_onnx_of(c->cx), c->site, "alpha", 1);
    if (alpha < 1 || alpha > 1)
        *y = kiln_compose_scalar(c, &kiln_op_mul, *y, alpha);
    return c->status;
}

kiln_status kiln_onnx_import_ms_fused_matmul(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *y;
    KILN_TRY(fused_matmul(&c, true, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_ms_transpose_matmul(kiln_onnx_cx *cx,
                                                 const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *y;
    KILN_TRY(fused_matmul(&c, false, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_ms_fused_matmul_activation(kiln_onnx_cx *cx,
                                                        const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *y;
    KILN_TRY(fused_matmul(&c, true, &y));
    KILN_TRY(kiln_ms_activate(&c, NULL, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_ms_gemm_fast_gelu(kiln_onnx_cx *cx,
                                               const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *w;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "W", &w));
    x = kiln_compose_2(&c, &kiln_op_matmul, x, w);
    x = kiln_ms_add(&c, x, kiln_onnx_in(cx, n, 2));
    kiln_onnx_set(cx, n, 0, kiln_ms_gelu(&c, x, "tanh"));
    return c.status;
}

/* Sums wrap in i32, as ONNX Runtime's do. */
kiln_status kiln_onnx_import_ms_matmul_integer16(kiln_onnx_cx *cx,
                                                 const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *a, *b;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", &a));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "B", &b));
    if (a->type.dtype != KILN_I16 || b->type.dtype != KILN_I16)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE, "inputs 'A' and 'B' must be i16, are %s and %s",
            kiln_dtype_name(a->type.dtype), kiln_dtype_name(b->type.dtype));
    a = kiln_compose_cast(&c, a, KILN_I32);
    b = kiln_compose_cast(&c, b, KILN_I32);
    kiln_onnx_set(cx, n, 0, kiln_compose_2(&c, &kiln_op_matmul, a, b));
    return c.status;
}
