/* Inverse trigonometric functions (Abramowitz, Stegun, 4.4).
 *
 * The polynomials interpolate (asin(s) / s - 1) / s^2 for s^2 <= 1/4 and (atan(s) / s -
 * 1) / s^2 for |s| <= tan(pi/8) in Chebyshev nodes; relative error below 1.1e-9 and
 * 2.4e-9 for f32, 5.4e-18 and 6.8e-18 for f64.
 *
 * Error in ulp: 4 each, f32 and f64. */
#include "compiler/loop/formula.h"

static const double pi = 3.14159265358979323846;

/* asin(s) for z = s^2 <= 1/4 */
static val asin_near(const num *k, val s, val z) {
    static const double f32[] = {0.16666666337430908,  0.07500094543497424,
                                 0.04459940152851218,  0.03110066273549457,
                                 0.017149238357677253, 0.03369084720283012};
    static const double f64[] = {
        0.16666666666666669,  0.07499999999998433,  0.04464285714635543,
        0.030381944138531247, 0.02237217294214989,  0.017352392720869973,
        0.013971212973552933, 0.011479177415184906, 0.01032281435018578,
        0.005457506718640358, 0.01740087944269402,  -0.014851887071247204,
        0.028757851367421566};
    const val p = k->is_f64 ? horner(k, f64, 13, z) : horner(k, f32, 6, z);
    return muladd(k, mul(k, s, z), p, s);
}

/* |x| > 1/2: asin |x| = pi/2 - 2 asin(s), acos |x| = 2 asin(s), s^2 = (1 - |x|) / 2. */
typedef struct arc {
    val is_outer; /* |x| > 1/2 */
    val y;        /* asin(is_outer ? s : |x|) */
} arc;

static arc arc_of(const num *k, val x) {
    const val half = real(k, 0.5), a = size_of(k, x);
    arc r = {.is_outer = less(k, half, a)};
    const val outer = mul(k, sub(k, real(k, 1), a), half);
    const val z = pick(k, r.is_outer, outer, mul(k, a, a));
    const val s = pick(k, r.is_outer, root(k, outer), a);
    r.y = asin_near(k, s, z);
    return r;
}

val kiln_expand_asin(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    const arc r = arc_of(&k, arg[0]);
    (void)i;
    const val outer = muladd(&k, r.y, real(&k, -2), real(&k, pi / 2));
    return with_sign(&k, pick(&k, r.is_outer, outer, r.y), arg[0]);
}

val kiln_expand_acos(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    const arc r = arc_of(&k, arg[0]);
    (void)i;
    const val inner = sub(&k, real(&k, pi / 2), with_sign(&k, r.y, arg[0]));
    const val twice = add(&k, r.y, r.y);
    const val outer =
        pick(&k, less(&k, arg[0], real(&k, 0)), sub(&k, real(&k, pi), twice), twice);
    return pick(&k, r.is_outer, outer, inner);
}

/* Past tan(3 pi / 8): pi/2 + atan(-1 / a); past tan(pi / 8): pi/4 + atan((a - 1) / (a +
 * 1)). */
val kiln_expand_atan(kiln_formula *f, kiln_intrin i, const val *arg) {
    static const double f32[] = {-0.3333333176116848, 0.19999540483639133,
                                 -0.14263955597644032, 0.10743731487109608,
                                 -0.0645192819592033};
    static const double f64[] = {
        -0.3333333333333333,  0.1999999999999552,   -0.14285714284666542,
        0.11111111015256357,  -0.09090904578123737, 0.07692183190822273,
        -0.06664511447328225, 0.05858148912335523,  -0.050854497354980904,
        0.039231658225033876, -0.019176887032657384};
    const num k = num_of(f, arg[0]);
    const val a = size_of(&k, arg[0]), one = real(&k, 1);
    (void)i;
    const val past_low = less(&k, real(&k, 0.41421356237309504880), a);
    const val past_high = less(&k, real(&k, 2.41421356237309504880), a);
    val p = pick(&k, past_low, sub(&k, a, one), a);
    val q = pick(&k, past_low, add(&k, a, one), one);
    val at = pick(&k, past_low, real(&k, pi / 4), real(&k, 0));
    p = pick(&k, past_high, real(&k, -1), p);
    q = pick(&k, past_high, a, q);
    at = pick(&k, past_high, real(&k, pi / 2), at);
    const val s = divide(&k, p, q), z = mul(&k, s, s);
    const val c = k.is_f64 ? horner(&k, f64, 11, z) : horner(&k, f32, 5, z);
    return with_sign(&k, add(&k, at, muladd(&k, mul(&k, s, z), c, s)), arg[0]);
}
