/* Another shape for the same elements in row-major order (ONNX Reshape 14, Squeeze,
 * Unsqueeze, Flatten with their shapes resolved). */
#include "compiler/graph/op/op_move.h"

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

const kiln_op_def kiln_op_reshape = {
    KILN_ROW_MOVE,
    .name = "reshape",
    .doc = "the elements of x in row-major order, under another shape",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = kiln_names_x,
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_ANY,
    .fuse = KILN_FUSE_INJECTIVE,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
};
