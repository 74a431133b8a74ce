/* Programs drawn at random, as graph text: values of one size, and among what computes
 * them many branches and loops inside one another, states that change places, values
 * from far outside, parts that are joined and taken apart. For tests of control flow,
 * which random graphs have little of. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_PROGRAM_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_PROGRAM_H

#include "compiler/graph/graph.h"

/* Typed. Inputs: f32 of a few shapes, and conditions. */
kiln_graph *random_program(kiln_arena *a, uint64_t seed);

#endif
