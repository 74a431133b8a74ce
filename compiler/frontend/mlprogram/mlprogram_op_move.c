/* Importers of operations that move elements. Source: coremltools,
 * converters/mil/mil/ops/defs/iOS15. */
#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/mlprogram/mil.h"

/* Zeros keep the axis in their place, one -1 takes what is left. */
kiln_status kiln_mil_import_reshape(kiln_mil_call *k) {
    kiln_value *x;
    const int64_t *shape;
    int64_t dim[KILN_MAX_RANK], known = 1;
    size_t n;
    int open = -1;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_ints(k, "shape", &shape, &n));
    if (n > KILN_MAX_RANK)
        return kiln_mil_fail(k, KILN_ERR_LIMIT, "rank must be at most %d",
                             KILN_MAX_RANK);
    for (size_t i = 0; i < n; i++) {
        dim[i] = i < (size_t)x->type.rank && shape[i] == 0 ? x->type.dim[i] : shape[i];
        if (dim[i] < -1 || (dim[i] == -1 && open >= 0))
            return kiln_mil_fail(k, KILN_ERR_SHAPE,
                                 "'shape' must have one -1 at most, and nothing below");
        if (dim[i] == -1)
            open = (int)i;
        else
            known = dim[i] > 0 && known > KILN_MAX_ELEMS / dim[i] ? KILN_MAX_ELEMS + 1
                                                                  : known * dim[i];
    }
    const int64_t elems = kiln_type_elems(&x->type);
    if (open >= 0 && known > 0)
        dim[open] = elems / known;
    if (open >= 0 && known <= 0)
        return kiln_mil_fail(k, KILN_ERR_SHAPE, "'shape' leaves -1 open");
    return kiln_mil_end(k, kiln_compose_reshape(&k->c, x, (int)n, dim));
}

kiln_status kiln_mil_import_transpose(kiln_mil_call *k) {
    kiln_value *x;
    const int64_t *given;
    int64_t perm[KILN_MAX_RANK];
    size_t n;
    unsigned seen = 0;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_ints(k, "perm", &given, &n));
    for (size_t i = 0; n == (size_t)x->type.rank && i < n; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(given[i], x->type.rank, &axis, k->cx->common.err));
        perm[i] = axis;
        seen |= 1U << axis;
    }
    if (n != (size_t)x->type.rank || seen != (1U << n) - 1)
        return kiln_mil_fail(k, KILN_ERR_SHAPE, "'perm' must have each of %d axes once",
                             x->type.rank);
    return kiln_mil_end(k, kiln_compose_transpose(&k->c, x, perm));
}

static kiln_status with_axes(kiln_mil_call *k, bool is_more) {
    kiln_value *x;
    const int64_t *axes;
    int64_t dim[KILN_MAX_RANK];
    size_t n;
    unsigned is_own = 0;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_ints(k, "axes", &axes, &n));
    const int rank = is_more ? x->type.rank + (int)n : x->type.rank;
    if (rank > KILN_MAX_RANK)
        return kiln_mil_fail(k, KILN_ERR_LIMIT, "rank must be at most %d",
                             KILN_MAX_RANK);
    for (size_t i = 0; i < n; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes[i], rank, &axis, k->cx->common.err));
        if (!is_more && x->type.dim[axis] != 1)
            return kiln_mil_fail(k, KILN_ERR_SHAPE, "axis %d must have 1 element",
                                 axis);
        is_own |= 1U << axis;
    }
    int count = 0, from = 0;
    for (int i = 0; i < rank; i++) {
        const bool own =
            (is_own >> i & 1) != 0 || (!is_more && n == 0 && x->type.dim[i] == 1);
        if (is_more) {
            if (!own && from >= x->type.rank)
                return kiln_mil_fail(k, KILN_ERR_SHAPE, "'axes' must differ");
            dim[count++] = own ? 1 : x->type.dim[from++];
        } else if (!own) {
            dim[count++] = x->type.dim[i];
        }
    }
    KILN_ASSERT(!is_more || from == x->type.rank, "%d of %d axes stay", from,
                x->type.rank);
    return kiln_mil_end(k, kiln_compose_reshape(&k->c, x, count, dim));
}

kiln_status kiln_mil_import_expand_dims(kiln_mil_call *k) { return with_axes(k, true); }
kiln_status kiln_mil_import_squeeze(kiln_mil_call *k) { return with_axes(k, false); }

kiln_status kiln_mil_import_concat(kiln_mil_call *k) {
    kiln_value **in;
    size_t n;
    int64_t axis = 0;
    bool is_interleaved = false;
    KILN_TRY(kiln_mil_list(k, "values", &in, &n));
    KILN_TRY(kiln_mil_int(k, "axis", &axis));
    KILN_TRY(kiln_mil_bool(k, "interleave", &is_interleaved));
    if (is_interleaved)
        return kiln_mil_fail(k, KILN_ERR_UNSUPPORTED, "'interleave' is not read");
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return kiln_mil_end(k,
                        kiln_compose_op(&k->c, &kiln_op_concat, in, (int)n, &arg, 1));
}

