/* Importers of what moves elements: Transpose, Concat, Pack, Unpack, Split, Tile, Pad,
 * MirrorPad, Reverse, Gather, ScatterNd, OneHot. */
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

kiln_status kiln_tf_import_transpose(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *v;
    size_t count;
    int64_t perm[KILN_MAX_RANK];
    bool is_taken[KILN_MAX_RANK] = {false};
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "perm", &v, &count));
    if (count != (size_t)x->type.rank)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE, "'perm' must name %d axes, names %zu",
                            x->type.rank, count);
    for (size_t i = 0; i < count; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(v[i], x->type.rank, &axis, cx->common.err));
        if (is_taken[axis])
            return kiln_tf_fail(cx, KILN_ERR_SHAPE, "'perm' names axis %d twice", axis);
        is_taken[axis] = true;
        perm[i] = axis;
    }
    return kiln_tf_end(&c, n, kiln_compose_transpose(&c, x, perm));
}

/* ---- joining ---------------------------------------------------------------------- */

/* Operands first .. first + count - 1 one behind the other. */
static kiln_status join(kiln_tf_cx *cx, const kiln_tf_node *n, int first, int count,
                        int axis_at) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value **in;
    int axis;
    if (count < 1)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "nothing is concatenated");
    KILN_TRY(kiln_tf_need_list(cx, n, first, count, &in));
    KILN_TRY(kiln_tf_axis(cx, n, axis_at, "axis", in[0]->type.rank, &axis));
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    kiln_value *const y =
        count == 1 ? in[0] : kiln_compose_op(&c, &kiln_op_concat, in, count, &arg, 1);
    return kiln_tf_end(&c, n, y);
}

kiln_status kiln_tf_import_concat(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return join(cx, n, 1, n->n_in - 1, 0);
}

kiln_status kiln_tf_import_concat_v2(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return join(cx, n, 0, n->n_in - 1, n->n_in - 1);
}

kiln_status kiln_tf_import_pack(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value **in;
    int64_t dim[KILN_MAX_RANK + 1];
    int axis;
    if (n->n_in < 1)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "nothing is stacked");
    KILN_TRY(kiln_tf_need_list(cx, n, 0, n->n_in, &in));
    const int rank = in[0]->type.rank;
    KILN_TRY(kiln_axis_normalize(kiln_tf_attr_i(cx, n, "axis", 0), rank + 1, &axis,
                                 cx->common.err));
    if (rank == KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d", rank);
    for (int k = 0; k < n->n_in; k++) {
        if (!kiln_type_same_shape(&in[k]->type, &in[0]->type))
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "what is stacked must have one shape, but operand %d "
                                "is %s, and the first %s",
                                k, kiln_type_text(&cx->common.scratch, &in[k]->type),
                                kiln_type_text(&cx->common.scratch, &in[0]->type));
        for (int i = 0, from = 0; i <= rank; i++)
            dim[i] = i == axis ? 1 : in[0]->type.dim[from++];
    }
    for (int k = 0; k < n->n_in; k++)
        in[k] = kiln_compose_reshape(&c, in[k], rank + 1, dim);
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    kiln_value *const y =
        n->n_in == 1 ? in[0]
                     : kiln_compose_op(&c, &kiln_op_concat, in, n->n_in, &arg, 1);
    return kiln_tf_end(&c, n, y);
}

/* ---- cutting ---------------------------------------------------------------------- */

enum { MAX_PARTS = 1 << 16 };

/* x cut along an axis into parts of these sizes. */
static kiln_status cut(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *x, int axis,
                       const int64_t *size, int count, kiln_value **y) {
    if (count == 1) {
        y[0] = x;
        return KILN_OK;
    }
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_ints("sizes", size, (size_t)count)};
    return kiln_import_emit(&cx->common, n, &kiln_op_split, &x, 1, args, 2, count, y);
}

/* Equal parts of `axis`; *y is in scratch. */
static kiln_status cut_evenly(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *x,
                              int axis, int64_t count, kiln_value ***y) {
    const int64_t all = x->type.dim[axis];
    if (count < 1 || count > MAX_PARTS || all % count != 0)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "axis %d of %" PRId64
                            " elements cannot be cut into %" PRId64
                            " equal parts; 1 to %d are possible",
                            axis, all, count, MAX_PARTS);
    int64_t *const size = kiln_array(&cx->common.scratch, int64_t, count);
    *y = kiln_array(&cx->common.scratch, kiln_value *, count);
    for (int64_t i = 0; i < count; i++)
        size[i] = all / count;
    return cut(cx, n, x, axis, size, (int)count, *y);
}

