/* From what a heuristic found to something better: around each node, some neighbours
 * and theirs are chosen anew, exactly, while all others stay as they are; as long as
 * that gains anything. */
#include "compiler/network/pbqp/pbqp_internal.h"

enum {
    MAX_ROUNDS = 8,
    MAX_AROUND = 32,    /* nodes that are chosen at once */
    MAX_CELLS = 1 << 16 /* of the tables that takes; else fewer nodes */
};

typedef struct improver {
    kiln_arena arena;   /* of all rounds */
    kiln_arena scratch; /* of one try */
    const kiln_pbqp *p;
    KILN_VEC(int) * edge; /* by node */
    int *option;
    int *number; /* by node: among those chosen anew; -1: it stays */
    int *node;   /* of those */
    int n;
} improver;

static int other(const kiln_pbqp_edge *e, int node) {
    return e->a == node ? e->b : e->a;
}

/* The nearest ones, by edges. */
static void look_around(improver *x, int center, int most) {
    for (int i = 0; i < x->n; i++)
        x->number[x->node[i]] = -1;
    x->n = 0;
    x->number[center] = x->n;
    x->node[x->n++] = center;
    for (int at = 0; at < x->n; at++)
        for (size_t i = 0; i < x->edge[x->node[at]].n && x->n < most; i++) {
            const int to = other(&x->p->edge.v[x->edge[x->node[at]].v[i]], x->node[at]);
            if (x->number[to] >= 0)
                continue;
            x->number[to] = x->n;
            x->node[x->n++] = to;
        }
}

/* With option i of the node, the other end's as it is. */
static double towards(const improver *x, const kiln_pbqp_edge *e, int node, int i) {
    const int k = x->option[other(e, node)], n_b = x->p->node.v[e->b].n;
    return e->a == node ? e->cost[i * n_b + k] : e->cost[k * n_b + i];
}

/* Those around alone; edges to others are costs of options. */
static kiln_pbqp part_of(improver *x) {
    kiln_pbqp part = {.node = {.n = 0}};
    for (int at = 0; at < x->n; at++) {
        const int v = x->node[at];
        const kiln_pbqp_node *node = &x->p->node.v[v];
        double *cost =
            kiln_arena_dup(&x->scratch, node->cost, (size_t)node->n * sizeof *cost);
        for (size_t i = 0; i < x->edge[v].n; i++) {
            const kiln_pbqp_edge *e = &x->p->edge.v[x->edge[v].v[i]];
            for (int k = 0; k < node->n && x->number[other(e, v)] < 0; k++)
                cost[k] += towards(x, e, v, k);
        }
        (void)kiln_pbqp_add_node(&x->scratch, &part, node->n, cost);
    }
    for (int at = 0; at < x->n; at++)
        for (size_t i = 0; i < x->edge[x->node[at]].n; i++) {
            const kiln_pbqp_edge *e = &x->p->edge.v[x->edge[x->node[at]].v[i]];
            if (e->a == x->node[at] && x->number[e->b] >= 0)
                kiln_pbqp_add_edge(&x->scratch, &part, at, x->number[e->b], e->cost);
        }
    return part;
}

/* Does it gain? */
static bool choose_around(improver *x, int center) {
    bool gains = false;
    for (int most = MAX_AROUND; most > 0; most /= 2) {
        kiln_pbqp_answer now = {.option = NULL};
        look_around(x, center, most);
        const kiln_pbqp part = part_of(x);
        const bool fits =
            kiln_pbqp_solve_by_tables(&x->scratch, &part, MAX_CELLS, &now);
        int *was = kiln_array(&x->scratch, int, x->n);
        for (int i = 0; i < x->n; i++)
            was[i] = x->option[x->node[i]];
        /* Rounding is no gain. */
        gains = fits && now.cost < kiln_pbqp_cost(&part, was) * (1 - 1e-12);
        for (int i = 0; i < x->n && gains; i++)
            x->option[x->node[i]] = now.option[i];
        kiln_arena_reset(&x->scratch);
        if (fits)
            break;
    }
    return gains;
}

void kiln_pbqp_improve(const kiln_pbqp *p, int *option) {
    improver x = {.p = p, .option = option};
    bool goes_on = true;
    x.edge = kiln_arena_array(&x.arena, p->node.n, sizeof *x.edge);
    x.number = kiln_array(&x.arena, int, p->node.n);
    x.node = kiln_array(&x.arena, int, p->node.n);
    for (size_t i = 0; i < p->node.n; i++)
        x.number[i] = -1;
    for (size_t e = 0; e < p->edge.n; e++) {
        kiln_vec_push(&x.arena, &x.edge[p->edge.v[e].a], (int)e);
        kiln_vec_push(&x.arena, &x.edge[p->edge.v[e].b], (int)e);
    }
    for (int round = 0; round < MAX_ROUNDS && goes_on; round++) {
        goes_on = false;
        for (size_t i = 0; i < p->node.n; i++)
            goes_on |= choose_around(&x, (int)i);
    }
    kiln_arena_fini(&x.scratch);
    kiln_arena_fini(&x.arena);
}
