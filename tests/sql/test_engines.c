/* The words that engines have of their own, and an engine that refuses what is not
 * portable: the tuning database and the history work on it as they do on SQLite, so
 * they ask nothing that another engine could not answer. */
#include "sql/sql.h"

#include <math.h>
#include <string.h>

#include "history/history.h"
#include "tests/support/database/db_engine.h"
#include "tests/support/database/db_make.h"
#include "tests/support/kiln_test.h"
#include "tests/support/made_up/strict_sql.h"
#include "tests/support/database/support_nights.h"

static kiln_arena *arena(void) { return kiln_test_arena(); }

/* ---- words ----------------------------------------------------------------------- */

static void words_are_spelled(void **state) {
    (void)state;
    static const kiln_sql_word word[] = {{"id", "INT8"}, {"pair", "f(#2, #1, #1)"}};
    static const kiln_sql_dialect d = {"$", word, 2};
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"", ""},
        {"SELECT ?1, ?12", "SELECT $1, $12"},
        {"x {id}, y {id}", "x INT8, y INT8"},
        {"SELECT {pair ?1 p.x}", "SELECT f(p.x, $1, $1)"},
        {"SELECT '{id} ?1 it''s {pair}' || ?2", "SELECT '{id} ?1 it''s {pair}' || $2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(kiln_sql_spell(arena(), &d, rows[i].from), rows[i].to);
}

static void what_is_not_portable_is_found(void **state) {
    (void)state;
    static const struct {
        const char *text, *found;
    } rows[] = {
        {"SELECT 1", NULL},
        {"SELECT 'PRAGMA x'", NULL},
        {"INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING", NULL},
        {"SELECT integers, realm FROM t", NULL},
        {"PRAGMA user_version", "pragma"},
        {"INSERT  OR\nIGNORE INTO t VALUES ($1)", "insert or"},
        {"replace into t values (1)", "replace into"},
        {"SELECT count(*) FROM sqlite_schema", "sqlite_"},
        {"SELECT json_extract(x, 'a') FROM t", "json_"},
        {"CREATE TABLE t (a INTEGER)", "integer"},
        {"CREATE TABLE t (a REAL)", "real"},
        {"CREATE TABLE t (a bytea) WITHOUT ROWID", "without rowid"},
        {"SELECT a FROM t WHERE a = ?", "?"},
        {"SELECT a FROM t WHERE a == 1", "=="},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *found = kiln_test_sql_foreign(rows[i].text);
        if ((found == NULL) != (rows[i].found == NULL) ||
            (found != NULL && strcmp(found, rows[i].found) != 0))
            fail_msg("%s: found %s", rows[i].text, found != NULL ? found : "nothing");
    }
}

/* An engine's refusal is an error like any other. */
static void it_refuses(void **state) {
    (void)state;
    kiln_sql *s;
    kiln_query q = {0};
    kiln_err err = {0};
    const kiln_sql_options o = {
        .what = "file", .remedy = "", .engine = kiln_test_sql_strict()};
    kiln_assert_status_ok(kiln_sql_open(arena(), KILN_SQL_MEMORY, &o, &s, &err), &err);
    kiln_assert_fails(kiln_sql_run(s, "CREATE TABLE t (a BLOB)", &err), KILN_ERR_LIB,
                      &err, "'blob' is not portable: CREATE TABLE t (a BLOB)");
    kiln_assert_status_ok(kiln_sql_run(s, "CREATE TABLE t (a {bytes}, b {real})", &err),
                          &err);
    kiln_assert_fails(kiln_query_open(s, "SELECT rowid FROM t", &q, &err), KILN_ERR_LIB,
                      &err, "'rowid' is not portable");
    kiln_query_close(&q);
    kiln_sql_close(s);
}

