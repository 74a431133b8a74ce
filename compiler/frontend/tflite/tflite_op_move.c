/* Importers of operators that move elements: shapes, slices, joins, margins. Source:
 * TensorFlow Lite, reference kernels. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------------- */

/* One -1 becomes what is left. */
static kiln_status resolve_shape(kiln_tflite_cx *cx, const kiln_value *x,
                                 const int64_t *want, size_t n, int64_t *dim) {
    int64_t known = 1;
    int free_axis = -1;
    if (n > KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "a shape of %zu axes; at most %d",
                                n, KILN_MAX_RANK);
    for (size_t i = 0; i < n; i++) {
        dim[i] = want[i];
        if (want[i] == -1 && free_axis < 0)
            free_axis = (int)i;
        else if (want[i] < 0 || (want[i] > 0 && known > KILN_MAX_ELEMS / want[i]))
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "no shape has a dimension of %" PRId64, want[i]);
        else
            known *= want[i];
    }
    if (free_axis >= 0)
        dim[free_axis] = known > 0 ? kiln_type_elems(&x->type) / known : 0;
    return KILN_OK;
}

/* The shape is input 1, or in old files an option. */
kiln_status kiln_tflite_import_reshape(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    int64_t option[KILN_MAX_RANK], dim[KILN_MAX_RANK] = {0};
    const int64_t *want = option;
    size_t n = cx->opt.n_dims;
    KILN_TRY(kiln_tflite_need(cx, 0, "tensor", &x));
    if (kiln_tflite_in(cx, 1) != NULL) {
        KILN_TRY(kiln_tflite_need_ints(cx, 1, "shape", &want, &n));
    } else {
        for (size_t i = 0; i < n && i < KILN_MAX_RANK; i++)
            option[i] = cx->opt.dims[i];
        if (n == 1 && option[0] == 0) /* how old converters wrote a scalar */
            n = 0;
    }
    KILN_TRY(resolve_shape(cx, x, want, n, dim));
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, x, (int)n, dim));
}

kiln_status kiln_tflite_import_squeeze(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    bool drop[KILN_MAX_RANK] = {false};
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    for (int i = 0; i < x->type.rank && cx->opt.n_dims == 0; i++)
        drop[i] = x->type.dim[i] == 1;
    for (size_t i = 0; i < cx->opt.n_dims; i++) {
        int axis;
        KILN_TRY(
            kiln_axis_normalize(cx->opt.dims[i], x->type.rank, &axis, cx->common.err));
        drop[axis] = true;
    }
    for (int i = 0; i < x->type.rank; i++)
        if (!drop[i])
            dim[rank++] = x->type.dim[i];
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, x, rank, dim));
}

/* x with an axis of one element before `axis` of the result. */
static kiln_status grow(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                        int64_t axis, kiln_value **out) {
    int64_t dim[KILN_MAX_RANK];
    int at;
    if (x->type.rank == KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "the rank must be at most %d",
                                KILN_MAX_RANK);
    KILN_TRY(kiln_axis_normalize(axis, x->type.rank + 1, &at, cx->common.err));
    for (int i = 0; i < x->type.rank; i++)
        dim[i + (i >= at)] = x->type.dim[i];
    dim[at] = 1;
    *out = kiln_compose_reshape(c, x, x->type.rank + 1, dim);
    return c->status;
}

kiln_status kiln_tflite_import_expand_dims(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *axis;
    size_t n;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "axis", &axis, &n));
    if (n != 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE, "'axis' must have 1 value, has %zu",
                                n);
    KILN_TRY(grow(cx, &c, x, axis[0], &x));
    return kiln_tflite_end(cx, &c, x);
}

kiln_status kiln_tflite_import_transpose(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *perm;
    size_t n;
    bool is_taken[KILN_MAX_RANK] = {false};
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "perm", &perm, &n));
    for (size_t i = 0; i < n && n == (size_t)x->type.rank; i++)
        if (perm[i] >= 0 && perm[i] < x->type.rank)
            is_taken[perm[i]] = true;
    for (int i = 0; i < x->type.rank; i++)
        if (!is_taken[i])
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "'perm' must name each of the %d axes once",
                                    x->type.rank);
    return kiln_tflite_end(cx, &c, kiln_compose_transpose(&c, x, perm));
}

