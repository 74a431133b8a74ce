/* x with single elements replaced or combined (ONNX ScatterElements 18), for axis 1 of
 * three: out[i, indices[i,j,k], k] = reduce(out[...], updates[i,j,k]), in row-major
 * order of the updates. */
#include "compiler/op/op_extern.h"
#include "compiler/op/op_move.h"

enum { AXIS, REDUCTION, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "axis", .kind = KILN_ATTR_INT, .doc = "axis of x that is indexed"},
    KILN_SCATTER_ATTR,
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, err));
    KILN_TRY(kiln_check_elements(n, 1, axis, err));
    KILN_TRY(kiln_check_same_dtype(n, 0, 2, err));
    if (kiln_scatter_fn_of(n) != KILN_SCATTER_NONE)
        KILN_TRY(kiln_check_dtype(n, 0, KILN_DT_NUMBER, err));
    if (!kiln_type_same_shape(&n->in[1]->type, &n->in[2]->type)) {
        kiln_arena scratch = {0};
        const kiln_status st = kiln_fail(
            err, KILN_ERR_SHAPE,
            "inputs 'indices' and 'updates' must have one shape, are %s and %s",
            kiln_type_text(&scratch, &n->in[1]->type),
            kiln_type_text(&scratch, &n->in[2]->type));
        kiln_arena_fini(&scratch);
        return st;
    }
    return kiln_move_type(n, x->dtype, x->rank, x->dim, out, err);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &cx->in[0].type, *u = &cx->in[2].type;
    int axis;
    KILN_TRY(kiln_check_axis(n, AXIS, &axis, cx->err));
    kiln_copy_run(&cx->out[0], 0, &cx->in[0], 0, kiln_type_elems(x));
    int64_t stride[KILN_MAX_RANK], coord[KILN_MAX_RANK] = {0};
    kiln_strides(x->rank, x->dim, stride);
    const int64_t count = kiln_type_elems(u);
    for (int64_t e = 0; e < count; e++) {
        int64_t at;
        KILN_TRY(kiln_index_resolve(n, 1, cx->in[1].i[e], x->dim[axis], &at, cx->err));
        at *= stride[axis];
        for (int i = 0; i < x->rank; i++)
            at += i == axis ? 0 : coord[i] * stride[i];
        kiln_scatter_elem(&cx->out[0], at, &cx->in[2], e, kiln_scatter_fn_of(n));
        kiln_next_coord(u->rank, u->dim, coord);
    }
    return KILN_OK;
}

static void place(kiln_arena *a, const kiln_scatter *s, const kiln_te *te,
                  const kiln_buffer *indices, const kiln_expr *const *at,
                  const kiln_expr **index) {
    for (int i = 0; i < te->rank; i++)
        index[i] = at[i];
    const kiln_expr *v = kiln_x_load(a, indices, at, te->rank, NULL);
    index[s->axis] = kiln_x_resolved(a, v, kiln_te_dim(te, s->axis));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_scatter *s = kiln_new(cx->arena, kiln_scatter);
    s->fn = (int)kiln_scatter_fn_of(n);
    s->place = place;
    KILN_TRY(kiln_check_axis(n, AXIS, &s->axis, cx->err));
    return kiln_compute_scatter(cx, s);
}

const kiln_op_def kiln_op_scatter_elements = {
    KILN_ROW_SCATTER,
    .name = "scatter_elements",
    .doc = "x with elements along one axis replaced by, or combined with, updates",
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
