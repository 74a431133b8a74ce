/* Writes an archive: manifest first, then the other entries by name; zstd; the seal. */
#include "packager/codec.h"
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N_ALWAYS = 7, MAX_ENTRIES = N_ALWAYS + KILN_PACKAGE_MAX_MODULES };

/* An entry in one or two pieces. */
typedef struct content {
    const char *name;
    kiln_str piece[2];
} content;

typedef struct archive {
    kiln_file_writer *file;
    kiln_zstd_writer *zstd;
    kiln_sha256 frame, whole;
    uint64_t bytes;
    int64_t time_s;
    double most_mb; /* before it is compressed: what somebody who waits is told */
} archive;

kiln_status kiln_package_time(int64_t *out, kiln_err *err) {
    const char *text = getenv("SOURCE_DATE_EPOCH");
    int64_t t = KILN_PACKAGE_TIME;
    if (text != NULL && text[0] != '\0' &&
        (!kiln_parse_i64(kiln_str_from(text), &t) || t < 0 ||
         (uint64_t)t > KILN_TAR_MAX_NUMBER))
        return kiln_fail(err, KILN_ERR_ARG,
                         "SOURCE_DATE_EPOCH must be seconds since 1970, from 0 to "
                         "%" PRIu64 ", is '%.40s'",
                         KILN_TAR_MAX_NUMBER, text);
    *out = t;
    return KILN_OK;
}

static uint64_t bytes_of(const content *c) {
    return (uint64_t)c->piece[0].n + c->piece[1].n;
}

/* ---- facts ----------------------------------------------------------------------- */

/* In order of their names. */
static size_t list_contents(kiln_arena *a, const kiln_package *p, size_t param_bytes,
                            content out[MAX_ENTRIES]) {
    const content always[N_ALWAYS] = {
        {KILN_ENTRY_GRAPH, {p->graph, {NULL, 0}}},
        {KILN_ENTRY_LIB, {p->lib, {NULL, 0}}},
        {KILN_ENTRY_PARAMS, {p->params_head, {p->params, param_bytes}}},
        {KILN_ENTRY_PLAN, {p->plan, {NULL, 0}}},
        {KILN_ENTRY_SBOM, {{NULL, 0}, {NULL, 0}}}, /* once the others are hashed */
        {KILN_ENTRY_EXPECTED, {p->selftest.expected, {NULL, 0}}},
        {KILN_ENTRY_INPUTS, {p->selftest.inputs, {NULL, 0}}},
    };
    size_t n = 0;
    for (int i = 0; i < N_ALWAYS; i++) {
        out[n++] = always[i];
        for (size_t k = 0;
             k < p->n_modules && strcmp(always[i].name, KILN_ENTRY_LIB) == 0; k++)
            out[n++] =
                (content){kiln_package_module_name(
                              a, k + 1, kiln_package_is_gpu_module(p->module[k])),
                          {p->module[k], {NULL, 0}}};
    }
    return n;
}

static const kiln_str *modules_of(kiln_arena *a, const kiln_package *p) {
    kiln_str *module = kiln_array(a, kiln_str, p->n_modules + 1);
    module[0] = p->lib;
    for (size_t i = 0; i < p->n_modules; i++)
        module[i + 1] = p->module[i];
    return module;
}

static void describe(const content *c, kiln_package_entry *e) {
    kiln_sha256 h;
    kiln_sha256_init(&h);
    for (int i = 0; i < 2; i++)
        if (c->piece[i].n > 0)
            kiln_sha256_add(&h, c->piece[i].p, c->piece[i].n);
    e->name = c->name;
    e->bytes = bytes_of(c);
    kiln_sha256_hex(&h, e->sha256);
}

/* Facts with all that follows from the contents; contents with the bill of materials.
 */
static kiln_status complete(kiln_arena *a, const kiln_package *p, kiln_package_facts *f,
                            content all[MAX_ENTRIES], kiln_err *err) {
    char error[KILN_PLAN_ERROR];
    kiln_plan plan;
    const void *bytes = kiln_arena_dup(a, p->plan.p, p->plan.n);
    if (kiln_plan_check(bytes, p->plan.n, &plan, error) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, KILN_ENTRY_PLAN ": %s", error);
    *f = p->facts;
    f->model = kiln_package_utf8(a, f->model);
    f->zstd_version = kiln_zstd_version();
    kiln_facts_of_plan(a, &plan, f);
    KILN_ASSERT(p->n_modules <= KILN_PACKAGE_MAX_MODULES, "%zu modules", p->n_modules);
    f->n_entries = list_contents(a, p, (size_t)f->memory.params, all);
    kiln_package_entry *entry = kiln_array(a, kiln_package_entry, f->n_entries);
    f->entry = entry;
    content *sbom = NULL;
    for (size_t i = 0; i < f->n_entries; i++) {
        describe(&all[i], &entry[i]);
        if (strcmp(all[i].name, KILN_ENTRY_SBOM) == 0)
            sbom = &all[i];
    }
    KILN_ASSERT(sbom != NULL, "a package has a bill of materials");
    sbom->piece[0] = kiln_package_sbom(a, f, p->time_s);
    describe(sbom, &entry[sbom - all]);
    const kiln_package_parts parts = {p->plan,
                                      modules_of(a, p),
                                      p->n_modules + 1,
                                      p->params_head,
                                      p->params_head.n + f->memory.params,
                                      p->selftest.inputs,
                                      p->selftest.expected};
    return kiln_package_check(a, f, &parts, err);
}

