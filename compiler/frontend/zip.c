/* Archives of stored entries; see zip.h. */
#include "compiler/frontend/zip.h"

#include <string.h>

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    MAX_COMMENT = 65535,
    DEFLATED = 8
};

static const uint64_t in_extra = 0xffffffff; /* of 4 bytes: 8 bytes in an extra field */

static uint64_t number(const char *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return v;
}

bool kiln_zip_is(kiln_str bytes) { return kiln_str_starts(bytes, "PK\x03\x04"); }

/* The record at the end; NULL: there is none. */
static const char *find_end(kiln_str zip) {
    for (size_t n = END_BYTES; n <= zip.n && n <= END_BYTES + MAX_COMMENT; n++) {
        const char *const p = zip.p + zip.n - n;
        if (memcmp(p, "PK\x05\x06", 4) == 0)
            return p;
    }
    return NULL;
}

/* Where the directory begins, by the record before the last one where it is far away. */
static bool find_directory(kiln_str zip, uint64_t *at) {
    const char *const end = find_end(zip);
    if (end == NULL)
        return false;
    *at = number(end + 16, 4);
    if (*at != in_extra || (size_t)(end - zip.p) < LOCATOR_BYTES)
        return true;
    const char *const locator = end - LOCATOR_BYTES;
    const uint64_t record = number(locator + 8, 8);
    if (memcmp(locator, "PK\x06\x07", 4) != 0 || record > zip.n ||
        END64_BYTES > zip.n - record || memcmp(zip.p + record, "PK\x06\x06", 4) != 0)
        return false;
    *at = number(zip.p + record + 48, 8);
    return true;
}

/* Sizes and offsets that do not fit their fields, in this order. */
static void read_extra(const char *p, size_t n, uint64_t *bytes, uint64_t *packed,
                       uint64_t *offset) {
    uint64_t *const field[] = {bytes, packed, offset};
    while (n >= 4) {
        const size_t size = (size_t)number(p + 2, 2);
        if (size > n - 4)
            return;
        if (number(p, 2) == 1) {
            size_t at = 0;
            for (int i = 0; i < 3; i++)
                if (*field[i] == in_extra && size - at >= 8) {
                    *field[i] = number(p + 4 + at, 8);
                    at += 8;
                }
            return;
        }
        p += 4 + size;
        n -= 4 + size;
    }
}

/* The bytes behind an entry's own head. */
static kiln_str bytes_at(kiln_str zip, uint64_t offset, uint64_t bytes) {
    if (offset > zip.n || LOCAL_BYTES > zip.n - offset ||
        memcmp(zip.p + offset, "PK\x03\x04", 4) != 0)
        return (kiln_str){NULL, 0};
    const char *const p = zip.p + offset;
    const uint64_t head = LOCAL_BYTES + number(p + 26, 2) + number(p + 28, 2);
    const uint64_t left = zip.n - offset;
    if (head > left || bytes > left - head)
        return (kiln_str){NULL, 0};
    return (kiln_str){p + head, (size_t)bytes};
}

bool kiln_zip_next(kiln_str zip, uint64_t *at, kiln_zip_entry *out) {
    if (*at == 0 && !find_directory(zip, at))
        return false;
    if (*at > zip.n || ENTRY_BYTES > zip.n - *at)
        return false;
    const char *const p = zip.p + *at;
    const size_t n_name = (size_t)number(p + 28, 2),
                 n_extra = (size_t)number(p + 30, 2);
    if (memcmp(p, "PK\x01\x02", 4) != 0 || n_name + n_extra > zip.n - *at - ENTRY_BYTES)
        return false;
    uint64_t packed = number(p + 20, 4), bytes = number(p + 24, 4);
    uint64_t offset = number(p + 42, 4);
    read_extra(p + ENTRY_BYTES + n_name, n_extra, &bytes, &packed, &offset);
    *out = (kiln_zip_entry){.name = {p + ENTRY_BYTES, n_name},
                            .is_stored = number(p + 10, 2) == 0,
                            .is_deflated = number(p + 10, 2) == DEFLATED,
                            .n_bytes = bytes};
    if (out->is_stored)
        out->bytes = bytes_at(zip, offset, bytes);
    if (out->is_deflated)
        out->packed = bytes_at(zip, offset, packed);
    *at += ENTRY_BYTES + n_name + n_extra + number(p + 32, 2);
    return true;
}

static bool find(kiln_str zip, const char *name, kiln_zip_entry *out) {
    uint64_t at = 0;
    while (kiln_zip_next(zip, &at, out))
        if (kiln_str_is(out->name, name))
            return true;
    return false;
}

bool kiln_zip_has(kiln_str zip, const char *name) {
    kiln_zip_entry e;
    return kiln_zip_is(zip) && find(zip, name, &e);
}

kiln_status kiln_zip_find(kiln_str zip, const char *name, const char *writer,
                          kiln_str *out, kiln_err *err) {
    kiln_zip_entry e;
    *out = (kiln_str){NULL, 0};
    if (!find(zip, name, &e))
        return KILN_OK;
    if (!e.is_stored)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "'%s' in the archive is compressed; save the model again with "
                         "%s, which stores it",
                         name, writer);
    if (e.bytes.p == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' in the archive lies outside of it; is the file "
                         "truncated?",
                         name);
    *out = e.bytes;
    return KILN_OK;
}
