/* Importers of operators that pick, order and make elements: gathers, scatters, extremes,
 * repetitions, ranges. Source: TensorFlow Lite, reference kernels. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

/* The only value of an operand that decides a shape. */
static kiln_status one_int(kiln_tflite_cx *cx, int i, const char *name, int64_t *out) {
    const int64_t *v;
    size_t n;
    KILN_TRY(kiln_tflite_need_ints(cx, i, name, &v, &n));
    if (n != 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE, "'%s' must have 1 value, has %zu",
                                name, n);
    *out = v[0];
    return KILN_OK;
}

/* Integers in the dtype that the file declares for output i. */
static kiln_status set_ints(kiln_tflite_cx *cx, kiln_compose *c, int i, kiln_value *v) {
    const kiln_tflite_tensor *const t = kiln_tflite_out_tensor(cx, i);
    kiln_dtype dtype;
    if (t == NULL)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "output %d is missing", i);
    KILN_TRY(kiln_tflite_dtype(t->type, &dtype, cx->common.err));
    v = kiln_compose_cast(c, v, dtype);
    KILN_TRY(c->status);
    return kiln_tflite_set(cx, i, v);
}

/* ---- picking ------------------------------------------------------------------------ */

/* With batch_dims: coordinates of the batch axes beside the indices, by gather_nd. */
static kiln_status gather_batches(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                                  kiln_value *index, int axis, int64_t batch,
                                  kiln_value **out) {
    if (batch < 0 || batch > axis || batch > index->type.rank || axis != batch)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "batch_dims of %" PRId64 " are not read with axis %d",
                                batch, axis);
    int64_t dim[KILN_MAX_RANK];
    if (index->type.rank == KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "the rank must be below %d",
                                KILN_MAX_RANK);
    memcpy(dim, index->type.dim, sizeof dim);
    dim[index->type.rank] = 1;
    index = kiln_compose_reshape(c, index, index->type.rank + 1, dim);
    kiln_value *const in[] = {x, index};
    const kiln_attr_arg arg = kiln_arg_int("batch_dims", batch);
    *out = kiln_compose_op(c, &kiln_op_gather_nd, in, 2, &arg, 1);
    return c->status;
}

kiln_status kiln_tflite_import_gather(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *index, *y;
    int axis;
    KILN_TRY(kiln_tflite_need(cx, 0, "params", &x));
    KILN_TRY(kiln_tflite_need(cx, 1, "indices", &index));
    KILN_TRY(kiln_axis_normalize(cx->opt.axis, x->type.rank, &axis, cx->common.err));
    if (cx->opt.batch_dims == 0)
        return kiln_tflite_end(cx, &c,
                               kiln_compose_axis(&c, &kiln_op_gather, x, index, axis));
    const int64_t batch = cx->opt.batch_dims < 0 ? cx->opt.batch_dims + index->type.rank
                                                 : cx->opt.batch_dims;
    KILN_TRY(gather_batches(cx, &c, x, index, axis, batch, &y));
    return kiln_tflite_end(cx, &c, y);
}

/* ids, table */
kiln_status kiln_tflite_import_embedding_lookup(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *index;
    KILN_TRY(kiln_tflite_need(cx, 0, "ids", &index));
    KILN_TRY(kiln_tflite_need(cx, 1, "params", &x));
    x = kiln_tflite_real(cx, &c, 1);
    KILN_TRY(c.status);
    return kiln_tflite_end(cx, &c, kiln_compose_axis(&c, &kiln_op_gather, x, index, 0));
}

kiln_status kiln_tflite_import_gather_nd(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[2];
    KILN_TRY(kiln_tflite_need(cx, 0, "params", &in[0]));
    KILN_TRY(kiln_tflite_need(cx, 1, "indices", &in[1]));
    return kiln_tflite_end(cx, &c,
                           kiln_compose_op(&c, &kiln_op_gather_nd, in, 2, NULL, 0));
}

