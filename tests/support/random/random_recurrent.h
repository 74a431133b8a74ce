/* Recurrent cells for property tests: one node of random shape, direction, activations
 * and optional inputs, with constant weights. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_RECURRENT_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_RECURRENT_H

#include "compiler/graph/graph.h"

typedef struct random_recurrent {
    const kiln_op_def *op; /* rnn, gru or lstm */
    kiln_dtype dtype;
    bool is_hoisted; /* without w: x holds the products */
    int64_t hidden;  /* 0: any of a few odd sizes */
} random_recurrent;

/* One node, last of the graph, and an output for each of its own. */
kiln_graph *random_recurrent_graph(kiln_arena *a, kiln_rng *rng,
                                   const random_recurrent *o);

#endif
