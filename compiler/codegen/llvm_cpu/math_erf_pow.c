/* Error function and power.
 *
 * Error in ulp (tests/compiler/codegen/test_math.c): erf 4, f32 and f64; pow 1 for f32,
 * 2 for f64. */
#include "compiler/codegen/llvm_cpu/math_num.h"
#include "base/fault.h"

/* ---- erf ------------------------------------------------------------------------- */

/* exp(x^2) erfc(x) for x >= 1, interpolated in Chebyshev nodes as a polynomial in t -
 * 1/2, t = 1 / (1 + x/2): relative error 1.6e-9 up to x = 4 (f32), 5.3e-16 up to 6
 * (f64), and erfc(1) = 0.16. */
static const double tail_f32[] = {0.2553956762127195,   0.854371695439059,
                                  0.9666328762493845,   0.6318279904539565,
                                  0.059710663733826906, -0.2238128295208498,
                                  -0.05344434039224778, 0.12023762270769921};
static const double tail_f64[] = {
    0.25539567631050575,  0.8543716948279168,    0.9666327769698658,
    0.631828648125857,    0.05972627846924422,   -0.2239187756544142,
    -0.0542171680589046,  0.12569305940068978,   0.011150234161959609,
    -0.08927291671240839, 0.028186091889875014,  0.05648356285297825,
    -0.0572132241480559,  -0.011408352736205234, 0.062082509107338674,
    -0.03860324422656191, -0.03488282611322576,  0.05525079397811252};

/* |x| < 1: the Taylor series (2 / sqrt(pi)) sum (-1)^i x^(2i+1) / (i! (2i+1)), whose
 * rest is below 1.3e-9 (f32, 11 terms), 4e-18 (f64, 19). From there to 4 or 6: 1 -
 * exp(-x^2) times the tail. Beyond the result is 1. */
LLVMValueRef kiln_cg_math_erf(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const int terms = k.is_f64 ? 19 : 11;
    const LLVMValueRef one = real(&k, 1), limit = real(&k, k.is_f64 ? 6 : 4);
    double near[19], factor = 1.12837916709551257390; /* 2 / sqrt(pi) */
    for (int i = 0; i < terms; i++) {
        near[i] = factor / (2 * i + 1);
        factor /= -(i + 1);
    }
    LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x);
    a = pick(&k, LLVMRealOGT, a, limit, limit, a);
    const LLVMValueRef square = mul(&k, a, a);
    const LLVMValueRef low = mul(&k, horner(&k, near, terms, square), a);
    const LLVMValueRef t =
        LLVMBuildFDiv(g->b, one, muladd(&k, a, real(&k, 0.5), one), "");
    const LLVMValueRef u = sub(&k, t, real(&k, 0.5));
    const LLVMValueRef e = kiln_cg_math_exp(g, LLVMBuildFNeg(g->b, square, ""), lanes);
    const LLVMValueRef tail =
        mul(&k, e, k.is_f64 ? horner(&k, tail_f64, 18, u) : horner(&k, tail_f32, 8, u));
    return with_sign(&k,
                     pick(&k, LLVMRealOLT, a, KILN_FAULT(erf_near) ? real(&k, 0) : one,
                          low, sub(&k, one, tail)),
                     x);
}

/* ---- pow ------------------------------------------------------------------------- */

/* An unevaluated sum, |low| <= ulp(high) / 2. */
typedef struct pair {
    LLVMValueRef high, low;
} pair;

/* Exactly x + y where |x| >= |y| or x is 0 (Dekker, 1971). */
static pair fast_sum(const num *k, LLVMValueRef x, LLVMValueRef y) {
    const LLVMValueRef s = add(k, x, y);
    return (pair){s, sub(k, y, sub(k, s, x))};
}

static LLVMValueRef upper_half(const num *k, LLVMValueRef x) {
    return float_of(
        k, LLVMBuildAnd(k->g->b, bits_of(k, x), whole(k, -((int64_t)1 << 27)), ""));
}

/* Exactly x y: by fma, or from products of 26 and 27 bits (Dekker, 1971). */
static pair product(const num *k, LLVMValueRef x, LLVMValueRef y) {
    const LLVMValueRef p = mul(k, x, y);
    if (kiln_cg_has_fma(k->g)) {
        LLVMTypeRef t = LLVMTypeOf(x);
        LLVMValueRef arg[3] = {x, y, LLVMBuildFNeg(k->g->b, p, "")};
        return (pair){p, kiln_cg_intrinsic(k->g, "llvm.fma", &t, 1, arg, 3)};
    }
    const LLVMValueRef xh = upper_half(k, x), xl = sub(k, x, xh);
    const LLVMValueRef yh = upper_half(k, y), yl = sub(k, y, yh);
    LLVMValueRef e = sub(k, mul(k, xh, yh), p);
    e = add(k, e, mul(k, xh, yl));
    e = add(k, e, mul(k, xl, yh));
    return (pair){p, add(k, e, mul(k, xl, yl))};
}

