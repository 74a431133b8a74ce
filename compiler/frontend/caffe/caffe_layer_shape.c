/* Layers that move elements: Concat, Slice, Flatten, Reshape, Crop, Tile, Permute,
 * ShuffleChannel, and those that resize planes, Interp and Upsample. Source: BVLC Caffe
 * 1.0; SSD (Permute); PSPNet (Interp); ShuffleNet (ShuffleChannel). */
#include "compiler/frontend/caffe/caffe_internal.h"
#include "compiler/frontend/spatial.h"

#include <inttypes.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_caffe_import_##name(kiln_caffe_cx *cx, const kiln_caffe_layer *l, \
                                         kiln_value *const *in, kiln_value **out)

static const char *shape_text(kiln_caffe_cx *cx, const kiln_value *v) {
    return kiln_shape_text(&cx->common.scratch, v->type.rank, v->type.dim);
}

/* 'axis', or of old its other name. */
static kiln_status read_axis(kiln_caffe_cx *cx, const kiln_caffe_layer *l, bool has_old,
                             int64_t old, int limit, int *axis) {
    const int64_t given = l->p.has_axis ? l->p.axis : has_old ? old : 1;
    return kiln_caffe_axis(cx, "axis", given, limit, axis);
}

IMPORTER(concat) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    int axis;
    KILN_TRY(read_axis(cx, l, l->p.has_concat_dim, l->p.concat_dim, in[0]->type.rank,
                       &axis));
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    out[0] = l->n_bottom == 1
                 ? in[0]
                 : kiln_compose_op(&c, &kiln_op_concat, in, (int)l->n_bottom, &arg, 1);
    return c.status;
}

/* Between points, or into equal parts. */
IMPORTER(slice) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_type *const t = &in[0]->type;
    const size_t n = l->n_top, n_points = l->p.n_slice_point;
    int axis;
    KILN_TRY(read_axis(cx, l, l->p.has_slice_dim, l->p.slice_dim, t->rank, &axis));
    const int64_t size = t->dim[axis];
    if (n == 0 || (n_points > 0 ? n_points != n - 1 : size % (int64_t)n != 0))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "%zu tops must divide the %" PRId64
                         " of axis %d, or have one 'slice_point' less, have %zu",
                         n, size, axis, n_points);
    int64_t start = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t end = n_points == 0 ? start + size / (int64_t)n
                            : i < n - 1   ? l->p.slice_point[i]
                                          : size;
        if (end <= start || end > size)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "'slice_point' must rise within the %" PRId64
                             " of axis %d, has %" PRId64 " after %" PRId64,
                             size, axis, end, start);
        out[i] = kiln_compose_slice(&c, in[0], axis, start, 1, end - start);
        start = end;
    }
    return c.status;
}

IMPORTER(flatten) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_type *const t = &in[0]->type;
    int first, last, rank = 0;
    int64_t dim[KILN_MAX_RANK + 1];
    KILN_TRY(
        kiln_caffe_axis(cx, "axis", l->p.has_axis ? l->p.axis : 1, t->rank, &first));
    KILN_TRY(kiln_caffe_axis(cx, "end_axis", l->p.has_end_axis ? l->p.end_axis : -1,
                             t->rank, &last));
    if (last < first)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "'end_axis', %d, must not be before 'axis', %d", last, first);
    for (int i = 0; i < t->rank; i++) {
        if (i > first && i <= last)
            dim[rank - 1] *= t->dim[i];
        else
            dim[rank++] = t->dim[i];
    }
    out[0] = kiln_compose_reshape(&c, in[0], rank, dim);
    return c.status;
}

/* Axes [first, first + n) of x become those of 'shape': 0 keeps the axis at its place, -1
 * is what is left. */
