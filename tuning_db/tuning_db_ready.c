/* Ready records as text, one a line (docs/ready-records.md), and as a database that
 * lives in memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuning_db/tuning_db_internal.h"

enum {
    READY_VERSION = 1,
    ID_BYTES = 12,    /* of a profile's hash: enough to tell them apart */
    MAX_NESTING = 16, /* of the objects of a record */
    MAX_PROFILES = 1 << 12
};

/* ---- writing --------------------------------------------------------------------- */

static kiln_status put_object(kiln_json_writer *w, const char *key, const char *text,
                              kiln_err *err) {
    const kiln_json *json = NULL;
    KILN_TRY(kiln_json_parse(w->out->arena, kiln_str_from(text), key, &json, err));
    kiln_json_name(w, key);
    kiln_json_put(w, json);
    return KILN_OK;
}

static void id_of(const char *profile_json, char out[ID_BYTES + 1]) {
    char hex[KILN_SHA256_HEX];
    kiln_sha256_of(profile_json, strlen(profile_json), hex);
    memcpy(out, hex, ID_BYTES);
    out[ID_BYTES] = '\0';
}

static int by_task(const void *x, const void *y) {
    const kiln_db_ready *a = *(const kiln_db_ready *const *)x;
    const kiln_db_ready *b = *(const kiln_db_ready *const *)y;
    const char *const text[][2] = {{a->task.workload, b->task.workload},
                                   {a->task.profile_json, b->task.profile_json},
                                   {a->task.numerics, b->task.numerics},
                                   {a->layouts, b->layouts},
                                   {a->candidate.tmpl, b->candidate.tmpl},
                                   {a->candidate.config, b->candidate.config}};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        const int c = strcmp(text[i][0], text[i][1]);
        if (c != 0)
            return c;
        if (i == 1 && a->task.threads != b->task.threads)
            return a->task.threads < b->task.threads ? -1 : 1;
    }
    return 0;
}

static int by_text(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Each once, before the records that name it. */
static kiln_status put_profiles(kiln_buf *out, const kiln_db_readies *r,
                                kiln_err *err) {
    const char **json = kiln_array(out->arena, const char *, r->list.n + 1);
    for (size_t i = 0; i < r->list.n; i++)
        json[i] = r->list.v[i].task.profile_json;
    qsort(json, r->list.n, sizeof *json, by_text);
    for (size_t i = 0; i < r->list.n; i++) {
        char id[ID_BYTES + 1];
        kiln_json_writer w;
        if (i > 0 && strcmp(json[i], json[i - 1]) == 0)
            continue;
        id_of(json[i], id);
        kiln_db_line_begin(&w, out);
        kiln_json_member_str(&w, "id", id);
        KILN_TRY(put_object(&w, "profile", json[i], err));
        kiln_db_line_end(&w);
    }
    return KILN_OK;
}

static kiln_status put_record(kiln_buf *out, const kiln_db_ready *r, kiln_err *err) {
    char id[ID_BYTES + 1];
    kiln_json_writer w;
    id_of(r->task.profile_json, id);
    kiln_db_line_begin(&w, out);
    kiln_json_member_str(&w, "workload", r->task.workload);
    kiln_json_member_str(&w, "anchor", r->task.anchor);
    kiln_json_member_str(&w, "on", id);
    kiln_json_member_i64(&w, "threads", r->task.threads);
    kiln_json_member_str(&w, "numerics", r->task.numerics);
    kiln_json_member_str(&w, "cache", r->task.cache);
    KILN_TRY(put_object(&w, "config", r->candidate.config, err));
    kiln_json_member_str(&w, "template", r->candidate.tmpl);
    kiln_json_member_str(&w, "layouts", r->layouts);
    kiln_json_member_f64(&w, "ns", r->ns);
    kiln_json_member_i64(&w, "rounds", r->n_rounds);
    kiln_json_member_f64(&w, "peak_gflops", r->peak_gflops);
    KILN_TRY(put_object(&w, "rule", r->rule, err));
    kiln_json_member_f64(&w, "rule_ns", r->rule_ns);
    KILN_TRY(put_object(&w, "proof", r->proof, err));
    kiln_json_member_str(&w, "kiln", r->kiln);
    kiln_json_member_i64(&w, "time_ms", r->time_ms);
    kiln_db_line_end(&w);
    return KILN_OK;
}

kiln_status kiln_db_ready_write(kiln_buf *out, const kiln_db_readies *r,
                                kiln_err *err) {
    const kiln_db_ready **sorted =
        kiln_array(out->arena, const kiln_db_ready *, r->list.n + 1);
    for (size_t i = 0; i < r->list.n; i++)
        sorted[i] = &r->list.v[i];
    qsort(sorted, r->list.n, sizeof *sorted, by_task);
    kiln_buf_printf(out, "{\"kiln_ready_records\": %d}\n", READY_VERSION);
    KILN_TRY(put_profiles(out, r, err));
    for (size_t i = 0; i < r->list.n; i++)
        KILN_TRY(put_record(out, sorted[i], err));
    return KILN_OK;
}

/* ---- reading --------------------------------------------------------------------- */

typedef struct reading {
    kiln_arena *arena; /* of what is kept */
    kiln_arena line;
    kiln_map profile; /* id -> its text */
    size_t n_profiles;
    kiln_db_readies *out;
} reading;

static bool nests(const kiln_json *v, int deepest) {
    if (deepest == 0)
        return kiln_json_is_object(v) || kiln_json_is_array(v);
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m))
        if (nests(m, deepest - 1))
            return true;
    return false;
}

