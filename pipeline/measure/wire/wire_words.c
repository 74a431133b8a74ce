/* Names of what goes over the wire. */
#include "pipeline/measure/wire/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    bool is_fault;
} errors[KILN_N_TRIAL_ERRORS] = {
    [KILN_TRIAL_GOOD] = {"good", false},
    [KILN_TRIAL_SLOW] = {"slow", false},
    [KILN_TRIAL_REFUSED] = {"refused", false},
    [KILN_TRIAL_SPILLS] = {"spills", false},
    [KILN_TRIAL_BUILD_CRASH] = {"build-crash", true},
    [KILN_TRIAL_BUILD_TIMEOUT] = {"build-timeout", true},
    [KILN_TRIAL_BUILD_MEMORY] = {"build-memory", true},
    [KILN_TRIAL_UNLOADABLE] = {"unloadable", true},
    [KILN_TRIAL_CRASH] = {"crash", true},
    [KILN_TRIAL_TIMEOUT] = {"timeout", true},
    [KILN_TRIAL_MEMORY] = {"memory", true},
    [KILN_TRIAL_OUT_OF_BOUNDS] = {"out-of-bounds", true},
    [KILN_TRIAL_EXIT] = {"exit", true},
    [KILN_TRIAL_FORBIDDEN] = {"forbidden", true},
    [KILN_TRIAL_RETURNED] = {"returned", true},
    [KILN_TRIAL_WRONG] = {"wrong", true},
    [KILN_TRIAL_IMPLAUSIBLE] = {"implausible", false},
    [KILN_TRIAL_LOST] = {"lost", false},
};

const char *kiln_trial_error_name(kiln_trial_error e) {
    KILN_ASSERT((size_t)e < sizeof errors / sizeof errors[0], "no error %d of a trial",
                (int)e);
    return errors[e].name;
}

bool kiln_trial_error_is_fault(kiln_trial_error e) { return errors[e].is_fault; }

bool kiln_trial_error_parse(kiln_str name, kiln_trial_error *out) {
    for (int i = 0; i < KILN_N_TRIAL_ERRORS; i++)
        if (kiln_str_is(name, errors[i].name)) {
            *out = (kiln_trial_error)i;
            return true;
        }
    return false;
}

size_t kiln_wire_dtype_bytes(uint32_t dtype) {
    static const size_t bytes[KILN_WIRE_N_DTYPES] = {4, 2, 2, 8, 1, 1, 2, 2, 4,
                                                     4, 8, 8, 1, 1, 1, 1, 1, 1};
    return dtype < KILN_WIRE_N_DTYPES ? bytes[dtype] : 0;
}

bool kiln_wire_blob_eq(const kiln_wire_blob *a, const kiln_wire_blob *b) {
    return a->bytes == b->bytes && memcmp(a->sha256, b->sha256, sizeof a->sha256) == 0;
}

const char *kiln_wire_blob_text(const kiln_wire_blob *b,
                                char text[KILN_WIRE_BLOB_TEXT]) {
    const unsigned char *h = b->sha256;
    (void)snprintf(text, KILN_WIRE_BLOB_TEXT,
                   "blob %02x%02x%02x%02x%02x%02x of %" PRIu64 " bytes", h[0], h[1],
                   h[2], h[3], h[4], h[5], b->bytes);
    return text;
}

kiln_status kiln_wire_refuse_lent(const kiln_wire_lent *lent, kiln_err *err) {
    enum { OWNER = 127 };
    kiln_arena scratch = {0};
    (void)kiln_fail(err, KILN_ERR_IO,
                    "it is lent to %s for %" PRId64 " s more, and longer if they go on",
                    kiln_str_printable(&scratch, lent->owner, OWNER),
                    lent->left_ms > 0 ? lent->left_ms / 1000 + 1 : 0);
    kiln_arena_fini(&scratch);
    return KILN_ERR_IO;
}

uint64_t kiln_wire_part_at(uint64_t end_of_last) {
    const uint64_t align = KILN_WIRE_PART_ALIGN;
    return (end_of_last + align - 1) / align * align;
}
