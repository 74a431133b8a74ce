/* Graphs rewritten at random into others that compute the very same: elements move
 * there and back, nodes are repeated, independent ones change places. */
#ifndef KILN_TESTS_SUPPORT_GRAPH_GRAPH_REWRITE_H
#define KILN_TESTS_SUPPORT_GRAPH_GRAPH_REWRITE_H

#include "compiler/graph/graph.h"

/* Up to n rewrites, in place. */
void graph_rewrite(kiln_graph *g, kiln_rng *rng, int n);

#endif
