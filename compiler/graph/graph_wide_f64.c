/* Native elements to the wide form (double, int64_t) and back. Each conversion rounds
 * once, to nearest even (IEEE 754-2008, 4.3.1); integers wrap modulo 2^bits as a native
 * cast does.
 *
 * u64 lives in int64_t as the same 64 bits: 2^63 and more look negative there, so
 * whoever compares, divides, shifts or converts such elements must ask the dtype and
 * work on (uint64_t).
 *
 * Native bytes may come from a mapped file at any address: all access goes through
 * memcpy, which the compilers turn into plain (vector) loads and stores. The two forms
 * of a tensor do not overlap. */
#include <string.h>

#include "compiler/graph/type.h"

/* Low-bit floats round to nearest (E8M0 too) and do not saturate: what saturates has
 * done so before. E8M0 alone does, for it has no zero. */
static uint8_t low_from(kiln_low_format format, double v) {
    return kiln_low_from_f64(format, v, format == KILN_LOW_E8M0, KILN_LOW_NEAREST);
}

/* The low bits of an integer, sign-extended. */
static int64_t low_bits(int64_t v, int bits) { return v & ((1 << bits) - 1); }

static int64_t low_signed(int64_t v, int bits) {
    const int64_t sign = (int64_t)1 << (bits - 1);
    return (low_bits(v, bits) ^ sign) - sign;
}

#define LOW_FLOAT(X, dtype, format)                                                    \
    X(dtype, uint8_t, f, double, kiln_low_to_f64(format, e), low_from(format, v))

/* One row per dtype: native type, wide field and its type, native e to wide, wide v to
 * native. */
#define FOR_EACH_FLOAT(X)                                                              \
    X(KILN_F32, float, f, double, (double)e, (float)v)                                 \
    X(KILN_F64, double, f, double, e, v)                                               \
    X(KILN_F16, uint16_t, f, double, kiln_f16_to_f64(e), kiln_f16_from_f64(v))         \
    X(KILN_BF16, uint16_t, f, double, kiln_bf16_to_f64(e), kiln_bf16_from_f64(v))      \
    LOW_FLOAT(X, KILN_F8E4M3FN, KILN_LOW_E4M3FN)                                       \
    LOW_FLOAT(X, KILN_F8E4M3FNUZ, KILN_LOW_E4M3FNUZ)                                   \
    LOW_FLOAT(X, KILN_F8E5M2, KILN_LOW_E5M2)                                           \
    LOW_FLOAT(X, KILN_F8E5M2FNUZ, KILN_LOW_E5M2FNUZ)                                   \
    LOW_FLOAT(X, KILN_F8E8M0, KILN_LOW_E8M0)                                           \
    LOW_FLOAT(X, KILN_F4E2M1, KILN_LOW_E2M1)

#define FOR_EACH_INT(X)                                                                \
    X(KILN_I8, int8_t, i, int64_t, e, (int8_t)v)                                       \
    X(KILN_U8, uint8_t, i, int64_t, e, (uint8_t)v)                                     \
    X(KILN_I16, int16_t, i, int64_t, e, (int16_t)v)                                    \
    X(KILN_U16, uint16_t, i, int64_t, e, (uint16_t)v)                                  \
    X(KILN_I32, int32_t, i, int64_t, e, (int32_t)v)                                    \
    X(KILN_U32, uint32_t, i, int64_t, e, (uint32_t)v)                                  \
    X(KILN_I64, int64_t, i, int64_t, e, v)                                             \
    X(KILN_U64, uint64_t, i, int64_t, (int64_t)e, (uint64_t)v)                         \
    X(KILN_BOOL, uint8_t, i, int64_t, e != 0, (uint8_t)(v != 0))                       \
    X(KILN_I4, int8_t, i, int64_t, low_signed(e, 4), (int8_t)low_signed(v, 4))         \
    X(KILN_U4, uint8_t, i, int64_t, low_bits(e, 4), (uint8_t)low_bits(v, 4))           \
    X(KILN_I2, int8_t, i, int64_t, low_signed(e, 2), (int8_t)low_signed(v, 2))         \
    X(KILN_U2, uint8_t, i, int64_t, low_bits(e, 2), (uint8_t)low_bits(v, 2))

