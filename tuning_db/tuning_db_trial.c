/* Trials. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tuning_db/tuning_db_internal.h"

/* ---- samples --------------------------------------------------------------------- */

double kiln_db_median(kiln_arena *scratch, const double *sample, size_t n) {
    KILN_ASSERT(n > 0, "the median of no samples");
    return kiln_median(kiln_arena_dup(scratch, sample, n * sizeof *sample), n);
}

kiln_str kiln_db_samples_bytes(kiln_arena *a, const double *sample, size_t n) {
    unsigned char *p = kiln_array(a, unsigned char, n * 8 + 1);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &sample[i], sizeof bits);
        for (size_t k = 0; k < 8; k++)
            p[i * 8 + k] = (unsigned char)(bits >> (8 * k));
    }
    return (kiln_str){(const char *)p, n * 8};
}

const double *kiln_db_samples_read(kiln_arena *a, kiln_str bytes, size_t *n) {
    if (bytes.n % 8 != 0)
        return NULL;
    *n = bytes.n / 8;
    double *v = kiln_array(a, double, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        uint64_t bits = 0;
        for (size_t k = 0; k < 8; k++)
            bits |= (uint64_t)(unsigned char)bytes.p[i * 8 + k] << (8 * k);
        memcpy(&v[i], &bits, sizeof bits);
    }
    return v;
}

/* ---- what a trial must say ------------------------------------------------------- */

static bool is_good(const kiln_db_trial *t) {
    return t->error == NULL || t->error[0] == '\0';
}

static const char *text_or(const char *z, const char *otherwise) {
    return z != NULL ? z : otherwise;
}

static kiln_status object_check(kiln_arena *scratch, const char *what, const char *text,
                                kiln_err *err) {
    const kiln_json *json = NULL;
    KILN_TRY(kiln_db_text_check(what, text, err));
    KILN_TRY(kiln_json_parse(scratch, kiln_str_from(text), what, &json, err));
    if (!kiln_json_is_object(json))
        return kiln_fail(err, KILN_ERR_ARG, "a record's %s must be a JSON object",
                         what);
    return KILN_OK;
}

static kiln_status optional_check(const char *what, const char *text, kiln_err *err) {
    return text == NULL || text[0] == '\0' ? KILN_OK
                                           : kiln_db_text_check(what, text, err);
}

kiln_status kiln_db_trial_check(kiln_arena *scratch, const kiln_db_trial *t,
                                kiln_err *err) {
    KILN_TRY(kiln_db_text_check("template", t->candidate.tmpl, err));
    KILN_TRY(object_check(scratch, "configuration", t->candidate.config, err));
    KILN_TRY(kiln_db_text_check("owner", t->owner, err));
    KILN_TRY(kiln_db_text_check("version of kiln", t->kiln, err));
    KILN_TRY(optional_check("list of layouts", t->layouts, err));
    KILN_TRY(optional_check("kind of error", t->error, err));
    KILN_TRY(optional_check("detail", t->detail, err));
    if (t->facts != NULL)
        KILN_TRY(object_check(scratch, "list of facts", t->facts, err));
    if (!isfinite(t->peak_gflops) || t->peak_gflops < 0)
        return kiln_fail(err, KILN_ERR_ARG, "a record's peak is %g: no rate",
                         t->peak_gflops);
    if (t->n_samples > KILN_DB_MAX_TEXT / 8)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a record of %zu samples; the limit is %d", t->n_samples,
                         KILN_DB_MAX_TEXT / 8);
    for (size_t i = 0; i < t->n_samples; i++)
        if (!isfinite(t->sample_ns[i]) || t->sample_ns[i] <= 0)
            return kiln_fail(err, KILN_ERR_ARG, "sample %zu is %g: no time", i,
                             t->sample_ns[i]);
    if (!is_good(t))
        return KILN_OK;
    if (t->n_samples == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "a record must have samples or an error, has neither");
    return object_check(scratch, "proof", t->proof, err);
}

bool kiln_db_is_implausible(const kiln_db_trial *t, double flops) {
    static const double tolerated_share = 1.05; /* the peak is measured, too */
    kiln_arena scratch = {0};
    const kiln_json *facts = NULL;
    const char *text = text_or(t->facts, "{}");
    if (kiln_json_parse(&scratch, kiln_str_from(text), "facts", &facts, NULL) !=
        KILN_OK)
        facts = NULL;
    const double least = kiln_json_number(kiln_json_get(facts, "least_flops"), flops);
    const double limit =
        kiln_json_number(kiln_json_get(facts, "limit_gflops"), t->peak_gflops);
    kiln_arena_fini(&scratch);
    return is_good(t) && limit > 0 && least > tolerated_share * limit * t->median_ns;
}

