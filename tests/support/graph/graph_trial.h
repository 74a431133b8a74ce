/* Many graphs, each in several ways; what is wrong is reduced and printed.
 *
 *   KILN_GRAPHS=N  so many graphs
 *   KILN_SOAK=1    more graphs, each in every way; else each in a few ways */
#ifndef KILN_TESTS_SUPPORT_GRAPH_GRAPH_TRIAL_H
#define KILN_TESTS_SUPPORT_GRAPH_GRAPH_TRIAL_H

#include "tests/support/graph/graph_check.h"

enum { GRAPH_MAX_WAYS = 128 };

typedef struct graph_tally {
    size_t n[GRAPH_N_OUTCOMES]; /* ways */
    int64_t n_graphs, n_compared, n_loose, n_runs, n_conversions;
    double worst;
    int n_shown;
} graph_tally;

/* How many graphs: as asked for, else one of these. */
int64_t graph_trial_count(int64_t quick, int64_t soak);
/* Returns how many: every profile that runs here, strict and fast, with and without
 * passes, fusion, random configurations and layouts. */
int graph_all_ways(uint64_t seed, graph_way *way);
/* The same where that is asked for, else two: as users have it, and another one. */
int graph_trial_ways(uint64_t seed, graph_way *way);
/* Ends with the first way that fails. */
void graph_trial_check(const char *name, const kiln_graph *g, graph_values *known,
                       const graph_way *way, int n_ways, graph_tally *t);
/* Prints it. Fails the test where something is wrong, where a way was refused, or where
 * so much hangs on rounding that nothing is learnt. */
void graph_trial_report(const graph_tally *t);

#endif
