/* Convolutions of Keras: filters [spatial..., I, O], channels last. Source:
 * keras.layers, "Convolution layers". */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct window {
    int n; /* spatial axes */
    int64_t strides[KILN_MAX_SPATIAL], dilations[KILN_MAX_SPATIAL];
    kiln_padding padding;
    bool is_causal, has_bias;
} window;

static kiln_status read_window(kiln_keras_call *k, window *w) {
    const char *const padding = kiln_keras_text(k, "padding", "border_mode", "valid");
    KILN_TRY(kiln_keras_check_format(k));
    KILN_TRY(kiln_keras_min_rank(k, 3));
    w->n = k->in[0]->type.rank - 2;
    KILN_ASSERT(w->n >= 1 && w->n <= KILN_MAX_SPATIAL, "a window of %d axes", w->n);
    KILN_TRY(kiln_keras_ints(k, "strides", "subsample", 1, w->n, w->strides));
    KILN_TRY(kiln_keras_ints(k, "dilation_rate", "atrous_rate", 1, w->n, w->dilations));
    w->is_causal = strcmp(padding, "causal") == 0;
    w->padding = w->is_causal                   ? KILN_PADDING_GIVEN
                 : strcmp(padding, "same") == 0 ? KILN_PADDING_SAME
                                                : KILN_PADDING_VALID;
    if (!w->is_causal && w->padding == KILN_PADDING_VALID &&
        strcmp(padding, "valid") != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "padding must be valid, same or causal, is '%s'",
                         kiln_import_show(&k->cx->common, kiln_str_from(padding)));
    w->has_bias = !k->layer->is_function &&
                  kiln_keras_bool(k, "use_bias", kiln_keras_bool(k, "bias", true));
    return KILN_OK;
}

/* n filters, then the bias where there is one: a layer's weights, or what a function of
 * keras.ops is called with. */
static kiln_status filters_of(kiln_keras_call *k, const window *w,
                              const char *const *roles, int n, kiln_value **v) {
    if (!k->layer->is_function)
        return kiln_keras_weights(k, roles, n + w->has_bias, v);
    for (int i = 0; i < n; i++) {
        v[i] = k->in[1 + i];
        if (v[i]->type.dtype != k->in[0]->type.dtype || v[i]->type.rank < 2 ||
            v[i]->type.dim[v[i]->type.rank - 2] < 1)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "its filters must be of its values' type, and none empty, "
                             "one is %s",
                             kiln_type_text(&k->cx->common.scratch, &v[i]->type));
    }
    return KILN_OK;
}

/* w: as the file has it, so that its first axes are the kernel. */
static bool slide(kiln_keras_call *k, const window *w, const kiln_value *x,
                  const kiln_value *filter, kiln_spatial *s) {
    if (filter->type.rank != w->n + 2) {
        kiln_compose_fail(
            &k->c, kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "its filter must have %d axes, has shape %s", w->n + 2,
                             kiln_shape_text(&k->cx->common.scratch, filter->type.rank,
                                             filter->type.dim)));
        return false;
    }
    if (!kiln_window_over(&k->c, x, filter->type.dim, w->strides, w->dilations,
                          w->padding, s))
        return false;
    if (w->is_causal)
        s->pads[0] = (s->kernel[0] - 1) * s->dilations[0];
    return true;
}

static kiln_status finish(kiln_keras_call *k, kiln_value *y) {
    k->out = kiln_keras_activated(k, y, "activation", "linear");
    return k->c.status;
}

kiln_status kiln_keras_import_conv(kiln_keras_call *k) {
    static const char *const roles[] = {"kernel|W", "bias|b"};
    window w;
    kiln_spatial s;
    int64_t groups = 1;
    kiln_value *v[2] = {NULL, NULL};
    KILN_TRY(read_window(k, &w));
    KILN_TRY(kiln_keras_int(k, "groups", NULL, 1, &groups));
    KILN_TRY(filters_of(k, &w, roles, 1, v));
    if (!slide(k, &w, k->in[0], v[0], &s))
        return k->c.status;
    if (k->layer->is_function) /* the filter's channels say it */
        groups = k->in[0]->type.dim[w.n + 1] / v[0]->type.dim[w.n];
    kiln_value *const in[] = {k->in[0], kiln_turn_filter(&k->c, v[0], KILN_FILTER_SIO),
                              v[1]};
    return finish(k, kiln_channels_last_conv(&k->c, in, &s, groups));
}

