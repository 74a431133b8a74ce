/* Recurrent convolutions of Keras: an LSTM whose products are convolutions, of one to
 * three axes,
 *
 *     i, f, c', o = W * x_t + U * h + b      c = f c + i tanh(c')      h = o tanh(c)
 *
 * with the gates' activations. W slides as the layer says, over all steps at once; U pads
 * to the same size. The steps are written out. Source: keras.layers.ConvLSTM2D; Shi et al.,
 * Convolutional LSTM network (2015). */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

enum { KERNEL, RECURRENT, BIAS, N_WEIGHTS, N_GATES = 4, MAX_STEPS = 1024 };

typedef struct conv_lstm {
    int n; /* spatial axes */
    int64_t filters, steps;
    kiln_value *w[N_WEIGHTS]; /* BIAS NULL: none */
} conv_lstm;

static kiln_status check_plain(kiln_keras_call *k) {
    static const char *const not_read[] = {"return_state", "stateful"};
    const kiln_type *const x = &k->in[0]->type;
    KILN_TRY(kiln_keras_check_format(k));
    for (size_t i = 0; i < sizeof not_read / sizeof not_read[0]; i++)
        if (kiln_keras_bool(k, not_read[i], false))
            return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                             "recurrent layers with '%s' are not read", not_read[i]);
    if (x->rank < 4 || x->rank > 6 || x->dim[1] < 1)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its input must be [N, steps, spatial..., C], is %s",
                         kiln_type_text(&k->cx->common.scratch, x));
    if (x->dim[1] > MAX_STEPS)
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "at most %d steps are written out, there are %" PRId64,
                         MAX_STEPS, x->dim[1]);
    return KILN_OK;
}

/* Kernels [spatial..., from, gates * filters], of one size. */
static kiln_status read_weights(kiln_keras_call *k, conv_lstm *l) {
    static const char *const roles[N_WEIGHTS] = {"kernel", "recurrent_kernel", "bias"};
    const bool has_bias = kiln_keras_bool(k, "use_bias", true);
    const kiln_type *const x = &k->in[0]->type;
    int64_t dim[KILN_MAX_RANK];
    l->n = x->rank - 3;
    l->steps = x->dim[1];
    KILN_TRY(kiln_keras_int(k, "filters", "nb_filter", 0, &l->filters));
    if (l->filters < 1 || l->filters > INT32_MAX)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "'filters' must be 1 at least, is %" PRId64, l->filters);
    KILN_TRY(kiln_keras_part_weights(k, k->layer->place.part, "/cell", roles,
                                     has_bias ? 3 : 2, l->w));
    KILN_TRY(kiln_keras_ints(k, "kernel_size", NULL, 1, l->n, dim));
    dim[l->n] = x->dim[x->rank - 1];
    dim[l->n + 1] = N_GATES * l->filters;
    KILN_TRY(kiln_keras_check_shape(k, l->w[KERNEL], roles[KERNEL], l->n + 2, dim));
    dim[l->n] = l->filters;
    KILN_TRY(
        kiln_keras_check_shape(k, l->w[RECURRENT], roles[RECURRENT], l->n + 2, dim));
    if (!has_bias)
        return KILN_OK;
    return kiln_keras_check_shape(k, l->w[BIAS], roles[BIAS], 1, dim + l->n + 1);
}

/* W * x + b of all steps: [N, steps, out..., gates * filters]. */
static kiln_status convolve_input(kiln_keras_call *k, const conv_lstm *l,
                                  kiln_value **out) {
    const char *const padding = kiln_keras_text(k, "padding", "border_mode", "valid");
    const kiln_type t = k->in[0]->type;
    int64_t strides[KILN_MAX_SPATIAL], dilations[KILN_MAX_SPATIAL], dim[KILN_MAX_RANK];
    kiln_spatial s;
    const bool is_same = strcmp(padding, "same") == 0;
    if (!is_same && strcmp(padding, "valid") != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "padding must be valid or same, is '%s'",
                         kiln_import_show(&k->cx->common, kiln_str_from(padding)));
    KILN_TRY(kiln_keras_ints(k, "strides", "subsample", 1, l->n, strides));
    KILN_TRY(kiln_keras_ints(k, "dilation_rate", NULL, 1, l->n, dilations));
    dim[0] = t.dim[0] * t.dim[1];
    memcpy(dim + 1, t.dim + 2, (size_t)(t.rank - 2) * sizeof *dim);
    kiln_value *const x = kiln_compose_reshape(&k->c, k->in[0], t.rank - 1, dim);
    if (!kiln_window_over(&k->c, x, l->w[KERNEL]->type.dim, strides, dilations,
                          is_same ? KILN_PADDING_SAME : KILN_PADDING_VALID, &s))
        return k->c.status;
    kiln_value *const in[] = {x, kiln_turn_filter(&k->c, l->w[KERNEL], KILN_FILTER_SIO),
                              l->w[BIAS]};
    kiln_value *const y = kiln_channels_last_conv(&k->c, in, &s, 1);
    KILN_TRY(k->c.status);
    memcpy(dim + 2, y->type.dim + 1, (size_t)(t.rank - 2) * sizeof *dim);
    dim[0] = t.dim[0];
    dim[1] = t.dim[1];
    *out = kiln_compose_reshape(&k->c, y, t.rank, dim);
    return k->c.status;
}

