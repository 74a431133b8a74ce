/* Slices of x at coordinates (ONNX GatherND 13): the last axis of `indices` holds the
 * coordinates on the axes of x behind the first batch_dims ones, which both have in
 * common. */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { BATCH_DIMS, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "batch_dims", .kind = KILN_ATTR_INT, .doc = "leading axes in common"},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type, *index = &n->in[1]->type;
    const int64_t batch = n->attr[BATCH_DIMS].i;
    const int lesser = x->rank < index->rank ? x->rank : index->rank;
    if (lesser < 1)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "inputs 'x' and 'indices' must have rank >= 1, have %d and %d",
                         x->rank, index->rank);
    if (batch < 0 || batch >= lesser)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "batch_dims must be in [0, %d), is %" PRId64, lesser, batch);
    for (int i = 0; i < batch; i++)
        if (x->dim[i] != index->dim[i])
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "batch axis %d must be the same in 'x' and 'indices', has "
                             "%" PRId64 " and %" PRId64 " elements",
                             i, x->dim[i], index->dim[i]);
    const int first = (int)batch;
    KILN_TRY(kiln_check_coords(n, 1, first, err));
    int64_t dim[2 * KILN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < index->rank - 1; i++)
        dim[rank++] = index->dim[i];
    for (int i = first + (int)index->dim[index->rank - 1]; i < x->rank; i++)
        dim[rank++] = x->dim[i];
    return kiln_move_type(n, x->dtype, rank, dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type, *index = &cx->in[1].type;
    const int batch = (int)n->attr[BATCH_DIMS].i;
    const int64_t depth = index->dim[index->rank - 1];
    const int64_t n_batch = kiln_dim_product(x->dim, 0, batch);
    const int64_t n_slices = kiln_dim_product(index->dim, batch, index->rank - 1);
    const int64_t run = kiln_dim_product(x->dim, batch + (int)depth, x->rank);
    const int64_t per_batch = kiln_dim_product(x->dim, batch, x->rank);
    for (int64_t s = 0; s < n_batch * n_slices; s++) {
        int64_t at;
        KILN_TRY(kiln_coords_resolve(n, cx, batch, s, &at));
        kiln_copy_run(&cx->out[0], s * run, &cx->in[0],
                      s / n_slices * per_batch + at * run, run);
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[0].type, *coords = &cx->in[1].type;
    const int batch = (int)n->attr[BATCH_DIMS].i, last = coords->rank - 1;
    const int depth = (int)coords->dim[last];
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK], *from[KILN_MAX_RANK];
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < last; i++)
        from[i] = index[i];
    for (int i = 0; i < batch; i++)
        at[i] = index[i];
    for (int i = 0; i < depth; i++) {
        from[last] = kiln_x_index(a, i);
        at[batch + i] = kiln_compute_index(cx, 1, from, x->dim[batch + i]);
    }
    for (int i = batch + depth; i < x->rank; i++)
        at[i] = index[last + i - batch - depth];
    return kiln_compute_end(cx, 0, y, kiln_compute_read(cx, 0, at));
}

const kiln_op_def kiln_op_gather_nd = {
    KILN_ROW_GATHER,
    .name = "gather_nd",
    .doc = "slices of x at the coordinates that the last axis of indices holds",
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
