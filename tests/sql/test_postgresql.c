/* What only a server does: addresses and secrets, locks that its sessions hold, and
 * that it goes away and comes back. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/sql_engine.h"
#include "tests/support/database/db_engine.h"
#include "tests/support/database/db_make.h"

static kiln_arena *arena(void) { return kiln_test_arena(); }

static kiln_status open_at(const char *place, int busy_ms, bool read_only,
                           kiln_sql **out, kiln_err *err) {
    const kiln_sql_options o = {.busy_ms = busy_ms,
                                .read_only = read_only,
                                .what = "tuning database",
                                .remedy = "begin a new one"};
    return kiln_sql_open(arena(), place, &o, out, err);
}

static kiln_sql *opened(const char *place) {
    kiln_err err = {0};
    kiln_sql *s = NULL;
    kiln_assert_status_ok(open_at(place, KILN_TEST_PATIENCE_MS, false, &s, &err), &err);
    return s;
}

static void run(kiln_sql *s, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_sql_run(s, text, &err), &err);
}

/* ---- addresses ------------------------------------------------------------------- */

typedef struct address_row {
    const char *name, *address, *text;
} address_row;

static address_row address_rows[] = {
    {"a_password", "postgresql://me:secret@db.example/tuning",
     "the address of a tuning database must hold no password"},
    {"a_password_of_parts", "postgresql://me:a@secret:secret@db.example/secret",
     "must hold no password"},
    {"a_password_behind", "postgresql://db.example:5433/tuning?password=secret",
     "must hold no password"},
    {"a_password_of_a_key", "postgresql://db.example/tuning?sslpassword=secret",
     "must hold no password"},
    {"a_port_that_is_none", "postgresql://me@db.example:secret/tuning",
     "must be postgresql://USER@HOST/DATABASE"},
    {"an_option_that_is_none", "postgresql://db.example/?secret=1",
     "must be postgresql://USER@HOST/DATABASE"},
    {"no_address", "postgresql:secret", "must be postgresql://USER@HOST/DATABASE"},
    {"no_server", "postgresql://me@/tuning?host=/nowhere/at/all",
     "tuning database 'postgresql://me@/tuning?host=/nowhere/at/all': connection to "
     "server on socket"},
};

/* Never a word of what may be secret, wherever it stands. */
static void bad_addresses_are_refused(void **state) {
    const address_row *r = *state;
    kiln_err err = {0};
    kiln_sql *s = NULL;
    const kiln_status st = open_at(r->address, 1000, false, &s, &err);
    assert_true(st == KILN_ERR_ARG || st == KILN_ERR_IO);
    if (strstr(err.text, r->text) == NULL)
        fail_msg("'%s' is not in '%s'", r->text, err.text);
    if (strstr(err.text, "secret") != NULL)
        fail_msg("shows what may be secret: %s", err.text);
}

static void remedies_are_named(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_sql *s = NULL;
    const char *host = kiln_test_postgresql();
    const char *none = kiln_format(arena(), "postgresql://kiln@/nights?host=%s", host);
    kiln_assert_fails(open_at(none, 1000, false, &s, &err), KILN_ERR_IO, &err,
                      "database \"nights\" does not exist");
    assert_non_null(strstr(err.text, "createdb"));
    assert_non_null(strstr(err.text, "psql 'postgresql://kiln@/nights?host=/"));
    kiln_err_clear(&err);
    const char *lost = kiln_format(
        arena(), "postgresql://kiln@/postgres?host=%s&options=-csearch_path%%3Dnone",
        host);
    kiln_db *db = NULL;
    kiln_assert_fails(kiln_db_open(arena(), lost, NULL, &db, &err), KILN_ERR_MISSING,
                      &err, "make it by CREATE SCHEMA");
}

/* ---- values ---------------------------------------------------------------------- */

static void are_bytes(kiln_str got, const char *want) {
    assert_int_equal(got.n, strlen(want));
    assert_memory_equal(got.p, want, got.n);
}

