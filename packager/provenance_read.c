/* Provenance, read: untrusted. What is not exactly as kiln writes it is refused, so
 * that nothing is passed over that somebody believes. */
#include "packager/packager_provenance.h"
#include "packager/provenance_internal.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_TEXT = 4096,
    MAX_LIST = 4096,
    MAX_THREADS = 1024,
    MAX_RECORDS = 1 << 20,
    SHOWN = 100, /* bytes of a line */
    SHA256_DIGITS = KILN_SHA256_HEX - 1
};
#define MAX_SECONDS (((int64_t)1 << 33) - 1)
#define MAX_NUMBER ((int64_t)1 << 53)

typedef struct reader {
    kiln_arena *arena;
    const char *path;
    kiln_err *err;
    kiln_status status; /* of the first failure */
} reader;

/* An object, and what it is called in messages. */
typedef struct object {
    const kiln_json *json;
    const char *where; /* "predicate." */
} object;

static void refuse(reader *r, const object *o, const char *key, const char *what) {
    if (r->status == KILN_OK)
        r->status =
            kiln_fail(r->err, KILN_ERR_PARSE, "'%s': '%s%s' %s", r->path, o->where,
                      kiln_str_printable(r->arena, kiln_str_from(key), 64), what);
}

/* All of these members and no others. */
static object open_object(reader *r, const kiln_json *json, const char *where,
                          const char *const *known) {
    const object o = {json, where};
    if (!kiln_json_is_object(json)) {
        refuse(r, &o, "", "must be an object");
        return o;
    }
    for (size_t i = 0; known[i] != NULL; i++)
        if (kiln_json_get(json, known[i]) == NULL)
            refuse(r, &o, known[i], "is missing");
    for (const kiln_json *m = kiln_json_first(json); m != NULL; m = kiln_json_next(m)) {
        bool is_known = false;
        for (size_t i = 0; known[i] != NULL; i++)
            is_known = is_known || strcmp(known[i], kiln_json_key(m)) == 0;
        if (!is_known)
            refuse(r, &o, kiln_json_key(m), "is not known");
    }
    return o;
}

static object open_member(reader *r, const object *in, const char *key,
                          const char *const *known) {
    return open_object(r, kiln_json_get(in->json, key),
                       kiln_format(r->arena, "%s%s.", in->where, key), known);
}

static const char *text_of(reader *r, const object *o, const char *key) {
    const char *s = kiln_json_string(kiln_json_get(o->json, key), NULL);
    if (s != NULL && s[0] != '\0' && strlen(s) <= MAX_TEXT)
        return s;
    refuse(r, o, key, "must be a text of 1 to 4096 bytes");
    return "";
}

static const char *text_or_null(reader *r, const object *o, const char *key) {
    return kiln_json_is_null(kiln_json_get(o->json, key)) ? NULL : text_of(r, o, key);
}

static void must_be(reader *r, const object *o, const char *key, const char *want) {
    if (strcmp(text_of(r, o, key), want) != 0)
        refuse(r, o, key, kiln_format(r->arena, "must be '%s'", want));
}

static void read_sha256(reader *r, const object *o, const char *key,
                        char out[KILN_SHA256_HEX]) {
    const char *s = text_of(r, o, key);
    const bool is_one =
        strlen(s) == SHA256_DIGITS && strspn(s, "0123456789abcdef") == SHA256_DIGITS;
    if (!is_one)
        refuse(r, o, key, "must be 64 hexadecimal digits");
    else
        memcpy(out, s, KILN_SHA256_HEX);
}

static int64_t count_of(reader *r, const object *o, const char *key, int64_t least,
                        int64_t most) {
    int64_t v = 0;
    if (kiln_json_i64(kiln_json_get(o->json, key), &v) && v >= least && v <= most)
        return v;
    refuse(r, o, key,
           kiln_format(r->arena, "must be a number from %" PRId64 " to %" PRId64, least,
                       most));
    return least;
}