void kiln_db_trial_uid(kiln_arena *scratch, const kiln_db_task *task,
                       const kiln_db_trial *t, char hex[KILN_SHA256_HEX]) {
    const char *const part[] = {task->workload,
                                task->profile_json,
                                task->numerics,
                                task->cache,
                                t->candidate.tmpl,
                                t->candidate.config,
                                text_or(t->layouts, ""),
                                text_or(t->error, ""),
                                t->owner,
                                t->kiln};
    const int64_t number[] = {task->threads, t->time_ms, (int64_t)t->n_samples};
    const kiln_str samples = kiln_db_samples_bytes(scratch, t->sample_ns, t->n_samples);
    kiln_sha256 h;
    kiln_sha256_init(&h);
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        kiln_sha256_add(&h, part[i], strlen(part[i]) + 1);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)number[i]);
        kiln_sha256_add(&h, text, strlen(text) + 1);
    }
    kiln_sha256_add(&h, samples.p, samples.n);
    kiln_sha256_hex(&h, hex);
}

void kiln_db_trial_seal(const kiln_db_task *task, const kiln_db_trial *t,
                        char hex[KILN_SHA256_HEX]) {
    const char *const part[] = {task->anchor, task->profile, text_or(t->detail, ""),
                                text_or(t->proof, ""), text_or(t->facts, "{}")};
    char peak[40];
    kiln_sha256 h;
    snprintf(peak, sizeof peak, "%a", t->peak_gflops);
    kiln_sha256_init(&h);
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        kiln_sha256_add(&h, part[i], strlen(part[i]) + 1);
    kiln_sha256_add(&h, peak, strlen(peak));
    /* Older kilns sealed rows without one. */
    kiln_sha256_add(&h, text_or(t->runner, ""), strlen(text_or(t->runner, "")));
    kiln_sha256_hex(&h, hex);
}

/* ---- trials ---------------------------------------------------------------------- */