static pair times(const num *k, pair x, pair y) {
    const pair p = product(k, x.high, y.high);
    const LLVMValueRef cross = muladd(k, x.high, y.low, mul(k, x.low, y.high));
    return fast_sum(k, p.high, add(k, p.low, cross));
}

/* x + y where |x.high| >= |y.high| or x is 0. */
static pair plus(const num *k, pair x, pair y) {
    const pair s = fast_sum(k, x.high, y.high);
    return fast_sum(k, s.high, add(k, s.low, add(k, x.low, y.low)));
}

/* s = f / (2 + f) as a pair, for m = 1 + f. */
static pair ratio(const num *k, LLVMValueRef m) {
    const LLVMValueRef f = sub(k, m, real(k, 1));
    const pair d = fast_sum(k, real(k, 2), f);
    const LLVMValueRef s = LLVMBuildFDiv(k->g->b, f, d.high, "");
    const pair back = product(k, s, d.high);
    LLVMValueRef rest = sub(k, sub(k, f, back.high), back.low);
    rest = sub(k, rest, mul(k, s, d.low));
    return fast_sum(k, s, LLVMBuildFDiv(k->g->b, rest, d.high, ""));
}

/* ln(a) to 2^-66, relative, for positive normal or subnormal a: e ln 2 + 2 s + 2/3 s^3
 * + 2/5 s^5 + ..., of which the rest from s^5 on is small enough for one number. */
static pair log_pair(const num *k, LLVMValueRef a) {
    const kiln_cg *g = k->g;
    const LLVMValueRef is_tiny =
        LLVMBuildFCmp(g->b, LLVMRealOLT, a, real(k, 0x1p-1022), "");
    const LLVMValueRef u =
        bits_of(k, LLVMBuildSelect(g->b, is_tiny, mul(k, a, real(k, 0x1p52)), a, ""));
    const LLVMValueRef shift =
        LLVMBuildSelect(g->b, is_tiny, whole(k, k->mantissa), whole(k, 0), "");
    const LLVMValueRef root = bits_of(k, real(k, 0.70710678118654752440));
    const LLVMValueRef e =
        LLVMBuildAShr(g->b, LLVMBuildSub(g->b, u, root, ""), whole(k, k->mantissa), "");
    const LLVMValueRef m = float_of(
        k, LLVMBuildSub(g->b, u, LLVMBuildShl(g->b, e, whole(k, k->mantissa), ""), ""));
    const LLVMValueRef n =
        LLVMBuildSIToFP(g->b, LLVMBuildSub(g->b, e, shift, ""), LLVMTypeOf(a), "");
    const pair s = ratio(k, m), s2 = times(k, s, s);
    double c[10]; /* 2 / (2 i + 5): the rest is below 2 * 0.172^25 / 25 = 6e-21 */
    for (int i = 0; i < 10; i++)
        c[i] = 2.0 / (2 * i + 5);
    const LLVMValueRef rest = mul(k, horner(k, c, 10, s2.high), s2.high);
    /* s^2 (2/3 + rest), then s (2 + that) */
    const pair third = plus(k, (pair){real(k, 2.0 / 3), real(k, 0x1.5555555555555p-55)},
                            (pair){rest, real(k, 0)});
    const pair inner = plus(k, (pair){real(k, 2), real(k, 0)}, times(k, s2, third));
    /* 42 bits of ln 2, so that n times them is exact */
    const LLVMValueRef n_high = mul(k, n, real(k, 0x1.62e42fefa38p-1));
    const LLVMValueRef n_low = mul(k, n, real(k, 0x1.ef35793c7673p-45));
    const pair whole_part = fast_sum(k, n_high, n_low);
    return plus(k, whole_part, times(k, s, inner));
}