static kiln_value *depthwise(kiln_keras_call *k, const window *w, kiln_value *filter,
                             kiln_value *bias) {
    kiln_spatial s;
    kiln_value *const x = k->in[0];
    if (!slide(k, w, x, filter, &s))
        return x;
    kiln_value *const in[] = {x, kiln_turn_filter(&k->c, filter, KILN_FILTER_SCM),
                              bias};
    return kiln_channels_last_conv(&k->c, in, &s, x->type.dim[x->type.rank - 1]);
}

kiln_status kiln_keras_import_depthwise(kiln_keras_call *k) {
    static const char *const roles[] = {"depthwise_kernel|kernel", "bias"};
    window w;
    kiln_value *v[2] = {NULL, NULL};
    KILN_TRY(read_window(k, &w));
    KILN_TRY(filters_of(k, &w, roles, 1, v));
    return finish(k, depthwise(k, &w, v[0], v[1]));
}

kiln_status kiln_keras_import_separable(kiln_keras_call *k) {
    static const char *const roles[] = {"depthwise_kernel", "pointwise_kernel",
                                        "bias|b"};
    window w;
    kiln_spatial s;
    kiln_value *v[3] = {NULL, NULL, NULL};
    KILN_TRY(read_window(k, &w));
    KILN_TRY(filters_of(k, &w, roles, 2, v));
    kiln_value *const x = depthwise(k, &w, v[0], NULL);
    KILN_TRY(k->c.status);
    window plain = {.n = w.n, .padding = KILN_PADDING_VALID};
    for (int i = 0; i < w.n; i++)
        plain.strides[i] = plain.dilations[i] = 1;
    if (!slide(k, &plain, x, v[1], &s))
        return k->c.status;
    kiln_value *const in[] = {x, kiln_turn_filter(&k->c, v[1], KILN_FILTER_SIO), v[2]};
    return finish(k, kiln_channels_last_conv(&k->c, in, &s, 1));
}

/* Sizes as keras.src.backend.common.backend_utils has them. */
static kiln_status transposed_sizes(kiln_keras_call *k, const window *w,
                                    const kiln_value *filter, int64_t *size) {
    int64_t more[KILN_MAX_SPATIAL];
    const bool is_given = kiln_keras_get(k, "output_padding", NULL) != NULL;
    const bool is_same = w->padding == KILN_PADDING_SAME;
    KILN_TRY(kiln_keras_ints(k, "output_padding", NULL, 0, w->n, more));
    for (int i = 0; i < w->n; i++) {
        const int64_t in = k->in[0]->type.dim[1 + i], step = w->strides[i];
        const int64_t kernel = filter->type.dim[i];
        const int64_t least = 1, most = INT32_MAX;
        if (step < least || step > most || kernel < least || kernel > most ||
            w->dilations[i] < least || w->dilations[i] > most || in > most ||
            more[i] < 0 || more[i] > most)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "its strides, dilations and kernel must be 1 at least");
        const int64_t extent = (kernel - 1) * w->dilations[i] + 1;
        if (is_given)
            size[i] =
                (in - 1) * step + extent - (is_same ? 2 * (extent / 2) : 0) + more[i];
        else
            size[i] = in * step + (is_same || extent < step ? 0 : extent - step);
    }
    return KILN_OK;
}

kiln_status kiln_keras_import_conv_transpose(kiln_keras_call *k) {
    static const char *const roles[] = {"kernel|W", "bias|b"};
    window w;
    kiln_spatial s;
    int64_t size[KILN_MAX_SPATIAL], groups = 1;
    kiln_value *v[2] = {NULL, NULL};
    KILN_TRY(read_window(k, &w));
    KILN_TRY(kiln_keras_int(k, "groups", NULL, 1, &groups));
    if (w.is_causal || groups != 1)
        return kiln_fail(
            k->cx->common.err, KILN_ERR_UNSUPPORTED,
            "a transposed convolution must have one group and padding valid "
            "or same");
    KILN_TRY(filters_of(k, &w, roles, 1, v));
    const bool is_same = w.padding == KILN_PADDING_SAME;
    w.padding = KILN_PADDING_GIVEN;
    if (!slide(k, &w, k->in[0], v[0], &s))
        return k->c.status;
    w.padding = is_same ? KILN_PADDING_SAME : KILN_PADDING_VALID;
    KILN_TRY(transposed_sizes(k, &w, v[0], size));
    kiln_value *const in[] = {k->in[0], kiln_turn_filter(&k->c, v[0], KILN_FILTER_SIO),
                              v[1]};
    return finish(k,
                  kiln_channels_last_conv_transpose(&k->c, in, &s, size, is_same, 1));
}
