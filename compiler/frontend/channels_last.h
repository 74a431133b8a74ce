/* Operators of formats that keep their channels last (TensorFlow, TensorFlow Lite,
 * Keras): values are [N, spatial..., C] there and [N, C, spatial...] in the Graph.
 *
 * Every function here takes and gives values with their channels last, as the file has
 * them, and puts a transpose on each side of the operator; transposes that face each
 * other cancel in the passes (cancel_transposes), and one behind the other is not made
 * at all (kiln_channels_first). Weights are turned once: constants at import, as
 * constants; others by nodes.
 *
 * After a failure (kiln_compose) values are as those of compose.h: any, to be looked at
 * only. Shapes that do not fit are KILN_ERR_SHAPE. */
#ifndef KILN_COMPILER_FRONTEND_CHANNELS_LAST_H
#define KILN_COMPILER_FRONTEND_CHANNELS_LAST_H

#include "compiler/frontend/spatial.h"

/* [N, spatial..., C] to [N, C, spatial...] and back. What is a transpose back itself
 * gives its operand. Below rank 3 there is nothing to turn. */
kiln_value *kiln_channels_first(kiln_compose *c, kiln_value *x);
kiln_value *kiln_channels_last(kiln_compose *c, kiln_value *x);

/* How a file orders the axes of a filter, and what kiln_turn_filter makes of it: weights
 * of conv [O, I / groups, spatial...], of conv_transpose [I, O / groups, spatial...]. */
typedef enum kiln_filter_order {
    KILN_FILTER_SIO, /* [spatial..., I, O] -> [O, I, spatial...]: TensorFlow and Keras;
                        of their transposed convolution [spatial..., O, I] ->
                        [I, O, spatial...] */
    KILN_FILTER_OSI, /* [O, spatial..., I] -> [O, I, spatial...]: TensorFlow Lite */
    KILN_FILTER_TRANSPOSED_OSI, /* [O, spatial..., I] -> [I, O, spatial...]: its
                                   transposed convolution */
    KILN_FILTER_SCM, /* depthwise [spatial..., C, M] -> [C * M, 1, spatial...]:
                        TensorFlow and Keras; output c * M + m is of channel c */
    KILN_FILTER_1SK  /* depthwise [1, spatial..., C * M] -> [C * M, 1, spatial...]:
                        TensorFlow Lite */
} kiln_filter_order;
/* w: rank 3 or more. KILN_ERR_SHAPE where the rank or a leading 1 is missing. */
kiln_value *kiln_turn_filter(kiln_compose *c, kiln_value *w, kiln_filter_order order);
/* w with its axes in the order of perm (as kiln_compose_transpose); a constant becomes a
 * constant of any size, charged to the import's budget, and a node past that. */
kiln_value *kiln_turn_const(kiln_compose *c, kiln_value *w, const int64_t *perm);

/* ---- windows ---------------------------------------------------------------------- */

typedef enum kiln_padding {
    KILN_PADDING_VALID, /* none: out = ceil((in - extent + 1) / stride) */
    KILN_PADDING_SAME,  /* out = ceil(in / stride), the odd element at the end */
    KILN_PADDING_GIVEN  /* by kiln_window_given_pads */
} kiln_padding;

/* A window over x [N, spatial..., C]: kernel, strides and dilations of x.rank - 2
 * elements (NULL: all 1). SAME is settled at once, GIVEN leaves the pads 0. False, with
 * the failure recorded: rank below 3, or a number outside of 1 to 2^31 - 1. */
bool kiln_window_over(kiln_compose *c, const kiln_value *x, const int64_t *kernel,
                      const int64_t *strides, const int64_t *dilations,
                      kiln_padding padding, kiln_spatial *out);
/* pads: TensorFlow's list of a beginning and an end for each axis of x, [2 * rank];
 * only spatial axes may have some. */
void kiln_window_given_pads(kiln_compose *c, kiln_spatial *s, const int64_t *pads);

/* in: x [N, spatial..., C], weights [O, C / groups, spatial...] (kiln_turn_filter), bias
 * [O] or NULL. y [N, out..., O]. */
kiln_value *kiln_channels_last_conv(kiln_compose *c, kiln_value *const in[3],
                                    kiln_spatial *s, int64_t groups);
/* The gradient of a convolution: in: x [N, spatial..., I], weights [I, O / groups,
 * spatial...], bias [O] or NULL. y [N, out..., O], where `out` are the sizes that the
 * file asks for (s->n of them); pads follow from them: those of the convolution that
 * makes x of y, SAME or VALID. */
kiln_value *kiln_channels_last_conv_transpose(kiln_compose *c, kiln_value *const in[3],
                                              kiln_spatial *s, const int64_t *out,
                                              bool is_same, int64_t groups);
/* max_pool, avg_pool (padding does not count) or lp_pool. */
kiln_value *kiln_channels_last_pool(kiln_compose *c, const kiln_op_def *op,
                                    kiln_value *x, kiln_spatial *s);

/* ---- others ----------------------------------------------------------------------- */

/* The spatial axes of x to `size` (rank - 2 elements), as TensorFlow's resize does:
 * positions by align_corners, half_pixel (of half pixel centers) or, with neither,
 * scaled from the first corner. */
kiln_value *kiln_channels_last_resize(kiln_compose *c, kiln_value *x,
                                      const int64_t *size, bool is_nearest,
                                      bool align_corners, bool half_pixel);
/* x [N, spatial..., C]; in: scale, bias, mean, variance, each [C]. */
kiln_value *kiln_channels_last_batch_norm(kiln_compose *c, kiln_value *x,
                                          kiln_value *const in[4], double epsilon);

#endif
