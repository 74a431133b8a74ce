/* Tensors: a type and its bytes in an arena. */
#include "compiler/graph/type.h"

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
