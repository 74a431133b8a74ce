/* Seeded random tensors for checks, by several laws. */
#include "compiler/reference/reference.h"

#include <math.h>

const char *kiln_ref_law_name(kiln_ref_law law) {
    KILN_ASSERT((int)law >= 0 && law < KILN_N_LAWS, "no law %d of numbers", (int)law);
    static const char *const name[KILN_N_LAWS] = {"uniform", "normal", "positive",
                                                  "small", "sparse"};
    return name[law];
}

static double uniform(kiln_rng *r) {
    return (double)(kiln_rng_range(r, 0, (1 << 25) - 1) - (1 << 24)) / (1 << 24);
}

static double draw(kiln_rng *r, kiln_ref_law law) {
    switch (law) {
    case KILN_LAW_UNIFORM:
    case KILN_N_LAWS:
        break;
    case KILN_LAW_NORMAL: { /* 12 times the variance 1/12 of [0, 1) */
        double sum = 0;
        for (int i = 0; i < 12; i++)
            sum += uniform(r) / 2;
        return sum;
    }
    case KILN_LAW_POSITIVE:
        return fabs(uniform(r));
    case KILN_LAW_SMALL:
        return uniform(r) * 0x1p-6;
    case KILN_LAW_SPARSE:
        return kiln_rng_range(r, 0, 7) == 0 ? uniform(r) : 0;
    }
    return uniform(r);
}

/* Types without a sign have none to draw. */
static double random_float(kiln_rng *r, kiln_ref_law law, kiln_dtype dtype) {
    const double v = draw(r, law);
    return kiln_dtype_get(dtype)->is_signed ? v : fabs(v);
}

kiln_tensor kiln_ref_random(kiln_arena *a, const kiln_type *t, uint64_t seed) {
    return kiln_tensor_random(a, t, seed);
}

kiln_tensor kiln_ref_draw(kiln_arena *a, const kiln_type *t, kiln_ref_law law,
                          uint64_t seed) {
    KILN_ASSERT((int)law >= 0 && law < KILN_N_LAWS, "no law %d of numbers", (int)law);
    enum { CHUNK = 4096 };
    const int64_t n = kiln_type_elems(t);
    const size_t bytes = kiln_dtype_bytes(t->dtype);
    double f[CHUNK];
    if (law == KILN_LAW_UNIFORM || !kiln_dtype_is_float(t->dtype))
        return kiln_tensor_random(a, t, seed);
    kiln_tensor out = kiln_tensor_new(a, t);
    kiln_rng r;
    kiln_rng_init(&r, seed);
    for (int64_t first = 0; first < n; first += CHUNK) {
        const int64_t left = n - first < CHUNK ? n - first : CHUNK;
        for (int64_t j = 0; j < left; j++)
            f[j] = random_float(&r, law, t->dtype);
        const kiln_wide part = {.type = kiln_type_make(t->dtype, 1, &left), .f = f};
        kiln_narrow(&part, (char *)out.data + (size_t)first * bytes);
    }
    return out;
}
