/* Functions of several results: parts of an axis. keras.ops.split and its like say where
 * the parts begin, tf.split how long they are. Source: keras.src.ops, numpy and core;
 * TensorFlow, module tf. */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>

enum { MAX_RESULTS = 1024 };

static kiln_status need_results(kiln_keras_call *k, int64_t n) {
    if (n < 1 || n > MAX_RESULTS)
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "it must have 1 to %d results, has %" PRId64, MAX_RESULTS, n);
    k->n_more = (size_t)n - 1;
    k->more = kiln_array(&k->cx->common.scratch, kiln_value *, n);
    return KILN_OK;
}

static void give(kiln_keras_call *k, int64_t i, kiln_value *y) {
    *(i == 0 ? &k->out : &k->more[i - 1]) = y;
}

/* Parts of these sizes, one behind the other. */
static kiln_status cut_up(kiln_keras_call *k, int axis, int64_t n,
                          const int64_t *size) {
    const int64_t dim = k->in[0]->type.dim[axis];
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (size[i] < 0 || size[i] > dim - at)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "axis %d of %" PRId64 " does not have these parts", axis,
                             dim);
        give(k, i, kiln_compose_slice(&k->c, k->in[0], axis, at, 1, size[i]));
        at += size[i];
    }
    return k->c.status;
}

/* So many parts of one size, or parts of these sizes, of which one may be -1. */
kiln_status kiln_keras_import_split(kiln_keras_call *k) {
    const kiln_json *const v = kiln_keras_get(k, "num_or_size_splits", NULL);
    const bool is_list = kiln_json_is_array(v);
    int64_t n = is_list ? (int64_t)kiln_json_size(v) : 0, size[MAX_RESULTS];
    int axis;
    KILN_TRY(kiln_keras_read_axis(k, 0, &axis));
    const int64_t dim = k->in[0]->type.dim[axis];
    if (!is_list)
        KILN_TRY(kiln_keras_int(k, "num_or_size_splits", NULL, 0, &n));
    KILN_TRY(need_results(k, n));
    if (is_list)
        KILN_TRY(kiln_keras_ints(k, "num_or_size_splits", NULL, 0, (int)n, size));
    int64_t left = dim;
    for (int64_t i = 0; i < n; i++) {
        size[i] = is_list ? size[i] : dim % n == 0 ? dim / n : -2;
        left -= size[i] > 0 && size[i] <= dim ? size[i] : 0;
    }
    for (int64_t i = 0; i < n; i++)
        size[i] = size[i] == -1 ? left : size[i];
    return cut_up(k, axis, n, size);
}

/* So many parts, or parts that begin at these places. `is_even`: parts of a number are of
 * one size; else the first ones are one longer. */
static kiln_status split_along(kiln_keras_call *k, int axis, bool is_even) {
    static const char name[] = "indices_or_sections";
    const kiln_json *const v = kiln_keras_get(k, name, NULL);
    const bool is_list = kiln_json_is_array(v);
    const int64_t dim = k->in[0]->type.dim[axis];
    int64_t n = is_list ? (int64_t)kiln_json_size(v) + 1 : 0, size[MAX_RESULTS];
    if (!is_list)
        KILN_TRY(kiln_keras_int(k, name, NULL, 0, &n));
    KILN_TRY(need_results(k, n));
    if (is_list)
        KILN_TRY(kiln_keras_ints(k, name, NULL, 0, (int)n - 1, size));
    for (int64_t i = n - 1; i >= 0 && is_list; i--)
        size[i] = (i < n - 1 ? size[i] : dim) - (i > 0 ? size[i - 1] : 0);
    for (int64_t i = 0; i < n && !is_list; i++)
        size[i] = is_even && dim % n != 0 ? -1 : dim / n + (i < dim % n);
    return cut_up(k, axis, n, size);
}

kiln_status kiln_keras_import_split_at(kiln_keras_call *k) {
    int axis;
    KILN_TRY(kiln_keras_read_axis(k, 0, &axis));
    return split_along(k, axis, true);
}

kiln_status kiln_keras_import_split_evenly(kiln_keras_call *k) {
    int axis;
    KILN_TRY(kiln_keras_read_axis(k, 0, &axis));
    return split_along(k, axis, false);
}

kiln_status kiln_keras_import_split_rows(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_min_rank(k, 1));
    return split_along(k, 0, true);
}

/* The second axis, or the only one. */
kiln_status kiln_keras_import_split_columns(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_min_rank(k, 1));
    return split_along(k, k->in[0]->type.rank > 1, true);
}

kiln_status kiln_keras_import_split_layers(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_min_rank(k, 3));
    return split_along(k, 2, true);
}

/* The elements of an axis, each by itself. */
kiln_status kiln_keras_import_unstack(kiln_keras_call *k) {
    const kiln_type t = k->in[0]->type;
    int64_t dim[KILN_MAX_RANK];
    int axis, rank = 0;
    KILN_TRY(kiln_keras_read_axis(k, 0, &axis));
    KILN_TRY(need_results(k, t.dim[axis]));
    for (int i = 0; i < t.rank; i++)
        if (i != axis)
            dim[rank++] = t.dim[i];
    for (int64_t i = 0; i < t.dim[axis]; i++) {
        kiln_value *const y = kiln_compose_slice(&k->c, k->in[0], axis, i, 1, 1);
        give(k, i, kiln_compose_reshape(&k->c, y, rank, dim));
    }
    return k->c.status;
}
