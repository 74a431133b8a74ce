/* Images made larger or smaller by cubic pieces, as TensorFlow does it. */
#ifndef KILN_COMPILER_FRONTEND_BICUBIC_H
#define KILN_COMPILER_FRONTEND_BICUBIC_H

#include "compiler/frontend/compose.h"

/* x [N, H, W, C] of floats to [N, size[0], size[1], C]. has_centers: by the centres of
 * pixels, a cubic of Keys (a = -0.5), whose weights beyond the edge are left out; else
 * scaled from the first corner, or with align_corners from corner to corner, a = -0.75,
 * and what lies beyond is the edge. */
kiln_value *kiln_channels_last_bicubic(kiln_compose *c, kiln_value *x,
                                       const int64_t *size, bool align_corners,
                                       bool has_centers);

#endif
