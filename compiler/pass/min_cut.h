/* Minimum cut: which of two ways each of many choices should go, where neighbours that
 * disagree pay. Dinic, "Algorithm for solution of a problem of maximum flow in networks
 * with power estimation" (1970): the largest flow is the smallest cut. */
#ifndef KILN_COMPILER_PASS_MIN_CUT_H
#define KILN_COMPILER_PASS_MIN_CUT_H

#include "base/base.h"

enum { KILN_CUT_SOURCE, KILN_CUT_SINK };
#define KILN_CUT_NEVER ((int64_t)1 << 60) /* the price of an edge that stays whole */

typedef struct kiln_cut_edge {
    int to, next; /* next: of the same node; -1: the last */
    int64_t room; /* what may still flow */
} kiln_cut_edge;

typedef struct kiln_cut {
    kiln_arena *arena;
    KILN_VEC(int) first;          /* by node: its first edge */
    KILN_VEC(kiln_cut_edge) edge; /* each followed by its reverse */
} kiln_cut;

/* With two nodes: source and sink. */
void kiln_cut_init(kiln_cut *c, kiln_arena *a);
int kiln_cut_add_node(kiln_cut *c);
/* Paid when `from` is on the source's side and `to` is not. Prices of all edges but
 * those that stay whole add up to less than KILN_CUT_NEVER. */
void kiln_cut_add_edge(kiln_cut *c, int from, int to, int64_t price);
/* The smallest sum to pay. `is_source` (an entry per node) receives the sides, with as
 * few nodes as can be on the source's. Once only. */
int64_t kiln_cut_solve(kiln_cut *c, bool *is_source);

#endif
