/* Importers of indexing: Gather, GatherNd, ScatterNd, TensorScatter, OneHot,
 * MatrixBandPart, Roll. */
#include "compiler/frontend/diagonal.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

/* Batches in common of x and the indices: with all axes of x before `axis` in common,
 * the positions in x of its batches one behind the other are batch * size + index. */
static kiln_status gather_batches(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value *x,
                                  kiln_value *indices, int64_t batch_dims, int axis) {
    kiln_compose c = kiln_tf_compose(cx, n);
    const kiln_type t = x->type, by = indices->type;
    int64_t dim[KILN_MAX_RANK], line[KILN_MAX_RANK], count = 1;
    bool fits = batch_dims == axis && batch_dims > 0 && by.rank >= batch_dims &&
                by.rank + t.rank - 1 - batch_dims <= KILN_MAX_RANK;
    for (int i = 0; i < batch_dims && fits; i++) {
        fits = t.dim[i] == by.dim[i];
        count *= t.dim[i];
    }
    if (!fits)
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "'batch_dims' of %" PRId64 " is read where it is the axis, "
                            "%d, and 'params' and 'indices' have these axes in common",
                            batch_dims, axis);
    const int b = (int)batch_dims;
    dim[0] = count * t.dim[b];
    for (int i = b + 1; i < t.rank; i++)
        dim[i - b] = t.dim[i];
    for (int i = 0; i < by.rank; i++)
        line[i] = i < b ? by.dim[i] : 1;
    x = kiln_compose_reshape(&c, x, t.rank - b, dim);
    kiln_value *first = kiln_compose_iota(&c, count);
    first = kiln_compose_scalar(&c, &kiln_op_mul, first, (double)t.dim[b]);
    first = kiln_compose_reshape(&c, first, by.rank, line);
    indices = kiln_compose_cast(&c, indices, KILN_I64);
    indices = kiln_compose_2(&c, &kiln_op_add, indices, first);
    return kiln_tf_end(&c, n, kiln_compose_axis(&c, &kiln_op_gather, x, indices, 0));
}

/* Gather, and GatherV2 with an axis. */
kiln_status kiln_tf_import_gather(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *indices;
    int axis = 0;
    KILN_TRY(kiln_tf_need(cx, n, 0, "params", &x));
    KILN_TRY(kiln_tf_need(cx, n, 1, "indices", &indices));
    if (n->n_in > 2)
        KILN_TRY(kiln_tf_axis(cx, n, 2, "axis", x->type.rank, &axis));
    const int64_t batch_dims = kiln_tf_attr_i(cx, n, "batch_dims", 0);
    if (batch_dims != 0)
        return gather_batches(cx, n, x, indices, batch_dims, axis);
    return kiln_tf_end(&c, n, kiln_compose_axis(&c, &kiln_op_gather, x, indices, axis));
}

kiln_status kiln_tf_import_gather_nd(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *indices;
    KILN_TRY(kiln_tf_need(cx, n, 0, "params", &x));
    KILN_TRY(kiln_tf_need(cx, n, 1, "indices", &indices));
    if (kiln_str_is(kiln_tf_attr_s(cx, n, "bad_indices_policy", ""), "IGNORE"))
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "indices beyond 'params' that are ignored are not read");
    return kiln_tf_end(&c, n, kiln_compose_2(&c, &kiln_op_gather_nd, x, indices));
}

/* Updates of one place are added. */
kiln_status kiln_tf_import_scatter_nd(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *in[3];
    const int64_t *dim;
    size_t rank;
    KILN_TRY(kiln_tf_need(cx, n, 0, "indices", &in[1]));
    KILN_TRY(kiln_tf_need(cx, n, 1, "updates", &in[2]));
    KILN_TRY(kiln_tf_ints(cx, n, 2, "shape", &dim, &rank));
    if (rank > KILN_MAX_RANK)
        return kiln_tf_fail(cx, KILN_ERR_LIMIT, "rank must be at most %d, is %zu",
                            KILN_MAX_RANK, rank);
    in[0] = kiln_import_scalar(&cx->common, in[2]->type.dtype, 0);
    in[0] = kiln_compose_expand(&c, in[0], (int)rank, dim);
    const kiln_attr_arg arg = kiln_arg_word("reduction", "add");
    return kiln_tf_end(&c, n, kiln_compose_op(&c, &kiln_op_scatter_nd, in, 3, &arg, 1));
}

