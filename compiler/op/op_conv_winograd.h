/* Convolution by Winograd's algorithm as tensor expressions: what conv computes where a
 * template packs the weights for it. Inside compiler/op. */
#ifndef KILN_COMPILER_OP_OP_CONV_WINOGRAD_H
#define KILN_COMPILER_OP_OP_CONV_WINOGRAD_H

#include "compiler/op/op_compute.h"

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

/* Output k, packed for F(m, 3), of input i, which is not: u = G g G^T of taps g in
 * double, columns of g by rows of G, sums from the left, the same of rows, the division
 * last, rounded once. The same bits on any machine, but for NaN's. Stages:
 *
 *     "winograd.taps"  G g, times the divisors of its rows
 *     the output       (G g) G^T, divided */
kiln_status kiln_compute_winograd_weights(kiln_compute_cx *cx, int k, int i);

#endif
