/* Arithmetic on f32 or f64 in the words of formulas, for compiler/loop/math and the
 * passes that call it. Every operation is bound to a variable of its own: a value may
 * be used any number of times and is computed once, what it needs before it. */
#ifndef KILN_COMPILER_LOOP_FORMULA_H
#define KILN_COMPILER_LOOP_FORMULA_H

#include "compiler/loop/expand.h"

#include <math.h>

struct kiln_formula {
    kiln_arena *arena;
    const kiln_natives *natives;
    KILN_VEC(kiln_var *) var;
    KILN_VEC(const kiln_expr *) value;
    int n_leaves; /* the first so many are arguments */
    int *n_names; /* variables of the program are numbered, behind a letter */
    char prefix;
    kiln_status status;
    kiln_err *err;
};

typedef const kiln_expr *val;

/* A variable that stands for e; e itself where it is a constant or a variable. */
val kiln_formula_keep(kiln_formula *f, val e);
/* A loop that computes a value: states by kiln_formula_state, each with its first
 * value; what a turn computes is bound in `turn`, what comes after the loop in `after`.
 */
enum { KILN_MAX_STATES = 8 };
typedef struct kiln_formula_loop {
    kiln_formula *outside;
    int n, lanes;
    const kiln_var *var[KILN_MAX_STATES];
    val init[KILN_MAX_STATES];
} kiln_formula_loop;
val kiln_formula_state(kiln_formula_loop *l, val init);
/* A formula for the turn, or for what comes after. */
kiln_formula kiln_formula_inner(const kiln_formula *outside);
/* The value, of what `after` has bound. */
val kiln_formula_turns(kiln_formula_loop *l, val cond, kiln_formula *turn,
                       const val *next, kiln_formula *after, val value);

/* `body` with what has been bound, in `lanes`. */
const kiln_expr *kiln_formula_done(kiln_formula *f, val body, int lanes);
/* Keeps the first failure; NULL. */
val kiln_formula_fail(kiln_formula *f, const char *fmt, ...) KILN_PRINTF(2, 3);

#define KILN_EXPANSION(name, floats, ints, ulps_f32, ulps_f64, floor, domain)          \
    kiln_expand_fn floats;
#include "compiler/loop/expansions.def"
#undef KILN_EXPANSION
kiln_expand_fn kiln_expand_abs_int, kiln_expand_same_int, kiln_expand_isnan_int,
    kiln_expand_pow_int;

/* ---- a format ------------------------------------------------------------------- */

typedef struct num {
    kiln_formula *f;
    kiln_dtype dtype;
    bool is_f64;
    int mantissa;    /* stored bits */
    int64_t bias;    /* of the exponent */
    kiln_dtype i, u; /* integers of as many bits */
    double magic;    /* 1.5 * 2^mantissa: adding it rounds to an integer */
} num;

static inline num num_of(kiln_formula *f, val x) {
    if (x->dtype == KILN_F64)
        return (num){f, KILN_F64, true, 52, 1023, KILN_I64, KILN_U64, 0x1.8p52};
    KILN_ASSERT(x->dtype == KILN_F32, "a formula of %s: its bits are others",
                kiln_dtype_name(x->dtype));
    return (num){f, KILN_F32, false, 23, 127, KILN_I32, KILN_U32, 0x1.8p23};
}

static inline bool has(const num *k, kiln_intrin i) {
    return kiln_is_native(k->f->natives, i, k->dtype);
}

/* ---- constants and operations ---------------------------------------------------- */

static inline val real(const num *k, double v) {
    return kiln_x_float(k->f->arena, k->dtype, v);
}
static inline val whole(const num *k, int64_t v) {
    return kiln_x_int(k->f->arena, k->i, v);
}
static inline val infinity_of(const num *k) { return real(k, (double)INFINITY); }
static inline val nan_of(const num *k) { return real(k, (double)NAN); }

static inline val binary(const num *k, kiln_expr_kind kind, val x, val y) {
    return kiln_formula_keep(k->f, kiln_x_binary(k->f->arena, kind, x, y));
}
static inline val call(const num *k, kiln_intrin i, val x, val y, val z) {
    const val arg[3] = {x, y, z};
    return kiln_formula_keep(k->f, kiln_x_call(k->f->arena, i, arg));
}
static inline val add(const num *k, val x, val y) {
    return call(k, KILN_INTRIN_add_rn, x, y, NULL);
}
static inline val sub(const num *k, val x, val y) {
    return call(k, KILN_INTRIN_sub_rn, x, y, NULL);
}
static inline val mul(const num *k, val x, val y) {
    return call(k, KILN_INTRIN_mul_rn, x, y, NULL);
}
static inline val divide(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_DIV, x, y);
}
static inline val neg(const num *k, val x) { return sub(k, real(k, -0.0), x); }
/* x y + z, rounded once where the machine does. */
static inline val muladd(const num *k, val x, val y, val z) {
    return has(k, KILN_INTRIN_fma) ? call(k, KILN_INTRIN_fma, x, y, z)
                                   : add(k, mul(k, x, y), z);
}
static inline val root(const num *k, val x) {
    return call(k, KILN_INTRIN_sqrt, x, NULL, NULL);
}

