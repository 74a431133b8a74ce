/* Hyperbolic functions and their inverses (Abramowitz, Stegun, 4.5 and 4.6).
 *
 * Error in ulp: sinh 4, cosh 4, asinh 8, acosh 8, atanh 8, f32 and f64. */
#include "compiler/loop/formula.h"

/* e^x / 2 does not overflow before the result does; its reciprocal is 4 times what is
 * wanted of e^-x. */
static val half_sum(const num *k, val a, bool is_sum) {
    const val e = kiln_math_exp(k, a, NULL, -1);
    const val small = divide(k, real(k, 0.25), e);
    return is_sum ? add(k, e, small) : sub(k, e, small);
}

val kiln_expand_cosh(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return half_sum(&k, size_of(&k, arg[0]), true);
}

/* |x| < 1: sum x^(2i+1) / (2i+1)!, whose rest is below 1/13! = 1.6e-10 for f32 (5
 * powers), 1/21! = 2e-20 for f64 (9). */
val kiln_expand_sinh(kiln_formula *f, kiln_intrin intrin, const val *arg) {
    const num k = num_of(f, arg[0]);
    const int last = k.is_f64 ? 9 : 5;
    double c[10] = {1};
    (void)intrin;
    for (int i = 1; i <= last; i++)
        c[i] = c[i - 1] / (2.0 * i * (2.0 * i + 1));
    const val a = size_of(&k, arg[0]), z = mul(&k, a, a);
    const val cube = mul(&k, a, z);
    const val near = muladd(&k, cube, horner(&k, c + 1, last, z), a);
    const val far = half_sum(&k, a, false);
    return with_sign(&k, pick(&k, less(&k, a, real(&k, 1)), near, far), arg[0]);
}

/* From here on sqrt(x^2 + 1) is x. */
static val huge(const num *k) { return real(k, k->is_f64 ? 0x1p28 : 0x1p12); }
static val log_of_double(const num *k, val x) {
    return add(k, kiln_math_log(k, x), real(k, 0.69314718055994530942));
}

/* log1p(a + a^2 / (1 + sqrt(a^2 + 1))) */
val kiln_expand_asinh(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    const val a = size_of(&k, arg[0]), one = real(&k, 1), z = mul(&k, a, a);
    (void)i;
    const val r = root(&k, add(&k, z, one));
    const val t = add(&k, a, divide(&k, z, add(&k, r, one)));
    const val far = log_of_double(&k, a), near = kiln_math_log1p(&k, t);
    return with_sign(&k, pick(&k, less(&k, huge(&k), a), far, near), arg[0]);
}

/* log1p(t + sqrt(2 t + t^2)), t = x - 1 */
val kiln_expand_acosh(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    const val x = arg[0], one = real(&k, 1), t = sub(&k, x, one);
    (void)i;
    const val r = root(&k, muladd(&k, t, t, add(&k, t, t)));
    const val far = log_of_double(&k, x), near = kiln_math_log1p(&k, add(&k, t, r));
    const val y = pick(&k, less(&k, huge(&k), x), far, near);
    return pick(&k, at_most(&k, one, x), y, nan_of(&k));
}

/* log1p(2 a / (1 - a)) / 2; past 1 the argument is below -1, hence NaN. */
val kiln_expand_atanh(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    const val a = size_of(&k, arg[0]), twice = add(&k, a, a);
    (void)i;
    const val t = divide(&k, twice, sub(&k, real(&k, 1), a));
    return with_sign(&k, mul(&k, kiln_math_log1p(&k, t), real(&k, 0.5)), arg[0]);
}
