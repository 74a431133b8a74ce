/* See package_craft.h. */
#include "tests/support/package/package_craft.h"

#include "packager/codec.h"
#include "tests/support/kiln_test.h"

#include <stdio.h>
#include <string.h>

enum { SUM_AT = 148, SUM_BYTES = 8, CHUNK = 65536 };

static void fix_sum(unsigned char *block) {
    unsigned sum = 0;
    char text[SUM_BYTES + 1];
    memset(block + SUM_AT, ' ', SUM_BYTES);
    for (int i = 0; i < KILN_TAR_BLOCK; i++)
        sum += block[i];
    snprintf(text, sizeof text, "%06o", sum & 0777777);
    text[7] = ' ';
    memcpy(block + SUM_AT, text, SUM_BYTES);
}

void craft_set_header(craft_entry *e, const char *name) {
    e->header.bytes = e->data.n;
    snprintf(e->header.name, sizeof e->header.name, "%s", name);
    kiln_tar_header(&e->header, e->block);
}

/* ---- taking apart ---------------------------------------------------------------- */

kiln_str craft_decompress(kiln_arena *a, kiln_str archive) {
    kiln_err err = {0};
    kiln_zstd_reader *z = NULL;
    kiln_buf out;
    size_t got = CHUNK;
    char *chunk = kiln_arena_alloc(a, CHUNK);
    const kiln_str frame = {archive.p, archive.n - KILN_SEAL_BYTES};
    kiln_buf_init(&out, a);
    kiln_assert_status_ok(kiln_zstd_reader_open(a, frame, &z, &err), &err);
    while (got == CHUNK) {
        kiln_assert_status_ok(kiln_zstd_reader_read(z, chunk, CHUNK, &got, &err), &err);
        kiln_buf_add(&out, chunk, got);
    }
    kiln_zstd_reader_close(z);
    return kiln_buf_str(&out);
}

static uint64_t octal(const unsigned char *p, int digits) {
    uint64_t v = 0;
    for (int i = 0; i < digits; i++)
        v = v * 8 + (uint64_t)(p[i] - '0');
    return v;
}

void craft_open(craft *c, kiln_arena *a, const char *path) {
    kiln_err err = {0};
    kiln_str file;
    kiln_assert_status_ok(kiln_file_map(a, path, 0, &file, &err), &err);
    const kiln_str tar = craft_decompress(a, file);
    *c = (craft){.arena = a, .n_end = 2 * KILN_TAR_BLOCK};
    for (size_t at = 0; at + c->n_end < tar.n;) {
        craft_entry *e = &c->entry[c->n++];
        memcpy(e->block, tar.p + at, KILN_TAR_BLOCK);
        memcpy(e->header.name, e->block, sizeof e->header.name);
        e->header.bytes = octal(e->block + 124, 11);
        e->header.time_s = (int64_t)octal(e->block + 136, 11);
        e->data = (kiln_str){tar.p + at + KILN_TAR_BLOCK, (size_t)e->header.bytes};
        at += KILN_TAR_BLOCK + e->data.n + kiln_tar_padding(e->data.n);
    }
    size_t n_modules = 0;
    bool is_one = true; /* of several each has as many */
    for (size_t i = 0; i < c->n; i++) {
        n_modules += kiln_package_module_number(c->entry[i].header.name) > 0;
        is_one = is_one && strcmp(c->entry[i].header.name, KILN_ENTRY_VARIANTS) != 0;
    }
    if (is_one)
        assert_int_equal(c->n, 8 + n_modules);
}

size_t craft_find(const craft *c, const char *name) {
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->entry[i].header.name, name) == 0)
            return i;
    fail_msg("no entry '%s'", name);
    return 0;
}

/* ---- changing -------------------------------------------------------------------- */

void craft_insert(craft *c, size_t at, const craft_entry *e) {
    const craft_entry copy = *e;
    assert_true(c->n < CRAFT_MAX_ENTRIES);
    memmove(&c->entry[at + 1], &c->entry[at], (c->n - at) * sizeof copy);
    c->entry[at] = copy;
    c->n++;
}

void craft_remove(craft *c, size_t at) {
    c->n--;
    memmove(&c->entry[at], &c->entry[at + 1], (c->n - at) * sizeof c->entry[0]);
}

