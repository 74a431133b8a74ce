/* accepted.json (docs/gate.md): which archive of a folder is the accepted one of each
 * model, profile and number of threads, and which were before it. */
#include "pipeline/gate/gate_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024, SHA256_DIGITS = KILN_SHA256_HEX - 1 };
#define FORMAT "kiln-accepted-1"

int kiln_accepted_order(const kiln_accepted *x, const kiln_accepted *y) {
    KILN_ASSERT(x->model != NULL && x->profile != NULL && y->model != NULL &&
                    y->profile != NULL,
                "an accepted archive has a model and a profile");
    const int by_model = strcmp(x->model, y->model);
    const int by_profile = strcmp(x->profile, y->profile);
    return by_model != 0     ? by_model
           : by_profile != 0 ? by_profile
                             : (x->threads > y->threads) - (x->threads < y->threads);
}

const kiln_accepted *kiln_accepted_find(const kiln_accepted_list *l,
                                        const kiln_package_facts *f) {
    const kiln_accepted wanted = {
        .model = f->model, .profile = f->profile.name, .threads = f->threads};
    for (size_t i = 0; i < l->now.n; i++)
        if (kiln_accepted_order(&l->now.v[i], &wanted) == 0)
            return &l->now.v[i];
    return NULL;
}

static size_t find_place(const kiln_accepted *e, size_t n,
                         const kiln_accepted *wanted) {
    size_t i = 0;
    while (i < n && kiln_accepted_order(&e[i], wanted) != 0)
        i++;
    return i;
}

const kiln_accepted *kiln_frozen_find(const kiln_accepted_list *l,
                                      const kiln_package_facts *f) {
    const kiln_accepted wanted = {
        .model = f->model, .profile = f->profile.name, .threads = f->threads};
    const size_t at = find_place(l->frozen.v, l->frozen.n, &wanted);
    return at < l->frozen.n ? &l->frozen.v[at] : NULL;
}

void kiln_accepted_freeze_new(kiln_arena *a, kiln_accepted_list *l) {
    for (size_t i = 0; i < l->now.n; i++)
        if (find_place(l->frozen.v, l->frozen.n, &l->now.v[i]) == l->frozen.n)
            kiln_vec_push(a, &l->frozen, l->now.v[i]);
}

/* ---- reading --------------------------------------------------------------------- */

typedef struct reader {
    const char *path, *list;
    size_t i;
    kiln_err *err;
} reader;

static kiln_status refuse(const reader *r, const char *key, const char *what) {
    return kiln_fail(r->err, KILN_ERR_PARSE, "'%s': '%s[%zu].%s' must be %s", r->path,
                     r->list, r->i, key, what);
}

static kiln_status read_text(const reader *r, const kiln_json *o, const char *key,
                             const char **out) {
    *out = kiln_json_string(kiln_json_get(o, key), "");
    return (*out)[0] != '\0' ? KILN_OK : refuse(r, key, "a text");
}

static bool is_sha256(const char *s) {
    return strlen(s) == SHA256_DIGITS && strspn(s, "0123456789abcdef") == SHA256_DIGITS;
}

static kiln_status read_entry(const reader *r, const kiln_json *o, kiln_accepted *out) {
    kiln_accepted e = {.when = kiln_json_string(kiln_json_get(o, "accepted_at"), NULL),
                       .who = kiln_json_string(kiln_json_get(o, "who"), NULL),
                       .kiln = kiln_json_string(kiln_json_get(o, "kiln"), NULL),
                       .commit = kiln_json_string(kiln_json_get(o, "commit"), NULL),
                       .machine = kiln_json_string(kiln_json_get(o, "machine"), NULL),
                       .replaced =
                           kiln_json_string(kiln_json_get(o, "replaced_at"), NULL)};
    int64_t threads = 0;
    KILN_TRY(read_text(r, o, "model", &e.model));
    KILN_TRY(read_text(r, o, "profile", &e.profile));
    KILN_TRY(read_text(r, o, "version", &e.version));
    KILN_TRY(read_text(r, o, "file", &e.file));
    KILN_TRY(read_text(r, o, "sha256", &e.sha256));
    if (!is_sha256(e.sha256))
        return refuse(r, "sha256", "64 hexadecimal digits");
    if (!kiln_path_is_contained(kiln_str_from(e.file)))
        return refuse(r, "file", "the name of a file in the folder");
    if (!kiln_json_i64(kiln_json_get(o, "threads"), &threads) || threads < 1 ||
        threads > MAX_THREADS)
        return refuse(r, "threads", "a number from 1 to 1024");
    if (!kiln_json_i64(kiln_json_get(o, "bytes"), &e.bytes) || e.bytes < 0)
        return refuse(r, "bytes", "a number of at least 0");
    e.threads = (int)threads;
    *out = e;
    return KILN_OK;
}

