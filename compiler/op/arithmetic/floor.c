/* Rounding (ONNX Floor 13). Exact: the result has no more bits than x. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    return floor(x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_floor, x);
}

const kiln_op_def kiln_op_floor = {
    KILN_ROW_UNARY,
    .name = "floor",
    .doc = "largest integer <= x",
    .dtypes = KILN_DT_FLOAT,
    .jumps = true,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .x1 = x1,
};
