/* Reductions: a node without neighbours takes its cheapest option (R0); one with one
 * neighbour becomes costs of that one's options (R1); one with two becomes costs of
 * their pairs (R2). All of these are exact. Where every node has three neighbours and
 * more, the one with most takes the option that looks cheapest when each neighbour
 * answers for itself (RN). */
#include "compiler/network/pbqp/pbqp_internal.h"

#include <math.h>

/* A pair of nodes that are tied, as long as both are there. */
typedef struct tie {
    int a, b;
    double *cost; /* [options of a][options of b] */
} tie;

/* A node that is gone, and those it was tied to when it went. */
typedef struct gone {
    int node, n;
    int tie[2]; /* R1, R2 */
    int option; /* RN; -1: it follows from the others */
} gone;

typedef struct solver {
    kiln_arena *arena;
    const kiln_pbqp *p;
    double **cost; /* by node, then option: with what was reduced into it */
    KILN_VEC(tie) tie;
    KILN_VEC(int) * tied; /* by node: ties that are there */
    KILN_VEC(gone) gone;
    bool *is_gone;
    int n_guessed;
} solver;

static int n_of(const solver *s, int node) { return s->p->node.v[node].n; }

static int other(const tie *t, int node) { return t->a == node ? t->b : t->a; }

/* With option i of the node, k of the other one. */
static double *pair(const solver *s, const tie *t, int node, int i, int k) {
    return t->a == node ? &t->cost[i * n_of(s, t->b) + k]
                        : &t->cost[k * n_of(s, t->b) + i];
}

/* The pair's tie, made where there is none. */
static tie *tie_of(solver *s, int a, int b) {
    for (size_t i = 0; i < s->tied[a].n; i++) {
        tie *t = &s->tie.v[s->tied[a].v[i]];
        if (other(t, a) == b)
            return t;
    }
    const tie made = {
        a, b, kiln_array(s->arena, double, (size_t)n_of(s, a) * (size_t)n_of(s, b))};
    kiln_vec_push(s->arena, &s->tie, made);
    kiln_vec_push(s->arena, &s->tied[a], (int)s->tie.n - 1);
    kiln_vec_push(s->arena, &s->tied[b], (int)s->tie.n - 1);
    return &s->tie.v[s->tie.n - 1];
}

static void untie(solver *s, int node, int tie_index) {
    for (size_t i = 0; i < s->tied[node].n; i++)
        if (s->tied[node].v[i] == tie_index) {
            s->tied[node].v[i] = s->tied[node].v[--s->tied[node].n];
            return;
        }
}

/* Takes it out; its own list of ties stays. */
static void leave(solver *s, int node, int option) {
    gone g = {.node = node, .n = (int)s->tied[node].n, .option = option};
    for (int i = 0; i < g.n; i++) {
        const int t = s->tied[node].v[i];
        if (i < 2)
            g.tie[i] = t;
        untie(s, other(&s->tie.v[t], node), t);
    }
    s->is_gone[node] = true;
    kiln_vec_push(s->arena, &s->gone, g);
}

/* ---- exact ----------------------------------------------------------------------- */

static void reduce_one(solver *s, int v) {
    const tie *t = &s->tie.v[s->tied[v].v[0]];
    const int u = other(t, v);
    for (int k = 0; k < n_of(s, u); k++) {
        double least = HUGE_VAL;
        for (int i = 0; i < n_of(s, v); i++)
            least = fmin(least, s->cost[v][i] + *pair(s, t, v, i, k));
        s->cost[u][k] += least;
    }
}

static void reduce_two(solver *s, int v) {
    const int first = s->tied[v].v[0], second = s->tied[v].v[1];
    const int u = other(&s->tie.v[first], v), w = other(&s->tie.v[second], v);
    tie *made = tie_of(s, u, w);
    const tie *x = &s->tie.v[first], *y = &s->tie.v[second];
    for (int j = 0; j < n_of(s, u); j++)
        for (int k = 0; k < n_of(s, w); k++) {
            double least = HUGE_VAL;
            for (int i = 0; i < n_of(s, v); i++)
                least = fmin(least, s->cost[v][i] + *pair(s, x, v, i, j) +
                                        *pair(s, y, v, i, k));
            *pair(s, made, u, j, k) += least;
        }
}

