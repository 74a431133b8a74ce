/* Remainder (ONNX Mod 13). fmod false: the sign of the divisor, as numpy.mod; true: the
 * sign of the dividend, as C's fmod and %. By an integer zero, which ONNX leaves open:
 * 0. Exact: so is C's fmod, and adding the divisor once rounds as in add. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { FMOD };

static const kiln_attr_def attrs[] = {
    [FMOD] = {.name = "fmod",
              .kind = KILN_ATTR_BOOL,
              .doc = "take the sign of x, not of y"},
};

static double f2(double x, double y, const kiln_attr *attr) {
    const double r = fmod(x, y);
    if (attr[FMOD].i || isnan(r))
        return r;
    if (r == 0)
        return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    if (y == 0)
        return 0;
    if (dtype == KILN_U64)
        return (int64_t)((uint64_t)x % (uint64_t)y);
    const int64_t r = y == -1 ? 0 : x % y;
    return !attr[FMOD].i && r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static const kiln_expr *floats(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                               bool is_fmod) {
    const kiln_expr *arg[2] = {x, y}, *zero = kiln_x_like(a, y, 0);
    const kiln_expr *r = kiln_x_call(a, KILN_INTRIN_fmod, arg);
    if (is_fmod)
        return r;
    const kiln_expr *below = kiln_x_less(a, y, zero);
    const kiln_expr *differ =
        kiln_x_binary(a, KILN_EXPR_NE, kiln_x_less(a, r, zero), below);
    return kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_EQ, r, zero),
                         kiln_x_select(a, below, kiln_x_like(a, y, -0.0), zero),
                         kiln_x_select(a, differ, kiln_x_add(a, r, y), r));
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    if (kiln_dtype_is_float(x->dtype))
        return floats(a, x, y, attr[FMOD].i != 0);
    const kiln_expr *zero = kiln_x_like(a, y, 0);
    const kiln_expr *by = kiln_compute_safe_divisor(a, y);
    const kiln_expr *r = attr[FMOD].i != 0
                             ? kiln_x_sub(a, x, kiln_x_mul(a, kiln_x_div(a, x, by), by))
                             : kiln_x_binary(a, KILN_EXPR_FLOORMOD, x, by);
    return kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_EQ, y, zero), zero, r);
}

const kiln_op_def kiln_op_mod = {
    KILN_ROW_BINARY,
    .name = "mod",
    .doc = "remainder of x / y",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_NUMBER,
    .jumps = true,
    .error_bound = kiln_bound_exact,
    .f2 = f2,
    .i2 = i2,
    .x2 = x2,
};
