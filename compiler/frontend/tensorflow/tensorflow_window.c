/* Attributes of windows: see tf_window.h. */
#include "compiler/frontend/tensorflow/tf_window.h"

#include <inttypes.h>

kiln_status kiln_tf_channels_first(kiln_tf_cx *cx, const kiln_tf_node *n,
                                   bool *is_first) {
    static const struct {
        const char *name;
        bool is_first;
    } formats[] = {{"NHWC", false}, {"NDHWC", false}, {"NCHW", true}, {"NCDHW", true}};
    const kiln_str format = kiln_tf_attr_s(cx, n, "data_format", "NHWC");
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (kiln_str_is(format, formats[i].name)) {
            *is_first = formats[i].is_first;
            return KILN_OK;
        }
    return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                        "attribute 'data_format' must be NHWC, NCHW, NDHWC or NCDHW, "
                        "is '%s'; export the graph without vendor layouts",
                        kiln_tf_show(cx, format));
}

kiln_status kiln_tf_spatial_ints(kiln_tf_cx *cx, const kiln_tf_node *n,
                                 const char *name, int rank, bool is_first,
                                 int64_t *out) {
    const int64_t *v;
    const size_t count = kiln_tf_attr_ints(cx, n, name, &v);
    const int channel = is_first ? 1 : rank - 1;
    if (count != 0 && count != (size_t)rank)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "attribute '%s' must have %d entries, has %zu", name, rank,
                            count);
    for (int i = 0, to = 0; i < rank; i++) {
        const int64_t at = count == 0 ? 1 : v[i];
        if (i != 0 && i != channel)
            out[to++] = at;
        else if (at != 1)
            return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                                "attribute '%s' must be 1 for the batch and the "
                                "channels, is %" PRId64 " on axis %d",
                                name, at, i);
    }
    return KILN_OK;
}

kiln_value *kiln_tf_to_last(kiln_compose *c, kiln_value *x, bool is_first) {
    return is_first ? kiln_channels_last(c, x) : x;
}

kiln_value *kiln_tf_from_last(kiln_compose *c, kiln_value *y, bool is_first) {
    return is_first ? kiln_channels_first(c, y) : y;
}

/* explicit_paddings: two entries for each axis, in the order of data_format. */
static kiln_status read_pads(kiln_compose *c, kiln_tf_cx *cx, const kiln_tf_node *n,
                             int rank, bool is_first, kiln_spatial *s) {
    const int64_t *v;
    int64_t pads[2 * KILN_MAX_RANK];
    const size_t count = kiln_tf_attr_ints(cx, n, "explicit_paddings", &v);
    if (count != 2 * (size_t)rank)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "attribute 'explicit_paddings' must have %d entries, has "
                            "%zu",
                            2 * rank, count);
    for (int i = 0; i < rank; i++) {
        const int last = is_first && i > 0 ? rank - 1 : i;
        const size_t from = (size_t)(!is_first || i == 0 ? i : i == last ? 1 : i + 1);
        const size_t to = (size_t)i;
        pads[2 * to] = v[2 * from];
        pads[2 * to + 1] = v[2 * from + 1];
    }
    kiln_window_given_pads(c, s, pads);
    return c->status;
}

kiln_status kiln_tf_window(kiln_compose *c, kiln_tf_cx *cx, const kiln_tf_node *n,
                           const kiln_value *x, const int64_t *kernel, bool is_first,
                           kiln_spatial *out) {
    int64_t strides[KILN_MAX_RANK], dilations[KILN_MAX_RANK];
    const int64_t *none;
    const int rank = x->type.rank;
    const kiln_str padding = kiln_tf_attr_s(cx, n, "padding", "VALID");
    const bool is_given = kiln_str_is(padding, "EXPLICIT");
    const bool is_same = kiln_str_is(padding, "SAME");
    if (!is_given && !is_same && !kiln_str_is(padding, "VALID"))
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "attribute 'padding' must be SAME, VALID or EXPLICIT, is "
                            "'%s'",
                            kiln_tf_show(cx, padding));
    KILN_TRY(kiln_tf_spatial_ints(cx, n, "strides", rank, is_first, strides));
    KILN_TRY(kiln_tf_spatial_ints(cx, n, "dilations", rank, is_first, dilations));
    if (!kiln_window_over(c, x, kernel, strides, dilations,
                          is_given  ? KILN_PADDING_GIVEN
                          : is_same ? KILN_PADDING_SAME
                                    : KILN_PADDING_VALID,
                          out))
        return c->status;
    if (is_given)
        return read_pads(c, cx, n, rank, is_first, out);
    kiln_tf_attr_ints(cx, n, "explicit_paddings", &none); /* empty */
    return KILN_OK;
}