/* indices, updates, shape: zeros with the updates added. */
kiln_status kiln_tflite_import_scatter_nd(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *index, *updates;
    const int64_t *shape;
    size_t n;
    KILN_TRY(kiln_tflite_need(cx, 0, "indices", &index));
    KILN_TRY(kiln_tflite_need(cx, 1, "updates", &updates));
    KILN_TRY(kiln_tflite_need_ints(cx, 2, "shape", &shape, &n));
    if (n > KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "a shape of %zu axes", n);
    kiln_value *const zero = kiln_import_scalar(&cx->common, updates->type.dtype, 0);
    kiln_value *const in[] = {kiln_compose_expand(&c, zero, (int)n, shape), index,
                              updates};
    const kiln_attr_arg arg = kiln_arg_word("reduction", "add");
    return kiln_tflite_end(cx, &c,
                           kiln_compose_op(&c, &kiln_op_scatter_nd, in, 3, &arg, 1));
}

/* ARG_MAX, ARG_MIN: the axis is input 1. */
kiln_status kiln_tflite_import_arg(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    int64_t axis;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(one_int(cx, 1, "axis", &axis));
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_bool("keepdims", false)};
    return set_ints(cx, &c, 0, kiln_compose_op(&c, cx->row->op, &x, 1, args, 2));
}

kiln_status kiln_tflite_import_topk(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *out[2];
    int64_t k;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(one_int(cx, 1, "k", &k));
    const kiln_attr_arg args[] = {kiln_arg_int("k", k), kiln_arg_int("axis", -1),
                                  kiln_arg_bool("largest", true),
                                  kiln_arg_bool("sorted", true)};
    KILN_TRY(
        kiln_import_emit(&cx->common, cx->op, &kiln_op_topk, &x, 1, args, 4, 2, out));
    KILN_TRY(kiln_tflite_set(cx, 0, out[0]));
    return kiln_tflite_n_out(cx) > 1 ? set_ints(cx, &c, 1, out[1]) : KILN_OK;
}

/* ---- order -------------------------------------------------------------------------- */

kiln_status kiln_tflite_import_reverse(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *axes;
    size_t n;
    KILN_TRY(kiln_tflite_need(cx, 0, "tensor", &x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "axis", &axes, &n));
    for (size_t i = 0; i < n; i++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes[i], x->type.rank, &axis, cx->common.err));
        const int64_t size = x->type.dim[axis];
        x = kiln_compose_slice(&c, x, axis, size > 0 ? size - 1 : 0, -1, size);
    }
    return kiln_tflite_end(cx, &c, x);
}

kiln_status kiln_tflite_import_reverse_sequence(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[2];
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &in[0]));
    KILN_TRY(kiln_tflite_need(cx, 1, "seq_lengths", &in[1]));
    in[1] = kiln_compose_cast(&c, in[1], KILN_I64);
    const kiln_attr_arg args[] = {kiln_arg_int("batch_axis", cx->opt.batch_dim),
                                  kiln_arg_int("time_axis", cx->opt.seq_dim)};
    return kiln_tflite_end(
        cx, &c, kiln_compose_op(&c, &kiln_op_reverse_sequence, in, 2, args, 2));
}

kiln_status kiln_tflite_import_cumsum(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    int64_t axis;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(one_int(cx, 1, "axis", &axis));
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_bool("exclusive", cx->opt.exclusive != 0),
                                  kiln_arg_bool("reverse", cx->opt.reverse != 0)};
    return kiln_tflite_end(cx, &c,
                           kiln_compose_op(&c, &kiln_op_cumsum, &x, 1, args, 3));
}

/* ---- repeating and making ----------------------------------------------------------- */

kiln_status kiln_tflite_import_tile(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *times;
    size_t n;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need_ints(cx, 1, "multiples", &times, &n));
    const kiln_attr_arg arg = kiln_arg_ints("repeats", times, n);
    return kiln_tflite_end(cx, &c, kiln_compose_op(&c, &kiln_op_tile, &x, 1, &arg, 1));
}

static kiln_status stretch(kiln_tflite_cx *cx, kiln_value *x, int shape_input) {
    kiln_compose c = kiln_tflite_compose(cx);
    const int64_t *shape;
    size_t n;
    KILN_TRY(kiln_tflite_need_ints(cx, shape_input, "shape", &shape, &n));
    if (n > KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "a shape of %zu axes; at most %d",
                                n, KILN_MAX_RANK);
    return kiln_tflite_end(cx, &c, kiln_compose_expand(&c, x, (int)n, shape));
}

