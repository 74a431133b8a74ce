/* sin, cos and tan of any argument, in f64 whatever the dtype.
 *
 * x = (n + f) pi/2, |f| <= 1/2. Below 10^6 after Cody and Waite (Software Manual for
 * the Elementary Functions, 1980): pi/2 in parts of 33 bits, of which n < 2^20 times
 * each is exact. Beyond after Payne and Hanek (Radian reduction for trigonometric
 * functions, 1983): 2/pi in chunks of 24 bits, of which only those count that give
 * neither whole turns nor less than 2^-116. The polynomials are Taylor series cut where
 * the rest is below 1.8e-9 (f32), 1.2e-19 (f64): |r| <= pi/4.
 *
 * Error in ulp (tests/compiler/codegen/test_math.c): sin and cos 1 for f32, 2 for f64;
 * tan 1 for f32, 4 for f64. Infinities give NaN. */
#include "compiler/codegen/llvm_cpu/math_num.h"

enum { CHUNKS = 50, USED = 9, CHUNK_BITS = 24 };

/* 2/pi = sum chunk[i] 2^(-24 (i + 1)) */
static const int32_t two_over_pi[CHUNKS] = {
    0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041,
    0xfe5163, 0xabdebb, 0xc561b7, 0x246e3a, 0x424dd2, 0xe00649, 0x2eea09, 0xd1921c,
    0xfe1deb, 0x1cb129, 0xa73ee8, 0x8235f5, 0x2ebb44, 0x84e99c, 0x7026b4, 0x5f7e41,
    0x3991d6, 0x398353, 0x39f49c, 0x845f8b, 0xbdf928, 0x3b1ff8, 0x97ffde, 0x05980f,
    0xef2f11, 0x8b5a0a, 0x6d1f6d, 0x367ecf, 0x27cb09, 0xb74f46, 0x3f669e, 0x5fea2d,
    0x7527ba, 0xc7ebe5, 0xf17b3d, 0x0739f7, 0x8a5292, 0xea6bfb, 0x5fb11f, 0x8d5d08,
    0x560330, 0x46fc7b};

/* The angle r in [-pi/4, pi/4] and the quarter turns before it, in the low two bits. */
typedef struct angle {
    LLVMValueRef r, quarter;
} angle;

/* x + y = s + *e exactly (Knuth, 4.2.2, theorem B). */
static LLVMValueRef two_sum(const num *k, LLVMValueRef x, LLVMValueRef y,
                            LLVMValueRef *e) {
    const LLVMValueRef s = add(k, x, y), v = sub(k, s, x);
    const LLVMValueRef of_x = sub(k, x, sub(k, s, v));
    *e = add(k, of_x, sub(k, y, v));
    return s;
}

static LLVMValueRef nearest(const num *k, LLVMValueRef x) {
    return kiln_cg_has_fma(k->g)
               ? kiln_cg_unary(k->g, "llvm.rint", x)
               : kiln_cg_math_round(k->g, KILN_INTRIN_round, x, k->lanes);
}

static angle reduce_near(const num *k, LLVMValueRef x, bool is_f32) {
    const LLVMValueRef magic = real(k, k->magic);
    const LLVMValueRef t = add(k, mul(k, x, real(k, 0x1.45f306dc9c883p-1)), magic);
    const LLVMValueRef n = sub(k, t, magic);
    angle y = {.quarter = bits_of(k, t)};
    LLVMValueRef r = muladd(k, n, real(k, -0x1.921fb544p+0), x), low[2];
    if (is_f32) { /* none comes nearer to a multiple than 2^-30 */
        y.r = muladd(k, n, real(k, -0x1.0b4611a626331p-34), r);
        return y;
    }
    r = two_sum(k, r, mul(k, n, real(k, -0x1.0b4611a6p-34)), &low[0]);
    r = two_sum(k, r, mul(k, n, real(k, -0x1.3198a2ep-69)), &low[1]);
    const LLVMValueRef rest =
        muladd(k, n, real(k, -0x1.b839a252049c1p-104), add(k, low[0], low[1]));
    y.r = pick(k, LLVMRealOEQ, x, real(k, 0), x, add(k, r, rest)); /* -0 is lost */
    return y;
}

