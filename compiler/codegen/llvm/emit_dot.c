/* dot4: acc[j] += sum over k < 4 of a[4j + k] * b[4j + k], bytes into 32 bits, exact on
 * every target.
 *
 *   x86 with VNNI      vpdpbusd (u8 times s8, no saturation). s8 times s8 adds 128 to a
 *                      and takes 128 * sum(b) off again; u8 times u8 the other way
 *                      round. The correction depends on b alone, so rows that share b
 *                      share it.
 *   x86 without        pmaddwd on even and odd bytes widened to 16 bits. (pmaddubsw
 *                      saturates: 255 * 127 * 2 is more than 16 bits.)
 *   Arm with dotprod   sdot, udot; signs mixed as above. Of more than 16 bytes SVE's, on
 *                      the first lanes of a scalable vector.
 *   others             32-bit products of each byte.
 */
#include "compiler/codegen/llvm/emit.h"

typedef struct dot {
    kiln_cg *g;
    int n; /* 32-bit lanes of one step */
    LLVMTypeRef i32, i16, i8;
    bool a_signed, b_signed;
} dot;

static LLVMValueRef as(const dot *d, LLVMValueRef v, LLVMTypeRef t) {
    return LLVMBuildBitCast(d->g->b, v, t, "");
}

static LLVMValueRef bytes(const dot *d, int v) {
    return kiln_cg_int(d->g, d->g->i8, v, 4 * d->n);
}

/* x + 128 modulo 256: an unsigned byte read as signed 128 less, and back. */
static LLVMValueRef flipped(const dot *d, LLVMValueRef x) {
    return LLVMBuildXor(d->g->b, x, bytes(d, 0x80), "");
}

static LLVMValueRef times_128(const dot *d, LLVMValueRef x) {
    return LLVMBuildShl(d->g->b, x, kiln_cg_int(d->g, d->g->i32, 7, d->n), "");
}

static const kiln_arch_intrinsics *names(const dot *d) {
    return &kiln_arch_of(d->g->profile->arch)->intrinsics;
}

/* By width: 16, 32 or 64 bytes. */
static int width(const dot *d) { return d->n == 16 ? 2 : d->n == 8 ? 1 : 0; }

/* ---- vpdpbusd -------------------------------------------------------------------- */

static LLVMValueRef busd(const dot *d, LLVMValueRef acc, LLVMValueRef u,
                         LLVMValueRef s) {
    LLVMValueRef arg[3] = {acc, as(d, u, d->i32), as(d, s, d->i32)};
    return kiln_cg_intrinsic(d->g, names(d)->dot_u8_s8[width(d)], NULL, 0, arg, 3);
}

static LLVMValueRef with_vnni(const dot *d, LLVMValueRef acc, LLVMValueRef a,
                              LLVMValueRef b) {
    const LLVMValueRef zero = LLVMConstNull(d->i32);
    if (!d->a_signed && d->b_signed)
        return busd(d, acc, a, b);
    if (d->a_signed && !d->b_signed)
        return busd(d, acc, b, a);
    const LLVMValueRef other = flipped(d, a);
    if (d->a_signed) {
        const LLVMValueRef sum = busd(d, acc, other, b);
        const LLVMValueRef more = times_128(d, busd(d, zero, bytes(d, 1), b));
        return LLVMBuildSub(d->g->b, sum, more, "");
    }
    const LLVMValueRef sum = busd(d, acc, b, other);
    const LLVMValueRef less = times_128(d, busd(d, zero, b, bytes(d, 1)));
    return LLVMBuildAdd(d->g->b, sum, less, "");
}

/* ---- pmaddwd --------------------------------------------------------------------- */

