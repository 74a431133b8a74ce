/* Partitioned Boolean quadratic problems: one option for each node, so that costs of
 * options and of pairs of options are least together.
 *
 *     minimize  sum_v node_v[x_v]  +  sum_(u,v) edge_uv[x_u][x_v]
 *
 * Costs are finite or infinite, which forbids; none is negative or NaN. What nodes and
 * options are, the caller knows: here they are numbers.
 *
 * Two solvers. Nonserial dynamic programming eliminates one node after another and
 * keeps a table over those it is tied to (Bertele and Brioschi, 1972): exact; chains
 * and trees take tables of one node, graphs of small frontiers small ones. Reductions
 * R0, R1 and R2 take out nodes with none, one and two neighbours, exactly, and RN,
 * where there is no such node, decides one by a heuristic (Scholz and Eckstein, LCTES
 * 2002; Hames and Scholz, JMLC 2006). NeoCPU, ATC'19, section 3.3.2, chooses layouts so.
 *
 * Equal problems get equal answers: of options that cost the same the first is taken.
 */
#ifndef KILN_COMPILER_NETWORK_PBQP_H
#define KILN_COMPILER_NETWORK_PBQP_H

#include "base/base.h"

typedef struct kiln_pbqp_node {
    int n; /* options, one at least */
    const double *cost;
} kiln_pbqp_node;

/* Of different nodes; there may be several of a pair, which add up. */
typedef struct kiln_pbqp_edge {
    int a, b;
    const double *cost; /* [options of a][options of b] */
} kiln_pbqp_edge;

/* A zeroed one is empty. */
typedef struct kiln_pbqp {
    KILN_VEC(kiln_pbqp_node) node;
    KILN_VEC(kiln_pbqp_edge) edge;
} kiln_pbqp;

/* Costs are copied into the arena, which outlives the problem. Returns the number. */
int kiln_pbqp_add_node(kiln_arena *a, kiln_pbqp *p, int n, const double *cost);
void kiln_pbqp_add_edge(kiln_arena *a, kiln_pbqp *p, int x, int y, const double *cost);

typedef struct kiln_pbqp_answer {
    int *option; /* by node */
    double cost; /* kiln_pbqp_cost of them; infinite: nothing is allowed */
    bool is_least;
    int n_guessed;     /* nodes that RN decided; 0: is_least */
    int64_t n_largest; /* cells of the largest table of dynamic programming; else 0 */
} kiln_pbqp_answer;

/* What these options cost. */
double kiln_pbqp_cost(const kiln_pbqp *p, const int *option);
/* Dynamic programming. false: it would take more than `max_cells` cells in all; `out`
 * is left alone. */
bool kiln_pbqp_solve_by_tables(kiln_arena *a, const kiln_pbqp *p, int64_t max_cells,
                               kiln_pbqp_answer *out);
/* Reductions, and where they did not do, steps to better neighbours afterwards. */
void kiln_pbqp_solve_by_reductions(kiln_arena *a, const kiln_pbqp *p,
                                   kiln_pbqp_answer *out);
/* The first, and where that takes too much the second. */
void kiln_pbqp_solve(kiln_arena *a, const kiln_pbqp *p, int64_t max_cells,
                     kiln_pbqp_answer *out);

#endif
