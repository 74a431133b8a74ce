/* Short forms for importers that build an operator of their format out of several
 * nodes: each gives the value it makes, and after a failure does nothing. The first
 * failure is kept in `status`, so an importer looks once, at its end. */
#ifndef KILN_COMPILER_FRONTEND_COMPOSE_H
#define KILN_COMPILER_FRONTEND_COMPOSE_H

#include "compiler/frontend/import_cx.h"

typedef struct kiln_compose {
    kiln_import_cx *cx;
    const void *site;   /* of all nodes that are made */
    kiln_status status; /* KILN_OK, or of the first failure */
} kiln_compose;

/* One node with one output. After a failure every function here gives `in[0]` (or its
 * own x) back, whose type may be looked at. */
kiln_value *kiln_compose_op(kiln_compose *c, const kiln_op_def *op,
                            kiln_value *const *in, int n_in, const kiln_attr_arg *args,
                            size_t n_args);
kiln_value *kiln_compose_1(kiln_compose *c, const kiln_op_def *op, kiln_value *x);
kiln_value *kiln_compose_2(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                           kiln_value *y);
/* x op v, where v becomes a scalar of x's dtype. */
kiln_value *kiln_compose_scalar(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                                double v);
kiln_value *kiln_compose_where(kiln_compose *c, kiln_value *cond, kiln_value *x,
                               kiln_value *y);
/* n_axes 0: all of them. */
kiln_value *kiln_compose_reduce(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                                const int64_t *axes, size_t n_axes, bool keepdims);
/* Operators with one attribute 'axis' and one or two inputs (y may be NULL). */
kiln_value *kiln_compose_axis(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                              kiln_value *y, int axis);
kiln_value *kiln_compose_cast(kiln_compose *c, kiln_value *x, kiln_dtype dtype);
kiln_value *kiln_compose_reshape(kiln_compose *c, kiln_value *x, int rank,
                                 const int64_t *dim);
kiln_value *kiln_compose_expand(kiln_compose *c, kiln_value *x, int rank,
                                const int64_t *dim);
kiln_value *kiln_compose_transpose(kiln_compose *c, kiln_value *x, const int64_t *perm);
/* [B, length, heads * size] to [B, heads, length, size], and back. */
kiln_value *kiln_compose_split_heads(kiln_compose *c, kiln_value *x, int64_t heads);
kiln_value *kiln_compose_join_heads(kiln_compose *c, kiln_value *x);
/* Each head of [B, heads, length, size] once for each of the `group` query heads that
 * share it: [B, heads * group, length, size]. */
kiln_value *kiln_compose_repeat_heads(kiln_compose *c, kiln_value *x, int64_t group);
/* Elements [start, start + size * step) of one axis, step apart. */
kiln_value *kiln_compose_slice(kiln_compose *c, kiln_value *x, int axis, int64_t start,
                               int64_t step, int64_t size);
/* Each element of an axis so many times, one behind the other. */
kiln_value *kiln_compose_repeat(kiln_compose *c, kiln_value *x, int axis,
                                int64_t times);
/* log(1 + x) and e^x - 1, exact where x is near 0, too. */
kiln_value *kiln_compose_log1p(kiln_compose *c, kiln_value *x);
kiln_value *kiln_compose_expm1(kiln_compose *c, kiln_value *x);
/* x / y, rounded down. */
kiln_value *kiln_compose_floor_div(kiln_compose *c, kiln_value *x, kiln_value *y);
/* Margins of a constant value; pads: rank beginnings, then rank ends. */
kiln_value *kiln_compose_pad(kiln_compose *c, kiln_value *x, const int64_t *pads,
                             double value);
/* 0, 1, ... n - 1 as a list of int64; charged to the import's budget. */
kiln_value *kiln_compose_iota(kiln_compose *c, int64_t n);
/* A constant of int64; charged likewise. */
kiln_value *kiln_compose_ints(kiln_compose *c, int rank, const int64_t *dim,
                              const int64_t *v);
/* A float constant: v holds its elements, rounded to dtype; charged likewise. */
kiln_value *kiln_compose_floats(kiln_compose *c, kiln_dtype dtype, int rank,
                                const int64_t *dim, const double *v);
/* Records a failure that kiln_fail has described. */
void kiln_compose_fail(kiln_compose *c, kiln_status status);

#endif
