/* What takes turns until every lane is done: fmod of floats, powers of integers.
 *
 * fmod is exact (C17, F.10.7.1). Each turn takes q s from r, s = 2^k y for the k that
 * makes q = trunc(r / s) at most 2^26, and r < s after it: the product of q with either
 * half of s has no more than 53 bits, and so have the differences. */
#include "compiler/loop/formula.h"

/* ---- fmod --------------------------------------------------------------------------
 */

/* floor(log2 x) of a positive x, subnormal ones too. */
static val exponent(const num *k, val x) {
    const val tiny = less(k, x, real(k, 0x1p-1022));
    const val scaled = pick(k, tiny, mul(k, x, real(k, 0x1p64)), x);
    const val shift = pick(k, tiny, whole(k, k->bias + 64), whole(k, k->bias));
    return isub(k, shift_right(k, bits_of(k, scaled), k->mantissa), shift);
}

static val truncated(const num *k, val x) {
    return has(k, KILN_INTRIN_trunc) ? call(k, KILN_INTRIN_trunc, x, NULL, NULL)
                                     : kiln_math_round(k, KILN_INTRIN_trunc, x);
}

/* One turn: r >= b > 0 in lanes that count. */
static val take(const num *k, val r, val b) {
    const val of_r = exponent(k, r), of_b = exponent(k, b);
    const val up = binary(k, KILN_EXPR_MAX, isub(k, isub(k, of_r, of_b), whole(k, 24)),
                          whole(k, 0));
    /* of lanes that do not count, too */
    const val shift = binary(k, KILN_EXPR_MIN, up, whole(k, 2046));
    const val half = shift_right(k, shift, 1), rest = isub(k, shift, half);
    const val most = mul(k, b, power_of_two(k, half));
    const val s = mul(k, most, power_of_two(k, rest));
    const val q = truncated(k, divide(k, r, s));
    const val high = float_of(k, iand(k, bits_of(k, s), whole(k, -((int64_t)1 << 27))));
    const val low = sub(k, s, high);
    const val left = sub(k, sub(k, r, mul(k, q, high)), mul(k, q, low));
    return pick(k, less(k, left, real(k, 0)), add(k, left, s), left);
}

val kiln_expand_fmod(kiln_formula *f, kiln_intrin i, const val *arg) {
    const num narrow = num_of(f, arg[0]);
    const val x = cast(&narrow, KILN_F64, arg[0]), y = cast(&narrow, KILN_F64, arg[1]);
    num k = num_of(f, x);
    const val zero = real(&k, 0), a = size_of(&k, x), b = size_of(&k, y);
    (void)i;
    /* Of nothing, of infinity or of NaN there is none; the loop does not see those. */
    const val is_good = both(&k, less(&k, a, infinity_of(&k)), less(&k, zero, b));
    const val by = pick(&k, is_good, b, real(&k, 1));
    kiln_formula_loop l = {.outside = f, .lanes = x->lanes};
    const val r = kiln_formula_state(&l, pick(&k, is_good, a, zero));
    const val cond = kiln_x_binary(f->arena, KILN_EXPR_LE, by, r);
    kiln_formula turn = kiln_formula_inner(f), after = kiln_formula_inner(f);
    k.f = &turn;
    const val next = pick(&k, at_most(&k, by, r), take(&k, r, by), r);
    k.f = &after;
    const val v = with_sign(&k, pick(&k, is_good, r, nan_of(&k)), x);
    return kiln_formula_turns(&l, cond, &turn, &next, &after,
                              cast(&k, arg[0]->dtype, v));
}

/* ---- powers of integers ------------------------------------------------------------
 */

static val op(kiln_formula *f, kiln_expr_kind kind, val x, val y) {
    return kiln_formula_keep(f, kiln_x_binary(f->arena, kind, x, y));
}

static val choose(kiln_formula *f, val cond, val yes, val no) {
    return kiln_formula_keep(f, kiln_x_select(f->arena, cond, yes, no));
}

/* 1 or -1 of 1 and -1, else 0: what a negative power is, cut towards zero. */
static val negative_power(kiln_formula *f, val x, val y) {
    const kiln_dtype d = x->dtype;
    const val zero = kiln_x_int(f->arena, d, 0), one = kiln_x_int(f->arena, d, 1);
    const val minus = kiln_x_int(f->arena, d, -1);
    const val odd = op(f, KILN_EXPR_NE, op(f, KILN_EXPR_AND, y, one), zero);
    const val r =
        choose(f, op(f, KILN_EXPR_EQ, x, minus), choose(f, odd, minus, one), zero);
    return choose(f, op(f, KILN_EXPR_EQ, x, one), one, r);
}

/* By squaring; wraps. */
val kiln_expand_pow_int(kiln_formula *f, kiln_intrin i, const val *arg) {
    const kiln_dtype d = arg[0]->dtype;
    const bool is_signed = kiln_dtype_get(d)->is_signed;
    const val zero = kiln_x_int(f->arena, d, 0), one = kiln_x_int(f->arena, d, 1);
    kiln_formula_loop l = {.outside = f, .lanes = arg[0]->lanes};
    val power = arg[1], negative = NULL;
    (void)i;
    if (is_signed) {
        negative = op(f, KILN_EXPR_LT, power, zero);
        power = choose(f, negative, zero, power);
    }
    const val product = kiln_formula_state(&l, one);
    const val square = kiln_formula_state(&l, arg[0]);
    const val left = kiln_formula_state(&l, power);
    const val cond = kiln_x_binary(f->arena, KILN_EXPR_NE, left, zero);
    kiln_formula turn = kiln_formula_inner(f), after = kiln_formula_inner(f);
    const val odd = op(&turn, KILN_EXPR_NE, op(&turn, KILN_EXPR_AND, left, one), zero);
    const val next[3] = {
        choose(&turn, odd, op(&turn, KILN_EXPR_MUL, product, square), product),
        op(&turn, KILN_EXPR_MUL, square, square), op(&turn, KILN_EXPR_SHR, left, one)};
    const val v = is_signed ? choose(&after, negative,
                                     negative_power(&after, arg[0], arg[1]), product)
                            : product;
    return kiln_formula_turns(&l, cond, &turn, next, &after, v);
}
