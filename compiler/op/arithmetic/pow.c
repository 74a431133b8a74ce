/* Power (ONNX Pow 15), both operands of one dtype; floats as C's pow (C17 F.10.4.4).
 * Integers wrap; a negative exponent gives the quotient 1 / x^-y cut towards zero, and
 * 0 where x is 0. 16 ulp: exp(y * log(x)) with a logarithm in extended precision. */
#include "compiler/op/op_compute.h"

#include <math.h>

static double f2(double x, double y, const kiln_attr *attr) {
    (void)attr;
    return pow(x, y);
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    if (dtype != KILN_U64 && y < 0) {
        if (x == 1)
            return 1;
        return x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
    }
    uint64_t power = 1, base = (uint64_t)x;
    for (uint64_t e = (uint64_t)y; e != 0; e >>= 1) {
        if (e & 1)
            power *= base;
        base *= base;
    }
    return (int64_t)power;
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    const kiln_expr *arg[2] = {x, y};
    (void)attr;
    return kiln_x_call(a, KILN_INTRIN_pow, arg);
}

const kiln_op_def kiln_op_pow = {
    KILN_ROW_BINARY,
    .name = "pow",
    .doc = "x^y",
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_ulp_16,
    .f2 = f2,
    .i2 = i2,
    .x2 = x2,
};
