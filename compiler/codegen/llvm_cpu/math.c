/* exp, log, tanh and sigmoid as polynomials, for f32 and f64; erf and pow for f32;
 * rounding without an instruction for it.
 *
 * Range reduction after Cody and Waite (Software Manual for the Elementary Functions,
 * 1980): ln 2 in two parts, of which n times the first is exact. The polynomials are
 * Taylor series cut where the rest is below half an ulp: |r| <= 0.347 for exp, the
 * series of log(1 + f) in s = f / (2 + f), |s| <= 0.172, as in fdlibm's e_log.c.
 *
 * Error in ulp (tests/compiler/codegen/test_math.c holds f32 to it over the range),
 * with or without fused multiply-add: exp 2, log 2, tanh 4, sigmoid 4, erf 4, pow 1.
 * Sigmoid below -88 (f32; -709 f64) is flushed to 0. */
#include "compiler/codegen/llvm_cpu/math.h"

#include <math.h>

typedef struct num {
    const kiln_cg *g;
    int lanes;
    bool is_f64;
    int mantissa;  /* stored bits */
    int64_t bias;  /* of the exponent */
    LLVMTypeRef f; /* scalar types */
    LLVMTypeRef i;
    double magic; /* 1.5 * 2^mantissa: adding it rounds to an integer */
} num;

static num num_of(const kiln_cg *g, LLVMValueRef x, int lanes) {
    LLVMTypeRef t = LLVMTypeOf(x);
    if (lanes > 1)
        t = LLVMGetElementType(t);
    if (t == g->f64)
        return (num){g, lanes, true, 52, 1023, g->f64, g->i64, 0x1.8p52};
    return (num){g, lanes, false, 23, 127, g->f32, g->i32, 0x1.8p23};
}

static LLVMValueRef real(const num *k, double v) {
    return kiln_cg_real(k->g, k->f, v, k->lanes);
}
static LLVMValueRef whole(const num *k, int64_t v) {
    return kiln_cg_int(k->g, k->i, v, k->lanes);
}
static LLVMValueRef bits_of(const num *k, LLVMValueRef x) {
    return LLVMBuildBitCast(k->g->b, x, kiln_cg_vector(k->i, k->lanes), "");
}
static LLVMValueRef float_of(const num *k, LLVMValueRef u) {
    return LLVMBuildBitCast(k->g->b, u, kiln_cg_vector(k->f, k->lanes), "");
}
static LLVMValueRef add(const num *k, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildFAdd(k->g->b, x, y, "");
}
static LLVMValueRef sub(const num *k, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildFSub(k->g->b, x, y, "");
}
static LLVMValueRef mul(const num *k, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildFMul(k->g->b, x, y, "");
}
static LLVMValueRef muladd(const num *k, LLVMValueRef x, LLVMValueRef y,
                           LLVMValueRef z) {
    LLVMTypeRef t = LLVMTypeOf(x);
    LLVMValueRef arg[3] = {x, y, z};
    return kiln_cg_intrinsic(k->g, "llvm.fmuladd", &t, 1, arg, 3);
}
/* cond(x, y) ? yes : no; with NaN as the predicate says. */
static LLVMValueRef pick(const num *k, LLVMRealPredicate p, LLVMValueRef x,
                         LLVMValueRef y, LLVMValueRef yes, LLVMValueRef no) {
    return LLVMBuildSelect(k->g->b, LLVMBuildFCmp(k->g->b, p, x, y, ""), yes, no, "");
}

/* 2^n for an integer n that gives a normal number. */
static LLVMValueRef power_of_two(const num *k, LLVMValueRef n) {
    const LLVMValueRef e = LLVMBuildAdd(k->g->b, n, whole(k, k->bias), "");
    return float_of(k, LLVMBuildShl(k->g->b, e, whole(k, k->mantissa), ""));
}

static double ln2_high(const num *k) {
    return k->is_f64 ? 6.93147180369123816490e-01 : 0.693359375;
}
static double ln2_low(const num *k) {
    return k->is_f64 ? 1.90821492927058770002e-10 : -2.12194440e-4;
}

/* x = n ln 2 + r. The sum with magic has n in its low bits, NaN or not: no conversion
 * that a NaN would make undefined. */