/* Even or odd bytes of every 16 bits, widened in place. */
static LLVMValueRef half_of(const dot *d, LLVMValueRef x, bool is_signed, bool odd) {
    LLVMBuilderRef b = d->g->b;
    const LLVMValueRef eight = kiln_cg_int(d->g, d->g->i16, 8, 2 * d->n);
    const LLVMValueRef v = as(d, x, d->i16);
    if (!is_signed && !odd)
        return LLVMBuildAnd(b, v, kiln_cg_int(d->g, d->g->i16, 0xFF, 2 * d->n), "");
    if (!is_signed)
        return LLVMBuildLShr(b, v, eight, "");
    return LLVMBuildAShr(b, odd ? v : LLVMBuildShl(b, v, eight, ""), eight, "");
}

static LLVMValueRef with_madd(const dot *d, LLVMValueRef acc, LLVMValueRef a,
                              LLVMValueRef b) {
    const char *name = names(d)->madd_i16[width(d)];
    for (int odd = 0; odd < 2; odd++) {
        LLVMValueRef arg[2] = {half_of(d, a, d->a_signed, odd),
                               half_of(d, b, d->b_signed, odd)};
        acc = LLVMBuildAdd(d->g->b, acc, kiln_cg_intrinsic(d->g, name, NULL, 0, arg, 2),
                           "");
    }
    return acc;
}

/* ---- Arm ------------------------------------------------------------------------- */

/* The first lanes of a scalable vector, of which 16 bytes are `least` lanes. */
static LLVMValueRef widened(const dot *d, LLVMValueRef v, LLVMTypeRef elem,
                            unsigned least) {
    LLVMTypeRef types[2] = {LLVMScalableVectorType(elem, least), LLVMTypeOf(v)};
    LLVMValueRef arg[3] = {LLVMGetPoison(types[0]), v,
                           LLVMConstInt(d->g->i64, 0, false)};
    return kiln_cg_intrinsic(d->g, "llvm.vector.insert", types, 2, arg, 3);
}

static LLVMValueRef scalable(const dot *d, bool is_signed, LLVMValueRef acc,
                             LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef type = LLVMScalableVectorType(d->g->i32, 4);
    LLVMTypeRef types[2] = {d->i32, type};
    LLVMValueRef arg[3] = {widened(d, acc, d->g->i32, 4), widened(d, a, d->g->i8, 16),
                           widened(d, b, d->g->i8, 16)};
    LLVMValueRef sum[2] = {kiln_cg_intrinsic(d->g,
                                             is_signed ? names(d)->scalable_dot_s8
                                                       : names(d)->scalable_dot_u8,
                                             &type, 1, arg, 3),
                           LLVMConstInt(d->g->i64, 0, false)};
    return kiln_cg_intrinsic(d->g, "llvm.vector.extract", types, 2, sum, 2);
}

static LLVMValueRef by_types(const dot *d, bool is_signed, LLVMValueRef acc,
                             LLVMValueRef a, LLVMValueRef b) {
    if (d->n > 4)
        return scalable(d, is_signed, acc, a, b);
    LLVMTypeRef types[2] = {d->i32, d->i8};
    LLVMValueRef arg[3] = {acc, a, b};
    return kiln_cg_intrinsic(d->g, is_signed ? names(d)->dot_s8 : names(d)->dot_u8,
                             types, 2, arg, 3);
}

static LLVMValueRef with_dotprod(const dot *d, LLVMValueRef acc, LLVMValueRef a,
                                 LLVMValueRef b) {
    if (d->a_signed == d->b_signed)
        return by_types(d, d->a_signed, acc, a, b);
    const LLVMValueRef u = d->a_signed ? b : a, s = d->a_signed ? a : b;
    const LLVMValueRef sum = by_types(d, true, LLVMConstNull(d->i32), bytes(d, 1), s);
    const LLVMValueRef all = by_types(d, true, acc, flipped(d, u), s);
    return LLVMBuildAdd(d->g->b, all, times_128(d, sum), "");
}

/* ---- anything else --------------------------------------------------------------- */

static LLVMValueRef byte_of(const dot *d, LLVMValueRef x, int k, bool is_signed) {
    LLVMBuilderRef b = d->g->b;
    const LLVMValueRef up = LLVMBuildShl(
        b, as(d, x, d->i32), kiln_cg_int(d->g, d->g->i32, 24 - 8 * k, d->n), "");
    const LLVMValueRef by = kiln_cg_int(d->g, d->g->i32, 24, d->n);
    return is_signed ? LLVMBuildAShr(b, up, by, "") : LLVMBuildLShr(b, up, by, "");
}

