/* Low-bit floats by integer arithmetic; formats in base/arithmetic/low_float.h.
 *
 * To a float of 8 or 4 bits, to nearest even, as kiln's code generator does for
 * binary16: normal results by adding half an ulp (minus one, plus the lowest kept bit)
 * to the bits of the wide float; subnormal results by adding a power of two whose ulp
 * is that of the narrow format's subnormals, which makes the float adder round. */
#include "compiler/op/op_low.h"

#include <math.h>

/* ---- words of a wide float ---- */

typedef struct wide {
    kiln_arena *a;
    kiln_dtype real, word; /* f32 and u32, or f64 and u64 */
    int mantissa_bits, bias;
} wide;

static wide wide_of(kiln_arena *a, bool is_double) {
    return is_double ? (wide){a, KILN_F64, KILN_U64, 52, 1023}
                     : (wide){a, KILN_F32, KILN_U32, 23, 127};
}

static const kiln_expr *word(const wide *w, uint64_t v) {
    return kiln_x_int(w->a, w->word, (int64_t)v);
}

static const kiln_expr *op(const wide *w, kiln_expr_kind kind, const kiln_expr *x,
                           uint64_t v) {
    return kiln_x_binary(w->a, kind, x, word(w, v));
}

/* x < v ? then : otherwise, of words. */
static const kiln_expr *below(const wide *w, const kiln_expr *x, uint64_t v,
                              const kiln_expr *then, const kiln_expr *otherwise) {
    return kiln_x_select(w->a, op(w, KILN_EXPR_LT, x, v), then, otherwise);
}

static const kiln_expr *above(const wide *w, const kiln_expr *x, uint64_t v,
                              const kiln_expr *then, const kiln_expr *otherwise) {
    const kiln_expr *is_above = kiln_x_binary(w->a, KILN_EXPR_LT, word(w, v), x);
    return kiln_x_select(w->a, is_above, then, otherwise);
}

static uint64_t sign_bit(const wide *w) {
    return UINT64_C(1) << (w->word == KILN_U64 ? 63 : 31);
}

/* Bits of infinity: NaNs are above. */
static uint64_t infinity(const wide *w) {
    return (sign_bit(w) - 1) >> w->mantissa_bits << w->mantissa_bits;
}

/* Bits of 2^exponent, a normal number. */
static uint64_t power(const wide *w, int exponent) {
    return (uint64_t)(exponent + w->bias) << w->mantissa_bits;
}

/* ---- to f32 ---- */

static const kiln_expr *decode_e8m0(const wide *w, const kiln_expr *code) {
    const kiln_expr *bits = op(w, KILN_EXPR_SHL, code, (uint64_t)w->mantissa_bits);
    /* 2^-127 is a subnormal of f32. */
    bits = below(w, code, 1, word(w, UINT64_C(1) << (w->mantissa_bits - 1)), bits);
    bits = above(w, code, 0xFE, word(w, infinity(w) | infinity(w) >> 1), bits);
    return kiln_x_bitcast(w->a, w->real, bits);
}

const kiln_expr *kiln_low_decode(kiln_arena *a, kiln_dtype from,
                                 const kiln_expr *code) {
    KILN_ASSERT(kiln_dtype_is_in(from, KILN_DT_LOW_FLOAT), "%s is no float of few bits",
                kiln_dtype_name(from));
    const wide w = wide_of(a, false);
    const kiln_low_format format = kiln_dtype_low_format(from);
    const kiln_low_float *f = kiln_low_float_of(format);
    const uint64_t nan = infinity(&w) | infinity(&w) >> 1;
    code = kiln_x_cast(a, w.word, code);
    if (format == KILN_LOW_E8M0)
        return decode_e8m0(&w, code);
    const kiln_expr *magnitude = op(&w, KILN_EXPR_AND, code, f->sign - 1U);
    const int gain = w.mantissa_bits - f->mantissa_bits;
    const kiln_expr *normal =
        op(&w, KILN_EXPR_ADD, op(&w, KILN_EXPR_SHL, magnitude, (uint64_t)gain),
           (uint64_t)(w.bias - f->bias) << w.mantissa_bits);
    /* Subnormals are multiples of the smallest one. */
    const kiln_expr *unit =
        kiln_x_float(a, w.real, ldexp(1, 1 - f->bias - f->mantissa_bits));
    const kiln_expr *tiny = kiln_x_bitcast(
        a, w.word, kiln_x_mul(a, kiln_x_cast(a, w.real, magnitude), unit));
    const kiln_expr *bits =
        below(&w, magnitude, UINT64_C(1) << f->mantissa_bits, tiny, normal);
    if (format == KILN_LOW_E5M2)
        bits = above(&w, magnitude, f->max, word(&w, infinity(&w)), bits);
    if (!f->has_one_nan) {
        const unsigned last = format == KILN_LOW_E5M2 ? f->overflow : f->max;
        bits = above(&w, magnitude, last, word(&w, nan), bits);
    }
    const int up = format == KILN_LOW_E2M1 ? 28 : 24; /* the sign to its place */
    const kiln_expr *sign = op(&w, KILN_EXPR_AND, code, f->sign);
    sign = op(&w, KILN_EXPR_SHL, sign, (uint64_t)up);
    bits = kiln_x_binary(a, KILN_EXPR_OR, bits, sign);
    if (f->has_one_nan && !f->has_negative_zero)
        bits =
            kiln_x_select(a, op(&w, KILN_EXPR_EQ, code, f->nan), word(&w, nan), bits);
    return kiln_x_bitcast(a, w.real, bits);
}