static kiln_status next_round(kiln_db *db, int64_t task, const kiln_db_trial *t,
                              int64_t *round, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(db->sql,
                                     "SELECT coalesce(max(round) + 1, 0) FROM trial"
                                     " WHERE task = ?1 AND template = ?2 AND"
                                     " config = ?3",
                                     &q, err);
    if (st == KILN_OK) {
        kiln_db_bind_candidate(&q, task, &t->candidate);
        st = kiln_query_step(&q, &has_row, err);
    }
    if (st == KILN_OK && has_row)
        *round = t->is_repeat ? kiln_query_get_i64(&q, 0) : 0;
    KILN_ASSERT(st != KILN_OK || *round >= 0, "round %lld", (long long)*round);
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_task_at(kiln_db *db, kiln_arena *a, int64_t id, kiln_db_task *out,
                            kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(db->sql,
                                     "SELECT " KILN_DB_TASK_COLUMNS
                                     " FROM " KILN_DB_TASK_TABLES " WHERE k.id = ?1",
                                     &q, err);
    if (st == KILN_OK) {
        kiln_query_i64(&q, 1, id);
        st = kiln_query_step(&q, &has_row, err);
    }
    if (st == KILN_OK && !has_row)
        st = kiln_fail(err, KILN_ERR_ARG, "tuning database '%s' has no task %lld",
                       kiln_db_path(db), (long long)id);
    if (st == KILN_OK)
        kiln_db_get_task(&q, 0, a, out);
    kiln_query_close(&q);
    return st;
}

static kiln_status insert(kiln_db *db, int64_t task, const char *uid, int64_t round,
                          const kiln_db_trial *t, kiln_arena *scratch, bool *was_new,
                          kiln_err *err) {
    kiln_query q = {0};
    kiln_db_task of;
    char seal[KILN_SHA256_HEX];
    KILN_ASSERT(uid != NULL && round >= 0, "round %lld has no uid", (long long)round);
    KILN_TRY(kiln_db_task_at(db, scratch, task, &of, err));
    kiln_db_trial_seal(&of, t, seal);
    KILN_TRY(kiln_query_open(
        db->sql,
        "INSERT INTO trial (task, template, config, uid, round, layouts, error, detail,"
        " samples, median_ns, peak_gflops, proof, facts, owner, kiln, time_ms, seal,"
        " runner)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
        " ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)"
        " ON CONFLICT DO NOTHING",
        &q, err));
    kiln_db_bind_candidate(&q, task, &t->candidate);
    kiln_query_text(&q, 4, uid);
    kiln_query_i64(&q, 5, round);
    kiln_query_text(&q, 6, text_or(t->layouts, ""));
    kiln_query_text(&q, 7, text_or(t->error, ""));
    kiln_query_text(&q, 8, text_or(t->detail, ""));
    kiln_query_bytes(&q, 9, kiln_db_samples_bytes(scratch, t->sample_ns, t->n_samples));
    kiln_query_f64(
        &q, 10,
        t->n_samples == 0 ? 0 : kiln_db_median(scratch, t->sample_ns, t->n_samples));
    kiln_query_f64(&q, 11, t->peak_gflops);
    kiln_query_text(&q, 12, text_or(t->proof, ""));
    kiln_query_text(&q, 13, text_or(t->facts, "{}"));
    kiln_query_text(&q, 14, t->owner);
    kiln_query_text(&q, 15, t->kiln);
    kiln_query_i64(&q, 16, t->time_ms);
    kiln_query_text(&q, 17, seal);
    kiln_query_text(&q, 18, text_or(t->runner, ""));
    const kiln_status st = kiln_query_run(&q, err);
    *was_new = st == KILN_OK && kiln_sql_n_changed(db->sql) > 0;
    kiln_query_close(&q);
    return st;
}

/* What is on record is nobody's to measure, also where it came from elsewhere. */
kiln_status kiln_db_insert_trial(kiln_db *db, int64_t task, const char *uid,
                                 const kiln_db_trial *t, bool *was_new, kiln_err *err) {
    kiln_arena scratch;
    int64_t round = 0;
    kiln_arena_init(&scratch);
    kiln_status st = next_round(db, task, t, &round, err);
    if (st == KILN_OK)
        st = insert(db, task, uid, round, t, &scratch, was_new, err);
    if (st == KILN_OK)
        st = kiln_db_unclaim(db, task, &t->candidate, NULL, err);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status record(kiln_db *db, kiln_arena *scratch, int64_t task,
                          const kiln_db_trial *t, bool *was_new, kiln_err *err) {
    kiln_db_task of;
    char uid[KILN_SHA256_HEX];
    KILN_TRY(kiln_db_task_at(db, scratch, task, &of, err));
    kiln_db_trial_uid(scratch, &of, t, uid);
    return kiln_db_insert_trial(db, task, uid, t, was_new, err);
}

kiln_status kiln_db_record(kiln_db *db, int64_t task, const kiln_db_trial *t,
                           bool *was_new, kiln_err *err) {
    kiln_arena scratch;
    bool is_new = false;
    kiln_arena_init(&scratch);
    kiln_status st = kiln_db_trial_check(&scratch, t, err);
    if (st == KILN_OK)
        st = kiln_sql_begin(db->sql, err);
    if (st == KILN_OK)
        st = kiln_db_end(db, record(db, &scratch, task, t, &is_new, err), err);
    if (st == KILN_OK && was_new != NULL)
        *was_new = is_new;
    kiln_arena_fini(&scratch);
    return st;
}

/* ---- reading --------------------------------------------------------------------- */

void kiln_db_get_task(kiln_query *q, int col, kiln_arena *a, kiln_db_task *out) {
    *out = (kiln_db_task){.workload = kiln_query_get_text(q, col, a),
                          .anchor = kiln_query_get_text(q, col + 1, a),
                          .profile = kiln_query_get_text(q, col + 2, a),
                          .profile_json = kiln_query_get_text(q, col + 3, a),
                          .threads = (int)kiln_query_get_i64(q, col + 4),
                          .numerics = kiln_query_get_text(q, col + 5, a),
                          .cache = kiln_query_get_text(q, col + 6, a)};
}

void kiln_db_get_trial(kiln_query *q, int col, kiln_arena *a, kiln_db_trial *out) {
    size_t n = 0;
    const double *samples =
        kiln_db_samples_read(a, kiln_query_get_bytes(q, col + 5, a), &n);
    *out = (kiln_db_trial){.candidate = {kiln_query_get_text(q, col, a),
                                         kiln_query_get_text(q, col + 1, a)},
                           .layouts = kiln_query_get_text(q, col + 2, a),
                           .error = kiln_query_get_text(q, col + 3, a),
                           .detail = kiln_query_get_text(q, col + 4, a),
                           .sample_ns = samples,
                           .n_samples = samples != NULL ? n : 0,
                           .peak_gflops = kiln_query_get_f64(q, col + 6),
                           .proof = kiln_query_get_text(q, col + 7, a),
                           .facts = kiln_query_get_text(q, col + 8, a),
                           .owner = kiln_query_get_text(q, col + 9, a),
                           .kiln = kiln_query_get_text(q, col + 10, a),
                           .time_ms = kiln_query_get_i64(q, col + 11),
                           .median_ns = kiln_query_get_f64(q, col + 12),
                           .round = kiln_query_get_i64(q, col + 13),
                           .runner = kiln_query_get_text(q, col + 14, a)};
    out->is_repeat = out->round > 0;
}

kiln_status kiln_db_count(kiln_db *db, int64_t task, int64_t *out, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st =
        kiln_query_open(db->sql, "SELECT count(*) FROM trial WHERE task = ?1", &q, err);
    if (st == KILN_OK) {
        kiln_query_i64(&q, 1, task);
        st = kiln_query_step(&q, &has_row, err);
    }
    if (st == KILN_OK)
        *out = has_row ? kiln_query_get_i64(&q, 0) : 0;
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_trials_of(kiln_db *db, kiln_arena *a, int64_t task,
                              kiln_db_trials *out, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(db->sql,
                                     "SELECT " KILN_DB_TRIAL_COLUMNS
                                     " FROM trial t WHERE t.task = ?1 ORDER BY t.id",
                                     &q, err);
    if (st == KILN_OK)
        kiln_query_i64(&q, 1, task);
    *out = (kiln_db_trials){0};
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        kiln_db_trial t;
        kiln_db_get_trial(&q, 0, a, &t);
        kiln_vec_push(a, &out->list, t);
    }
    kiln_query_close(&q);
    return st;
}