kiln_status kiln_tflite_import_broadcast_to(kiln_tflite_cx *cx) {
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return stretch(cx, x, 1);
}

/* dims, value */
kiln_status kiln_tflite_import_fill(kiln_tflite_cx *cx) {
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 1, "value", &x));
    return stretch(cx, x, 0);
}

kiln_status kiln_tflite_import_zeros_like(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    kiln_value *const zero = kiln_import_scalar(&cx->common, x->type.dtype, 0);
    return kiln_tflite_end(cx, &c,
                           kiln_compose_expand(&c, zero, x->type.rank, x->type.dim));
}

/* The shape that two shapes broadcast to. */
kiln_status kiln_tflite_import_broadcast_args(kiln_tflite_cx *cx) {
    static const char *const name[] = {"s0", "s1"};
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_type t[2];
    int rank;
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < 2; i++) {
        const int64_t *v;
        size_t n;
        KILN_TRY(kiln_tflite_need_ints(cx, i, name[i], &v, &n));
        if (n > KILN_MAX_RANK)
            return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "a shape of %zu axes", n);
        t[i] = kiln_type_make(KILN_F32, (int)n, v);
        KILN_TRY(kiln_type_check(&t[i], cx->common.err));
    }
    KILN_TRY(kiln_broadcast(&t[0], &t[1], &rank, dim, cx->common.err));
    const int64_t size = rank;
    return set_ints(cx, &c, 0, kiln_compose_ints(&c, 1, &size, dim));
}

/* Where elements are not zero: as many rows of positions as data has them. */
kiln_status kiln_tflite_import_where(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "condition", &x));
    if (x->type.rank < 1 || kiln_type_elems(&x->type) < 1)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "what is looked through must have an axis and an "
                                "element");
    return kiln_tflite_end(cx, &c, kiln_compose_places(&c, x));
}

/* ---- updates ------------------------------------------------------------------------ */

/* Along one axis: elements of x [.., n, ..] from `start` on are those of the update,
 * which becomes as long as x with whatever it has elsewhere; *is_new says where that is
 * its own. */
static kiln_value *stretch_update(kiln_compose *c, kiln_value *update, int axis,
                                  int64_t n, kiln_value *start, kiln_value **is_new) {
    const int64_t size = update->type.dim[axis];
    int64_t line[KILN_MAX_RANK];
    for (int i = 0; i < update->type.rank; i++)
        line[i] = i == axis ? n : 1;
    kiln_value *at = kiln_compose_2(c, &kiln_op_sub, kiln_compose_iota(c, n), start);
    kiln_value *own = kiln_compose_2(
        c, &kiln_op_logical_and, kiln_compose_scalar(c, &kiln_op_greater_equal, at, 0),
        kiln_compose_scalar(c, &kiln_op_less, at, (double)size));
    own = kiln_compose_reshape(c, own, update->type.rank, line);
    *is_new =
        *is_new == NULL ? own : kiln_compose_2(c, &kiln_op_logical_and, *is_new, own);
    at = kiln_compose_scalar(c, &kiln_op_max, at, 0);
    at = kiln_compose_scalar(c, &kiln_op_min, at, (double)(size - 1));
    return kiln_compose_axis(c, &kiln_op_gather, update, at, axis);
}

/* operand, update, start: the part from there on is the update, moved so that all of it
 * lies inside. */
