/* The dimensions of a value (ONNX Shape 21, whole shape: an importer slices it for
 * start and end). Depends on the type alone, so fold_shapes makes it a constant. Exact:
 * integers. */
#include "compiler/graph/op/op_common.h"

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

static void cost(const kiln_node *n, kiln_cost *c) {
    (void)n;
    *c = (kiln_cost){0};
}

static const char *const in_names[] = {"x", NULL};

const kiln_op_def kiln_op_shape = {
    .name = "shape",
    .doc = "the dimensions of x as i64[rank]",
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
