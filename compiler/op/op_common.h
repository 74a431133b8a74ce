/* Shared by the operators' files: inference and evaluation of whole families, bounds,
 * index walking. */
#ifndef KILN_COMPILER_OP_OP_COMMON_H
#define KILN_COMPILER_OP_OP_COMMON_H

#include "compiler/graph/graph.h"

#define KILN_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- element-wise families (elementwise.c) ---------------------------------------
 *
 *   unary      out = f(in), same type; f1 for floats, i1 for integers and bool
 *   predicate  out bool = f(in): f1 for floats, i1 for integers, result != 0
 *   binary     numpy broadcasting, both inputs of one dtype; f2 / i2; out has it too
 *   compare    as binary, out is bool; f2 / i2 give 0 or 1 (u64 is ordered as unsigned
 *              by i2: see dtype) */
kiln_status kiln_infer_unary(const kiln_node *n, kiln_type *out, kiln_err *err);
kiln_status kiln_infer_predicate(const kiln_node *n, kiln_type *out, kiln_err *err);
kiln_status kiln_infer_binary(const kiln_node *n, kiln_type *out, kiln_err *err);
kiln_status kiln_infer_compare(const kiln_node *n, kiln_type *out, kiln_err *err);
kiln_status kiln_eval_unary(const kiln_node *n, kiln_eval_cx *cx); /* predicates too */
kiln_status kiln_eval_binary(const kiln_node *n,
                             kiln_eval_cx *cx); /* comparisons too */

/* Their tensor expressions, by the row's x1 or x2: see op_compute.h. */
kiln_status kiln_compute_unary(const kiln_node *n, kiln_compute_cx *cx);
kiln_status kiln_compute_binary(const kiln_node *n, kiln_compute_cx *cx);

/* What the rows of a family share; a row adds name, doc, dtypes, error_bound and f1,
 * i1, x1 or f2, i2, x2. */
extern const char *const kiln_names_x[];  /* "x", NULL */
extern const char *const kiln_names_xy[]; /* "x", "y", NULL */
#define KILN_ROW_ELEMENTWISE                                                           \
    .fuse = KILN_FUSE_INJECTIVE, .layout = KILN_LAYOUT_OBLIVIOUS, .can_pick = true
#define KILN_ROW_UNARY                                                                 \
    .n_in_min = 1, .n_in_max = 1, .in_names = kiln_names_x, KILN_ROW_ELEMENTWISE,      \
    .infer = kiln_infer_unary, .eval_ref = kiln_eval_unary,                            \
    .compute = kiln_compute_unary
#define KILN_ROW_PREDICATE                                                             \
    .n_in_min = 1, .n_in_max = 1, .in_names = kiln_names_x, KILN_ROW_ELEMENTWISE,      \
    .infer = kiln_infer_predicate, .eval_ref = kiln_eval_unary,                        \
    .compute = kiln_compute_unary
#define KILN_ROW_BINARY                                                                \
    .n_in_min = 2, .n_in_max = 2, .in_names = kiln_names_xy, KILN_ROW_ELEMENTWISE,     \
    .infer = kiln_infer_binary, .eval_ref = kiln_eval_binary,                          \
    .compute = kiln_compute_binary
#define KILN_ROW_COMPARE                                                               \
    .n_in_min = 2, .n_in_max = 2, .in_names = kiln_names_xy, KILN_ROW_ELEMENTWISE,     \
    .infer = kiln_infer_compare, .eval_ref = kiln_eval_binary,                         \
    .compute = kiln_compute_binary

/* What a value's type alone says, not its elements. */
void kiln_cost_nothing(const kiln_node *n, kiln_cost *c); /* not even bytes */
#define KILN_ROW_OF_TYPE                                                               \
    .n_in_min = 1, .n_in_max = 1, .in_names = kiln_names_x, .dtypes = KILN_DT_STORED,  \
    .fuse = KILN_FUSE_OPAQUE, .layout = KILN_LAYOUT_OBLIVIOUS, .types_only = true,     \
    .cost = kiln_cost_nothing, .error_bound = kiln_bound_exact

/* Type of an element-wise operator's output: numpy broadcasting of all inputs, their
 * one place and layout (an input that is not stretched may bring a layout that is not
 * row-major). facts is 0. */
kiln_status kiln_infer_broadcast(const kiln_node *n, kiln_dtype dtype, kiln_type *out,
                                 kiln_err *err);

/* Up to three inputs walked over one output shape: axes of size 1 dropped, neighbours
 * that all inputs cross evenly merged, so that the last axis is as long as it can be.
 */
enum { KILN_BCAST_MAX_IN = 3 };
typedef struct kiln_bcast {
    int rank; /* >= 1 */
    int n_in;
    int64_t dim[KILN_MAX_RANK];
    int64_t stride[KILN_BCAST_MAX_IN]
                  [KILN_MAX_RANK]; /* 0 where an input is stretched */
} kiln_bcast;
void kiln_bcast_init(kiln_bcast *b, const kiln_type *out, const kiln_wide *in,
                     int n_in);
