/* 16-bit floats by integer arithmetic, so that no target needs a library routine; with
 * the conversion instructions of f16 (F16C, AArch64) where the profile has them.
 *
 * binary16 to nearest even: normal results by adding half an ulp (minus one, plus the
 * lowest kept bit) to the bits of the float; subnormal results by adding 0.5, whose ulp
 * is that of binary16's subnormals, which makes the float adder round. bfloat16 is the
 * upper half of a float. */
#include "compiler/codegen/llvm_cpu/emit.h"
#include "base/fault.h"

static LLVMValueRef bits_of(const kiln_cg *g, LLVMValueRef x, int lanes) {
    return LLVMBuildBitCast(g->b, x, kiln_cg_vector(g->i32, lanes), "");
}

static LLVMValueRef float_of(const kiln_cg *g, LLVMValueRef bits, int lanes) {
    return LLVMBuildBitCast(g->b, bits, kiln_cg_vector(g->f32, lanes), "");
}

static LLVMValueRef c32(const kiln_cg *g, int64_t v, int lanes) {
    return kiln_cg_int(g, g->i32, v, lanes);
}

static LLVMValueRef is_nan(const kiln_cg *g, LLVMValueRef x) {
    return LLVMBuildFCmp(g->b, LLVMRealUNO, x, x, "");
}

/* x + bias + the bit that becomes the lowest: a shift then rounds to nearest even. */
static LLVMValueRef biased(const kiln_cg *g, LLVMValueRef u, int shift, int64_t bias,
                           int lanes) {
    const LLVMValueRef low = LLVMBuildAnd(
        g->b, LLVMBuildLShr(g->b, u, c32(g, shift, lanes), ""), c32(g, 1, lanes), "");
    return LLVMBuildAdd(g->b, LLVMBuildAdd(g->b, u, c32(g, bias, lanes), ""), low, "");
}

static LLVMValueRef bf16_bits(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const LLVMValueRef u = bits_of(g, x, lanes);
    const LLVMValueRef quiet = LLVMBuildOr(g->b, u, c32(g, 0x400000, lanes), "");
    const LLVMValueRef nan = is_nan(g, x);
    const LLVMValueRef rounded =
        biased(g, u, 16, KILN_FAULT(bf16_truncated) ? -1 : 0x7FFF, lanes);
    const LLVMValueRef r = LLVMBuildSelect(g->b, nan, quiet, rounded, "");
    return LLVMBuildLShr(g->b, r, c32(g, 16, lanes), "");
}

static LLVMValueRef f16_bits(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const LLVMValueRef all = bits_of(g, x, lanes);
    const LLVMValueRef sign = LLVMBuildAnd(g->b, all, c32(g, 0x80000000, lanes), "");
    const LLVMValueRef u = LLVMBuildXor(g->b, all, sign, "");
    /* Exponent rebased from 127 to 15; 0xFFF is half an ulp minus one. */
    const int64_t rebase = -((int64_t)(127 - 15) << 23) + 0xFFF;
    const LLVMValueRef normal =
        LLVMBuildLShr(g->b, biased(g, u, 13, rebase, lanes), c32(g, 13, lanes), "");
    const LLVMValueRef half = kiln_cg_real(g, g->f32, 0.5, lanes);
    const LLVMValueRef tiny = LLVMBuildSub(
        g->b, bits_of(g, LLVMBuildFAdd(g->b, float_of(g, u, lanes), half, ""), lanes),
        bits_of(g, half, lanes), "");
    const LLVMValueRef special = LLVMBuildSelect(
        g->b, is_nan(g, x), c32(g, 0x7E00, lanes), c32(g, 0x7C00, lanes), "");
    const LLVMValueRef is_tiny =
        LLVMBuildICmp(g->b, LLVMIntULT, u, c32(g, (127 - 14) << 23, lanes), "");
    /* From 65520 on all is infinity; what is between overflows by its carry. */
    const LLVMValueRef is_big = LLVMBuildICmp(
        g->b, LLVMIntUGE, u, c32(g, (int64_t)(127 + 16) << 23, lanes), "");
    LLVMValueRef r = LLVMBuildSelect(g->b, is_tiny, tiny, normal, "");
    r = LLVMBuildSelect(g->b, is_big, special, r, "");
    return LLVMBuildOr(g->b, r, LLVMBuildLShr(g->b, sign, c32(g, 16, lanes), ""), "");
}

LLVMValueRef kiln_cg_half_bits(const kiln_cg *g, kiln_dtype dtype, LLVMValueRef x,
                               int lanes) {
    const LLVMTypeRef to = kiln_cg_vector(g->i16, lanes);
    if (dtype == KILN_F16 && g->profile->has_f16) {
        const LLVMTypeRef half = kiln_cg_vector(LLVMHalfTypeInContext(g->cx), lanes);
        return LLVMBuildBitCast(g->b, LLVMBuildFPTrunc(g->b, x, half, ""), to, "");
    }
    const LLVMValueRef r =
        dtype == KILN_F16 ? f16_bits(g, x, lanes) : bf16_bits(g, x, lanes);
    return LLVMBuildTrunc(g->b, r, to, "");
}

