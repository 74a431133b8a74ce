/* Importers of CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV, CONV_3D,
 * CONV_3D_TRANSPOSE, the pools, and of
 * MediaPipe's Convolution2DTransposeBias. Source: TensorFlow Lite, reference kernels. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

static kiln_padding padding_of(const kiln_tflite_options *o) {
    return o->padding == KILN_TFLITE_VALID ? KILN_PADDING_VALID : KILN_PADDING_SAME;
}

/* x, filter and bias, of ranks 4, 4 and 1 (5, 5 and 1). */
static kiln_status read_conv(kiln_tflite_cx *cx, kiln_compose *c, int rank,
                             kiln_value **in) {
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &in[0]));
    KILN_TRY(kiln_tflite_need(cx, 1, "filter", &in[1]));
    in[2] = kiln_tflite_in(cx, 2);
    if (in[0]->type.rank != rank || in[1]->type.rank != rank ||
        (in[2] != NULL && in[2]->type.rank != 1))
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "input and filter must have rank %d, and a bias rank 1",
                                rank);
    in[1] = kiln_tflite_real(cx, c, 1);
    in[2] = kiln_tflite_real(cx, c, 2);
    return c->status;
}

kiln_status kiln_tflite_import_conv_2d(kiln_tflite_cx *cx) {
    const kiln_tflite_options *const o = &cx->opt;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[3];
    kiln_spatial s;
    KILN_TRY(read_conv(cx, &c, 4, in));
    const int64_t own = in[1]->type.dim[3], channels = in[0]->type.dim[3];
    if (own < 1 || channels % own != 0)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the filter must take a divisor of the input's %" PRId64
                                " channels, takes %" PRId64,
                                channels, own);
    if (!kiln_window_over(
            &c, in[0], in[1]->type.dim + 1, (const int64_t[]){o->stride_h, o->stride_w},
            (const int64_t[]){o->dilation_h, o->dilation_w}, padding_of(o), &s))
        return c.status;
    in[1] = kiln_turn_filter(&c, in[1], KILN_FILTER_OSI);
    kiln_value *const y = kiln_channels_last_conv(&c, in, &s, channels / own);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, y, o->activation));
}

/* The filter says how many outputs a channel has; depth_multiplier, which old files
 * leave out, must not gainsay it. */
kiln_status kiln_tflite_import_depthwise(kiln_tflite_cx *cx) {
    const kiln_tflite_options *const o = &cx->opt;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[3];
    kiln_spatial s;
    KILN_TRY(read_conv(cx, &c, 4, in));
    const int64_t channels = in[0]->type.dim[3];
    if (channels < 1 || in[1]->type.dim[3] % channels != 0)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the filter's %" PRId64
                                " outputs must be a multiple of "
                                "the input's %" PRId64 " channels",
                                in[1]->type.dim[3], channels);
    if (!kiln_window_over(
            &c, in[0], in[1]->type.dim + 1, (const int64_t[]){o->stride_h, o->stride_w},
            (const int64_t[]){o->dilation_h, o->dilation_w}, padding_of(o), &s))
        return c.status;
    in[1] = kiln_turn_filter(&c, in[1], KILN_FILTER_1SK);
    kiln_value *const y = kiln_channels_last_conv(&c, in, &s, channels);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, y, o->activation));
}

kiln_status kiln_tflite_import_conv_3d(kiln_tflite_cx *cx) {
    const kiln_tflite_options *const o = &cx->opt;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[3];
    kiln_spatial s;
    KILN_TRY(read_conv(cx, &c, 5, in));
    const int64_t own = in[1]->type.dim[3], channels = in[0]->type.dim[4];
    if (own < 1 || channels % own != 0)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the filter must take a divisor of the input's %" PRId64
                                " channels, takes %" PRId64,
                                channels, own);
    if (!kiln_window_over(
            &c, in[0], in[1]->type.dim,
            (const int64_t[]){o->stride_d, o->stride_h, o->stride_w},
            (const int64_t[]){o->dilation_d, o->dilation_h, o->dilation_w},
            padding_of(o), &s))
        return c.status;
    in[1] = kiln_turn_filter(&c, in[1], KILN_FILTER_SIO);
    kiln_value *const y = kiln_channels_last_conv(&c, in, &s, channels / own);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, y, o->activation));
}

