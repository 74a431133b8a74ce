/* Error function, and what is made of it: x times the normal distribution.
 *
 * Error in ulp: erf 4, f32 and f64. gelu: 16, or 4 roundoffs (the negative tail is lost).
 */
#include "compiler/loop/formula.h"
#include "base/fault.h"

/* f32 takes erfc(x) = p(x)^-8: the root is so flat that a short polynomial will do, no
 * exponential is needed, and powers of p grow without end, so that nothing needs a limit.
 * Eighth powers make eight roundings of one, which 1 - erfc(x) divides by as much (after
 * Abramowitz and Stegun, 7.1.28). Coefficients: least squares, reweighted until the
 * largest error is least (Lawson, 1961). */
static val eighth(const num *k, val p) {
    for (int i = 0; i < 3; i++)
        p = mul(k, p, p);
    return p;
}

/* ---- erf ---------------------------------------------------------------------------
 */

/* |x| < 1: erf(x) / x by powers of x^2, relative error 4e-8. */
enum { NEAR_F32_TERMS = 6 };
static const double near_f32[NEAR_F32_TERMS] = {
    1.1283791222688266,    -0.37612326135735536,  0.11280179926064001,
    -0.026711305616180056, 0.0049175472406275413, -0.00056314232315223591};

/* |x| >= 1: erfc(x) is off by 1.3e-8. */
enum { ROOT_F32_TERMS = 8 };
static const double root_f32[ROOT_F32_TERMS] = {
    0.9967701880755934,     0.15792402518341786,   0.051879247327006238,
    0.071164428675316369,   -0.031448337798823122, 0.017177159107268608,
    -0.0038888566768873766, 0.00053425920408116934};

static val near_erf_f32(const num *k, val a) {
    return mul(k, horner(k, near_f32, NEAR_F32_TERMS, mul(k, a, a)), a);
}

static val tail_f32(const num *k, val a) {
    const val p = horner(k, root_f32, ROOT_F32_TERMS, a);
    return divide(k, real(k, 1), eighth(k, p));
}

/* exp(x^2) erfc(x) for x >= 1, interpolated in Chebyshev nodes as a polynomial in t -
 * 1/2, t = 1 / (1 + x/2): relative error 5.3e-16 up to 6, and erfc(1) = 0.16. */
enum { SCALED_F64_TERMS = 18 };
static const double scaled_f64[SCALED_F64_TERMS] = {
    0.25539567631050575,  0.8543716948279168,    0.9666327769698658,
    0.631828648125857,    0.05972627846924422,   -0.2239187756544142,
    -0.0542171680589046,  0.12569305940068978,   0.011150234161959609,
    -0.08927291671240839, 0.028186091889875014,  0.05648356285297825,
    -0.0572132241480559,  -0.011408352736205234, 0.062082509107338674,
    -0.03860324422656191, -0.03488282611322576,  0.05525079397811252};
enum { NEAR_F64_TERMS = 19 };

/* The Taylor series (2 / sqrt(pi)) sum (-1)^i x^(2i+1) / (i! (2i+1)), whose rest is
 * below 4e-18. */
static val near_erf_f64(const num *k, val a) {
    double near[NEAR_F64_TERMS], factor = 1.12837916709551257390; /* 2 / sqrt(pi) */
    for (int i = 0; i < NEAR_F64_TERMS; i++) {
        near[i] = factor / (2 * i + 1);
        factor /= -(i + 1);
    }
    return mul(k, horner(k, near, NEAR_F64_TERMS, mul(k, a, a)), a);
}

/* Beyond 6 it is as good as nothing. */
static val tail_f64(const num *k, val x) {
    const val one = real(k, 1), a = no_more(k, x, real(k, 6));
    const val t = divide(k, one, muladd(k, a, real(k, 0.5), one));
    const val u = sub(k, t, real(k, 0.5));
    const val e = kiln_math_exp_low(k, neg(k, mul(k, a, a)));
    return mul(k, e, horner(k, scaled_f64, SCALED_F64_TERMS, u));
}

static val erf_of(const num *k, val x) {
    const val a = size_of(k, x), one = real(k, 1);
    const val low = k->is_f64 ? near_erf_f64(k, a) : near_erf_f32(k, a);
    const val tail = k->is_f64 ? tail_f64(k, a) : tail_f32(k, a);
    const val is_near = less(k, a, KILN_FAULT(erf_near) ? real(k, 0) : one);
    return with_sign(k, pick(k, is_near, low, sub(k, one, tail)), x);
}

val kiln_expand_erf(kiln_formula *f, kiln_intrin intrin, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)intrin;
    return erf_of(&k, arg[0]);
}

/* ---- gelu --------------------------------------------------------------------------
 */

/* (2 P(X > 2m))^(-1/8) of the normal distribution, by powers of m up to 2.75: 2 m P is
 * off by 9e-9. Beyond it is smaller than is seen, and p goes on growing. */
enum { BUMP_F32_TERMS = 10 };
static const double bump_f32[BUMP_F32_TERMS] = {1,
                                                0.19947272705923974,
                                                0.17901683931322239,
                                                0.069654700312579044,
                                                0.012607789494018159,
                                                0.0093512207676104932,
                                                -9.980210563460313e-5,
                                                0.0018698675412250032,
                                                -0.00060102656807486078,
                                                0.00018697230527103922};

/* x P(X <= x) = max(x, 0) - |x| P(X > |x|), with u = x / 2: u + |u| - |u| / p^8. The
 * first sum is exact, and NaN at -infinity, as 0 times infinity is. The sign is x's, also
 * where the difference rounds to 0. */
static val gelu_f32(const num *k, val x) {
    const val u = mul(k, x, real(k, 0.5)), b = size_of(k, u);
    const val m = no_more(k, b, real(k, 16)); /* infinity / infinity */
    const val p = horner(k, bump_f32, BUMP_F32_TERMS, m);
    const val bump = divide(k, m, eighth(k, p));
    return with_sign(k, sub(k, add(k, u, b), bump), x);
}

val kiln_expand_gelu(kiln_formula *f, kiln_intrin intrin, const val *arg) {
    const num k = num_of(f, arg[0]);
    const val x = arg[0];
    (void)intrin;
    if (!k.is_f64)
        return gelu_f32(&k, x);
    const val e = erf_of(&k, mul(&k, x, real(&k, 0x1.6a09e667f3bcdp-1))); /* sqrt 1/2 */
    return mul(&k, mul(&k, x, real(&k, 0.5)), add(&k, e, real(&k, 1)));
}
