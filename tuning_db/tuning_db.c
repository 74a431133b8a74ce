/* The file itself, tasks, models, history. */
#include "tuning_db/tuning_db.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tuning_db/tuning_db_internal.h"

kiln_status kiln_db_open(kiln_arena *a, const char *path, const kiln_db_options *o,
                         kiln_db **out, kiln_err *err) {
    const kiln_db_options use = o != NULL ? *o : (kiln_db_options){.busy_ms = 0};
    const char *file = kiln_sql_file(path);
    const kiln_sql_options sql = {
        .engine = use.engine,
        .read_only = use.read_only,
        .busy_ms = use.busy_ms > 0 ? use.busy_ms : KILN_DB_BUSY_MS,
        .what = "tuning database",
        .remedy = "move it away: kiln tune begins a new one, kiln db import fills it"};
    kiln_db *db = kiln_new(a, kiln_db);
    if (use.read_only && file != NULL && !kiln_file_exists(file))
        return kiln_fail(err, KILN_ERR_MISSING, "there is no tuning database '%s'",
                         path);
    if (file != NULL)
        KILN_TRY(kiln_db_check_place(file, err));
    KILN_TRY(kiln_sql_open(a, path, &sql, &db->sql, err));
    kiln_status st = kiln_db_migrate(db->sql, use.read_only, err);
    if (st == KILN_OK)
        st = kiln_db_update_keys(db, use.read_only, err);
    if (st != KILN_OK) {
        kiln_sql_close(db->sql);
        return st;
    }
    *out = db;
    return KILN_OK;
}

void kiln_db_close(kiln_db *db) {
    if (db != NULL)
        kiln_sql_close(db->sql);
}

const char *kiln_db_path(const kiln_db *db) { return kiln_sql_path(db->sql); }

const char *kiln_db_file(const char *path) { return kiln_sql_file(path); }

const char *kiln_db_match_name(kiln_db_match m) {
    static const char *const name[] = {[KILN_DB_EXACT] = "exact",
                                       [KILN_DB_ANCHOR] = "anchor",
                                       [KILN_DB_RELATIVE] = "relative",
                                       [KILN_DB_CLASS] = "class"};
    KILN_ASSERT((size_t)m < sizeof name / sizeof name[0], "match %d has no name",
                (int)m);
    return name[m];
}

int64_t kiln_db_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- tasks ----------------------------------------------------------------------- */

kiln_status kiln_db_text_check(const char *what, const char *z, kiln_err *err) {
    if (z == NULL || z[0] == '\0')
        return kiln_fail(err, KILN_ERR_ARG, "a record lacks its %s", what);
    const size_t n = strlen(z);
    if (n > KILN_DB_MAX_TEXT)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a record's %s has %zu bytes, the limit is %d", what, n,
                         KILN_DB_MAX_TEXT);
    if (!kiln_utf8_valid((kiln_str){z, n}))
        return kiln_fail(err, KILN_ERR_ARG, "a record's %s must be UTF-8", what);
    return KILN_OK;
}

kiln_status kiln_db_task_check(const kiln_db_task *t, kiln_err *err) {
    KILN_TRY(kiln_db_text_check("workload", t->workload, err));
    KILN_TRY(kiln_db_text_check("anchor", t->anchor, err));
    KILN_TRY(kiln_db_text_check("profile's name", t->profile, err));
    KILN_TRY(kiln_db_text_check("profile", t->profile_json, err));
    KILN_TRY(kiln_db_text_check("word for its numerics", t->numerics, err));
    KILN_TRY(kiln_db_text_check("word for its caches", t->cache, err));
    if (t->threads < 1)
        return kiln_fail(err, KILN_ERR_ARG, "a record needs 1 thread or more, has %d",
                         t->threads);
    return KILN_OK;
}

