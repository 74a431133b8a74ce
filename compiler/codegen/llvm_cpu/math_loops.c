/* What takes a loop: fmod of floats, powers of integers. Both end when every lane has.
 *
 * fmod is exact (C17, F.10.7.1). Each turn takes q s from r, s = 2^k y for the k that
 * makes q = trunc(r / s) at most 2^26, and r < s after it: the product of q with either
 * half of s has no more than 53 bits, and so have the differences. */
#include "compiler/codegen/llvm_cpu/math_num.h"

/* A loop whose values are v[0..n): begins one, returns its block. */
typedef struct turn {
    LLVMValueRef v[3];
    LLVMBasicBlockRef before, body;
} turn;

static turn begin(const kiln_cg *g, const LLVMValueRef *start, int n) {
    turn t = {.before = LLVMGetInsertBlock(g->b), .body = kiln_cg_block(g)};
    LLVMBuildBr(g->b, t.body);
    LLVMPositionBuilderAtEnd(g->b, t.body);
    for (int i = 0; i < n; i++) {
        LLVMValueRef first = start[i];
        t.v[i] = LLVMBuildPhi(g->b, LLVMTypeOf(first), "");
        LLVMAddIncoming(t.v[i], &first, &t.before, 1);
    }
    return t;
}

/* Goes on with next[] where some lane of `more` is set. */
static void end(const kiln_cg *g, turn *t, const LLVMValueRef *next, int n,
                LLVMValueRef more, int lanes) {
    const LLVMValueRef any =
        lanes == 1 ? more : kiln_cg_unary(g, "llvm.vector.reduce.or", more);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    const LLVMBasicBlockRef done = kiln_cg_block(g);
    LLVMBuildCondBr(g->b, any, t->body, done);
    for (int i = 0; i < n; i++) {
        LLVMValueRef value = next[i];
        LLVMAddIncoming(t->v[i], &value, &from, 1);
    }
    LLVMPositionBuilderAtEnd(g->b, done);
}

/* ---- fmod ------------------------------------------------------------------------ */

/* floor(log2 x) of a positive x, subnormal ones too. */
static LLVMValueRef exponent(const num *k, LLVMValueRef x) {
    const LLVMValueRef is_tiny =
        LLVMBuildFCmp(k->g->b, LLVMRealOLT, x, real(k, 0x1p-1022), "");
    const LLVMValueRef scaled =
        LLVMBuildSelect(k->g->b, is_tiny, mul(k, x, real(k, 0x1p64)), x, "");
    const LLVMValueRef shift = LLVMBuildSelect(k->g->b, is_tiny, whole(k, k->bias + 64),
                                               whole(k, k->bias), "");
    return LLVMBuildSub(
        k->g->b, LLVMBuildLShr(k->g->b, bits_of(k, scaled), whole(k, k->mantissa), ""),
        shift, "");
}

static LLVMValueRef truncated(const num *k, LLVMValueRef x) {
    return kiln_cg_has_fma(k->g)
               ? kiln_cg_unary(k->g, "llvm.trunc", x)
               : kiln_cg_math_round(k->g, KILN_INTRIN_trunc, x, k->lanes);
}

/* One turn: r >= b > 0 in lanes that count. */
static LLVMValueRef take(const num *k, LLVMValueRef r, LLVMValueRef b) {
    const kiln_cg *g = k->g;
    LLVMTypeRef type = kiln_cg_vector(k->i, k->lanes);
    const LLVMValueRef of_r = exponent(k, r), of_b = exponent(k, b);
    LLVMValueRef up[2] = {
        LLVMBuildSub(g->b, LLVMBuildSub(g->b, of_r, of_b, ""), whole(k, 24), ""),
        whole(k, 0)};
    up[0] = kiln_cg_intrinsic(g, "llvm.smax", &type, 1, up, 2);
    up[1] = whole(k, 2046); /* of lanes that do not count */
    const LLVMValueRef shift = kiln_cg_intrinsic(g, "llvm.smin", &type, 1, up, 2);
    const LLVMValueRef half = LLVMBuildAShr(g->b, shift, whole(k, 1), "");
    const LLVMValueRef rest = LLVMBuildSub(g->b, shift, half, "");
    const LLVMValueRef most = mul(k, b, power_of_two(k, half));
    const LLVMValueRef s = mul(k, most, power_of_two(k, rest));
    const LLVMValueRef q = truncated(k, LLVMBuildFDiv(g->b, r, s, ""));
    const LLVMValueRef high = float_of(
        k, LLVMBuildAnd(g->b, bits_of(k, s), whole(k, -((int64_t)1 << 27)), ""));
    const LLVMValueRef low = sub(k, s, high);
    const LLVMValueRef first = sub(k, r, mul(k, q, high));
    const LLVMValueRef left = sub(k, first, mul(k, q, low));
    return pick(k, LLVMRealOLT, left, real(k, 0), add(k, left, s), left);
}

