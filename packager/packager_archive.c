/* An archive's bytes: the entries as tar, zstd, the seal. */
#include "packager/codec.h"
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct archive {
    kiln_file_writer *file;
    kiln_zstd_writer *zstd;
    kiln_sha256 frame, whole;
    uint64_t bytes;
    int64_t time_s;
    double most_mb; /* before it is compressed: what somebody who waits is told */
} archive;

uint64_t kiln_content_bytes(const kiln_content *c) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->n_pieces; i++)
        bytes += c->piece[i].n;
    return bytes;
}

void kiln_content_describe(const kiln_content *c, kiln_package_entry *e) {
    kiln_sha256 h;
    kiln_sha256_init(&h);
    for (size_t i = 0; i < c->n_pieces; i++)
        if (c->piece[i].n > 0)
            kiln_sha256_add(&h, c->piece[i].p, c->piece[i].n);
    e->name = c->name;
    e->bytes = kiln_content_bytes(c);
    kiln_sha256_hex(&h, e->sha256);
}

static kiln_status add_compressed(void *user, const void *p, size_t n, kiln_err *err) {
    archive *out = user;
    kiln_sha256_add(&out->frame, p, n);
    kiln_sha256_add(&out->whole, p, n);
    out->bytes += n;
    kiln_progress_step("packing", "MB", (double)out->bytes * 1e-6, out->most_mb, NULL);
    return kiln_file_writer_add(out->file, p, n, err);
}

static kiln_status add_entry(archive *out, const kiln_content *c, kiln_err *err) {
    static const unsigned char zeros[KILN_TAR_BLOCK];
    unsigned char header[KILN_TAR_BLOCK];
    kiln_tar_entry e = {.bytes = kiln_content_bytes(c), .time_s = out->time_s};
    if (e.bytes > KILN_TAR_MAX_NUMBER)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "%s has %" PRIu64 " bytes; an entry has at most %" PRIu64,
                         c->name, e.bytes, KILN_TAR_MAX_NUMBER);
    KILN_ASSERT(strlen(c->name) < sizeof e.name, "an entry is called '%s'", c->name);
    memcpy(e.name, c->name, strlen(c->name) + 1);
    kiln_tar_header(&e, header);
    KILN_TRY(kiln_zstd_writer_add(out->zstd, header, sizeof header, err));
    for (size_t i = 0; i < c->n_pieces; i++)
        KILN_TRY(kiln_zstd_writer_add(out->zstd, c->piece[i].p, c->piece[i].n, err));
    return kiln_zstd_writer_add(out->zstd, zeros, kiln_tar_padding(e.bytes), err);
}

static kiln_status add_seal(archive *out, kiln_err *err) {
    unsigned char seal[KILN_SEAL_BYTES];
    char sha256[KILN_SHA256_HEX];
    kiln_sha256_hex(&out->frame, sha256);
    kiln_seal_make(sha256, seal);
    kiln_sha256_add(&out->whole, seal, sizeof seal);
    out->bytes += sizeof seal;
    return kiln_file_writer_add(out->file, seal, sizeof seal, err);
}

static kiln_status add_all(archive *out, const kiln_content *all, size_t n,
                           kiln_err *err) {
    static const unsigned char end[2 * KILN_TAR_BLOCK];
    for (size_t i = 1; i < n; i++)
        out->most_mb += (double)kiln_content_bytes(&all[i]) * 1e-6;
    for (size_t i = 0; i < n; i++)
        KILN_TRY(add_entry(out, &all[i], err));
    KILN_TRY(kiln_zstd_writer_add(out->zstd, end, sizeof end, err));
    KILN_TRY(kiln_zstd_writer_finish(out->zstd, err));
    return add_seal(out, err);
}

kiln_status kiln_archive_write(kiln_arena *a, const char *path, const kiln_content *all,
                               size_t n, int64_t time_s, char sha256[KILN_SHA256_HEX],
                               kiln_err *err) {
    KILN_ASSERT(n > 0 && strcmp(all[0].name, KILN_ENTRY_MANIFEST) == 0,
                "an archive begins with its manifest");
    archive out = {.time_s = time_s};
    uint64_t unpacked = 0;
    kiln_sha256_init(&out.frame);
    kiln_sha256_init(&out.whole);
    KILN_TRY(kiln_file_writer_open(&out.file, path, err));
    const kiln_sink sink = {add_compressed, &out};
    kiln_status st = kiln_zstd_writer_open(a, sink, &out.zstd, err);
    if (st == KILN_OK)
        st = add_all(&out, all, n, err);
    kiln_zstd_writer_close(out.zstd);
    for (size_t i = 0; i < n; i++)
        unpacked += kiln_content_bytes(&all[i]);
    if (st == KILN_OK)
        st = kiln_package_check_limits(unpacked, out.bytes, err);
    if (st != KILN_OK) {
        kiln_file_writer_close(out.file);
        return st;
    }
    kiln_sha256_hex(&out.whole, sha256);
    return kiln_file_writer_commit(out.file, err);
}
