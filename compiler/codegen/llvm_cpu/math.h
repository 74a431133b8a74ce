/* Functions made of arithmetic, for f32 and f64 vectors: the error bounds are in
 * math.c. */
#ifndef KILN_COMPILER_CODEGEN_LLVM_CPU_MATH_H
#define KILN_COMPILER_CODEGEN_LLVM_CPU_MATH_H

#include "compiler/codegen/llvm_cpu/emit.h"

LLVMValueRef kiln_cg_math_exp(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_log(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_sigmoid(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_tanh(const kiln_cg *g, LLVMValueRef x, int lanes);
/* f32 only. */
LLVMValueRef kiln_cg_math_erf(const kiln_cg *g, LLVMValueRef x, int lanes);
LLVMValueRef kiln_cg_math_pow(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                              int lanes);
/* floor, ceil, trunc, round without an instruction for them. */
LLVMValueRef kiln_cg_math_round(const kiln_cg *g, kiln_intrin how, LLVMValueRef x,
                                int lanes);

#endif