LLVMValueRef kiln_cg_math_fmod(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                               int lanes) {
    const LLVMTypeRef t = LLVMTypeOf(x), f64 = kiln_cg_vector(g->f64, lanes);
    const bool is_f32 = t != f64;
    if (is_f32) {
        x = LLVMBuildFPExt(g->b, x, f64, "");
        y = LLVMBuildFPExt(g->b, y, f64, "");
    }
    const num k = num_of(g, x, lanes);
    const LLVMValueRef zero = real(&k, 0), infinity = real(&k, (double)INFINITY);
    const LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x);
    const LLVMValueRef b = kiln_cg_unary(g, "llvm.fabs", y);
    /* Of nothing, of infinity or of NaN there is none; the loop does not see those. */
    const LLVMValueRef finite = LLVMBuildFCmp(g->b, LLVMRealOLT, a, infinity, "");
    const LLVMValueRef above = LLVMBuildFCmp(g->b, LLVMRealOGT, b, zero, "");
    const LLVMValueRef is_good = LLVMBuildAnd(g->b, finite, above, "");
    const LLVMValueRef start = LLVMBuildSelect(g->b, is_good, a, zero, "");
    const LLVMValueRef by = LLVMBuildSelect(g->b, is_good, b, real(&k, 1), "");
    turn loop = begin(g, &start, 1);
    const LLVMValueRef r = loop.v[0];
    const LLVMValueRef left = pick(&k, LLVMRealOGE, r, by, take(&k, r, by), r);
    end(g, &loop, &left, 1, LLVMBuildFCmp(g->b, LLVMRealOGE, left, by, ""), lanes);
    const LLVMValueRef v = with_sign(
        &k, LLVMBuildSelect(g->b, is_good, left, real(&k, (double)NAN), ""), x);
    return is_f32 ? LLVMBuildFPTrunc(g->b, v, t, "") : v;
}

/* ---- powers of integers ---------------------------------------------------------- */

/* By squaring; wraps. A negative power is cut towards zero: 1 or -1 of 1 and -1, else
 * 0.
 */
LLVMValueRef kiln_cg_math_int_pow(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y,
                                  bool is_signed, int lanes) {
    const LLVMTypeRef v = LLVMTypeOf(x);
    const LLVMTypeRef t = lanes > 1 ? LLVMGetElementType(v) : v;
    const LLVMTypeRef bits = kiln_cg_vector(g->i1, lanes);
    const LLVMValueRef zero = LLVMConstNull(v), one = kiln_cg_int(g, t, 1, lanes);
    const LLVMValueRef minus = kiln_cg_int(g, t, -1, lanes);
    const LLVMValueRef negative =
        is_signed ? LLVMBuildICmp(g->b, LLVMIntSLT, y, zero, "") : LLVMConstNull(bits);
    const LLVMValueRef start[3] = {one, x,
                                   LLVMBuildSelect(g->b, negative, zero, y, "")};
    turn loop = begin(g, start, 3);
    const LLVMValueRef odd = LLVMBuildTrunc(g->b, loop.v[2], bits, "");
    const LLVMValueRef next[3] = {
        LLVMBuildSelect(g->b, odd, LLVMBuildMul(g->b, loop.v[0], loop.v[1], ""),
                        loop.v[0], ""),
        LLVMBuildMul(g->b, loop.v[1], loop.v[1], ""),
        LLVMBuildLShr(g->b, loop.v[2], one, "")};
    end(g, &loop, next, 3, LLVMBuildICmp(g->b, LLVMIntNE, next[2], zero, ""), lanes);
    if (!is_signed)
        return next[0];
    const LLVMValueRef alternating =
        LLVMBuildSelect(g->b, LLVMBuildTrunc(g->b, y, bits, ""), minus, one, "");
    LLVMValueRef r = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, x, minus, ""),
                                     alternating, zero, "");
    r = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, x, one, ""), one, r, "");
    return LLVMBuildSelect(g->b, negative, r, next[0], "");
}