/* Input element of each input for the output element at row-major index `flat`. */
void kiln_bcast_at(const kiln_bcast *b, int64_t flat, int64_t *at);
/* The same for the next row of the last axis: coord (of the axes before it) and at are
 * moved on from one row to the next; both zero at the first. False, and zeros again: that
 * was the last. */
bool kiln_bcast_next(const kiln_bcast *b, int64_t *coord, int64_t *at);

/* u64 is held as the same 64 bits: order, division and conversion ask for the dtype. */
static inline bool kiln_less_i(int64_t x, int64_t y, kiln_dtype dtype) {
    return dtype == KILN_U64 ? (uint64_t)x < (uint64_t)y : x < y;
}
static inline double kiln_f64_from_i(int64_t x, kiln_dtype dtype) {
    return dtype == KILN_U64 ? (double)(uint64_t)x : (double)x;
}
/* Towards zero, saturating at the dtype's range; NaN is 0. */
int64_t kiln_i_from_f64(double x, kiln_dtype dtype);
/* The largest value of a float dtype that is not above x: where elements of the dtype
 * are compared with x, they may be compared with it. */
double kiln_f64_round_down(double x, kiln_dtype dtype);

/* ---- reductions (reduction.c) ----------------------------------------------------
 *
 * Attributes axes (ints; empty: all), keepdims (bool) in this order. */
enum { KILN_REDUCE_AXES, KILN_REDUCE_KEEPDIMS, KILN_REDUCE_N_ATTR };
extern const kiln_attr_def kiln_reduce_attrs[KILN_REDUCE_N_ATTR];
kiln_status kiln_infer_reduce(const kiln_node *n, kiln_type *out, kiln_err *err);
/* How a reduction is computed: fold over the elements from `init`, then finish with the
 * count. Integers go through fold_i; without one they are folded as double and cut
 * towards zero. */
typedef struct kiln_reduce_fn {
    double (*map)(double x, double shift); /* NULL: x; shift is 0 unless needs_max */
    double (*fold)(double acc, double x);  /* NULL: addition */
    double (*finish)(double acc, double shift, int64_t count); /* NULL: acc */
    double init;
    bool needs_max; /* shift = largest element of the group (0 when it is not finite) */
    int64_t (*fold_i)(int64_t acc, int64_t x, kiln_dtype dtype);
    int64_t (*finish_i)(int64_t acc, int64_t count, kiln_dtype dtype);
    int64_t init_i;
} kiln_reduce_fn;
kiln_status kiln_eval_reduce(const kiln_node *n, kiln_eval_cx *cx,
                             const kiln_reduce_fn *fn);
#define KILN_ROW_REDUCE                                                                \
    .n_in_min = 1, .n_in_max = 1, .in_names = kiln_names_x, .attr = kiln_reduce_attrs, \
    .n_attr = KILN_REDUCE_N_ATTR, .fuse = KILN_FUSE_REDUCTION,                         \
    .layout = KILN_LAYOUT_DEPENDENT, .can_pick = true, .infer = kiln_infer_reduce,     \
    .cost = kiln_cost_reduce
void kiln_cost_reduce(const kiln_node *n,
                      kiln_cost *c);              /* one flop per input element */
kiln_bound kiln_bound_reduce(const kiln_node *n); /* DOT, k = elements per group */

/* ---- lanes along one axis (op_lanes.c) ----------------------------------------------
 *
 * Attribute axis (int, default -1) comes first. Softmax and its kin: floats, the output
 * has the type of the input. */
enum { KILN_LANES_AXIS, KILN_LANES_N_ATTR };
extern const kiln_attr_def kiln_lanes_attrs[KILN_LANES_N_ATTR];
/* Shape as [outer, n, inner] around one axis in [0, rank). */
typedef struct kiln_lanes {
    int64_t outer, n, inner;
} kiln_lanes;
kiln_lanes kiln_lanes_at(const kiln_type *t, int axis);
int64_t kiln_lane_elems(const kiln_node *n); /* n of input 0's lanes */
kiln_status kiln_infer_lanes(const kiln_node *n, kiln_type *out, kiln_err *err);
/* One lane of n >= 1 elements, `inner` apart in x and in y; y does not overlap x. */
typedef void (*kiln_lane_fn)(const double *x, double *y, const kiln_lanes *l);
kiln_status kiln_eval_lanes(const kiln_node *n, kiln_eval_cx *cx, kiln_lane_fn lane);
void kiln_cost_softmax(const kiln_node *n,
                       kiln_cost *c); /* max, subtract, exp, sum, divide */
kiln_bound
kiln_bound_lane_sum(const kiln_node *n); /* 16 ulp, or as many roundoffs as elements */
#define KILN_ROW_LANES                                                                 \
    .n_in_min = 1, .n_in_max = 1, .in_names = kiln_names_x, .attr = kiln_lanes_attrs,  \
    .n_attr = KILN_LANES_N_ATTR, .dtypes = KILN_DT_FLOAT, .fuse = KILN_FUSE_OPAQUE,    \
    .layout = KILN_LAYOUT_DEPENDENT, .can_pick = true, .infer = kiln_infer_lanes

