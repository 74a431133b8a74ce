/* The number of elements of a value (ONNX Size 21). Depends on the type alone, so
 * fold_shapes makes it a constant. Exact: an integer. */
#include "compiler/graph/op/op_common.h"

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

static void cost(const kiln_node *n, kiln_cost *c) {
    (void)n;
    *c = (kiln_cost){0};
}

static const char *const in_names[] = {"x", NULL};

const kiln_op_def kiln_op_size = {
    .name = "size",
    .doc = "the number of elements of x as i64",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = in_names,
    .dtypes = KILN_DT_STORED,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_OBLIVIOUS,
    .types_only = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = kiln_bound_exact,
    .compute = NULL, /* follows from types: folded before anything is compiled */
};