kiln_status kiln_tflite_import_shape(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_dtype dtype;
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_dtype(cx->opt.type, &dtype, cx->common.err));
    if (dtype != KILN_I64)
        dtype = KILN_I32;
    const int64_t n = x->type.rank;
    kiln_value *const v = kiln_compose_ints(&c, 1, &n, x->type.dim);
    return kiln_tflite_end(cx, &c, kiln_compose_cast(&c, v, dtype));
}

kiln_status kiln_tflite_import_rank(kiln_tflite_cx *cx) {
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_set(cx, 0,
                           kiln_import_scalar(&cx->common, KILN_I32, x->type.rank));
}

/* ---- joins and cuts ----------------------------------------------------------------- */

kiln_status kiln_tflite_import_concatenation(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const int n = kiln_tflite_n_in(cx);
    kiln_value **const in = kiln_array(&cx->common.scratch, kiln_value *, n);
    for (int i = 0; i < n; i++)
        KILN_TRY(kiln_tflite_need(cx, i, "input", &in[i]));
    if (n == 0)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "there must be inputs");
    const kiln_attr_arg axis = kiln_arg_int("axis", cx->opt.axis);
    kiln_value *const y = kiln_compose_op(&c, &kiln_op_concat, in, n, &axis, 1);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, y, cx->opt.activation));
}

kiln_status kiln_tflite_import_pack(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const int n = kiln_tflite_n_in(cx);
    kiln_value **const in = kiln_array(&cx->common.scratch, kiln_value *, n);
    for (int i = 0; i < n; i++) {
        KILN_TRY(kiln_tflite_need(cx, i, "value", &in[i]));
        KILN_TRY(grow(cx, &c, in[i], cx->opt.axis, &in[i]));
    }
    if (n == 0)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "there must be inputs");
    const kiln_attr_arg axis = kiln_arg_int("axis", cx->opt.axis);
    return kiln_tflite_end(cx, &c,
                           kiln_compose_op(&c, &kiln_op_concat, in, n, &axis, 1));
}

/* Parts of these sizes along an axis; dropped: each without the axis. */
static kiln_status cut(kiln_tflite_cx *cx, kiln_value *x, int axis, const int64_t *size,
                       bool drops) {
    kiln_compose c = kiln_tflite_compose(cx);
    const int n = kiln_tflite_n_out(cx);
    int64_t at = 0;
    for (int i = 0; i < n; i++) {
        int64_t dim[KILN_MAX_RANK];
        int rank = 0;
        if (size[i] < 0 || size[i] > x->type.dim[axis] - at)
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "the parts are longer than axis %d of %" PRId64,
                                    axis, x->type.dim[axis]);
        kiln_value *part = kiln_compose_slice(&c, x, axis, at, 1, size[i]);
        KILN_TRY(c.status);
        for (int k = 0; k < x->type.rank; k++)
            if (!drops || k != axis)
                dim[rank++] = part->type.dim[k];
        part = kiln_compose_reshape(&c, part, rank, dim);
        KILN_TRY(c.status);
        KILN_TRY(kiln_tflite_set(cx, i, part));
        at += size[i];
    }
    return KILN_OK;
}

static kiln_status equal_parts(kiln_tflite_cx *cx, kiln_value *x, int64_t axis,
                               bool drops) {
    int at;
    const int n = kiln_tflite_n_out(cx);
    int64_t *const size = kiln_array(&cx->common.scratch, int64_t, n);
    KILN_TRY(kiln_axis_normalize(axis, x->type.rank, &at, cx->common.err));
    const int64_t all = x->type.dim[at];
    if (n == 0 || all % n != 0 || (drops && all != n))
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "axis %d of %" PRId64 " is not cut into %d parts", at,
                                all, n);
    for (int i = 0; i < n; i++)
        size[i] = all / n;
    return cut(cx, x, at, size, drops);
}

kiln_status kiln_tflite_import_unpack(kiln_tflite_cx *cx) {
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return equal_parts(cx, x, cx->opt.axis, true);
}