static void places_name_engines(void **state) {
    (void)state;
    assert_string_equal(kiln_sql_file("a/kiln.db"), "a/kiln.db");
    assert_string_equal(kiln_sql_file("sqlite:a/kiln.db"), "a/kiln.db");
    assert_string_equal(kiln_sql_file("other:a"), "other:a");
    assert_null(kiln_sql_file(KILN_SQL_MEMORY));
    assert_null(kiln_sql_file("sqlite::memory:"));
    const char *path = kiln_path_join(arena(), kiln_test_dir(), "named.db");
    const char *place = kiln_format(arena(), "sqlite:%s", path);
    kiln_db *db = kiln_test_db_open(place);
    assert_string_equal(kiln_db_path(db), path);
    assert_true(kiln_file_exists(path));
    kiln_db_close(db);
}

/* ---- the tuning database --------------------------------------------------------- */

static kiln_db *opened(const char *path, const kiln_sql_engine *engine) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    const kiln_db_options o = {.engine = engine};
    kiln_assert_status_ok(kiln_db_open(arena(), path, &o, &db, &err), &err);
    return db;
}

/* One of everything that its interface can be asked; what it answered, as text. */
static const char *use_tuning_db(const char *path, const char *second,
                                 const kiln_sql_engine *engine) {
    kiln_err err = {0};
    kiln_db *db = opened(path, engine), *other = opened(second, engine);
    const kiln_db_task task = kiln_test_db_task("conv a", " relu");
    const int64_t id = kiln_test_db_task_id(db, &task);
    const double ns[] = {100, 300, 200};
    kiln_buf out;
    kiln_buf_init(&out, arena());
    for (int k = 0; k < 3; k++) {
        const kiln_db_trial t = kiln_test_db_trial(k, &ns[k], NULL);
        kiln_buf_printf(&out, "claim %d", kiln_test_db_claim(db, id, k, "me", 60));
        kiln_buf_printf(&out, " %d", kiln_test_db_claim(db, id, k, "you", 60));
        kiln_buf_printf(&out, " new %d", kiln_test_db_record(db, id, &t));
        kiln_buf_printf(&out, " %d\n", kiln_test_db_record(db, id, &t));
    }
    const kiln_db_trial bad = kiln_test_db_trial(7, NULL, "crash");
    assert_true(kiln_test_db_record(db, id, &bad));
    (void)kiln_test_db_claim(db, id, 8, "you", 60);
    const kiln_db_budget budget = {&id, 1, 100};
    kiln_db_owners owners;
    int64_t spent = 0, claimed = 0, n_trials = 0, n_gone = 0;
    kiln_assert_status_ok(kiln_db_spent(db, &budget, &spent, &err), &err);
    kiln_assert_status_ok(kiln_db_claimed(db, &budget, &claimed, &err), &err);
    assert_int_equal(claimed, 1);
    kiln_assert_status_ok(kiln_db_count(db, id, &n_trials, &err), &err);
    kiln_assert_status_ok(kiln_db_owners_of(db, arena(), &owners, &err), &err);
    kiln_buf_printf(&out, "spent %d of %d, %d claim, %s\n", (int)spent, (int)n_trials,
                    (int)owners.list.n, owners.list.v[0]);
    kiln_db_bests best;
    kiln_assert_status_ok(
        kiln_db_best(db, arena(), &task, KILN_DB_CLASS, 2, &best, &err), &err);
    for (size_t i = 0; i < best.list.n; i++)
        kiln_buf_printf(&out, "best %s %g %s\n", best.list.v[i].trial.candidate.config,
                        best.list.v[i].trial.median_ns,
                        kiln_db_match_name(best.list.v[i].match));
    for (int i = 0; i < 2; i++) { /* the second replaces the first */
        kiln_db_model m = {"xgboost", "x86/1", 1, 5 + i, KILN_STR_LIT("bytes\0more")};
        bool found = false;
        kiln_assert_status_ok(kiln_db_put_model(db, &m, &err), &err);
        kiln_assert_status_ok(
            kiln_db_get_model(db, arena(), "xgboost", "x86/1", 1, &found, &m, &err),
            &err);
        kiln_buf_printf(&out, "model %d %d %zu\n", found, (int)m.n_trials, m.bytes.n);
    }
    kiln_assert_status_ok(kiln_db_log(db, "test", "all", &err), &err);
    kiln_assert_status_ok(kiln_db_release(db, "you", &err), &err);
    kiln_assert_status_ok(kiln_db_export(db, &out, &err), &err);
    kiln_buf text;
    kiln_db_import_counts counts;
    kiln_buf_init(&text, arena());
    kiln_assert_status_ok(kiln_db_export(db, &text, &err), &err);
    for (int i = 0; i < 2; i++) {
        kiln_assert_status_ok(
            kiln_db_import(other, kiln_buf_str(&text), "x", &counts, &err), &err);
        kiln_buf_printf(&out, "import %d %d\n", (int)counts.n_new, (int)counts.n_known);
    }
    char digest[2][KILN_SHA256_HEX];
    kiln_assert_status_ok(kiln_db_digest(db, digest[0], &err), &err);
    kiln_assert_status_ok(kiln_db_digest(other, digest[1], &err), &err);
    assert_string_equal(digest[0], digest[1]);
    kiln_assert_status_ok(kiln_db_prune(db, 1, &n_gone, &err), &err);
    kiln_db_stats stats;
    kiln_assert_status_ok(kiln_db_stats_of(db, arena(), &stats, &err), &err);
    kiln_buf_printf(&out, "%s, pruned %d, %d trials, %d good, %d models\n", digest[0],
                    (int)n_gone, (int)stats.n_trials, (int)stats.n_good,
                    (int)stats.n_models);
    assert_true(stats.file_bytes > 0);
    kiln_test_db_is_sound(db);
    kiln_db_close(other);
    kiln_db_close(db);
    return out.p;
}

