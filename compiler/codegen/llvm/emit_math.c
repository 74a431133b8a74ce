/* Scalar functions, lane by lane. */
#include "compiler/codegen/llvm/emit.h"

kiln_natives kiln_cg_natives(const kiln_profile *p) {
    uint64_t floats = KILN_NATIVE(abs) | KILN_NATIVE(copysign) | KILN_NATIVE(isnan) |
                      KILN_NATIVE(sqrt);
    const kiln_arch_def *arch = kiln_arch_of(p->arch);
    if (arch->always_has_fma || p->has_fma)
        floats |= KILN_NATIVE(fma);
    if ((arch->always_has_fma || p->has_fma) && !arch->no_rounding)
        floats |= KILN_NATIVE(ceil) | KILN_NATIVE(floor) | KILN_NATIVE(round) |
                  KILN_NATIVE(trunc);
    return (kiln_natives){
        .name = p->name, .f32 = floats, .f64 = floats, .has_f16_casts = p->has_f16};
}

static LLVMValueRef fma_of(kiln_cg *g, const LLVMValueRef *arg) {
    LLVMTypeRef t = LLVMTypeOf(arg[0]);
    LLVMValueRef a[3] = {arg[0], arg[1], arg[2]};
    return kiln_cg_intrinsic(g, "llvm.fma", &t, 1, a, 3);
}

static LLVMValueRef copysign_of(kiln_cg *g, const LLVMValueRef *arg) {
    LLVMTypeRef t = LLVMTypeOf(arg[0]);
    LLVMValueRef a[2] = {arg[0], arg[1]};
    return kiln_cg_intrinsic(g, "llvm.copysign", &t, 1, a, 2);
}

/* What the pass `expand` leaves: kiln_cg_natives. */
static LLVMValueRef float_call(kiln_cg *g, const kiln_expr *e,
                               const LLVMValueRef *arg) {
    switch (e->u.intrin) {
    case KILN_INTRIN_abs:
        return kiln_cg_unary(g, "llvm.fabs", arg[0]);
    case KILN_INTRIN_sqrt:
        return kiln_cg_unary(g, "llvm.sqrt", arg[0]);
    case KILN_INTRIN_isnan:
        return LLVMBuildFCmp(g->b, LLVMRealUNO, arg[0], arg[0], "");
    case KILN_INTRIN_floor:
        return kiln_cg_unary(g, "llvm.floor", arg[0]);
    case KILN_INTRIN_ceil:
        return kiln_cg_unary(g, "llvm.ceil", arg[0]);
    case KILN_INTRIN_trunc:
        return kiln_cg_unary(g, "llvm.trunc", arg[0]);
    case KILN_INTRIN_round:
        return kiln_cg_unary(g, "llvm.rint", arg[0]);
    case KILN_INTRIN_fma:
        return fma_of(g, arg);
    case KILN_INTRIN_copysign:
        return copysign_of(g, arg);
    case KILN_INTRIN_add_rn: /* without the flag that lets them contract */
        return LLVMBuildFAdd(g->b, arg[0], arg[1], "");
    case KILN_INTRIN_sub_rn:
        return LLVMBuildFSub(g->b, arg[0], arg[1], "");
    case KILN_INTRIN_mul_rn:
        return LLVMBuildFMul(g->b, arg[0], arg[1], "");
    case KILN_INTRINS_CURVED:
    case KILN_INTRINS_PAIRED:
    case KILN_INTRINS_SPECIAL:
        break;
    }
    KILN_ASSERT(false, "intrinsic '%s' was not expanded",
                kiln_intrin_get(e->u.intrin)->name);
    return NULL;
}

LLVMValueRef kiln_cg_call(kiln_cg *g, const kiln_expr *e, const LLVMValueRef *arg) {
    KILN_ASSERT(kiln_dtype_is_float(e->arg[0]->dtype), "intrinsic '%s' of %s",
                kiln_intrin_get(e->u.intrin)->name, kiln_dtype_name(e->arg[0]->dtype));
    return float_call(g, e, arg);
}
