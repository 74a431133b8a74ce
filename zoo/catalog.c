/* Catalogs of users' own, and finding in any. */
#include <inttypes.h>
#include <string.h>

#include "zoo/zoo_fetch.h"

/* ---- members --------------------------------------------------------------------- */

static const char *const members[] = {"name",   "url",    "path",   "sha256",
                                      "bytes",  "files",  "format", "task",
                                      "source", "inputs", "golden", "licence"};
static const char *const members_of_file[] = {"path", "sha256", "bytes"};

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

static kiln_status check_members(kiln_arena *a, const kiln_json *o,
                                 const char *const *known, size_t n, kiln_err *err) {
    kiln_buf names;
    if (!kiln_json_is_object(o))
        return kiln_fail(err, KILN_ERR_PARSE, "it must be an object");
    kiln_buf_init(&names, a);
    for (size_t i = 0; i < n; i++)
        kiln_buf_printf(&names, "%s%s",
                        i == 0       ? ""
                        : i + 1 == n ? " and "
                                     : ", ",
                        known[i]);
    for (const kiln_json *m = kiln_json_first(o); m != NULL; m = kiln_json_next(m)) {
        bool is_known = false;
        for (size_t i = 0; i < n; i++)
            is_known |= strcmp(kiln_json_key(m), known[i]) == 0;
        if (!is_known)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "an unknown member '%s'; there are %s",
                             kiln_str_printable(a, kiln_str_from(kiln_json_key(m)), 40),
                             kiln_buf_str(&names).p);
    }
    return KILN_OK;
}

/* NULL where it is absent or null. */
static kiln_status read_text(const kiln_json *o, const char *name, const char **out,
                             kiln_err *err) {
    const kiln_json *v = kiln_json_get(o, name);
    if (v != NULL && !kiln_json_is_string(v) && !kiln_json_is_null(v))
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' must be a string", name);
    *out = kiln_json_string(v, NULL);
    return KILN_OK;
}

/* What is fetched must lie where it is said to, and nowhere else. */
static kiln_status check_path(kiln_arena *a, const char *name, const char *path,
                              kiln_err *err) {
    const kiln_str s = kiln_str_from(path);
    bool is_plain = s.n > 0 && path[s.n - 1] != '/';
    for (const char *c = path; *c != '\0'; c++)
        is_plain = is_plain && (unsigned char)*c >= ' ' && *c != '\\';
    if (is_plain && kiln_path_is_contained(s))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_PARSE,
                     "'%s' must name a file below its folder, as models/mine.onnx, is "
                     "'%s'",
                     name, kiln_str_printable(a, s, 80));
}

static kiln_status read_sum(kiln_arena *a, const kiln_json *o, const char **sha256,
                            int64_t *bytes, kiln_err *err) {
    *sha256 = kiln_json_string(kiln_json_get(o, "sha256"), "");
    if (!is_hash(*sha256))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'sha256' must be 64 lower-case hexadecimal digits, is '%s'",
                         kiln_str_printable(a, kiln_str_from(*sha256), 80));
    if (!kiln_json_i64(kiln_json_get(o, "bytes"), bytes) || *bytes < 1 ||
        *bytes > KILN_FETCH_MAX_BYTES)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'bytes' must be a size from 1 to %" PRId64,
                         KILN_FETCH_MAX_BYTES);
    return KILN_OK;
}

/* ---- models ---------------------------------------------------------------------- */

static kiln_status read_beside(kiln_arena *a, const kiln_json *o,
                               kiln_fetch_beside *out, kiln_err *err) {
    KILN_TRY(check_members(a, o, members_of_file,
                           sizeof members_of_file / sizeof members_of_file[0], err));
    KILN_TRY(read_text(o, "path", &out->path, err));
    out->path = out->path != NULL ? out->path : "";
    KILN_TRY(check_path(a, "path", out->path, err));
    return read_sum(a, o, &out->sha256, &out->bytes, err);
}

static kiln_status read_files(kiln_arena *a, const kiln_json *list,
                              kiln_fetch_entry *out, kiln_err *err) {
    kiln_fetch_beside *beside;
    size_t n = 0;
    if (list == NULL)
        return KILN_OK;
    if (!kiln_json_is_array(list))
        return kiln_fail(err, KILN_ERR_PARSE, "'files' must be a list");
    if (kiln_json_size(list) > KILN_FETCH_MAX_BESIDE)
        return kiln_fail(err, KILN_ERR_LIMIT, "it has more than %d files",
                         KILN_FETCH_MAX_BESIDE);
    if (out->url != NULL && strcspn(out->url, "?#") != strlen(out->url))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'url' of a model with 'files' beside it has no '?' or '#'");
    beside = kiln_array(a, kiln_fetch_beside, kiln_json_size(list));
    for (const kiln_json *o = kiln_json_first(list); o != NULL; o = kiln_json_next(o)) {
        const kiln_status st = read_beside(a, o, &beside[n], err);
        if (st != KILN_OK) {
            kiln_note(err, "reading its file %zu", n);
            return st;
        }
        n++;
    }
    out->beside = beside;
    out->n_beside = n;
    return KILN_OK;
}

static kiln_status read_place(kiln_arena *a, const kiln_json *o, kiln_fetch_entry *out,
                              kiln_err *err) {
    KILN_TRY(read_text(o, "url", &out->url, err));
    KILN_TRY(read_text(o, "path", &out->path, err));
    if (out->path != NULL)
        KILN_TRY(check_path(a, "path", out->path, err));
    if (out->url == NULL && out->path == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "it must have a 'url', or a 'path' under mirrors");
    if (out->url != NULL && !is_url(out->url))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'url' must begin with https://, http:// or file:///, is '%s'",
                         kiln_str_printable(a, kiln_str_from(out->url), 80));
    return KILN_OK;
}

static kiln_status read_entry(kiln_arena *a, const kiln_json *o, kiln_fetch_entry *out,
                              kiln_err *err) {
    KILN_TRY(check_members(a, o, members, sizeof members / sizeof members[0], err));
    kiln_fetch_entry e = {.name = kiln_json_string(kiln_json_get(o, "name"), "")};
    const struct {
        const char *name, **to;
    } texts[] = {{"licence", &e.licence}, {"format", &e.format}, {"task", &e.task},
                 {"source", &e.source},   {"inputs", &e.inputs}, {"golden", &e.golden}};
    if (e.name[0] == '\0')
        return kiln_fail(err, KILN_ERR_PARSE, "it must have a name");
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        KILN_TRY(read_text(o, texts[i].name, texts[i].to, err));
    KILN_TRY(read_place(a, o, &e, err));
    KILN_TRY(read_sum(a, o, &e.sha256, &e.bytes, err));
    KILN_TRY(read_files(a, kiln_json_get(o, "files"), &e, err));
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