static const kiln_json *list_of(reader *r, const object *o, const char *key,
                                size_t *n) {
    const kiln_json *v = kiln_json_get(o->json, key);
    *n = kiln_json_size(v);
    if (kiln_json_is_array(v) && *n <= MAX_LIST)
        return kiln_json_first(v);
    refuse(r, o, key, "must be a list of at most 4096");
    *n = 0;
    return NULL;
}

/* Files are looked for by name: one in a folder is somebody else's. */
static void read_name(reader *r, const object *o, bool may_be_deep, const char **out) {
    *out = text_of(r, o, "name");
    if (!kiln_path_is_contained(kiln_str_from(*out)) ||
        (!may_be_deep && strchr(*out, '/') != NULL))
        refuse(r, o, "name", "must be a file's name");
}

static void read_digest(reader *r, const object *o, char out[KILN_SHA256_HEX]) {
    static const char *const known[] = {"sha256", NULL};
    const object digest = open_member(r, o, "digest", known);
    read_sha256(r, &digest, "sha256", out);
}

/* ---- what it was made of --------------------------------------------------------- */

typedef struct dependencies {
    KILN_VEC(kiln_material) data;
    bool has_model, has_records, has_costs;
} dependencies;

static void take_once(reader *r, const object *o, bool *has) {
    if (*has)
        refuse(r, o, "uri", "is there twice");
    *has = true;
}

static void read_dependency(reader *r, const kiln_json *json, size_t i, dependencies *d,
                            kiln_provenance *p) {
    static const char *const known[] = {"uri", "name", "digest", NULL};
    const object o = open_object(
        r, json,
        kiln_format(r->arena, "predicate.buildDefinition.resolvedDependencies[%zu].",
                    i),
        known);
    const char *uri = text_of(r, &o, "uri");
    kiln_material m = {.name = NULL};
    read_name(r, &o, strcmp(uri, KILN_URI_DATA) == 0, &m.name);
    read_digest(r, &o, m.sha256);
    bool has_config = p->config.name != NULL, has_ready = p->ready.name != NULL;
    if (strcmp(uri, KILN_URI_MODEL) == 0) {
        take_once(r, &o, &d->has_model);
        p->model = m;
    } else if (strcmp(uri, KILN_URI_DATA) == 0) {
        kiln_vec_push(r->arena, &d->data, m);
    } else if (strcmp(uri, KILN_URI_CONFIG) == 0) {
        take_once(r, &o, &has_config);
        p->config = m;
    } else if (strcmp(uri, KILN_URI_RECORDS) == 0) {
        take_once(r, &o, &d->has_records);
        must_be(r, &o, "name", KILN_RECORDS_NAME);
        memcpy(p->records_sha256, m.sha256, sizeof m.sha256);
    } else if (strcmp(uri, KILN_URI_COSTS) == 0) {
        take_once(r, &o, &d->has_costs);
        must_be(r, &o, "name", KILN_COSTS_NAME);
        memcpy(p->costs_sha256, m.sha256, sizeof m.sha256);
    } else if (strcmp(uri, KILN_URI_READY) == 0) {
        take_once(r, &o, &has_ready);
        p->ready = m;
    } else {
        refuse(r, &o, "uri", "is not known");
    }
}

static void read_dependencies(reader *r, const object *definition, kiln_provenance *p) {
    dependencies d = {.has_model = false};
    size_t n = 0;
    const kiln_json *v = list_of(r, definition, "resolvedDependencies", &n);
    for (size_t i = 0; i < n; i++, v = kiln_json_next(v))
        read_dependency(r, v, i, &d, p);
    if (!d.has_model)
        refuse(r, definition, "resolvedDependencies", "must have a model");
    if (!d.has_records)
        refuse(r, definition, "resolvedDependencies",
               "must have the records that were used");
    if (d.has_costs != p->is_searched)
        refuse(
            r, definition, "resolvedDependencies",
            "must have the costs that were compared where layouts were searched, and "
            "only there");
    p->data = d.data.v;
    p->n_data = d.data.n;
}