/* axis, x */
kiln_status kiln_tflite_import_split(kiln_tflite_cx *cx) {
    kiln_value *x;
    const int64_t *axis;
    size_t n;
    KILN_TRY(kiln_tflite_need_ints(cx, 0, "axis", &axis, &n));
    KILN_TRY(kiln_tflite_need(cx, 1, "value", &x));
    if (n != 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE, "'axis' must have 1 value, has %zu",
                                n);
    return equal_parts(cx, x, axis[0], false);
}

/* x, sizes (one may be -1), axis */
kiln_status kiln_tflite_import_split_v(kiln_tflite_cx *cx) {
    kiln_value *x;
    const int64_t *axis, *want;
    size_t n, n_axis;
    int at;
    KILN_TRY(kiln_tflite_need(cx, 0, "value", &x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "size_splits", &want, &n));
    KILN_TRY(kiln_tflite_need_ints(cx, 2, "axis", &axis, &n_axis));
    if (n_axis != 1 || n != (size_t)kiln_tflite_n_out(cx))
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "'size_splits' must have %d values and 'axis' 1, have "
                                "%zu and %zu",
                                kiln_tflite_n_out(cx), n, n_axis);
    KILN_TRY(kiln_axis_normalize(axis[0], x->type.rank, &at, cx->common.err));
    int64_t *const size = kiln_array(&cx->common.scratch, int64_t, n);
    int64_t left = x->type.dim[at];
    for (size_t i = 0; i < n; i++)
        if (want[i] > 0)
            left = want[i] > left ? -1 : left - want[i];
    for (size_t i = 0; i < n; i++)
        size[i] = want[i] == -1 ? left : want[i];
    return cut(cx, x, at, size, false);
}

/* ---- slices ------------------------------------------------------------------------- */

static kiln_value *slice(kiln_compose *c, kiln_value *x, const int64_t *starts,
                         const int64_t *steps, const int64_t *sizes) {
    const size_t rank = (size_t)x->type.rank;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", starts, rank),
                                  kiln_arg_ints("steps", steps, rank),
                                  kiln_arg_ints("sizes", sizes, rank)};
    return kiln_compose_op(c, &kiln_op_slice, &x, 1, args, 3);
}

/* x, begin, size (-1: to the end) */
kiln_status kiln_tflite_import_slice(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *begin, *size;
    size_t n, n_size;
    int64_t sizes[KILN_MAX_RANK], steps[KILN_MAX_RANK];
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "begin", &begin, &n));
    KILN_TRY(kiln_tflite_need_ints(cx, 2, "size", &size, &n_size));
    if (n != (size_t)x->type.rank || n_size != n)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "'begin' and 'size' must have %d values, have %zu and "
                                "%zu",
                                x->type.rank, n, n_size);
    for (size_t i = 0; i < n; i++) {
        steps[i] = 1;
        sizes[i] = size[i] == -1 && begin[i] >= 0 && begin[i] <= x->type.dim[i]
                       ? x->type.dim[i] - begin[i]
                       : size[i];
    }
    return kiln_tflite_end(cx, &c, slice(&c, x, begin, steps, sizes));
}

