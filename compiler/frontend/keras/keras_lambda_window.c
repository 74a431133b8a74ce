/* Functions of TensorFlow in a model's code that slide a window over an image:
 * tf.nn.conv2d(x, filters, ...), pools. Values have their channels last; sizes of windows
 * and steps are one number, one for each spatial axis, or one for each axis. Names of
 * arguments are those of tf.nn and of tf.compat.v1.nn, which the former calls. Source:
 * TensorFlow, modules tf.nn and tf.compat.v1.nn. */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

static kiln_status check_order(kiln_keras_call *k) {
    const char *const order = kiln_keras_text(k, "data_format", NULL, "");
    KILN_TRY(kiln_keras_min_rank(k, 3));
    if (strncmp(order, "NC", 2) == 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "data_format '%s' is not read; save the model with channels "
                         "last, or export it as ONNX",
                         kiln_import_show(&k->cx->common, kiln_str_from(order)));
    return KILN_OK;
}

/* A number for each of n spatial axes, 1 where nothing is said. */
static kiln_status read_sizes(kiln_keras_call *k, const char *name, const char *other,
                              int n, int64_t *out) {
    const kiln_json *const v = kiln_keras_get(k, name, other);
    const size_t given = kiln_json_is_array(v) ? kiln_json_size(v) : 0;
    int64_t all[KILN_MAX_RANK];
    const int count = given == 1 ? 1 : given == (size_t)n + 2 ? n + 2 : n;
    KILN_TRY(kiln_keras_ints(k, name, other, 1, count, all));
    if (count == n + 2 && (all[0] != 1 || all[n + 1] != 1))
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'%s' must be 1 for the batch and the channels", name);
    for (int i = 0; i < n; i++)
        out[i] = all[count == 1 ? 0 : count == n ? i : i + 1];
    return KILN_OK;
}

/* Margins in lists: a beginning and an end for each axis. */
static kiln_status read_margins(kiln_keras_call *k, const kiln_json *v, int rank,
                                int64_t *pads) {
    bool is_good = kiln_json_is_array(v) && kiln_json_size(v) == (size_t)rank;
    for (const kiln_json *i = is_good ? kiln_json_first(v) : NULL; i != NULL && is_good;
         i = kiln_json_next(i), pads += 2)
        is_good = kiln_json_size(i) == 2 && kiln_json_i64(kiln_json_first(i), pads) &&
                  kiln_json_i64(kiln_json_at(i, 1), pads + 1);
    return is_good ? KILN_OK : kiln_keras_unread(k, "padding");
}

/* over: the kernel, or the window of a pool; padding is `otherwise` where nothing is
 * said. */
static kiln_status slide(kiln_keras_call *k, const int64_t *over, const char *otherwise,
                         kiln_spatial *s) {
    const int rank = k->in[0]->type.rank;
    const kiln_json *const given = kiln_keras_get(k, "padding", NULL);
    const kiln_json *const of_rate = kiln_keras_get(k, "rate", NULL);
    const char *const word = kiln_json_string(given, given == NULL ? otherwise : "");
    const kiln_padding padding = strcmp(word, "SAME") == 0    ? KILN_PADDING_SAME
                                 : strcmp(word, "VALID") == 0 ? KILN_PADDING_VALID
                                                              : KILN_PADDING_GIVEN;
    int64_t steps[KILN_MAX_SPATIAL], wide[KILN_MAX_SPATIAL], pads[2 * KILN_MAX_RANK];
    KILN_TRY(read_sizes(k, "strides", "stride", rank - 2, steps));
    KILN_TRY(read_sizes(k, of_rate != NULL ? "rate" : "dilations", "dilation_rate",
                        rank - 2, wide));
    if (padding == KILN_PADDING_GIVEN)
        KILN_TRY(read_margins(k, given, rank, pads));
    if (kiln_window_over(&k->c, k->in[0], over, steps, wide, padding, s) &&
        padding == KILN_PADDING_GIVEN)
        kiln_window_given_pads(&k->c, s, pads);
    return k->c.status;
}

