/* The dimensions of a value (ONNX Shape 21, whole shape: an importer slices it for
 * start and end). Depends on the type alone, so fold_shapes makes it a constant. Exact:
 * integers. */
#include "compiler/op/op_common.h"

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    (void)err;
    const int64_t rank = n->in[0]->type.rank;
    out[0] = kiln_type_make(KILN_I64, 1, &rank);
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    (void)n;
    const kiln_type *t = &cx->in[0].type;
    for (int axis = 0; axis < t->rank; axis++)
        cx->out[0].i[axis] = t->dim[axis];
    return KILN_OK;
}

const kiln_op_def kiln_op_shape = {
    KILN_ROW_OF_TYPE,
    .name = "shape",
    .doc = "the dimensions of x as i64[rank]",
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = NULL, /* follows from types: folded before anything is compiled */
};
