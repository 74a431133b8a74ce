/* log and log1p: the series of log(1 + f) in s = f / (2 + f), |s| <= 0.172, as in
 * fdlibm's e_log.c.
 *
 * Error in ulp, with or without fused multiply-add: log 2, log1p 3. */
#include "compiler/loop/formula.h"

/* sum 2 z^i / (2 i + 1): the rest is below 2 * 0.0295^5 / 11 = 4e-9 for f32 (4 terms),
 * 2 * 0.0295^11 / 23 = 1.3e-18 for f64 (10). */
static val log_series(const num *k, val z) {
    const int last = k->is_f64 ? 10 : 4;
    val p = real(k, 2.0 / (2 * last + 1));
    for (int i = last; i-- > 1;)
        p = muladd(k, p, z, real(k, 2.0 / (2 * i + 1)));
    return mul(k, p, z);
}

val kiln_math_log(const num *k, val x) {
    /* Subnormal numbers are scaled up. */
    const val tiny = less(k, x, real(k, k->is_f64 ? 0x1p-1022 : 0x1p-126));
    const val scaled =
        pick(k, tiny, mul(k, x, real(k, k->is_f64 ? 0x1p52 : 0x1p23)), x);
    const val shift = pick(k, tiny, whole(k, k->mantissa), whole(k, 0));
    /* scaled = 2^e m, sqrt(1/2) <= m < sqrt(2) */
    const val u = bits_of(k, scaled);
    const val least = bits_of(k, real(k, 0.70710678118654752440));
    const val e = shift_right(k, isub(k, u, least), k->mantissa);
    const val m = float_of(k, isub(k, u, shift_left(k, e, k->mantissa)));
    const val n = cast(k, k->dtype, isub(k, e, shift));
    const val f = sub(k, m, real(k, 1));
    const val s = divide(k, f, add(k, f, real(k, 2)));
    const val series = log_series(k, mul(k, s, s));
    const val h = mul(k, mul(k, f, f), real(k, 0.5));
    /* n ln 2 + f - (h - s (h + series)), small parts first */
    const val sum = add(k, h, series);
    val r = muladd(k, s, sum, mul(k, n, real(k, ln2_low(k))));
    r = sub(k, f, sub(k, h, r));
    r = muladd(k, n, real(k, ln2_high(k)), r);
    r = pick(k, equal(k, x, infinity_of(k)), x, r);
    r = pick(k, equal(k, x, real(k, 0)), real(k, -(double)INFINITY), r);
    return pick(k, at_most(k, real(k, 0), x), r, nan_of(k));
}

/* u = 1 + x was rounded: log u + (x - (u - 1)) / u, and u - 1 is exact. */
val kiln_math_log1p(const num *k, val x) {
    const val u = add(k, x, real(k, 1)), zero = real(k, 0);
    const val lost = sub(k, x, sub(k, u, real(k, 1)));
    /* At -1 and at infinity the logarithm is all. */
    val c = divide(k, lost, u);
    c = pick(k, equal(k, u, zero), zero, c);
    c = pick(k, equal(k, u, infinity_of(k)), zero, c);
    return with_sign(k, add(k, kiln_math_log(k, u), c), x);
}

val kiln_expand_log(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return kiln_math_log(&k, arg[0]);
}

val kiln_expand_log1p(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return kiln_math_log1p(&k, arg[0]);
}