static void values_come_back(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_query q = {0};
    bool has_row = false;
    kiln_sql *s = opened(kiln_test_db_place("values"));
    run(s, "CREATE TABLE t (i {int}, r {real}, x {text}, b {bytes})");
    kiln_assert_status_ok(
        kiln_query_open(s, "INSERT INTO t (i, r, x, b) VALUES (?1, ?2, ?3, ?4)", &q,
                        &err),
        &err);
    kiln_query_i64(&q, 1, INT64_MIN);
    kiln_query_f64(&q, 2, 0.1);
    kiln_query_text(&q, 3, "a'\\ \xc3\xa4 ?1 $1 {id}");
    kiln_query_bytes(&q, 4, KILN_STR_LIT("\0\xff\\x"));
    kiln_assert_status_ok(kiln_query_run(&q, &err), &err);
    assert_int_equal(kiln_sql_n_changed(s), 1);
    kiln_query_f64(&q, 2, (double)NAN);
    kiln_query_text(&q, 3, NULL);
    kiln_query_bytes(&q, 4, (kiln_str){"", 0});
    kiln_assert_status_ok(kiln_query_run(&q, &err), &err);
    kiln_query_close(&q);
    kiln_assert_status_ok(
        kiln_query_open(s,
                        "SELECT i, r, x, b, r = 0.1, r * 1000, r IS NULL, x IS NULL,"
                        " b IS NULL FROM t ORDER BY r",
                        &q, &err),
        &err);
    kiln_assert_status_ok(kiln_query_step(&q, &has_row, &err), &err);
    /* Where NULLs stand in an order is an engine's own. */
    const bool is_null = kiln_query_get_i64(&q, 6) == 1;
    if (is_null)
        kiln_assert_status_ok(kiln_query_step(&q, &has_row, &err), &err);
    assert_true(kiln_query_get_i64(&q, 0) == INT64_MIN);
    assert_true(kiln_query_get_f64(&q, 1) == 0.1);
    assert_string_equal(kiln_query_get_text(&q, 2, arena()),
                        "a'\\ \xc3\xa4 ?1 $1 {id}");
    const kiln_str b = kiln_query_get_bytes(&q, 3, arena());
    assert_int_equal(b.n, 4);
    assert_memory_equal(b.p, "\0\xff\\x", 4);
    assert_int_equal(kiln_query_get_i64(&q, 4), 1);
    /* A number's bytes are its digits, the same on each engine. */
    are_bytes(kiln_query_get_bytes(&q, 1, arena()), "0.1");
    are_bytes(kiln_query_get_bytes(&q, 5, arena()), "100.0");
    are_bytes(kiln_query_get_bytes(&q, 0, arena()), "-9223372036854775808");
    if (!is_null)
        kiln_assert_status_ok(kiln_query_step(&q, &has_row, &err), &err);
    kiln_query_reset(&q);
    kiln_assert_status_ok(kiln_query_step(&q, &has_row, &err), &err);
    assert_true(has_row);
    kiln_query_close(&q);
    kiln_assert_status_ok(kiln_query_open(s,
                                          "SELECT count(*), max(x) FROM t WHERE r IS"
                                          " NULL AND x IS NULL AND b IS NOT NULL",
                                          &q, &err),
                          &err);
    kiln_assert_status_ok(kiln_query_step(&q, &has_row, &err), &err);
    assert_int_equal(kiln_query_get_i64(&q, 0), 1);
    assert_string_equal(kiln_query_get_text(&q, 1, arena()), "");
    assert_true(kiln_query_get_f64(&q, 1) == 0);
    assert_int_equal(kiln_query_get_bytes(&q, 1, arena()).n, 0);
    kiln_query_close(&q);
    kiln_sql_close(s);
}

static void members_of_json_are_read(void **state) {
    (void)state;
    static const struct {
        const char *json, *want;
    } rows[] = {{"{\"a\": \"x\"}", "x"},
                {"{\"a\": 64}", "64"},
                {"{\"b\": 1}", "none"},
                {"{\"a\": null}", "none"},
                {"[1]", "none"},
                {"{\"a\"", "none"},
                {"", "none"}};
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(kiln_test_db_place("members"));
    kiln_db_close(db);
    const char *place = kiln_test_db_place("json");
    kiln_db_close(kiln_test_db_open(place));
    kiln_sql *s = opened(place);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        kiln_query q = {0};
        bool has_row = false;
        kiln_assert_status_ok(
            kiln_query_open(s, "SELECT coalesce({member ?1 a}, 'none')", &q, &err),
            &err);
        kiln_query_text(&q, 1, rows[i].json);
        kiln_assert_status_ok(kiln_query_step(&q, &has_row, &err), &err);
        assert_string_equal(kiln_query_get_text(&q, 0, arena()), rows[i].want);
        kiln_query_close(&q);
    }
    kiln_sql_close(s);
}

static void who_only_reads_changes_nothing(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_sql *s = NULL;
    const char *place = kiln_test_postgresql_place("reads");
    kiln_db_close(kiln_test_db_open(place));
    kiln_assert_status_ok(open_at(place, 1000, true, &s, &err), &err);
    kiln_assert_fails(kiln_sql_run(s, "DELETE FROM trial", &err), KILN_ERR_IO, &err,
                      "it may only be read here");
    kiln_sql_close(s);
}

/* ---- sessions -------------------------------------------------------------------- */

