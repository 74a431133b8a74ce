/* Layouts drawn at random: any order of the axes, blocks of sizes that divide and that
 * do not. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_LAYOUT_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_LAYOUT_H

#include "compiler/graph/graph.h"

/* One for a value of this rank. Row-major comes up as well. */
kiln_layout random_layout(kiln_rng *rng, int rank);

#endif
