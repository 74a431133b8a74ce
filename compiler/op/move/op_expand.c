/* Numpy broadcasting to a given shape (ONNX Expand 13 with the broadcast shape
 * resolved). */
#include "compiler/op/op_compute.h"
#include "compiler/op/op_move.h"

enum { SHAPE, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "shape",
     .kind = KILN_ATTR_INTS,
     .doc = "the result's dims; axes of x are aligned at the last one",
     .is_required = true},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_attr *shape = &n->attr[SHAPE];
    const kiln_type *x = &n->in[0]->type;
    KILN_TRY(kiln_check_dims(n, SHAPE, err));
    kiln_type t;
    KILN_TRY(kiln_move_type(n, x->dtype, (int)shape->n, shape->ints, &t, err));
    bool fits = t.rank >= x->rank;
    for (int i = 0; fits && i < x->rank; i++)
        fits = x->dim[i] == 1 || x->dim[i] == t.dim[t.rank - x->rank + i];
    if (!fits) {
        kiln_arena scratch = {0};
        const kiln_status st = kiln_fail(
            err, KILN_ERR_SHAPE, "input 'x' must broadcast to %s, is %s",
            kiln_shape_text(&scratch, t.rank, t.dim), kiln_type_text(&scratch, x));
        kiln_arena_fini(&scratch);
        return st;
    }
    *out = t;
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    (void)n;
    const kiln_type *x = &cx->in[0].type;
    const int lead = cx->out[0].type.rank - x->rank;
    int64_t source[KILN_MAX_RANK], stride[KILN_MAX_RANK] = {0};
    kiln_strides(x->rank, x->dim, source);
    for (int i = 0; i < x->rank; i++)
        stride[lead + i] = x->dim[i] == 1 ? 0 : source[i];
    kiln_move_strided(cx, 0, stride);
    return KILN_OK;
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    (void)n;
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_type *t = &cx->out[0].type;
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    return kiln_compute_end(cx, 0, y,
                            kiln_compute_read_broadcast(cx, 0, t->rank, index));
}

const kiln_op_def kiln_op_expand = {
    KILN_ROW_REARRANGE,
    .name = "expand",
    .doc = "x broadcast to a shape: axes of one element are repeated",
    .attr = attrs,
    .n_attr = N_ATTR,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = compute,
};
