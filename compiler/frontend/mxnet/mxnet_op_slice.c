/* Operators that cut out, pad and reduce. Source: apache/mxnet 1.9,
 * src/operator/tensor/matrix_op-inl.h, slice_channel-inl.h, crop-inl.h, pad.cc,
 * broadcast_reduce_op.h. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <inttypes.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_mx_import_##name(kiln_mx_cx *cx, const kiln_mx_node *n,           \
                                      kiln_value *const *in, kiln_mx_values *out)

/* ---- slices ---------------------------------------------------------------------- */

/* begin:end:step of one axis as in Python, KILN_MX_NONE being None. */
static kiln_status slice_one(kiln_mx_cx *cx, kiln_compose *c, kiln_value **x, int axis,
                             int64_t begin, int64_t end, int64_t step) {
    const int64_t size = (*x)->type.dim[axis];
    if (step == KILN_MX_NONE)
        step = 1;
    if (begin == KILN_MX_NONE)
        begin = step > 0 ? 0 : size - 1;
    else if (begin < 0)
        begin = begin < -size ? -1 : begin + size;
    if (end == KILN_MX_NONE)
        end = step > 0 ? size : -1;
    else if (end < 0)
        end = end < -size ? -1 : end + size;
    if (end > size)
        end = size;
    int64_t count = 0;
    if (begin >= 0 && begin < size) {
        if (step > INT32_MAX || step < -INT32_MAX)
            count = step > 0 ? end > begin : begin > end;
        else if (step > 0)
            count = (end - begin + step - 1) / step;
        else if (step < 0)
            count = (begin - end - step - 1) / -step;
    }
    if (count < 1)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "the slice [%" PRId64 ":%" PRId64 ":%" PRId64
                         "] of axis %d, which has %" PRId64 ", must not be empty",
                         begin, end, step, axis, size);
    KILN_ASSERT(begin + (count == 1 ? 0 : count - 1) * step >= 0 &&
                    begin + (count == 1 ? 0 : count - 1) * step < size,
                "a slice of %" PRId64 " leaves axis %d", count, axis);
    *x = kiln_compose_slice(c, *x, axis, begin, count == 1 ? 1 : step, count);
    return c->status;
}

IMPORTER(slice) {
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t begin[KILN_MX_MAX_TUPLE], end[KILN_MX_MAX_TUPLE], step[KILN_MX_MAX_TUPLE];
    const size_t n_begin = kiln_mx_tuple(cx, n, "begin", begin),
                 n_end = kiln_mx_tuple(cx, n, "end", end),
                 n_step = kiln_mx_tuple(cx, n, "step", step);
    if (n_begin != n_end || n_begin > (size_t)in[0]->type.rank ||
        (n_step != 0 && n_step != n_begin))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "attributes 'begin', 'end' and 'step' must have as many "
                         "numbers, at most %d, have %zu, %zu and %zu",
                         in[0]->type.rank, n_begin, n_end, n_step);
    out->v[0] = in[0];
    for (size_t i = 0; i < n_begin; i++)
        KILN_TRY(slice_one(cx, &c, &out->v[0], (int)i, begin[i], end[i],
                           n_step != 0 ? step[i] : 1));
    return KILN_OK;
}

IMPORTER(slice_axis) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t given = kiln_mx_int(cx, n, "axis", 0),
                  begin = kiln_mx_int(cx, n, "begin", 0),
                  end = kiln_mx_int(cx, n, "end", KILN_MX_NONE);
    int axis;
    KILN_TRY(kiln_mx_axis(cx, "axis", given, in[0]->type.rank, &axis));
    out->v[0] = in[0];
    return slice_one(cx, &c, &out->v[0], axis, begin, end, 1);
}

/* To the size of the second input, along all axes or those that are named. */
IMPORTER(slice_like) {
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t axes[KILN_MX_MAX_TUPLE];
    const size_t count = kiln_mx_tuple(cx, n, "axes", axes);
    const kiln_type *const like = &in[1]->type;
    const int rank = in[0]->type.rank;
    if (count == 0 && like->rank != rank)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its inputs must have as many axes, have shapes %s and %s",
                         kiln_mx_shape(cx, in[0]), kiln_mx_shape(cx, in[1]));
    out->v[0] = in[0];
    for (int i = 0; i < (count == 0 ? rank : (int)count); i++) {
        int axis = i, other;
        if (count != 0)
            KILN_TRY(kiln_mx_axis(cx, "axes", axes[i], rank, &axis));
        KILN_TRY(kiln_mx_axis(cx, "axes", axis, like->rank, &other));
        if (like->dim[other] > in[0]->type.dim[axis])
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "axis %d of %s is longer than that of %s", axis,
                             kiln_mx_shape(cx, in[1]), kiln_mx_shape(cx, in[0]));
        out->v[0] = kiln_compose_slice(&c, out->v[0], axis, 0, 1, like->dim[other]);
    }
    return c.status;
}

