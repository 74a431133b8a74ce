/* Scalar functions, lane by lane. */
#include "compiler/codegen/llvm_cpu/emit.h"

#include "compiler/codegen/llvm_cpu/math.h"

static LLVMValueRef integer_call(kiln_cg *g, const kiln_expr *e,
                                 const LLVMValueRef *arg) {
    const LLVMValueRef x = arg[0];
    const bool is_signed = kiln_dtype_get(e->dtype)->is_signed;
    const LLVMValueRef negative =
        LLVMBuildICmp(g->b, LLVMIntSLT, x, LLVMConstNull(LLVMTypeOf(x)), "");
    switch ((int)e->u.intrin) {
    case KILN_INTRIN_abs:
        return is_signed
                   ? LLVMBuildSelect(g->b, negative, LLVMBuildNeg(g->b, x, ""), x, "")
                   : x;
    case KILN_INTRIN_ceil:
    case KILN_INTRIN_floor:
    case KILN_INTRIN_round:
    case KILN_INTRIN_trunc:
        return x;
    case KILN_INTRIN_pow:
        return kiln_cg_math_int_pow(g, x, arg[1], is_signed, e->lanes);
    }
    kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                 "intrinsic '%s' is not generated for %s; cast to f32 first",
                 kiln_intrin_get(e->u.intrin)->name, kiln_dtype_name(e->dtype));
    return x;
}

/* Without an fma instruction: exact product and one addition in double; for double
 * there is nothing wider. */
static LLVMValueRef emit_fma(kiln_cg *g, const kiln_expr *e, const LLVMValueRef *arg) {
    LLVMTypeRef t = LLVMTypeOf(arg[0]);
    if (kiln_cg_has_fma(g)) {
        LLVMValueRef a[3] = {arg[0], arg[1], arg[2]};
        return kiln_cg_intrinsic(g, "llvm.fma", &t, 1, a, 3);
    }
    if (e->dtype == KILN_F64) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "intrinsic 'fma' of f64 needs an fma instruction, which profile "
                     "'%s' has not",
                     g->profile->name);
        return arg[0];
    }
    LLVMValueRef wide[3];
    for (int i = 0; i < 3; i++)
        wide[i] = LLVMBuildFPExt(g->b, arg[i], kiln_cg_vector(g->f64, e->lanes), "");
    const LLVMValueRef sum =
        LLVMBuildFAdd(g->b, LLVMBuildFMul(g->b, wide[0], wide[1], ""), wide[2], "");
    return LLVMBuildFPTrunc(g->b, sum, t, "");
}

static LLVMValueRef rounding(kiln_cg *g, kiln_intrin how, LLVMValueRef x, int lanes) {
    if (!kiln_cg_has_fma(g))
        return kiln_cg_math_round(g, how, x, lanes);
    const char *name = how == KILN_INTRIN_floor   ? "llvm.floor"
                       : how == KILN_INTRIN_ceil  ? "llvm.ceil"
                       : how == KILN_INTRIN_trunc ? "llvm.trunc"
                                                  : "llvm.rint";
    return kiln_cg_unary(g, name, x);
}

static LLVMValueRef copysign_of(kiln_cg *g, const LLVMValueRef *arg) {
    LLVMTypeRef t = LLVMTypeOf(arg[0]);
    LLVMValueRef a[2] = {arg[0], arg[1]};
    return kiln_cg_intrinsic(g, "llvm.copysign", &t, 1, a, 2);
}

