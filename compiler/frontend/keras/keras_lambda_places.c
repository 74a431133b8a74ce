/* Functions of TensorFlow in a model's code that are about places along an axis, such as
 * tf.one_hot(ids, 5), or about whole numbers and lengths. Source: TensorFlow, module tf. */
#include "compiler/frontend/batch_blocks.h"
#include "compiler/frontend/diagonal.h"
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

/* What is on and off: of the type that is said, or else that of the two. */
static kiln_status states(kiln_keras_call *k, kiln_value *out[2]) {
    static const char *const names[] = {"off_value", "on_value"};
    kiln_dtype dtype = KILN_F32;
    bool is_real = false, is_given = false;
    for (int i = 0; i < 2; i++) {
        const kiln_json *const v = kiln_keras_get(k, names[i], NULL);
        if (v != NULL && !kiln_json_is_number(v))
            return kiln_keras_unread(k, names[i]);
        is_given = is_given || v != NULL;
        is_real = is_real || kiln_json_is_real(v);
    }
    if (is_given && !is_real)
        dtype = KILN_I32;
    KILN_TRY(kiln_keras_read_dtype(k, dtype, &dtype));
    for (int i = 0; i < 2; i++)
        out[i] = kiln_import_scalar(&k->cx->common, dtype,
                                    kiln_keras_number(k, names[i], (double)i));
    return KILN_OK;
}

/* On where the index is the place along a new axis, off elsewhere. */
kiln_status kiln_keras_import_one_hot(kiln_keras_call *k) {
    enum { MAX_DEPTH = 1 << 24 };
    const kiln_type t = k->in[0]->type;
    int64_t dim[KILN_MAX_RANK + 1], line[KILN_MAX_RANK + 1], depth = 0, at = -1;
    kiln_value *state[2] = {NULL, NULL};
    int axis;
    if (kiln_keras_bool(k, "sparse", false))
        return kiln_keras_unread(k, "sparse");
    KILN_TRY(kiln_keras_int(k, "depth", "num_classes", 0, &depth));
    KILN_TRY(kiln_keras_int(k, "axis", NULL, -1, &at));
    KILN_TRY(kiln_axis_normalize(at, t.rank + 1, &axis, k->cx->common.err));
    KILN_TRY(states(k, state));
    if (depth < 1 || depth > MAX_DEPTH || t.rank == KILN_MAX_RANK)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "'depth' (or 'num_classes') must be 1 to %d, is %" PRId64
                         ", of an input of fewer than %d axes",
                         MAX_DEPTH, depth, KILN_MAX_RANK);
    for (int i = 0; i <= t.rank; i++) {
        dim[i] = i < axis ? t.dim[i] : i == axis ? 1 : t.dim[i - 1];
        line[i] = i == axis ? depth : 1;
    }
    kiln_value *const x = kiln_compose_cast(&k->c, k->in[0], KILN_I64);
    kiln_value *const is_on = kiln_compose_2(
        &k->c, &kiln_op_equal, kiln_compose_reshape(&k->c, x, t.rank + 1, dim),
        kiln_compose_reshape(&k->c, kiln_compose_iota(&k->c, depth), t.rank + 1, line));
    return set(k, kiln_compose_where(&k->c, is_on, state[1], state[0]));
}

/* Sums, or products, of all elements up to each. */
kiln_status kiln_keras_import_cumulative(kiln_keras_call *k) {
    kiln_dtype dtype;
    int axis;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_I32));
    KILN_TRY(kiln_keras_read_dtype(k, k->in[0]->type.dtype, &dtype));
    k->in[0] = kiln_compose_cast(&k->c, k->in[0], dtype);
    KILN_TRY(k->c.status);
    KILN_TRY(kiln_keras_axis_or_all(k, 0, &axis));
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", axis),
        kiln_arg_bool("exclusive", kiln_keras_bool(k, "exclusive", false)),
        kiln_arg_bool("reverse", kiln_keras_bool(k, "reverse", false))};
    return set(k, kiln_compose_op(&k->c, k->op, k->in, 1, args, 3));
}

