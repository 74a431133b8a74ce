/* Power. Error in ulp: 1 for f32, 2 for f64. */
#include "compiler/loop/formula.h"

/* An unevaluated sum, |low| <= ulp(high) / 2. */
typedef struct pair {
    val high, low;
} pair;

/* Exactly x + y where |x| >= |y| or x is 0 (Dekker, 1971). */
static pair fast_sum(const num *k, val x, val y) {
    const val s = add(k, x, y);
    return (pair){s, sub(k, y, sub(k, s, x))};
}

static val upper_half(const num *k, val x) {
    return float_of(k, iand(k, bits_of(k, x), whole(k, -((int64_t)1 << 27))));
}

/* Exactly x y: by fma, or from products of 26 and 27 bits (Dekker, 1971). */
static pair product(const num *k, val x, val y) {
    const val p = mul(k, x, y);
    if (has(k, KILN_INTRIN_fma))
        return (pair){p, call(k, KILN_INTRIN_fma, x, y, neg(k, p))};
    const val xh = upper_half(k, x), xl = sub(k, x, xh);
    const val yh = upper_half(k, y), yl = sub(k, y, yh);
    val e = sub(k, mul(k, xh, yh), p);
    e = add(k, e, mul(k, xh, yl));
    e = add(k, e, mul(k, xl, yh));
    return (pair){p, add(k, e, mul(k, xl, yl))};
}

static pair times(const num *k, pair x, pair y) {
    const pair p = product(k, x.high, y.high);
    const val cross = muladd(k, x.high, y.low, mul(k, x.low, y.high));
    return fast_sum(k, p.high, add(k, p.low, cross));
}

/* x + y where |x.high| >= |y.high| or x is 0. */
static pair plus(const num *k, pair x, pair y) {
    const pair s = fast_sum(k, x.high, y.high);
    return fast_sum(k, s.high, add(k, s.low, add(k, x.low, y.low)));
}

/* s = f / (2 + f) as a pair, for m = 1 + f. */
static pair ratio(const num *k, val m) {
    const val f = sub(k, m, real(k, 1));
    const pair d = fast_sum(k, real(k, 2), f);
    const val s = divide(k, f, d.high);
    const pair back = product(k, s, d.high);
    val rest = sub(k, sub(k, f, back.high), back.low);
    rest = sub(k, rest, mul(k, s, d.low));
    return fast_sum(k, s, divide(k, rest, d.high));
}

/* ln(a) to 2^-66, relative, for positive normal or subnormal a: e ln 2 + 2 s + 2/3 s^3
 * + 2/5 s^5 + ..., of which the rest from s^5 on is small enough for one number. */
static pair log_pair(const num *k, val a) {
    const val tiny = less(k, a, real(k, 0x1p-1022));
    const val u = bits_of(k, pick(k, tiny, mul(k, a, real(k, 0x1p52)), a));
    const val shift = pick(k, tiny, whole(k, k->mantissa), whole(k, 0));
    const val least = bits_of(k, real(k, 0.70710678118654752440));
    const val e = shift_right(k, isub(k, u, least), k->mantissa);
    const val m = float_of(k, isub(k, u, shift_left(k, e, k->mantissa)));
    const val n = cast(k, k->dtype, isub(k, e, shift));
    const pair s = ratio(k, m), s2 = times(k, s, s);
    double c[10]; /* 2 / (2 i + 5): the rest is below 2 * 0.172^25 / 25 = 6e-21 */
    for (int i = 0; i < 10; i++)
        c[i] = 2.0 / (2 * i + 5);
    const val rest = mul(k, horner(k, c, 10, s2.high), s2.high);
    /* s^2 (2/3 + rest), then s (2 + that) */
    const pair third = plus(k, (pair){real(k, 2.0 / 3), real(k, 0x1.5555555555555p-55)},
                            (pair){rest, real(k, 0)});
    const pair inner = plus(k, (pair){real(k, 2), real(k, 0)}, times(k, s2, third));
    /* 42 bits of ln 2, so that n times them is exact */
    const val n_high = mul(k, n, real(k, 0x1.62e42fefa38p-1));
    const val n_low = mul(k, n, real(k, 0x1.ef35793c7673p-45));
    const pair whole_part = fast_sum(k, n_high, n_low);
    return plus(k, whole_part, times(k, s, inner));
}

/* Signs and special values of pow (C17, F.10.4.4), given the magnitude. */
static val pow_special(const num *k, val x, val y, val magnitude) {
    const val one = real(k, 1), zero = real(k, 0), half = mul(k, y, real(k, 0.5));
    const val whole_y = equal(k, kiln_math_round(k, KILN_INTRIN_round, y), y);
    const val whole_half = equal(k, kiln_math_round(k, KILN_INTRIN_round, half), half);
    const val is_odd = both(k, whole_y, kiln_x_not(k->f->arena, whole_half));
    /* a negative number other than infinity, to a power that is not whole */
    const val below = less(k, x, zero);
    const val finite = less(k, real(k, -(double)INFINITY), x);
    const val undefined =
        both(k, kiln_x_not(k->f->arena, whole_y), both(k, below, finite));
    const val is_unit = both(k, equal(k, size_of(k, x), one), equal(k, y, y));
    val r = pick(k, is_unit, one, magnitude);
    r = pick(k, is_odd, with_sign(k, r, x), r);
    r = pick(k, undefined, nan_of(k), r);
    r = pick(k, equal(k, x, one), one, r);
    return pick(k, equal(k, y, zero), one, r);
}

/* f64: e^(y ln |x|) with the exponent in two parts: |y ln |x|| <= 746 to 2^-56. */
static val magnitude_of(const num *k, val a, val y) {
    const val huge = real(k, 1e4), zero = real(k, 0);
    const pair l = log_pair(k, a), p = product(k, y, l.high);
    const val low = muladd(k, y, l.low, p.low);
    /* Zero, infinity and NaN have a logarithm in one part; no low part where the high
     * one decides, or may be no number. */
    const val is_plain = both(k, less(k, zero, a), less(k, a, infinity_of(k)));
    const val high = pick(k, is_plain, p.high, mul(k, y, kiln_math_log(k, a)));
    const val is_small = both(k, is_plain, less(k, size_of(k, high), huge));
    return kiln_math_exp(k, high, pick(k, is_small, low, zero), 0);
}

/* f32: exp(y log |x|) in double: |y log |x|| <= 746 costs ten of its 53 bits. */
val kiln_expand_pow(kiln_formula *f, kiln_intrin i, const val *arg) {
    const bool is_f32 = arg[0]->dtype == KILN_F32;
    const num narrow = num_of(f, arg[0]);
    const val x = cast(&narrow, KILN_F64, arg[0]), y = cast(&narrow, KILN_F64, arg[1]);
    const num k = num_of(f, x);
    const val a = size_of(&k, x);
    (void)i;
    const val m = is_f32 ? kiln_math_exp(&k, mul(&k, y, kiln_math_log(&k, a)), NULL, 0)
                         : magnitude_of(&k, a, y);
    const val r = pow_special(&k, x, y, m);
    return cast(&k, arg[0]->dtype, r);
}
