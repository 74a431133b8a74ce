/* Catalogs: the one that ships, and users' own. */
#include <inttypes.h>
#include <string.h>

#include "zoo/fetch.h"

#define REPOSITORY "https://github.com/onnx/models/raw/main/"

static const kiln_fetch_entry shipped[] = {
/* clang-format off */
#define KILN_MODEL(name, path, sha256, bytes) {name, REPOSITORY path, sha256, bytes, "Apache-2.0"},
#include "zoo/models.def"
#undef KILN_MODEL
    /* clang-format on */
};

enum { N_SHIPPED = sizeof shipped / sizeof shipped[0] };

void kiln_catalog_shipped(kiln_arena *a, kiln_catalog *out) {
    *out = (kiln_catalog){0};
    for (int i = 0; i < N_SHIPPED; i++)
        kiln_vec_push(a, &out->list, shipped[i]);
}

/* ---- users' ---------------------------------------------------------------------- */

static const char *const members[] = {"name", "url", "sha256", "bytes", "licence"};

static bool is_hash(const char *z) {
    return strlen(z) == KILN_SHA256_HEX - 1 &&
           strspn(z, "0123456789abcdef") == KILN_SHA256_HEX - 1;
}

static bool is_url(const char *z) {
    static const char *const kind[] = {"https://", "http://", "file:///"};
    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++)
        if (strncmp(z, kind[i], strlen(kind[i])) == 0 && strlen(z) > strlen(kind[i]))
            return strcspn(z, " \t\r\n") == strlen(z);
    return false;
}

static kiln_status check_members(const kiln_json *o, kiln_err *err) {
    if (!kiln_json_is_object(o))
        return kiln_fail(err, KILN_ERR_PARSE, "it must be an object");
    for (const kiln_json *m = kiln_json_first(o); m != NULL; m = kiln_json_next(m)) {
        bool known = false;
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            known |= strcmp(kiln_json_key(m), members[i]) == 0;
        if (!known)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "an unknown member; there are name, url, sha256, bytes "
                             "and licence");
    }
    return KILN_OK;
}

static kiln_status read_entry(kiln_arena *a, const kiln_json *o, kiln_fetch_entry *out,
                              kiln_err *err) {
    KILN_TRY(check_members(o, err));
    kiln_fetch_entry e = {.name = kiln_json_string(kiln_json_get(o, "name"), ""),
                          .url = kiln_json_string(kiln_json_get(o, "url"), ""),
                          .sha256 = kiln_json_string(kiln_json_get(o, "sha256"), ""),
                          .licence =
                              kiln_json_string(kiln_json_get(o, "licence"), NULL)};
    const kiln_json *licence = kiln_json_get(o, "licence");
    if (licence != NULL && !kiln_json_is_string(licence) && !kiln_json_is_null(licence))
        return kiln_fail(err, KILN_ERR_PARSE, "'licence' must be a string");
    if (e.name[0] == '\0')
        return kiln_fail(err, KILN_ERR_PARSE, "it must have a name");
    if (!is_url(e.url))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'url' must begin with https://, http:// or file:///, is '%s'",
                         kiln_str_printable(a, kiln_str_from(e.url), 80));
    if (!is_hash(e.sha256))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'sha256' must be 64 lower-case hexadecimal digits, is '%s'",
                         kiln_str_printable(a, kiln_str_from(e.sha256), 80));
    if (!kiln_json_i64(kiln_json_get(o, "bytes"), &e.bytes) || e.bytes < 1 ||
        e.bytes > KILN_FETCH_MAX_BYTES)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'bytes' must be a size from 1 to %" PRId64,
                         KILN_FETCH_MAX_BYTES);
    *out = e;
    return KILN_OK;
}

static kiln_status check_root(const kiln_json *root, const char *path, kiln_err *err) {
    for (const kiln_json *m = kiln_json_first(root); m != NULL; m = kiln_json_next(m))
        if (kiln_json_key(m) != NULL && strcmp(kiln_json_key(m), "models") != 0)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "'%s' has an unknown member beside 'models'", path);
    return KILN_OK;
}

static kiln_status read_list(kiln_arena *a, const kiln_json *root, const char *path,
                             kiln_catalog *out, kiln_err *err) {
    const kiln_json *list = kiln_json_get(root, "models");
    kiln_map seen = {0};
    size_t i = 0;
    if (!kiln_json_is_array(list))
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' must be {\"models\": [...]}", path);
    KILN_TRY(check_root(root, path, err));
    if (kiln_json_size(list) > KILN_FETCH_MAX_ENTRIES)
        return kiln_fail(err, KILN_ERR_LIMIT, "'%s' has more than %d models", path,
                         KILN_FETCH_MAX_ENTRIES);
    for (const kiln_json *o = kiln_json_first(list); o != NULL;
         o = kiln_json_next(o), i++) {
        kiln_fetch_entry e;
        kiln_status st = read_entry(a, o, &e, err);
        if (st == KILN_OK && kiln_map_get(&seen, kiln_str_from(e.name)) != NULL)
            st = kiln_fail(err, KILN_ERR_PARSE, "another one is called '%s' too",
                           kiln_str_printable(a, kiln_str_from(e.name), 80));
        if (st != KILN_OK) {
            kiln_note(err, "reading model %zu of '%s'", i, path);
            return st;
        }
        kiln_map_set(a, &seen, kiln_str_from(e.name), out);
        kiln_vec_push(a, &out->list, e);
    }
    return KILN_OK;
}

kiln_status kiln_catalog_read(kiln_arena *a, const char *path, kiln_catalog *out,
                              kiln_err *err) {
    const kiln_json *root = NULL;
    kiln_catalog m = {0};
    KILN_TRY(kiln_json_read(a, path, &root, err));
    KILN_TRY(read_list(a, root, path, &m, err));
    *out = m;
    return KILN_OK;
}

kiln_status kiln_catalog_find(const kiln_catalog *m, const char *name,
                              kiln_fetch_entry *out, kiln_err *err) {
    const char *near = NULL;
    size_t most = 2; /* letters that must agree before a name is worth a hint */
    for (size_t i = 0; i < m->list.n; i++) {
        size_t same = 0;
        if (strcmp(m->list.v[i].name, name) == 0) {
            *out = m->list.v[i];
            return KILN_OK;
        }
        while (name[same] != '\0' && m->list.v[i].name[same] == name[same])
            same++;
        if (same > most) {
            most = same;
            near = m->list.v[i].name;
        }
    }
    return kiln_fail(
        err, KILN_ERR_ARG,
        "there is no model of this name%s%s%s; kiln fetch --list names all",
        near != NULL ? "; is '" : "", near != NULL ? near : "",
        near != NULL ? "' meant?" : "");
}