static kiln_value *gate(kiln_keras_call *k, const conv_lstm *l, kiln_value *all, int i,
                        const char *member, const char *otherwise) {
    kiln_value *const x = kiln_compose_slice(&k->c, all, all->type.rank - 1,
                                             i * l->filters, 1, l->filters);
    return kiln_keras_activated(k, x, member, otherwise);
}

/* One step from what x says, with h and c before it (NULL: zeros), which become those
 * behind it. */
static kiln_status step(kiln_keras_call *k, const conv_lstm *l, kiln_value *filter,
                        kiln_value *all, kiln_value **h, kiln_value **c) {
    enum { IN, FORGET, CELL, OUT };
    kiln_compose *const m = &k->c;
    kiln_spatial s;
    if (*h != NULL) {
        kiln_value *const in[] = {*h, filter, NULL};
        if (!kiln_window_over(m, *h, l->w[RECURRENT]->type.dim, NULL, NULL,
                              KILN_PADDING_SAME, &s))
            return m->status;
        all =
            kiln_compose_2(m, &kiln_op_add, all, kiln_channels_last_conv(m, in, &s, 1));
    }
    kiln_value *const i = gate(k, l, all, IN, "recurrent_activation", "sigmoid");
    kiln_value *const more = gate(k, l, all, CELL, "activation", "tanh");
    kiln_value *now = kiln_compose_2(m, &kiln_op_mul, i, more);
    if (*c != NULL) {
        kiln_value *const f =
            gate(k, l, all, FORGET, "recurrent_activation", "sigmoid");
        now = kiln_compose_2(m, &kiln_op_add, kiln_compose_2(m, &kiln_op_mul, f, *c),
                             now);
    }
    kiln_value *const o = gate(k, l, all, OUT, "recurrent_activation", "sigmoid");
    *c = now;
    *h = kiln_compose_2(m, &kiln_op_mul, o,
                        kiln_keras_activated(k, now, "activation", "tanh"));
    return m->status;
}

kiln_status kiln_keras_import_conv_lstm(kiln_keras_call *k) {
    conv_lstm l = {0};
    kiln_value *x = NULL, *h = NULL, *c = NULL;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(check_plain(k));
    KILN_TRY(read_weights(k, &l));
    KILN_TRY(convolve_input(k, &l, &x));
    kiln_value *const filter = kiln_turn_filter(&k->c, l.w[RECURRENT], KILN_FILTER_SIO);
    const bool is_reverse = kiln_keras_bool(k, "go_backwards", false);
    const int rank = x->type.rank;
    kiln_value **const all =
        kiln_array(&k->cx->common.scratch, kiln_value *, (size_t)l.steps);
    memcpy(dim + 1, x->type.dim + 2, (size_t)(rank - 2) * sizeof *dim);
    dim[0] = x->type.dim[0];
    for (int64_t t = 0; t < l.steps; t++) {
        const int64_t at = is_reverse ? l.steps - 1 - t : t;
        kiln_value *const now = kiln_compose_slice(&k->c, x, 1, at, 1, 1);
        KILN_TRY(step(k, &l, filter, kiln_compose_reshape(&k->c, now, rank - 1, dim),
                      &h, &c));
        all[t] = h;
    }
    k->out = h;
    if (!kiln_keras_bool(k, "return_sequences", false))
        return k->c.status;
    memmove(dim + 2, dim + 1, (size_t)(rank - 3) * sizeof *dim);
    dim[1] = 1;
    dim[rank - 1] = l.filters;
    for (int64_t t = 0; t < l.steps; t++)
        all[t] = kiln_compose_reshape(&k->c, all[t], rank, dim);
    const kiln_attr_arg axis = kiln_arg_int("axis", 1);
    k->out = kiln_compose_op(&k->c, &kiln_op_concat, all, (int)l.steps, &axis, 1);
    return k->c.status;
}