kiln_status kiln_tf_import_split(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *x, **y;
    int axis;
    KILN_TRY(kiln_tf_need(cx, n, 1, "value", &x));
    KILN_TRY(kiln_tf_axis(cx, n, 0, "split_dim", x->type.rank, &axis));
    const int64_t count = kiln_tf_attr_i(cx, n, "num_split", 1);
    KILN_TRY(cut_evenly(cx, n, x, axis, count, &y));
    return kiln_tf_set_all(cx, n, y, (int)count);
}

/* One of the sizes may be -1: what is left. */
kiln_status kiln_tf_import_split_v(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_value *x;
    const int64_t *given;
    size_t count;
    int axis, open = -1;
    KILN_TRY(kiln_tf_need(cx, n, 0, "value", &x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "size_splits", &given, &count));
    KILN_TRY(kiln_tf_axis(cx, n, 2, "split_dim", x->type.rank, &axis));
    kiln_tf_attr_i(cx, n, "num_split", 1);
    int64_t rest = x->type.dim[axis];
    if (count < 1 || count > MAX_PARTS)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'size_splits' must have 1 to %d parts, has %zu", MAX_PARTS,
                            count);
    int64_t *const size = kiln_array(&cx->common.scratch, int64_t, count);
    kiln_value **const y = kiln_array(&cx->common.scratch, kiln_value *, count);
    for (size_t i = 0; i < count; i++) {
        size[i] = given[i];
        if (given[i] == -1 && open < 0)
            open = (int)i;
        else if (given[i] >= 0 && given[i] <= rest)
            rest -= given[i];
        else
            rest = -1;
    }
    if (open >= 0)
        size[open] = rest;
    if (rest < 0 || (open < 0 && rest > 0))
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'size_splits' must add up to the %" PRId64
                            " elements of axis %d",
                            x->type.dim[axis], axis);
    KILN_TRY(cut(cx, n, x, axis, size, (int)count, y));
    return kiln_tf_set_all(cx, n, y, (int)count);
}

kiln_status kiln_tf_import_unpack(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, **y;
    int64_t dim[KILN_MAX_RANK];
    int axis, rank = 0;
    KILN_TRY(kiln_tf_need(cx, n, 0, "value", &x));
    KILN_TRY(kiln_axis_normalize(kiln_tf_attr_i(cx, n, "axis", 0), x->type.rank, &axis,
                                 cx->common.err));
    const int64_t count = kiln_tf_attr_i(cx, n, "num", x->type.dim[axis]);
    if (count != x->type.dim[axis])
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "axis %d must have %" PRId64 " elements to unpack, has "
                            "%" PRId64,
                            axis, count, x->type.dim[axis]);
    for (int i = 0; i < x->type.rank; i++)
        if (i != axis)
            dim[rank++] = x->type.dim[i];
    KILN_TRY(cut_evenly(cx, n, x, axis, count, &y));
    for (int64_t i = 0; i < count; i++)
        y[i] = kiln_compose_reshape(&c, y[i], rank, dim);
    KILN_TRY(c.status);
    return kiln_tf_set_all(cx, n, y, (int)count);
}

/* ---- margins and copies ----------------------------------------------------------- */

kiln_status kiln_tf_import_tile(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *v;
    size_t count;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "multiples", &v, &count));
    const kiln_attr_arg arg = kiln_arg_ints("repeats", v, count);
    return kiln_tf_end(&c, n, kiln_compose_op(&c, &kiln_op_tile, &x, 1, &arg, 1));
}