static kiln_status check_once(const reader *r, const kiln_accepted_list *l,
                              const kiln_accepted *e) {
    for (size_t i = 0; i < l->now.n; i++)
        if (kiln_accepted_order(&l->now.v[i], e) == 0)
            return refuse(r, "model",
                          "accepted once for its profile and number of threads");
    return KILN_OK;
}

static kiln_status read_lists(kiln_arena *a, const char *path, kiln_accepted_list *out,
                              kiln_err *err) {
    const kiln_json *doc = NULL;
    KILN_TRY(kiln_json_read(a, path, &doc, err));
    if (strcmp(kiln_json_string(kiln_json_get(doc, "format"), ""), FORMAT) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "'%s': 'format' must be '" FORMAT "'",
                         path);
    reader r = {.path = path, .list = "accepted", .err = err};
    for (const kiln_json *o = kiln_json_first(kiln_json_get(doc, r.list)); o != NULL;
         o = kiln_json_next(o), r.i++) {
        kiln_accepted e;
        KILN_TRY(read_entry(&r, o, &e));
        KILN_TRY(check_once(&r, out, &e));
        kiln_vec_push(a, &out->now, e);
    }
    r = (reader){.path = path, .list = "history", .err = err};
    for (const kiln_json *o = kiln_json_first(kiln_json_get(doc, r.list)); o != NULL;
         o = kiln_json_next(o), r.i++) {
        kiln_accepted e;
        KILN_TRY(read_entry(&r, o, &e));
        kiln_vec_push(a, &out->history, e);
    }
    r = (reader){.path = path, .list = "frozen", .err = err};
    for (const kiln_json *o = kiln_json_first(kiln_json_get(doc, r.list)); o != NULL;
         o = kiln_json_next(o), r.i++) {
        kiln_accepted e;
        KILN_TRY(read_entry(&r, o, &e));
        if (find_place(out->frozen.v, out->frozen.n, &e) < out->frozen.n)
            return refuse(&r, "model",
                          "frozen once for its profile and number of "
                          "threads");
        kiln_vec_push(a, &out->frozen, e);
    }
    return KILN_OK;
}

/* A folder of archives that nobody accepted is a mistake, not an empty one. */
static kiln_status check_unlisted(kiln_arena *a, const char *folder, kiln_err *err) {
    char **name = NULL;
    size_t n = 0;
    if (kiln_dir_exists(folder))
        KILN_TRY(kiln_dir_list(a, folder, &name, &n, err));
    for (size_t i = 0; i < n; i++)
        if (kiln_str_ends(kiln_str_from(name[i]), KILN_ARCHIVE_ENDING))
            return kiln_fail(err, KILN_ERR_ARG,
                             "'%s' holds archives, but no " KILN_ACCEPTED_FILE
                             ": 'kiln accept ARCHIVE... --to FOLDER' makes one",
                             folder);
    return KILN_OK;
}

kiln_status kiln_accepted_read(kiln_arena *a, const char *folder,
                               kiln_accepted_list *out, kiln_err *err) {
    const char *path = kiln_path_join(a, folder, KILN_ACCEPTED_FILE);
    kiln_accepted_list l = {.folder = folder};
    KILN_TRY(kiln_file_exists(path) ? read_lists(a, path, &l, err)
                                    : check_unlisted(a, folder, err));
    *out = l;
    return KILN_OK;
}

/* ---- writing --------------------------------------------------------------------- */

static void put_entry(kiln_json_writer *w, const kiln_accepted *e) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "model", e->model);
    kiln_json_member_str(w, "profile", e->profile);
    kiln_json_member_i64(w, "threads", e->threads);
    kiln_json_member_str(w, "version", e->version);
    kiln_json_member_str(w, "file", e->file);
    kiln_json_member_i64(w, "bytes", e->bytes);
    kiln_json_member_str(w, "sha256", e->sha256);
    kiln_json_member_str(w, "accepted_at", e->when);
    kiln_json_member_str(w, "who", e->who);
    kiln_json_member_str(w, "kiln", e->kiln);
    kiln_json_member_str(w, "commit", e->commit);
    kiln_json_member_str(w, "machine", e->machine);
    if (e->replaced != NULL)
        kiln_json_member_str(w, "replaced_at", e->replaced);
    kiln_json_end_object(w);
}

static void put_list(kiln_json_writer *w, const char *key, const kiln_accepted *e,
                     size_t n) {
    kiln_json_name(w, key);
    kiln_json_begin_array(w);
    for (size_t i = 0; i < n; i++)
        put_entry(w, &e[i]);
    kiln_json_end_array(w);
}

void kiln_accepted_json(kiln_buf *out, const kiln_accepted_list *l) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "format", FORMAT);
    put_list(&w, "accepted", l->now.v, l->now.n);
    put_list(&w, "history", l->history.v, l->history.n);
    put_list(&w, "frozen", l->frozen.v, l->frozen.n);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