/* ---- transposed --------------------------------------------------------------------- */

/* in: x, filter [O, h, w, I], bias or NULL. */
static kiln_status transposed(kiln_tflite_cx *cx, kiln_compose *c, kiln_value **in,
                              const int64_t *strides, const int64_t *out,
                              bool is_same) {
    kiln_spatial s;
    if (in[0]->type.rank != 4 || in[1]->type.rank != 4 ||
        in[1]->type.dim[3] != in[0]->type.dim[3])
        return kiln_tflite_fail(
            cx, KILN_ERR_SHAPE,
            "input and filter must have rank 4 and the same last "
            "dimension, have shapes %s and %s",
            kiln_shape_text(&cx->common.scratch, in[0]->type.rank, in[0]->type.dim),
            kiln_shape_text(&cx->common.scratch, in[1]->type.rank, in[1]->type.dim));
    if (!kiln_window_over(c, in[0], in[1]->type.dim + 1, strides, NULL,
                          KILN_PADDING_GIVEN, &s))
        return c->status;
    in[1] = kiln_turn_filter(c, in[1], KILN_FILTER_TRANSPOSED_OSI);
    kiln_value *const y = kiln_channels_last_conv_transpose(c, in, &s, out, is_same, 1);
    return kiln_tflite_end(cx, c, kiln_tflite_activate(c, y, cx->opt.activation));
}

/* output_shape, filter, x, and from version 3 on a bias. */
kiln_status kiln_tflite_import_transpose_conv(kiln_tflite_cx *cx) {
    const kiln_tflite_options *const o = &cx->opt;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[3] = {NULL, NULL, kiln_tflite_in(cx, 3)};
    const int64_t *shape;
    size_t n;
    KILN_TRY(kiln_tflite_need_ints(cx, 0, "output_shape", &shape, &n));
    KILN_TRY(kiln_tflite_need(cx, 1, "filter", &in[1]));
    KILN_TRY(kiln_tflite_need(cx, 2, "input", &in[0]));
    if (n != 4)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "'output_shape' must have 4 values, has %zu", n);
    in[1] = kiln_tflite_real(cx, &c, 1);
    in[2] = kiln_tflite_real(cx, &c, 3);
    KILN_TRY(c.status);
    return transposed(cx, &c, in, (const int64_t[]){o->stride_h, o->stride_w},
                      shape + 1, o->padding == KILN_TFLITE_SAME);
}

/* output_shape, filter [d, h, w, O, I], x, and a bias that may be left out. */
kiln_status kiln_tflite_import_conv_3d_transpose(kiln_tflite_cx *cx) {
    enum { RANK = 5 };
    const kiln_tflite_options *const o = &cx->opt;
    const bool is_same = o->padding == KILN_TFLITE_SAME;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[3] = {NULL, NULL, kiln_tflite_in(cx, 3)};
    kiln_spatial s;
    const int64_t *shape;
    size_t n;
    KILN_TRY(kiln_tflite_need_ints(cx, 0, "output_shape", &shape, &n));
    KILN_TRY(kiln_tflite_need(cx, 1, "filter", &in[1]));
    KILN_TRY(kiln_tflite_need(cx, 2, "input", &in[0]));
    const kiln_type *const x = &in[0]->type, *const w = &in[1]->type;
    if (n != RANK || x->rank != RANK || w->rank != RANK ||
        x->dim[RANK - 1] != w->dim[RANK - 1] ||
        (in[2] != NULL && in[2]->type.rank != 1))
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "input, filter and output_shape must have rank %d, "
                                "input and filter one last dimension, have %s, %s and "
                                "%zu",
                                RANK, kiln_type_text(&cx->common.scratch, x),
                                kiln_type_text(&cx->common.scratch, w), n);
    if (!kiln_window_over(
            &c, in[0], w->dim, (const int64_t[]){o->stride_d, o->stride_h, o->stride_w},
            (const int64_t[]){o->dilation_d, o->dilation_h, o->dilation_w},
            KILN_PADDING_GIVEN, &s))
        return c.status;
    in[1] = kiln_turn_filter(&c, in[1], KILN_FILTER_SIO);
    kiln_value *const y =
        kiln_channels_last_conv_transpose(&c, in, &s, shape + 1, is_same, 1);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, y, o->activation));
}