/* keras.ops.flip without axes: along all. */
kiln_status kiln_keras_import_backwards(kiln_keras_call *k) {
    kiln_value *x = k->in[0];
    int64_t axes[KILN_MAX_RANK];
    size_t n = 0;
    KILN_TRY(kiln_keras_read_axes(k, x->type.rank, axes, &n));
    for (int i = 0; kiln_keras_get(k, "axis", NULL) == NULL && i < x->type.rank; i++)
        axes[n++] = i;
    for (size_t i = 0; i < n; i++) {
        const int64_t size = x->type.dim[axes[i]];
        if (size > 1)
            x = kiln_compose_slice(&k->c, x, (int)axes[i], size - 1, -1, size);
    }
    return set(k, x);
}

/* Elements move on; those at the end come to the front. */
kiln_status kiln_keras_import_roll(kiln_keras_call *k) {
    int64_t axes[KILN_MAX_RANK], shift[KILN_MAX_RANK];
    const kiln_json *const v = kiln_keras_get(k, "shift", NULL);
    const size_t n_shift = kiln_json_is_array(v) ? kiln_json_size(v) : 1;
    kiln_value *x = k->in[0];
    size_t n = 0;
    KILN_TRY(kiln_keras_read_axes(k, x->type.rank, axes, &n));
    if (n != n_shift || v == NULL)
        return kiln_keras_unread(k, "shift");
    KILN_TRY(kiln_keras_ints(k, "shift", NULL, 0, (int)n, shift));
    for (size_t i = 0; i < n; i++) {
        const int axis = (int)axes[i];
        const int64_t size = x->type.dim[axis];
        const int64_t by = size == 0 ? 0 : (shift[i] % size + size) % size;
        if (by == 0)
            continue;
        kiln_value *const part[] = {
            kiln_compose_slice(&k->c, x, axis, size - by, 1, by),
            kiln_compose_slice(&k->c, x, axis, 0, 1, size - by)};
        const kiln_attr_arg arg = kiln_arg_int("axis", axis);
        x = kiln_compose_op(&k->c, &kiln_op_concat, part, 2, &arg, 1);
    }
    return set(k, x);
}

/* So many elements of each axis from a place on; -1: all that are left. */
static kiln_status cut(kiln_keras_call *k, const int64_t *begin, const int64_t *size) {
    kiln_value *x = k->in[0];
    for (int i = 0; i < k->in[0]->type.rank; i++) {
        const int64_t dim = k->in[0]->type.dim[i];
        if (begin[i] < 0 || begin[i] > dim || size[i] < -1 || size[i] > dim - begin[i])
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "axis %d of %" PRId64 " has no %" PRId64
                             " elements from %" PRId64 " on",
                             i, dim, size[i], begin[i]);
        const int64_t count = size[i] < 0 ? dim - begin[i] : size[i];
        x = kiln_compose_slice(&k->c, x, i, begin[i], 1, count);
    }
    return set(k, x);
}

kiln_status kiln_keras_import_cut(kiln_keras_call *k) {
    int64_t begin[KILN_MAX_RANK], size[KILN_MAX_RANK];
    const int rank = k->in[0]->type.rank;
    KILN_TRY(kiln_keras_ints(k, "begin", NULL, 0, rank, begin));
    KILN_TRY(kiln_keras_ints(k, "size", NULL, -1, rank, size));
    return cut(k, begin, size);
}

/* keras.ops.slice: where it begins is in the call. */
kiln_status kiln_keras_import_cut_at(kiln_keras_call *k) {
    const kiln_json *const from =
        kiln_json_at(kiln_json_get(k->layer->node, "args"), 1);
    int64_t begin[KILN_MAX_RANK], size[KILN_MAX_RANK];
    const int rank = k->in[0]->type.rank;
    KILN_TRY(kiln_keras_ints(k, "shape", NULL, -1, rank, size));
    for (int i = 0; i < rank; i++)
        if (kiln_json_size(from) != (size_t)rank ||
            !kiln_json_i64(kiln_json_at(from, (size_t)i), &begin[i]))
            return kiln_keras_unread(k, "start_indices");
    return cut(k, begin, size);
}