/* ---- from a wide float ---- */

/* Magnitude of the code, and more than `max` where x is beyond it; for NaN anything. */
static const kiln_expr *rounded(const wide *w, const kiln_low_float *f,
                                const kiln_expr *magnitude) {
    kiln_arena *a = w->a;
    const int drop = w->mantissa_bits - f->mantissa_bits, least = 1 - f->bias;
    const kiln_expr *low =
        op(w, KILN_EXPR_AND, op(w, KILN_EXPR_SHR, magnitude, (uint64_t)drop), 1);
    /* Exponents are rebased on the way; smaller numbers wrap and are not chosen. */
    const uint64_t rebase = (uint64_t)(w->bias - f->bias) << w->mantissa_bits;
    const kiln_expr *normal = op(w, KILN_EXPR_SUB, magnitude, rebase);
    normal = op(w, KILN_EXPR_ADD, normal, (UINT64_C(1) << (drop - 1)) - 1);
    normal = kiln_x_binary(a, KILN_EXPR_ADD, normal, low);
    normal = op(w, KILN_EXPR_SHR, normal, (uint64_t)drop);
    const int step = least - f->mantissa_bits + w->mantissa_bits;
    const kiln_expr *sum = kiln_x_add(a, kiln_x_bitcast(a, w->real, magnitude),
                                      kiln_x_float(a, w->real, ldexp(1, step)));
    const kiln_expr *tiny =
        op(w, KILN_EXPR_SUB, kiln_x_bitcast(a, w->word, sum), power(w, step));
    return below(w, magnitude, power(w, least), tiny, normal);
}

static const kiln_expr *encode(const wide *w, kiln_low_format format,
                               const kiln_expr *x, bool saturate) {
    kiln_arena *a = w->a;
    const kiln_low_float *f = kiln_low_float_of(format);
    const kiln_expr *bits = kiln_x_bitcast(a, w->word, x);
    const kiln_expr *magnitude = op(w, KILN_EXPR_AND, bits, sign_bit(w) - 1);
    const int down = (w->word == KILN_U64 ? 63 : 31) - (f->sign == 0x80 ? 7 : 3);
    const kiln_expr *sign = op(w, KILN_EXPR_AND, bits, sign_bit(w));
    sign = op(w, KILN_EXPR_SHR, sign, (uint64_t)down);
    const kiln_expr *code = rounded(w, f, magnitude);
    code = above(w, code, f->max, word(w, saturate ? f->max : f->overflow), code);
    if (!f->has_one_nan)
        code = above(w, magnitude, infinity(w), word(w, f->nan), code);
    const kiln_expr *with_sign = kiln_x_binary(a, KILN_EXPR_OR, code, sign);
    if (!f->has_negative_zero)
        with_sign = below(w, code, 1, word(w, 0), with_sign);
    if (f->has_one_nan)
        with_sign = above(w, magnitude, infinity(w), word(w, f->nan), with_sign);
    return kiln_x_cast(a, KILN_U8, with_sign);
}

/* Of f64, where every f32 is a normal number. Negative numbers have the sign bit, so
 * as words they are above every number; -0 is taken for 0. */
