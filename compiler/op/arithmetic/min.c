/* Smaller of two (ONNX Min 13). Between zeros of both signs, -0 is the smaller (IEEE
 * 754-2019, 9.6); NaN wins. Exact: a selection. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f2(double x, double y, const kiln_attr *attr) {
    (void)attr;
    if (isnan(x) || isnan(y))
        return x + y;
    if (x == y)
        return signbit(x) ? x : y;
    return x < y ? x : y;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    return kiln_less_i(y, x, dtype) ? y : x;
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    (void)attr;
    return kiln_x_binary(a, KILN_EXPR_MIN, x, y);
}

const kiln_op_def kiln_op_min = {
    KILN_ROW_BINARY,
    .name = "min",
    .doc = "min(x, y); NaN if one is",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f2 = f2,
    .i2 = i2,
    .x2 = x2,
};