/* An object of the line as a text of its own. */
static kiln_status object_of(reading *r, const kiln_json *line, const char *key,
                             bool on_one_line, const char **out, kiln_err *err) {
    const kiln_json *v = kiln_json_get(line, key);
    kiln_buf text;
    kiln_json_writer w;
    if (!kiln_json_is_object(v))
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' must be an object", key);
    if (nests(v, MAX_NESTING))
        return kiln_fail(err, KILN_ERR_LIMIT, "'%s' is nested more than %d deep", key,
                         MAX_NESTING);
    kiln_buf_init(&text, r->arena);
    kiln_json_writer_init(&w, &text);
    if (on_one_line)
        w.compact_from = 1;
    kiln_json_put(&w, v);
    *out = text.p;
    return KILN_OK;
}

static kiln_status text_of(reading *r, const kiln_json *line, const char *key,
                           const char **out, kiln_err *err) {
    const char *text = kiln_json_string(kiln_json_get(line, key), NULL);
    if (text == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' must be a text", key);
    *out = kiln_str_dup(r->arena, text);
    return KILN_OK;
}

static kiln_status count_of(const kiln_json *line, const char *key, int64_t least,
                            int64_t most, int64_t *out, kiln_err *err) {
    if (!kiln_json_i64(kiln_json_get(line, key), out) || *out < least || *out > most)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' must be a whole number from %lld to %lld", key,
                         (long long)least, (long long)most);
    return KILN_OK;
}

static kiln_status time_of(const kiln_json *line, const char *key, double *out,
                           kiln_err *err) {
    *out = kiln_json_number(kiln_json_get(line, key), 0);
    if (!(*out > 0) || !isfinite(*out))
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' must be a time above 0", key);
    return KILN_OK;
}

/* What a record lacks is the file's fault, not the caller's. */
static kiln_status blame_file(kiln_status st, kiln_err *err) {
    if (st != KILN_ERR_ARG)
        return st;
    if (err != NULL)
        err->status = KILN_ERR_PARSE;
    return KILN_ERR_PARSE;
}

