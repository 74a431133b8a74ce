/* Pools that are told how many windows there are, not how large: window i of `out` over
 * `in` elements is from floor(i * in / out) to ceil((i + 1) * in / out). */
#ifndef KILN_COMPILER_FRONTEND_ADAPTIVE_POOL_H
#define KILN_COMPILER_FRONTEND_ADAPTIVE_POOL_H

#include "compiler/frontend/spatial.h"

/* x [N, C, spatial...] (one to three axes) to [N, C, out...], the mean or the largest of
 * each window. KILN_ERR_SHAPE: an axis has no elements, or `out` is below 1;
 * KILN_ERR_LIMIT: more than 4096 windows of different sizes of which the largest is
 * asked. */
kiln_value *kiln_compose_adaptive_pool(kiln_compose *c, kiln_value *x,
                                       const int64_t *out, bool is_max);

#endif
