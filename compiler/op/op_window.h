/* Windows sliding over the spatial axes of [N, C, spatial...]: convolution and pooling
 * share this.
 *
 * Tap k of output position o of an axis reads input position o * stride + k * dilation
 * - pad_begin; positions outside the input are padding.
 */
#ifndef KILN_COMPILER_OP_OP_WINDOW_H
#define KILN_COMPILER_OP_OP_WINDOW_H

#include "compiler/graph/graph.h"

enum { KILN_MAX_SPATIAL = KILN_MAX_RANK - 2 };

typedef struct kiln_window {
    int n; /* spatial axes, 1 to KILN_MAX_SPATIAL */
    int64_t in[KILN_MAX_SPATIAL], kernel[KILN_MAX_SPATIAL], out[KILN_MAX_SPATIAL];
    int64_t stride[KILN_MAX_SPATIAL], dilation[KILN_MAX_SPATIAL];
    int64_t pad_begin[KILN_MAX_SPATIAL], pad_end[KILN_MAX_SPATIAL];
} kiln_window;

/* The attributes strides, pads, dilations stand in this order in the rows that use
 * windows. */
enum {
    KILN_WINDOW_STRIDES,
    KILN_WINDOW_PADS,
    KILN_WINDOW_DILATIONS,
    KILN_WINDOW_N_ATTR
};
/* clang-format off */
#define KILN_WINDOW_ATTRS                                                                  \
    {.name = "strides", .kind = KILN_ATTR_INTS,                                            \
     .doc = "step of the window along each spatial axis; empty: 1"},                       \
    {.name = "pads", .kind = KILN_ATTR_INTS,                                               \
     .doc = "padding at all beginnings, then at all ends; empty: 0"},                      \
    {.name = "dilations", .kind = KILN_ATTR_INTS,                                          \
     .doc = "step between the taps of a window along each spatial axis; empty: 1"}
/* clang-format on */

/* Reads n, in and kernel (n values each) and the three attributes that begin at `attr`;
 * `out` is left to the functions below. KILN_ERR_SHAPE: list lengths, strides,
 * dilations or kernel below 1, pads below 0, not 1 to KILN_MAX_SPATIAL axes;
 * KILN_ERR_LIMIT: values above 2^31 - 1. */
kiln_status kiln_window_read(kiln_window *w, int n, const int64_t *in,
                             const int64_t *kernel, const kiln_attr *attr,
                             kiln_err *err);

/* Taps' extent along an axis: (kernel - 1) * dilation + 1. */
int64_t kiln_window_extent(const kiln_window *w, int axis);

/* out = floor((in + pads - extent) / stride) + 1, or with ceil_mode the ceiling of it,
 * less a last window that would start beyond the input and its padding in front (ONNX
 * MaxPool-10, AveragePool-10). KILN_ERR_SHAPE when a window does not fit into the
 * padded input. */
kiln_status kiln_window_slide(kiln_window *w, bool ceil_mode, kiln_err *err);

int64_t kiln_window_taps(const kiln_window *w); /* product of kernel */
int64_t kiln_window_outs(const kiln_window *w); /* product of out */
int64_t kiln_window_ins(const kiln_window *w);  /* product of in */

/* Input position of a tap along an axis; outside [0, in) it is padding. */
static inline int64_t kiln_window_pos(const kiln_window *w, int axis, int64_t out,
                                      int64_t tap) {
    return out * w->stride[axis] + tap * w->dilation[axis] - w->pad_begin[axis];
}

/* Row-major index in the input of one tap of one output position; -1 in the padding. */
int64_t kiln_window_index(const kiln_window *w, const int64_t *out, const int64_t *tap);

/* Output positions [*lo, *hi) of an axis whose tap reads inside the input; empty: *lo
 * == *hi. */
void kiln_window_range(const kiln_window *w, int axis, int64_t tap, int64_t *lo,
                       int64_t *hi);

/* Product of counts >= 0, held at 2^62: for costs. */
int64_t kiln_mul_sat(int64_t a, int64_t b);

/* Chosen or all elements of an output of `n` elements: element j of count is at
 * row-major index kiln_pick_at(cx, j) (kiln_eval_cx.pick). */
static inline int64_t kiln_pick_count(const kiln_eval_cx *cx, int64_t n) {
    return cx->pick == NULL ? n : cx->n_pick;
}
static inline int64_t kiln_pick_at(const kiln_eval_cx *cx, int64_t j) {
    return cx->pick == NULL ? j : cx->pick[j];
}

#endif