/* Its text must be what the records' machine called its own, to the letter. */
static kiln_status profile_line(reading *r, const kiln_json *o, kiln_err *err) {
    const char *id = NULL, *json = NULL;
    char want[ID_BYTES + 1];
    KILN_TRY(text_of(r, o, "id", &id, err));
    KILN_TRY(object_of(r, o, "profile", false, &json, err));
    if (kiln_json_string(kiln_json_get(kiln_json_get(o, "profile"), "name"), NULL) ==
        NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "a profile must have a 'name'");
    id_of(json, want);
    if (strcmp(id, want) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the profile was changed: its id would be '%s'", want);
    if (++r->n_profiles > MAX_PROFILES)
        return kiln_fail(err, KILN_ERR_LIMIT, "more than %d profiles", MAX_PROFILES);
    kiln_map_set(r->arena, &r->profile, kiln_str_from(id), (void *)(uintptr_t)json);
    return KILN_OK;
}

static kiln_status task_of(reading *r, const kiln_json *o, kiln_db_task *out,
                           kiln_err *err) {
    const char *on = NULL;
    const kiln_json *profile = NULL;
    int64_t threads = 0;
    KILN_TRY(text_of(r, o, "workload", &out->workload, err));
    KILN_TRY(text_of(r, o, "anchor", &out->anchor, err));
    KILN_TRY(text_of(r, o, "on", &on, err));
    KILN_TRY(text_of(r, o, "numerics", &out->numerics, err));
    KILN_TRY(text_of(r, o, "cache", &out->cache, err));
    KILN_TRY(count_of(o, "threads", 1, INT16_MAX, &threads, err));
    out->threads = (int)threads;
    out->profile_json = kiln_map_get(&r->profile, kiln_str_from(on));
    if (out->profile_json == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "no line above has the profile '%s'",
                         kiln_str_printable(&r->line, kiln_str_from(on), 32));
    KILN_TRY(kiln_json_parse(&r->line, kiln_str_from(out->profile_json), "profile",
                             &profile, err));
    out->profile =
        kiln_str_dup(r->arena, kiln_json_string(kiln_json_get(profile, "name"), NULL));
    return kiln_db_task_check(out, err);
}

static kiln_status record_line(reading *r, const kiln_json *o, kiln_err *err) {
    kiln_db_ready x = {.layouts = ""};
    KILN_TRY(task_of(r, o, &x.task, err));
    KILN_TRY(text_of(r, o, "template", &x.candidate.tmpl, err));
    KILN_TRY(object_of(r, o, "config", true, &x.candidate.config, err));
    KILN_TRY(text_of(r, o, "layouts", &x.layouts, err));
    KILN_TRY(time_of(o, "ns", &x.ns, err));
    KILN_TRY(count_of(o, "rounds", 1, INT32_MAX, &x.n_rounds, err));
    KILN_TRY(object_of(r, o, "rule", true, &x.rule, err));
    KILN_TRY(time_of(o, "rule_ns", &x.rule_ns, err));
    KILN_TRY(object_of(r, o, "proof", true, &x.proof, err));
    KILN_TRY(text_of(r, o, "kiln", &x.kiln, err));
    KILN_TRY(count_of(o, "time_ms", 0, INT64_C(1) << 53, &x.time_ms, err));
    x.peak_gflops = kiln_json_number(kiln_json_get(o, "peak_gflops"), 0);
    kiln_vec_push(r->arena, &r->out->list, x);
    return KILN_OK;
}

static kiln_status read_line(void *user, const kiln_json *o, kiln_err *err) {
    return blame_file(kiln_json_get(o, "workload") != NULL ? record_line(user, o, err)
                                                           : profile_line(user, o, err),
                      err);
}

static const kiln_db_lines ready_lines = {.version_key = "kiln_ready_records",
                                          .version = READY_VERSION,
                                          .what = "file of ready records",
                                          .brief = "ready records",
                                          .doing = "reading",
                                          .of = "the ready records ",
                                          .take = read_line};

kiln_status kiln_db_ready_read(kiln_arena *a, kiln_str text, const char *name,
                               kiln_db_readies *out, kiln_err *err) {
    kiln_db_readies found = {.list = {.n = 0}};
    reading r = {.arena = a, .out = &found};
    if (text.n == 0)
        return kiln_fail(err, KILN_ERR_PARSE, "the ready records '%s' are empty", name);
    kiln_arena_init(&r.line);
    const kiln_status st =
        kiln_db_lines_read(&ready_lines, &r.line, text, name, &r, err);
    kiln_arena_fini(&r.line);
    kiln_sha256_of(text.p, text.n, found.sha256);
    if (st == KILN_OK)
        *out = found;
    return st;
}

/* ---- as a database --------------------------------------------------------------- */

static kiln_status add(kiln_db *db, kiln_arena *scratch, const kiln_db_ready *r,
                       kiln_err *err) {
    int64_t task = 0;
    char uid[KILN_SHA256_HEX];
    bool was_new = false;
    kiln_db_task stored;
    kiln_db_trial t = {.candidate = r->candidate,
                       .layouts = r->layouts,
                       .error = "",
                       .sample_ns = &r->ns,
                       .n_samples = 1,
                       .peak_gflops = r->peak_gflops,
                       .proof = r->proof,
                       /* Whoever made it has looked whether it can be true: what
                        * its algorithm computes is not known here. */
                       .facts = kiln_format(scratch,
                                            "{\"rule\": %s, \"rule_ns\": %.17g,"
                                            " \"least_flops\": 0}",
                                            r->rule, r->rule_ns),
                       .owner = "ready",
                       .kiln = r->kiln,
                       .time_ms = r->time_ms};
    KILN_TRY(kiln_db_trial_check(scratch, &t, err));
    KILN_TRY(kiln_db_find_task(db, &r->task, &task, err));
    KILN_TRY(kiln_db_task_at(db, scratch, task, &stored, err));
    /* Two profiles of one key measured it: one more round. */
    t.is_repeat = strcmp(stored.profile_json, r->task.profile_json) != 0;
    kiln_db_trial_uid(scratch, &r->task, &t, uid);
    KILN_TRY(kiln_db_insert_trial(db, task, uid, &t, &was_new, err));
    if (!was_new)
        return kiln_fail(err, KILN_ERR_PARSE, "two records say the same candidate");
    return KILN_OK;
}

static kiln_status add_all(kiln_db *db, const kiln_db_readies *r, kiln_err *err) {
    kiln_arena scratch;
    kiln_status st = KILN_OK;
    kiln_arena_init(&scratch);
    for (size_t i = 0; i < r->list.n && st == KILN_OK; i++) {
        st = blame_file(add(db, &scratch, &r->list.v[i], err), err);
        kiln_arena_reset(&scratch);
        if (st != KILN_OK)
            kiln_note(err, "taking the ready record of '%s'",
                      r->list.v[i].task.workload);
    }
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_db_ready_open(kiln_arena *a, const kiln_db_readies *r, kiln_db **out,
                               kiln_err *err) {
    kiln_db *db = NULL;
    KILN_TRY(kiln_db_open(a, KILN_SQL_MEMORY, NULL, &db, err));
    kiln_status st = kiln_sql_begin(db->sql, err);
    if (st == KILN_OK)
        st = kiln_db_end(db, add_all(db, r, err), err);
    if (st != KILN_OK) {
        kiln_db_close(db);
        return st;
    }
    *out = db;
    return KILN_OK;
}
