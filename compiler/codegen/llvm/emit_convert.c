/* Floats to integers: truncated, saturated, NaN as 0. Other machines have instructions
 * for just that; for x86, LLVM 19 makes llvm.fpto*.sat of vectors lane by lane, some
 * eight instructions each, and here are some for the whole vector. */
#include "compiler/codegen/llvm/emit.h"

static LLVMTypeRef type_of(const kiln_cg *g, const kiln_expr *e) {
    return kiln_cg_vector(kiln_cg_value_type(g, e->dtype), e->lanes);
}

static LLVMValueRef real(const kiln_cg *g, const kiln_expr *e, double v) {
    return kiln_cg_real(g, kiln_cg_value_type(g, KILN_F32), v, e->lanes);
}

/* Saturated as floats, which hold the ends of 8 and 16 bits exactly. The order of
 * operands is that of maxps and minps, which let NaN through. */
static LLVMValueRef to_narrow(kiln_cg *g, const kiln_expr *e, LLVMValueRef x) {
    const kiln_dtype_info *const info = kiln_dtype_get(e->dtype);
    const LLVMTypeRef word = kiln_cg_vector(kiln_cg_value_type(g, KILN_I32), e->lanes);
    const LLVMValueRef low = real(g, e, (double)info->min_i);
    const LLVMValueRef high = real(g, e, (double)info->max_i);
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOGT, low, x, ""), low, x, "");
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, high, x, ""), high, x,
                        "");
    x = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealORD, x, x, ""), x,
                        LLVMConstNull(LLVMTypeOf(x)), "");
    return LLVMBuildTrunc(g->b, LLVMBuildFPToSI(g->b, x, word, ""), type_of(g, e), "");
}

/* The same to i32, whose upper end is no f32: what is outside is chosen behind. */
static LLVMValueRef to_word(kiln_cg *g, const kiln_expr *e, LLVMValueRef x) {
    const LLVMTypeRef word = kiln_cg_value_type(g, KILN_I32);
    const LLVMValueRef end = real(g, e, 0x1p31), start = real(g, e, -0x1p31);
    const LLVMValueRef above = LLVMBuildFCmp(g->b, LLVMRealOGE, x, end, "");
    const LLVMValueRef below = LLVMBuildFCmp(g->b, LLVMRealOLT, x, start, "");
    const LLVMValueRef inside =
        LLVMBuildAnd(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, x, end, ""),
                     LLVMBuildFCmp(g->b, LLVMRealOGE, x, start, ""), "");
    x = LLVMBuildSelect(g->b, inside, x, LLVMConstNull(LLVMTypeOf(x)), "");
    x = LLVMBuildFPToSI(g->b, x, type_of(g, e), "");
    x = LLVMBuildSelect(g->b, above, kiln_cg_int(g, word, INT32_MAX, e->lanes), x, "");
    return LLVMBuildSelect(g->b, below, kiln_cg_int(g, word, INT32_MIN, e->lanes), x,
                           "");
}

/* Truncates; saturates; NaN becomes 0. */
LLVMValueRef kiln_cg_float_to_int(kiln_cg *g, const kiln_expr *e, LLVMValueRef x) {
    LLVMTypeRef types[2] = {type_of(g, e), LLVMTypeOf(x)};
    if (e->dtype == KILN_BOOL)
        return LLVMBuildFCmp(g->b, LLVMRealUNE, x, LLVMConstNull(types[1]), "");
    const bool is_whole = kiln_arch_of(g->profile->arch)->intrinsics.splits_saturated &&
                          e->lanes > 1 && e->arg[0]->dtype == KILN_F32;
    if (is_whole && kiln_dtype_bytes(e->dtype) < 4)
        return to_narrow(g, e, x);
    if (is_whole && e->dtype == KILN_I32)
        return to_word(g, e, x);
    return kiln_cg_intrinsic(
        g, kiln_dtype_get(e->dtype)->is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat",
        types, 2, &x, 1);
}
