/* Convolution by Winograd's algorithm as tensor expressions: what conv computes where a
 * template packs the weights for it. Inside compiler/op. */
#ifndef KILN_COMPILER_OP_OP_CONV_WINOGRAD_H
#define KILN_COMPILER_OP_OP_CONV_WINOGRAD_H

#include "compiler/graph/winograd.h"
#include "compiler/op/op_compute.h"

/* Do the weights (the node's input `weights`) come packed for Winograd's algorithm:
 * along an axis with more numbers than the model's have taps? *f: by which. */
bool kiln_conv_is_winograd(const kiln_compute_cx *cx, const kiln_window *w, int weights,
                           kiln_winograd_pair *f);
/* Of a convolution over two axes, neither dilated nor with groups, whose weights (the
 * node's input `weights`) are packed for `by`. `channels` are summed. Stages, by
 * their tags; tiles are counted by row and column:
 *
 *     "pad"            x with zeros around it, as far as whole tiles read
 *     "winograd.rows"  B^T d: the first axis transformed
 *     "winograd.x"     (B^T d) B; tiles innermost where weights have their input channels
 *                      before their output channels, else channels
 *     "winograd.sum"   products, summed over channels
 *     "winograd.cols"  A^T M, given to the caller: kiln_conv_winograd_at is A^T M A */
kiln_status kiln_conv_winograd(kiln_compute_cx *cx, const kiln_window *w,
                               const kiln_winograd_pair *by, const kiln_te_value *x,
                               int weights, int64_t channels, kiln_te_value *out);
/* The output at `index` [n, o, h, w], read by the stage begun last. */
const kiln_expr *kiln_conv_winograd_at(const kiln_compute_cx *cx,
                                       const kiln_winograd_pair *by,
                                       const kiln_te_value *columns,
                                       const kiln_expr *const *index);

#endif
