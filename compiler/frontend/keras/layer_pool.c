/* Pools, margins and scaling of Keras, channels last. Source: keras.layers, "Pooling
 * layers" and "Reshaping layers". */
#include "compiler/frontend/adaptive_pool.h"
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

/* Channels last, with n spatial axes. */
static kiln_status read_axes(kiln_keras_call *k, int *n) {
    KILN_TRY(kiln_keras_check_format(k));
    KILN_TRY(kiln_keras_min_rank(k, 3));
    *n = k->in[0]->type.rank - 2;
    KILN_ASSERT(*n >= 1 && *n <= KILN_MAX_SPATIAL, "an image of %d axes", *n);
    return KILN_OK;
}

kiln_status kiln_keras_import_pool(kiln_keras_call *k) {
    int n = 0;
    int64_t size[KILN_MAX_SPATIAL], strides[KILN_MAX_SPATIAL];
    kiln_spatial s;
    KILN_TRY(read_axes(k, &n));
    KILN_TRY(kiln_keras_ints(k, "pool_size", "pool_length", 2, n, size));
    if (kiln_keras_get(k, "strides", "stride") != NULL)
        KILN_TRY(kiln_keras_ints(k, "strides", "stride", 1, n, strides));
    else
        memcpy(strides, size, sizeof size);
    const char *const padding = kiln_keras_text(k, "padding", "border_mode", "valid");
    if (strcmp(padding, "same") != 0 && strcmp(padding, "valid") != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "padding must be valid or same, is '%s'",
                         kiln_import_show(&k->cx->common, kiln_str_from(padding)));
    if (!kiln_window_over(
            &k->c, k->in[0], size, strides, NULL,
            strcmp(padding, "same") == 0 ? KILN_PADDING_SAME : KILN_PADDING_VALID, &s))
        return k->c.status;
    return set(k, kiln_channels_last_pool(&k->c, k->op, k->in[0], &s));
}

/* The mean of the steps that count. */
static kiln_status masked_mean(kiln_keras_call *k, kiln_value *mask) {
    static const int64_t steps = 1;
    kiln_compose *const c = &k->c;
    const int64_t dim[] = {mask->type.dim[0], mask->type.dim[1], 1};
    const bool is_kept = kiln_keras_bool(k, "keepdims", false);
    mask = kiln_compose_reshape(c, mask, 3, dim);
    mask = kiln_compose_cast(c, mask, k->in[0]->type.dtype);
    kiln_value *x = kiln_compose_2(c, &kiln_op_mul, k->in[0], mask);
    x = kiln_compose_reduce(c, &kiln_op_reduce_sum, x, &steps, 1, is_kept);
    mask = kiln_compose_reduce(c, &kiln_op_reduce_sum, mask, &steps, 1, is_kept);
    return set(k, kiln_compose_2(c, &kiln_op_div, x, mask));
}

kiln_status kiln_keras_import_global_pool(kiln_keras_call *k) {
    int n = 0;
    int64_t axes[KILN_MAX_RANK];
    kiln_value *mask = NULL;
    KILN_TRY(read_axes(k, &n));
    if (n == 1 && k->op == &kiln_op_reduce_mean)
        KILN_TRY(kiln_keras_read_mask(k, &mask));
    if (mask != NULL)
        return masked_mean(k, mask);
    for (int i = 0; i < n; i++)
        axes[i] = 1 + i;
    return set(k, kiln_compose_reduce(&k->c, k->op, k->in[0], axes, (size_t)n,
                                      kiln_keras_bool(k, "keepdims", false)));
}

static kiln_status adaptive(kiln_keras_call *k, bool is_max) {
    int n = 0;
    int64_t size[KILN_MAX_SPATIAL];
    KILN_TRY(read_axes(k, &n));
    KILN_TRY(kiln_keras_ints(k, "output_size", NULL, 0, n, size));
    kiln_value *const x = kiln_channels_first(&k->c, k->in[0]);
    return set(k, kiln_channels_last(
                      &k->c, kiln_compose_adaptive_pool(&k->c, x, size, is_max)));
}

kiln_status kiln_keras_import_adaptive_average(kiln_keras_call *k) {
    return adaptive(k, false);
}