/* ---- bits --------------------------------------------------------------------------
 */

static inline val cast(const num *k, kiln_dtype to, val x) {
    return kiln_formula_keep(k->f, kiln_x_cast(k->f->arena, to, x));
}
static inline val bits(const num *k, kiln_dtype to, val x) {
    return kiln_formula_keep(k->f, kiln_x_bitcast(k->f->arena, to, x));
}
static inline val bits_of(const num *k, val x) { return bits(k, k->i, x); }
static inline val float_of(const num *k, val u) { return bits(k, k->dtype, u); }
static inline val iadd(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_ADD, x, y);
}
static inline val isub(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_SUB, x, y);
}
static inline val iand(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_AND, x, y);
}
static inline val ior(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_OR, x, y);
}
static inline val shift_left(const num *k, val x, int n) {
    return binary(k, KILN_EXPR_SHL, x, whole(k, n));
}
static inline val shift_right(const num *k, val x, int n) { /* keeps the sign */
    return binary(k, KILN_EXPR_SHR, x, whole(k, n));
}
/* All bits but the sign's. */
static inline val magnitude_mask(const num *k) {
    return whole(k, k->is_f64 ? INT64_MAX : INT32_MAX);
}
static inline val sign_mask(const num *k) {
    return whole(k, k->is_f64 ? INT64_MIN : INT32_MIN);
}

static inline val size_of(const num *k, val x) { /* |x| */
    if (has(k, KILN_INTRIN_abs))
        return call(k, KILN_INTRIN_abs, x, NULL, NULL);
    return float_of(k, iand(k, bits_of(k, x), magnitude_mask(k)));
}
static inline val with_sign(const num *k, val magnitude, val sign) {
    if (has(k, KILN_INTRIN_copysign))
        return call(k, KILN_INTRIN_copysign, magnitude, sign, NULL);
    return float_of(k, ior(k, iand(k, bits_of(k, magnitude), magnitude_mask(k)),
                           iand(k, bits_of(k, sign), sign_mask(k))));
}
/* 2^n for an integer n that gives a normal number. */
static inline val power_of_two(const num *k, val n) {
    return float_of(k, shift_left(k, iadd(k, n, whole(k, k->bias)), k->mantissa));
}

/* ---- choices: false with NaN --------------------------------------------------------
 */

static inline val less(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_LT, x, y);
}
static inline val at_most(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_LE, x, y);
}
static inline val equal(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_EQ, x, y);
}
static inline val both(const num *k, val x, val y) {
    return binary(k, KILN_EXPR_AND, x, y);
}
static inline val pick(const num *k, val cond, val yes, val no) {
    return kiln_formula_keep(k->f, kiln_x_select(k->f->arena, cond, yes, no));
}
/* x where it is not above, or below, the bound; NaN stays. */
static inline val no_more(const num *k, val x, val bound) {
    return pick(k, less(k, bound, x), bound, x);
}
static inline val no_less(const num *k, val x, val bound) {
    return pick(k, less(k, x, bound), bound, x);
}

/* ---- pieces that functions share ------------------------------------------------- */

static inline double ln2_high(const num *k) {
    return k->is_f64 ? 6.93147180369123816490e-01 : 0.693359375;
}
static inline double ln2_low(const num *k) {
    return k->is_f64 ? 1.90821492927058770002e-10 : -2.12194440e-4;
}

/* c[0] + c[1] x + ... */
static inline val horner(const num *k, const double *c, int n, val x) {
    val p = real(k, c[n - 1]);
    for (int i = n - 1; i-- > 0;)
        p = muladd(k, p, x, real(k, c[i]));
    return p;
}

/* math_exp.c: 2^shift e^(x + low), -1 <= shift <= 0; |low| must be far below 1; NULL:
 * 0. */
val kiln_math_exp(const num *k, val x, val low, int shift);
/* e^x for x up to 40, in fewer steps; 0 where it is near the smallest normal number. */
val kiln_math_exp_low(const num *k, val x);
/* math_log.c */
val kiln_math_log(const num *k, val x);
val kiln_math_log1p(const num *k, val x);
/* math_rounding.c: floor, ceil, trunc, round without an instruction for them. */
val kiln_math_round(const num *k, kiln_intrin how, val x);
/* math_halves.c, of f16 and bf16: their u16 of an f32, and back; and the f32 of any
 * number whose rounding to a half is the only one. */
val kiln_math_to_half(kiln_formula *f, kiln_dtype dtype, val x);
val kiln_math_from_half(kiln_formula *f, kiln_dtype dtype, val bits);
val kiln_math_before_half(kiln_formula *f, val x);

#endif