static LLVMValueRef reduce(const num *k, LLVMValueRef x, LLVMValueRef *n) {
    const LLVMValueRef magic = real(k, k->magic);
    const LLVMValueRef t = add(k, mul(k, x, real(k, 1.4426950408889634074)), magic);
    const LLVMValueRef nf = sub(k, t, magic);
    *n = LLVMBuildSub(k->g->b, bits_of(k, t), bits_of(k, magic), "");
    const LLVMValueRef r = muladd(k, nf, real(k, -ln2_high(k)), x);
    return muladd(k, nf, real(k, -ln2_low(k)), r);
}

/* (e^r - 1) / r = sum r^i / (i + 1)!: the rest is below 0.347^7/8! = 1.5e-8 of the
 * result's 1 for f32 (6 powers), 0.347^13/14! = 1.2e-17 for f64 (12). */
static LLVMValueRef exp_tail(const num *k, LLVMValueRef r) {
    const int last = k->is_f64 ? 12 : 6;
    double c[16] = {1};
    for (int i = 1; i <= last; i++)
        c[i] = c[i - 1] / (i + 1);
    LLVMValueRef p = real(k, c[last]);
    for (int i = last; i-- > 0;)
        p = muladd(k, p, r, real(k, c[i]));
    return p;
}

LLVMValueRef kiln_cg_math_exp(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    /* Beyond these all is infinity, or below half the smallest number. */
    const LLVMValueRef high = real(&k, k.is_f64 ? 710 : 89);
    const LLVMValueRef low = real(&k, k.is_f64 ? -746 : -104.5);
    LLVMValueRef n;
    x = pick(&k, LLVMRealOGT, x, high, high, x);
    x = pick(&k, LLVMRealOLT, x, low, low, x);
    const LLVMValueRef r = reduce(&k, x, &n);
    const LLVMValueRef p = muladd(&k, exp_tail(&k, r), r, real(&k, 1));
    /* In two steps: 2^n itself may be no normal number. */
    const LLVMValueRef half = LLVMBuildAShr(g->b, n, whole(&k, 1), "");
    const LLVMValueRef rest = LLVMBuildSub(g->b, n, half, "");
    return mul(&k, mul(&k, p, power_of_two(&k, half)), power_of_two(&k, rest));
}

LLVMValueRef kiln_cg_math_sigmoid(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef e = kiln_cg_math_exp(g, LLVMBuildFNeg(g->b, x, ""), lanes);
    return LLVMBuildFDiv(g->b, real(&k, 1), add(&k, e, real(&k, 1)), "");
}

static LLVMValueRef with_sign(const num *k, LLVMValueRef magnitude, LLVMValueRef sign) {
    LLVMTypeRef t = LLVMTypeOf(sign);
    LLVMValueRef arg[2] = {magnitude, sign};
    return kiln_cg_intrinsic(k->g, "llvm.copysign", &t, 1, arg, 2);
}

/* tanh |x| = e / (e + 2), e = e^(2|x|) - 1 = 2^n (e^r - 1) + (2^n - 1): no digits are
 * lost near zero. */
LLVMValueRef kiln_cg_math_tanh(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef limit = real(&k, k.is_f64 ? 20 : 10); /* there it is 1 */
    LLVMValueRef n, a = kiln_cg_unary(g, "llvm.fabs", x);
    a = pick(&k, LLVMRealOGT, a, limit, limit, a);
    const LLVMValueRef r = reduce(&k, add(&k, a, a), &n);
    const LLVMValueRef q = mul(&k, exp_tail(&k, r), r);
    const LLVMValueRef scale = power_of_two(&k, n);
    const LLVMValueRef e = muladd(&k, scale, q, sub(&k, scale, real(&k, 1)));
    const LLVMValueRef t = LLVMBuildFDiv(g->b, e, add(&k, e, real(&k, 2)), "");
    return with_sign(&k, t, x);
}

/* sum 2 z^i / (2 i + 1): the rest is below 2 * 0.0295^5 / 11 = 4e-9 for f32 (4 terms),
 * 2 * 0.0295^11 / 23 = 1.3e-18 for f64 (10). */