/* ---- how ------------------------------------------------------------------------- */

static void read_shapes(reader *r, const object *o, kiln_provenance *p) {
    const kiln_json *v = list_of(r, o, "shapes", &p->n_shapes);
    const char **shape = kiln_array(r->arena, const char *, p->n_shapes);
    for (size_t i = 0; i < p->n_shapes; i++, v = kiln_json_next(v)) {
        shape[i] = kiln_json_string(v, "");
        if (shape[i][0] == '\0' || strlen(shape[i]) > MAX_TEXT)
            refuse(r, o, "shapes", "must be texts such as 'x:1x3x224x224'");
    }
    p->shape = shape;
}

/* Not there where everything is the host's. */
static void read_places(reader *r, const object *o, kiln_provenance *p) {
    if (kiln_json_get(o->json, "place") == NULL)
        return;
    const kiln_json *v = list_of(r, o, "place", &p->n_places);
    const char **place = kiln_array(r->arena, const char *, p->n_places);
    if (p->n_places == 0)
        refuse(r, o, "place", "must have rules, or not be there");
    for (size_t i = 0; i < p->n_places; i++, v = kiln_json_next(v)) {
        place[i] = kiln_json_string(v, "");
        if (place[i][0] == '\0' || strlen(place[i]) > MAX_TEXT)
            refuse(r, o, "place", "must be texts such as 'conv=host2'");
    }
    p->place = place;
}

static void read_binds(reader *r, const object *o, kiln_provenance *p) {
    static const char *const known[] = {"name", "number", "type", "sha256", NULL};
    const kiln_json *v = list_of(r, o, "binds", &p->n_binds);
    kiln_provenance_bind *bind = kiln_array(r->arena, kiln_provenance_bind, p->n_binds);
    for (size_t i = 0; i < p->n_binds; i++, v = kiln_json_next(v)) {
        const object b = open_object(
            r, v, kiln_format(r->arena, "%sbinds[%zu].", o->where, i), known);
        bind[i].is.name = text_of(r, &b, "name");
        bind[i].is.type = text_of(r, &b, "type");
        bind[i].number = text_or_null(r, &b, "number");
        read_sha256(r, &b, "sha256", bind[i].is.sha256);
    }
    p->bind = bind;
}

static void read_profile(reader *r, const object *o, kiln_profile *p) {
    const char *where = kiln_format(r->arena, "'%s': %sprofile", r->path, o->where);
    if (r->status == KILN_OK)
        r->status = kiln_profile_read(r->arena, kiln_json_get(o->json, "profile"),
                                      where, p, r->err);
    p->measure = text_or_null(r, o, "measure");
}

/* Not there where an archive is for one. */
static void read_more_profiles(reader *r, const object *o, kiln_provenance *p) {
    static const char *const known[] = {"profile", "measure", NULL};
    if (kiln_json_get(o->json, "more_profiles") == NULL)
        return;
    const kiln_json *v = list_of(r, o, "more_profiles", &p->n_more);
    kiln_profile *more = kiln_array(r->arena, kiln_profile, p->n_more);
    if (p->n_more == 0)
        refuse(r, o, "more_profiles", "must have some, or not be there");
    for (size_t i = 0; i < p->n_more; i++, v = kiln_json_next(v)) {
        const object one = open_object(
            r, v, kiln_format(r->arena, "%smore_profiles[%zu].", o->where, i), known);
        read_profile(r, &one, &more[i]);
    }
    p->more = more;
}

