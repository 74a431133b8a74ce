/* Rounding without an instruction for it. */
#include "compiler/codegen/llvm_cpu/math_num.h"

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