/* [rank, 2] in the file; in the Graph all beginnings, then all ends. */
static kiln_status read_pads(kiln_tf_cx *cx, const kiln_tf_node *n, const kiln_value *x,
                             int64_t *pads) {
    const int64_t *v;
    size_t count;
    const int rank = x->type.rank;
    KILN_TRY(kiln_tf_ints(cx, n, 1, "paddings", &v, &count));
    if (count != 2 * (size_t)rank)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'paddings' must have %d numbers, two for each axis, has "
                            "%zu",
                            2 * rank, count);
    for (int i = 0; i < rank; i++) {
        pads[i] = *v++;
        pads[rank + i] = *v++;
        if (pads[i] < 0 || pads[rank + i] < 0)
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "'paddings' must not be negative, axis %d has %" PRId64
                                " and %" PRId64,
                                i, pads[i], pads[rank + i]);
    }
    return KILN_OK;
}

/* Pad, and PadV2 with the value of the margins. */
kiln_status kiln_tf_import_pad(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *in[2];
    int64_t pads[2 * KILN_MAX_RANK];
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &in[0]));
    KILN_TRY(read_pads(cx, n, in[0], pads));
    if (n->n_in > 2)
        KILN_TRY(kiln_tf_need(cx, n, 2, "constant_values", &in[1]));
    const kiln_attr_arg arg = kiln_arg_ints("pads", pads, 2 * (size_t)in[0]->type.rank);
    return kiln_tf_end(
        &c, n, kiln_compose_op(&c, &kiln_op_pad, in, n->n_in > 2 ? 2 : 1, &arg, 1));
}

/* Mirrored at the outermost element (REFLECT), or before it, which then is there twice
 * (SYMMETRIC). */
static kiln_value *symmetric(kiln_compose *c, kiln_value *x, const int64_t *pads) {
    const int rank = x->type.rank;
    for (int axis = 0; axis < rank && c->status == KILN_OK; axis++) {
        const int64_t size = x->type.dim[axis];
        const int64_t before = pads[axis], behind = pads[rank + axis];
        kiln_value *part[3];
        int count = 0;
        if (before > size || behind > size)
            kiln_compose_fail(c, kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                           "symmetric margins of axis %d must have at "
                                           "most its %" PRId64 " elements",
                                           axis, size));
        if (c->status != KILN_OK)
            return x;
        if (before > 0)
            part[count++] = kiln_compose_slice(c, x, axis, before - 1, -1, before);
        part[count++] = x;
        if (behind > 0)
            part[count++] = kiln_compose_slice(c, x, axis, size - 1, -1, behind);
        const kiln_attr_arg arg = kiln_arg_int("axis", axis);
        if (count > 1)
            x = kiln_compose_op(c, &kiln_op_concat, part, count, &arg, 1);
    }
    return x;
}

kiln_status kiln_tf_import_mirror_pad(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    int64_t pads[2 * KILN_MAX_RANK];
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(read_pads(cx, n, x, pads));
    const kiln_str mode = kiln_tf_attr_s(cx, n, "mode", "REFLECT");
    const int rank = x->type.rank;
    if (kiln_str_is(mode, "SYMMETRIC"))
        return kiln_tf_end(&c, n, symmetric(&c, x, pads));
    if (!kiln_str_is(mode, "REFLECT"))
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "attribute 'mode' must be REFLECT or SYMMETRIC, is '%s'",
                            kiln_tf_show(cx, mode));
    for (int i = 0; i < 2 * rank; i++)
        if (pads[i] >= x->type.dim[i % rank] && pads[i] > 0)
            return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                                "reflected margins of axis %d must be shorter than its "
                                "%" PRId64 " elements, one is %" PRId64,
                                i % rank, x->type.dim[i % rank], pads[i]);
    const kiln_attr_arg args[] = {kiln_arg_word("mode", "reflect"),
                                  kiln_arg_ints("pads", pads, 2 * (size_t)rank)};
    return kiln_tf_end(&c, n, kiln_compose_op(&c, &kiln_op_pad, &x, 1, args, 2));
}

kiln_status kiln_tf_import_reverse(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *v;
    size_t count;
    KILN_TRY(kiln_tf_need(cx, n, 0, "tensor", &x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "axis", &v, &count));
    for (size_t i = 0; i < count && c.status == KILN_OK; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(v[i], x->type.rank, &axis, cx->common.err));
        const int64_t size = x->type.dim[axis];
        x = kiln_compose_slice(&c, x, axis, size > 0 ? size - 1 : 0, -1, size);
    }
    return kiln_tf_end(&c, n, x);
}