static kiln_status need_filter(kiln_keras_call *k) {
    const kiln_type *const f = &k->in[1]->type;
    KILN_TRY(check_order(k));
    if (f->rank != k->in[0]->type.rank || f->dim[f->rank - 2] < 1)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its filter must have %d axes, none empty, has shape %s",
                         k->in[0]->type.rank,
                         kiln_shape_text(&k->cx->common.scratch, f->rank, f->dim));
    return KILN_OK;
}

static kiln_status convolve(kiln_keras_call *k, kiln_filter_order order,
                            int64_t groups) {
    kiln_spatial s;
    KILN_TRY(slide(k, k->in[1]->type.dim, "VALID", &s));
    kiln_value *const in[] = {k->in[0], kiln_turn_filter(&k->c, k->in[1], order), NULL};
    return set(k, kiln_channels_last_conv(&k->c, in, &s, groups));
}

kiln_status kiln_keras_import_tf_conv(kiln_keras_call *k) {
    KILN_TRY(need_filter(k));
    const int last = k->in[0]->type.rank - 1;
    const int64_t channels = k->in[0]->type.dim[last];
    const int64_t each = k->in[1]->type.dim[last - 1];
    if (channels % each != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its filter must be of channels that divide the input's");
    return convolve(k, KILN_FILTER_SIO, channels / each);
}

kiln_status kiln_keras_import_tf_depthwise(kiln_keras_call *k) {
    KILN_TRY(need_filter(k));
    return convolve(k, KILN_FILTER_SCM, k->in[0]->type.dim[k->in[0]->type.rank - 1]);
}

/* Each channel by itself, then the channels of each pixel. */
kiln_status kiln_keras_import_tf_separable(kiln_keras_call *k) {
    kiln_spatial s;
    KILN_TRY(kiln_keras_import_tf_depthwise(k));
    const kiln_value *const point = k->in[2];
    const int last = k->out->type.rank - 1;
    bool fits = point->type.rank == last + 1 &&
                point->type.dim[last - 1] == k->out->type.dim[last];
    for (int i = 0; fits && i < last - 1; i++)
        fits = point->type.dim[i] == 1;
    if (!fits)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "'pointwise_filter' must be of one pixel and %" PRId64
                         " channels",
                         k->out->type.dim[last]);
    const int64_t ones[KILN_MAX_SPATIAL] = {1, 1, 1, 1, 1, 1};
    kiln_value *const in[] = {k->out,
                              kiln_turn_filter(&k->c, k->in[2], KILN_FILTER_SIO), NULL};
    if (!kiln_window_over(&k->c, k->out, ones, ones, ones, KILN_PADDING_VALID, &s))
        return k->c.status;
    return set(k, kiln_channels_last_conv(&k->c, in, &s, 1));
}

/* Its result has the sizes that it is given; filters [spatial..., O, I]. */
kiln_status kiln_keras_import_tf_conv_transpose(kiln_keras_call *k) {
    enum { MAX_SIZE = 1 << 24 };
    int64_t size[KILN_MAX_RANK];
    kiln_spatial s;
    int n = 0;
    KILN_TRY(need_filter(k));
    KILN_TRY(kiln_keras_sizes(k, "output_shape", 2, size, &n));
    bool is_good = n == k->in[0]->type.rank;
    for (int i = 1; i < n - 1; i++)
        is_good = is_good && size[i] > 0 && size[i] <= MAX_SIZE;
    if (!is_good)
        return kiln_keras_unread(k, "output_shape");
    KILN_TRY(slide(k, k->in[1]->type.dim, "SAME", &s));
    kiln_value *const in[] = {k->in[0],
                              kiln_turn_filter(&k->c, k->in[1], KILN_FILTER_SIO), NULL};
    const bool is_same =
        strcmp(kiln_keras_text(k, "padding", NULL, "SAME"), "SAME") == 0;
    return set(k,
               kiln_channels_last_conv_transpose(&k->c, in, &s, size + 1, is_same, 1));
}

kiln_status kiln_keras_import_tf_pool(kiln_keras_call *k) {
    int64_t size[KILN_MAX_SPATIAL];
    kiln_spatial s;
    KILN_TRY(check_order(k));
    KILN_TRY(read_sizes(k, "ksize", NULL, k->in[0]->type.rank - 2, size));
    KILN_TRY(slide(k, size, "VALID", &s));
    return set(k, kiln_channels_last_pool(&k->c, k->op, k->in[0], &s));
}
