/* Graphs whose weights are random constants. */
#ifndef KILN_TESTS_SUPPORT_MODEL_WEIGHTED_GRAPH_H
#define KILN_TESTS_SUPPORT_MODEL_WEIGHTED_GRAPH_H

#include "compiler/graph/graph.h"

/* Inputs of the text for which `stays` is false become constants, seeded by their
 * places; values are renumbered. */
kiln_graph *kiln_test_weighted_graph(kiln_arena *a, const char *text,
                                     bool (*stays)(const kiln_value *v));

#endif
