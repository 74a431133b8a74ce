/* Exports and imports: one JSON object a line (docs/tuning-db.md). */
#include <string.h>

#include "tuning_db/tuning_db_internal.h"

enum { EXPORT_VERSION = 1 };

/* ---- export ---------------------------------------------------------------------- */

static void put_task(kiln_buf *out, const kiln_db_task *t) {
    kiln_json_writer w;
    kiln_db_line_begin(&w, out);
    kiln_json_member_str(&w, "workload", t->workload);
    kiln_json_member_str(&w, "anchor", t->anchor);
    kiln_json_member_str(&w, "profile", t->profile);
    kiln_json_member_str(&w, "profile_json", t->profile_json);
    kiln_json_member_i64(&w, "threads", t->threads);
    kiln_json_member_str(&w, "numerics", t->numerics);
    kiln_json_member_str(&w, "cache", t->cache);
    kiln_db_line_end(&w);
}

static void put_trial(kiln_buf *out, const kiln_db_trial *t) {
    kiln_json_writer w;
    kiln_db_line_begin(&w, out);
    kiln_json_member_str(&w, "template", t->candidate.tmpl);
    kiln_json_member_str(&w, "config", t->candidate.config);
    kiln_json_member_str(&w, "layouts", t->layouts);
    kiln_json_member_str(&w, "error", t->error);
    kiln_json_member_str(&w, "detail", t->detail);
    kiln_json_name(&w, "samples_ns");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < t->n_samples; i++)
        kiln_json_put_f64(&w, t->sample_ns[i]);
    kiln_json_end_array(&w);
    kiln_json_member_f64(&w, "peak_gflops", t->peak_gflops);
    kiln_json_member_str(&w, "proof", t->proof);
    kiln_json_member_str(&w, "facts", t->facts);
    kiln_json_member_str(&w, "owner", t->owner);
    kiln_json_member_str(&w, "kiln", t->kiln);
    kiln_json_member_i64(&w, "time_ms", t->time_ms);
    if (t->runner[0] != '\0')
        kiln_json_member_str(&w, "runner", t->runner);
    kiln_db_line_end(&w);
}

kiln_status kiln_db_export(kiln_db *db, kiln_buf *out, kiln_err *err) {
    kiln_arena scratch;
    kiln_query q = {0};
    bool has_row = false;
    int64_t last = -1;
    kiln_buf_printf(out, "{\"kiln_tuning_records\": %d}\n", EXPORT_VERSION);
    kiln_arena_init(&scratch);
    kiln_status st = kiln_query_open(
        db->sql,
        "SELECT k.id, " KILN_DB_TASK_COLUMNS ", " KILN_DB_TRIAL_COLUMNS
        " FROM " KILN_DB_TASK_TABLES " JOIN trial t ON t.task = k.id"
        " ORDER BY w.key, p.hash, k.threads, k.numerics, k.cache, t.template,"
        " t.config, t.time_ms, t.uid",
        &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        kiln_db_task task;
        kiln_db_trial trial;
        kiln_db_get_task(&q, 1, &scratch, &task);
        kiln_db_get_trial(&q, 1 + KILN_DB_N_TASK_COLUMNS, &scratch, &trial);
        if (kiln_query_get_i64(&q, 0) != last)
            put_task(out, &task);
        last = kiln_query_get_i64(&q, 0);
        put_trial(out, &trial);
        kiln_arena_reset(&scratch);
    }
    kiln_query_close(&q);
    kiln_arena_fini(&scratch);
    return st;
}

/* ---- import ---------------------------------------------------------------------- */

typedef struct importing {
    kiln_db *db;
    kiln_arena line; /* of one line */
    kiln_arena held; /* of the task that the lines belong to */
    bool has_task;
    int64_t task_id;
    kiln_db_task task;
    kiln_db_import_counts n;
} importing;

static const char *text_of(const kiln_json *o, const char *key) {
    return kiln_json_string(kiln_json_get(o, key), NULL);
}

static kiln_status task_line(importing *im, const kiln_json *o, kiln_err *err) {
    int64_t threads = 0;
    kiln_arena_reset(&im->held);
    kiln_json_i64(kiln_json_get(o, "threads"), &threads);
    if (threads < 1 || threads > INT16_MAX)
        return kiln_fail(err, KILN_ERR_PARSE, "a task needs 'threads', 1 or more");
    const kiln_db_task t = {text_of(o, "workload"), text_of(o, "anchor"),
                            text_of(o, "profile"),  text_of(o, "profile_json"),
                            (int)threads,           text_of(o, "numerics"),
                            text_of(o, "cache")};
    KILN_TRY(kiln_db_find_task(im->db, &t, &im->task_id, err));
    /* Maybe of a profile with another text: its trials' hashes are of that one. */
    KILN_TRY(kiln_db_task_at(im->db, &im->held, im->task_id, &im->task, err));
    im->has_task = true;
    return KILN_OK;
}