static void read_external(reader *r, const object *definition, kiln_provenance *p) {
    enum { N_ALWAYS = 10 };
    const char *known[N_ALWAYS + 8] = {"name",    "version", "licence", "shapes",
                                       "binds",   "threads", "proved",  "pack",
                                       "profile", "measure"};
    static const char *const given[] = {/* where they were */
                                        "layouts",  "more_profiles", "place", "predict",
                                        "rounding", "signature",     "state"};
    const kiln_json *json = kiln_json_get(definition->json, "externalParameters");
    int n = N_ALWAYS;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        if (kiln_json_get(json, given[i]) != NULL)
            known[n++] = given[i];
    const object o = open_member(r, definition, "externalParameters", known);
    const kiln_json *predict = kiln_json_get(o.json, "predict");
    const kiln_json *proved = kiln_json_get(o.json, "proved");
    const kiln_json *state = kiln_json_get(o.json, "state");
    p->name = text_of(r, &o, "name");
    p->version = text_of(r, &o, "version");
    p->licence = text_or_null(r, &o, "licence");
    if (p->licence != NULL && !kiln_package_is_licence(p->licence))
        refuse(r, &o, "licence", "must be an SPDX expression");
    read_shapes(r, &o, p);
    read_binds(r, &o, p);
    p->threads = (int)count_of(r, &o, "threads", 1, MAX_THREADS);
    if (!kiln_json_is_bool(proved))
        refuse(r, &o, "proved", "must be true or false");
    p->is_unproved = !kiln_json_bool(proved, true);
    const char *pack = text_of(r, &o, "pack");
    p->packs_at_open = strcmp(pack, "open") == 0;
    if (!p->packs_at_open && strcmp(pack, "build") != 0)
        refuse(r, &o, "pack", "must be 'build' or 'open'");
    if (kiln_json_get(o.json, "signature") != NULL)
        p->signature = text_of(r, &o, "signature");
    p->has_state = state != NULL;
    if (state != NULL && !kiln_json_bool(state, false))
        refuse(r, &o, "state", "must be true, or not be there");
    p->as_reference = kiln_json_get(o.json, "rounding") != NULL;
    if (p->as_reference && strcmp(text_of(r, &o, "rounding"), "reference") != 0)
        refuse(r, &o, "rounding", "must be 'reference', or not be there");
    if (kiln_json_get(o.json, "layouts") != NULL)
        p->layouts = text_of(r, &o, "layouts");
    p->no_predict = predict != NULL;
    if (predict != NULL &&
        (!kiln_json_is_bool(predict) || kiln_json_bool(predict, true)))
        refuse(r, &o, "predict", "must be false, or not be there");
    read_places(r, &o, p);
    read_profile(r, &o, &p->profile);
    read_more_profiles(r, &o, p);
}

/* The last three stand where a search chose layouts, all of them. */
static void read_internal(reader *r, const object *definition, kiln_provenance *p) {
    static const char *const always[] = {"source_date_epoch", "selftest_seed",
                                         "tuned_kernels", "ready_kernels", NULL},
                             *const searched[] = {"source_date_epoch", "selftest_seed",
                                                  "tuned_kernels",     "ready_kernels",
                                                  "searched_steps",    "measured_steps",
                                                  "compared_costs",    NULL};
    const kiln_json *json = kiln_json_get(definition->json, "internalParameters");
    p->is_searched = kiln_json_get(json, "searched_steps") != NULL;
    const object i = open_member(r, definition, "internalParameters",
                                 p->is_searched ? searched : always);
    p->time_s = count_of(r, &i, "source_date_epoch", 0, MAX_SECONDS);
    p->seed = count_of(r, &i, "selftest_seed", 0, MAX_NUMBER);
    p->n_records = (int)count_of(r, &i, "tuned_kernels", 0, MAX_RECORDS);
    p->n_ready = (int)count_of(r, &i, "ready_kernels", 0, p->n_records);
    if (!p->is_searched)
        return;
    p->n_sites = (int)count_of(r, &i, "searched_steps", 0, MAX_RECORDS);
    p->n_known = (int)count_of(r, &i, "measured_steps", 0, p->n_sites);
    p->n_costs = (int)count_of(r, &i, "compared_costs", 0, MAX_RECORDS);
}

static void read_definition(reader *r, const object *predicate, kiln_provenance *p) {
    static const char *const known[] = {"buildType", "externalParameters",
                                        "internalParameters", "resolvedDependencies",
                                        NULL};
    const object o = open_member(r, predicate, "buildDefinition", known);
    must_be(r, &o, "buildType", KILN_BUILD_TYPE);
    read_external(r, &o, p);
    read_internal(r, &o, p);
    read_dependencies(r, &o, p);
}

