/* Single elements of x along an axis (ONNX GatherElements 13), for axis 1 of three:
 * out[i,j,k] = x[i, indices[i,j,k], k]. */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

enum { AXIS, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "axis", .kind = KILN_ATTR_INT, .doc = "axis of x that is indexed"},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, err));
    KILN_TRY(kiln_check_elements(n, 1, axis, err));
    return kiln_move_type(n, n->in[0]->type.dtype, n->in[1]->type.rank,
                          n->in[1]->type.dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type, *y = &cx->out[0].type;
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    int64_t stride[KILN_MAX_RANK], coord[KILN_MAX_RANK] = {0};
    kiln_strides(x->rank, x->dim, stride);
    const int64_t count = kiln_type_elems(y);
    for (int64_t e = 0; e < count; e++) {
        int64_t at;
        KILN_TRY(kiln_index_resolve(n, 1, cx->in[1].i[e], x->dim[axis], &at, cx->err));
        at *= stride[axis];
        for (int i = 0; i < x->rank; i++)
            at += i == axis ? 0 : coord[i] * stride[i];
        kiln_copy_elem(&cx->out[0], e, &cx->in[0], at);
        kiln_next_coord(y->rank, y->dim, coord);
    }
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_type *x = &cx->in[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < x->rank; i++)
        at[i] = i == axis ? kiln_compute_index(cx, 1, index, x->dim[axis]) : index[i];
    return kiln_compute_end(cx, 0, y, kiln_compute_read(cx, 0, at));
}

const kiln_op_def kiln_op_gather_elements = {
    KILN_ROW_GATHER,
    .name = "gather_elements",
    .doc = "elements of x whose coordinate on one axis is given by indices",
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