static kiln_status samples_of(importing *im, const kiln_json *o, kiln_db_trial *t,
                              kiln_err *err) {
    const kiln_json *list = kiln_json_get(o, "samples_ns");
    if (!kiln_json_is_array(list))
        return kiln_fail(err, KILN_ERR_PARSE, "a trial needs a list 'samples_ns'");
    double *v = kiln_array(&im->line, double, kiln_json_size(list) + 1);
    for (const kiln_json *x = kiln_json_first(list); x != NULL; x = kiln_json_next(x)) {
        if (!kiln_json_is_number(x))
            return kiln_fail(err, KILN_ERR_PARSE, "a sample must be a number");
        v[t->n_samples++] = kiln_json_number(x, 0);
    }
    t->sample_ns = v;
    return KILN_OK;
}

/* The same candidate measured elsewhere too is one more round of it. */
static kiln_status store(importing *im, kiln_db_trial *t, kiln_err *err) {
    char uid[KILN_SHA256_HEX];
    kiln_query q = {0};
    bool is_known = false, was_new = false;
    kiln_db_trial_uid(&im->line, &im->task, t, uid);
    kiln_status st =
        kiln_query_open(im->db->sql, "SELECT 1 FROM trial WHERE uid = ?1", &q, err);
    if (st == KILN_OK) {
        kiln_query_text(&q, 1, uid);
        st = kiln_query_step(&q, &is_known, err);
    }
    kiln_query_close(&q);
    t->is_repeat = true;
    if (st == KILN_OK && !is_known)
        st = kiln_db_insert_trial(im->db, im->task_id, uid, t, &was_new, err);
    im->n.n_new += was_new;
    im->n.n_known += is_known;
    return st;
}

static kiln_status trial_line(importing *im, const kiln_json *o, kiln_err *err) {
    kiln_db_trial t = {.candidate = {text_of(o, "template"), text_of(o, "config")},
                       .layouts = text_of(o, "layouts"),
                       .error = text_of(o, "error"),
                       .detail = text_of(o, "detail"),
                       .peak_gflops =
                           kiln_json_number(kiln_json_get(o, "peak_gflops"), 0),
                       .proof = text_of(o, "proof"),
                       .facts = text_of(o, "facts"),
                       .owner = text_of(o, "owner"),
                       .kiln = text_of(o, "kiln"),
                       .runner = text_of(o, "runner")};
    if (!im->has_task)
        return kiln_fail(err, KILN_ERR_PARSE, "a trial must follow its task");
    if (!kiln_json_i64(kiln_json_get(o, "time_ms"), &t.time_ms))
        return kiln_fail(err, KILN_ERR_PARSE, "a trial needs an integer 'time_ms'");
    KILN_TRY(samples_of(im, o, &t, err));
    KILN_TRY(kiln_db_trial_check(&im->line, &t, err));
    return store(im, &t, err);
}

static kiln_status import_line(void *user, const kiln_json *o, kiln_err *err) {
    return kiln_json_get(o, "workload") != NULL ? task_line(user, o, err)
                                                : trial_line(user, o, err);
}

static const kiln_db_lines import_lines = {.version_key = "kiln_tuning_records",
                                           .version = EXPORT_VERSION,
                                           .what = "export of a tuning database",
                                           .brief = "an export",
                                           .doing = "importing",
                                           .of = "",
                                           .take = import_line};

kiln_status kiln_db_import(kiln_db *db, kiln_str text, const char *name,
                           kiln_db_import_counts *out, kiln_err *err) {
    importing im = {.db = db};
    const kiln_json *o = NULL;
    kiln_arena_init(&im.line);
    kiln_arena_init(&im.held);
    kiln_status st =
        text.n > 0 ? KILN_OK : kiln_json_parse(&im.line, text, name, &o, err);
    if (st == KILN_OK)
        st = kiln_sql_begin(db->sql, err);
    if (st == KILN_OK)
        st = kiln_db_end(
            db, kiln_db_lines_read(&import_lines, &im.line, text, name, &im, err), err);
    if (st == KILN_OK)
        *out = im.n;
    kiln_arena_fini(&im.held);
    kiln_arena_fini(&im.line);
    return st;
}