static kiln_status new_shape(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                             const kiln_type *t, int first, int n, int64_t *dim,
                             int *rank) {
    const kiln_caffe_shape *const s = l->p.shape;
    const size_t n_new = l->p.n_shape > 0 ? s->n_dim : 0;
    const int outside = t->rank - n;
    int64_t given = 1, whole = 1;
    int open = -1;
    if (l->p.n_shape > 1 || n_new + (size_t)outside > KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT,
                         "one 'shape' of at most %d axes must be given, is %zu of %zu",
                         KILN_MAX_RANK, l->p.n_shape, n_new);
    *rank = outside + (int)n_new;
    for (int i = 0; i < *rank; i++) {
        const int at = i - first;
        const bool is_new = at >= 0 && at < (int)n_new;
        const int old = i < first || is_new ? i : i - (int)n_new + n;
        dim[i] = is_new ? s->dim[at] : t->dim[old];
        if (is_new && dim[i] == 0 && i < t->rank)
            dim[i] = t->dim[i];
        if (is_new && dim[i] == -1 && open < 0)
            open = i;
        else if (dim[i] < 0 || dim[i] > KILN_MAX_ELEMS / (given > 0 ? given : 1))
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "'shape' must hold sizes, 0, and -1 once, has %" PRId64,
                             dim[i]);
        else
            given *= dim[i];
    }
    whole = kiln_type_elems(t);
    if (open >= 0 && (given == 0 || whole % given != 0))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "%" PRId64 " elements are no multiple of %" PRId64, whole,
                         given);
    if (open >= 0)
        dim[open] = whole / given;
    return KILN_OK;
}

IMPORTER(reshape) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_type *const t = &in[0]->type;
    int first, rank;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(kiln_caffe_axis(cx, "axis", l->p.has_axis ? l->p.axis : 0, t->rank + 1,
                             &first));
    const int64_t n =
        l->p.has_num_axes && l->p.num_axes != -1 ? l->p.num_axes : t->rank - first;
    if (n < 0 || n > t->rank - first)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "'num_axes' must be -1 or in [0, %d], is %" PRId64,
                         t->rank - first, n);
    KILN_TRY(new_shape(cx, l, t, first, (int)n, dim, &rank));
    out[0] = kiln_compose_reshape(&c, in[0], rank, dim);
    return c.status;
}

/* The first bottom, cut to the second's size from an axis on. */
IMPORTER(crop) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_type *const t = &in[0]->type, *const want = &in[1]->type;
    const size_t n_offset = l->p.n_offset;
    int first;
    KILN_TRY(
        kiln_caffe_axis(cx, "axis", l->p.has_axis ? l->p.axis : 2, t->rank, &first));
    if (want->rank != t->rank ||
        (n_offset > 1 && n_offset != (size_t)(t->rank - first)))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its bottoms must have one number of axes, and 'offset' one "
                         "number or one for each from axis %d on",
                         first);
    out[0] = in[0];
    for (int i = first; i < t->rank; i++) {
        const int64_t at = n_offset == 0   ? 0
                           : n_offset == 1 ? l->p.offset[0]
                                           : l->p.offset[i - first];
        if (at < 0 || want->dim[i] > t->dim[i] || at > t->dim[i] - want->dim[i])
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "%" PRId64 " elements from %" PRId64
                             " on must lie within the %" PRId64 " of axis %d",
                             want->dim[i], at, t->dim[i], i);
        out[0] = kiln_compose_slice(&c, out[0], i, at, 1, want->dim[i]);
    }
    return c.status;
}

IMPORTER(tile) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    int64_t repeats[KILN_MAX_RANK];
    const size_t rank = (size_t)in[0]->type.rank;
    int axis;
    KILN_TRY(
        kiln_caffe_axis(cx, "axis", l->p.has_axis ? l->p.axis : 1, (int)rank, &axis));
    if (l->p.tiles < 1)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'tiles' must be 1 or more, is %" PRId64, l->p.tiles);
    for (size_t i = 0; i < rank; i++)
        repeats[i] = (int)i == axis ? l->p.tiles : 1;
    const kiln_attr_arg arg = kiln_arg_ints("repeats", repeats, rank);
    out[0] = kiln_compose_op(&c, &kiln_op_tile, in, 1, &arg, 1);
    return c.status;
}

/* Axes that 'order' does not name follow in their order. */
IMPORTER(permute) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const int rank = in[0]->type.rank;
    int64_t perm[KILN_MAX_RANK];
    bool is_used[KILN_MAX_RANK] = {false};
    int n = 0;
    for (size_t i = 0; i < l->p.n_order; i++) {
        const int64_t axis = l->p.order[i];
        if (axis < 0 || axis >= rank || is_used[axis])
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "'order' must name axes of %s once, has %" PRId64,
                             shape_text(cx, in[0]), axis);
        is_used[axis] = true;
        perm[n++] = axis;
    }
    for (int i = 0; i < rank; i++)
        if (!is_used[i])
            perm[n++] = i;
    out[0] = kiln_compose_transpose(&c, in[0], perm);
    return c.status;
}

