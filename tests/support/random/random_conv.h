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
/* Of bytes from end to end of their range, x among them a constant; with a zero point
 * of weights where that may be, and an epilogue. */
typedef struct random_bytes {
    kiln_dtype x, w;
    bool is_depthwise;
    bool is_pixel; /* one tap, nothing padded, one group */
    bool is_small;
    bool has_no_zero; /* of weights */
} random_bytes;
kiln_graph *random_conv_bytes(kiln_arena *a, kiln_rng *rng, const random_bytes *of);
/* Small, odd, with channels that no block divides; batches, groups, one to three axes.
 */
kiln_graph *random_convolution(kiln_arena *a, kiln_rng *rng, kiln_dtype dtype,
                               random_size size);

#endif