static LLVMValueRef log_series(const num *k, LLVMValueRef z) {
    const int last = k->is_f64 ? 10 : 4;
    LLVMValueRef p = real(k, 2.0 / (2 * last + 1));
    for (int i = last; i-- > 1;)
        p = muladd(k, p, z, real(k, 2.0 / (2 * i + 1)));
    return mul(k, p, z);
}

LLVMValueRef kiln_cg_math_log(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const double inf = (double)INFINITY;
    /* Subnormal numbers are scaled up. */
    const LLVMValueRef tiny = real(&k, k.is_f64 ? 0x1p-1022 : 0x1p-126);
    const LLVMValueRef is_tiny = LLVMBuildFCmp(g->b, LLVMRealOLT, x, tiny, "");
    const LLVMValueRef scaled = LLVMBuildSelect(
        g->b, is_tiny, mul(&k, x, real(&k, k.is_f64 ? 0x1p52 : 0x1p23)), x, "");
    const LLVMValueRef shift =
        LLVMBuildSelect(g->b, is_tiny, whole(&k, k.mantissa), whole(&k, 0), "");
    /* scaled = 2^e m, sqrt(1/2) <= m < sqrt(2) */
    const LLVMValueRef u = bits_of(&k, scaled);
    const LLVMValueRef root = bits_of(&k, real(&k, 0.70710678118654752440));
    const LLVMValueRef e =
        LLVMBuildAShr(g->b, LLVMBuildSub(g->b, u, root, ""), whole(&k, k.mantissa), "");
    const LLVMValueRef m = float_of(
        &k,
        LLVMBuildSub(g->b, u, LLVMBuildShl(g->b, e, whole(&k, k.mantissa), ""), ""));
    const LLVMValueRef n = LLVMBuildSIToFP(g->b, LLVMBuildSub(g->b, e, shift, ""),
                                           kiln_cg_vector(k.f, lanes), "");
    const LLVMValueRef f = sub(&k, m, real(&k, 1));
    const LLVMValueRef s = LLVMBuildFDiv(g->b, f, add(&k, f, real(&k, 2)), "");
    const LLVMValueRef series = log_series(&k, mul(&k, s, s));
    const LLVMValueRef h = mul(&k, mul(&k, f, f), real(&k, 0.5));
    /* n ln 2 + f - (h - s (h + series)), small parts first */
    LLVMValueRef r =
        muladd(&k, s, add(&k, h, series), mul(&k, n, real(&k, ln2_low(&k))));
    r = sub(&k, f, sub(&k, h, r));
    r = muladd(&k, n, real(&k, ln2_high(&k)), r);
    r = pick(&k, LLVMRealOEQ, x, real(&k, inf), x, r);
    r = pick(&k, LLVMRealOEQ, x, real(&k, 0), real(&k, -inf), r);
    return pick(&k, LLVMRealULT, x, real(&k, 0), real(&k, (double)NAN), r);
}

/* |x| + 2^mantissa - 2^mantissa rounds to nearest even; from 2^mantissa on every number
 * is whole. */
LLVMValueRef kiln_cg_math_round(const kiln_cg *g, kiln_intrin how, LLVMValueRef x,
                                int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef big = real(&k, k.is_f64 ? 0x1p52 : 0x1p23);
    const LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x);
    const LLVMValueRef zero = real(&k, 0), one = real(&k, 1);
    LLVMValueRef r = pick(&k, LLVMRealOLT, a, big, sub(&k, add(&k, a, big), big), a);
    if (how == KILN_INTRIN_trunc) {
        r = sub(&k, r, pick(&k, LLVMRealOGT, r, a, one, zero));
        return with_sign(&k, r, x);
    }
    r = with_sign(&k, r, x);
    if (how == KILN_INTRIN_floor)
        r = sub(&k, r, pick(&k, LLVMRealOGT, r, x, one, zero));
    else if (how == KILN_INTRIN_ceil)
        r = add(&k, r, pick(&k, LLVMRealOLT, r, x, one, zero));
    return with_sign(&k, r, x);
}

