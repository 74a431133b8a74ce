/* Importers of convolutions, their transposes, and BiasAdd. */
#include "compiler/frontend/tensorflow/tf_window.h"

#include <inttypes.h>

/* x, made channels last, and the filter [spatial..., I, O] of x's rank. */
static kiln_status need_filter(kiln_compose *c, kiln_tf_cx *cx, const kiln_tf_node *n,
                               int at, bool *is_first, kiln_value **x, kiln_value **w) {
    KILN_TRY(kiln_tf_channels_first(cx, n, is_first));
    KILN_TRY(kiln_tf_need(cx, n, at, "input", x));
    KILN_TRY(kiln_tf_need(cx, n, 1, "filter", w));
    const int rank = (*x)->type.rank;
    if (rank < 3 || (*w)->type.rank != rank)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'input' and 'filter' must have one rank of 3 or more, are "
                            "%s and %s",
                            kiln_type_text(&cx->common.scratch, &(*x)->type),
                            kiln_type_text(&cx->common.scratch, &(*w)->type));
    *x = kiln_tf_to_last(c, *x, *is_first);
    return c->status;
}

kiln_status kiln_tf_import_conv(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *in[3] = {NULL, NULL, NULL};
    kiln_spatial s;
    bool is_first;
    KILN_TRY(need_filter(&c, cx, n, 0, &is_first, &in[0], &in[1]));
    const int rank = in[0]->type.rank;
    const int64_t channels = in[0]->type.dim[rank - 1];
    const int64_t each = in[1]->type.dim[rank - 2];
    if (each < 1 || channels % each != 0)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "the %" PRId64 " channels must be a multiple of the "
                            "filter's %" PRId64,
                            channels, each);
    KILN_TRY(kiln_tf_window(&c, cx, n, in[0], in[1]->type.dim, is_first, &s));
    in[1] = kiln_turn_filter(&c, in[1], KILN_FILTER_SIO);
    kiln_value *const y = kiln_channels_last_conv(&c, in, &s, channels / each);
    return kiln_tf_end(&c, n, kiln_tf_from_last(&c, y, is_first));
}

kiln_status kiln_tf_import_depthwise_conv(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *in[3] = {NULL, NULL, NULL};
    kiln_spatial s;
    bool is_first;
    KILN_TRY(need_filter(&c, cx, n, 0, &is_first, &in[0], &in[1]));
    const int rank = in[0]->type.rank;
    const int64_t channels = in[0]->type.dim[rank - 1];
    if (in[1]->type.dim[rank - 2] != channels)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "the filter must have the input's %" PRId64
                            " channels, has %" PRId64,
                            channels, in[1]->type.dim[rank - 2]);
    KILN_TRY(kiln_tf_window(&c, cx, n, in[0], in[1]->type.dim, is_first, &s));
    in[1] = kiln_turn_filter(&c, in[1], KILN_FILTER_SCM);
    kiln_value *const y = kiln_channels_last_conv(&c, in, &s, channels);
    return kiln_tf_end(&c, n, kiln_tf_from_last(&c, y, is_first));
}

/* The gradient of a convolution in its input: operand 0 says how large that is. */
kiln_status kiln_tf_import_conv_backprop(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *in[3] = {NULL, NULL, NULL};
    kiln_spatial s;
    bool is_first;
    const int64_t *size;
    int64_t out[KILN_MAX_SPATIAL];
    size_t count;
    KILN_TRY(kiln_tf_ints(cx, n, 0, "input_sizes", &size, &count));
    KILN_TRY(need_filter(&c, cx, n, 2, &is_first, &in[0], &in[1]));
    const int rank = in[0]->type.rank;
    const int channel = is_first ? 1 : rank - 1;
    const int n_spatial = rank - 2;
    const bool is_short = count == (size_t)n_spatial; /* the spatial sizes alone */
    if (count != (size_t)rank && !is_short)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'input_sizes' must have %d entries, has %zu", rank, count);
    const int64_t *const w = in[1]->type.dim; /* [spatial..., O, I] */
    const bool fits =
        in[0]->type.dim[rank - 1] == w[rank - 1] &&
        (is_short || (size[0] == in[0]->type.dim[0] && size[channel] == w[rank - 2]));
    if (!fits)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'input_sizes', the filter %s and the gradient %s do not "
                            "fit each other",
                            kiln_type_text(&cx->common.scratch, &in[1]->type),
                            kiln_type_text(&cx->common.scratch, &in[0]->type));
    for (int i = 0; i < n_spatial; i++)
        out[i] = size[is_short ? i : is_first ? 2 + i : 1 + i];
    if (kiln_str_is(kiln_tf_attr_s(cx, n, "padding", "VALID"), "EXPLICIT"))
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "padding EXPLICIT of a transposed convolution is not read; "
                            "use SAME or VALID");
    KILN_TRY(kiln_tf_window(&c, cx, n, in[0], in[1]->type.dim, is_first, &s));
    const bool is_same = kiln_str_is(kiln_tf_attr_s(cx, n, "padding", "VALID"), "SAME");
    in[1] = kiln_turn_filter(&c, in[1], KILN_FILTER_SIO);
    kiln_value *const y =
        kiln_channels_last_conv_transpose(&c, in, &s, out, is_same, 1);
    return kiln_tf_end(&c, n, kiln_tf_from_last(&c, y, is_first));
}

/* One number for each channel: the last axis, or with NCHW axis 1. */
kiln_status kiln_tf_import_bias_add(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *bias;
    bool is_first;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(kiln_tf_channels_first(cx, n, &is_first));
    KILN_TRY(kiln_tf_need(cx, n, 0, "value", &x));
    KILN_TRY(kiln_tf_need(cx, n, 1, "bias", &bias));
    const int rank = x->type.rank, axis = is_first ? 1 : rank - 1;
    if (rank < 2 || bias->type.rank != 1 || bias->type.dim[0] != x->type.dim[axis])
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'bias' must have one number for each channel of %s, is %s",
                            kiln_type_text(&cx->common.scratch, &x->type),
                            kiln_type_text(&cx->common.scratch, &bias->type));
    for (int i = 1; i < rank; i++)
        dim[i - 1] = i == 1 ? bias->type.dim[0] : 1;
    if (is_first)
        bias = kiln_compose_reshape(&c, bias, rank - 1, dim);
    return kiln_tf_end(&c, n, kiln_compose_2(&c, &kiln_op_add, x, bias));
}