/* Of the last axis: the largest in order, and their places. */
kiln_status kiln_keras_import_largest(kiln_keras_call *k) {
    int64_t count = 1;
    kiln_value *y[2];
    const bool is_long =
        strcmp(kiln_keras_text(k, "index_type", NULL, "int32"), "int64") == 0;
    KILN_TRY(kiln_keras_int(k, "k", NULL, 1, &count));
    const kiln_attr_arg args[] = {
        kiln_arg_int("k", count), kiln_arg_int("axis", -1),
        kiln_arg_bool("sorted", kiln_keras_bool(k, "sorted", true))};
    KILN_TRY(kiln_import_emit(&k->cx->common, k->c.site, &kiln_op_topk, k->in, 1, args,
                              3, 2, y));
    k->n_more = 1;
    k->more = kiln_array(&k->cx->common.scratch, kiln_value *, 1);
    k->more[0] = kiln_compose_cast(&k->c, y[1], is_long ? KILN_I64 : KILN_I32);
    return set(k, y[0]);
}

/* In order, or where they were: the row's operator is topk. Those that are equal stay in
 * their order. */
kiln_status kiln_keras_import_sorted(kiln_keras_call *k) {
    const bool gives_places = k->op != NULL;
    const kiln_dtype dtype = k->in[0]->type.dtype;
    const char *const word = kiln_keras_text(k, "direction", NULL, "ASCENDING");
    const bool falls = strcmp(word, "DESCENDING") == 0;
    kiln_value *y[2];
    int axis;
    if (!falls && strcmp(word, "ASCENDING") != 0)
        return kiln_keras_unread(k, "direction");
    KILN_TRY(kiln_keras_meet(k, 0, KILN_I32));
    KILN_TRY(kiln_keras_axis_or_all(k, -1, &axis));
    const kiln_attr_arg args[] = {
        kiln_arg_int("k", k->in[0]->type.dim[axis]), kiln_arg_int("axis", axis),
        kiln_arg_bool("largest", falls), kiln_arg_bool("sorted", true)};
    KILN_TRY(kiln_import_emit(&k->cx->common, k->c.site, &kiln_op_topk, k->in, 1, args,
                              4, 2, y));
    return set(k, gives_places ? kiln_compose_cast(&k->c, y[1], KILN_I32)
                               : kiln_compose_cast(&k->c, y[0], dtype));
}

/* Rows of places along the first axes, behind those that both have in common. */
kiln_status kiln_keras_import_pick_nd(kiln_keras_call *k) {
    int64_t batch = 0;
    const char *const policy = kiln_keras_text(k, "bad_indices_policy", NULL, "");
    if (strcmp(policy, "IGNORE") == 0)
        return kiln_keras_unread(k, "bad_indices_policy");
    KILN_TRY(kiln_keras_int(k, "batch_dims", NULL, 0, &batch));
    const kiln_attr_arg arg = kiln_arg_int("batch_dims", batch);
    kiln_value *const in[] = {k->in[0], kiln_compose_cast(&k->c, k->in[1], KILN_I64)};
    return set(k, kiln_compose_op(&k->c, &kiln_op_gather_nd, in, 2, &arg, 1));
}

kiln_status kiln_keras_import_band(kiln_keras_call *k) {
    int64_t lower = -1, upper = -1;
    KILN_TRY(kiln_keras_int(k, "num_lower", NULL, -1, &lower));
    KILN_TRY(kiln_keras_int(k, "num_upper", NULL, -1, &upper));
    return set(k, kiln_compose_band_part(&k->c, k->in[0], lower, upper));
}

/* Blocks of pixels go to the batch; back, where there is an operator. */
kiln_status kiln_keras_import_batch_blocks(kiln_keras_call *k) {
    const char *const margins = k->op != NULL ? "crops" : "paddings";
    const kiln_json *const block = kiln_keras_get(k, "block_shape", NULL);
    const kiln_json *const pair = kiln_keras_get(k, margins, NULL);
    int64_t size[KILN_MAX_RANK], margin[2 * KILN_MAX_RANK];
    const size_t n = kiln_json_size(block);
    if (!kiln_json_is_array(block) || n > KILN_MAX_RANK)
        return kiln_keras_unread(k, "block_shape");
    KILN_TRY(kiln_keras_ints(k, "block_shape", NULL, 1, (int)n, size));
    bool is_good = kiln_json_is_array(pair) && kiln_json_size(pair) == n;
    size_t at = 0;
    for (const kiln_json *i = is_good ? kiln_json_first(pair) : NULL;
         i != NULL && is_good; i = kiln_json_next(i), at += 2)
        is_good = kiln_json_size(i) == 2 &&
                  kiln_json_i64(kiln_json_at(i, 0), &margin[at]) &&
                  kiln_json_i64(kiln_json_at(i, 1), &margin[at + 1]);
    if (!is_good)
        return kiln_keras_unread(k, margins);
    const kiln_blocks b = {size, margin, n, at};
    return set(k, k->op != NULL ? kiln_compose_batch_to_space(&k->c, k->in[0], &b)
                                : kiln_compose_space_to_batch(&k->c, k->in[0], &b));
}

