/* A model format that nobody needs, to show that a frontend is a row and a file that
 * builds with what is common to frontends (compiler/frontend/import_cx.h).
 *
 *     net "NAME"
 *     input NAME DIM...                  f32; without sizes i64[2]
 *     list NAME I64...                   a constant
 *     sum NAME A B                       of lists or values
 *     conv NAME X M KERNEL STRIDE        same padding; weights by a formula
 *     pool NAME X KERNEL STRIDE          the average
 *     relu NAME X
 *     shape NAME X LIST                  X with that shape
 *     output NAME
 */
#ifndef KILN_TESTS_SUPPORT_MADE_UP_NET_NET_TEXT_H
#define KILN_TESTS_SUPPORT_MADE_UP_NET_NET_TEXT_H

#include "compiler/frontend/frontend_internal.h"

extern const kiln_frontend kiln_test_net_text;

/* Weight i of every convolution, and its bias of channel i. */
double kiln_test_net_weight(int64_t i);
double kiln_test_net_bias(int64_t i);

#endif