/* Planes, to a given size or that of a second input. */
IMPORTER(crop) {
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t offset[KILN_MX_MAX_TUPLE] = {0}, size[KILN_MX_MAX_TUPLE] = {0};
    const bool is_centred = kiln_mx_bool(cx, n, "center_crop", false);
    (void)kiln_mx_tuple(cx, n, "offset", offset);
    (void)kiln_mx_tuple(cx, n, "h_w", size);
    KILN_TRY(kiln_mx_need_rank(cx, in[0], 4));
    if (n->n_in > 1)
        KILN_TRY(kiln_mx_need_rank(cx, in[1], 4));
    out->v[0] = in[0];
    for (int i = 0; i < 2; i++) {
        const int64_t whole = in[0]->type.dim[2 + i];
        const int64_t want = n->n_in > 1 ? in[1]->type.dim[2 + i] : size[i];
        const int64_t at = is_centred ? (whole - want) / 2 : offset[i];
        if (want < 1 || want > whole || at < 0 || at > whole - want)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "%" PRId64 " elements from %" PRId64
                             " on must lie within the %" PRId64 " of axis %d",
                             want, at, whole, 2 + i);
        out->v[0] = kiln_compose_slice(&c, out->v[0], 2 + i, at, 1, want);
    }
    return c.status;
}

/* Equal parts, of which each may lose the axis where it is 1. */
IMPORTER(slice_channel) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const kiln_type t = in[0]->type;
    const int64_t parts = kiln_mx_int(cx, n, "num_outputs", 0),
                  given = kiln_mx_int(cx, n, "axis", 1);
    const bool squeezes = kiln_mx_bool(cx, n, "squeeze_axis", false);
    int64_t dim[KILN_MAX_RANK];
    int axis, rank = 0;
    KILN_TRY(kiln_mx_axis(cx, "axis", given, t.rank, &axis));
    if (parts < 1 || parts > t.dim[axis] || parts > KILN_MX_MAX_INPUTS ||
        t.dim[axis] % parts != 0 || (squeezes && t.dim[axis] != parts))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "attribute 'num_outputs', %" PRId64
                         ", must divide the %" PRId64
                         " of axis %d, and be it with 'squeeze_axis'",
                         parts, t.dim[axis], axis);
    const int64_t size = t.dim[axis] / parts;
    for (int i = 0; i < t.rank; i++)
        if (i != axis)
            dim[rank++] = t.dim[i];
    *out = (kiln_mx_values){kiln_array(&cx->common.scratch, kiln_value *, parts),
                            (size_t)parts};
    for (int64_t i = 0; i < parts; i++) {
        out->v[i] = kiln_compose_slice(&c, in[0], axis, i * size, 1, size);
        if (squeezes)
            out->v[i] = kiln_compose_reshape(&c, out->v[i], rank, dim);
    }
    return c.status;
}

/* ---- margins --------------------------------------------------------------------- */

IMPORTER(pad) {
    static const char *const modes[] = {"constant", "edge", "reflect", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    const int rank = in[0]->type.rank;
    int64_t width[KILN_MX_MAX_TUPLE], pads[2 * KILN_MAX_RANK];
    const size_t count = kiln_mx_tuple(cx, n, "pad_width", width);
    const double value = kiln_mx_float(cx, n, "constant_value", 0);
    const int mode = kiln_mx_word(cx, n, "mode", modes);
    if (count != 2 * (size_t)rank)
        return kiln_fail(
            cx->common.err, KILN_ERR_SHAPE,
            "attribute 'pad_width' must have %d numbers, two for each axis, "
            "has %zu",
            2 * rank, count);
    for (int i = 0; i < rank; i++) {
        const size_t at = 2 * (size_t)i;
        pads[i] = width[at];
        pads[rank + i] = width[at + 1];
        if (pads[i] < 0 || pads[rank + i] < 0)
            return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                             "attribute 'pad_width' must not be below 0");
    }
    if (mode == 0) {
        out->v[0] = kiln_compose_pad(&c, in[0], pads, value);
        return c.status;
    }
    const kiln_attr_arg args[] = {kiln_arg_word("mode", modes[mode]),
                                  kiln_arg_ints("pads", pads, count)};
    out->v[0] = kiln_compose_op(&c, &kiln_op_pad, in, 1, args, 2);
    return c.status;
}

