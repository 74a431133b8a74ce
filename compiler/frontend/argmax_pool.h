/* The largest element under each window and where it lies, of formats that keep their
 * channels last. */
#ifndef KILN_COMPILER_FRONTEND_ARGMAX_POOL_H
#define KILN_COMPILER_FRONTEND_ARGMAX_POOL_H

#include "compiler/frontend/spatial.h"

/* x [N, H, W, C]: y[0] as kiln_channels_last_pool gives it, y[1] i64 of the same shape:
 * row * W + column of the first of the largest. KILN_ERR_SHAPE: x is of another rank. */
void kiln_channels_last_argmax_pool(kiln_compose *c, kiln_value *x, kiln_spatial *s,
                                    kiln_value *y[2]);

#endif
