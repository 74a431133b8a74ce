/* Exact functions: rounding, signs, NaN; and what is one operation of others. */
#include "compiler/loop/formula.h"

/* |x| + 2^mantissa - 2^mantissa rounds to nearest even; from 2^mantissa on every number
 * is whole. */
val kiln_math_round(const num *k, kiln_intrin how, val x) {
    const val big = real(k, k->is_f64 ? 0x1p52 : 0x1p23);
    const val a = size_of(k, x), zero = real(k, 0), one = real(k, 1);
    val r = pick(k, less(k, a, big), sub(k, add(k, a, big), big), a);
    if (how == KILN_INTRIN_trunc) {
        r = sub(k, r, pick(k, less(k, a, r), one, zero));
        return with_sign(k, r, x);
    }
    r = with_sign(k, r, x);
    if (how == KILN_INTRIN_floor)
        r = sub(k, r, pick(k, less(k, x, r), one, zero));
    else if (how == KILN_INTRIN_ceil)
        r = add(k, r, pick(k, less(k, r, x), one, zero));
    return with_sign(k, r, x);
}

val kiln_expand_rounding(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    return kiln_math_round(&k, i, arg[0]);
}

val kiln_expand_same_int(kiln_formula *f, kiln_intrin i, const val *arg) {
    (void)f;
    (void)i;
    return arg[0];
}

val kiln_expand_abs(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return size_of(&k, arg[0]);
}

/* The smallest wraps. */
val kiln_expand_abs_int(kiln_formula *f, kiln_intrin i, const val *arg) {
    const val zero = kiln_x_int(f->arena, arg[0]->dtype, 0);
    (void)i;
    if (!kiln_dtype_get(arg[0]->dtype)->is_signed)
        return arg[0];
    return kiln_x_select(f->arena, kiln_x_less(f->arena, arg[0], zero),
                         kiln_x_sub(f->arena, zero, arg[0]), arg[0]);
}

val kiln_expand_copysign(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return with_sign(&k, arg[0], arg[1]);
}

val kiln_expand_isnan(kiln_formula *f, kiln_intrin i, const val *arg) {
    (void)i;
    return kiln_x_binary(f->arena, KILN_EXPR_NE, arg[0], arg[0]);
}

val kiln_expand_isnan_int(kiln_formula *f, kiln_intrin i, const val *arg) {
    (void)i;
    return kiln_x_broadcast(f->arena, kiln_x_int(f->arena, KILN_BOOL, 0),
                            arg[0]->lanes);
}

val kiln_expand_rsqrt(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    (void)i;
    return divide(&k, real(&k, 1), root(&k, arg[0]));
}

/* Exact product and one addition in double; for double there is nothing wider. */
val kiln_expand_fma(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    val wide[3];
    (void)i;
    if (k.is_f64)
        return kiln_formula_fail(f,
                                 "intrinsic 'fma' of f64 needs an fma instruction, "
                                 "which profile '%s' has not",
                                 f->natives->name);
    for (int j = 0; j < 3; j++)
        wide[j] = cast(&k, KILN_F64, arg[j]);
    return cast(&k, KILN_F32, add(&k, mul(&k, wide[0], wide[1]), wide[2]));
}

/* Division by a number that is often the same for many: what depends on it alone is
 * computed once, and each quotient takes a multiplication and three multiply-adds, with
 * no divider waited for. Where there is no fused multiply-add it is the division.
 *
 * Let u be the unit roundoff, Q = x / y, and every operation rounded to nearest; under the
 * limits of intrinsics.def none of them, of f32 or wider, leaves the normal range, but for
 * zeros and for |Q| < 2^-10, where what is lost is below 2^-80.
 *
 *   r = 1 / y        r = (1 + e) / y with |e| <= u / (1 + u)
 *   l = (1 - y r) r  1 - y r is exact: (r + l) y = 1 + d with |d| <= 2.1 u^2
 *   q = x r + x l    what is rounded last is Q (1 + d'), |d'| <= 3.2 u^2, which is less than
 *                    half an ulp off: q is Q, or one of the two floats beside it
 *   (x - q y) r + q  with such a q and such an r is Q, rounded to nearest: x - q y is exact,
 *                    and what is rounded last is Q + (Q - q) e. For S the significand of y,
 *                    an integer, Q is S^-1 / 2 ulp or more from where rounding turns, so
 *                    more than u / 2 ulp, which |(Q - q) e| is less than there.
 *
 * Source: Markstein, "Computation of elementary functions on the IBM RISC System/6000
 * processor", IBM J. Res. Dev. 34 (1990), theorem 5; the two factors: Brisebarre, Muller and
 * Raina, "Accelerating correctly rounded floating-point division when the divisor is known
 * in advance", IEEE Trans. Computers 53 (2004). */
val kiln_expand_quotient(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num k = num_of(f, arg[0]);
    const val x = arg[0], y = arg[1];
    (void)i;
    if (!has(&k, KILN_INTRIN_fma))
        return divide(&k, x, y);
    const val r = divide(&k, real(&k, 1), y), less = neg(&k, y);
    const val l = mul(&k, call(&k, KILN_INTRIN_fma, less, r, real(&k, 1)), r);
    const val q = call(&k, KILN_INTRIN_fma, x, r, mul(&k, x, l));
    return call(&k, KILN_INTRIN_fma, call(&k, KILN_INTRIN_fma, q, less, x), r, q);
}
