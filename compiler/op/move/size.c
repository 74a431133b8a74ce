/* The number of elements of a value (ONNX Size 21). Depends on the type alone, so
 * fold_shapes makes it a constant. Exact: an integer. */
#include "compiler/op/op_common.h"

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    (void)n;
    (void)err;
    out[0] = kiln_type_scalar(KILN_I64);
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    (void)n;
    cx->out[0].i[0] = kiln_type_elems(&cx->in[0].type);
    return KILN_OK;
}

const kiln_op_def kiln_op_size = {
    KILN_ROW_OF_TYPE,
    .name = "size",
    .doc = "the number of elements of x as i64",
    .infer = infer,
    .eval_ref = eval_ref,
    .compute = NULL, /* follows from types: folded before anything is compiled */
};
