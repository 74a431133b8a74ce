/* Scalar functions that expressions may call: names and meaning in double. */
#include "compiler/tensor/tensor_expr.h"

#include <math.h>

static const kiln_intrin_info info[KILN_N_INTRINS] = {
#define KILN_INTRIN(name, n_args, is_pure) {#name, n_args, is_pure},
#include "compiler/tensor/intrinsics.def"
#undef KILN_INTRIN
};

const kiln_intrin_info *kiln_intrin_get(kiln_intrin i) { return &info[i]; }

bool kiln_intrin_find(kiln_str name, kiln_intrin *out) {
    for (int i = 0; i < KILN_N_INTRINS; i++) {
        if (!kiln_str_is(name, info[i].name))
            continue;
        *out = (kiln_intrin)i;
        return true;
    }
    return false;
}

static double eval_several(kiln_intrin i, const double *arg) {
    const double x = arg[0], y = arg[1];
    switch (i) {
    case KILN_INTRIN_add_rn:
        return x + y;
    case KILN_INTRIN_copysign:
        return copysign(x, y);
    case KILN_INTRIN_fma:
        return fma(x, y, arg[2]);
    case KILN_INTRIN_fmod:
        return fmod(x, y);
    case KILN_INTRIN_mul_rn:
        return x * y;
    case KILN_INTRIN_pow:
        return pow(x, y);
    case KILN_INTRIN_quotient:
        return x / y;
    case KILN_INTRIN_sub_rn:
        return x - y;
    case KILN_INTRINS_CURVED:
    case KILN_INTRINS_ROUNDING:
    case KILN_INTRINS_SPECIAL:
    case KILN_INTRIN_abs:
    case KILN_INTRIN_isnan:
    case KILN_INTRIN_sqrt:
        break;
    }
    KILN_ASSERT(false, "'%s' is of one number", info[i].name);
    return 0;
}

double kiln_intrin_eval(kiln_intrin i, const double *arg) {
    const double x = arg[0];
    switch (i) {
    case KILN_INTRIN_add_rn:
    case KILN_INTRIN_copysign:
    case KILN_INTRIN_fma:
    case KILN_INTRIN_fmod:
    case KILN_INTRIN_mul_rn:
    case KILN_INTRIN_pow:
    case KILN_INTRIN_quotient:
    case KILN_INTRIN_sub_rn:
        return eval_several(i, arg);
    case KILN_INTRIN_abs:
        return fabs(x);
    case KILN_INTRIN_acos:
        return acos(x);
    case KILN_INTRIN_acosh:
        return acosh(x);
    case KILN_INTRIN_asin:
        return asin(x);
    case KILN_INTRIN_asinh:
        return asinh(x);
    case KILN_INTRIN_atan:
        return atan(x);
    case KILN_INTRIN_atanh:
        return atanh(x);
    case KILN_INTRIN_ceil:
        return ceil(x);
    case KILN_INTRIN_cos:
        return cos(x);
    case KILN_INTRIN_cosh:
        return cosh(x);
    case KILN_INTRIN_erf:
        return erf(x);
    case KILN_INTRIN_exp:
    case KILN_INTRIN_exp_low:
        return exp(x);
    case KILN_INTRIN_expm1:
        return expm1(x);
    case KILN_INTRIN_floor:
        return floor(x);
    case KILN_INTRIN_gelu:
        return 0.5 * x * erfc(-x * 0x1.6a09e667f3bcdp-1); /* sqrt(1/2) */
    case KILN_INTRIN_isnan:
        return isnan(x);
    case KILN_INTRIN_log:
        return log(x);
    case KILN_INTRIN_log1p:
        return log1p(x);
    case KILN_INTRIN_dot4: /* no function of scalars */
    case KILN_INTRIN_prefetch:
        return 0;
    case KILN_INTRIN_round:
        return nearbyint(x); /* the rounding mode is never changed: to nearest even */
    case KILN_INTRIN_rsqrt:
        return 1 / sqrt(x);
    case KILN_INTRIN_sigmoid:
        return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
    case KILN_INTRIN_sin:
        return sin(x);
    case KILN_INTRIN_sinh:
        return sinh(x);
    case KILN_INTRIN_sqrt:
        return sqrt(x);
    case KILN_INTRIN_tan:
        return tan(x);
    case KILN_INTRIN_tanh:
        return tanh(x);
    case KILN_INTRIN_trunc:
        return trunc(x);
    case KILN_N_INTRINS:
        break;
    }
    KILN_ASSERT(false, "intrinsic %d is not in the table", (int)i);
    return 0;
}

/* By squaring; a negative power is cut towards zero. */
static int64_t int_pow(kiln_dtype dtype, int64_t x, int64_t y) {
    uint64_t power = 1, base = (uint64_t)x;
    if (dtype != KILN_U64 && y < 0)
        return x == 1 || x == -1 ? (y % 2 == 0 ? 1 : x) : 0;
    for (uint64_t e = (uint64_t)y; e != 0; e >>= 1) {
        if ((e & 1) != 0)
            power *= base;
        base *= base;
    }
    return (int64_t)power;
}

bool kiln_intrin_eval_int(kiln_intrin i, kiln_dtype dtype, const int64_t *arg,
                          int64_t *out) {
    const int64_t x = arg[0];
    switch (i) {
    case KILN_INTRIN_abs:
        *out = dtype != KILN_U64 && x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
        break;
    case KILN_INTRINS_ROUNDING:
        *out = x;
        break;
    case KILN_INTRIN_isnan:
        *out = 0;
        break;
    case KILN_INTRIN_pow:
        *out = int_pow(dtype, x, arg[1]);
        break;
    case KILN_INTRINS_CURVED: /* of floats alone */
    case KILN_INTRINS_EXACT:
    case KILN_INTRINS_SPECIAL:
    case KILN_INTRIN_copysign:
    case KILN_INTRIN_fma:
    case KILN_INTRIN_fmod:
    case KILN_INTRIN_quotient:
    case KILN_INTRIN_sqrt:
        return false;
    }
    *out = kiln_wrap_i64(dtype, *out);
    return true;
}
