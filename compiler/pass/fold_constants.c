/* Nodes with constant inputs only are evaluated by the reference interpreter; an if
 * whose condition is a constant becomes its branch; constants that a region captures
 * become its own. Limits: fold.c. */
#include "compiler/pass/pass_internal.h"

static kiln_status process(kiln_sweep *s, kiln_node *n);
static kiln_status run(kiln_graph *g, kiln_pass_cx *cx);

/* The region that an if with a constant condition runs; NULL: not such a node. */
static const kiln_graph *known_branch(const kiln_node *n,
                                      kiln_value *const **captured) {
    if (n->op != &kiln_op_if || !kiln_value_is_const(n->in[0]))
        return NULL;
    const kiln_graph *then_branch = kiln_node_attr(n, "then_branch")->graph;
    const kiln_graph *else_branch = kiln_node_attr(n, "else_branch")->graph;
    const unsigned char *cond = n->in[0]->data;
    *captured = n->in + 1 + (*cond != 0 ? 0 : then_branch->inputs.n);
    return *cond != 0 ? then_branch : else_branch;
}

static kiln_status splice(kiln_sweep *s, kiln_node *n, const kiln_graph *branch,
                          kiln_value *const *captured) {
    kiln_value **out = kiln_array(s->cx->scratch, kiln_value *, branch->outputs.n);
    kiln_node **nodes = NULL;
    size_t n_nodes = 0;
    kiln_splice_region(s, branch, captured, out, &nodes, &n_nodes);
    /* Nested ifs recurse; their depth is limited by the driver, which went through them
     * before. */
    for (size_t i = 0; i < n_nodes; i++) {
        kiln_sweep_resolve(s, nodes[i]);
        KILN_TRY(process(s, nodes[i]));
    }
    for (int k = 0; k < n->n_out; k++)
        kiln_sweep_replace(s, n->out[k], out[k]);
    kiln_sweep_drop(s, n);
    return KILN_OK;
}

/* Regions were folded before, without what the graph around knows to be constant. */
static kiln_status fold_regions(kiln_sweep *s, kiln_node *n) {
    for (size_t i = 0; i < n->op->n_attr; i++) {
        if (n->op->attr[i].kind != KILN_ATTR_GRAPH || n->attr[i].graph == NULL ||
            !kiln_capture_constants(s, n, i))
            continue;
        kiln_pass_cx cx = {
            .scratch = s->cx->scratch, .err = s->cx->err, .budget = s->cx->budget};
        KILN_TRY(run(n->attr[i].graph, &cx));
        n->attr[i].graph->facts &= kiln_pass_fold_constants.keeps;
        n->attr[i].graph->facts |= kiln_pass_fold_constants.makes;
    }
    return KILN_OK;
}

static kiln_status process(kiln_sweep *s, kiln_node *n) {
    kiln_value *const *captured = NULL;
    const kiln_graph *branch = known_branch(n, &captured);
    if (branch != NULL)
        return splice(s, n, branch, captured);
    KILN_TRY(fold_regions(s, n));
    bool done = false;
    if (kiln_fold_is_ready(n))
        kiln_fold_node(s->g, n, s->cx->budget, &done);
    if (done)
        kiln_sweep_drop(s, n);
    else
        kiln_sweep_keep(s, n);
    return KILN_OK;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    kiln_sweep s;
    kiln_status st = KILN_OK;
    kiln_sweep_begin(&s, g, cx);
    for (kiln_node *n; st == KILN_OK && (n = kiln_sweep_next(&s)) != NULL;)
        st = process(&s, n);
    kiln_sweep_end(&s);
    return st;
}

const kiln_pass kiln_pass_fold_constants = {
    .name = "fold_constants",
    .doc = "what depends on constants alone is computed at compile time",
    .needs = KILN_TYPED | KILN_SHAPES_FOLDED,
    .makes = KILN_CONSTS_FOLDED,
    .keeps = KILN_TYPED | KILN_SHAPES_FOLDED | KILN_INFERENCE_ONLY,
    .is_exact = true,
    .run = run,
};
