/* Whole graphs drawn at random, for property tests of everything between a graph and
 * its results.
 *
 * Nodes of any operator are put behind one another; values are known as the graph grows
 * (graph_values.h), so that what overflows, leaves its domain or hangs on rounding is
 * not taken. Families of operators are rows of random_graph.def, one function each in
 * random_graph_*.c; test_random_graphs.c fails on an operator that none of them makes.
 */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_GRAPH_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_GRAPH_H

#include "compiler/graph/graph.h"
#include "tests/support/graph/graph_values.h"

/* A graph and what its values are; inputs' bytes are run[0] of theirs. */
typedef struct random_graph {
    kiln_graph *graph;
    graph_values values;
} random_graph;

/* Everything follows from the seed. Needs memory of the arena for all values. */
void random_graph_make(kiln_arena *a, uint64_t seed, random_graph *out);

/* Operators that no family makes, and why not; NULL past the end. */
typedef struct random_graph_gap {
    const kiln_op_def *op;
    const char *why;
} random_graph_gap;
const random_graph_gap *random_graph_gap_at(int i);

#endif