static void one_writes_at_a_time(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *place = kiln_test_postgresql_place("lock");
    const char *elsewhere = kiln_test_postgresql_place("other");
    kiln_sql *one = opened(place), *two = NULL, *other = opened(elsewhere);
    kiln_query q = {0};
    run(one, "CREATE TABLE t (i {int})");
    kiln_assert_status_ok(open_at(place, 50, false, &two, &err), &err);
    kiln_assert_status_ok(kiln_sql_begin(one, &err), &err);
    kiln_assert_fails(kiln_sql_begin(two, &err), KILN_ERR_IO, &err,
                      "in use by another session that does not let go");
    kiln_err_clear(&err);
    /* Nor may a statement alone write; to read it may. */
    kiln_assert_status_ok(
        kiln_query_open(two, "INSERT INTO t (i) VALUES (?1)", &q, &err), &err);
    kiln_query_i64(&q, 1, 7);
    assert_int_equal(kiln_query_run(&q, NULL), KILN_ERR_IO);
    run(two, "SELECT count(*) FROM t");
    /* Another schema is another database. */
    kiln_assert_status_ok(kiln_sql_begin(other, &err), &err);
    kiln_sql_rollback(other);
    kiln_sql_rollback(one);
    kiln_assert_status_ok(kiln_query_run(&q, &err), &err);
    assert_int_equal(kiln_sql_n_changed(two), 1);
    kiln_query_close(&q);
    kiln_sql_close(one);
    kiln_sql_close(two);
    kiln_sql_close(other);
}

typedef struct waiting {
    const char *place;
    int interrupted_after_ms;
} waiting;

static void wait_for_it(void *arg) {
    const waiting *w = arg;
    kiln_sql *s = NULL;
    kiln_err err = {0};
    kiln_interrupt_catch();
    alarm(KILN_TEST_PATIENCE_S);
    const pid_t self = getpid();
    if (open_at(w->place, KILN_TEST_PATIENCE_MS, false, &s, &err) != KILN_OK)
        _exit(2);
    if (fork() == 0) {
        poll(NULL, 0, w->interrupted_after_ms);
        kill(self, SIGINT);
        _exit(0);
    }
    const kiln_status st = kiln_sql_begin(s, &err);
    fprintf(stderr, "%s: %s", kiln_status_name(st), err.text);
    kiln_sql_close(s);
}

static void an_interrupt_ends_the_wait(void **state) {
    (void)state;
    kiln_err err = {0};
    static const char says[] = "does not answer; waiting for it";
    kiln_test_death d = {.exit_code = 0};
    const char *place = kiln_test_postgresql_place("wait");
    kiln_sql *one = opened(place);
    kiln_assert_status_ok(kiln_sql_begin(one, &err), &err);
    /* It says that it waits after two seconds, or where it was held up, later. */
    for (waiting w = {place, 2200};
         d.exit_code == 0 && strstr(d.stderr_text, says) == NULL &&
         w.interrupted_after_ms < KILN_TEST_PATIENCE_MS;
         w.interrupted_after_ms *= 3)
        kiln_test_in_child(wait_for_it, &w, &d);
    kiln_sql_close(one);
    assert_int_equal(d.exit_code, 0);
    if (strstr(d.stderr_text, says) == NULL ||
        strstr(d.stderr_text, "interrupted while tuning database") == NULL)
        fail_msg("%s", d.stderr_text);
}

/* A server that was started anew is the same database; what was in the middle of a
 * transaction is told, and nothing of it is there. */
static void a_server_comes_back(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *place = kiln_test_postgresql_place("back");
    kiln_db *db = kiln_test_db_open(place);
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    static const double ns = 100;
    kiln_db_trial t = kiln_test_db_trial(1, &ns, NULL);
    kiln_sql *s = opened(place);
    kiln_assert_status_ok(kiln_sql_begin(s, &err), &err);
    run(s, "DELETE FROM task");
    kiln_test_postgresql_restart();
    assert_true(kiln_test_db_record(db, id, &t));
    kiln_assert_fails(kiln_sql_commit(s, &err), KILN_ERR_IO, &err, "tuning database");
    kiln_sql_rollback(s);
    kiln_test_db_is_sound(db);
    int64_t n = 0;
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_db_count(db, id, &n, &err), &err);
    assert_int_equal(n, 1);
    kiln_sql_close(s);
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add_rows(bad_addresses_are_refused, address_rows);
    kiln_test_add("remedies_are_named", remedies_are_named, NULL);
    kiln_test_add_on_engines("values_come_back", values_come_back, NULL);
    kiln_test_add_on_engines("members_of_json_are_read", members_of_json_are_read,
                             NULL);
    kiln_test_add("who_only_reads_changes_nothing", who_only_reads_changes_nothing,
                  NULL);
    kiln_test_add("one_writes_at_a_time", one_writes_at_a_time, NULL);
    kiln_test_add("an_interrupt_ends_the_wait_signals", an_interrupt_ends_the_wait,
                  NULL);
    kiln_test_add("a_server_comes_back", a_server_comes_back, NULL);
    return kiln_test_run("postgresql");
}