/* Running sums and products: attributes axis, exclusive, reverse in this order. */
enum { KILN_SCAN_AXIS, KILN_SCAN_EXCLUSIVE, KILN_SCAN_REVERSE, KILN_SCAN_N_ATTR };
extern const kiln_attr_def kiln_scan_attrs[KILN_SCAN_N_ATTR];
/* Folds with the row's f2 or i2, starting from `init`. */
kiln_status kiln_eval_scan(const kiln_node *n, kiln_eval_cx *cx, int64_t init);
#define KILN_ROW_SCAN                                                                  \
    .n_in_min = 1, .n_in_max = 1, .in_names = kiln_names_x, .attr = kiln_scan_attrs,   \
    .n_attr = KILN_SCAN_N_ATTR, .dtypes = KILN_DT_NUMBER, .fuse = KILN_FUSE_OPAQUE,    \
    .layout = KILN_LAYOUT_DEPENDENT, .infer = kiln_infer_lanes

/* Where the extreme element is: attributes axis, keepdims, select_last_index in this
 * order. */
enum { KILN_ARG_AXIS, KILN_ARG_KEEPDIMS, KILN_ARG_SELECT_LAST, KILN_ARG_N_ATTR };
extern const kiln_attr_def kiln_arg_attrs[KILN_ARG_N_ATTR];
kiln_status kiln_infer_arg(const kiln_node *n, kiln_type *out, kiln_err *err);
/* A NaN is more extreme than any number. */
kiln_status kiln_eval_arg(const kiln_node *n, kiln_eval_cx *cx, bool want_max);
#define KILN_ROW_ARG                                                                   \
    .n_in_min = 1, .n_in_max = 1, .in_names = kiln_names_x, .attr = kiln_arg_attrs,    \
    .n_attr = KILN_ARG_N_ATTR, .dtypes = KILN_DT_NUMBER, .fuse = KILN_FUSE_REDUCTION,  \
    .layout = KILN_LAYOUT_DEPENDENT, .can_pick = true, .infer = kiln_infer_arg,        \
    .cost = kiln_cost_reduce

/* Matrix products and convolutions: numbers, whose consumers may be fused to them. */
#define KILN_ROW_CONTRACTION                                                           \
    .dtypes = KILN_DT_NUMBER, .fuse = KILN_FUSE_OUT_FUSABLE, .can_pick = true

/* ---- checks ---------------------------------------------------------------------- */

/* "input 'w' must be f32 or f64, is i8" */
kiln_status kiln_check_dtype(const kiln_node *n, int in, unsigned set, kiln_err *err);
/* "input 'w' must have rank 4, is f32[3]" */
kiln_status kiln_check_rank(const kiln_node *n, int in, int rank, kiln_err *err);
kiln_status kiln_check_same_dtype(const kiln_node *n, int in_a, int in_b,
                                  kiln_err *err);
/* The input's name in the row, or "input 3". */
const char *kiln_in_name(const kiln_node *n, int in);
bool kiln_has_in(const kiln_node *n, int in); /* given and not absent */

/* Attribute `attr` as an axis of input 0, which must have one: "axis 4 is outside [-4,
 * 4)". */
kiln_status kiln_check_axis(const kiln_node *n, int attr, int *axis, kiln_err *err);

/* ---- bounds ---------------------------------------------------------------------- */
kiln_bound kiln_bound_exact(const kiln_node *n);
kiln_bound kiln_bound_ulp_1(const kiln_node *n);
kiln_bound kiln_bound_ulp_4(const kiln_node *n);
kiln_bound
kiln_bound_ulp_16(const kiln_node *n); /* compositions of transcendental functions */
/* 16 ulp or 4 unit roundoffs: compositions that cancel where the result is small. */
kiln_bound kiln_bound_composed(const kiln_node *n);
/* 16 ulp or as many unit roundoffs as input 0 has elements to each of output 0 (at
 * least 4): the logarithm of a sum. */
kiln_bound kiln_bound_log_sum(const kiln_node *n);

/* ---- walking --------------------------------------------------------------------- */

/* Row-major index to coordinates. */
void kiln_unravel(int64_t index, int rank, const int64_t *dim, int64_t *coord);
/* Steps coordinates to the next in row-major order; false after the last. */
bool kiln_next_coord(int rank, const int64_t *dim, int64_t *coord);

/* Copies one element (double or int64_t, whichever both have). */
static inline void kiln_copy_elem(kiln_wide *dst, int64_t d, const kiln_wide *src,
                                  int64_t s) {
    if (dst->f != NULL)
        dst->f[d] = src->f[s];
    else
        dst->i[d] = src->i[s];
}

/* Data movement where out[i] = in[index(i)]: walks all outputs with strides into the
 * input (stride 0: broadcast), starting at offset. Strides are in elements, one per
 * output axis. */
void kiln_copy_strided(kiln_wide *dst, const kiln_wide *src, int64_t offset,
                       const int64_t *stride);

#endif
