/* Any bytes as a package's tar, or as its manifest where they begin as JSON does:
 * refused with a message, or read; what was read prints, and its manifest written again
 * reads as the same. */
#include "packager/packager_internal.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

typedef struct memory {
    const uint8_t *p;
    size_t n;
} memory;

static kiln_status read(void *user, void *p, size_t n, size_t *got, kiln_err *err) {
    memory *m = user;
    (void)err;
    *got = n < m->n ? n : m->n;
    if (*got > 0)
        memcpy(p, m->p, *got);
    m->p += *got;
    m->n -= *got;
    return KILN_OK;
}

/* Checksums that fit: a fuzzer would hardly ever find one. */
static void fix_sums(uint8_t *p, size_t n) {
    enum { SUM_AT = 148, SUM_BYTES = 8, SIZE_AT = 124, SIZE_DIGITS = 11 };
    size_t at = 0;
    while (n - at >= KILN_TAR_BLOCK && p[at] != 0) {
        unsigned sum = 0;
        uint64_t bytes = 0;
        memset(p + at + SUM_AT, ' ', SUM_BYTES);
        for (size_t i = 0; i < KILN_TAR_BLOCK; i++)
            sum += p[at + i];
        for (int i = 5; i >= 0; i--, sum /= 8)
            p[at + SUM_AT + (size_t)i] = (uint8_t)('0' + sum % 8);
        p[at + SUM_AT + 6] = 0;
        for (size_t i = 0; i < SIZE_DIGITS; i++)
            bytes = bytes * 8 + (p[at + SIZE_AT + i] & 7U);
        bytes += KILN_TAR_BLOCK + kiln_tar_padding(bytes);
        at = bytes < n - at ? at + (size_t)bytes : n;
    }
}

static void check_facts(kiln_arena *a, const kiln_package_facts *f) {
    kiln_package_facts again;
    kiln_err err = {0};
    kiln_buf text, second, lines;
    kiln_buf_init(&text, a);
    kiln_buf_init(&second, a);
    kiln_buf_init(&lines, a);
    kiln_package_print(&lines, f);
    kiln_package_manifest(&text, f);
    const kiln_status st = kiln_manifest_read(a, kiln_buf_str(&text), &again, &err);
    KILN_ASSERT(st == KILN_OK, "a manifest that was written is refused: %s", err.text);
    kiln_package_manifest(&second, &again);
    KILN_ASSERT(kiln_str_eq(kiln_buf_str(&text), kiln_buf_str(&second)),
                "a manifest changes by being read");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_package_facts f;
    kiln_package_list l = {.n_variants = 0};
    uint8_t *copy = kiln_arena_dup(&a, data, size);
    memory m = {copy, size};
    const bool is_manifest = size > 0 && data[0] == '{';
    const kiln_tar_source tar = {read, &m};
    fix_sums(copy, size);
    const kiln_status st =
        is_manifest
            ? kiln_manifest_read(&a, (kiln_str){(const char *)data, size}, &f, &err)
            : kiln_package_survey(&a, tar, size, &l, &err);
    kiln_err other = {0};
    if (is_manifest)
        (void)kiln_package_list_read(&a, (kiln_str){(const char *)data, size}, &l,
                                     &other);
    else if (st == KILN_OK)
        f = l.facts;
    if (st == KILN_OK && l.n_variants == 0)
        check_facts(&a, &f);
    else if (st != KILN_OK)
        KILN_ASSERT(err.len > 0, "a refusal says why");
    kiln_arena_fini(&a);
    return 0;
}
