/* Graphs for tests of templates: operands, nodes, and what is fused behind an anchor.
 */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_WORK_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_WORK_H

#include "compiler/graph/graph.h"

/* Small: for interpreters of many threads. */
typedef enum random_size { RANDOM_SMALL, RANDOM_LARGE } random_size;

int64_t random_pick(kiln_rng *rng, const int64_t *of, int n);
/* A graph input, or a constant of random elements. */
kiln_value *random_operand(kiln_graph *g, const char *name, const kiln_type *t,
                           bool is_const, uint64_t seed);
/* Output 0 of a node that must be accepted. */
kiln_value *graph_node_with(kiln_graph *g, const kiln_op_def *op, kiln_value *const *in,
                            int n_in, const kiln_attr_arg *args, size_t n_args);
/* Without attributes. */
kiln_value *graph_node(kiln_graph *g, const kiln_op_def *op, kiln_value *const *in,
                       int n_in);
kiln_value *graph_cast(kiln_graph *g, kiln_value *v, kiln_dtype dtype);
/* None to three operators behind y: a bias along its axis `bias_axis`, a residual of
 * its shape, an activation. */
kiln_value *random_epilogue(kiln_graph *g, kiln_rng *rng, kiln_value *y, int bias_axis);

#endif