kiln_status kiln_tflite_import_dynamic_update_slice(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *update, *start, *is_new = NULL;
    KILN_TRY(kiln_tflite_need(cx, 0, "operand", &x));
    KILN_TRY(kiln_tflite_need(cx, 1, "update", &update));
    KILN_TRY(kiln_tflite_need(cx, 2, "start_indices", &start));
    const int rank = x->type.rank;
    bool fits = update->type.rank == rank && start->type.rank == 1 &&
                start->type.dim[0] == rank && update->type.dtype == x->type.dtype;
    for (int i = 0; fits && i < rank; i++)
        fits = update->type.dim[i] >= 1 && update->type.dim[i] <= x->type.dim[i];
    if (!fits)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "an update %s must have an element, and fit into %s",
                                kiln_type_text(&cx->common.scratch, &update->type),
                                kiln_type_text(&cx->common.scratch, &x->type));
    start = kiln_compose_cast(&c, start, KILN_I64);
    for (int i = 0; i < rank; i++) {
        const int64_t n = x->type.dim[i], room = n - update->type.dim[i];
        if (room == 0)
            continue;
        kiln_value *from = kiln_compose_slice(&c, start, 0, i, 1, 1);
        from = kiln_compose_scalar(&c, &kiln_op_max, from, 0);
        from = kiln_compose_scalar(&c, &kiln_op_min, from, (double)room);
        update = stretch_update(&c, update, i, n, from, &is_new);
    }
    if (is_new != NULL)
        update = kiln_compose_where(&c, is_new, update, x);
    return kiln_tflite_end(cx, &c, update);
}

/* ---- ranges ------------------------------------------------------------------------- */

/* start, limit, delta */
kiln_status kiln_tflite_import_range(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *in[3];
    double v[3];
    static const char *const name[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; i++) {
        const double *one;
        size_t n;
        KILN_TRY(kiln_tflite_need(cx, i, name[i], &in[i]));
        KILN_TRY(kiln_import_const_floats(&cx->common, in[i], name[i], &one, &n));
        if (n != 1)
            return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                    "'%s' must have 1 value, has %zu", name[i], n);
        v[i] = one[0];
    }
    const double span = (v[1] - v[0]) / v[2];
    if (!(span < (double)(1 << 30)))
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT, "a range of %g steps", span);
    int64_t n = span > 0 ? (int64_t)span : 0;
    n += span > (double)n;
    const kiln_dtype dtype = in[0]->type.dtype;
    kiln_value *y = kiln_compose_cast(&c, kiln_compose_iota(&c, n), dtype);
    y = kiln_compose_2(&c, &kiln_op_mul, y,
                       kiln_import_scalar(&cx->common, dtype, v[2]));
    y = kiln_compose_2(&c, &kiln_op_add, y,
                       kiln_import_scalar(&cx->common, dtype, v[0]));
    return kiln_tflite_end(cx, &c, y);
}

/* indices, depth, on, off: 1 where the index is the place along a new axis. */
kiln_status kiln_tflite_import_one_hot(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *index, *on, *off;
    int64_t depth, dim[KILN_MAX_RANK], place[KILN_MAX_RANK];
    int axis;
    KILN_TRY(kiln_tflite_need(cx, 0, "indices", &index));
    KILN_TRY(one_int(cx, 1, "depth", &depth));
    KILN_TRY(kiln_tflite_need(cx, 2, "on_value", &on));
    KILN_TRY(kiln_tflite_need(cx, 3, "off_value", &off));
    const int rank = index->type.rank + 1;
    if (depth < 0 || rank > KILN_MAX_RANK)
        return kiln_tflite_fail(cx, KILN_ERR_LIMIT,
                                "the depth must be positive and the rank below %d",
                                KILN_MAX_RANK);
    KILN_TRY(kiln_axis_normalize(cx->opt.axis, rank, &axis, cx->common.err));
    for (int i = 0; i < rank; i++) {
        dim[i] = i == axis ? 1 : index->type.dim[i - (i > axis)];
        place[i] = i == axis ? depth : 1;
    }
    index = kiln_compose_cast(&c, kiln_compose_reshape(&c, index, rank, dim), KILN_I64);
    kiln_value *const at =
        kiln_compose_reshape(&c, kiln_compose_iota(&c, depth), rank, place);
    kiln_value *const is_it = kiln_compose_2(&c, &kiln_op_equal, index, at);
    on = kiln_compose_reshape(&c, on, 0, NULL);
    off = kiln_compose_reshape(&c, off, 0, NULL);
    return kiln_tflite_end(cx, &c, kiln_compose_where(&c, is_it, on, off));
}