/* ---- large arguments ------------------------------------------------------------- */

static LLVMValueRef chunk_table(const kiln_cg *g) {
    static const char name[] = "kiln.two_over_pi";
    const LLVMTypeRef t = LLVMArrayType2(g->i32, CHUNKS);
    LLVMValueRef c[CHUNKS], table = LLVMGetNamedGlobal(g->module, name);
    if (table != NULL)
        return table;
    for (int i = 0; i < CHUNKS; i++)
        c[i] = LLVMConstInt(g->i32, (unsigned long long)two_over_pi[i], false);
    table = LLVMAddGlobal(g->module, t, name);
    LLVMSetInitializer(table, LLVMConstArray2(g->i32, c, CHUNKS));
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    return table;
}

/* table[index], lane by lane, as a float. */
static LLVMValueRef chunk_at(const num *k, LLVMValueRef index) {
    const kiln_cg *g = k->g;
    const LLVMValueRef table = chunk_table(g);
    LLVMValueRef v = LLVMGetPoison(kiln_cg_vector(g->i32, k->lanes));
    for (int i = 0; i < k->lanes; i++) {
        const LLVMValueRef lane = LLVMConstInt(g->i32, (unsigned)i, false);
        LLVMValueRef at =
            k->lanes == 1 ? index : LLVMBuildExtractElement(g->b, index, lane, "");
        const LLVMValueRef p = LLVMBuildGEP2(g->b, g->i32, table, &at, 1, "");
        const LLVMValueRef c = LLVMBuildLoad2(g->b, g->i32, p, "");
        v = k->lanes == 1 ? c : LLVMBuildInsertElement(g->b, v, c, lane, "");
    }
    return LLVMBuildSIToFP(g->b, v, kiln_cg_vector(g->f64, k->lanes), "");
}

/* high + low is the fraction of a turn's quarter so far, n whole quarters (modulo 4 it
 * is what counts). Exact until high + low has 106 bits: terms come by falling size, and
 * whole quarters leave at once. */
typedef struct sum {
    LLVMValueRef high, low, n;
} sum;

static void add_term(const num *k, sum *s, LLVMValueRef t) {
    LLVMValueRef e;
    t = muladd(k, nearest(k, mul(k, t, real(k, 0.25))), real(k, -4), t);
    const LLVMValueRef high = two_sum(k, s->high, t, &e);
    s->high = two_sum(k, high, add(k, s->low, e), &s->low);
    const LLVMValueRef n = nearest(k, s->high);
    s->high = two_sum(k, sub(k, s->high, n), s->low, &s->low);
    s->n = add(k, s->n, n);
}

