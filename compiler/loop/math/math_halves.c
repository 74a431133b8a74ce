/* f16 and bf16 as their bits, by integer arithmetic or by the conversions of f16 that
 * the back end has.
 *
 * binary16 to nearest even: normal results by adding half an ulp (minus one, plus the
 * lowest kept bit) to the bits of the float; subnormal results by adding 0.5, whose ulp
 * is that of binary16's subnormals, which makes the float adder round. bfloat16 is the
 * upper half of a float. */
#include "compiler/loop/formula.h"
#include "base/fault.h"

/* ---- numbers of 32 bits without a sign ---------------------------------------------
 */

static val u32(kiln_formula *f, int64_t v) { return kiln_x_int(f->arena, KILN_U32, v); }

static val op(kiln_formula *f, kiln_expr_kind kind, val x, val y) {
    return kiln_formula_keep(f, kiln_x_binary(f->arena, kind, x, y));
}

static val choose(kiln_formula *f, val cond, val yes, val no) {
    return kiln_formula_keep(f, kiln_x_select(f->arena, cond, yes, no));
}

static val as(kiln_formula *f, kiln_dtype dtype, val x) { /* the same bits */
    return kiln_formula_keep(f, kiln_x_bitcast(f->arena, dtype, x));
}

static val to(kiln_formula *f, kiln_dtype dtype, val x) { /* the same number */
    return kiln_formula_keep(f, kiln_x_cast(f->arena, dtype, x));
}

static val is_nan(kiln_formula *f, val x) { return op(f, KILN_EXPR_NE, x, x); }

/* x + bias + the bit that becomes the lowest: a shift then rounds to nearest even. */
static val biased(kiln_formula *f, val u, int shift, int64_t bias) {
    const val low =
        op(f, KILN_EXPR_AND, op(f, KILN_EXPR_SHR, u, u32(f, shift)), u32(f, 1));
    return op(f, KILN_EXPR_ADD, op(f, KILN_EXPR_ADD, u, u32(f, bias)), low);
}

/* ---- to halves ---------------------------------------------------------------------
 */

static val bf16_bits(kiln_formula *f, val x) {
    const val u = as(f, KILN_U32, x), nan = is_nan(f, x);
    const val quiet = op(f, KILN_EXPR_OR, u, u32(f, 0x400000));
    const val rounded = biased(f, u, 16, KILN_FAULT(bf16_truncated) ? -1 : 0x7FFF);
    return op(f, KILN_EXPR_SHR, choose(f, nan, quiet, rounded), u32(f, 16));
}

static val f16_bits(kiln_formula *f, val x) {
    const num k = num_of(f, x);
    const val all = as(f, KILN_U32, x);
    const val sign = op(f, KILN_EXPR_AND, all, u32(f, 0x80000000));
    const val u = op(f, KILN_EXPR_XOR, all, sign);
    /* Exponent rebased from 127 to 15; 0xFFF is half an ulp minus one. */
    const int64_t rebase = -((int64_t)(127 - 15) << 23) + 0xFFF;
    const val normal = op(f, KILN_EXPR_SHR, biased(f, u, 13, rebase), u32(f, 13));
    const val half = real(&k, 0.5);
    const val tiny =
        op(f, KILN_EXPR_SUB, as(f, KILN_U32, add(&k, as(f, KILN_F32, u), half)),
           as(f, KILN_U32, half));
    const val special = choose(f, is_nan(f, x), u32(f, 0x7E00), u32(f, 0x7C00));
    const val is_tiny = op(f, KILN_EXPR_LT, u, u32(f, (127 - 14) << 23));
    /* From 65520 on all is infinity; what is between overflows by its carry. */
    const val is_big = op(f, KILN_EXPR_LE, u32(f, (int64_t)(127 + 16) << 23), u);
    val r = choose(f, is_tiny, tiny, normal);
    r = choose(f, is_big, special, r);
    return op(f, KILN_EXPR_OR, r, op(f, KILN_EXPR_SHR, sign, u32(f, 16)));
}

val kiln_math_to_half(kiln_formula *f, kiln_dtype dtype, val x) {
    if (dtype == KILN_F16 && f->natives->has_f16_casts)
        return as(f, KILN_U16, to(f, KILN_F16, x));
    return to(f, KILN_U16, dtype == KILN_F16 ? f16_bits(f, x) : bf16_bits(f, x));
}

/* ---- from halves -------------------------------------------------------------------
 */

