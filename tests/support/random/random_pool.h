/* Graphs of one pooling, for tests of templates. */
#ifndef KILN_TESTS_SUPPORT_RANDOM_RANDOM_POOL_H
#define KILN_TESTS_SUPPORT_RANDOM_RANDOM_POOL_H

#include "tests/support/random/random_work.h"
#include "tests/support/kernel/template_check.h"

/* p->of: the operator. One to three axes, any strides and padding; some with what is fused
 * behind it. */
kiln_graph *random_pool(kiln_arena *a, kiln_rng *rng, const template_property *p);
/* ResNet's first: 3 x 3 in steps of two over 64 channels of 112 x 112. */
kiln_graph *resnet_pool(kiln_arena *a);

#endif