/* Signs and special values of pow (C17, F.10.4.4), given the magnitude. */
static LLVMValueRef pow_special(const num *k, LLVMValueRef x, LLVMValueRef y,
                                LLVMValueRef magnitude) {
    const kiln_cg *g = k->g;
    const LLVMValueRef one = real(k, 1), zero = real(k, 0);
    const LLVMValueRef half = mul(k, y, real(k, 0.5));
    const LLVMValueRef whole_y =
        LLVMBuildFCmp(g->b, LLVMRealOEQ,
                      kiln_cg_math_round(g, KILN_INTRIN_round, y, k->lanes), y, "");
    const LLVMValueRef odd = LLVMBuildAnd(
        g->b, whole_y,
        LLVMBuildFCmp(g->b, LLVMRealUNE,
                      kiln_cg_math_round(g, KILN_INTRIN_round, half, k->lanes), half,
                      ""),
        "");
    /* a negative number other than infinity, to a power that is not whole */
    const LLVMValueRef broken = LLVMBuildNot(g->b, whole_y, "");
    const LLVMValueRef below = LLVMBuildFCmp(g->b, LLVMRealOLT, x, zero, "");
    const LLVMValueRef finite =
        LLVMBuildFCmp(g->b, LLVMRealONE, x, real(k, -(double)INFINITY), "");
    const LLVMValueRef undefined =
        LLVMBuildAnd(g->b, broken, LLVMBuildAnd(g->b, below, finite, ""), "");
    const LLVMValueRef is_one =
        LLVMBuildFCmp(g->b, LLVMRealOEQ, kiln_cg_unary(g, "llvm.fabs", x), one, "");
    const LLVMValueRef is_unit =
        LLVMBuildAnd(g->b, is_one, LLVMBuildFCmp(g->b, LLVMRealORD, y, y, ""), "");
    LLVMValueRef r = LLVMBuildSelect(g->b, is_unit, one, magnitude, "");
    r = LLVMBuildSelect(g->b, odd, with_sign(k, r, x), r, "");
    r = LLVMBuildSelect(g->b, undefined, real(k, (double)NAN), r, "");
    r = pick(k, LLVMRealOEQ, x, one, one, r);
    return pick(k, LLVMRealOEQ, y, zero, one, r);
}

/* f64: e^(y ln |x|) with the exponent in two parts: |y ln |x|| <= 746 to 2^-56. */
static LLVMValueRef magnitude(const num *k, LLVMValueRef a, LLVMValueRef y) {
    const LLVMValueRef huge = real(k, 1e4), zero = real(k, 0);
    const pair l = log_pair(k, a);
    const pair p = product(k, y, l.high);
    const LLVMValueRef low = muladd(k, y, l.low, p.low);
    /* Zero, infinity and NaN have a logarithm in one part; no low part where the high
     * one decides, or may be no number. */
    const LLVMValueRef above = LLVMBuildFCmp(k->g->b, LLVMRealOGT, a, zero, "");
    const LLVMValueRef finite =
        LLVMBuildFCmp(k->g->b, LLVMRealOLT, a, real(k, (double)INFINITY), "");
    const LLVMValueRef is_plain = LLVMBuildAnd(k->g->b, above, finite, "");
    const LLVMValueRef high = LLVMBuildSelect(
        k->g->b, is_plain, p.high, mul(k, y, kiln_cg_math_log(k->g, a, k->lanes)), "");
    const LLVMValueRef is_small =
        LLVMBuildAnd(k->g->b, is_plain,
                     LLVMBuildFCmp(k->g->b, LLVMRealOLT,
                                   kiln_cg_unary(k->g, "llvm.fabs", high), huge, ""),
                     "");
    return kiln_cg_math_exp_scaled(
        k->g, high, LLVMBuildSelect(k->g->b, is_small, low, zero, ""), 0, k->lanes);
}

/* f32: exp(y log |x|) in double: |y log |x|| <= 746 costs ten of its 53 bits. */
LLVMValueRef kiln_cg_math_pow(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                              int lanes) {
    const LLVMTypeRef t = LLVMTypeOf(x), f64 = kiln_cg_vector(g->f64, lanes);
    const bool is_f32 = t != f64;
    if (is_f32) {
        x = LLVMBuildFPExt(g->b, x, f64, "");
        y = LLVMBuildFPExt(g->b, y, f64, "");
    }
    const num k = num_of(g, x, lanes);
    const LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x);
    const LLVMValueRef m =
        is_f32 ? kiln_cg_math_exp(g, mul(&k, y, kiln_cg_math_log(g, a, lanes)), lanes)
               : magnitude(&k, a, y);
    const LLVMValueRef r = pow_special(&k, x, y, m);
    return is_f32 ? LLVMBuildFPTrunc(g->b, r, t, "") : r;
}
