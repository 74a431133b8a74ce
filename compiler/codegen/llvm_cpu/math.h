/* Functions made of arithmetic, for f32 and f64 vectors: their errors are stated in
 * the files, math.c and math_*.c. */
#ifndef KILN_COMPILER_CODEGEN_LLVM_CPU_MATH_H
#define KILN_COMPILER_CODEGEN_LLVM_CPU_MATH_H

#include "compiler/codegen/llvm_cpu/emit.h"

/* Is there an instruction for fma and for rounding? There are both or neither. */
static inline bool kiln_cg_has_fma(const kiln_cg *g) {
    return kiln_arch_of(g->profile->arch)->always_has_fma || g->profile->has_fma;
}

/* ---- math.c */
LLVMValueRef kiln_cg_math_exp(const kiln_cg *g, LLVMValueRef x, int lanes);
/* 2^shift e^(x + low), -1 <= shift <= 0; |low| must be far below 1; NULL: 0. */
LLVMValueRef kiln_cg_math_exp_scaled(const kiln_cg *g, LLVMValueRef x, LLVMValueRef low,
                                     int shift, int lanes);
LLVMValueRef kiln_cg_math_expm1(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_log(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_log1p(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_sigmoid(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_tanh(const kiln_cg *g, LLVMValueRef x, int lanes);
/* floor, ceil, trunc, round without an instruction for them. */
LLVMValueRef kiln_cg_math_round(const kiln_cg *g, kiln_intrin how, LLVMValueRef x,
                                int lanes);

/* ---- math_erf_pow.c */
LLVMValueRef kiln_cg_math_erf(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_pow(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                              int lanes);

/* ---- math_trig.c: how is KILN_INTRIN_sin, cos or tan */
LLVMValueRef kiln_cg_math_trig(const kiln_cg *g, kiln_intrin how, LLVMValueRef x,
                               int lanes);

/* ---- math_inverse.c */
LLVMValueRef kiln_cg_math_asin(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_acos(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_atan(const kiln_cg *g, LLVMValueRef x, int lanes);

/* ---- math_loops.c */
LLVMValueRef kiln_cg_math_fmod(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                               int lanes);
LLVMValueRef kiln_cg_math_int_pow(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                                  bool is_signed, int lanes);

/* ---- math_hyperbolic.c */
LLVMValueRef kiln_cg_math_sinh(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_cosh(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_asinh(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_acosh(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_atanh(const kiln_cg *g, LLVMValueRef x, int lanes);

#endif
