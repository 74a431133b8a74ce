/* The whole archive read without writing anything: every header, the limits, and that
 * the entries are the manifest's. Says why an archive is refused. */
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <string.h>

static kiln_status too_much(uint64_t bytes, uint64_t most, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_LIMIT,
                     "the package would unpack to %" PRIu64
                     " bytes or more; at most %" PRIu64 " are allowed for its size",
                     bytes, most);
}

static uint64_t most_bytes(uint64_t archive_bytes) {
    const uint64_t most =
        KILN_PACKAGE_FREE_BYTES + archive_bytes * KILN_PACKAGE_MAX_RATIO;
    return most < KILN_PACKAGE_MAX_BYTES ? most : KILN_PACKAGE_MAX_BYTES;
}

kiln_status kiln_package_check_limits(uint64_t unpacked_bytes, uint64_t archive_bytes,
                                      kiln_err *err) {
    const uint64_t most = most_bytes(archive_bytes);
    return unpacked_bytes <= most ? KILN_OK : too_much(unpacked_bytes, most, err);
}

uint64_t kiln_package_list_bytes(const kiln_package_list *l) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->n_entries; i++)
        bytes += l->entry[i].bytes; /* hundreds times 2^33 */
    return bytes;
}

/* ---- manifest -------------------------------------------------------------------- */

kiln_status kiln_package_take_manifest(kiln_arena *a, kiln_tar_reader *r,
                                       kiln_package_list *out, kiln_str *text,
                                       kiln_err *err) {
    kiln_tar_entry e;
    bool found = false;
    KILN_TRY(kiln_tar_next(r, &e, &found, err));
    if (!found)
        return kiln_fail(err, KILN_ERR_PARSE, "the archive holds no entries");
    if (strcmp(e.name, KILN_ENTRY_MANIFEST) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the first entry must be '" KILN_ENTRY_MANIFEST "', is '%s'",
                         e.name);
    if (e.bytes > KILN_PACKAGE_MAX_MANIFEST)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         KILN_ENTRY_MANIFEST ": %" PRIu64 " bytes; at most %d are read",
                         e.bytes, KILN_PACKAGE_MAX_MANIFEST);
    char *bytes = kiln_arena_alloc_raw(a, (size_t)e.bytes);
    KILN_TRY(kiln_tar_read(r, bytes, (size_t)e.bytes, err));
    *text = (kiln_str){bytes, (size_t)e.bytes};
    return kiln_package_list_read(a, *text, out, err);
}

/* ---- entries --------------------------------------------------------------------- */

typedef struct survey {
    const kiln_package_list *list;
    kiln_tar_entry entry[KILN_PACKAGE_ALL_ENTRIES];
    size_t n;
    uint64_t bytes, most;
    kiln_err *err;
} survey;