/* ---- bytes ----------------------------------------------------------------------- */

static kiln_status add_compressed(void *user, const void *p, size_t n, kiln_err *err) {
    archive *out = user;
    kiln_sha256_add(&out->frame, p, n);
    kiln_sha256_add(&out->whole, p, n);
    out->bytes += n;
    kiln_progress_step("packing", "MB", (double)out->bytes * 1e-6, out->most_mb, NULL);
    return kiln_file_writer_add(out->file, p, n, err);
}

static kiln_status add_entry(archive *out, const content *c, kiln_err *err) {
    static const unsigned char zeros[KILN_TAR_BLOCK];
    unsigned char header[KILN_TAR_BLOCK];
    kiln_tar_entry e = {.bytes = bytes_of(c), .time_s = out->time_s};
    if (e.bytes > KILN_TAR_MAX_NUMBER)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "%s has %" PRIu64 " bytes; an entry has at most %" PRIu64,
                         c->name, e.bytes, KILN_TAR_MAX_NUMBER);
    memcpy(e.name, c->name, strlen(c->name) + 1);
    kiln_tar_header(&e, header);
    KILN_TRY(kiln_zstd_writer_add(out->zstd, header, sizeof header, err));
    for (int i = 0; i < 2; i++)
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

static kiln_status add_all(archive *out, const content *manifest, const content *rest,
                           size_t n, kiln_err *err) {
    static const unsigned char end[2 * KILN_TAR_BLOCK];
    for (size_t i = 0; i < n; i++)
        out->most_mb += (double)bytes_of(&rest[i]) * 1e-6;
    KILN_TRY(add_entry(out, manifest, err));
    for (size_t i = 0; i < n; i++)
        KILN_TRY(add_entry(out, &rest[i], err));
    KILN_TRY(kiln_zstd_writer_add(out->zstd, end, sizeof end, err));
    KILN_TRY(kiln_zstd_writer_finish(out->zstd, err));
    return add_seal(out, err);
}

static kiln_status write_archive(kiln_arena *a, const char *path,
                                 const kiln_package_facts *f, const content *rest,
                                 archive *out, kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_package_manifest(&text, f);
    const content manifest = {KILN_ENTRY_MANIFEST, {kiln_buf_str(&text), {NULL, 0}}};
    kiln_package_facts again; /* whoever reads it sees the same */
    KILN_TRY(kiln_manifest_read(a, manifest.piece[0], &again, err));
    kiln_sha256_init(&out->frame);
    kiln_sha256_init(&out->whole);
    KILN_TRY(kiln_file_writer_open(&out->file, path, err));
    const kiln_sink sink = {add_compressed, out};
    kiln_status st = kiln_zstd_writer_open(a, sink, &out->zstd, err);
    if (st == KILN_OK)
        st = add_all(out, &manifest, rest, f->n_entries, err);
    kiln_zstd_writer_close(out->zstd);
    if (st == KILN_OK)
        st = kiln_package_check_limits(f, manifest.piece[0].n, out->bytes, err);
    if (st != KILN_OK) {
        kiln_file_writer_close(out->file);
        return st;
    }
    return kiln_file_writer_commit(out->file, err);
}

kiln_status kiln_package_write(const kiln_package *p, const char *path,
                               char sha256[KILN_SHA256_HEX], kiln_err *err) {
    kiln_arena a = {0};
    kiln_package_facts f;
    content rest[MAX_ENTRIES];
    archive out = {.time_s = p->time_s};
    kiln_status st = complete(&a, p, &f, rest, err);
    if (st == KILN_OK)
        st = write_archive(&a, path, &f, rest, &out, err);
    if (st != KILN_OK)
        kiln_note(err, "writing the package '%s'", path);
    else if (sha256 != NULL)
        kiln_sha256_hex(&out.whole, sha256);
    kiln_arena_fini(&a);
    return st;
}
