/* Convolutions of values and of bytes (conv, conv_bytes), for templates that do both.
 * Where the machine has products of bytes that it adds up in fours, or of halves in
 * twos, sums over channels that lie next to each other are made of them. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_BYTE_DOT_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_BYTE_DOT_H

#include "compiler/loop/tensor_intrin.h"
#include "compiler/schedule/template.h"

enum { KILN_DOT_DEPTH = 4 };

bool kiln_is_conv(const kiln_node *n);
/* What the sums of a convolution are made of; NULL: multiply-adds of vectors. Channels
 * of x must come in blocks of whole fours then, zeros in their tails. */
const kiln_tensor_intrin *kiln_dot_of(const kiln_node *conv, const kiln_profile *p);
/* The same with ones for weights. */
const kiln_tensor_intrin *kiln_dot_sum_of(const kiln_node *conv);
/* Do the weights have a zero point, so that sums of x are wanted beside? */
bool kiln_conv_has_zero_point(const kiln_node *conv);
/* Sums of the anchor in one vector. */
int64_t kiln_sum_lanes(const kiln_node *anchor, const kiln_profile *p);
/* May tail lanes be trusted to hold zeros that make no difference? Whole numbers' may. */
bool kiln_trusts_tails(const kiln_node *anchor, const kiln_profile *p);
/* Weights [o, c, taps...] in blocks, innermost what one vector of products reads. */
void kiln_conv_block_weights(const kiln_node *conv, const kiln_profile *p,
                             kiln_layout *w, int64_t ic_block, int64_t oc_block);

#endif
