/* Writes an archive: manifest first, then the other entries by name. */
#include "packager/codec.h"
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N_ALWAYS = 7, MAX_ENTRIES = N_ALWAYS + KILN_PACKAGE_MAX_MODULES };

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

/* ---- facts ----------------------------------------------------------------------- */

/* In order of their names. */
static size_t list_contents(kiln_arena *a, const kiln_package *p, size_t param_bytes,
                            kiln_content out[MAX_ENTRIES]) {
    const struct {
        const char *name;
        kiln_str piece[2];
    } always[N_ALWAYS] = {
        {KILN_ENTRY_GRAPH, {p->graph, {NULL, 0}}},
        {KILN_ENTRY_LIB, {p->lib, {NULL, 0}}},
        {KILN_ENTRY_PARAMS, {p->params_head, {p->params, param_bytes}}},
        {KILN_ENTRY_PLAN, {p->plan, {NULL, 0}}},
        {KILN_ENTRY_SBOM, {{NULL, 0}, {NULL, 0}}}, /* once the others are hashed */
        {KILN_ENTRY_EXPECTED, {p->selftest.expected, {NULL, 0}}},
        {KILN_ENTRY_INPUTS, {p->selftest.inputs, {NULL, 0}}},
    };
    size_t n = 0;
    KILN_ASSERT(p->n_modules <= KILN_PACKAGE_MAX_MODULES, "%zu modules", p->n_modules);
    for (int i = 0; i < N_ALWAYS; i++) {
        out[n++] = (kiln_content){
            always[i].name, kiln_arena_dup(a, always[i].piece, sizeof always[i].piece),
            2};
        for (size_t k = 0;
             k < p->n_modules && strcmp(always[i].name, KILN_ENTRY_LIB) == 0; k++)
            out[n++] =
                (kiln_content){kiln_package_module_name(
                                   a, k + 1, kiln_package_is_gpu_module(p->module[k])),
                               &p->module[k], 1};
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

/* Facts with all that follows from the contents; contents with the bill of materials.
 */
static kiln_status complete(kiln_arena *a, const kiln_package *p, kiln_package_facts *f,
                            kiln_content all[MAX_ENTRIES], kiln_err *err) {
    char error[KILN_PLAN_ERROR];
    kiln_plan plan;
    const void *bytes = kiln_arena_dup(a, p->plan.p, p->plan.n);
    if (kiln_plan_check(bytes, p->plan.n, &plan, error) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, KILN_ENTRY_PLAN ": %s", error);
    *f = p->facts;
    f->model = kiln_package_utf8(a, f->model);
    f->zstd_version = kiln_zstd_version();
    kiln_facts_of_plan(a, &plan, f);
    f->n_entries = list_contents(a, p, (size_t)f->memory.params, all);
    kiln_package_entry *entry = kiln_array(a, kiln_package_entry, f->n_entries);
    f->entry = entry;
    kiln_content *sbom = NULL;
    for (size_t i = 0; i < f->n_entries; i++) {
        kiln_content_describe(&all[i], &entry[i]);
        if (strcmp(all[i].name, KILN_ENTRY_SBOM) == 0)
            sbom = &all[i];
    }
    KILN_ASSERT(sbom != NULL, "a package has a bill of materials");
    const kiln_str text = kiln_package_sbom(a, f, p->time_s);
    sbom->piece = kiln_arena_dup(a, &text, sizeof text);
    sbom->n_pieces = 1;
    kiln_content_describe(sbom, &entry[sbom - all]);
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

static kiln_status write_all(kiln_arena *a, const char *path,
                             const kiln_package_facts *f, int64_t time_s,
                             kiln_content *all, char sha256[KILN_SHA256_HEX],
                             kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_package_manifest(&text, f);
    const kiln_str manifest = kiln_buf_str(&text);
    kiln_package_facts again; /* whoever reads it sees the same */
    all[0] = (kiln_content){KILN_ENTRY_MANIFEST, &manifest, 1};
    KILN_TRY(kiln_manifest_read(a, manifest, &again, err));
    KILN_ASSERT(again.n_entries == f->n_entries,
                "the manifest lists %zu of %zu entries", again.n_entries, f->n_entries);
    return kiln_archive_write(a, path, all, f->n_entries + 1, time_s, sha256, err);
}

kiln_status kiln_package_write(const kiln_package *p, const char *path,
                               char sha256[KILN_SHA256_HEX], kiln_err *err) {
    kiln_arena a = {0};
    kiln_package_facts f;
    kiln_content all[MAX_ENTRIES + 1]; /* 0: the manifest */
    char hex[KILN_SHA256_HEX];
    kiln_status st = complete(&a, p, &f, all + 1, err);
    if (st == KILN_OK)
        st = write_all(&a, path, &f, p->time_s, all, hex, err);
    if (st != KILN_OK)
        kiln_note(err, "writing the package '%s'", path);
    else if (sha256 != NULL)
        memcpy(sha256, hex, sizeof hex);
    kiln_arena_fini(&a);
    return st;
}
