/* Types, constants, splats, calls of LLVM's intrinsics. */
#include "compiler/codegen/llvm/emit.h"

#include <stdio.h>
#include <string.h>

void kiln_cg_fail(kiln_cg *g, kiln_status st, const char *fmt, ...) {
    va_list ap;
    char text[512];
    if (g->status != KILN_OK)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    g->status = kiln_fail(g->err, st, "%s", text);
}

LLVMTypeRef kiln_cg_vector(LLVMTypeRef t, int lanes) {
    return lanes == 1 ? t : LLVMVectorType(t, (unsigned)lanes);
}

LLVMTypeRef kiln_cg_value_type(const kiln_cg *g, kiln_dtype dtype) {
    switch (dtype) {
    case KILN_F32:
        return g->f32;
    case KILN_F16:
        return LLVMHalfTypeInContext(g->cx);
    case KILN_F64:
        return g->f64;
    case KILN_I8:
    case KILN_U8:
        return g->i8;
    case KILN_I16:
    case KILN_U16:
        return g->i16;
    case KILN_I32:
    case KILN_U32:
        return g->i32;
    case KILN_I64:
    case KILN_U64:
        return g->i64;
    case KILN_BOOL:
        return g->i1;
    case KILN_BF16:             /* the pass `halves` has made u16 and f32 of it */
    case KILN_DTYPES_LOW_FLOAT: /* stages hold them as u8 or i8 */
    case KILN_DTYPES_LOW_INT:
    case KILN_N_DTYPES:
        break;
    }
    KILN_ASSERT(false, "dtype %d has no type", (int)dtype);
    return NULL;
}

LLVMTypeRef kiln_cg_memory_type(const kiln_cg *g, kiln_dtype dtype) {
    return dtype == KILN_BOOL ? g->i8 : kiln_cg_value_type(g, dtype);
}

LLVMValueRef kiln_cg_splat(const kiln_cg *g, LLVMValueRef scalar, int lanes) {
    if (lanes == 1)
        return scalar;
    const LLVMTypeRef v = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)lanes);
    const LLVMValueRef first = LLVMBuildInsertElement(
        g->b, LLVMGetPoison(v), scalar, LLVMConstInt(g->i32, 0, false), "");
    return LLVMBuildShuffleVector(g->b, first, LLVMGetPoison(v),
                                  LLVMConstNull(kiln_cg_vector(g->i32, lanes)), "");
}

LLVMValueRef kiln_cg_int(const kiln_cg *g, LLVMTypeRef t, int64_t v, int lanes) {
    return kiln_cg_splat(g, LLVMConstInt(t, (unsigned long long)v, true), lanes);
}

LLVMValueRef kiln_cg_real(const kiln_cg *g, LLVMTypeRef t, double v, int lanes) {
    return kiln_cg_splat(g, LLVMConstReal(t, v), lanes);
}

LLVMValueRef kiln_cg_intrinsic(const kiln_cg *g, const char *name, LLVMTypeRef *types,
                               size_t n_types, LLVMValueRef *arg, unsigned n) {
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    KILN_ASSERT(id != 0, "LLVM has no intrinsic '%s'", name);
    const LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->module, id, types, n_types);
    const LLVMTypeRef type = LLVMIntrinsicGetType(g->cx, id, types, n_types);
    return LLVMBuildCall2(g->b, type, fn, arg, n, "");
}

LLVMValueRef kiln_cg_unary(const kiln_cg *g, const char *name, LLVMValueRef x) {
    LLVMTypeRef t = LLVMTypeOf(x);
    return kiln_cg_intrinsic(g, name, &t, 1, &x, 1);
}

LLVMBasicBlockRef kiln_cg_block(const kiln_cg *g) {
    return LLVMAppendBasicBlockInContext(g->cx, g->now.fn, "");
}

LLVMValueRef kiln_cg_contract(LLVMValueRef v) {
    if (LLVMIsAInstruction(v) != NULL && LLVMCanValueUseFastMathFlags(v))
        LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}

/* In the entry block, where sroa finds it. */
LLVMValueRef kiln_cg_local(const kiln_cg *g, LLVMTypeRef t, unsigned align) {
    const LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    const LLVMValueRef first = LLVMGetFirstInstruction(g->now.entry);
    if (first != NULL)
        LLVMPositionBuilderBefore(g->b, first);
    else
        LLVMPositionBuilderAtEnd(g->b, g->now.entry);
    const LLVMValueRef v = LLVMBuildAlloca(g->b, t, "");
    LLVMSetAlignment(v, align);
    LLVMPositionBuilderAtEnd(g->b, here);
    return v;
}