/* In equal parts (num_splits) or of these sizes. */
kiln_status kiln_mil_import_split(kiln_mil_call *k) {
    kiln_value *x;
    const int64_t *sizes;
    size_t n;
    int64_t parts = 0, at = 0, given = 0;
    int axis;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_int(k, "axis", &given));
    KILN_TRY(kiln_axis_normalize(given, x->type.rank, &axis, k->cx->common.err));
    KILN_TRY(kiln_mil_int(k, "num_splits", &parts));
    KILN_TRY(kiln_mil_ints(k, "split_sizes", &sizes, &n));
    const int64_t size = x->type.dim[axis];
    if (n == 0 && (parts < 1 || size % parts != 0))
        return kiln_mil_fail(k, KILN_ERR_SHAPE,
                             "an axis of %" PRId64 " cannot be split in %" PRId64, size,
                             parts);
    const size_t count = n > 0 ? n : (size_t)parts;
    for (size_t i = 0; i < count && i < k->op->n_output; i++) {
        const int64_t own = n > 0 ? sizes[i] : size / parts;
        if (own < 0 || own > size - at)
            return kiln_mil_fail(k, KILN_ERR_SHAPE,
                                 "'split_sizes' are more than the axis");
        KILN_TRY(kiln_mil_set(k, i, kiln_compose_slice(&k->c, x, axis, at, 1, own)));
        at += own;
    }
    return k->c.status;
}

/* Where a slice of one axis begins and how many elements it has. */
static int64_t bounded(int64_t at, int64_t size, int64_t low, int64_t high) {
    at += at < 0 ? size : 0;
    return at < low ? low : at > high ? high : at;
}

static bool mask_at(const int64_t *mask, size_t n, size_t i) {
    return i < n && mask[i] != 0;
}

kiln_status kiln_mil_import_slice(kiln_mil_call *k) {
    kiln_value *x;
    const int64_t *begin, *end, *stride, *begins, *ends, *squeezes;
    size_t n, n_end, n_stride, n_begins, n_ends, n_squeezes;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_ints(k, "begin", &begin, &n));
    KILN_TRY(kiln_mil_ints(k, "end", &end, &n_end));
    KILN_TRY(kiln_mil_ints(k, "stride", &stride, &n_stride));
    KILN_TRY(kiln_mil_ints(k, "begin_mask", &begins, &n_begins));
    KILN_TRY(kiln_mil_ints(k, "end_mask", &ends, &n_ends));
    KILN_TRY(kiln_mil_ints(k, "squeeze_mask", &squeezes, &n_squeezes));
    if (n != (size_t)x->type.rank || n_end != n || (n_stride != 0 && n_stride != n))
        return kiln_mil_fail(k, KILN_ERR_SHAPE,
                             "'begin', 'end' and 'stride' must have %d numbers",
                             x->type.rank);
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t size = x->type.dim[i], step = n_stride > 0 ? stride[i] : 1;
        const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
        if (step == 0)
            return kiln_mil_fail(k, KILN_ERR_SHAPE, "a stride must not be 0");
        const bool is_one = mask_at(squeezes, n_squeezes, i);
        int64_t from = mask_at(begins, n_begins, i)
                           ? (step < 0 ? size - 1 : 0)
                           : bounded(begin[i], size, low, high);
        const int64_t to = mask_at(ends, n_ends, i) ? (step < 0 ? -1 : size)
                                                    : bounded(end[i], size, low, high);
        int64_t own =
            step > 0 ? (to - from + step - 1) / step : (from - to - step - 1) / -step;
        own = is_one ? 1 : own < 0 ? 0 : own;
        if (own == 0)
            from = 0;
        if (is_one && (from < 0 || from >= size))
            return kiln_mil_fail(k, KILN_ERR_SHAPE, "'begin' is outside of axis %zu",
                                 i);
        x = kiln_compose_slice(&k->c, x, (int)i, from, step, own);
        if (!is_one)
            dim[count++] = own;
    }
    KILN_TRY(k->c.status);
    return kiln_mil_end(k, kiln_compose_reshape(&k->c, x, count, dim));
}

kiln_status kiln_mil_import_gather(kiln_mil_call *k) {
    kiln_value *x, *indices;
    int64_t given = 0, batch = 0;
    int axis;
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_need(k, "indices", &indices));
    KILN_TRY(kiln_mil_int(k, "axis", &given));
    KILN_TRY(kiln_mil_int(k, "batch_dims", &batch));
    if (batch != 0)
        return kiln_mil_fail(k, KILN_ERR_UNSUPPORTED, "'batch_dims' must be 0");
    KILN_TRY(kiln_axis_normalize(given, x->type.rank, &axis, k->cx->common.err));
    indices = kiln_compose_cast(&k->c, indices, KILN_I64);
    return kiln_mil_end(k, kiln_compose_axis(&k->c, &kiln_op_gather, x, indices, axis));
}

/* Of the last axes, a beginning and an end each. */
kiln_status kiln_mil_import_pad(kiln_mil_call *k) {
    kiln_value *x;
    const int64_t *pad;
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    size_t n;
    double value = 0;
    kiln_str mode = KILN_STR_LIT("constant");
    KILN_TRY(kiln_mil_need(k, "x", &x));
    KILN_TRY(kiln_mil_ints(k, "pad", &pad, &n));
    KILN_TRY(kiln_mil_word(k, "mode", &mode));
    KILN_TRY(kiln_mil_float(k, "constant_val", &value));
    const int rank = x->type.rank;
    if (n % 2 != 0 || n / 2 > (size_t)rank)
        return kiln_mil_fail(k, KILN_ERR_SHAPE,
                             "'pad' must have 2 numbers for an axis");
    for (size_t i = 0; i < n / 2; i++) {
        const size_t axis = (size_t)rank - n / 2 + i;
        if (pad[2 * i] < 0 || pad[2 * i + 1] < 0)
            return kiln_mil_fail(k, KILN_ERR_SHAPE, "'pad' must not be negative");
        pads[axis] = pad[2 * i];
        pads[(size_t)rank + axis] = pad[2 * i + 1];
    }
    if (!kiln_str_is(mode, "constant"))
        return kiln_mil_fail(k, KILN_ERR_UNSUPPORTED,
                             "'mode' must be constant, is '%s'",
                             kiln_import_show(&k->cx->common, mode));
    return kiln_mil_end(k, kiln_compose_pad(&k->c, x, pads, value));
}