/* One axis of a strided slice: masks say which ends are left out. */
static int64_t clamp(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

static void strided_axis(const kiln_tflite_options *o, size_t i, int64_t dim,
                         int64_t begin, int64_t end, int64_t step, int64_t *start,
                         int64_t *size) {
    const int64_t bit = INT64_C(1) << i;
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
    int64_t from = begin < 0 ? begin + dim : begin;
    from =
        (o->begin_mask & bit) != 0 ? (step > 0 ? low : high) : clamp(from, low, high);
    if ((o->shrink_mask & bit) != 0) {
        *start = begin < 0 ? begin + dim : begin;
        *size = 1;
        return;
    }
    int64_t to = o->offset ? from + end : end < 0 ? end + dim : end;
    to = (o->end_mask & bit) != 0 ? (step > 0 ? high : low) : clamp(to, low, high);
    const int64_t span = step > 0 ? to - from : from - to;
    const int64_t stride = step > 0 ? step : -step;
    *start = from;
    *size = span <= 0 ? 0 : (span - 1) / stride + 1;
    if (*size == 0)
        *start = 0;
}

/* Entries of begin, end and strides, spread over x's axes and those that are new. */
typedef struct strided {
    size_t n;
    const int64_t *begin, *end, *step;
    int64_t starts[KILN_MAX_RANK], steps[KILN_MAX_RANK], sizes[KILN_MAX_RANK];
    int64_t dim[2 * KILN_MAX_RANK];  /* of the result */
    int at[KILN_MAX_RANK];           /* where x's axes lie in it, or -1 */
    bool is_from_end[KILN_MAX_RANK]; /* the ends depend on how long it is */
    int rank;
} strided;

static kiln_status spread(kiln_tflite_cx *cx, const kiln_value *x, strided *s) {
    const kiln_tflite_options *const o = &cx->opt;
    int axis = 0, n_new = 0;
    bool seen = false;
    for (size_t i = 0; i < s->n; i++)
        n_new += (o->new_axis_mask >> i & 1) != 0 && (o->ellipsis_mask >> i & 1) == 0;
    for (size_t i = 0; i < s->n; i++) {
        const bool is_rest = (o->ellipsis_mask >> i & 1) != 0 && !seen;
        if (!is_rest && (o->new_axis_mask >> i & 1) != 0) {
            s->dim[s->rank++] = 1;
            continue;
        }
        const int64_t given = (int64_t)s->n - n_new;
        const int64_t n_axes = is_rest ? x->type.rank - given + 1 : 1;
        seen = seen || is_rest;
        if (axis + n_axes > x->type.rank || s->step[i] == 0 || s->step[i] < -INT32_MAX)
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "entry %zu of a strided slice of rank %d", i,
                                    x->type.rank);
        for (int64_t k = 0; k < n_axes; k++, axis++) {
            s->starts[axis] = 0;
            s->steps[axis] = is_rest ? 1 : s->step[i];
            s->sizes[axis] = x->type.dim[axis];
            if (!is_rest)
                strided_axis(o, i, x->type.dim[axis], s->begin[i], s->end[i],
                             s->step[i], &s->starts[axis], &s->sizes[axis]);
            s->is_from_end[axis] =
                !is_rest && (s->step[i] < 0 || o->offset != 0 ||
                             (s->begin[i] < 0 && (o->begin_mask >> i & 1) == 0) ||
                             (s->end[i] < 0 && (o->end_mask >> i & 1) == 0));
            const bool stays = is_rest || (o->shrink_mask >> i & 1) == 0;
            s->at[axis] = stays ? s->rank : -1;
            if (stays)
                s->dim[s->rank++] = s->sizes[axis];
        }
    }
    for (; axis < x->type.rank; axis++) {
        s->starts[axis] = 0;
        s->steps[axis] = 1;
        s->at[axis] = s->rank;
        s->sizes[axis] = s->dim[s->rank++] = x->type.dim[axis];
    }
    return KILN_OK;
}

static kiln_status read_strided(kiln_tflite_cx *cx, const kiln_value *x, strided *s) {
    size_t n_end, n_step;
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "begin", &s->begin, &s->n));
    KILN_TRY(kiln_tflite_need_ints(cx, 2, "end", &s->end, &n_end));
    KILN_TRY(kiln_tflite_need_ints(cx, 3, "strides", &s->step, &n_step));
    if (s->n > KILN_MAX_RANK || n_end != s->n || n_step != s->n)
        return kiln_tflite_fail(
            cx, KILN_ERR_SHAPE,
            "'begin', 'end' and 'strides' must have as many values, "
            "at most %d, have %zu, %zu and %zu",
            KILN_MAX_RANK, s->n, n_end, n_step);
    KILN_TRY(spread(cx, x, s));
    if (s->rank > KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "a result of rank %d; at most %d",
                                s->rank, KILN_MAX_RANK);
    return KILN_OK;
}