static const kiln_expr *encode_e8m0(const wide *w, const kiln_expr *x, bool saturate,
                                    kiln_low_round round) {
    kiln_arena *a = w->a;
    const int bias = kiln_low_float_of(KILN_LOW_E8M0)->bias, m = w->mantissa_bits;
    const kiln_expr *bits = kiln_x_bitcast(a, w->word, x);
    bits = kiln_x_select(a, op(w, KILN_EXPR_EQ, bits, sign_bit(w)), word(w, 0), bits);
    const uint64_t carry = round == KILN_LOW_UP     ? (UINT64_C(1) << m) - 1
                           : round == KILN_LOW_DOWN ? 0
                                                    : UINT64_C(1) << (m - 1);
    const kiln_expr *code = op(w, KILN_EXPR_ADD, bits, carry);
    code = op(w, KILN_EXPR_SHR, code, (uint64_t)m);
    code = op(w, KILN_EXPR_SUB, code, (uint64_t)(w->bias - bias));
    const kiln_expr *nan = word(w, 0xFF);
    code = below(w, bits, power(w, -bias), saturate ? word(w, 0) : nan, code);
    code = above(w, bits, power(w, bias), saturate ? word(w, 0xFE) : nan, code);
    return kiln_x_cast(a, KILN_U8, above(w, bits, infinity(w), nan, code));
}

/* Integers as a float that rounds as they do. f64 has 53 bits: of what is longer, the
 * lost bits are kept as a last one that is odd. Only E8M0 has room for such numbers. */
static const kiln_expr *real_of(kiln_arena *a, const kiln_expr *x) {
    enum { LOST = 11 };
    if (x->dtype != KILN_I64 && x->dtype != KILN_U64)
        return kiln_x_cast(a, kiln_dtype_bytes(x->dtype) <= 2 ? KILN_F32 : KILN_F64, x);
    const kiln_expr *lost =
        kiln_x_binary(a, KILN_EXPR_AND, x, kiln_x_int(a, x->dtype, (1 << LOST) - 1));
    const kiln_expr *odd = kiln_x_select(
        a, kiln_x_binary(a, KILN_EXPR_EQ, lost, kiln_x_int(a, x->dtype, 0)),
        kiln_x_int(a, x->dtype, 0), kiln_x_int(a, x->dtype, 1));
    const kiln_expr *kept =
        kiln_x_binary(a, KILN_EXPR_SHR, x, kiln_x_int(a, x->dtype, LOST));
    kept = kiln_x_cast(a, KILN_F64, kiln_x_binary(a, KILN_EXPR_OR, kept, odd));
    const kiln_expr *is_long =
        kiln_x_less(a, kiln_x_int(a, x->dtype, (int64_t)1 << 53), x);
    return kiln_x_select(a, is_long,
                         kiln_x_mul(a, kept, kiln_x_float(a, KILN_F64, 1 << LOST)),
                         kiln_x_cast(a, KILN_F64, x));
}

const kiln_expr *kiln_low_encode(kiln_arena *a, kiln_dtype to, const kiln_expr *x,
                                 bool saturate, kiln_low_round round) {
    KILN_ASSERT(kiln_dtype_is_in(to, KILN_DT_LOW_FLOAT), "%s is no float of few bits",
                kiln_dtype_name(to));
    const kiln_low_format format = kiln_dtype_low_format(to);
    if (!kiln_dtype_is_float(x->dtype))
        x = real_of(a, x);
    if (kiln_dtype_bytes(x->dtype) < 4)
        x = kiln_x_cast(a, KILN_F32, x);
    if (format == KILN_LOW_E8M0)
        x = kiln_x_cast(a, KILN_F64, x);
    const wide w = wide_of(a, x->dtype == KILN_F64);
    return format == KILN_LOW_E8M0 ? encode_e8m0(&w, x, saturate, round)
                                   : encode(&w, format, x, saturate);
}

const kiln_expr *kiln_low_wrap(kiln_arena *a, kiln_dtype to, const kiln_expr *x) {
    const int bits = kiln_dtype_bits(to);
    KILN_ASSERT(bits >= 1 && bits < 8, "%s is not of few bits", kiln_dtype_name(to));
    if (kiln_dtype_is_float(x->dtype) || x->dtype == KILN_BOOL)
        x = kiln_x_cast(a, KILN_I32, x);
    const kiln_expr *mask = kiln_x_int(a, x->dtype, (1 << bits) - 1);
    x = kiln_x_cast(a, KILN_U8, kiln_x_binary(a, KILN_EXPR_AND, x, mask));
    if (kiln_dtype_stored(to) == KILN_U8)
        return x;
    const kiln_expr *sign = kiln_x_int(a, KILN_I8, 1 << (bits - 1));
    x = kiln_x_binary(a, KILN_EXPR_XOR, kiln_x_cast(a, KILN_I8, x), sign);
    return kiln_x_sub(a, x, sign);
}

const kiln_expr *kiln_low_read(const kiln_compute_cx *cx, int i,
                               const kiln_expr *const *index) {
    const kiln_dtype dtype = cx->in[i].type.dtype;
    const kiln_expr *x = kiln_compute_read(cx, i, index);
    return kiln_dtype_is_in(dtype, KILN_DT_LOW_FLOAT)
               ? kiln_low_decode(cx->arena, dtype, x)
               : x;
}