static LLVMValueRef horner(const num *k, const double *c, int n, LLVMValueRef x) {
    LLVMValueRef p = real(k, c[n - 1]);
    for (int i = n - 1; i-- > 0;)
        p = muladd(k, p, x, real(k, c[i]));
    return p;
}

/* |x| < 1: the Taylor series (2 / sqrt(pi)) sum (-1)^i x^(2i+1) / (i! (2i+1)), whose
 * rest is below 1.3e-9. From 1 to 4: 1 - exp(-x^2) P(t - 1/2), t = 1 / (1 + x/2), P the
 * interpolation of exp(x^2) erfc(x) in Chebyshev nodes: relative error 1.6e-9, and
 * erfc(1) = 0.16. From 4 on the result is 1. */
LLVMValueRef kiln_cg_math_erf(const kiln_cg *g, LLVMValueRef x, int lanes) {
    static const double near[] = {
        1.1283791670955126,      -0.37612638903183754,   0.11283791670955126,
        -0.026866170645131252,   0.0052239776254421879,  -0.00085483270234508522,
        0.00012055332981789664,  -1.492565035840625e-05, 1.6462114365889246e-06,
        -1.6365844691234924e-07, 1.4807192815879218e-08};
    static const double far[] = {0.2553956762127195,   0.854371695439059,
                                 0.9666328762493845,   0.6318279904539565,
                                 0.059710663733826906, -0.2238128295208498,
                                 -0.05344434039224778, 0.12023762270769921};
    const num k = num_of(g, x, lanes);
    const LLVMValueRef one = real(&k, 1), four = real(&k, 4);
    LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x);
    a = pick(&k, LLVMRealOGT, a, four, four, a);
    const LLVMValueRef square = mul(&k, a, a);
    const LLVMValueRef low = mul(&k, horner(&k, near, 11, square), a);
    const LLVMValueRef t =
        LLVMBuildFDiv(g->b, one, muladd(&k, a, real(&k, 0.5), one), "");
    const LLVMValueRef tail =
        mul(&k, kiln_cg_math_exp(g, LLVMBuildFNeg(g->b, square, ""), lanes),
            horner(&k, far, 8, sub(&k, t, real(&k, 0.5))));
    return with_sign(&k, pick(&k, LLVMRealOLT, a, one, low, sub(&k, one, tail)), x);
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
    const LLVMValueRef undefined = LLVMBuildAnd(
        g->b, LLVMBuildNot(g->b, whole_y, ""),
        LLVMBuildAnd(
            g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, x, zero, ""),
            LLVMBuildFCmp(g->b, LLVMRealONE, x, real(k, -(double)INFINITY), ""), ""),
        "");
    const LLVMValueRef is_unit = LLVMBuildAnd(
        g->b,
        LLVMBuildFCmp(g->b, LLVMRealOEQ, kiln_cg_unary(g, "llvm.fabs", x), one, ""),
        LLVMBuildFCmp(g->b, LLVMRealORD, y, y, ""), "");
    LLVMValueRef r = LLVMBuildSelect(g->b, is_unit, one, magnitude, "");
    r = LLVMBuildSelect(g->b, odd, with_sign(k, r, x), r, "");
    r = LLVMBuildSelect(g->b, undefined, real(k, (double)NAN), r, "");
    r = pick(k, LLVMRealOEQ, x, one, one, r);
    return pick(k, LLVMRealOEQ, y, zero, one, r);
}

/* exp(y log |x|) in double: |y log |x|| <= 746 costs ten of its 53 bits. */
LLVMValueRef kiln_cg_math_pow(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                              int lanes) {
    const LLVMTypeRef f32 = LLVMTypeOf(x), f64 = kiln_cg_vector(g->f64, lanes);
    const LLVMValueRef wx = LLVMBuildFPExt(g->b, x, f64, "");
    const LLVMValueRef wy = LLVMBuildFPExt(g->b, y, f64, "");
    const num k = num_of(g, wx, lanes);
    const LLVMValueRef l =
        kiln_cg_math_log(g, kiln_cg_unary(g, "llvm.fabs", wx), lanes);
    const LLVMValueRef m = kiln_cg_math_exp(g, mul(&k, wy, l), lanes);
    return LLVMBuildFPTrunc(g->b, pow_special(&k, wx, wy, m), f32, "");
}