#define FOR_EACH_DTYPE(X)                                                              \
    FOR_EACH_FLOAT(X)                                                                  \
    FOR_EACH_INT(X)

/* All elements, which the callers below have asked for; by registers of this machine or
 * of any (base/core/wide.h). */
KILN_ASKED_WHOLE static KILN_INLINE void widen(kiln_dtype dtype, const unsigned char *p,
                                               size_t n, kiln_wide *out) {
    switch (dtype) {
#define WIDEN(dtype, T, field, W, to_wide, to_native)                                  \
    case dtype: {                                                                      \
        W *const restrict to = out->field;                                             \
        for (size_t k = 0; k < n; k++) {                                               \
            T e;                                                                       \
            memcpy(&e, p + k * sizeof e, sizeof e);                                    \
            to[k] = to_wide;                                                           \
        }                                                                              \
        break;                                                                         \
    }
        FOR_EACH_DTYPE(WIDEN)
#undef WIDEN
    case KILN_N_DTYPES:
        break;
    }
}

KILN_ASKED_WHOLE static KILN_INLINE void narrow(const kiln_wide *w, size_t n,
                                                unsigned char *p) {
    switch (w->type.dtype) {
#define NARROW(dtype, T, field, W, to_wide, to_native)                                 \
    case dtype: {                                                                      \
        const W *const restrict from = w->field;                                       \
        for (size_t k = 0; k < n; k++) {                                               \
            const W v = from[k];                                                       \
            const T e = to_native;                                                     \
            memcpy(p + k * sizeof e, &e, sizeof e);                                    \
        }                                                                              \
        break;                                                                         \
    }
        FOR_EACH_DTYPE(NARROW)
#undef NARROW
    case KILN_N_DTYPES:
        break;
    }
}

KILN_WIDE KILN_ASKED_WHOLE static void
widen_by_wide(kiln_dtype dtype, const unsigned char *p, size_t n, kiln_wide *out) {
    widen(dtype, p, n, out);
}

KILN_ASKED_WHOLE static void widen_by_narrow(kiln_dtype dtype, const unsigned char *p,
                                             size_t n, kiln_wide *out) {
    widen(dtype, p, n, out);
}

KILN_WIDE KILN_ASKED_WHOLE static void narrow_by_wide(const kiln_wide *w, size_t n,
                                                      unsigned char *p) {
    narrow(w, n, p);
}

KILN_ASKED_WHOLE static void narrow_by_narrow(const kiln_wide *w, size_t n,
                                              unsigned char *p) {
    narrow(w, n, p);
}

KILN_ASKED_WHOLE static void round_all(kiln_wide *w, size_t n) {
    switch (w->type.dtype) {
#define ROUND(dtype, T, field, W, to_wide, to_native)                                  \
    case dtype:                                                                        \
        for (size_t k = 0; k < n; k++) {                                               \
            const W v = w->field[k];                                                   \
            const T e = to_native;                                                     \
            w->field[k] = to_wide;                                                     \
        }                                                                              \
        break;
        FOR_EACH_DTYPE(ROUND)
#undef ROUND
    case KILN_N_DTYPES:
        break;
    }
}

static void ask_wide(const kiln_wide *w, kiln_dtype dtype, size_t n) {
    if (kiln_dtype_is_float(dtype))
        kiln_ask_whole(w->f, n * sizeof *w->f);
    else
        kiln_ask_whole(w->i, n * sizeof *w->i);
}

void kiln_widen(const kiln_type *t, const void *data, kiln_wide *out) {
    KILN_ASSERT(kiln_layout_is_plain(&t->layout), "only row-major bytes are widened");
    const size_t n = (size_t)kiln_type_elems(t);
    kiln_ask_whole(data, n * kiln_dtype_bytes(t->dtype));
    ask_wide(out, t->dtype, n);
    (kiln_has_wide_registers() ? widen_by_wide : widen_by_narrow)(t->dtype, data, n,
                                                                  out);
}

void kiln_narrow(const kiln_wide *w, void *data) {
    KILN_ASSERT(kiln_layout_is_plain(&w->type.layout), "only row-major bytes are made");
    const size_t n = (size_t)kiln_type_elems(&w->type);
    kiln_ask_whole(data, n * kiln_dtype_bytes(w->type.dtype));
    ask_wide(w, w->type.dtype, n);
    (kiln_has_wide_registers() ? narrow_by_wide : narrow_by_narrow)(w, n, data);
}

