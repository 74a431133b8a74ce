/* Fusion: which nodes become one kernel (TVM, OSDI'18, section 3; the four kinds are
 * rows' `fuse`).
 *
 *   injective    with injective neighbours, and into what reads it once
 *   reduction    takes in injective producers, whose elements it reads once
 *   out-fusable  takes element-wise consumers of its result (bias, residual add,
 *                activation): they run on values still in registers
 *   opaque       stands alone
 *
 * A node joins only what it reads, and while the joined expression is not too long
 * (kiln_growth). A value that somebody else needs too is never fused away. Reshapes
 * move nothing: they are views, groups without a kernel.
 */
#ifndef KILN_COMPILER_GRAPH_GRAPH_FUSION_H
#define KILN_COMPILER_GRAPH_GRAPH_FUSION_H

#include "compiler/graph/graph.h"

typedef struct kiln_group {
    kiln_node **node; /* topological order */
    int n;
    kiln_node *anchor; /* the node that is not injective; NULL: all are */
    bool is_view;      /* one node, whose output is its input's bytes */
} kiln_group;

typedef struct kiln_fusion {
    kiln_group *group; /* in an order of execution */
    int n;
    int *of; /* by node->index: the group */
} kiln_fusion;

/* What a node adds to an expression that it is put into: nodes of its own, and how
 * often each input is read for one element. What is read twice is there twice, and a
 * chain of such nodes doubles with each. */
typedef struct kiln_growth {
    double size;
    double *reads; /* by input */
} kiln_growth;

/* No expression of one element is made longer: code, and the time it takes to make it,
 * grow with it. */
enum { KILN_MAX_INLINED = 4096 };

typedef struct kiln_fusion_options {
    int max_nodes;             /* in one group; 0: 24 */
    bool is_off;               /* every node alone: for comparisons */
    const kiln_growth *growth; /* by node->index (kiln_graph_growth); NULL: each node
                                  is one, and reads its inputs once */
    /* Nodes that take nothing in and are taken in by nothing: whoever places values in
     * memory makes them without a kernel. NULL: none. */
    bool (*stands_alone)(const kiln_node *n);
} kiln_fusion_options;

/* The graph is typed, its nodes numbered (kiln_graph_renumber); it stays as it is. */
void kiln_graph_fuse(kiln_arena *a, const kiln_graph *g, const kiln_fusion_options *o,
                     kiln_fusion *out);

/* The group of these nodes, in topological order; borrowed. */
kiln_group kiln_group_of(kiln_node **node, int n);

/* The group as a graph of its own: inputs are the values it reads that are no
 * constants, outputs those that others read or that are outputs of `g`, in order. Inputs
 * are in order of first use on the way from the outputs back, as nodes are: groups that
 * do the same have their inputs in the same places, whatever order `g` has. `from` (may
 * be NULL) receives, by value id of the new graph, the value of `g` that it is. Constants
 * share their bytes. */
kiln_graph *kiln_group_graph(kiln_arena *a, const kiln_graph *g,
                             const kiln_group *group, const kiln_value ***from);

/* What the group does with its anchor's result: "bias, add, relu", operators behind it
 * in order, and first the bias that a contraction takes itself. "": nothing, or there
 * is no anchor. In the arena. */
const char *kiln_group_epilogue(kiln_arena *a, const kiln_group *group);

/* "g0: conv_1 + relu_1", one line a group: for people and golden tests. */
void kiln_fusion_print(kiln_buf *out, const kiln_fusion *f);

#endif
