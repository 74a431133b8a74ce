/* Slices of x along an axis, chosen by an index tensor (ONNX Gather 13):
 * out[a.., i.., b..] = x[a.., indices[i..], b..]. */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

enum { AXIS, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "axis", .kind = KILN_ATTR_INT, .doc = "axis of x that is indexed"},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type, *index = &n->in[1]->type;
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, err));
    KILN_TRY(kiln_check_index(n, 1, &x->dim[axis], 1, err));
    int64_t dim[2 * KILN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < axis; i++)
        dim[rank++] = x->dim[i];
    for (int i = 0; i < index->rank; i++)
        dim[rank++] = index->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        dim[rank++] = x->dim[i];
    return kiln_move_type(n, x->dtype, rank, dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    const kiln_lanes lanes = kiln_lanes_at(&cx->in[0].type, axis);
    const int64_t n_index = kiln_type_elems(&cx->in[1].type);
    for (int64_t k = 0; k < n_index; k++) {
        int64_t at;
        KILN_TRY(kiln_index_resolve(n, 1, cx->in[1].i[k], lanes.n, &at, cx->err));
        for (int64_t o = 0; o < lanes.outer; o++)
            kiln_copy_run(&cx->out[0], (o * n_index + k) * lanes.inner, &cx->in[0],
                          (o * lanes.n + at) * lanes.inner, lanes.inner);
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_type *x = &cx->in[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const int n_index = cx->in[1].type.rank;
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < axis; i++)
        at[i] = index[i];
    at[axis] = kiln_compute_index(cx, 1, index + axis, x->dim[axis]);
    for (int i = axis + 1; i < x->rank; i++)
        at[i] = index[i - 1 + n_index];
    return kiln_compute_end(cx, 0, y, kiln_compute_read(cx, 0, at));
}

const kiln_op_def kiln_op_gather = {
    KILN_ROW_GATHER,
    .name = "gather",
    .doc = "slices of x along an axis, chosen by indices (negative: from the end)",
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
