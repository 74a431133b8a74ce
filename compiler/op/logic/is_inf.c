/* Infinity test (ONNX IsInf 20). Exact: a predicate. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { DETECT_NEGATIVE, DETECT_POSITIVE };

static const kiln_attr_def attrs[] = {
    [DETECT_NEGATIVE] = {.name = "detect_negative",
                         .kind = KILN_ATTR_BOOL,
                         .doc = "true for -inf",
                         .default_i = 1},
    [DETECT_POSITIVE] = {.name = "detect_positive",
                         .kind = KILN_ATTR_BOOL,
                         .doc = "true for +inf",
                         .default_i = 1},
};

static double f1(double x, const kiln_attr *attr) {
    return isinf(x) && attr[x > 0 ? DETECT_POSITIVE : DETECT_NEGATIVE].i;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_expr *side[2] = {kiln_x_int(a, KILN_BOOL, 0),
                                kiln_x_int(a, KILN_BOOL, 0)};
    if (attr[DETECT_NEGATIVE].i)
        side[0] = kiln_x_binary(a, KILN_EXPR_EQ, x, kiln_x_like(a, x, -HUGE_VAL));
    if (attr[DETECT_POSITIVE].i)
        side[1] = kiln_x_binary(a, KILN_EXPR_EQ, x, kiln_x_like(a, x, HUGE_VAL));
    return kiln_x_binary(a, KILN_EXPR_OR, side[0], side[1]);
}

const kiln_op_def kiln_op_is_inf = {
    KILN_ROW_PREDICATE,
    .name = "is_inf",
    .doc = "x is an infinity of a detected sign",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .x1 = x1,
};