/* Runs an INSERT that may find the row there already, then the SELECT of its number. */
static kiln_status id_of(kiln_db *db, const char *insert, const char *select,
                         const char *const *text, int n, int64_t *id, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(db->sql, insert, &q, err);
    for (int i = 0; i < n && st == KILN_OK; i++)
        kiln_query_text(&q, i + 1, text[i]);
    if (st == KILN_OK)
        st = kiln_query_run(&q, err);
    kiln_query_close(&q);
    if (st == KILN_OK)
        st = kiln_query_open(db->sql, select, &q, err);
    if (st == KILN_OK) {
        kiln_query_text(&q, 1, text[0]);
        st = kiln_query_step(&q, &has_row, err);
    }
    if (st == KILN_OK && has_row)
        *id = kiln_query_get_i64(&q, 0);
    kiln_query_close(&q);
    return st;
}

/* Of this very profile first, else of one with the same key: what an older or a newer
 * kiln measured on the same machine is this machine's. */
static const char find_task_sql[] =
    "SELECT k.id FROM task k JOIN profile p ON p.id = k.profile"
    " WHERE k.workload = ?1 AND p.key = ?2 AND k.threads = ?3 AND k.numerics = ?4"
    " AND k.cache = ?5 ORDER BY p.hash <> ?6, k.id LIMIT 1";
static const char make_task_sql[] =
    "INSERT INTO task (workload, profile, threads, numerics, cache)"
    " SELECT ?1, id, ?3, ?4, ?5 FROM profile WHERE key = ?2 AND hash = ?6";