static int find_listed(const survey *s, const char *name) {
    for (size_t i = 0; i < s->list->n_entries; i++)
        if (strcmp(s->list->entry[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int count_found(const survey *s, const char *name) {
    int n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += strcmp(s->entry[i].name, name) == 0;
    return n;
}

static kiln_status take_headers(survey *s, kiln_tar_reader *r) {
    const size_t most = s->list->n_variants > 0 ? (size_t)KILN_PACKAGE_ALL_ENTRIES
                                                : (size_t)KILN_PACKAGE_MAX_ENTRIES;
    bool found = true;
    while (found) {
        kiln_tar_entry e;
        KILN_TRY(kiln_tar_next(r, &e, &found, s->err));
        if (!found)
            break;
        if (s->n == most)
            return kiln_fail(s->err, KILN_ERR_LIMIT, "more than %zu entries", most);
        s->bytes += e.bytes;
        if (s->bytes > s->most)
            return too_much(s->bytes, s->most, s->err);
        s->entry[s->n++] = e;
    }
    return KILN_OK;
}

/* The most telling reason first: what is too many, what is missing, what is elsewhere.
 */
static kiln_status compare(const survey *s) {
    for (size_t i = 0; i < s->n; i++) {
        const char *name = s->entry[i].name;
        if (count_found(s, name) > 1 || strcmp(name, KILN_ENTRY_MANIFEST) == 0)
            return kiln_fail(s->err, KILN_ERR_PARSE, "entry '%s' comes twice", name);
        if (find_listed(s, name) < 0)
            return kiln_fail(s->err, KILN_ERR_PARSE,
                             "entry '%s' is not in the manifest", name);
    }
    for (size_t i = 0; i < s->list->n_entries; i++)
        if (count_found(s, s->list->entry[i].name) == 0)
            return kiln_fail(s->err, KILN_ERR_PARSE, "entry '%s' is missing",
                             s->list->entry[i].name);
    for (size_t i = 0; i < s->n; i++) {
        const kiln_package_entry *want = &s->list->entry[i];
        if (strcmp(s->entry[i].name, want->name) != 0)
            return kiln_fail(s->err, KILN_ERR_PARSE, "entry '%s' comes where '%s' must",
                             s->entry[i].name, want->name);
        if (s->entry[i].bytes != want->bytes)
            return kiln_fail(s->err, KILN_ERR_PARSE,
                             "entry '%s' has %" PRIu64 " bytes, the manifest says "
                             "%" PRIu64,
                             want->name, s->entry[i].bytes, want->bytes);
    }
    return KILN_OK;
}

kiln_status kiln_package_survey(kiln_arena *a, kiln_tar_source tar,
                                uint64_t archive_bytes, kiln_package_list *out,
                                kiln_err *err) {
    kiln_tar_reader r = kiln_tar_reader_make(tar);
    kiln_package_list l;
    kiln_str manifest;
    KILN_TRY(kiln_package_take_manifest(a, &r, &l, &manifest, err));
    KILN_TRY(kiln_package_check_limits(manifest.n + kiln_package_list_bytes(&l),
                                       archive_bytes, err));
    survey *s = kiln_new(a, survey);
    *s = (survey){
        .list = &l, .bytes = manifest.n, .most = most_bytes(archive_bytes), .err = err};
    KILN_TRY(take_headers(s, &r));
    KILN_TRY(compare(s));
    *out = l;
    return KILN_OK;
}

/* The entry that comes next, which is listed as some variant's manifest. */
static kiln_status take_variant(kiln_arena *a, kiln_tar_reader *r,
                                const kiln_package_entry *want, kiln_package_facts *out,
                                kiln_err *err) {
    kiln_tar_entry e;
    bool found = false;
    char sha256[KILN_SHA256_HEX];
    KILN_TRY(kiln_tar_next(r, &e, &found, err));
    if (!found || strcmp(e.name, want->name) != 0 || e.bytes != want->bytes ||
        e.bytes > KILN_PACKAGE_MAX_MANIFEST)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '%s' is not what the manifest lists there", r->name);
    char *bytes = kiln_arena_alloc_raw(a, (size_t)e.bytes);
    KILN_TRY(kiln_tar_read(r, bytes, (size_t)e.bytes, err));
    kiln_sha256_of(bytes, (size_t)e.bytes, sha256);
    if (strcmp(sha256, want->sha256) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "entry '%s': its SHA-256 is not the manifest's", want->name);
    return kiln_manifest_read(a, (kiln_str){bytes, (size_t)e.bytes}, out, err);
}

kiln_status kiln_package_peek(kiln_arena *a, kiln_tar_source tar,
                              kiln_package_facts *out, kiln_err *err) {
    kiln_tar_reader r = kiln_tar_reader_make(tar);
    kiln_package_list l;
    kiln_str text;
    KILN_TRY(kiln_package_take_manifest(a, &r, &l, &text, err));
    kiln_package_facts *f = kiln_array(a, kiln_package_facts, l.n_variants + 1);
    for (size_t i = 0; i < l.n_variants; i++)
        KILN_TRY(take_variant(a, &r, &l.entry[i], &f[i], err));
    *out = l.n_variants > 0 ? kiln_variants_facts(a, f, l.n_variants) : l.facts;
    return KILN_OK;
}