static void read_run(reader *r, const object *predicate, kiln_provenance *p) {
    static const char *const known[] = {"builder", NULL};
    static const char *const of_builder[] = {"id", "version", NULL};
    static const char *const of_version[] = {"kiln", "commit", "llvm",
                                             "lld",  "zstd",   NULL};
    const object run = open_member(r, predicate, "runDetails", known);
    const object builder = open_member(r, &run, "builder", of_builder);
    const object v = open_member(r, &builder, "version", of_version);
    const char *commit = text_or_null(r, &v, "commit");
    must_be(r, &builder, "id", KILN_BUILDER_ID);
    if (commit != NULL && !kiln_is_commit(commit))
        refuse(r, &v, "commit",
               "must be 40 hexadecimal digits, maybe with '-modified'");
    p->builder = (kiln_builder){.kiln = text_of(r, &v, "kiln"),
                                .llvm = text_of(r, &v, "llvm"),
                                .lld = text_of(r, &v, "lld"),
                                .zstd = text_of(r, &v, "zstd"),
                                .commit = commit};
}

static void read_subject(reader *r, const object *top, kiln_provenance *p) {
    static const char *const known[] = {"name", "digest", NULL};
    size_t n = 0;
    const kiln_json *v = list_of(r, top, "subject", &n);
    if (n != 1)
        refuse(r, top, "subject", "must be one archive");
    const object o = open_object(r, v, "subject[0].", known);
    read_name(r, &o, false, &p->archive.name);
    read_digest(r, &o, p->archive.sha256);
}

/* Of one provenance there is one file: what the profile's reader passes over, or what
 * is only written in another way, is a line that differs. */
static kiln_status check_form(reader *r, kiln_str text, const kiln_provenance *p) {
    kiln_str own, is, want;
    kiln_buf again;
    kiln_buf_init(&again, r->arena);
    kiln_provenance_write(&again, p);
    own = kiln_buf_str(&again);
    if (kiln_str_eq(own, text))
        return KILN_OK;
    for (size_t line = 1;; line++) {
        const bool has_line = kiln_str_cut(&text, '\n', &is);
        const bool has_own = kiln_str_cut(&own, '\n', &want);
        if (has_line && has_own && kiln_str_eq(is, want))
            continue;
        return kiln_fail(r->err, KILN_ERR_PARSE, "'%s': line %zu must be '%s', is '%s'",
                         r->path, line, kiln_str_printable(r->arena, want, SHOWN),
                         kiln_str_printable(r->arena, is, SHOWN));
    }
}

kiln_status kiln_provenance_read(kiln_arena *a, kiln_str text, const char *path,
                                 kiln_provenance *out, kiln_err *err) {
    static const char *const known[] = {"_type", "subject", "predicateType",
                                        "predicate", NULL};
    static const char *const of_predicate[] = {"buildDefinition", "runDetails", NULL};
    reader r = {.arena = a, .path = path, .err = err};
    kiln_provenance p = {.threads = 0};
    const kiln_json *json = NULL;
    if (text.n > KILN_PROVENANCE_MAX)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "'%s' has %zu bytes; provenance has at most %d", path, text.n,
                         KILN_PROVENANCE_MAX);
    KILN_TRY(kiln_json_parse(a, text, path, &json, err));
    const object top = open_object(&r, json, "", known);
    must_be(&r, &top, "_type", KILN_STATEMENT_TYPE);
    must_be(&r, &top, "predicateType", KILN_PREDICATE_TYPE);
    read_subject(&r, &top, &p);
    const object predicate = open_member(&r, &top, "predicate", of_predicate);
    read_definition(&r, &predicate, &p);
    read_run(&r, &predicate, &p);
    if (r.status == KILN_OK)
        r.status = check_form(&r, text, &p);
    if (r.status == KILN_OK)
        *out = p;
    return r.status;
}