/* ---- reductions ------------------------------------------------------------------ */

/* 'axis' one, several or all; 'exclude' all others. */
static kiln_status read_axes(kiln_mx_cx *cx, const kiln_mx_node *n, int rank,
                             int64_t *axes, size_t *n_axes) {
    int64_t given[KILN_MX_MAX_TUPLE];
    const size_t count = kiln_mx_tuple(cx, n, "axis", given);
    const bool excludes = kiln_mx_bool(cx, n, "exclude", false);
    bool is_named[KILN_MAX_RANK] = {false};
    for (size_t i = 0; i < count; i++) {
        int axis;
        KILN_TRY(kiln_mx_axis(cx, "axis", given[i], rank, &axis));
        is_named[axis] = true;
    }
    *n_axes = 0;
    for (int i = 0; i < rank; i++)
        if (count == 0 || is_named[i] != excludes)
            axes[(*n_axes)++] = i;
    return KILN_OK;
}

/* MXNet has no scalars: of all axes one is left. */
static kiln_value *at_least_one(kiln_compose *c, kiln_value *x) {
    static const int64_t one = 1;
    return x->type.rank == 0 ? kiln_compose_reshape(c, x, 1, &one) : x;
}

IMPORTER(reduce) {
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t axes[KILN_MAX_RANK];
    size_t n_axes;
    const bool keeps = kiln_mx_bool(cx, n, "keepdims", false);
    KILN_TRY(read_axes(cx, n, in[0]->type.rank, axes, &n_axes));
    out->v[0] = n_axes == 0 ? in[0]
                            : kiln_compose_reduce(&c, cx->row->emits, in[0], axes,
                                                  n_axes, keeps);
    out->v[0] = at_least_one(&c, out->v[0]);
    return c.status;
}

IMPORTER(norm) {
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t axes[KILN_MAX_RANK];
    size_t n_axes;
    const int64_t order = kiln_mx_int(cx, n, "ord", 2);
    const bool keeps = kiln_mx_bool(cx, n, "keepdims", false);
    KILN_TRY(read_axes(cx, n, in[0]->type.rank, axes, &n_axes));
    if (n_axes == 0 || (order != 1 && order != 2))
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "attribute 'ord' must be 1 or 2, is %" PRId64, order);
    out->v[0] =
        kiln_compose_reduce(&c, order == 1 ? &kiln_op_reduce_l1 : &kiln_op_reduce_l2,
                            in[0], axes, n_axes, keeps);
    out->v[0] = at_least_one(&c, out->v[0]);
    return c.status;
}

/* As numbers of the input's type. */
static kiln_value *search(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                          int axis, bool keeps) {
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_bool("keepdims", keeps)};
    kiln_value *const y = kiln_compose_op(c, op, &x, 1, args, 2);
    return kiln_compose_cast(c, y, KILN_F32);
}

IMPORTER(arg) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const bool keeps = kiln_mx_bool(cx, n, "keepdims", false);
    const char *const text = kiln_mx_text(cx, n, "axis");
    const int64_t given = kiln_mx_int(cx, n, "axis", 0);
    const int64_t whole = kiln_type_elems(&in[0]->type);
    kiln_value *x = in[0];
    int axis = 0;
    if (text == NULL)
        x = kiln_compose_reshape(&c, x, 1, &whole);
    else
        KILN_TRY(kiln_mx_axis(cx, "axis", given, x->type.rank, &axis));
    out->v[0] = at_least_one(&c, search(&c, cx->row->emits, x, axis, keeps));
    return c.status;
}

IMPORTER(argmax_channel) {
    kiln_compose c = kiln_mx_compose(cx, n);
    KILN_TRY(kiln_mx_need_rank(cx, in[0], 2));
    out->v[0] = search(&c, &kiln_op_argmax, in[0], 1, false);
    return c.status;
}
