/* Inverse trigonometric functions (Abramowitz, Stegun, 4.4).
 *
 * The polynomials interpolate (asin(s) / s - 1) / s^2 for s^2 <= 1/4 and (atan(s) / s -
 * 1) / s^2 for |s| <= tan(pi/8) in Chebyshev nodes; relative error below 1.1e-9 and
 * 2.4e-9 for f32, 5.4e-18 and 6.8e-18 for f64.
 *
 * Error in ulp (tests/compiler/codegen/test_math.c): 4 each, f32 and f64. */
#include "compiler/codegen/llvm_cpu/math_num.h"

static const double pi = 3.14159265358979323846;

/* asin(s) for z = s^2 <= 1/4 */
static LLVMValueRef asin_near(const num *k, LLVMValueRef s, LLVMValueRef z) {
    static const double f32[] = {0.16666666337430908,  0.07500094543497424,
                                 0.04459940152851218,  0.03110066273549457,
                                 0.017149238357677253, 0.03369084720283012};
    static const double f64[] = {
        0.16666666666666669,  0.07499999999998433,  0.04464285714635543,
        0.030381944138531247, 0.02237217294214989,  0.017352392720869973,
        0.013971212973552933, 0.011479177415184906, 0.01032281435018578,
        0.005457506718640358, 0.01740087944269402,  -0.014851887071247204,
        0.028757851367421566};
    const LLVMValueRef p = k->is_f64 ? horner(k, f64, 13, z) : horner(k, f32, 6, z);
    return muladd(k, mul(k, s, z), p, s);
}

/* |x| > 1/2: asin |x| = pi/2 - 2 asin(s), acos |x| = 2 asin(s), s^2 = (1 - |x|) / 2. */
typedef struct arc {
    LLVMValueRef a;        /* |x| */
    LLVMValueRef is_outer; /* i1: a > 1/2 */
    LLVMValueRef y;        /* asin(is_outer ? s : a) */
} arc;

static arc arc_of(const num *k, LLVMValueRef x) {
    const kiln_cg *g = k->g;
    const LLVMValueRef half = real(k, 0.5);
    arc r = {.a = kiln_cg_unary(g, "llvm.fabs", x)};
    r.is_outer = LLVMBuildFCmp(g->b, LLVMRealOGT, r.a, half, "");
    const LLVMValueRef outer = mul(k, sub(k, real(k, 1), r.a), half);
    const LLVMValueRef z =
        LLVMBuildSelect(g->b, r.is_outer, outer, mul(k, r.a, r.a), "");
    const LLVMValueRef s = LLVMBuildSelect(
        g->b, r.is_outer, kiln_cg_unary(g, "llvm.sqrt", outer), r.a, "");
    r.y = asin_near(k, s, z);
    return r;
}

LLVMValueRef kiln_cg_math_asin(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const arc r = arc_of(&k, x);
    const LLVMValueRef outer = muladd(&k, r.y, real(&k, -2), real(&k, pi / 2));
    return with_sign(&k, LLVMBuildSelect(g->b, r.is_outer, outer, r.y, ""), x);
}

LLVMValueRef kiln_cg_math_acos(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const arc r = arc_of(&k, x);
    const LLVMValueRef inner = sub(&k, real(&k, pi / 2), with_sign(&k, r.y, x));
    const LLVMValueRef twice = add(&k, r.y, r.y);
    const LLVMValueRef outer =
        pick(&k, LLVMRealOLT, x, real(&k, 0), sub(&k, real(&k, pi), twice), twice);
    return LLVMBuildSelect(g->b, r.is_outer, outer, inner, "");
}

/* Past tan(3 pi / 8): pi/2 + atan(-1 / a); past tan(pi / 8): pi/4 + atan((a - 1) / (a +
 * 1)). */
LLVMValueRef kiln_cg_math_atan(const kiln_cg *g, LLVMValueRef x, int lanes) {
    static const double f32[] = {-0.3333333176116848, 0.19999540483639133,
                                 -0.14263955597644032, 0.10743731487109608,
                                 -0.0645192819592033};
    static const double f64[] = {
        -0.3333333333333333,  0.1999999999999552,   -0.14285714284666542,
        0.11111111015256357,  -0.09090904578123737, 0.07692183190822273,
        -0.06664511447328225, 0.05858148912335523,  -0.050854497354980904,
        0.039231658225033876, -0.019176887032657384};
    const num k = num_of(g, x, lanes);
    const LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x), one = real(&k, 1);
    const LLVMValueRef low = real(&k, 0.41421356237309504880);
    const LLVMValueRef high = real(&k, 2.41421356237309504880);
    LLVMValueRef p = pick(&k, LLVMRealOGT, a, low, sub(&k, a, one), a);
    LLVMValueRef q = pick(&k, LLVMRealOGT, a, low, add(&k, a, one), one);
    LLVMValueRef at = pick(&k, LLVMRealOGT, a, low, real(&k, pi / 4), real(&k, 0));
    p = pick(&k, LLVMRealOGT, a, high, real(&k, -1), p);
    q = pick(&k, LLVMRealOGT, a, high, a, q);
    at = pick(&k, LLVMRealOGT, a, high, real(&k, pi / 2), at);
    const LLVMValueRef s = LLVMBuildFDiv(g->b, p, q, ""), z = mul(&k, s, s);
    const LLVMValueRef c = k.is_f64 ? horner(&k, f64, 11, z) : horner(&k, f32, 5, z);
    return with_sign(&k, add(&k, at, muladd(&k, mul(&k, s, z), c, s)), x);
}