static LLVMValueRef float_call(kiln_cg *g, const kiln_expr *e,
                               const LLVMValueRef *arg) {
    const LLVMTypeRef t = LLVMTypeOf(arg[0]);
    switch (e->u.intrin) {
    case KILN_INTRIN_abs:
        return kiln_cg_unary(g, "llvm.fabs", arg[0]);
    case KILN_INTRIN_sqrt:
        return kiln_cg_unary(g, "llvm.sqrt", arg[0]);
    case KILN_INTRIN_rsqrt:
        return LLVMBuildFDiv(
            g->b, kiln_cg_real(g, e->dtype == KILN_F64 ? g->f64 : g->f32, 1, e->lanes),
            kiln_cg_unary(g, "llvm.sqrt", arg[0]), "");
    case KILN_INTRIN_isnan:
        return LLVMBuildFCmp(g->b, LLVMRealUNO, arg[0], arg[0], "");
    case KILN_INTRIN_floor:
    case KILN_INTRIN_ceil:
    case KILN_INTRIN_trunc:
    case KILN_INTRIN_round:
        return rounding(g, e->u.intrin, arg[0], e->lanes);
    case KILN_INTRIN_fma:
        return emit_fma(g, e, arg);
    case KILN_INTRIN_acos:
        return kiln_cg_math_acos(g, arg[0], e->lanes);
    case KILN_INTRIN_acosh:
        return kiln_cg_math_acosh(g, arg[0], e->lanes);
    case KILN_INTRIN_asin:
        return kiln_cg_math_asin(g, arg[0], e->lanes);
    case KILN_INTRIN_asinh:
        return kiln_cg_math_asinh(g, arg[0], e->lanes);
    case KILN_INTRIN_atan:
        return kiln_cg_math_atan(g, arg[0], e->lanes);
    case KILN_INTRIN_atanh:
        return kiln_cg_math_atanh(g, arg[0], e->lanes);
    case KILN_INTRIN_cosh:
        return kiln_cg_math_cosh(g, arg[0], e->lanes);
    case KILN_INTRIN_erf:
        return kiln_cg_math_erf(g, arg[0], e->lanes);
    case KILN_INTRIN_exp:
        return kiln_cg_math_exp(g, arg[0], e->lanes);
    case KILN_INTRIN_expm1:
        return kiln_cg_math_expm1(g, arg[0], e->lanes);
    case KILN_INTRIN_log:
        return kiln_cg_math_log(g, arg[0], e->lanes);
    case KILN_INTRIN_log1p:
        return kiln_cg_math_log1p(g, arg[0], e->lanes);
    case KILN_INTRIN_sigmoid:
        return kiln_cg_math_sigmoid(g, arg[0], e->lanes);
    case KILN_INTRIN_sinh:
        return kiln_cg_math_sinh(g, arg[0], e->lanes);
    case KILN_INTRIN_tanh:
        return kiln_cg_math_tanh(g, arg[0], e->lanes);
    case KILN_INTRIN_cos:
    case KILN_INTRIN_sin:
    case KILN_INTRIN_tan:
        return kiln_cg_math_trig(g, e->u.intrin, arg[0], e->lanes);
    case KILN_INTRIN_fmod:
        return kiln_cg_math_fmod(g, arg[0], arg[1], e->lanes);
    case KILN_INTRIN_pow:
        return kiln_cg_math_pow(g, arg[0], arg[1], e->lanes);
    case KILN_INTRIN_add_rn:
        return LLVMBuildFAdd(g->b, arg[0], arg[1], "");
    case KILN_INTRIN_sub_rn:
        return LLVMBuildFSub(g->b, arg[0], arg[1], "");
    case KILN_INTRIN_mul_rn:
        return LLVMBuildFMul(g->b, arg[0], arg[1], "");
    case KILN_INTRIN_copysign:
        return copysign_of(g, arg);
    case KILN_INTRIN_dot4:
    case KILN_INTRIN_prefetch:
    case KILN_N_INTRINS:
        break;
    }
    kiln_cg_fail(g, KILN_ERR_UNSUPPORTED, "intrinsic '%s' of %s has no generated code",
                 kiln_intrin_get(e->u.intrin)->name, kiln_dtype_name(e->dtype));
    return LLVMGetPoison(t);
}

LLVMValueRef kiln_cg_call(kiln_cg *g, const kiln_expr *e, const LLVMValueRef *arg) {
    const kiln_dtype from = e->arg[0]->dtype;
    if (!kiln_dtype_is_float(from)) {
        if (e->u.intrin == KILN_INTRIN_isnan)
            return LLVMConstNull(kiln_cg_vector(g->i1, e->lanes));
        return integer_call(g, e, arg);
    }
    const LLVMValueRef v = float_call(g, e, arg);
    return kiln_dtype_is_float(e->dtype) ? kiln_cg_round(g, e->dtype, v, e->lanes) : v;
}