static val f16_value(kiln_formula *f, val h) {
    const num k = num_of(f, kiln_x_float(f->arena, KILN_F32, 0));
    const val exp_mask = u32(f, 0x7C00 << 13);
    val o = op(f, KILN_EXPR_SHL, op(f, KILN_EXPR_AND, h, u32(f, 0x7FFF)), u32(f, 13));
    const val exponent = op(f, KILN_EXPR_AND, o, exp_mask);
    o = op(f, KILN_EXPR_ADD, o, u32(f, (127 - 15) << 23));
    const val special = op(f, KILN_EXPR_ADD, o, u32(f, (128 - 16) << 23));
    /* A subnormal m * 2^-24: (1 + m / 2^10) * 2^-14 less 2^-14. */
    const val one_more = op(f, KILN_EXPR_ADD, o, u32(f, 1 << 23));
    const val tiny =
        as(f, KILN_U32, sub(&k, as(f, KILN_F32, one_more), real(&k, 0x1p-14)));
    const val is_special = op(f, KILN_EXPR_EQ, exponent, exp_mask);
    const val is_tiny = op(f, KILN_EXPR_EQ, exponent, u32(f, 0));
    o = choose(f, is_special, special, o);
    o = choose(f, is_tiny, tiny, o);
    const val sign =
        op(f, KILN_EXPR_SHL, op(f, KILN_EXPR_AND, h, u32(f, 0x8000)), u32(f, 16));
    return as(f, KILN_F32, op(f, KILN_EXPR_OR, o, sign));
}

val kiln_math_from_half(kiln_formula *f, kiln_dtype dtype, val bits) {
    if (dtype == KILN_F16 && f->natives->has_f16_casts)
        return to(f, KILN_F32, as(f, KILN_F16, bits));
    const val wide = to(f, KILN_U32, bits);
    if (dtype == KILN_F16)
        return f16_value(f, wide);
    return as(f, KILN_F32, op(f, KILN_EXPR_SHL, wide, u32(f, 16)));
}

/* ---- one rounding ------------------------------------------------------------------
 */

/* Boldo and Melquiond, "When double rounding is odd" (2005): truncate, and set the
 * lowest bit when anything was lost; rounding that to a format with at least two bits
 * less is exact rounding of x. */
static val round_to_odd(kiln_formula *f, val x) {
    const num k = num_of(f, x);
    const val near = to(f, KILN_F32, x), back = to(f, KILN_F64, near);
    const val u = as(f, KILN_U32, near);
    const val over = less(&k, size_of(&k, x), size_of(&k, back));
    const val down = op(f, KILN_EXPR_SUB, u, to(f, KILN_U32, over));
    const val odd = op(f, KILN_EXPR_OR, down, u32(f, 1));
    const val inexact = op(f, KILN_EXPR_NE, back, x); /* or NaN, which odd stays */
    return as(f, KILN_F32, choose(f, inexact, odd, u));
}

/* Of more than 53 bits the lowest 11 become one, which tells whether there were any
 * (rounding to odd): the rounding that follows is then the only one. */
static val fit_in_double(kiln_formula *f, val x) {
    const kiln_dtype d = x->dtype;
    const bool sign = kiln_dtype_get(d)->is_signed;
    const int64_t most = (int64_t)1 << 53;
    const val zero = kiln_x_int(f->arena, d, 0);
    const val low = op(f, KILN_EXPR_AND, x, kiln_x_int(f->arena, d, 0x7FF));
    const val sticky =
        choose(f, op(f, KILN_EXPR_NE, low, zero), kiln_x_int(f->arena, d, 0x800), zero);
    const val odd = op(f, KILN_EXPR_OR, op(f, KILN_EXPR_SUB, x, low), sticky);
    const val shifted =
        sign ? op(f, KILN_EXPR_ADD, x, kiln_x_int(f->arena, d, most)) : x;
    const val fits = op(f, KILN_EXPR_LE, as(f, KILN_U64, shifted),
                        kiln_x_int(f->arena, KILN_U64, sign ? 2 * most : most));
    return choose(f, fits, x, odd);
}

val kiln_math_before_half(kiln_formula *f, val x) {
    if (!kiln_dtype_is_float(x->dtype)) {
        if (kiln_dtype_bytes(x->dtype) == 8)
            x = fit_in_double(f, x);
        x = to(f, KILN_F64, x);
    }
    return x->dtype == KILN_F64 ? round_to_odd(f, x) : x;
}
