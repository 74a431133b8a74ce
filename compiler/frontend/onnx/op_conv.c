/* Importers of Conv (1, 11, 22) and ConvTranspose (1, 11, 22). */
#include <inttypes.h>

#include "compiler/frontend/onnx/spatial.h"

enum { N_IN = 3 };

static kiln_status check_ranks(kiln_onnx_cx *cx, kiln_value *const *in) {
    if (in[1]->type.rank == in[0]->type.rank)
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                          "input 'W' must have the rank of 'X', %d, has %d",
                          in[0]->type.rank, in[1]->type.rank);
}

/* X, W and the optional bias; W has X's rank. */
static kiln_status read_inputs(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               kiln_value **in) {
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "W", &in[1]));
    in[2] = kiln_onnx_in(cx, n, 2);
    return check_ranks(cx, in);
}

kiln_status kiln_onnx_emit_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                kiln_value *const *in, kiln_value **out) {
    kiln_onnx_spatial s;
    kiln_attr_arg args[KILN_ONNX_SPATIAL_ARGS + 1];
    KILN_TRY(check_ranks(cx, in));
    KILN_TRY(kiln_onnx_read_spatial(cx, n, in[0], in[1]->type.dim + 2, &s));
    if (s.is_same)
        kiln_onnx_same_pads(&s);
    kiln_onnx_spatial_args(&s, args);
    args[KILN_ONNX_SPATIAL_ARGS] =
        kiln_arg_int("groups", kiln_onnx_attr_i(cx, n, "group", 1));
    return kiln_onnx_emit(cx, n, &kiln_op_conv, in, N_IN, args,
                          KILN_ONNX_SPATIAL_ARGS + 1, 1, out);
}

kiln_status kiln_onnx_import_conv(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[N_IN], *y;
    KILN_TRY(read_inputs(cx, n, in));
    KILN_TRY(kiln_onnx_emit_conv(cx, n, in, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* Pads and output padding of one axis so that the output is `want` long. Where even no
 * padding is too short, the output grows at its end. */
static void fit(kiln_onnx_spatial *s, int axis, int64_t want, int64_t *extra) {
    const int64_t extent = (s->kernel[axis] - 1) * s->dilations[axis] + 1;
    const int64_t total = s->strides[axis] * (s->in[axis] - 1) + *extra + extent - want;
    const int64_t pad = total > 0 ? total : 0;
    s->pads[axis] = s->is_upper ? pad / 2 : pad - pad / 2;
    s->pads[s->n + axis] = pad - s->pads[axis];
    if (total < 0)
        *extra -= total;
}

/* output_padding, and the pads where output_shape or auto_pad decide them. */
static kiln_status resolve_output(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                  kiln_onnx_spatial *s, int64_t *extra) {
    const int64_t *shape, *padding;
    const size_t n_padding = kiln_onnx_attr_ints(cx, n, "output_padding", &padding);
    size_t n_shape = kiln_onnx_attr_ints(cx, n, "output_shape", &shape);
    const size_t rank = (size_t)s->n;
    if (n_shape == rank + 2) { /* some exporters write [N, C] too */
        shape += 2;
        n_shape = rank;
    }
    if ((n_shape != 0 && n_shape != rank) || (n_padding != 0 && n_padding != rank))
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "attributes 'output_shape' and 'output_padding' must have %d "
            "values, have %zu and %zu",
            s->n, n_shape, n_padding);
    for (int i = 0; i < s->n; i++) {
        extra[i] = n_padding == 0 ? 0 : padding[i];
        const int64_t want = n_shape != 0 ? shape[i] : s->in[i] * s->strides[i];
        if (extra[i] < 0 || extra[i] > INT32_MAX || want < 0 || want > KILN_MAX_ELEMS)
            return kiln_onnx_fail(
                cx, KILN_ERR_SHAPE,
                "the output must be 0 to %" PRId64
                " long and padded by 0 to %d on spatial axis %d, asked "
                "for are %" PRId64 " and %" PRId64,
                KILN_MAX_ELEMS, INT32_MAX, i, want, extra[i]);
        if (n_shape != 0 || s->is_same)
            fit(s, i, want, &extra[i]);
    }
    return KILN_OK;
}

kiln_status kiln_onnx_import_conv_transpose(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[N_IN], *y;
    kiln_onnx_spatial s;
    int64_t extra[KILN_ONNX_MAX_SPATIAL];
    kiln_attr_arg args[KILN_ONNX_SPATIAL_ARGS + 2];
    KILN_TRY(read_inputs(cx, n, in));
    KILN_TRY(kiln_onnx_read_spatial(cx, n, in[0], in[1]->type.dim + 2, &s));
    KILN_TRY(resolve_output(cx, n, &s, extra));
    kiln_onnx_spatial_args(&s, args);
    args[KILN_ONNX_SPATIAL_ARGS] =
        kiln_arg_int("groups", kiln_onnx_attr_i(cx, n, "group", 1));
    args[KILN_ONNX_SPATIAL_ARGS + 1] =
        kiln_arg_ints("output_padding", extra, (size_t)s.n);
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_conv_transpose, in, N_IN, args,
                            KILN_ONNX_SPATIAL_ARGS + 2, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
