/* Computes that families of operators share; see tensor/compute.h. */
#ifndef KILN_COMPILER_OP_OP_COMPUTE_H
#define KILN_COMPILER_OP_OP_COMPUTE_H

#include "compiler/op/op_common.h"
#include "compiler/op/op_window.h"
#include "compiler/tensor/compute.h"

/* kiln_compute_unary and kiln_compute_binary (op_common.h): y = x1(x), x2(a, b) with
 * numpy broadcasting; f16 and bf16 in f32. Rows that give bool (predicates,
 * comparisons) return bool expressions. */

/* Output k is input i: without a stage where both have one layout and nothing unknown
 * lies in tail lanes. */
kiln_status kiln_compute_copy(kiln_compute_cx *cx, int k, int i);

/* An integer divisor with 1 in place of 0, and of -1 where the dtype is signed: the
 * smallest integer has no quotient by it. */
const kiln_expr *kiln_compute_safe_divisor(kiln_arena *a, const kiln_expr *y);

/* Reduction axes of `te` for the marked axes of a value of type x, and its indexes:
 * those variables there, `index` elsewhere. `index` counts the reduced axes too
 * (keepdims) or leaves them out. Returns how many there are. */
int kiln_compute_reduce_axes(kiln_te *te, const kiln_type *x, const bool *is_reduced,
                             bool keepdims, const kiln_expr *const *index,
                             const kiln_expr **at, const kiln_axis **axis);

/* Operators of reduction.c: what kiln_reduce_fn is for eval_ref. f16 and bf16 are
 * reduced in f32. */
typedef enum kiln_reduce_ints {
    KILN_REDUCE_INTS_WRAP,  /* in their dtype */
    KILN_REDUCE_INTS_WIDE,  /* in 64 bits */
    KILN_REDUCE_INTS_DOUBLE /* in f64, cut towards zero at the end */
} kiln_reduce_ints;
typedef struct kiln_reduce_expr {
    const kiln_reducer *(*reducer)(kiln_arena *a, kiln_dtype dtype); /* NULL: sum */
    const kiln_expr *(*map)(kiln_arena *a, const kiln_expr *x,
                            const kiln_expr *shift); /* NULL: x */
    const kiln_expr *(*finish)(kiln_arena *a, const kiln_expr *acc,
                               const kiln_expr *shift, int64_t count); /* NULL: acc */
    bool needs_max; /* shift: the largest element, 0 where it is not finite */
    kiln_reduce_ints ints;
} kiln_reduce_expr;
kiln_status kiln_compute_reduce(const kiln_node *n, kiln_compute_cx *cx,
                                const kiln_reduce_expr *r);

/* Lanes along one axis of input 0 (op_lanes.c). Their results have that axis with one
 * element, row-major; `index` with 0 there reads them. */
void kiln_compute_lane_index(const kiln_compute_cx *cx, int axis,
                             const kiln_expr *const *index, const kiln_expr **at);
/* What softmax and its kin are made of: the largest element, e^(x - largest) of x's
 * shape and layout, its sum. */
typedef struct kiln_softmax_stages {
    int axis;
    kiln_te_value max, exp, sum;
} kiln_softmax_stages;
kiln_status kiln_compute_softmax_stages(const kiln_node *n, kiln_compute_cx *cx,
                                        kiln_softmax_stages *s);
/* Where the extreme element is (i32, or i64 where that is too narrow); with want_last
 * counted from the end, the last of equals. */
kiln_status kiln_compute_best(kiln_compute_cx *cx, int axis, bool want_max,
                              bool want_last, kiln_te_value *out);
/* argmax and argmin. */
kiln_status kiln_compute_arg(const kiln_node *n, kiln_compute_cx *cx, bool want_max);

/* Reduction axes k0, k1, ... over a window's taps, and where they read in what
 * kiln_compute_pad made, for the output at `index` ([N, C, spatial...]). Fills at[0] to
 * at[1 + w->n], the first two as in `index`. */
void kiln_compute_taps(kiln_te *te, const kiln_window *w, const kiln_expr *const *index,
                       const kiln_expr **at, const kiln_axis **axis);
/* How far a sum runs over an axis of x that is one of w: over w's elements, and on over
 * the tail lanes that both have where they hold zeros, so that whole blocks need no
 * guard. */
int64_t kiln_compute_common_extent(const kiln_type *x, int axis, const kiln_type *w,
                                   int w_axis);
/* begin <= e < end */
const kiln_expr *kiln_compute_within(kiln_arena *a, const kiln_expr *e, int64_t begin,
                                     int64_t end);

/* Element of index tensor `in` at `index`, as an index into an axis of `dim` elements:
 * negative ones count from the end; what lies outside, which the reference refuses, is
 * moved to the nearest end so that nothing is read elsewhere. */
const kiln_expr *kiln_compute_index(kiln_compute_cx *cx, int in,
                                    const kiln_expr *const *index, int64_t dim);

/* The input with zeros around its spatial axes, as far as windows reach: a stage
 * tagged "pad", or the input itself where nothing is padded. Window position p of tap k
 * then reads p * stride + k * dilation. */
kiln_status kiln_compute_pad(kiln_compute_cx *cx, const kiln_te_value *x,
                             const kiln_window *w, const kiln_expr *fill,
                             kiln_te_value *out);

#endif