void craft_swap(craft *c, size_t x, size_t y) {
    const craft_entry e = c->entry[x];
    c->entry[x] = c->entry[y];
    c->entry[y] = e;
}

void craft_replace(craft *c, const char *what, const char *with, bool all) {
    craft_entry *m = &c->entry[0];
    kiln_buf out;
    const size_t n = strlen(what);
    int found = 0;
    kiln_buf_init(&out, c->arena);
    for (size_t i = 0; i < m->data.n;) {
        if (i + n <= m->data.n && memcmp(m->data.p + i, what, n) == 0 &&
            (all || found == 0)) {
            kiln_buf_puts(&out, with);
            i += n;
            found++;
        } else {
            kiln_buf_add(&out, m->data.p + i++, 1);
        }
    }
    if (found == 0)
        fail_msg("the manifest does not hold '%s'", what);
    m->data = kiln_buf_str(&out);
    craft_set_header(m, KILN_ENTRY_MANIFEST);
}

static const char *listed(kiln_arena *a, const char *name, size_t bytes,
                          const char *sha256) {
    return kiln_format(a,
                       "\"name\": \"%s\",\n      \"bytes\": %zu,\n      \"sha256\": "
                       "\"%s\"",
                       name, bytes, sha256);
}

void craft_set_data(craft *c, size_t at, const void *p, size_t n) {
    char before[KILN_SHA256_HEX], after[KILN_SHA256_HEX];
    craft_entry *e = &c->entry[at];
    const char *name = e->header.name;
    kiln_sha256_of(e->data.p, e->data.n, before);
    kiln_sha256_of(p, n, after);
    craft_replace(c, listed(c->arena, name, e->data.n, before),
                  listed(c->arena, name, n, after), false);
    e->data = (kiln_str){kiln_arena_dup(c->arena, p, n), n};
    craft_set_header(e, kiln_str_dup(c->arena, name));
}

/* ---- putting together ------------------------------------------------------------ */

kiln_str craft_tar(const craft *c) {
    static const unsigned char zeros[KILN_TAR_BLOCK];
    kiln_buf out;
    kiln_buf_init(&out, c->arena);
    for (size_t i = 0; i < c->n; i++) {
        craft_entry e = c->entry[i];
        if (!e.keeps_sum)
            fix_sum(e.block);
        kiln_buf_add(&out, e.block, sizeof e.block);
        kiln_buf_add(&out, e.data.p, e.data.n);
        kiln_buf_add(&out, zeros, kiln_tar_padding(e.data.n));
    }
    for (size_t left = c->n_end; left > 0;) {
        const size_t n = left < sizeof zeros ? left : sizeof zeros;
        kiln_buf_add(&out, zeros, n);
        left -= n;
    }
    return kiln_buf_str(&out);
}

static kiln_status add(void *user, const void *p, size_t n, kiln_err *err) {
    (void)err;
    kiln_buf_add(user, p, n);
    return KILN_OK;
}

kiln_str craft_compress(kiln_arena *a, kiln_str bytes) {
    kiln_err err = {0};
    kiln_zstd_writer *z = NULL;
    kiln_buf out;
    kiln_buf_init(&out, a);
    const kiln_sink sink = {add, &out};
    kiln_assert_status_ok(kiln_zstd_writer_open(a, sink, &z, &err), &err);
    kiln_assert_status_ok(kiln_zstd_writer_add(z, bytes.p, bytes.n, &err), &err);
    kiln_assert_status_ok(kiln_zstd_writer_finish(z, &err), &err);
    kiln_zstd_writer_close(z);
    return craft_seal(a, kiln_buf_str(&out));
}

kiln_str craft_seal(kiln_arena *a, kiln_str frame) {
    char sha256[KILN_SHA256_HEX];
    unsigned char seal[KILN_SEAL_BYTES];
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_sha256_of(frame.p, frame.n, sha256);
    kiln_seal_make(sha256, seal);
    kiln_buf_add(&out, frame.p, frame.n);
    kiln_buf_add(&out, seal, sizeof seal);
    return kiln_buf_str(&out);
}

/* Without waiting for the disk, as kiln_file_write would. */
void craft_write(const char *path, kiln_str bytes) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.p, 1, bytes.n, f), bytes.n);
    assert_int_equal(fclose(f), 0);
}
