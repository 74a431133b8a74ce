/* Nonserial dynamic programming: nodes are eliminated one after another. What a node
 * costs at best, for each combination of the nodes that it is tied to, becomes a table
 * of those; which option that was is kept for the way back. Next comes the node whose
 * table is smallest: on chains and trees, always one with one neighbour. */
#include "compiler/network/pbqp/pbqp.h"

#include <math.h>

/* A function of some nodes' options. */
typedef struct table {
    int n;              /* nodes */
    const int *node;    /* ascending */
    const double *cost; /* the last node's options fastest */
    bool is_gone;       /* a node of it was eliminated */
} table;

/* How the last of the nodes was eliminated. */
typedef struct step {
    int node, n; /* tied to so many */
    const int *tied;
    const int *best; /* the option, by options of the tied ones */
} step;

typedef struct solver {
    kiln_arena *arena;
    const kiln_pbqp *p;
    KILN_VEC(table) table;
    KILN_VEC(int) * of; /* by node: tables that it is in */
    KILN_VEC(step) step;
    bool *is_out;
    int64_t *cells; /* by node: what eliminating it would take */
    int *tied;      /* room for those that a node is tied to */
    int64_t max_cells, n_cells, n_largest;
} solver;

static void add_table(solver *s, int n, const int *node, const double *cost) {
    const table t = {.n = n, .node = node, .cost = cost};
    kiln_vec_push(s->arena, &s->table, t);
    for (int i = 0; i < n; i++)
        kiln_vec_push(s->arena, &s->of[node[i]], (int)s->table.n - 1);
}

static void add_edge(solver *s, const kiln_pbqp_edge *e) {
    const int n_a = s->p->node.v[e->a].n, n_b = s->p->node.v[e->b].n;
    int *node = kiln_array(s->arena, int, 2);
    node[0] = e->a < e->b ? e->a : e->b;
    node[1] = e->a < e->b ? e->b : e->a;
    if (e->a < e->b) {
        add_table(s, 2, node, e->cost);
        return;
    }
    double *turned = kiln_array(s->arena, double, (size_t)n_a *(size_t)n_b);
    for (int i = 0; i < n_a; i++)
        for (int k = 0; k < n_b; k++)
            turned[k * n_a + i] = e->cost[i * n_b + k];
    add_table(s, 2, node, turned);
}

/* Those that share a table with the node, ascending, in s->tied. */
static int find_tied(const solver *s, int node) {
    int n = 0;
    for (size_t i = 0; i < s->of[node].n; i++) {
        const table *t = &s->table.v[s->of[node].v[i]];
        for (int k = 0; k < t->n && !t->is_gone; k++) {
            int at = n;
            while (at > 0 && s->tied[at - 1] > t->node[k])
                at--;
            if (t->node[k] == node || (at > 0 && s->tied[at - 1] == t->node[k]))
                continue;
            for (int j = n++; j > at; j--)
                s->tied[j] = s->tied[j - 1];
            s->tied[at] = t->node[k];
        }
    }
    return n;
}

/* Cells of the node's table and options; more than the limit: one more than that. */
static int64_t cells_of(const solver *s, int node) {
    const int n = find_tied(s, node);
    int64_t cells = s->p->node.v[node].n;
    for (int i = 0; i < n; i++) {
        if (cells > s->max_cells / s->p->node.v[s->tied[i]].n)
            return s->max_cells + 1;
        cells *= s->p->node.v[s->tied[i]].n;
    }
    return cells;
}

/* Steps through a table with the options of what is eliminated and of those tied. */
typedef struct walker {
    const table *t;
    int64_t own;     /* cells between options of the eliminated node */
    int64_t *stride; /* of each tied node; 0: not in this table */
    int64_t at;
} walker;

static walker walker_of(const solver *s, const table *t, int node, const int *tied,
                        int n) {
    walker w = {.t = t, .stride = kiln_array(s->arena, int64_t, n)};
    int64_t stride = 1;
    for (int k = t->n; k-- > 0; stride *= s->p->node.v[t->node[k]].n) {
        if (t->node[k] == node)
            w.own = stride;
        for (int i = 0; i < n; i++)
            if (tied[i] == t->node[k])
                w.stride[i] = stride;
    }
    return w;
}

