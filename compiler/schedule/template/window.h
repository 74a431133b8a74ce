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
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_WINDOW_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_WINDOW_H

#include "compiler/schedule/template.h"

typedef struct kiln_windows {
    const char *name; /* of the template, for messages */
    const char *tag;  /* of the stage that reduces: its last axes are the taps */
    const kiln_workload *w;
    const kiln_profile *profile;
    const kiln_value *weights; /* [c, 1, k...]; NULL: none */
    bool can_be_plain; /* a block of one channel: columns become vectors, by rule */
    int n_spatial;
    int64_t c, oh, ow, taps, taps_row; /* rows are 1 where there is one spatial axis */
    int64_t stride_w, dilation_w;
    int64_t lanes;
    bool pads;
} kiln_windows;

/* Element-wise nodes only behind the anchor, one output, of y's shape. */
bool kiln_windows_fit(const kiln_workload *w);
/* Fills in what follows from the anchor's attributes and its window's extents. */
void kiln_windows_measure(kiln_windows *p, const int64_t *kernel);

kiln_status kiln_windows_space(const kiln_windows *p, kiln_space *out);
kiln_config kiln_windows_guess(const kiln_windows *p, const kiln_space *s);
kiln_status kiln_windows_apply(kiln_arena *a, const kiln_windows *p,
                               const kiln_space *s, const kiln_config *c,
                               kiln_scheduled *out, kiln_err *err);

#endif
