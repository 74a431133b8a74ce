/* Holds what operators compute (tensor/compute.h) against the reference interpreter. */
#ifndef KILN_TESTS_SUPPORT_KERNEL_COMPUTE_CASE_H
#define KILN_TESTS_SUPPORT_KERNEL_COMPUTE_CASE_H

#include "compiler/reference/reference.h"
#include "compiler/tensor/compute.h"

/* A graph, its inputs, and what the reference says of each output. */
typedef struct compute_case {
    kiln_graph *g;
    const kiln_tensor *in; /* graph inputs */
    kiln_tensor *want;
    /* Unrounded elements and how far off each may be, by the bound of the operator that
     * makes the output; NULL: integers, equal. */
    double **value, **bound;
} compute_case;

/* The reference's failure is returned: inputs may be such that it refuses them. */
kiln_status compute_case_init(kiln_arena *a, compute_case *c, kiln_graph *g,
                              const kiln_tensor *in, kiln_err *err);
/* A graph of this node alone; its inputs are the node's that are given, each once for
 * each place. `from` receives, for each graph input, which of the node's it is. */
kiln_graph *compute_node_graph(kiln_arena *a, const kiln_node *n, int *from);

/* Evaluates the stages (where none is extern), interprets the loop program of the
 * default schedule as lowered and after all passes, and compares. `layout` by value id
 * of the graph, NULL: row-major. NULL when all is well, else what is not. */
const char *compute_case_check(kiln_arena *a, const compute_case *c,
                               const kiln_layout *layout, bool trust_tails);
/* Random layouts for all values of a graph; `text` receives them. */
kiln_layout *compute_random_layouts(kiln_arena *a, const kiln_graph *g, kiln_rng *rng,
                                    kiln_buf *text);

#endif