static angle reduce_far(const num *k, LLVMValueRef x) {
    enum { PHIS = 5 };
    const kiln_cg *g = k->g;
    const LLVMTypeRef vector = kiln_cg_vector(g->f64, k->lanes);
    const LLVMValueRef zero = real(k, 0);
    /* Of x = m 2^(e - 52) with m whole, chunks before (e - 54) / 24 give whole turns.
     */
    LLVMValueRef e = LLVMBuildLShr(g->b, bits_of(k, x), whole(k, k->mantissa), "");
    e = LLVMBuildAnd(g->b, e, whole(k, 0x7FF), "");
    LLVMValueRef first = LLVMBuildSub(g->b, e, whole(k, k->bias + 54), "");
    LLVMTypeRef type = LLVMTypeOf(first);
    LLVMValueRef bound[2] = {first, whole(k, 0)};
    first = kiln_cg_intrinsic(g, "llvm.smax", &type, 1, bound, 2);
    bound[0] = LLVMBuildUDiv(g->b, first, whole(k, CHUNK_BITS), "");
    bound[1] = whole(k, CHUNKS - USED); /* infinity's exponent is larger */
    first = kiln_cg_intrinsic(g, "llvm.smin", &type, 1, bound, 2);
    const LLVMValueRef down = LLVMBuildMul(
        g->b, LLVMBuildAdd(g->b, first, whole(k, 1), ""), whole(k, -CHUNK_BITS), "");
    const LLVMValueRef scaled = mul(k, x, power_of_two(k, down));
    /* 26 bits and the 27 before them: times a chunk, either is exact. */
    const LLVMValueRef high = float_of(
        k, LLVMBuildAnd(g->b, bits_of(k, scaled), whole(k, -((int64_t)1 << 26)), ""));
    const LLVMValueRef low = sub(k, scaled, high);
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(g->b), kiln_cg_block(g)};
    const LLVMBasicBlockRef done = kiln_cg_block(g);
    LLVMBuildBr(g->b, from[1]);
    LLVMPositionBuilderAtEnd(g->b, from[1]);
    LLVMValueRef phi[PHIS], next[PHIS];
    LLVMValueRef start[PHIS] = {zero, zero, zero, real(k, 1), first};
    for (int i = 0; i < PHIS; i++)
        phi[i] = LLVMBuildPhi(g->b, i < 4 ? vector : type, "");
    const LLVMValueRef count = LLVMBuildPhi(g->b, g->i32, "");
    const LLVMValueRef c = mul(k, chunk_at(k, phi[4]), phi[3]);
    sum s = {phi[0], phi[1], phi[2]};
    add_term(k, &s, mul(k, high, c));
    add_term(k, &s, mul(k, low, c));
    next[0] = s.high;
    next[1] = s.low;
    next[2] = s.n;
    next[3] = mul(k, phi[3], real(k, 0x1p-24));
    next[4] = LLVMBuildAdd(g->b, phi[4], whole(k, 1), "");
    const LLVMValueRef one = LLVMConstInt(g->i32, 1, false);
    LLVMValueRef counted[2] = {LLVMConstNull(g->i32),
                               LLVMBuildAdd(g->b, count, one, "")};
    LLVMBuildCondBr(g->b,
                    LLVMBuildICmp(g->b, LLVMIntULT, counted[1],
                                  LLVMConstInt(g->i32, USED, false), ""),
                    from[1], done);
    for (int i = 0; i < PHIS; i++) {
        LLVMValueRef in[2] = {start[i], next[i]};
        LLVMAddIncoming(phi[i], in, from, 2);
    }
    LLVMAddIncoming(count, counted, from, 2);
    LLVMPositionBuilderAtEnd(g->b, done);
    angle y = {.quarter = bits_of(k, add(k, s.n, real(k, k->magic)))};
    y.r = muladd(k, s.high, real(k, 0x1.921fb54442d18p+0),
                 mul(k, s.low, real(k, 0x1.921fb54442d18p+0)));
    return y;
}

/* The long way only where some lane needs it. */
static angle reduce(const num *k, LLVMValueRef x, bool is_f32) {
    const kiln_cg *g = k->g;
    const LLVMValueRef a = kiln_cg_unary(g, "llvm.fabs", x);
    const LLVMValueRef large = LLVMBuildFCmp(g->b, LLVMRealOGT, a, real(k, 1e6), "");
    const LLVMValueRef finite =
        LLVMBuildFCmp(g->b, LLVMRealOLT, a, real(k, (double)INFINITY), "");
    const LLVMValueRef is_far = LLVMBuildAnd(g->b, large, finite, "");
    const LLVMValueRef any =
        k->lanes == 1 ? is_far : kiln_cg_unary(g, "llvm.vector.reduce.or", is_far);
    const angle near = reduce_near(k, x, is_f32);
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(g->b), NULL};
    const LLVMBasicBlockRef long_way = kiln_cg_block(g), join = kiln_cg_block(g);
    LLVMBuildCondBr(g->b, any, long_way, join);
    LLVMPositionBuilderAtEnd(g->b, long_way);
    const angle far = reduce_far(k, x);
    LLVMValueRef r[2] = {near.r, LLVMBuildSelect(g->b, is_far, far.r, near.r, "")};
    LLVMValueRef q[2] = {near.quarter,
                         LLVMBuildSelect(g->b, is_far, far.quarter, near.quarter, "")};
    from[1] = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    const angle y = {LLVMBuildPhi(g->b, LLVMTypeOf(r[0]), ""),
                     LLVMBuildPhi(g->b, LLVMTypeOf(q[0]), "")};
    LLVMAddIncoming(y.r, r, from, 2);
    LLVMAddIncoming(y.quarter, q, from, 2);
    return y;
}

