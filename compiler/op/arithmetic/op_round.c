/* Rounding to the nearest integer, ties to even (ONNX Round 11). Exact: the result has
 * no more bits than x. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f1(double x, const kiln_attr *attr) {
    (void)attr;
    const double r = floor(x), rest = x - r;
    if (!(rest >= 0.5)) /* infinities and NaN have a rest of NaN, and are integers */
        return copysign(r, x);
    if (rest > 0.5 || fmod(r, 2) != 0)
        return copysign(r + 1, x);
    return copysign(r, x);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    (void)attr;
    return kiln_x_fn(a, KILN_INTRIN_round, x);
}

const kiln_op_def kiln_op_round = {
    KILN_ROW_UNARY,
    .name = "round",
    .doc = "nearest integer, ties to even",
    .dtypes = KILN_DT_FLOAT,
    .jumps = true,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .x1 = x1,
};
