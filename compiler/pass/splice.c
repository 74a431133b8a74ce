/* Splicing a region into the graph that holds it: what an if with a known condition
 * becomes. */
#include "compiler/pass/pass_internal.h"

/* Makes a value of the copy one of g. */
static void adopt_value(kiln_graph *g, kiln_value *v) {
    v->name = kiln_graph_fresh_value_name(g, v->name);
    v->id = (int)g->values.n;
    kiln_vec_push(g->arena, &g->values, v);
    kiln_map_set(g->arena, &g->value_names, kiln_str_from(v->name), v);
}

static void adopt_node(kiln_graph *g, kiln_node *n) {
    n->name = kiln_graph_fresh_node_name(g, n->name);
    n->graph = g;
    kiln_map_set(g->arena, &g->node_names, kiln_str_from(n->name), n);
}

void kiln_splice_region(kiln_sweep *s, const kiln_graph *region, kiln_value *const *in,
                        kiln_value **out, kiln_node ***nodes, size_t *n_nodes) {
    kiln_graph *g = s->g;
    kiln_graph *copy = kiln_graph_clone(g->arena, region);
    KILN_ASSERT(copy->values.n == region->values.n && copy->nodes.n == region->nodes.n,
                "a clone of '%s' is another graph", region->name);
    kiln_value **stands_for = kiln_array(s->cx->scratch, kiln_value *, copy->values.n);
    for (size_t i = 0; i < copy->inputs.n; i++) {
        KILN_ASSERT(in[i] != NULL && in[i]->type.dtype == copy->inputs.v[i]->type.dtype,
                    "input '%s' of a region is given none of its dtype",
                    copy->inputs.v[i]->name);
        stands_for[copy->inputs.v[i]->id] = in[i];
    }
    for (size_t i = 0; i < copy->values.n; i++) {
        if (stands_for[i] != NULL)
            continue;
        stands_for[i] = copy->values.v[i];
        adopt_value(g, copy->values.v[i]);
    }
    /* Adopted values have new ids; a clone's lists are parallel to the original's,
     * which keep theirs. */
    for (size_t i = 0; i < region->values.n; i++) {
        const kiln_value *count = region->values.v[i]->count;
        copy->values.v[i]->count = count == NULL ? NULL : stands_for[count->id];
    }
    for (size_t i = 0; i < region->nodes.n; i++) {
        const kiln_node *from = region->nodes.v[i];
        kiln_node *n = copy->nodes.v[i];
        for (int k = 0; k < n->n_in; k++)
            n->in[k] = from->in[k] == NULL ? NULL : stands_for[from->in[k]->id];
        adopt_node(g, n);
        kiln_sweep_count(s, n);
    }
    for (size_t i = 0; i < region->outputs.n; i++)
        out[i] = stands_for[region->outputs.v[i]->id];
    *nodes = copy->nodes.v;
    *n_nodes = copy->nodes.n;
}