/* *id stays where no row is found. */
static kiln_status run_on_task(kiln_db *db, const char *sql, const kiln_db_task *t,
                               int64_t workload, const char *key, const char *hash,
                               int64_t *id, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(db->sql, sql, &q, err);
    if (st == KILN_OK) {
        kiln_query_i64(&q, 1, workload);
        kiln_query_text(&q, 2, key);
        kiln_query_i64(&q, 3, t->threads);
        kiln_query_text(&q, 4, t->numerics);
        kiln_query_text(&q, 5, t->cache);
        kiln_query_text(&q, 6, hash);
        st = kiln_query_step(&q, &has_row, err);
    }
    if (has_row)
        *id = kiln_query_get_i64(&q, 0);
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_find_task(kiln_db *db, const kiln_db_task *t, int64_t *id,
                              kiln_err *err) {
    char hash[KILN_SHA256_HEX], key[KILN_SHA256_HEX], version[16];
    int64_t workload = 0, profile = 0, found = 0;
    const char *const w[] = {t->workload, t->anchor};
    const char *const p[] = {hash, t->profile, t->profile_json, key, version};
    KILN_TRY(kiln_db_task_check(t, err));
    kiln_sha256_of(t->profile_json, strlen(t->profile_json), hash);
    kiln_db_profile_key(t->profile_json, key);
    snprintf(version, sizeof version, "%d", KILN_DB_KEY_VERSION);
    KILN_TRY(id_of(db,
                   "INSERT INTO workload (key, anchor) VALUES (?1, ?2)"
                   " ON CONFLICT DO NOTHING",
                   "SELECT id FROM workload WHERE key = ?1", w, 2, &workload, err));
    KILN_TRY(run_on_task(db, find_task_sql, t, workload, key, hash, &found, err));
    if (found == 0) {
        KILN_TRY(id_of(db,
                       "INSERT INTO profile (hash, name, json, key,"
                       " key_version) VALUES (?1, ?2, ?3, ?4, CAST(?5 AS {int}))"
                       " ON CONFLICT DO NOTHING",
                       "SELECT id FROM profile WHERE hash = ?1", p, 5, &profile, err));
        KILN_TRY(run_on_task(db, make_task_sql, t, workload, key, hash, &found, err));
        KILN_TRY(run_on_task(db, find_task_sql, t, workload, key, hash, &found, err));
    }
    *id = found;
    return KILN_OK;
}

kiln_status kiln_db_end(kiln_db *db, kiln_status st, kiln_err *err) {
    if (st == KILN_OK)
        st = kiln_sql_commit(db->sql, err);
    if (st != KILN_OK)
        kiln_sql_rollback(db->sql);
    return st;
}

kiln_status kiln_db_task_id(kiln_db *db, const kiln_db_task *t, int64_t *id,
                            kiln_err *err) {
    int64_t found = 0;
    KILN_TRY(kiln_sql_begin(db->sql, err));
    KILN_TRY(kiln_db_end(db, kiln_db_find_task(db, t, &found, err), err));
    *id = found;
    return KILN_OK;
}

kiln_status kiln_db_tasks_of(kiln_db *db, kiln_arena *a, kiln_db_tasks *out,
                             kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    *out = (kiln_db_tasks){0};
    kiln_status st =
        kiln_query_open(db->sql,
                        "SELECT " KILN_DB_TASK_COLUMNS " FROM " KILN_DB_TASK_TABLES
                        " ORDER BY w.key, p.hash, k.threads, k.numerics, k.cache",
                        &q, err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        kiln_db_task t;
        kiln_db_get_task(&q, 0, a, &t);
        kiln_vec_push(a, &out->list, t);
    }
    kiln_query_close(&q);
    return st;
}

/* ---- models and history ---------------------------------------------------------- */

kiln_status kiln_db_put_model(kiln_db *db, const kiln_db_model *m, kiln_err *err) {
    kiln_query q = {0};
    KILN_TRY(kiln_db_text_check("kind of model", m->kind, err));
    KILN_TRY(kiln_db_text_check("model's scope", m->scope, err));
    static const char sql[] =
        "INSERT INTO model (kind, scope, feature_version, n_trials, bytes, time_ms)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT (kind, scope, feature_version) DO UPDATE SET"
        "  n_trials = excluded.n_trials,"
        "  bytes = excluded.bytes,"
        "  time_ms = excluded.time_ms";
    kiln_status st = kiln_query_open(db->sql, sql, &q, err);
    if (st == KILN_OK) {
        kiln_query_text(&q, 1, m->kind);
        kiln_query_text(&q, 2, m->scope);
        kiln_query_i64(&q, 3, m->feature_version);
        kiln_query_i64(&q, 4, m->n_trials);
        kiln_query_bytes(&q, 5, m->bytes);
        kiln_query_i64(&q, 6, kiln_db_now_ms());
        st = kiln_query_run(&q, err);
    }
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_get_model(kiln_db *db, kiln_arena *a, const char *kind,
                              const char *scope, int feature_version, bool *found,
                              kiln_db_model *out, kiln_err *err) {
    kiln_query q = {0};
    *found = false;
    kiln_status st = kiln_query_open(db->sql,
                                     "SELECT n_trials, bytes FROM model WHERE kind = ?1"
                                     " AND scope = ?2 AND feature_version = ?3",
                                     &q, err);
    if (st == KILN_OK) {
        kiln_query_text(&q, 1, kind);
        kiln_query_text(&q, 2, scope);
        kiln_query_i64(&q, 3, feature_version);
        st = kiln_query_step(&q, found, err);
    }
    if (st == KILN_OK && *found)
        *out = (kiln_db_model){kiln_str_dup(a, kind), kiln_str_dup(a, scope),
                               feature_version, kiln_query_get_i64(&q, 0),
                               kiln_query_get_bytes(&q, 1, a)};
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_log(kiln_db *db, const char *what, const char *text,
                        kiln_err *err) {
    kiln_query q = {0};
    kiln_status st = kiln_query_open(
        db->sql, "INSERT INTO history (time_ms, what, text) VALUES (?1, ?2, ?3)", &q,
        err);
    if (st == KILN_OK) {
        kiln_query_i64(&q, 1, kiln_db_now_ms());
        kiln_query_text(&q, 2, what);
        kiln_query_text(&q, 3, text);
        st = kiln_query_run(&q, err);
    }
    kiln_query_close(&q);
    return st;
}
