/* Importers of com.microsoft's activations: QuickGelu, FastGelu, BiasGelu, BiasAdd,
 * BiasSplitGelu, BiasSoftmax; Gelu itself needs no code. */
#include <inttypes.h>

#include "compiler/frontend/onnx/ms.h"

/* x / (1 + e^(-alpha x)). */
kiln_status kiln_onnx_import_ms_quick_gelu(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    const kiln_attr_arg alpha =
        kiln_arg_float("alpha", kiln_onnx_attr_f(cx, n, "alpha", (double)1.702F));
    kiln_onnx_set(cx, n, 0, kiln_compose_op(&c, &kiln_op_swish, &x, 1, &alpha, 1));
    return c.status;
}

/* Gelu of x + bias: by tanh, bias optional. */
kiln_status kiln_onnx_import_ms_fast_gelu(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    x = kiln_ms_add(&c, x, kiln_onnx_in(cx, n, 1));
    kiln_onnx_set(cx, n, 0, kiln_ms_gelu(&c, x, "tanh"));
    return c.status;
}

/* The same by erf. */
kiln_status kiln_onnx_import_ms_bias_gelu(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *bias;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "A", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "B", &bias));
    kiln_onnx_set(cx, n, 0, kiln_ms_gelu(&c, kiln_ms_add(&c, x, bias), "none"));
    return c.status;
}

/* x + bias + skip. */
kiln_status kiln_onnx_import_ms_bias_add(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *bias, *skip;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "bias", &bias));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "skip", &skip));
    kiln_onnx_set(cx, n, 0, kiln_ms_add(&c, kiln_ms_add(&c, x, bias), skip));
    return c.status;
}

/* The first half of x + bias times Gelu of its second half, along the last axis. */
kiln_status kiln_onnx_import_ms_bias_split_gelu(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *bias;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "bias", &bias));
    x = kiln_ms_add(&c, x, bias);
    const int last = x->type.rank - 1;
    if (c.status == KILN_OK && (last < 0 || x->type.dim[last] % 2 != 0))
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "the last axis of 'X' must be even, its halves are "
                              "multiplied");
    KILN_TRY(c.status);
    const int64_t half = x->type.dim[last] / 2;
    kiln_value *const gate = kiln_compose_slice(&c, x, last, half, 1, half);
    kiln_value *const y =
        kiln_compose_2(&c, &kiln_op_mul, kiln_compose_slice(&c, x, last, 0, 1, half),
                       kiln_ms_gelu(&c, gate, "none"));
    kiln_onnx_set(cx, n, 0, y);
    return c.status;
}

/* softmax(data + bias) over all axes from 'axis' on, as one. Attribute
 * is_inner_broadcast says which axes of bias have size 1, as its shape does. */
kiln_status kiln_onnx_import_ms_bias_softmax(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *bias;
    int axis = 0;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "bias", &bias));
    kiln_onnx_attr_i(cx, n, "is_inner_broadcast", 0);
    const kiln_type type = x->type;
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 1), type.rank, &axis,
                                 kiln_onnx_err(cx)));
    x = kiln_ms_add(&c, x, bias);
    int64_t flat[2] = {1, 1};
    for (int i = 0; i < type.rank; i++)
        flat[i >= axis] *= type.dim[i];
    x = kiln_compose_reshape(&c, x, 2, flat);
    x = kiln_compose_axis(&c, &kiln_op_softmax, x, NULL, 1);
    kiln_onnx_set(cx, n, 0, kiln_compose_reshape(&c, x, type.rank, type.dim));
    return c.status;
}