static void the_tuning_database_is_portable(void **state) {
    (void)state;
    const char *path = kiln_path_join(arena(), kiln_test_dir(), "strict.db");
    const size_t before = kiln_test_sql_log.n;
    const char *strict = use_tuning_db(path, KILN_SQL_MEMORY, kiln_test_sql_strict());
    assert_true(kiln_test_sql_log.n - before > 60);
    const char *lite = use_tuning_db(
        kiln_path_join(arena(), kiln_test_dir(), "lite.db"), KILN_SQL_MEMORY, NULL);
    assert_string_equal(strict, lite);
    assert_non_null(strstr(lite, "best {\"k\": 0} 100 exact"));
    /* What one made, the other opens. */
    kiln_db *db = kiln_test_db_open(path);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* The same answers, and exports of the same trials that are equal byte for byte. */
static void postgresql_answers_as_sqlite(void **state) {
    (void)state;
    const char *server = use_tuning_db(kiln_test_postgresql_place("one"),
                                       kiln_test_postgresql_place("two"), NULL);
    const char *lite = use_tuning_db(
        kiln_path_join(arena(), kiln_test_dir(), "same.db"), KILN_SQL_MEMORY, NULL);
    assert_string_equal(server, lite);
}

/* Faults are found through the interface, too. */
static void a_lost_row_is_reported(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db_problems p;
    const char *place = kiln_test_db_place("lost.db");
    kiln_db *db = opened(place, NULL);
    const kiln_db_task task = kiln_test_db_task("conv a", "");
    (void)kiln_test_db_task_id(db, &task);
    kiln_test_db_sql(place, "PRAGMA foreign_keys = OFF; DELETE FROM workload");
    kiln_assert_status_ok(kiln_db_check(db, arena(), &p, &err), &err);
    assert_int_equal(p.line.n, 1);
    assert_string_equal(p.line.v[0], "a row of table task refers to one of workload "
                                     "that is not there");
    kiln_db_close(db);
}

/* ---- the history ----------------------------------------------------------------- */

static const char *use_history(const char *path, const kiln_sql_engine *engine) {
    kiln_err err = {0};
    kiln_rng rng;
    kiln_history *h = NULL;
    kiln_nights nights, got;
    kiln_history_names names, problems;
    int64_t n_gone = 0;
    kiln_buf out;
    const kiln_history_options o = {.may_make = true, .engine = engine};
    kiln_buf_init(&out, arena());
    kiln_rng_init(&rng, 1);
    kiln_assert_status_ok(kiln_history_open(arena(), path, &o, &h, &err), &err);
    nights_many(&rng, "/out", 5, 2, NULL, &nights);
    nights.v[2].job.v[1].ratio =
        (kiln_stats_interval){(double)NAN, (double)NAN, (double)NAN};
    for (size_t i = 0; i < nights.n; i++)
        kiln_assert_status_ok(kiln_history_append(h, &nights.v[i], &err), &err);
    kiln_assert_status_ok(kiln_history_append(h, &nights.v[1], &err), &err);
    kiln_assert_status_ok(kiln_history_read(h, arena(), NULL, 100, &got, &err), &err);
    kiln_nights_json(&out, &got);
    kiln_assert_status_ok(kiln_history_pipelines(h, arena(), &names, &err), &err);
    kiln_assert_status_ok(kiln_history_set_pruned(h, nights.v[0].folder, &err), &err);
    kiln_assert_status_ok(kiln_history_forget(h, 3, &n_gone, &err), &err);
    kiln_buf_printf(&out, "%s, %d forgotten\n", names.v[0], (int)n_gone);
    kiln_assert_status_ok(kiln_history_check(h, arena(), &problems, &err), &err);
    for (size_t i = 0; i < problems.n; i++)
        fail_msg("%s", problems.v[i]);
    kiln_history_close(h);
    return out.p;
}

static void the_history_is_portable(void **state) {
    (void)state;
    const size_t before = kiln_test_sql_log.n;
    const char *strict =
        use_history(kiln_path_join(arena(), kiln_test_dir(), "strict_history.db"),
                    kiln_test_sql_strict());
    assert_true(kiln_test_sql_log.n - before > 20);
    assert_string_equal(
        strict,
        use_history(kiln_path_join(arena(), kiln_test_dir(), "history.db"), NULL));
}

static void postgresql_keeps_a_history(void **state) {
    (void)state;
    const char *server = use_history(kiln_test_postgresql_place("nights"), NULL);
    assert_string_equal(
        server,
        use_history(kiln_path_join(arena(), kiln_test_dir(), "nights.db"), NULL));
}

/* No parameter, type or quotation of SQLite's is left in what PostgreSQL would read. */
static void the_log_is_postgresqls(void **state) {
    (void)state;
    int n_parameters = 0, n_types = 0;
    for (size_t i = 0; i < kiln_test_sql_log.n; i++) {
        n_parameters += strchr(kiln_test_sql_log.v[i], '$') != NULL;
        n_types += strstr(kiln_test_sql_log.v[i], "double precision") != NULL;
    }
    assert_true(n_parameters > 40 && n_types >= 2);
}

int main(void) {
    kiln_test_add("words_are_spelled", words_are_spelled, NULL);
    kiln_test_add("what_is_not_portable_is_found", what_is_not_portable_is_found, NULL);
    kiln_test_add("it_refuses", it_refuses, NULL);
    kiln_test_add("places_name_engines", places_name_engines, NULL);
    kiln_test_add("the_tuning_database_is_portable", the_tuning_database_is_portable,
                  NULL);
    kiln_test_add("postgresql_answers_as_sqlite", postgresql_answers_as_sqlite, NULL);
    kiln_test_add_on_engines("a_lost_row_is_reported", a_lost_row_is_reported, NULL);
    kiln_test_add("the_history_is_portable", the_history_is_portable, NULL);
    kiln_test_add("postgresql_keeps_a_history", postgresql_keeps_a_history, NULL);
    kiln_test_add("the_log_is_postgresqls", the_log_is_postgresqls, NULL);
    return kiln_test_run("engines");
}
