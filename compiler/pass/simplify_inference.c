/* What training or exporting left behind: identities; casts, reshapes, transposes and
 * slices that move nothing, or are two where one will do; arithmetic with neutral
 * constants; and batch norms, which go into the weights before them.
 *
 * Every rule but batch norm's keeps all bits, -0, NaN and infinities included:
 *   x + c   only for c = -0 (floats) or 0 (integers): x + (+0) makes -0 a +0
 *   x - c   only for c = +0, for the same reason
 *   x * 1, x / 1, x ^ 1   always, and x ^ 2 is x * x; x * 0 never: it is NaN for an infinite x
 * Batch norm's is said in simplify_batch_norm.c. */
#include "compiler/pass/simplify.h"

static const struct {
    const kiln_op_def *op;
    kiln_simplify_rule rule;
} rules[] = {
    {&kiln_op_identity, kiln_simplify_same_type},
    {&kiln_op_expand, kiln_simplify_same_type}, /* to the same shape */
    {&kiln_op_tile, kiln_simplify_same_type},   /* once */
    {&kiln_op_split, kiln_simplify_same_type},  /* into one part */
    {&kiln_op_cast, kiln_simplify_cast},
    {&kiln_op_reshape, kiln_simplify_reshape},
    {&kiln_op_transpose, kiln_simplify_transpose},
    {&kiln_op_pad, kiln_simplify_pad},
    {&kiln_op_slice, kiln_simplify_slice},
    {&kiln_op_concat, kiln_simplify_concat},
    {&kiln_op_add, kiln_simplify_add},
    {&kiln_op_sub, kiln_simplify_sub},
    {&kiln_op_mul, kiln_simplify_mul},
    {&kiln_op_div, kiln_simplify_div},
    {&kiln_op_pow, kiln_simplify_pow},
    {&kiln_op_batch_norm, kiln_simplify_batch_norm},
    {&kiln_op_quantize_linear, kiln_simplify_quantize_linear},
};
enum { N_RULES = sizeof rules / sizeof rules[0] };

static kiln_simplify_rule rule_of(const kiln_node *n) {
    /* A bounded value says which part of it counts; a value that stands for it need
     * not. */
    if (n->n_out != 1 || n->out[0]->count != NULL)
        return NULL;
    for (int i = 0; i < N_RULES; i++)
        if (rules[i].op == n->op)
            return rules[i].rule;
    return NULL;
}

static kiln_status simplify(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    const kiln_simplify_rule rule = rule_of(n);
    return rule != NULL ? rule(s, n, same) : KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    return kiln_sweep_by(g, cx, simplify);
}

const kiln_pass kiln_pass_simplify_inference = {
    .name = "simplify_inference",
    .doc = "batch norms go into weights; what changes nothing is removed",
    .needs = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED,
    .makes = KILN_INFERENCE_ONLY,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_CONSTS_FOLDED,
    .run = run,
};
