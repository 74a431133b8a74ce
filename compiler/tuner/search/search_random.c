/* Random search: what all others are measured against. */
#include "compiler/tuner/tuner_search_internal.h"

static kiln_status init(kiln_search *s, kiln_err *err) {
    (void)s;
    (void)err;
    return KILN_OK;
}

static kiln_status next(kiln_search *s, size_t n, uint64_t *out, size_t *n_out,
                        kiln_err *err) {
    (void)err;
    kiln_search_fill(s, n, out, n_out);
    return KILN_OK;
}

const kiln_search_kind kiln_search_random = {
    .name = "random",
    .doc = "evenly drawn configurations",
    .init = init,
    .next = next,
};