/* The next combination of tied nodes' options, the last one fastest. */
static void go_on(const solver *s, walker *w, size_t n_walkers, int *option,
                  const int *tied, int n) {
    for (int i = n; i-- > 0;) {
        const bool wraps = option[i] + 1 == s->p->node.v[tied[i]].n;
        const int by = wraps ? -option[i] : 1;
        for (size_t k = 0; k < n_walkers; k++)
            w[k].at += by * w[k].stride[i];
        option[i] += by;
        if (!wraps)
            return;
    }
}

static void eliminate(solver *s, int node) {
    const kiln_pbqp_node *v = &s->p->node.v[node];
    const int n = find_tied(s, node);
    const int *tied = kiln_arena_dup(s->arena, s->tied, (size_t)n * sizeof *tied);
    KILN_VEC(walker) w = {0};
    int *option = kiln_array(s->arena, int, n);
    const int64_t n_made = s->cells[node] / v->n;
    double *cost = kiln_array(s->arena, double, n_made);
    int *best = kiln_array(s->arena, int, n_made);
    for (size_t i = 0; i < s->of[node].n; i++) {
        table *t = &s->table.v[s->of[node].v[i]];
        if (!t->is_gone)
            kiln_vec_push(s->arena, &w, walker_of(s, t, node, tied, n));
        t->is_gone = true;
    }
    for (int64_t at = 0; at < n_made; at++) {
        cost[at] = HUGE_VAL;
        for (int k = 0; k < v->n; k++) {
            double sum = v->cost[k];
            for (size_t i = 0; i < w.n; i++)
                sum += w.v[i].t->cost[w.v[i].at + k * w.v[i].own];
            if (sum < cost[at]) {
                cost[at] = sum;
                best[at] = k;
            }
        }
        go_on(s, w.v, w.n, option, tied, n);
    }
    const step done = {node, n, tied, best};
    kiln_vec_push(s->arena, &s->step, done);
    if (n > 0)
        add_table(s, n, tied, cost);
    s->is_out[node] = true;
    s->n_cells += s->cells[node];
    s->n_largest = s->cells[node] > s->n_largest ? s->cells[node] : s->n_largest;
    for (int i = 0; i < n; i++)
        s->cells[tied[i]] = cells_of(s, tied[i]);
}

/* The node whose table is smallest; the first of equal ones. false: past the limit. */
static bool eliminate_one(solver *s) {
    int next = -1;
    for (size_t i = 0; i < s->p->node.n; i++)
        if (!s->is_out[i] && (next < 0 || s->cells[i] < s->cells[next]))
            next = (int)i;
    if (s->cells[next] > s->max_cells - s->n_cells)
        return false;
    eliminate(s, next);
    return true;
}

static void read_back(const solver *s, int *option) {
    for (size_t i = s->step.n; i-- > 0;) {
        const step *x = &s->step.v[i];
        int64_t at = 0;
        for (int k = 0; k < x->n; k++)
            at = at * s->p->node.v[x->tied[k]].n + option[x->tied[k]];
        option[x->node] = x->best[at];
    }
}

bool kiln_pbqp_solve_by_tables(kiln_arena *a, const kiln_pbqp *p, int64_t max_cells,
                               kiln_pbqp_answer *out) {
    kiln_arena scratch = {0};
    const size_t n = p->node.n;
    solver s = {.arena = &scratch,
                .p = p,
                .of = kiln_arena_array(&scratch, n, sizeof *s.of),
                .is_out = kiln_array(&scratch, bool, n),
                .cells = kiln_array(&scratch, int64_t, n),
                .tied = kiln_array(&scratch, int, n),
                .max_cells = max_cells};
    bool fits = true;
    for (size_t i = 0; i < p->edge.n; i++)
        add_edge(&s, &p->edge.v[i]);
    for (size_t i = 0; i < n; i++)
        s.cells[i] = cells_of(&s, (int)i);
    for (size_t i = 0; i < n && fits; i++)
        fits = eliminate_one(&s);
    if (fits) {
        *out = (kiln_pbqp_answer){.option = kiln_array(a, int, p->node.n),
                                  .is_least = true,
                                  .n_largest = s.n_largest};
        read_back(&s, out->option);
        out->cost = kiln_pbqp_cost(p, out->option);
    }
    kiln_arena_fini(&scratch);
    return fits;
}
