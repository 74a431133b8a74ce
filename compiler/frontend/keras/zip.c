/* Archives as .keras is one: entries that are stored, found by the directory at the end.
 * Source: PKWARE, ".ZIP File Format Specification" 6.3, sections 4.3.7, 4.3.12 and
 * 4.3.16. */
#include "compiler/frontend/keras/keras_internal.h"

#include <string.h>

enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, MAX_COMMENT = 65535 };

static uint64_t number(const char *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return v;
}

/* The record at the end; NULL: there is none. */
static const char *find_end(kiln_str zip) {
    for (size_t n = END_BYTES; n <= zip.n && n <= END_BYTES + MAX_COMMENT; n++) {
        const char *const p = zip.p + zip.n - n;
        if (memcmp(p, "PK\x05\x06", 4) == 0)
            return p;
    }
    return NULL;
}

/* What the directory says of one entry. */
typedef struct entry {
    uint64_t method, bytes, offset;
} entry;

static bool find_entry(kiln_str zip, const char *name, entry *out) {
    const char *const end = find_end(zip);
    if (end == NULL)
        return false;
    const uint64_t count = number(end + 10, 2);
    uint64_t at = number(end + 16, 4);
    for (uint64_t i = 0; i < count && at <= zip.n && ENTRY_BYTES <= zip.n - at; i++) {
        const char *const p = zip.p + at;
        const size_t n_name = (size_t)number(p + 28, 2);
        if (memcmp(p, "PK\x01\x02", 4) != 0 || n_name > zip.n - at - ENTRY_BYTES)
            return false;
        if (kiln_str_is((kiln_str){p + ENTRY_BYTES, n_name}, name)) {
            *out = (entry){number(p + 10, 2), number(p + 24, 4), number(p + 42, 4)};
            return true;
        }
        at += ENTRY_BYTES + n_name + number(p + 30, 2) + number(p + 32, 2);
    }
    return false;
}

bool kiln_keras_zip_has(kiln_str zip, const char *name) {
    entry e;
    return kiln_str_starts(zip, "PK\x03\x04") && find_entry(zip, name, &e);
}

kiln_status kiln_keras_zip_entry(kiln_str zip, const char *name, kiln_str *out,
                                 kiln_err *err) {
    entry e;
    *out = (kiln_str){NULL, 0};
    if (!find_entry(zip, name, &e))
        return KILN_OK;
    if (e.method != 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "'%s' in the archive is compressed; save the model again with "
                         "Keras, which stores it",
                         name);
    if (e.offset <= zip.n && LOCAL_BYTES <= zip.n - e.offset &&
        memcmp(zip.p + e.offset, "PK\x03\x04", 4) == 0) {
        const char *const p = zip.p + e.offset;
        const uint64_t head = LOCAL_BYTES + number(p + 26, 2) + number(p + 28, 2);
        const uint64_t left = zip.n - e.offset;
        if (head <= left && e.bytes <= left - head) {
            *out = (kiln_str){p + head, (size_t)e.bytes};
            return KILN_OK;
        }
    }
    return kiln_fail(
        err, KILN_ERR_PARSE,
        "'%s' in the archive lies outside of it; is the file truncated, or "
        "larger than 4 GB?",
        name);
}
