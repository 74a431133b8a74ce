/* Values of the whole graph and of its regions under one numbering, for the chooser
 * `search`. What a region captures is the value that it is outside, read where it lies;
 * what an `if` makes is what its first branch makes, and the other branch brings its own
 * there. States and elements of sequences, and what a scan makes, are copied row-major. */
#include "compiler/network/chooser/chooser_search_internal.h"

const kiln_net_region *kiln_net_region_of(const kiln_net_survey *s,
                                          const kiln_graph *g) {
    for (size_t i = s->region.n; i-- > 0;)
        if (s->region.v[i].g == g)
            return &s->region.v[i];
    KILN_ASSERT(false, "a step of '%s' comes before its region", g->name);
    return NULL;
}

static int *no_numbers(const kiln_net_survey *s, const kiln_graph *g) {
    int *number = kiln_array(s->arena, int, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        number[i] = -1;
    return number;
}

/* Values without a number are new ones. */
static void add_graph(kiln_net_survey *s, kiln_net_region *region) {
    const kiln_graph *g = region->g;
    for (size_t i = 0; i < g->values.n; i++) {
        if (region->number[i] >= 0)
            continue;
        region->number[i] = (int)s->value.n;
        kiln_vec_push(s->arena, &s->value, g->values.v[i]);
    }
    kiln_vec_push(s->arena, &s->region, *region);
}

/* By output of a branch: what it is handed on as. */
static int *branch_outputs(kiln_net_survey *s, const kiln_net_step *block,
                           const kiln_net_region *outer,
                           const kiln_net_region *branch) {
    const kiln_node *node = block->node;
    int *as = kiln_array(s->arena, int, node->n_out);
    for (int k = 0; k < node->n_out; k++) {
        int *made = &outer->number[node->out[k]->id];
        if (block->kind == KILN_NET_IF)
            *made = branch->number[branch->g->outputs.v[k]->id];
        as[k] = *made;
    }
    return as;
}

void kiln_net_add_region(kiln_net_survey *s, const kiln_net_step *block) {
    const kiln_node *node = block->node;
    const kiln_attr *attr = kiln_node_attr(node, block->region);
    const kiln_graph *g = attr->graph;
    const kiln_net_region outer = *kiln_net_region_of(s, block->g);
    const bool is_loop = block->kind == KILN_NET_LOOP;
    kiln_net_region region = {.g = g,
                              .number = no_numbers(s, g),
                              .runs =
                                  outer.runs * (is_loop ? (double)block->count : 1)};
    size_t of_node = 0, of_region = 0;
    node->op->captures(node, (size_t)(attr - node->attr), &of_node, &of_region);
    for (size_t i = of_region; i < g->inputs.n; i++)
        region.number[g->inputs.v[i]->id] =
            outer.number[node->in[of_node + i - of_region]->id];
    add_graph(s, &region);
    if (!is_loop)
        s->region.v[s->region.n - 1].output = branch_outputs(s, block, &outer, &region);
}

void kiln_net_add_whole(kiln_net_survey *s) {
    kiln_net_region whole = {.g = s->n->g, .number = no_numbers(s, s->n->g), .runs = 1};
    add_graph(s, &whole);
}
