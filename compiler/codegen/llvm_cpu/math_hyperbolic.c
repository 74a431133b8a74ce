/* Hyperbolic functions and their inverses (Abramowitz, Stegun, 4.5 and 4.6).
 *
 * Error in ulp (tests/compiler/codegen/test_math.c): sinh 4, cosh 4, asinh 8, acosh 8,
 * atanh 8, f32 and f64. */
#include "compiler/codegen/llvm_cpu/math_num.h"

/* e^x / 2 does not overflow before the result does; its reciprocal is 4 times what is
 * wanted of e^-x. */
static LLVMValueRef half_sum(const num *k, LLVMValueRef a, bool is_sum) {
    const LLVMValueRef e = kiln_cg_math_exp_scaled(k->g, a, NULL, -1, k->lanes);
    const LLVMValueRef small = LLVMBuildFDiv(k->g->b, real(k, 0.25), e, "");
    return is_sum ? add(k, e, small) : sub(k, e, small);
}

LLVMValueRef kiln_cg_math_cosh(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    return half_sum(&k, kiln_cg_unary(g, "llvm.fabs", x), true);
}

/* |x| < 1: sum x^(2i+1) / (2i+1)!, whose rest is below 1/13! = 1.6e-10 for f32 (5
 * powers), 1/21! = 2e-20 for f64 (9). */
LLVMValueRef kiln_cg_math_sinh(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const int last = k.is_f64 ? 9 : 5;
    double c[10] = {1};
    for (int i = 1; i <= last; i++)
        c[i] = c[i - 1] / (2.0 * i * (2.0 * i + 1));
    const LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x);
    const LLVMValueRef z = mul(&k, a, a);
    const LLVMValueRef cube = mul(&k, a, z);
    const LLVMValueRef near = muladd(&k, cube, horner(&k, c + 1, last, z), a);
    const LLVMValueRef far = half_sum(&k, a, false);
    return with_sign(&k, pick(&k, LLVMRealOLT, a, real(&k, 1), near, far), x);
}

/* From here on sqrt(x^2 + 1) is x. */
static LLVMValueRef huge(const num *k) { return real(k, k->is_f64 ? 0x1p28 : 0x1p12); }
static LLVMValueRef log_of_double(const num *k, LLVMValueRef x) {
    return add(k, kiln_cg_math_log(k->g, x, k->lanes), real(k, 0.69314718055994530942));
}

/* log1p(a + a^2 / (1 + sqrt(a^2 + 1))) */
LLVMValueRef kiln_cg_math_asinh(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x), one = real(&k, 1);
    const LLVMValueRef z = mul(&k, a, a);
    const LLVMValueRef root = kiln_cg_unary(g, "llvm.sqrt", add(&k, z, one));
    const LLVMValueRef t = add(&k, a, LLVMBuildFDiv(g->b, z, add(&k, root, one), ""));
    const LLVMValueRef far = log_of_double(&k, a);
    const LLVMValueRef near = kiln_cg_math_log1p(g, t, lanes);
    const LLVMValueRef y = pick(&k, LLVMRealOGT, a, huge(&k), far, near);
    return with_sign(&k, y, x);
}

/* log1p(t + sqrt(2 t + t^2)), t = x - 1 */
LLVMValueRef kiln_cg_math_acosh(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef one = real(&k, 1), t = sub(&k, x, one);
    const LLVMValueRef root =
        kiln_cg_unary(g, "llvm.sqrt", muladd(&k, t, t, add(&k, t, t)));
    const LLVMValueRef far = log_of_double(&k, x);
    const LLVMValueRef near = kiln_cg_math_log1p(g, add(&k, t, root), lanes);
    const LLVMValueRef y = pick(&k, LLVMRealOGT, x, huge(&k), far, near);
    return pick(&k, LLVMRealULT, x, one, real(&k, (double)NAN), y);
}

/* log1p(2 a / (1 - a)) / 2; past 1 the argument is below -1, hence NaN. */
LLVMValueRef kiln_cg_math_atanh(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const num k = num_of(g, x, lanes);
    const LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x);
    const LLVMValueRef twice = add(&k, a, a);
    const LLVMValueRef t = LLVMBuildFDiv(g->b, twice, sub(&k, real(&k, 1), a), "");
    const LLVMValueRef y = mul(&k, kiln_cg_math_log1p(g, t, lanes), real(&k, 0.5));
    return with_sign(&k, y, x);
}