/* MediaPipe's: x, filter, bias. Its options are TfLiteTransposeConvParams as they lay in
 * memory: padding (1 SAME, 2 VALID), stride_width, stride_height. */
kiln_status kiln_tflite_import_transpose_bias(kiln_tflite_cx *cx) {
    enum { SAME = 1, VALID = 2 };
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[3];
    int32_t params[3];
    int64_t out[2] = {0, 0};
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &in[0]));
    KILN_TRY(kiln_tflite_need(cx, 1, "filter", &in[1]));
    KILN_TRY(kiln_tflite_need(cx, 2, "bias", &in[2]));
    if (cx->op->custom_options.n < sizeof params)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "its options must have %zu bytes, have %zu",
                                sizeof params, cx->op->custom_options.n);
    memcpy(params, cx->op->custom_options.p, sizeof params);
    if ((params[0] != SAME && params[0] != VALID) || params[1] < 1 || params[2] < 1)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "padding must be 1 or 2 and strides positive, are %d, "
                                "%d and %d",
                                params[0], params[1], params[2]);
    const int64_t strides[] = {params[2], params[1]};
    for (int i = 0; i < 2 && in[0]->type.rank == 4 && in[1]->type.rank == 4; i++) {
        const int64_t x = in[0]->type.dim[1 + i], k = in[1]->type.dim[1 + i];
        if (x > KILN_MAX_ELEMS / strides[i])
            return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "a stride of %" PRId64,
                                    strides[i]);
        out[i] = params[0] == SAME ? x * strides[i] : (x - 1) * strides[i] + k;
    }
    return transposed(cx, &c, in, strides, out, params[0] == SAME);
}

/* ---- pools -------------------------------------------------------------------------- */

kiln_status kiln_tflite_import_pool(kiln_tflite_cx *cx) {
    const kiln_tflite_options *const o = &cx->opt;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    kiln_spatial s;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (x->type.rank != 4)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the input must have rank 4, has %d", x->type.rank);
    if (!kiln_window_over(&c, x, (const int64_t[]){o->filter_h, o->filter_w},
                          (const int64_t[]){o->stride_h, o->stride_w}, NULL,
                          padding_of(o), &s))
        return c.status;
    kiln_value *const y = kiln_channels_last_pool(&c, cx->row->op, x, &s);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, y, o->activation));
}

/* The root of the mean of squares under each window. */
kiln_status kiln_tflite_import_l2_pool(kiln_tflite_cx *cx) {
    const kiln_tflite_options *const o = &cx->opt;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    kiln_spatial s;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (!kiln_window_over(&c, x, (const int64_t[]){o->filter_h, o->filter_w},
                          (const int64_t[]){o->stride_h, o->stride_w}, NULL,
                          padding_of(o), &s))
        return c.status;
    x = kiln_compose_2(&c, &kiln_op_mul, x, x);
    x = kiln_channels_last_pool(&c, &kiln_op_avg_pool, x, &s);
    x = kiln_compose_1(&c, &kiln_op_sqrt, x);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, x, o->activation));
}
