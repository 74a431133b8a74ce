/* exp, expm1, log, log1p, tanh and sigmoid as polynomials; rounding without an
 * instruction for it.
 *
 * Range reduction after Cody and Waite (Software Manual for the Elementary Functions,
 * 1980): ln 2 in two parts, of which n times the first is exact. The polynomials are
 * Taylor series cut where the rest is below half an ulp: |r| <= 0.347 for exp, the
 * series of log(1 + f) in s = f / (2 + f), |s| <= 0.172, as in fdlibm's e_log.c.
 *
 * Error in ulp (tests/compiler/codegen/test_math.c holds f32 and f64 to it over the
 * range), with or without fused multiply-add: exp 2, expm1 2, log 2, log1p 3, tanh 4,
 * sigmoid 4. */
#include "compiler/codegen/llvm_cpu/math_num.h"
#include "base/fault.h"

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
    c[2] *= KILN_FAULT(exp_coefficient) ? 1.01 : 1;
    LLVMValueRef p = real(k, c[last]);
    for (int i = last; i-- > 0;)
        p = muladd(k, p, r, real(k, c[i]));
    return p;
}

LLVMValueRef kiln_cg_math_exp_scaled(const kiln_cg *g, LLVMValueRef x, LLVMValueRef low,
                                     int shift, int lanes) {
    const num k = num_of(g, x, lanes);
    /* Beyond these all is infinity, or below half the smallest number. */
    const LLVMValueRef high = real(&k, k.is_f64 ? 711 : 90);
    const LLVMValueRef least = real(&k, k.is_f64 ? -746 : -104.5);
    LLVMValueRef n;
    x = pick(&k, LLVMRealOGT, x, high, high, x);
    x = pick(&k, LLVMRealOLT, x, least, least, x);
    LLVMValueRef r = reduce(&k, x, &n);
    if (low != NULL)
        r = add(&k, r, low);
    if (shift != 0)
        n = LLVMBuildAdd(g->b, n, whole(&k, shift), "");
    const LLVMValueRef p = muladd(&k, exp_tail(&k, r), r, real(&k, 1));
    /* In two steps: 2^n itself may be no normal number. */
    const LLVMValueRef half = LLVMBuildAShr(g->b, n, whole(&k, 1), "");
    const LLVMValueRef rest = LLVMBuildSub(g->b, n, half, "");
    const LLVMValueRef most = mul(&k, p, power_of_two(&k, half));
    return mul(&k, most, power_of_two(&k, rest));
}

LLVMValueRef kiln_cg_math_exp(const kiln_cg *g, LLVMValueRef x, int lanes) {
    return kiln_cg_math_exp_scaled(g, x, NULL, 0, lanes);
}

/* 2 (2^(n-1) (e^r - 1) + (2^(n-1) - 1/2)): where n = 0 no digits are lost, and halves
 * do not overflow before the result does. */
LLVMValueRef kiln_cg_math_expm1(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef high = real(&k, k.is_f64 ? 710 : 89);
    const LLVMValueRef low = real(&k, k.is_f64 ? -38 : -18); /* there it is -1 */
    LLVMValueRef n, a = pick(&k, LLVMRealOGT, x, high, high, x);
    a = pick(&k, LLVMRealOLT, a, low, low, a);
    const LLVMValueRef r = reduce(&k, a, &n);
    const LLVMValueRef q = mul(&k, exp_tail(&k, r), r);
    const LLVMValueRef scale =
        power_of_two(&k, LLVMBuildSub(g->b, n, whole(&k, 1), ""));
    const LLVMValueRef half = muladd(&k, scale, q, sub(&k, scale, real(&k, 0.5)));
    return with_sign(&k, add(&k, half, half), x);
}

/* e = e^-|x|; 1 / (1 + e), or e / (1 + e) below zero, where 1 + e^-x would overflow
 * before the result is too small. */
LLVMValueRef kiln_cg_math_sigmoid(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef size = kiln_cg_unary(g, "llvm.fabs", x), one = real(&k, 1);
    const LLVMValueRef e = kiln_cg_math_exp(g, LLVMBuildFNeg(g->b, size, ""), lanes);
    const LLVMValueRef top = pick(&k, LLVMRealOLT, x, real(&k, 0), e, one);
    return LLVMBuildFDiv(g->b, top, add(&k, e, one), "");
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
    return KILN_FAULT(tanh_sign) ? t : with_sign(&k, t, x);
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
    const LLVMValueRef both = add(&k, h, series);
    LLVMValueRef r = muladd(&k, s, both, mul(&k, n, real(&k, ln2_low(&k))));
    r = sub(&k, f, sub(&k, h, r));
    r = muladd(&k, n, real(&k, ln2_high(&k)), r);
    r = pick(&k, LLVMRealOEQ, x, real(&k, inf), x, r);
    r = pick(&k, LLVMRealOEQ, x, real(&k, 0), real(&k, -inf), r);
    return pick(&k, LLVMRealULT, x, real(&k, 0), real(&k, (double)NAN), r);
}

/* u = 1 + x was rounded: log u + (x - (u - 1)) / u, and u - 1 is exact. */
LLVMValueRef kiln_cg_math_log1p(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef u = add(&k, x, real(&k, 1)), zero = real(&k, 0);
    const LLVMValueRef lost = sub(&k, x, sub(&k, u, real(&k, 1)));
    /* At -1 and at infinity the logarithm is all. */
    const LLVMValueRef infinity = real(&k, (double)INFINITY);
    LLVMValueRef c = LLVMBuildFDiv(g->b, lost, u, "");
    c = pick(&k, LLVMRealOEQ, u, zero, zero, c);
    c = pick(&k, LLVMRealOEQ, u, infinity, zero, c);
    return with_sign(&k, add(&k, kiln_cg_math_log(g, u, lanes), c), x);
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