/* on where the index is the position along `axis`, off elsewhere. */
kiln_status kiln_tf_import_one_hot(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *on, *off;
    int64_t depth, dim[KILN_MAX_RANK + 1], line[KILN_MAX_RANK + 1];
    int axis;
    KILN_TRY(kiln_tf_need(cx, n, 0, "indices", &x));
    KILN_TRY(kiln_tf_int(cx, n, 1, "depth", &depth));
    KILN_TRY(kiln_tf_need(cx, n, 2, "on_value", &on));
    KILN_TRY(kiln_tf_need(cx, n, 3, "off_value", &off));
    const int rank = x->type.rank;
    KILN_TRY(kiln_axis_normalize(kiln_tf_attr_i(cx, n, "axis", -1), rank + 1, &axis,
                                 cx->common.err));
    if (rank == KILN_MAX_RANK || depth < 0 || depth > KILN_MAX_ELEMS)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'depth' must be 0 to 2^40 and the rank below %d, are "
                            "%" PRId64 " and %d",
                            KILN_MAX_RANK, depth, rank);
    for (int i = 0, from = 0; i <= rank; i++) {
        dim[i] = i == axis ? 1 : x->type.dim[from++];
        line[i] = i == axis ? depth : 1;
    }
    x = kiln_compose_reshape(&c, x, rank + 1, dim);
    kiln_value *places = kiln_compose_iota(&c, depth);
    places = kiln_compose_cast(&c, places, x->type.dtype);
    places = kiln_compose_reshape(&c, places, rank + 1, line);
    kiln_value *const is_there = kiln_compose_2(&c, &kiln_op_equal, x, places);
    return kiln_tf_end(&c, n, kiln_compose_where(&c, is_there, on, off));
}

/* A tensor with slices replaced, or added to. */
static kiln_status tensor_scatter(kiln_tf_cx *cx, const kiln_tf_node *n,
                                  const char *how) {
    static const char *const names[] = {"tensor", "indices", "updates"};
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *in[3];
    for (int i = 0; i < 3; i++)
        KILN_TRY(kiln_tf_need(cx, n, i, names[i], &in[i]));
    if (kiln_str_is(kiln_tf_attr_s(cx, n, "bad_indices_policy", ""), "IGNORE"))
        return kiln_tf_fail(cx, KILN_ERR_UNSUPPORTED,
                            "indices beyond 'tensor' that are ignored are not read");
    const kiln_attr_arg arg = kiln_arg_word("reduction", how);
    return kiln_tf_end(&c, n, kiln_compose_op(&c, &kiln_op_scatter_nd, in, 3, &arg, 1));
}

kiln_status kiln_tf_import_tensor_scatter_update(kiln_tf_cx *cx,
                                                 const kiln_tf_node *n) {
    return tensor_scatter(cx, n, "none");
}

kiln_status kiln_tf_import_tensor_scatter_add(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return tensor_scatter(cx, n, "add");
}

kiln_status kiln_tf_import_band_part(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    int64_t lower, upper;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_tf_int(cx, n, 1, "num_lower", &lower));
    KILN_TRY(kiln_tf_int(cx, n, 2, "num_upper", &upper));
    return kiln_tf_end(&c, n, kiln_compose_band_part(&c, x, lower, upper));
}

/* Each axis turned on: its last elements come first. */
kiln_status kiln_tf_import_roll(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *shift, *axes;
    size_t n_shift, n_axes;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "shift", &shift, &n_shift));
    KILN_TRY(kiln_tf_ints(cx, n, 2, "axis", &axes, &n_axes));
    if (n_shift != n_axes)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'shift' and 'axis' must have the same number of entries, "
                            "have %zu and %zu",
                            n_shift, n_axes);
    for (size_t i = 0; i < n_axes && c.status == KILN_OK; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes[i], x->type.rank, &axis, cx->common.err));
        const int64_t size = x->type.dim[axis];
        const int64_t by = size == 0 ? 0 : (shift[i] % size + size) % size;
        if (by == 0)
            continue;
        kiln_value *const part[] = {kiln_compose_slice(&c, x, axis, size - by, 1, by),
                                    kiln_compose_slice(&c, x, axis, 0, 1, size - by)};
        const kiln_attr_arg arg = kiln_arg_int("axis", axis);
        x = kiln_compose_op(&c, &kiln_op_concat, part, 2, &arg, 1);
    }
    return kiln_tf_end(&c, n, x);
}