static LLVMValueRef f16_value(const kiln_cg *g, LLVMValueRef h, int lanes) {
    const LLVMValueRef exp_mask = c32(g, 0x7C00 << 13, lanes);
    LLVMValueRef o = LLVMBuildShl(
        g->b, LLVMBuildAnd(g->b, h, c32(g, 0x7FFF, lanes), ""), c32(g, 13, lanes), "");
    const LLVMValueRef exponent = LLVMBuildAnd(g->b, o, exp_mask, "");
    o = LLVMBuildAdd(g->b, o, c32(g, (127 - 15) << 23, lanes), "");
    const LLVMValueRef special =
        LLVMBuildAdd(g->b, o, c32(g, (128 - 16) << 23, lanes), "");
    /* A subnormal m * 2^-24: (1 + m / 2^10) * 2^-14 less 2^-14. */
    const LLVMValueRef one_more = LLVMBuildAdd(g->b, o, c32(g, 1 << 23, lanes), "");
    const LLVMValueRef tiny =
        bits_of(g,
                LLVMBuildFSub(g->b, float_of(g, one_more, lanes),
                              kiln_cg_real(g, g->f32, 0x1p-14, lanes), ""),
                lanes);
    const LLVMValueRef is_special =
        LLVMBuildICmp(g->b, LLVMIntEQ, exponent, exp_mask, "");
    const LLVMValueRef is_tiny =
        LLVMBuildICmp(g->b, LLVMIntEQ, exponent, c32(g, 0, lanes), "");
    o = LLVMBuildSelect(g->b, is_special, special, o, "");
    o = LLVMBuildSelect(g->b, is_tiny, tiny, o, "");
    const LLVMValueRef sign = LLVMBuildShl(
        g->b, LLVMBuildAnd(g->b, h, c32(g, 0x8000, lanes), ""), c32(g, 16, lanes), "");
    return float_of(g, LLVMBuildOr(g->b, o, sign, ""), lanes);
}

LLVMValueRef kiln_cg_half_value(const kiln_cg *g, kiln_dtype dtype, LLVMValueRef bits,
                                int lanes) {
    if (dtype == KILN_F16 && g->profile->has_f16) {
        const LLVMTypeRef half = kiln_cg_vector(LLVMHalfTypeInContext(g->cx), lanes);
        return LLVMBuildFPExt(g->b, LLVMBuildBitCast(g->b, bits, half, ""),
                              kiln_cg_vector(g->f32, lanes), "");
    }
    const LLVMValueRef wide =
        LLVMBuildZExt(g->b, bits, kiln_cg_vector(g->i32, lanes), "");
    if (dtype == KILN_F16)
        return f16_value(g, wide, lanes);
    return float_of(g, LLVMBuildShl(g->b, wide, c32(g, 16, lanes), ""), lanes);
}

LLVMValueRef kiln_cg_round(const kiln_cg *g, kiln_dtype dtype, LLVMValueRef x,
                           int lanes) {
    if (dtype != KILN_F16 && dtype != KILN_BF16)
        return x;
    return kiln_cg_half_value(g, dtype, kiln_cg_half_bits(g, dtype, x, lanes), lanes);
}

/* Boldo and Melquiond, "When double rounding is odd" (2005): truncate, and set the
 * lowest bit when anything was lost; rounding that to a format with at least two bits
 * less is exact rounding of x. */
LLVMValueRef kiln_cg_round_to_odd(const kiln_cg *g, LLVMValueRef x, int lanes) {
    const LLVMTypeRef f32 = kiln_cg_vector(g->f32, lanes);
    const LLVMTypeRef f64 = kiln_cg_vector(g->f64, lanes);
    const LLVMValueRef near = LLVMBuildFPTrunc(g->b, x, f32, "");
    const LLVMValueRef back = LLVMBuildFPExt(g->b, near, f64, "");
    const LLVMValueRef u = bits_of(g, near, lanes);
    const LLVMValueRef size = kiln_cg_unary(g, "llvm.fabs", back);
    const LLVMValueRef most = kiln_cg_unary(g, "llvm.fabs", x);
    const LLVMValueRef over = LLVMBuildFCmp(g->b, LLVMRealOGT, size, most, "");
    const LLVMValueRef down = LLVMBuildSub(
        g->b, u, LLVMBuildZExt(g->b, over, kiln_cg_vector(g->i32, lanes), ""), "");
    const LLVMValueRef odd = LLVMBuildOr(g->b, down, c32(g, 1, lanes), "");
    const LLVMValueRef inexact = LLVMBuildFCmp(g->b, LLVMRealONE, back, x, "");
    return float_of(g, LLVMBuildSelect(g->b, inexact, odd, u, ""), lanes);
}
