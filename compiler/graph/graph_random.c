/* Seeded random tensors: for checks, and for constants of a graph's text whose values
 * do not matter. */
#include "compiler/graph/type.h"

/* Integers are small and not negative, since those that are 32 or 64 bits wide are
 * mostly indices; the narrow ones are mostly data. Floats are multiples of 2^-24 in
 * [-1, 1), so that f32 holds them exactly. */
static int64_t random_int(kiln_rng *r, kiln_dtype dtype) {
    switch (dtype) {
    case KILN_BOOL:
    case KILN_I64:
    case KILN_U64:
    case KILN_I32:
    case KILN_U32:
        return kiln_rng_range(r, 0, 1);
    case KILN_I8:
    case KILN_I16:
        return kiln_rng_range(r, -8, 7);
    case KILN_U8:
    case KILN_U16:
        return kiln_rng_range(r, 0, 15);
    case KILN_I4:
        return kiln_rng_range(r, -8, 7);
    case KILN_U4:
        return kiln_rng_range(r, 0, 15);
    case KILN_I2:
        return kiln_rng_range(r, -2, 1);
    case KILN_U2:
        return kiln_rng_range(r, 0, 3);
    case KILN_DTYPES_LOW_FLOAT:
    case KILN_F32:
    case KILN_F16:
    case KILN_BF16:
    case KILN_F64:
    case KILN_N_DTYPES:
        break;
    }
    KILN_ASSERT(false, "dtype %d is not an integer", (int)dtype);
    return 0;
}

/* Types without a sign have none to draw. */
static double random_float(kiln_rng *r, kiln_dtype dtype) {
    const double v =
        (double)(kiln_rng_range(r, 0, (1 << 25) - 1) - (1 << 24)) / (1 << 24);
    return kiln_dtype_get(dtype)->is_signed || v > 0 ? v : -v;
}

kiln_tensor kiln_tensor_random(kiln_arena *a, const kiln_type *t, uint64_t seed) {
    enum { CHUNK = 4096 };
    kiln_tensor out = kiln_tensor_new(a, t);
    kiln_rng r;
    kiln_rng_init(&r, seed);
    const int64_t n = kiln_type_elems(t);
    const size_t bytes = kiln_dtype_bytes(t->dtype);
    double f[CHUNK];
    int64_t i[CHUNK];
    const bool is_float = kiln_dtype_is_float(t->dtype);
    for (int64_t first = 0; first < n; first += CHUNK) {
        const int64_t left = n - first < CHUNK ? n - first : CHUNK;
        for (int64_t j = 0; j < left; j++) {
            if (is_float)
                f[j] = random_float(&r, t->dtype);
            else
                i[j] = random_int(&r, t->dtype);
        }
        const kiln_wide part = {.type = kiln_type_make(t->dtype, 1, &left),
                                .f = is_float ? f : NULL,
                                .i = is_float ? NULL : i};
        kiln_narrow(&part, (char *)out.data + (size_t)first * bytes);
    }
    return out;
}