/* ---- by a heuristic -------------------------------------------------------------- */

static void guess(solver *s, int v) {
    double least = HUGE_VAL;
    int option = 0;
    for (int i = 0; i < n_of(s, v); i++) {
        double sum = s->cost[v][i];
        for (size_t e = 0; e < s->tied[v].n; e++) {
            const tie *t = &s->tie.v[s->tied[v].v[e]];
            const int u = other(t, v);
            double answer = HUGE_VAL;
            for (int k = 0; k < n_of(s, u); k++)
                answer = fmin(answer, s->cost[u][k] + *pair(s, t, v, i, k));
            sum += answer;
        }
        if (sum < least) {
            least = sum;
            option = i;
        }
    }
    for (size_t e = 0; e < s->tied[v].n; e++) {
        const tie *t = &s->tie.v[s->tied[v].v[e]];
        const int u = other(t, v);
        for (int k = 0; k < n_of(s, u); k++)
            s->cost[u][k] += *pair(s, t, v, option, k);
    }
    leave(s, v, option);
    s->n_guessed++;
}

/* ---- all ------------------------------------------------------------------------- */

static void init(solver *s) {
    const kiln_pbqp *p = s->p;
    s->cost = kiln_array(s->arena, double *, p->node.n);
    s->tied = kiln_arena_array(s->arena, p->node.n, sizeof *s->tied);
    s->is_gone = kiln_array(s->arena, bool, p->node.n);
    for (size_t i = 0; i < p->node.n; i++)
        s->cost[i] = kiln_arena_dup(s->arena, p->node.v[i].cost,
                                    (size_t)p->node.v[i].n * sizeof *s->cost[i]);
    for (size_t e = 0; e < p->edge.n; e++) {
        const kiln_pbqp_edge *g = &p->edge.v[e];
        tie *t = tie_of(s, g->a, g->b);
        for (int i = 0; i < p->node.v[g->a].n; i++)
            for (int k = 0; k < p->node.v[g->b].n; k++)
                *pair(s, t, g->a, i, k) += g->cost[i * p->node.v[g->b].n + k];
    }
}

/* A node with two neighbours at most; else the one with most. */
static int next_of(const solver *s) {
    int best = -1;
    for (size_t i = 0; i < s->p->node.n; i++) {
        if (s->is_gone[i])
            continue;
        if (s->tied[i].n <= 2)
            return (int)i;
        if (best < 0 || s->tied[i].n > s->tied[best].n)
            best = (int)i;
    }
    return best;
}

static int option_of(const solver *s, const gone *g, const int *option) {
    double least = HUGE_VAL;
    int best = 0;
    for (int i = 0; i < n_of(s, g->node); i++) {
        double sum = s->cost[g->node][i];
        for (int e = 0; e < g->n; e++) {
            const tie *t = &s->tie.v[g->tie[e]];
            sum += *pair(s, t, g->node, i, option[other(t, g->node)]);
        }
        if (sum < least) {
            least = sum;
            best = i;
        }
    }
    return best;
}

void kiln_pbqp_solve_by_reductions(kiln_arena *a, const kiln_pbqp *p,
                                   kiln_pbqp_answer *out) {
    kiln_arena scratch = {0};
    solver s = {.arena = &scratch, .p = p};
    init(&s);
    for (size_t n = 0; n < p->node.n; n++) {
        const int v = next_of(&s);
        if (s.tied[v].n > 2) {
            guess(&s, v);
            continue;
        }
        if (s.tied[v].n == 1)
            reduce_one(&s, v);
        else if (s.tied[v].n == 2)
            reduce_two(&s, v);
        leave(&s, v, -1);
    }
    *out = (kiln_pbqp_answer){.option = kiln_array(a, int, p->node.n),
                              .is_least = s.n_guessed == 0,
                              .n_guessed = s.n_guessed};
    for (size_t i = s.gone.n; i-- > 0;) {
        const gone *g = &s.gone.v[i];
        out->option[g->node] =
            g->option >= 0 ? g->option : option_of(&s, g, out->option);
    }
    if (s.n_guessed > 0)
        kiln_pbqp_improve(p, out->option);
    out->cost = kiln_pbqp_cost(p, out->option);
    kiln_arena_fini(&scratch);
}