void kiln_wide_round(kiln_wide *w) {
    const size_t n = (size_t)kiln_type_elems(&w->type);
    ask_wide(w, w->type.dtype, n);
    round_all(w, n);
}

/* One element by the same rows. Of a dtype of the other kind nothing is asked. */
#define LOAD(dtype, T, field, W, to_wide, to_native)                                   \
    case dtype: {                                                                      \
        T e;                                                                           \
        memcpy(&e, data, sizeof e);                                                    \
        return to_wide;                                                                \
    }
#define STORE(dtype, T, field, W, to_wide, to_native)                                  \
    case dtype: {                                                                      \
        const T e = to_native;                                                         \
        memcpy(data, &e, sizeof e);                                                    \
        return;                                                                        \
    }
#define ROUND(dtype, T, field, W, to_wide, to_native)                                  \
    case dtype: {                                                                      \
        const T e = to_native;                                                         \
        return to_wide;                                                                \
    }
#define REFUSED(dtype, ...) case dtype:

double kiln_load_f64(kiln_dtype dtype, const void *data) {
    switch (dtype) {
        FOR_EACH_FLOAT(LOAD)
        FOR_EACH_INT(REFUSED)
    case KILN_N_DTYPES:
        break;
    }
    KILN_ASSERT(false, "%s is no float", kiln_dtype_name(dtype));
    return 0;
}

int64_t kiln_load_i64(kiln_dtype dtype, const void *data) {
    switch (dtype) {
        FOR_EACH_INT(LOAD)
        FOR_EACH_FLOAT(REFUSED)
    case KILN_N_DTYPES:
        break;
    }
    KILN_ASSERT(false, "%s is no integer", kiln_dtype_name(dtype));
    return 0;
}

void kiln_store_f64(kiln_dtype dtype, double v, void *data) {
    switch (dtype) {
        FOR_EACH_FLOAT(STORE)
        FOR_EACH_INT(REFUSED)
    case KILN_N_DTYPES:
        break;
    }
    KILN_ASSERT(false, "%s is no float", kiln_dtype_name(dtype));
}

void kiln_store_i64(kiln_dtype dtype, int64_t v, void *data) {
    switch (dtype) {
        FOR_EACH_INT(STORE)
        FOR_EACH_FLOAT(REFUSED)
    case KILN_N_DTYPES:
        break;
    }
    KILN_ASSERT(false, "%s is no integer", kiln_dtype_name(dtype));
}

int64_t kiln_wrap_i64(kiln_dtype dtype, int64_t v) {
    switch (dtype) {
        FOR_EACH_INT(ROUND)
        FOR_EACH_FLOAT(REFUSED)
    case KILN_N_DTYPES:
        break;
    }
    KILN_ASSERT(false, "%s is no integer", kiln_dtype_name(dtype));
    return v;
}

double kiln_round_f64(kiln_dtype dtype, double v) {
    switch (dtype) {
        FOR_EACH_FLOAT(ROUND)
        FOR_EACH_INT(REFUSED)
    case KILN_N_DTYPES:
        break;
    }
    KILN_ASSERT(false, "%s is no float", kiln_dtype_name(dtype));
    return v;
}

#undef LOAD
#undef STORE
#undef ROUND
#undef REFUSED

/* Integers of more than 53 bits on their way to a narrower float: the last bit kept
 * tells whether bits were lost (rounding to odd; Boldo, Melquiond, 2008), so that the
 * rounding that follows is the only one. */
static double widen_to_odd(int64_t x, kiln_dtype dtype) {
    const bool is_negative = dtype != KILN_U64 && x < 0;
    uint64_t m = is_negative ? 0 - (uint64_t)x : (uint64_t)x;
    int shift = 0;
    while (m >> shift >= UINT64_C(1) << 53)
        shift++;
    const uint64_t lost = m & ((UINT64_C(1) << shift) - 1);
    if (lost != 0)
        m = (m - lost) | UINT64_C(1) << shift;
    return is_negative ? -(double)m : (double)m;
}

double kiln_f64_from_int(kiln_dtype from, kiln_dtype to, int64_t v) {
    if (to == KILN_F64)
        return from == KILN_U64 ? (double)(uint64_t)v : (double)v;
    return widen_to_odd(v, from);
}
