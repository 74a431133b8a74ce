/* The values of a graph as the reference has them, and as other arithmetic might: what
 * each element may be off by, carried from node to node.
 *
 * Every node runs once as it is, and GRAPH_NOISY_RUNS times on inputs that are off,
 * with errors of either sign added, about as large as its row allows. How far the
 * noisy runs spread says how sensitive an element is (Parker, Monte Carlo Arithmetic,
 * UCLA CSD-970002, 1997). In the first of them all errors are away from 0: those of two
 * factors cancel where their signs differ, for some of many elements in every run that
 * draws them. What is only moved stays exact. */
#ifndef KILN_TESTS_SUPPORT_GRAPH_GRAPH_VALUES_H
#define KILN_TESTS_SUPPORT_GRAPH_GRAPH_VALUES_H

#include "compiler/reference/reference.h"

enum { GRAPH_NOISY_RUNS = 9 };

/* One value in all runs; data NULL: not known yet. Exact ones share their bytes. */
typedef struct graph_value {
    kiln_tensor run[1 + GRAPH_NOISY_RUNS];
} graph_value;

typedef struct graph_values {
    kiln_arena *arena;        /* borrowed */
    KILN_VEC(graph_value) of; /* by value id */
    kiln_rng noise;
} graph_values;

void graph_values_init(graph_values *v, kiln_arena *a, uint64_t seed);
/* An input: the bytes are borrowed. */
void graph_values_set(graph_values *v, const kiln_value *x, const void *data);
/* Constants are known by themselves. NULL data: not known. */
const graph_value *graph_values_get(graph_values *v, const kiln_value *x);
/* Makes a node's outputs known; its inputs must be. */
kiln_status graph_values_node(graph_values *v, const kiln_node *n, kiln_err *err);
/* All nodes; inputs are random where they are not set, by their places. */
kiln_status graph_values_run(graph_values *v, const kiln_graph *g, kiln_err *err);

/* What a result may be. */
typedef struct graph_spread {
    double rms;       /* of the elements */
    double max;       /* largest magnitude */
    double noise_rms; /* of the largest distance of each element */
    int64_t n, n_loose;
    bool is_finite;
} graph_spread;
graph_spread graph_value_spread(const graph_value *x);

/* How a result differs from a value. */
typedef struct graph_diff {
    int64_t n_bad, n_compared, n_loose; /* loose: hang on rounding, not compared */
    int64_t worst_index;                /* row-major; -1: none is bad */
    double got, want, allowed;          /* there */
    double worst;                       /* largest distance over what is allowed */
} graph_diff;
/* amplification: factor on what is allowed, of the algorithms that computed it. */
graph_diff graph_value_compare(const graph_value *want, const void *got,
                               double amplification);

#endif