IMPORTER(shuffle_channel) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    static const int64_t swap[KILN_MAX_RANK] = {0, 2, 1, 3, 4, 5, 6, 7};
    const kiln_type t = in[0]->type;
    const int64_t groups = l->p.group;
    KILN_TRY(kiln_caffe_need_rank(cx, in[0], 2));
    if (groups < 1 || t.dim[1] % groups != 0 || t.rank == KILN_MAX_RANK)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "'group', %" PRId64 ", must divide the channels of %s", groups,
                         shape_text(cx, in[0]));
    int64_t split[KILN_MAX_RANK] = {t.dim[0], groups, t.dim[1] / groups};
    for (int i = 2; i < t.rank; i++)
        split[i + 1] = t.dim[i];
    kiln_value *y = kiln_compose_reshape(&c, in[0], t.rank + 1, split);
    y = kiln_compose_transpose(&c, y, swap);
    out[0] = kiln_compose_reshape(&c, y, t.rank, t.dim);
    return c.status;
}

/* ---- planes ---------------------------------------------------------------------- */

enum { MAX_PLANE = 1 << 20 }; /* of a side */

static kiln_status need_plane(kiln_caffe_cx *cx, const kiln_value *x) {
    const kiln_type *const t = &x->type;
    if (t->rank == 4 && t->dim[2] > 0 && t->dim[3] > 0 && t->dim[2] <= MAX_PLANE &&
        t->dim[3] <= MAX_PLANE)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                     "its bottom must have shape [N, C, H, W], has %s",
                     shape_text(cx, x));
}

/* Of one side, with its padding (0 or less: what is cut off): as Interp computes it. */
static int64_t interp_size(const kiln_caffe_params *p, int64_t in, int64_t given) {
    if (p->shrink_factor > 1 && p->zoom_factor <= 1)
        return (in - 1) / p->shrink_factor + 1;
    if (p->zoom_factor > 1 && p->shrink_factor <= 1)
        return in + (in - 1) * (p->zoom_factor - 1);
    if (p->zoom_factor > 1) {
        const int64_t less = (in - 1) / p->shrink_factor + 1;
        return less + (less - 1) * (p->zoom_factor - 1);
    }
    return given;
}

/* Corners stay corners; a second bottom gives the size. */
IMPORTER(interp) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_caffe_params *const p = &l->p;
    KILN_TRY(need_plane(cx, in[0]));
    if (p->pad_beg != 0 || p->pad_end != 0)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'pad_beg' and 'pad_end' are not read; crop before it");
    if (p->zoom_factor > MAX_PLANE || p->shrink_factor > MAX_PLANE)
        return kiln_fail(cx->common.err, KILN_ERR_LIMIT, "a factor must be at most %d",
                         MAX_PLANE);
    const bool is_given = l->n_bottom > 1;
    if (is_given)
        KILN_TRY(need_plane(cx, in[1]));
    const int64_t *const dim = in[0]->type.dim;
    const int64_t height =
        is_given ? in[1]->type.dim[2] : interp_size(p, dim[2], p->height);
    const int64_t width =
        is_given ? in[1]->type.dim[3] : interp_size(p, dim[3], p->width);
    if (height < 1 || width < 1)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'height' and 'width', or a factor, must be given");
    out[0] = kiln_compose_planes(&c, in[0], height, width, "linear", "align_corners");
    return c.status;
}

/* Each element becomes a square of 'scale' by 'scale'. */
IMPORTER(upsample) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const double scale = l->p.has_scale ? (double)l->p.scale : 2;
    KILN_TRY(need_plane(cx, in[0]));
    const int64_t times = scale >= 1 && scale <= 64 ? (int64_t)scale : 0;
    if ((double)times != scale)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'scale' must be a whole number in [1, 64], is %g", scale);
    out[0] = kiln_compose_planes(&c, in[0], times * in[0]->type.dim[2],
                                 times * in[0]->type.dim[3], "nearest", "asymmetric");
    return c.status;
}
