/* The input itself (ONNX Identity 16). Frontends that must give a value a second name
 * make it; simplify_inference removes it. Exact: a copy. */
#include "compiler/op/op_compute.h"

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    (void)err;
    out[0] = n->in[0]->type;
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    (void)n;
    const int64_t n_elems =
        cx->pick != NULL ? cx->n_pick : kiln_type_elems(&cx->in[0].type);
    for (int64_t i = 0; i < n_elems; i++)
        kiln_copy_elem(&cx->out[0], i, &cx->in[0], cx->pick != NULL ? cx->pick[i] : i);
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    (void)n;
    *c = (kiln_cost){0};
}

static const char *const in_names[] = {"x", NULL};

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    (void)n;
    return kiln_compute_copy(cx, 0, 0);
}

const kiln_op_def kiln_op_identity = {
    .name = "identity",
    .doc = "x",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = in_names,
    .dtypes = KILN_DT_STORED,
    .fuse = KILN_FUSE_INJECTIVE,
    .layout = KILN_LAYOUT_OBLIVIOUS,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