static LLVMValueRef with_products(const dot *d, LLVMValueRef acc, LLVMValueRef a,
                                  LLVMValueRef b) {
    for (int k = 0; k < 4; k++) {
        const LLVMValueRef x = byte_of(d, a, k, d->a_signed);
        const LLVMValueRef y = byte_of(d, b, k, d->b_signed);
        const LLVMValueRef product = LLVMBuildMul(d->g->b, x, y, "");
        acc = LLVMBuildAdd(d->g->b, acc, product, "");
    }
    return acc;
}

static LLVMValueRef one_step(const dot *d, LLVMValueRef acc, LLVMValueRef a,
                             LLVMValueRef b) {
    const kiln_profile *p = d->g->profile;
    if (d->n < 4)
        return with_products(d, acc, a, b);
    if (p->has_vnni && names(d)->dot_u8_s8[width(d)] != NULL)
        return with_vnni(d, acc, a, b);
    if (p->has_dotprod && names(d)->dot_s8 != NULL)
        return with_dotprod(d, acc, a, b);
    return names(d)->madd_i16[width(d)] != NULL ? with_madd(d, acc, a, b)
                                                : with_products(d, acc, a, b);
}

/* ---- steps ----------------------------------------------------------------------- */

enum { MAX_LANES = 64 };

static LLVMValueRef slice(const kiln_cg *g, LLVMValueRef v, int begin, int n) {
    LLVMValueRef lane[4 * MAX_LANES];
    for (int i = 0; i < n; i++)
        lane[i] = LLVMConstInt(g->i32, (unsigned)(begin + i), false);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(lane, (unsigned)n), "");
}

/* Two vectors of n lanes each, one behind the other. */
static LLVMValueRef joined(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y, int n) {
    LLVMValueRef lane[MAX_LANES];
    for (int i = 0; i < 2 * n; i++)
        lane[i] = LLVMConstInt(g->i32, (unsigned)i, false);
    return LLVMBuildShuffleVector(g->b, x, y, LLVMConstVector(lane, (unsigned)(2 * n)),
                                  "");
}

LLVMValueRef kiln_cg_dot4(kiln_cg *g, const kiln_expr *e, const LLVMValueRef *arg) {
    const int n = e->lanes, native = g->profile->vector_bytes / 4;
    if (n > MAX_LANES || (n & (n - 1)) != 0) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "dot4 must have a power of two of at most %d lanes, has %d",
                     MAX_LANES, n);
        return LLVMGetPoison(kiln_cg_vector(g->i32, n));
    }
    const int step = n < native ? n : native;
    const dot d = {.g = g,
                   .n = step,
                   .i32 = kiln_cg_vector(g->i32, step),
                   .i16 = kiln_cg_vector(g->i16, 2 * step),
                   .i8 = kiln_cg_vector(g->i8, 4 * step),
                   .a_signed = e->arg[1]->dtype == KILN_I8,
                   .b_signed = e->arg[2]->dtype == KILN_I8};
    if (step == n)
        return one_step(&d, arg[0], arg[1], arg[2]);
    LLVMValueRef part[MAX_LANES];
    int n_parts = n / step;
    for (int i = 0; i < n_parts; i++) {
        const LLVMValueRef acc = slice(g, arg[0], i * step, step);
        const LLVMValueRef a = slice(g, arg[1], 4 * i * step, 4 * step);
        const LLVMValueRef b = slice(g, arg[2], 4 * i * step, 4 * step);
        part[i] = one_step(&d, acc, a, b);
    }
    for (int size = step; n_parts > 1; size *= 2, n_parts /= 2)
        for (int i = 0; i < n_parts / 2; i++)
            part[i] = joined(g, part[(size_t)i * 2], part[(size_t)i * 2 + 1], size);
    return part[0];
}
