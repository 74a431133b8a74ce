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
/* floor, ceil, trunc, round without an instruction for them. */
LLVMValueRef kiln_cg_math_round(const kiln_cg *g, kiln_intrin how, LLVMValueRef x,
                                int lanes);

/* ---- math_trig.c: how is KILN_INTRIN_sin, cos or tan */
LLVMValueRef kiln_cg_math_trig(const kiln_cg *g, kiln_intrin how, LLVMValueRef x,
                               int lanes);

/* ---- math_loops.c */
LLVMValueRef kiln_cg_math_fmod(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                               int lanes);
LLVMValueRef kiln_cg_math_int_pow(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                                  bool is_signed, int lanes);

#endif
