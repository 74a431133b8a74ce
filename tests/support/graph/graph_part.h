/* Parts of graphs: some nodes, whose values come from outside where others made them.
 */
#ifndef KILN_TESTS_SUPPORT_GRAPH_GRAPH_PART_H
#define KILN_TESTS_SUPPORT_GRAPH_GRAPH_PART_H

#include "tests/support/graph/graph_values.h"

/* By value id of the whole. */
typedef struct graph_part {
    const kiln_graph *whole;
    bool *is_cut;    /* it comes from outside */
    bool *is_output; /* it is wanted */
} graph_part;

/* All of it, whose outputs are wanted. */
graph_part graph_part_all(kiln_arena *a, const kiln_graph *g);
/* `n` nodes from the first on, in the graph's order; what others read is wanted. */
graph_part graph_part_window(kiln_arena *a, const kiln_graph *g, size_t first,
                             size_t n);
/* What is wanted and what that needs; *to receives the values that are known in
 * *from. */
kiln_graph *graph_part_make(kiln_arena *a, const graph_part *p, graph_values *from,
                            graph_values *to);
/* The same where nothing is known, with images of at most max_side elements along each
 * of their axes, where the nodes take that. NULL: they do not. */
kiln_graph *graph_part_small(kiln_arena *a, const graph_part *p, int64_t max_side);

#endif