/* ---- the functions --------------------------------------------------------------- */

/* sum (-1)^i z^i / (2i + first)!, i = 1 .. n */
static LLVMValueRef series(const num *k, int first, int n, LLVMValueRef z) {
    double c[16] = {1};
    for (int i = 1; i <= n; i++)
        c[i] = -c[i - 1] / ((2.0 * i + first) * (2.0 * i + first - 1));
    return mul(k, horner(k, c + 1, n, z), z);
}

static LLVMValueRef is_odd(const num *k, LLVMValueRef quarter) {
    return LLVMBuildTrunc(k->g->b, quarter, kiln_cg_vector(k->g->i1, k->lanes), "");
}

static LLVMValueRef sin_or_cos(const num *k, kiln_intrin how, const angle *y,
                               LLVMValueRef sine, LLVMValueRef cosine) {
    const kiln_cg *g = k->g;
    LLVMValueRef q = y->quarter;
    if (how == KILN_INTRIN_cos)
        q = LLVMBuildAdd(g->b, q, whole(k, 1), "");
    const LLVMValueRef v = LLVMBuildSelect(g->b, is_odd(k, q), cosine, sine, "");
    const LLVMValueRef sign =
        LLVMBuildShl(g->b, LLVMBuildLShr(g->b, q, whole(k, 1), ""), whole(k, 63), "");
    return float_of(k, LLVMBuildXor(g->b, bits_of(k, v), sign, ""));
}

LLVMValueRef kiln_cg_math_trig(const kiln_cg *g, kiln_intrin how, LLVMValueRef x,
                               int lanes) {
    const LLVMTypeRef t = LLVMTypeOf(x), f64 = kiln_cg_vector(g->f64, lanes);
    const bool is_f32 = t != f64;
    if (is_f32)
        x = LLVMBuildFPExt(g->b, x, f64, "");
    const num k = num_of(g, x, lanes);
    const angle y = reduce(&k, x, is_f32);
    const LLVMValueRef z = mul(&k, y.r, y.r);
    /* The sign of a zero is the argument's. */
    const LLVMValueRef sine =
        with_sign(&k, muladd(&k, y.r, series(&k, 1, is_f32 ? 4 : 8, z), y.r), y.r);
    const LLVMValueRef cosine = add(&k, series(&k, 0, is_f32 ? 5 : 8, z), real(&k, 1));
    LLVMValueRef v;
    if (how == KILN_INTRIN_tan) {
        const LLVMValueRef odd = is_odd(&k, y.quarter);
        const LLVMValueRef minus = LLVMBuildFNeg(g->b, cosine, "");
        const LLVMValueRef top = LLVMBuildSelect(g->b, odd, minus, sine, "");
        const LLVMValueRef bottom = LLVMBuildSelect(g->b, odd, sine, cosine, "");
        v = LLVMBuildFDiv(g->b, top, bottom, "");
    } else {
        v = sin_or_cos(&k, how, &y, sine, cosine);
    }
    return is_f32 ? LLVMBuildFPTrunc(g->b, v, t, "") : v;
}
