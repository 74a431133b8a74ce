/* Graphs of one convolution with what is fused behind it, for tests of templates. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_CONV_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_CONV_H

#include "tests/support/random/random_work.h"

typedef struct random_conv_shape {
    int n_spatial;
    int64_t batch, groups, c, o; /* channels of one group */
    int64_t in[3], kernel[3], stride[3], dilation[3], pads[6];
} random_conv_shape;

/* With constant weights. */
kiln_value *random_conv_of(kiln_graph *g, const random_conv_shape *s, kiln_dtype dtype,
                           bool has_bias);
kiln_graph *random_transposed(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype);
/* Small, odd, with channels that no block divides; batches, groups, one to three axes.
 */
kiln_graph *random_convolution(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                               random_size size);

#endif
