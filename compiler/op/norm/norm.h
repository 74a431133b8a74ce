/* What layer_norm and rms_norm share: rows over the last axes, and factors that stretch
 * to x. */
#ifndef KILN_COMPILER_OP_NORM_NORM_H
#define KILN_COMPILER_OP_NORM_NORM_H

#include "compiler/op/op_compute.h"

/* Attributes axis and epsilon come first, in this order. */
enum { KILN_NORM_AXIS, KILN_NORM_EPSILON, KILN_NORM_N_ATTR };
/* clang-format off */
#define KILN_NORM_ATTRS                                                                \
    {.name = "axis", .kind = KILN_ATTR_INT, .default_i = -1,                           \
     .doc = "the group is this axis and all behind it"},                               \
    {.name = "epsilon", .kind = KILN_ATTR_FLOAT, .default_f = 1e-5,                    \
     .doc = "added to the mean of squares before its root is taken"}
/* clang-format on */

typedef struct kiln_norm_rows {
    int axis;
    int64_t rows, n; /* groups, and elements of each */
} kiln_norm_rows;

kiln_status kiln_norm_read(const kiln_node *n, kiln_norm_rows *r, kiln_err *err);
/* Input `in`, where given, has x's dtype and stretches to x's shape. */
kiln_status kiln_norm_check_factor(const kiln_node *n, int in, kiln_err *err);
/* Finds elements of inputs 1 and 2 (scale, bias; may be absent) for each element of x.
 */
typedef struct kiln_norm_affine {
    const double *scale, *bias; /* NULL: absent */
    kiln_bcast bcast;
} kiln_norm_affine;
void kiln_norm_affine_init(kiln_norm_affine *a, const kiln_node *n,
                           const kiln_eval_cx *cx);
double kiln_norm_affine_at(const kiln_norm_affine *a, int64_t index, double v);

/* Stages over groups of x. A group is what `at` (indexes of x) covers when the axes
 * run; `t` is the type with one element a group. */
typedef struct kiln_norm_group {
    const kiln_type *t;
    int64_t n; /* elements of a group */
    /* Indexes of x over a stage of type t, its reduction axes made. Returns how many.
     */
    int (*open)(const struct kiln_norm_group *g, kiln_compute_cx *cx, kiln_te *te,
                const kiln_expr *const *index, const kiln_expr **at,
                const kiln_axis **axis);
    const void *user;
} kiln_norm_group;
/* The mean of each group, or of squares about `mean` (NULL: about 0). */
kiln_status kiln_compute_mean(kiln_compute_cx *cx, const kiln_norm_group *g,
                              kiln_te_value *out);
/* 1 / sqrt(mean of squares about `mean` (NULL: about 0) + epsilon) of each group. */
kiln_status kiln_compute_inverse_deviation(kiln_compute_cx *cx,
                                           const kiln_norm_group *g,
                                           const kiln_te_value *mean, double epsilon,
                                           kiln_te_value *out);
/* Groups of the axes from `axis` on. `t` receives their type. */
kiln_norm_group kiln_norm_group_of_rows(const kiln_compute_cx *cx,
                                        const kiln_norm_rows *r, kiln_type *t);
/* v * input 1 + input 2, those that are given; v is over y's stage. */
const kiln_expr *kiln_compute_affine(kiln_compute_cx *cx, const kiln_expr *v,
                                     const kiln_expr *const *index);

void kiln_cost_norm(const kiln_node *n, kiln_cost *c); /* 8 flops per element */
/* 16 ulp, or 64 + elements of a group / 16 unit roundoffs: the mean is a sum of the
 * whole group, and what it leaves of x may be small. Holds for data whose mean is not
 * many times its spread. */
kiln_bound kiln_bound_norm(int64_t group);

#define KILN_ROW_NORM                                                                  \
    .dtypes = KILN_DT_FLOAT, .fuse = KILN_FUSE_OPAQUE,                                 \
    .layout = KILN_LAYOUT_DEPENDENT, .cost = kiln_cost_norm

#endif
