/* x with slices replaced or combined (ONNX ScatterND 18): the last axis of `indices`
 * holds coordinates on the leading axes of x, and `updates` one slice for each; in
 * row-major order of the updates. */
#include "compiler/op/op_extern.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { REDUCTION, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_SCATTER_ATTR,
};

static kiln_status check_updates(const kiln_node *n, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type, *index = &n->in[1]->type;
    int64_t dim[2 * KILN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < index->rank - 1; i++)
        dim[rank++] = index->dim[i];
    for (int i = (int)index->dim[index->rank - 1]; i < x->rank; i++)
        dim[rank++] = x->dim[i];
    kiln_type want;
    KILN_TRY(kiln_move_type(n, x->dtype, rank, dim, &want, err));
    if (kiln_type_same_shape(&want, &n->in[2]->type))
        return KILN_OK;
    kiln_arena scratch = {0};
    const kiln_status st =
        kiln_fail(err, KILN_ERR_SHAPE, "input 'updates' must have shape %s, is %s",
                  kiln_shape_text(&scratch, rank, dim),
                  kiln_type_text(&scratch, &n->in[2]->type));
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type, *index = &n->in[1]->type;
    if (x->rank < 1 || index->rank < 1)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "inputs 'x' and 'indices' must have rank >= 1, have %d and %d",
                         x->rank, index->rank);
    KILN_TRY(kiln_check_same_dtype(n, 0, 2, err));
    if (kiln_scatter_fn_of(n) != KILN_SCATTER_NONE)
        KILN_TRY(kiln_check_dtype(n, 0, KILN_DT_NUMBER, err));
    KILN_TRY(kiln_check_coords(n, 1, 0, err));
    KILN_TRY(check_updates(n, err));
    return kiln_move_type(n, x->dtype, x->rank, x->dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type, *index = &cx->in[1].type;
    const int64_t depth = index->dim[index->rank - 1];
    const int64_t n_slices = kiln_dim_product(index->dim, 0, index->rank - 1);
    const int64_t run = kiln_dim_product(x->dim, (int)depth, x->rank);
    const kiln_scatter_fn fn = kiln_scatter_fn_of(n);
    kiln_copy_run(&cx->out[0], 0, &cx->in[0], 0, kiln_type_elems(x));
    for (int64_t s = 0; s < n_slices; s++) {
        int64_t at;
        KILN_TRY(kiln_coords_resolve(n, cx, 0, s, &at));
        for (int64_t k = 0; k < run; k++)
            kiln_scatter_elem(&cx->out[0], at * run + k, &cx->in[2], s * run + k, fn);
    }
    return KILN_OK;
}

/* Update [coordinates..., slice...]: the last axis of the indices covers the leading
 * axes of x. */
static void place(kiln_arena *a, const kiln_scatter *s, const kiln_te *te,
                  const kiln_buffer *indices, const kiln_expr *const *at,
                  const kiln_expr **index) {
    const kiln_expr *from[KILN_MAX_AXES];
    const int last = indices->rank - 1;
    const int depth = (int)kiln_buffer_dim(indices, last);
    for (int i = 0; i < last; i++)
        from[i] = at[i];
    for (int i = 0; i < depth; i++) {
        from[last] = kiln_x_index(a, i);
        const kiln_expr *v = kiln_x_load(a, indices, from, indices->rank, NULL);
        index[i] = kiln_x_resolved(a, v, kiln_te_dim(te, i));
    }
    for (int i = depth; i < te->rank; i++)
        index[i] = at[last + i - depth];
    KILN_ASSERT(last + te->rank - depth == s->update_rank, "updates of rank %d",
                s->update_rank);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_scatter *s = kiln_new(cx->arena, kiln_scatter);
    s->fn = (int)kiln_scatter_fn_of(n);
    s->place = place;
    return kiln_compute_scatter(cx, s);
}

const kiln_op_def kiln_op_scatter_nd = {
    KILN_ROW_SCATTER,
    .name = "scatter_nd",
    .doc = "x with slices at coordinates replaced by, or combined with, updates",
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