kiln_status kiln_tflite_read_cut(kiln_tflite_cx *cx, const kiln_value *x, int of,
                                 kiln_counted_cut *out) {
    strided s = {.n = 0};
    KILN_TRY(read_strided(cx, x, &s));
    *out =
        (kiln_counted_cut){s.at[of], s.sizes[of],
                           s.starts[of] == 0 && s.steps[of] == 1 && !s.is_from_end[of]};
    return KILN_OK;
}

kiln_status kiln_tflite_import_strided_slice(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    strided s = {.n = 0};
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(read_strided(cx, x, &s));
    x = slice(&c, x, s.starts, s.steps, s.sizes);
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, x, s.rank, s.dim));
}

/* ---- margins ------------------------------------------------------------------------ */

/* [rank, 2] to all beginnings, then all ends. */
static kiln_status read_pads(kiln_tflite_cx *cx, const kiln_value *x, int64_t *pads) {
    const int64_t *v;
    size_t n;
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "paddings", &v, &n));
    if (n != 2 * (size_t)x->type.rank)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "'paddings' must have %d values, has %zu",
                                2 * x->type.rank, n);
    for (size_t i = 0; i < n; i++) {
        if (v[i] < 0)
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE, "a margin of %" PRId64, v[i]);
        pads[i / 2 + (i % 2) * (size_t)x->type.rank] = v[i];
    }
    return KILN_OK;
}

/* PAD, PADV2: of zeros or of input 2; quantised tensors have their zero point. */
kiln_status kiln_tflite_import_pad(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, 0);
    kiln_value *x, *with = kiln_tflite_in(cx, 2);
    int64_t pads[2 * KILN_MAX_RANK];
    kiln_tflite_scale q = {0, 0};
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(read_pads(cx, x, pads));
    if (with == NULL && kiln_tflite_is_quantized(t))
        KILN_TRY(kiln_tflite_scale_of(cx, t, &q));
    if (with == NULL)
        return kiln_tflite_end(cx, &c, kiln_compose_pad(&c, x, pads, (double)q.zero));
    with = kiln_compose_reshape(&c, with, 0, NULL);
    kiln_value *const in[] = {x, with};
    const kiln_attr_arg args[] = {
        kiln_arg_word("mode", "constant"),
        kiln_arg_ints("pads", pads, 2 * (size_t)x->type.rank)};
    return kiln_tflite_end(cx, &c, kiln_compose_op(&c, &kiln_op_pad, in, 2, args, 2));
}

/* SYMMETRIC repeats the outermost element: the slice of each end in reverse. */
static kiln_value *symmetric(kiln_compose *c, kiln_value *x, int axis, int64_t before,
                             int64_t after) {
    kiln_value *in[3];
    int n = 0;
    if (before > 0)
        in[n++] = kiln_compose_slice(c, x, axis, before - 1, -1, before);
    in[n++] = x;
    if (after > 0)
        in[n++] = kiln_compose_slice(c, x, axis, x->type.dim[axis] - 1, -1, after);
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return n == 1 ? x : kiln_compose_op(c, &kiln_op_concat, in, n, &arg, 1);
}

kiln_status kiln_tflite_import_mirror_pad(kiln_tflite_cx *cx) {
    enum { REFLECT, SYMMETRIC };
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    int64_t pads[2 * KILN_MAX_RANK];
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(read_pads(cx, x, pads));
    const int rank = x->type.rank;
    const int64_t least = cx->opt.mode == SYMMETRIC ? 0 : 1;
    for (int i = 0; i < 2 * rank; i++)
        if (pads[i] > 0 && pads[i] > x->type.dim[i % rank] - least)
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "a mirrored margin of %" PRId64 " on axis %d of "
                                    "%" PRId64,
                                    pads[i], i % rank, x->type.dim[i % rank]);
    if (cx->opt.mode == SYMMETRIC) {
        for (int i = 0; i < rank; i++)
            x = symmetric(&c, x, i, pads[i], pads[rank + i]);
        return kiln_tflite_end(cx, &c, x);
    }
    const kiln_attr_arg args[] = {kiln_arg_word("mode", "reflect"),
                                  kiln_arg_ints("pads", pads, 2 * (size_t)rank)};
    return kiln_tflite_end(cx, &c, kiln_compose_op(&c, &kiln_op_pad, &x, 1, args, 2));
}
