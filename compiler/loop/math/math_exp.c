/* exp, expm1, sigmoid and tanh as polynomials.
 *
 * Range reduction after Cody and Waite (Software Manual for the Elementary Functions,
 * 1980): ln 2 in two parts, of which n times the first is exact. The polynomials are
 * Taylor series cut where the rest is below half an ulp: |r| <= 0.347.
 *
 * Error in ulp, with or without fused multiply-add: exp 2, expm1 2, tanh 4, sigmoid 4.
 */
#include "compiler/loop/formula.h"
#include "base/fault.h"

/* x = n ln 2 + r. The sum with magic has n in its low bits, NaN or not: no conversion
 * that a NaN would make undefined. */
static val reduce(const num *k, val x, val *n) {
    const val magic = real(k, k->magic);
    const val t = add(k, mul(k, x, real(k, 1.4426950408889634074)), magic);
    const val nf = sub(k, t, magic);
    *n = isub(k, bits_of(k, t), bits_of(k, magic));
    const val r = muladd(k, nf, real(k, -ln2_high(k)), x);
    return muladd(k, nf, real(k, -ln2_low(k)), r);
}

/* (e^r - 1) / r = sum r^i / (i + 1)!: the rest is below 0.347^7/8! = 1.5e-8 of the
 * result's 1 for f32 (6 powers), 0.347^13/14! = 1.2e-17 for f64 (12). */
static val exp_tail(const num *k, val r) {
    const int last = k->is_f64 ? 12 : 6;
    double c[16] = {1};
    for (int i = 1; i <= last; i++)
        c[i] = c[i - 1] / (i + 1);
    c[2] *= KILN_FAULT(exp_coefficient) ? 1.01 : 1;
    return horner(k, c, last + 1, r);
}

val kiln_math_exp(const num *k, val x, val low, int shift) {
    /* Beyond these all is infinity, or below half the smallest number. */
    val n, a = no_more(k, x, real(k, k->is_f64 ? 711 : 90));
    a = no_less(k, a, real(k, k->is_f64 ? -746 : -104.5));
    val r = reduce(k, a, &n);
    if (low != NULL)
        r = add(k, r, low);
    if (shift != 0)
        n = iadd(k, n, whole(k, shift));
    const val p = muladd(k, exp_tail(k, r), r, real(k, 1));
    /* In two steps: 2^n itself may be no normal number. */
    const val half = shift_right(k, n, 1);
    const val rest = isub(k, n, half);
    const val most = mul(k, p, power_of_two(k, half));
    return mul(k, most, power_of_two(k, rest));
}

val kiln_expand_exp(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return kiln_math_exp(&k, arg[0], NULL, 0);
}

/* 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)): where n = 0 no digits are lost, and halves
 * do not overflow before the result does. */
val kiln_expand_expm1(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    val n, a = no_more(&k, arg[0], real(&k, k.is_f64 ? 710 : 89));
    a = no_less(&k, a, real(&k, k.is_f64 ? -38 : -18)); /* there it is -1 */
    const val r = reduce(&k, a, &n);
    const val q = mul(&k, exp_tail(&k, r), r);
    const val scale = power_of_two(&k, isub(&k, n, whole(&k, 1)));
    const val half = muladd(&k, scale, q, sub(&k, scale, real(&k, 0.5)));
    return with_sign(&k, add(&k, half, half), arg[0]);
}

/* e = e^-|x|; 1 / (1 + e), or e / (1 + e) below zero, where 1 + e^-x would overflow
 * before the result is too small. */
val kiln_expand_sigmoid(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    const val size = size_of(&k, arg[0]), one = real(&k, 1);
    (void)i;
    const val e = kiln_math_exp(&k, neg(&k, size), NULL, 0);
    const val top = pick(&k, less(&k, arg[0], real(&k, 0)), e, one);
    return divide(&k, top, add(&k, e, one));
}

/* tanh |x| = e / (e + 2), e = e^(2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1): no digits are
 * lost near zero. */
val kiln_expand_tanh(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    val n, a = size_of(&k, arg[0]);
    a = no_more(&k, a, real(&k, k.is_f64 ? 20 : 10)); /* there it is 1 */
    const val r = reduce(&k, add(&k, a, a), &n);
    const val q = mul(&k, exp_tail(&k, r), r);
    const val scale = power_of_two(&k, n);
    const val e = muladd(&k, scale, q, sub(&k, scale, real(&k, 1)));
    const val t = divide(&k, e, add(&k, e, real(&k, 2)));
    return KILN_FAULT(tanh_sign) ? t : with_sign(&k, t, arg[0]);
}
