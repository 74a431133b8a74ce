/* Running an imported graph of floats on numbers that count up, against numbers worked
 * out by hand. */
#ifndef KILN_TESTS_SUPPORT_GRAPH_RUN_H
#define KILN_TESTS_SUPPORT_GRAPH_RUN_H

#include "compiler/graph/graph.h"

enum { KILN_TEST_COUNTED = 64 /* elements of an input, at most */ };

/* Every one of at most two inputs is -less, 1 - less, 2 - less, ...; the one output must
 * have the shape ("1x3") and these elements, within 1e-5; `most`: how many are there. */
void kiln_test_counted(kiln_arena *a, const kiln_graph *g, double less,
                       const char *shape, const double *want, int64_t most);

#endif
