/* Problems, and which solver takes one. */
#include "compiler/network/pbqp/pbqp.h"

#include <math.h>

static void check_costs(const double *cost, size_t n) {
    for (size_t i = 0; i < n; i++)
        KILN_ASSERT(cost[i] >= 0, "cost %zu of %zu is %g", i, n, cost[i]);
}

int kiln_pbqp_add_node(kiln_arena *a, kiln_pbqp *p, int n, const double *cost) {
    KILN_ASSERT(n > 0, "node %zu has no options", p->node.n);
    check_costs(cost, (size_t)n);
    const kiln_pbqp_node node = {
        n, kiln_arena_dup(a, cost, (size_t)n * sizeof *node.cost)};
    kiln_vec_push(a, &p->node, node);
    return (int)p->node.n - 1;
}

void kiln_pbqp_add_edge(kiln_arena *a, kiln_pbqp *p, int x, int y, const double *cost) {
    KILN_ASSERT(x != y && x >= 0 && y >= 0 && (size_t)x < p->node.n &&
                    (size_t)y < p->node.n,
                "an edge between nodes %d and %d of %zu", x, y, p->node.n);
    const size_t n = (size_t)p->node.v[x].n * (size_t)p->node.v[y].n;
    check_costs(cost, n);
    const kiln_pbqp_edge edge = {x, y, kiln_arena_dup(a, cost, n * sizeof *edge.cost)};
    kiln_vec_push(a, &p->edge, edge);
}

double kiln_pbqp_cost(const kiln_pbqp *p, const int *option) {
    double sum = 0;
    for (size_t i = 0; i < p->node.n; i++)
        sum += p->node.v[i].cost[option[i]];
    for (size_t i = 0; i < p->edge.n; i++) {
        const kiln_pbqp_edge *e = &p->edge.v[i];
        sum += e->cost[option[e->a] * p->node.v[e->b].n + option[e->b]];
    }
    return sum;
}

void kiln_pbqp_solve(kiln_arena *a, const kiln_pbqp *p, int64_t max_cells,
                     kiln_pbqp_answer *out) {
    if (!kiln_pbqp_solve_by_tables(a, p, max_cells, out))
        kiln_pbqp_solve_by_reductions(a, p, out);
}
