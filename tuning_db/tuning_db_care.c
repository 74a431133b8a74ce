/* Numbers about a file, looking after it, and making it smaller. */
#include <math.h>
#include <string.h>

#include "tuning_db/tuning_db_internal.h"

/* ---- statistics ------------------------------------------------------------------ */

static kiln_status count(kiln_db *db, kiln_arena *a, const char *sql,
                         kiln_db_kind_counts *out, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(db->sql, sql, &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        const kiln_db_kind_count c = {kiln_query_get_text(&q, 0, a),
                                      kiln_query_get_i64(&q, 1)};
        kiln_vec_push(a, out, c);
    }
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_stats_of(kiln_db *db, kiln_arena *a, kiln_db_stats *out,
                             kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    *out = (kiln_db_stats){0};
    int64_t *const cell[] = {&out->n_workloads, &out->n_profiles, &out->n_tasks,
                             &out->n_trials,    &out->n_good,     &out->n_repeats,
                             &out->n_claims,    &out->n_models,   &out->first_ms,
                             &out->last_ms};
    static const char sql[] = "SELECT"
                              " (SELECT count(*) FROM workload),"
                              " (SELECT count(*) FROM profile),"
                              " (SELECT count(*) FROM task),"
                              " count(*),"
                              " count(*) FILTER (WHERE error = ''),"
                              " count(*) FILTER (WHERE round > 0),"
                              " (SELECT count(*) FROM claim),"
                              " (SELECT count(*) FROM model),"
                              " coalesce(min(time_ms), 0),"
                              " coalesce(max(time_ms), 0)"
                              " FROM trial";
    kiln_status st = kiln_query_open(db->sql, sql, &q, err);
    if (st == KILN_OK)
        st = kiln_query_step(&q, &has_row, err);
    for (int i = 0; st == KILN_OK && i < (int)(sizeof cell / sizeof cell[0]); i++)
        *cell[i] = kiln_query_get_i64(&q, i);
    kiln_query_close(&q);
    if (st == KILN_OK)
        st = kiln_sql_bytes(db->sql, &out->file_bytes, err);
    KILN_TRY(st);
    KILN_TRY(count(db, a,
                   "SELECT error, count(*) FROM trial WHERE error <> '' GROUP BY error"
                   " ORDER BY 2 DESC, 1",
                   &out->error, err));
    return count(
        db, a, "SELECT runner, count(*) FROM trial GROUP BY runner ORDER BY 2 DESC, 1",
        &out->runner, err);
}

/* ---- check ----------------------------------------------------------------------- */

enum { MAX_PROBLEMS = 1000 };

static void problem(kiln_arena *a, kiln_db_problems *out, const char *line) {
    if (out->line.n == MAX_PROBLEMS)
        out->was_cut = true;
    else
        kiln_vec_push(a, &out->line, line);
}

/* Each row of the answer is a problem: one text column. */
static kiln_status ask(kiln_db *db, kiln_arena *a, const char *sql,
                       kiln_db_problems *out, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(db->sql, sql, &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row)
        problem(a, out, kiln_query_get_text(&q, 0, a));
    kiln_query_close(&q);
    return st;
}

static kiln_status check_file(kiln_db *db, kiln_arena *a, kiln_db_problems *out,
                              kiln_err *err) {
    kiln_sql_faults found;
    KILN_TRY(kiln_sql_check(db->sql, a, &found, err));
    for (size_t i = 0; i < found.n; i++) {
        const kiln_sql_fault *f = &found.v[i];
        problem(a, out,
                f->text != NULL ? kiln_format(a, "file: %s", f->text)
                                : kiln_format(a,
                                              "a row of table %s refers to one of %s "
                                              "that is not there",
                                              f->table, f->parent));
    }
    return KILN_OK;
}

static const char *const questions[] = {
    /* A round without the one before: a trial was lost. */
    "SELECT 'trial ' || id || ': round ' || round || ' without round ' || (round - 1)"
    " FROM trial t WHERE round > 0 AND NOT EXISTS (SELECT 1 FROM trial u WHERE"
    " u.task = t.task AND u.template = t.template AND u.config = t.config AND"
    " u.round = t.round - 1)",
    "SELECT 'the claim of ' || owner || ' on ' || config || ' is for a candidate that"
    " has a trial' FROM claim c WHERE EXISTS (SELECT 1 FROM trial t WHERE"
    " t.task = c.task AND t.template = c.template AND t.config = c.config)",
};

static kiln_status check_profiles(kiln_db *db, kiln_arena *a, kiln_db_problems *out,
                                  kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st =
        kiln_query_open(db->sql, "SELECT name, hash, json, key FROM profile", &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        const char *const json = kiln_query_get_text(&q, 2, a);
        char hash[KILN_SHA256_HEX], key[KILN_SHA256_HEX];
        kiln_sha256_of(json, strlen(json), hash);
        kiln_db_profile_key(json, key);
        if (strcmp(hash, kiln_query_get_text(&q, 1, a)) != 0)
            problem(a, out,
                    kiln_format(a, "profile '%s': its hash is not that of its text",
                                kiln_query_get_text(&q, 0, a)));
        if (strcmp(key, kiln_query_get_text(&q, 3, a)) != 0)
            problem(a, out,
                    kiln_format(a, "profile '%s': its key is not that of its text",
                                kiln_query_get_text(&q, 0, a)));
    }
    kiln_query_close(&q);
    return st;
}

static void check_trial(kiln_arena *a, kiln_arena *scratch, kiln_query *q,
                        kiln_db_problems *out) {
    const int task_at = 2 + KILN_DB_N_TRIAL_COLUMNS;
    const int64_t id = kiln_query_get_i64(q, 0);
    kiln_db_trial t;
    kiln_db_task task;
    kiln_err why = {0};
    char uid[KILN_SHA256_HEX], seal[KILN_SHA256_HEX];
    kiln_db_get_trial(q, 2, scratch, &t);
    kiln_db_get_task(q, task_at, scratch, &task);
    if (t.sample_ns == NULL) {
        problem(a, out,
                kiln_format(a, "trial %lld: its samples are cut", (long long)id));
        return;
    }
    if (kiln_db_trial_check(scratch, &t, &why) != KILN_OK) {
        problem(a, out, kiln_format(a, "trial %lld: %s", (long long)id, why.text));
        return;
    }
    const double median =
        t.n_samples > 0 ? kiln_db_median(scratch, t.sample_ns, t.n_samples) : 0;
    if (!(fabs(median - t.median_ns) <= 1e-9 * median))
        problem(a, out,
                kiln_format(a, "trial %lld: median %g ns, its samples say %g",
                            (long long)id, t.median_ns, median));
    if (kiln_db_is_implausible(&t, 0))
        problem(a, out,
                kiln_format(a,
                            "trial %lld: %g ns is faster than its machine allows; kiln "
                            "tune and kiln build do not use it",
                            (long long)id, t.median_ns));
    kiln_db_trial_uid(scratch, &task, &t, uid);
    kiln_db_trial_seal(&task, &t, seal);
    const char *sealed =
        kiln_query_get_text(q, task_at + KILN_DB_N_TASK_COLUMNS, scratch);
    if (strcmp(uid, kiln_query_get_text(q, 1, scratch)) != 0 ||
        (sealed[0] != '\0' && strcmp(seal, sealed) != 0))
        problem(a, out,
                kiln_format(a,
                            "trial %lld: its contents were changed after it was "
                            "stored",
                            (long long)id));
}

#define ALL_TRIALS(seal)                                                               \
    "SELECT t.id, t.uid, " KILN_DB_TRIAL_COLUMNS ", " KILN_DB_TASK_COLUMNS ", " seal   \
    " FROM " KILN_DB_TASK_TABLES " JOIN trial t ON t.task = k.id ORDER BY t.id"

static kiln_status check_trials(kiln_db *db, kiln_arena *a, kiln_db_problems *out,
                                kiln_err *err) {
    kiln_arena scratch;
    kiln_query q = {0};
    bool has_row = false, is_sealed = false;
    KILN_TRY(kiln_sql_has_column(db->sql, "trial", "seal", &is_sealed, err));
    kiln_arena_init(&scratch);
    kiln_status st = kiln_query_open(
        db->sql, is_sealed ? ALL_TRIALS("t.seal") : ALL_TRIALS("''"), &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        check_trial(a, &scratch, &q, out);
        kiln_arena_reset(&scratch);
    }
    kiln_query_close(&q);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_db_check(kiln_db *db, kiln_arena *a, kiln_db_problems *out,
                          kiln_err *err) {
    *out = (kiln_db_problems){0};
    KILN_TRY(check_file(db, a, out, err));
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++)
        KILN_TRY(ask(db, a, questions[i], out, err));
    KILN_TRY(check_profiles(db, a, out, err));
    return check_trials(db, a, out, err);
}

/* ---- digest ---------------------------------------------------------------------- */

/* Builds ask that of all work, too; others are for searches. */
static kiln_status add_models(kiln_db *db, kiln_sha256 *h, kiln_err *err) {
    enum { N_COLUMNS = 4 };
    kiln_arena scratch = {0};
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(db->sql,
                                     "SELECT kind, scope, feature_version, bytes FROM "
                                     "model WHERE scope = '" KILN_DB_ALL_WORK
                                     "' ORDER BY kind, feature_version",
                                     &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row)
        for (int i = 0; i < N_COLUMNS; i++) {
            const kiln_str cell = kiln_query_get_bytes(&q, i, &scratch);
            kiln_sha256_add(h, &cell.n, sizeof cell.n);
            kiln_sha256_add(h, cell.p, cell.n);
        }
    kiln_query_close(&q);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_db_digest(kiln_db *db, char hex[KILN_SHA256_HEX], kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_sha256 h;
    kiln_query q = {0};
    bool has_row = false;
    const int n = KILN_DB_N_TASK_COLUMNS + KILN_DB_N_TRIAL_COLUMNS;
    kiln_sha256_init(&h);
    kiln_status st = kiln_query_open(
        db->sql,
        "SELECT " KILN_DB_TASK_COLUMNS ", " KILN_DB_TRIAL_COLUMNS
        " FROM " KILN_DB_TASK_TABLES " JOIN trial t ON t.task = k.id ORDER BY t.uid",
        &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        for (int i = 0; i < n; i++) {
            const kiln_str cell = kiln_query_get_bytes(&q, i, &scratch);
            kiln_sha256_add(&h, &cell.n, sizeof cell.n);
            kiln_sha256_add(&h, cell.p, cell.n);
        }
        kiln_arena_reset(&scratch);
    }
    kiln_query_close(&q);
    if (st == KILN_OK)
        st = add_models(db, &h, err);
    kiln_arena_fini(&scratch);
    kiln_sha256_hex(&h, hex);
    return st;
}

/* ---- prune ----------------------------------------------------------------------- */

kiln_status kiln_db_prune(kiln_db *db, int keep, int64_t *n_gone, kiln_err *err) {
    static const char sql[] =
        "WITH counted AS ("
        "  SELECT task, template, config, avg(median_ns) AS mean_ns"
        "  FROM trial GROUP BY task, template, config HAVING max(error) = ''),"
        " ranked AS ("
        "  SELECT task, template, config, row_number() OVER ("
        "    PARTITION BY task ORDER BY mean_ns, template, config) AS place"
        "  FROM counted)"
        " DELETE FROM trial WHERE (task, template, config) IN ("
        "  SELECT task, template, config FROM ranked WHERE place > ?1)";
    kiln_query q = {0};
    KILN_TRY(kiln_query_open(db->sql, sql, &q, err));
    kiln_query_i64(&q, 1, keep);
    kiln_status st = kiln_query_run(&q, err);
    const int64_t gone = kiln_sql_n_changed(db->sql);
    kiln_query_close(&q);
    if (st == KILN_OK)
        st = kiln_sql_shrink(db->sql, err);
    if (st == KILN_OK)
        *n_gone = gone;
    return st;
}

kiln_status kiln_db_forget(kiln_db *db, const kiln_db_task *t, int64_t *n_gone,
                           kiln_err *err) {
    kiln_query q = {0};
    int64_t id = 0;
    KILN_TRY(kiln_db_task_id(db, t, &id, err));
    KILN_TRY(kiln_query_open(db->sql, "DELETE FROM trial WHERE task = ?1", &q, err));
    kiln_query_i64(&q, 1, id);
    const kiln_status st = kiln_query_run(&q, err);
    *n_gone = st == KILN_OK ? kiln_sql_n_changed(db->sql) : 0;
    kiln_query_close(&q);
    return st;
}