/* ---- repeat ---------------------------------------------------------------------------- */

/* Element i as often as the list's number i says. */
static kiln_status repeat_each(kiln_keras_call *k, kiln_value *x, int axis, int n) {
    enum { MAX_PLACES = 1 << 24 };
    kiln_arena *const a = &k->cx->common.scratch;
    int64_t *const times = kiln_array(a, int64_t, n), all = 0, at = 0;
    KILN_TRY(kiln_keras_ints(k, "repeats", NULL, 1, n, times));
    for (int i = 0; i < n; i++) {
        if (times[i] < 0 || times[i] > MAX_PLACES - all)
            return kiln_keras_unread(k, "repeats");
        all += times[i];
    }
    int64_t *const place = kiln_array(a, int64_t, all);
    for (int i = 0; i < n; i++)
        for (int64_t t = 0; t < times[i]; t++)
            place[at++] = i;
    return set(k, kiln_compose_axis(&k->c, &kiln_op_gather, x,
                                    kiln_compose_ints(&k->c, 1, &all, place), axis));
}

kiln_status kiln_keras_import_repeat(kiln_keras_call *k) {
    const kiln_json *const v = kiln_keras_get(k, "repeats", NULL);
    const size_t given = kiln_json_is_array(v) ? kiln_json_size(v) : 1;
    kiln_value *x = k->in[0];
    int64_t times = -1;
    int axis = 0;
    if (kiln_keras_get(k, "axis", NULL) != NULL)
        KILN_TRY(kiln_keras_read_axis(k, 0, &axis));
    else
        x = kiln_compose_reshape(&k->c, x, 1, (int64_t[]){kiln_type_elems(&x->type)});
    KILN_TRY(k->c.status);
    if (given != 1) {
        if (given > INT32_MAX || (int64_t)given != x->type.dim[axis])
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "'repeats' must be one number, or one for each of "
                             "%" PRId64 " elements, has %zu",
                             x->type.dim[axis], given);
        return repeat_each(k, x, axis, (int)given);
    }
    KILN_TRY(kiln_keras_int(k, "repeats", NULL, -1, &times));
    if (times < 0)
        return kiln_keras_unread(k, "repeats");
    return set(k, kiln_compose_repeat(&k->c, x, axis, times));
}

/* ---- norm ------------------------------------------------------------------------------ */

static kiln_status norm(kiln_keras_call *k, const kiln_op_def *op) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    k->op = op;
    return kiln_keras_import_reduction(k);
}

/* The root of the sum of squares; along one axis, or of all elements, of powers too. */
kiln_status kiln_keras_import_norm(kiln_keras_call *k) {
    const kiln_json *const ord = kiln_keras_get(k, "ord", NULL);
    const char *const word = kiln_json_string(ord, "");
    const double p = kiln_json_number(ord, 0);
    kiln_compose *const c = &k->c;
    if (ord == NULL || strcmp(word, "euclidean") == 0 || strcmp(word, "fro") == 0)
        return norm(k, &kiln_op_reduce_l2);
    const kiln_json *const axes = kiln_keras_get(k, "axis", NULL);
    const bool is_matrix =
        kiln_json_size(axes) > 1 ||
        (axes == NULL && !k->layer->is_lambda && k->in[0]->type.rank != 1);
    if (!(p > 0) || is_matrix)
        return kiln_keras_unread(k, "ord");
    if (p == 1 || p == 2)
        return norm(k, p == 1 ? &kiln_op_reduce_l1 : &kiln_op_reduce_l2);
    k->in[0] = kiln_compose_1(c, &kiln_op_abs, k->in[0]);
    if (isinf(p))
        return norm(k, &kiln_op_reduce_max);
    k->in[0] = kiln_compose_scalar(c, &kiln_op_pow, k->in[0], p);
    KILN_TRY(norm(k, &kiln_op_reduce_sum));
    return set(k, kiln_compose_scalar(c, &kiln_op_pow, k->out, 1 / p));
}
