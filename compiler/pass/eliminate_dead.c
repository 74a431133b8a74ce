/* Nodes whose outputs lead to no output of the graph are dropped. No operator has an
 * effect besides its outputs. */
#include "compiler/pass/pass_internal.h"

static void mark(bool *is_live, const kiln_value *v) {
    for (; v != NULL; v = v->count)
        is_live[v->id] = true;
}

static kiln_status run(kiln_graph *g, kiln_pass_cx *cx) {
    bool *is_live = kiln_array(cx->scratch, bool, g->values.n);
    bool *keep = kiln_array(cx->scratch, bool, g->nodes.n);
    for (size_t i = 0; i < g->outputs.n; i++)
        mark(is_live, g->outputs.v[i]);
    for (size_t i = g->nodes.n; i-- > 0;) {
        const kiln_node *n = g->nodes.v[i];
        for (int k = 0; k < n->n_out; k++)
            keep[i] = keep[i] || is_live[n->out[k]->id];
        if (!keep[i])
            cx->changed = true;
        for (int k = 0; keep[i] && k < n->n_in; k++)
            mark(is_live, n->in[k]);
    }
    kiln_graph_keep_nodes(g, keep);
    return KILN_OK;
}

const kiln_pass kiln_pass_eliminate_dead = {
    .name = "eliminate_dead",
    .doc = "nodes that no output depends on are dropped",
    .needs = KILN_TYPED,
    .makes = KILN_NO_DEAD_CODE,
    .keeps = ~0u,
    .is_exact = true,
    .run = run,
};
