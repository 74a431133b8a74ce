/* Tensors: a type and its bytes in an arena. */
#include "compiler/graph/type.h"

#include <inttypes.h>

kiln_tensor kiln_tensor_new(kiln_arena *a, const kiln_type *t) {
    /* At least 64 bytes, so that the arena aligns them for vectors. */
    const size_t bytes = (size_t)kiln_type_bytes(t);
    return (kiln_tensor){*t, kiln_arena_alloc(a, bytes < 64 ? 64 : bytes)};
}

kiln_wide kiln_wide_new(kiln_arena *a, const kiln_type *t) {
    const size_t n = (size_t)kiln_type_elems(t);
    kiln_wide w = {.type = *t};
    /* 8 bytes an element: kiln_type_check keeps elements below 2^40, so this cannot
     * overflow. */
    void *const p = kiln_arena_alloc_raw(a, n * sizeof(double));
    if (kiln_dtype_is_float(t->dtype))
        w.f = p;
    else
        w.i = p;
    return w;
}

kiln_status kiln_tensor_from_bytes(kiln_tensor *t, kiln_dtype want, kiln_err *err) {
    if (!kiln_dtype_is_in(want, KILN_DT_LOW) ||
        t->type.dtype != kiln_dtype_stored(want))
        return KILN_OK;
    const int bits = kiln_dtype_bits(want);
    const bool is_signed = kiln_dtype_stored(want) == KILN_I8;
    const int min = is_signed ? -(1 << (bits - 1)) : 0, max = min + (1 << bits) - 1;
    const unsigned char *p = t->data;
    for (int64_t i = 0; i < kiln_type_elems(&t->type); i++) {
        const int v = is_signed ? (signed char)p[i] : p[i];
        if (v < min || v > max)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "element %" PRId64
                             " must be %d to %d, a byte of %s, is %d",
                             i, min, max, kiln_dtype_name(want), v);
    }
    t->type.dtype = want;
    return KILN_OK;
}
