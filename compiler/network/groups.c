/* The groups of a build. */
#include "compiler/network/groups.h"

#include "compiler/tensor/compute.h"

bool kiln_network_can_join(const kiln_node *node) {
    int axis = 0;
    if (node->op != &kiln_op_concat ||
        kiln_axis_normalize(kiln_node_attr(node, "axis")->i, node->out[0]->type.rank,
                            &axis, NULL) != KILN_OK)
        return false;
    for (int i = 0; i < axis; i++)
        if (node->out[0]->type.dim[i] != 1)
            return false;
    /* Whole blocks of channels begin at such places too. */
    for (int k = 0; k + 1 < node->n_in; k++)
        if (kiln_type_bytes(&node->in[k]->type) % KILN_NETWORK_ALIGN != 0)
            return false;
    return true;
}

void kiln_network_fuse(kiln_arena *a, const kiln_graph *g, bool is_off,
                       kiln_fusion *out) {
    const kiln_fusion_options o = {.is_off = is_off,
                                   .growth = kiln_graph_growth(a, g),
                                   .stands_alone = kiln_network_can_join};
    kiln_graph_fuse(a, g, &o, out);
}

static kiln_status visit_graph(const kiln_graph *g, double runs,
                               kiln_group_visit_fn *visit, void *user, kiln_err *err) {
    kiln_arena own; /* regions have groups of their own */
    kiln_fusion fusion;
    kiln_status st = KILN_OK;
    kiln_arena_init(&own);
    kiln_network_fuse(&own, g, false, &fusion);
    for (int i = 0; i < fusion.n && st == KILN_OK; i++) {
        const kiln_group *group = &fusion.group[i];
        const kiln_node *first = group->node[0];
        const double times =
            first->op->region_runs != NULL ? (double)first->op->region_runs(first) : 1;
        for (size_t k = 0; k < first->op->n_attr && st == KILN_OK; k++)
            if (first->attr[k].graph != NULL)
                st = visit_graph(first->attr[k].graph, runs * times, visit, user, err);
        if (st == KILN_OK)
            st = visit(user, g, group, runs, err);
        if (st == KILN_OK)
            st = kiln_interrupt_check(err);
    }
    kiln_arena_fini(&own);
    return st;
}

kiln_status kiln_network_each_group(const kiln_graph *g, kiln_group_visit_fn *visit,
                                    void *user, kiln_err *err) {
    return visit_graph(g, 1, visit, user, err);
}
