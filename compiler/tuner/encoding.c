/* Encodings of candidates, one behind the other in memory: opaque to all but the model
 * that made them. */
#include "compiler/tuner/tuner.h"

kiln_encodings kiln_encodings_part(const kiln_encodings *e, size_t at, size_t n) {
    KILN_ASSERT(at <= e->n && n <= e->n - at, "part %zu + %zu of %zu encodings", at, n,
                e->n);
    return (kiln_encodings){n, e->bytes, n > 0 ? e->begin + at : NULL};
}

kiln_str kiln_encodings_at(const kiln_encodings *e, size_t i) {
    KILN_ASSERT(i < e->n, "encoding %zu of %zu", i, e->n);
    return (kiln_str){e->bytes + e->begin[i], e->begin[i + 1] - e->begin[i]};
}

void kiln_encoding_list_add(kiln_arena *a, kiln_encoding_list *l, kiln_str bytes) {
    if (l->bytes.arena == NULL)
        kiln_buf_init(&l->bytes, a);
    if (l->begin.n == 0)
        kiln_vec_push(a, &l->begin, 0);
    kiln_buf_add(&l->bytes, bytes.p, bytes.n);
    kiln_vec_push(a, &l->begin, l->bytes.n);
}

void kiln_encoding_list_clear(kiln_encoding_list *l) { l->bytes.n = l->begin.n = 0; }

kiln_encodings kiln_encoding_list_view(const kiln_encoding_list *l) {
    const size_t n = l->begin.n > 0 ? l->begin.n - 1 : 0;
    KILN_ASSERT(n == 0 || l->begin.v[n] == l->bytes.n,
                "%zu encodings end at %zu of %zu bytes", n, l->begin.v[n], l->bytes.n);
    return (kiln_encodings){n, l->bytes.p, n > 0 ? l->begin.v : NULL};
}
