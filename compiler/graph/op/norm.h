/* What layer_norm and rms_norm share: rows over the last axes, and factors that stretch
 * to x. */
#ifndef KILN_COMPILER_GRAPH_OP_NORM_H
#define KILN_COMPILER_GRAPH_OP_NORM_H

#include "compiler/graph/op/op_common.h"

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

void kiln_cost_norm(const kiln_node *n, kiln_cost *c); /* 8 flops per element */
/* 16 ulp, or 64 + elements of a group / 16 unit roundoffs: the mean is a sum of the
 * whole group, and what it leaves of x may be small. Holds for data whose mean is not
 * many times its spread. */
kiln_bound kiln_bound_norm(int64_t group);

#endif
