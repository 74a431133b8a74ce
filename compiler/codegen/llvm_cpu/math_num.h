/* Arithmetic on vectors of f32 or f64 in the words of formulas, for math*.c only. */
#ifndef KILN_COMPILER_CODEGEN_LLVM_CPU_MATH_NUM_H
#define KILN_COMPILER_CODEGEN_LLVM_CPU_MATH_NUM_H

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

static inline num num_of(const kiln_cg *g, LLVMValueRef x, int lanes) {
    LLVMTypeRef t = LLVMTypeOf(x);
    if (lanes > 1)
        t = LLVMGetElementType(t);
    if (t == g->f64)
        return (num){g, lanes, true, 52, 1023, g->f64, g->i64, 0x1.8p52};
    return (num){g, lanes, false, 23, 127, g->f32, g->i32, 0x1.8p23};
}

static inline LLVMValueRef real(const num *k, double v) {
    return kiln_cg_real(k->g, k->f, v, k->lanes);
}
static inline LLVMValueRef whole(const num *k, int64_t v) {
    return kiln_cg_int(k->g, k->i, v, k->lanes);
}
static inline LLVMValueRef bits_of(const num *k, LLVMValueRef x) {
    return LLVMBuildBitCast(k->g->b, x, kiln_cg_vector(k->i, k->lanes), "");
}
static inline LLVMValueRef float_of(const num *k, LLVMValueRef u) {
    return LLVMBuildBitCast(k->g->b, u, kiln_cg_vector(k->f, k->lanes), "");
}
static inline LLVMValueRef add(const num *k, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildFAdd(k->g->b, x, y, "");
}
static inline LLVMValueRef sub(const num *k, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildFSub(k->g->b, x, y, "");
}
static inline LLVMValueRef mul(const num *k, LLVMValueRef x, LLVMValueRef y) {
    return LLVMBuildFMul(k->g->b, x, y, "");
}
static inline LLVMValueRef muladd(const num *k, LLVMValueRef x, LLVMValueRef y,
                                  LLVMValueRef z) {
    LLVMTypeRef t = LLVMTypeOf(x);
    LLVMValueRef arg[3] = {x, y, z};
    return kiln_cg_intrinsic(k->g, "llvm.fmuladd", &t, 1, arg, 3);
}
/* cond(x, y) ? yes : no; with NaN as the predicate says. */
static inline LLVMValueRef pick(const num *k, LLVMRealPredicate p, LLVMValueRef x,
                                LLVMValueRef y, LLVMValueRef yes, LLVMValueRef no) {
    return LLVMBuildSelect(k->g->b, LLVMBuildFCmp(k->g->b, p, x, y, ""), yes, no, "");
}

/* 2^n for an integer n that gives a normal number. */
static inline LLVMValueRef power_of_two(const num *k, LLVMValueRef n) {
    const LLVMValueRef e = LLVMBuildAdd(k->g->b, n, whole(k, k->bias), "");
    return float_of(k, LLVMBuildShl(k->g->b, e, whole(k, k->mantissa), ""));
}

static inline double ln2_high(const num *k) {
    return k->is_f64 ? 6.93147180369123816490e-01 : 0.693359375;
}
static inline double ln2_low(const num *k) {
    return k->is_f64 ? 1.90821492927058770002e-10 : -2.12194440e-4;
}

static inline LLVMValueRef with_sign(const num *k, LLVMValueRef magnitude,
                                     LLVMValueRef sign) {
    LLVMTypeRef t = LLVMTypeOf(sign);
    LLVMValueRef arg[2] = {magnitude, sign};
    return kiln_cg_intrinsic(k->g, "llvm.copysign", &t, 1, arg, 2);
}

static inline LLVMValueRef horner(const num *k, const double *c, int n,
                                  LLVMValueRef x) {
    LLVMValueRef p = real(k, c[n - 1]);
    for (int i = n - 1; i-- > 0;)
        p = muladd(k, p, x, real(k, c[i]));
    return p;
}

#endif
