/* What slides over the spatial axes of each channel by itself: depthwise convolution
 * and pooling, in NCHW[x]c. Inside compiler/schedule/template.
 *
 *     for batch, channel block, row chunk      one parallel loop
 *         pad what the chunk reads             (or ahead, or in the reads)
 *         for row tile, column tile
 *             acc[oh][ow][c_b] = identity      registers
 *             for column, row, k...: acc = combine(acc, x[...])
 *             y = epilogue(acc)
 *
 * Source: layouts, NeoCPU (ATC'19, section 3.1); the window that slides over columns,
 * Zhang et al., "High performance depthwise and pointwise convolutions on mobile
 * devices" (AAAI'20). */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_WINDOW_WINDOW_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_WINDOW_WINDOW_H

#include "compiler/schedule/template.h"

/* Element-wise nodes only behind the anchor, one output, of y's shape. */
bool kiln_windows_fit(const kiln_workload *w);

/* The functions of both templates. */
kiln_status kiln_windows_space(const kiln_workload *w, const kiln_profile *profile,
                               kiln_space *out, kiln_err *err);
kiln_config kiln_windows_guess(const kiln_workload *w, const kiln_profile *profile,
                               const kiln_space *s);
kiln_status kiln_windows_apply(kiln_arena *a, const kiln_workload *w,
                               const kiln_profile *profile, const kiln_space *s,
                               const kiln_config *c, kiln_scheduled *out,
                               kiln_err *err);

#endif
