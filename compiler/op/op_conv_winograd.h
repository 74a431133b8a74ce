/* Convolution by Winograd's algorithm as tensor expressions: what conv computes where a
 * template packs the weights for it. Inside compiler/op. */
#ifndef KILN_COMPILER_OP_OP_CONV_WINOGRAD_H
#define KILN_COMPILER_OP_OP_CONV_WINOGRAD_H

#include "compiler/op/op_compute.h"

/* m where the weights (the node's input `weights`) come packed for F(m, 3): m + 2 by
 * m + 2 numbers where the model's have 3 by 3 taps; 0 where they do not. */
int kiln_conv_winograd_tile(const kiln_compute_cx *cx, int weights);
/* Of a convolution over two axes in steps of one, without groups, whose weights (the
 * node's input `weights`) are packed for F(m, 3). `channels` are summed. Stages, by
 * their tags; tiles are counted by row and column:
 *
 *     "pad"            x with zeros around it, as far as whole tiles read
 *     "winograd.rows"  B^T d: the first axis transformed
 *     "winograd.x"     (B^T d) B; tiles innermost where weights have their input channels
 *                      before their output channels, else channels
 *     "winograd.sum"   products, summed over channels
 *     "winograd.cols"  A^T M, given to the caller: kiln_conv_winograd_at is A^T M A */
kiln_status kiln_conv_winograd(kiln_compute_cx *cx, const kiln_window *w,
                               const kiln_te_value *x, int weights, int64_t channels,
                               kiln_te_value *out);
/* The output at `index` [n, o, h, w], read by the stage begun last. */
const kiln_expr *kiln_conv_winograd_at(const kiln_compute_cx *cx,
                                       const kiln_te_value *columns, int tile,
                                       const kiln_expr *const *index);

#endif
