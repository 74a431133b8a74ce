/* Smaller graphs that fail in the same way, and graphs as text for people and for the
 * corpus (tests/corpus/graphs). */
#ifndef KILN_TESTS_SUPPORT_GRAPH_GRAPH_REDUCE_H
#define KILN_TESTS_SUPPORT_GRAPH_GRAPH_REDUCE_H

#include "tests/support/graph/graph_check.h"

/* Fewer outputs, then earlier ones, then inner values that are given from outside, as
 * long as the outcome stays. *known receives the values of the result. */
kiln_graph *graph_reduce(kiln_arena *a, const kiln_graph *g, graph_values *values,
                         const graph_way *w, graph_outcome outcome, int limit_s,
                         graph_values *known);

/* As kiln_graph_print, but constants of many floats are inputs of names that begin with
 * "const_": which numbers they hold does not matter. */
void graph_put_text(kiln_buf *out, const kiln_graph *g);
/* The other way round: such inputs become random constants. */
kiln_status graph_read_text(kiln_arena *a, kiln_str text, const char *where,
                            kiln_graph **out, kiln_err *err);

#endif