kiln_status kiln_keras_import_adaptive_max(kiln_keras_call *k) {
    return adaptive(k, true);
}

/* ---- margins --------------------------------------------------------------------- */

/* A number for all, one for each axis, or a beginning and an end for each; of one axis
 * also [beginning, end]. */
static kiln_status read_edges(kiln_keras_call *k, const char *name, int n,
                              int64_t *begin, int64_t *end) {
    enum { MAX_EDGE = 1 << 24 };
    const kiln_json *const v = kiln_keras_get(k, name, NULL);
    const kiln_json *const first = kiln_json_first(v);
    if (kiln_json_is_array(v) && kiln_json_is_array(first)) {
        const kiln_json *j = first;
        bool ok = kiln_json_size(v) == (size_t)n;
        for (int i = 0; ok && i < n; i++, j = kiln_json_next(j))
            ok = kiln_json_i64(kiln_json_at(j, 0), &begin[i]) &&
                 kiln_json_i64(kiln_json_at(j, 1), &end[i]);
        if (!ok)
            return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                             "'%s' must have 2 numbers for each of %d axes", name, n);
    } else if (n == 1 && kiln_json_size(v) == 2) {
        int64_t both[2];
        KILN_TRY(kiln_keras_ints(k, name, NULL, 1, 2, both));
        begin[0] = both[0];
        end[0] = both[1];
    } else {
        KILN_TRY(kiln_keras_ints(k, name, NULL, 1, n, begin));
        memcpy(end, begin, (size_t)n * sizeof *end);
    }
    for (int i = 0; i < n; i++)
        if (begin[i] < 0 || end[i] < 0 || begin[i] > MAX_EDGE || end[i] > MAX_EDGE)
            return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT, "'%s' must be 0 to %d",
                             name, MAX_EDGE);
    return KILN_OK;
}

kiln_status kiln_keras_import_zero_padding(kiln_keras_call *k) {
    int n = 0;
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    KILN_TRY(read_axes(k, &n));
    const int rank = n + 2;
    KILN_TRY(read_edges(k, "padding", n, pads + 1, pads + rank + 1));
    return set(k, kiln_compose_pad(&k->c, k->in[0], pads, 0));
}

kiln_status kiln_keras_import_cropping(kiln_keras_call *k) {
    int n = 0;
    int64_t begin[KILN_MAX_SPATIAL], end[KILN_MAX_SPATIAL];
    kiln_value *x = k->in[0];
    KILN_TRY(read_axes(k, &n));
    KILN_TRY(read_edges(k, "cropping", n, begin, end));
    for (int i = 0; i < n; i++) {
        const int64_t size = x->type.dim[1 + i] - begin[i] - end[i];
        if (size < 1)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "%" PRId64 " and %" PRId64
                             " elements cannot be cut off an "
                             "axis of %" PRId64,
                             begin[i], end[i], x->type.dim[1 + i]);
        x = kiln_compose_slice(&k->c, x, 1 + i, begin[i], 1, size);
    }
    return set(k, x);
}

/* ---- scaling --------------------------------------------------------------------- */

kiln_status kiln_keras_import_up_sampling(kiln_keras_call *k) {
    enum { MAX_FACTOR = 1 << 12 };
    int n = 0;
    int64_t size[KILN_MAX_SPATIAL];
    const char *const mode = kiln_keras_text(k, "interpolation", NULL, "nearest");
    KILN_TRY(read_axes(k, &n));
    KILN_TRY(kiln_keras_ints(k, "size", "length", 2, n, size));
    for (int i = 0; i < n; i++) {
        if (size[i] < 1 || size[i] > MAX_FACTOR)
            return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                             "'size' must be 1 to %d", MAX_FACTOR);
        size[i] *= k->in[0]->type.dim[1 + i];
    }
    const bool is_nearest = strcmp(mode, "nearest") == 0;
    if (!is_nearest && strcmp(mode, "bilinear") != 0)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "interpolation must be nearest or bilinear, is '%s'",
                         kiln_import_show(&k->cx->common, kiln_str_from(mode)));
    return set(k, kiln_channels_last_resize(&k->c, k->in[0], size, is_nearest, false,
                                            !is_nearest));
}
