/* Windows that slide over spatial axes: what convolution and pooling of every format
 * have, and the operators made of them. */
#ifndef KILN_COMPILER_FRONTEND_SPATIAL_H
#define KILN_COMPILER_FRONTEND_SPATIAL_H

#include "compiler/frontend/compose.h"

enum { KILN_MAX_SPATIAL = KILN_MAX_RANK - 2 };

typedef struct kiln_spatial {
    int n; /* spatial axes of x */
    int64_t in[KILN_MAX_SPATIAL], kernel[KILN_MAX_SPATIAL];
    int64_t strides[KILN_MAX_SPATIAL], dilations[KILN_MAX_SPATIAL];
    int64_t pads[2 * KILN_MAX_SPATIAL]; /* beginnings, then ends */
    bool is_same;  /* padded so that out = ceil(in / stride); pads are not set yet */
    bool is_upper; /* the odd element of such padding goes to the end */
} kiln_spatial;

/* For x of shape [N, C, spatial...]: its spatial axes, strides and dilations 1, no
 * pads. kernel NULL: not known yet, windows of one element. Asserts that x has a spatial
 * axis. */
void kiln_spatial_init(kiln_spatial *s, const kiln_value *x, const int64_t *kernel);
/* Sets pads for is_same: out = ceil(in / stride). */
void kiln_spatial_same_pads(kiln_spatial *s);

/* The arguments strides, pads, dilations, as conv and the pools name them. */
enum { KILN_SPATIAL_ARGS = 3 };
void kiln_spatial_args(const kiln_spatial *s, kiln_attr_arg *args);

/* in: x [N, C, spatial...], weights [M, C / groups, kernel...], bias [M] or NULL. */
kiln_value *kiln_compose_conv(kiln_compose *c, kiln_value *const in[3], kiln_spatial *s,
                              int64_t groups);
/* max_pool, avg_pool, lp_pool; `more`: arguments that op alone has. With ceil_mode,
 * pads of is_same still come from out = ceil(in / stride), which then divides evenly.
 */
kiln_value *kiln_compose_pool(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                              kiln_spatial *s, bool ceil_mode,
                              const kiln_attr_arg *more, size_t n_more);

/* x [N, C, H, W], no side of which is 0, resized to height by width; mode and
 * coordinates as resize names them, nearest rounding down. */
kiln_value *kiln_compose_planes(kiln_compose *c, kiln_value *x, int64_t height,
                                int64_t width, const char *mode,
                                const char *coordinates);

#endif
