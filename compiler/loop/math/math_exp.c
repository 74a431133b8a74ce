/* exp, expm1, sigmoid and tanh as polynomials.
 *
 * Range reduction after Cody and Waite (Software Manual for the Elementary Functions,
 * 1980): ln 2 in two parts, of which n times the first is exact. The polynomials are,
 * for f64, Taylor series cut where the rest is below half an ulp, and for f32 those of
 * the least largest error (Lawson, 1961): |r| <= 0.347, of sigmoid 0.694.
 *
 * Error in ulp, with or without fused multiply-add: exp and exp_low 2, expm1 2, tanh 4, sigmoid 4.
 */
#include "compiler/loop/formula.h"
#include "base/fault.h"

/* x = n ln 2 + r. The sum with magic has n in its low bits, NaN or not: no conversion
 * that a NaN would make undefined. What magic has above them, raised shifts out. `with`
 * is added to n on the way, for nothing. */
static val reduce(const num *k, val x, int64_t with, val *n) {
    const val magic = real(k, k->magic + (double)with);
    const val t = muladd(k, x, real(k, 1.4426950408889634074), magic);
    const val nf = sub(k, t, magic);
    *n = bits_of(k, t);
    const val r = muladd(k, nf, real(k, -ln2_high(k)), x);
    return muladd(k, nf, real(k, -ln2_low(k)), r);
}

/* (e^r - 1) / r by powers of r, times a power of two, which costs nothing. f32: e^r is off
 * by 3e-9. f64: sum r^i / (i + 1)!, of which the rest is below 0.347^13 / 14! = 1.2e-17. */
static val exp_tail(const num *k, val r, double times) {
    double c[13] = {1,
                    0.49999993413005586,
                    0.16666520107876116,
                    0.041668393983069293,
                    0.0083687803778456278,
                    0.0013814483994532713};
    const int n = k->is_f64 ? 13 : 6;
    for (int i = 1; k->is_f64 && i < n; i++)
        c[i] = c[i - 1] / (i + 1);
    c[2] *= KILN_FAULT(exp_coefficient) ? 1.01 : 1;
    for (int i = 0; i < n; i++)
        c[i] *= times;
    return horner(k, c, n, r);
}

/* 2^(n - bias) for a number between 0 and twice the bias, and whatever above its bits. */
static val raised(const num *k, val n) {
    return float_of(k, shift_left(k, n, k->mantissa));
}

/* Below these all is less than half of the smallest number. */
static double least_exp(const num *k) { return k->is_f64 ? -746 : -104.5; }

val kiln_math_exp(const num *k, val x, val low, int shift) {
    /* Beyond these all is infinity. */
    val n, a = no_more(k, x, real(k, k->is_f64 ? 711 : 90));
    a = no_less(k, a, real(k, least_exp(k)));
    val r = reduce(k, a, shift + 2 * k->bias, &n);
    if (low != NULL)
        r = add(k, r, low);
    const val p = muladd(k, exp_tail(k, r, 1), r, real(k, 1));
    /* In two steps: 2^n itself may be no normal number. */
    const val half = shift_right(k, n, 1);
    const val rest = isub(k, n, half);
    const val most = mul(k, p, raised(k, half));
    return mul(k, most, raised(k, rest));
}

/* Of what is never large: 2 e^r 2^(n - 1), of which the power's bits are 0 where it is
 * no normal number, and so is the product. What comes near the smallest number is 0: a
 * result that is subnormal costs some processors over a hundred cycles, and weights of
 * a softmax have many (of masked terms all). */
val kiln_math_exp_low(const num *k, val x) {
    val n;
    /* There, n - 1 is the first that is none. */
    const val a = no_less(k, x, real(k, k->is_f64 ? -708.25 : -87.25));
    const val r = reduce(k, a, k->bias - 1, &n);
    const val p = muladd(k, exp_tail(k, r, 2), r, real(k, 2));
    return mul(k, p, raised(k, n));
}

val kiln_expand_exp_low(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return kiln_math_exp_low(&k, arg[0]);
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
    const val r = reduce(&k, a, k.bias - 1, &n);
    const val q = mul(&k, exp_tail(&k, r, 1), r);
    const val scale = raised(&k, n);
    const val half = muladd(&k, scale, q, sub(&k, scale, real(&k, 0.5)));
    return with_sign(&k, add(&k, half, half), arg[0]);
}

/* e^-r for |r| <= ln 2. f32: off by 1.5e-8 of it. f64: the series' rest is below
 * 0.694^17 / 17! = 6e-18. */
static val exp_down(const num *k, val r) {
    double c[17] = {1,
                    -1,
                    0.50000034730829997,
                    -0.16666613952541639,
                    0.041661258469154124,
                    -0.0083361104300687488,
                    0.0014104671257595628,
                    -0.00019611181354303024};
    const int n = k->is_f64 ? 17 : 8;
    for (int i = 2; k->is_f64 && i < n; i++)
        c[i] = -c[i - 1] / i;
    return horner(k, c, n, r);
}

/* 1 / (1 + e^-x), e^-x = 4^h e^-r: 2^-h / (2^-h + 2^h e^-r), in which nothing overflows
 * and which is rounded once, also where it is subnormal. Powers of four spare the second
 * half of n. */
val kiln_expand_sigmoid(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    const double most = k.is_f64 ? 746 : 104.5; /* beyond it is 0 or 1 */
    (void)i;
    const val x = no_less(&k, no_more(&k, arg[0], real(&k, most)), real(&k, -most));
    const val magic = real(&k, k.magic + (double)k.bias);
    const val t = muladd(&k, x, real(&k, -0.72134752044448170368), magic);
    const val h = sub(&k, t, magic);
    val r = muladd(&k, h, real(&k, 2 * ln2_high(&k)), x);
    r = muladd(&k, h, real(&k, 2 * ln2_low(&k)), r);
    const val up = raised(&k, bits_of(&k, t));
    const val both_biases = shift_left(&k, whole(&k, 2 * k.bias), k.mantissa);
    const val down = float_of(&k, isub(&k, both_biases, bits_of(&k, up)));
    return divide(&k, down, muladd(&k, exp_down(&k, r), up, down));
}

/* tanh |x| = e / (e + 2), e = e^(2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1): no digits are
 * lost near zero. */
val kiln_expand_tanh(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    val n, a = size_of(&k, arg[0]);
    a = no_more(&k, a, real(&k, k.is_f64 ? 20 : 10)); /* there it is 1 */
    const val r = reduce(&k, add(&k, a, a), k.bias, &n);
    const val q = mul(&k, exp_tail(&k, r, 1), r);
    const val scale = raised(&k, n);
    const val e = muladd(&k, scale, q, sub(&k, scale, real(&k, 1)));
    const val t = divide(&k, e, add(&k, e, real(&k, 2)));
    return KILN_FAULT(tanh_sign) ? t : with_sign(&k, t, arg[0]);
}
