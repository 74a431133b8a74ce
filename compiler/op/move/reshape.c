/* Another shape for the same elements in row-major order (ONNX Reshape 14, Squeeze,
 * Unsqueeze, Flatten with their shapes resolved). */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

#include <inttypes.h>

enum { SHAPE, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "shape",
     .kind = KILN_ATTR_INTS,
     .doc = "the new dims, all given",
     .is_required = true},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_attr *shape = &n->attr[SHAPE];
    const kiln_type *x = &n->in[0]->type;
    KILN_TRY(kiln_check_dims(n, SHAPE, err));
    kiln_type t;
    KILN_TRY(kiln_move_type(n, x->dtype, (int)shape->n, shape->ints, &t, err));
    if (kiln_type_elems(&t) != kiln_type_elems(x)) {
        kiln_arena scratch = {0};
        const kiln_status st =
            kiln_fail(err, KILN_ERR_SHAPE,
                      "'shape' must keep the number of elements, %s has %" PRId64
                      ", %s has %" PRId64,
                      kiln_shape_text(&scratch, t.rank, t.dim), kiln_type_elems(&t),
                      kiln_type_text(&scratch, x), kiln_type_elems(x));
        kiln_arena_fini(&scratch);
        return st;
    }
    *out = t;
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    (void)n;
    if (cx->pick != NULL)
        for (int64_t j = 0; j < cx->n_pick; j++)
            kiln_copy_elem(&cx->out[0], j, &cx->in[0], cx->pick[j]);
    else
        kiln_copy_run(&cx->out[0], 0, &cx->in[0], 0, kiln_type_elems(&cx->out[0].type));
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    (void)n;
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[0].type, *t = &cx->out[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    int64_t from[KILN_MAX_RANK], to[KILN_MAX_RANK];
    if (kiln_type_same_shape(x, t))
        return kiln_compute_copy(cx, 0, 0);
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    kiln_strides(x->rank, x->dim, from);
    kiln_strides(t->rank, t->dim, to);
    const kiln_expr *flat = kiln_x_index(a, 0);
    for (int i = 0; i < t->rank; i++)
        flat = kiln_x_add(a, flat, kiln_x_mul(a, index[i], kiln_x_index(a, to[i])));
    for (int i = 0; i < x->rank; i++) {
        /* Nothing is read where an extent is 0. */
        at[i] = kiln_compute_div(cx, flat, from[i] > 0 ? from[i] : 1);
        if (i > 0)
            at[i] = kiln_compute_mod(cx, at[i], x->dim[i] > 0 ? x->dim[i] : 1);
    }
    return kiln_compute_end(cx, 0, y, kiln_compute_read(cx, 0, at));
}

const kiln_op_def kiln_op_reshape = {
    KILN_ROW_REARRANGE,
    .name = "reshape",
    .doc = "the elements of x in row-major order, under another shape",
    .attr = attrs,
    .n_attr = N_ATTR,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
