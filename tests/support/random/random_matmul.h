/* Graphs of one matrix product with what is fused behind it, for tests of templates. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_MATMUL_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_MATMUL_H

#include "tests/support/random/random_work.h"

/* Batch axes of y, some of them stretched in a or b, some absent; vectors too. Operands
 * of `dtype` are multiplied as `sums`. */
kiln_graph *random_matmul(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                          kiln_dtype sums, random_size size);
/* Either operand turned, sometimes a matrix by itself. */
kiln_graph *random_gemm(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                        random_size size);

#endif
