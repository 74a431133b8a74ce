/* Files: other programs', newer, damaged, exchanged, shared by several processes that
 * may be killed. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/database/db_engine.h"
#include "tests/support/database/db_make.h"
#include "sql/sql.h"

static const char *file(const char *name) {
    return kiln_path_join(kiln_test_arena(), kiln_test_dir(), name);
}

static kiln_db *filled(const char *path) {
    kiln_db *db = kiln_test_db_open(path);
    static const double ns[] = {100, 200, 300, 400, 500, 600};
    for (int i = 0; i < 6; i++) {
        const kiln_db_task task =
            kiln_test_db_task(i % 2 == 0 ? "conv" : "matmul", i < 3 ? "" : "; relu");
        const kiln_db_trial t = kiln_test_db_trial(i, &ns[i], i == 4 ? "crash" : NULL);
        assert_true(kiln_test_db_record(db, kiln_test_db_task_id(db, &task), &t));
    }
    return db;
}

/* ---- opening --------------------------------------------------------------------- */

static void contents_outlive_the_handle(void **state) {
    (void)state;
    kiln_err err = {0};
    const char *path = kiln_test_db_place("kept.db");
    kiln_db_close(filled(path));
    kiln_db *db = NULL;
    kiln_db_stats s;
    const kiln_db_options o = {.read_only = true};
    kiln_assert_status_ok(kiln_db_open(kiln_test_arena(), path, &o, &db, &err), &err);
    kiln_assert_status_ok(kiln_db_stats_of(db, kiln_test_arena(), &s, &err), &err);
    assert_int_equal(s.n_trials, 6);
    assert_int_equal(s.n_good, 5);
    assert_int_equal(s.n_workloads, 4);
    assert_int_equal(s.error.n, 1);
    assert_string_equal(s.error.v[0].kind, "crash");
    assert_int_equal(s.first_ms, 1000);
    assert_int_equal(s.last_ms, 1005);
    kiln_test_db_is_sound(db);
    const kiln_db_task task = kiln_test_db_task("new", "");
    int64_t id = 0;
    assert_int_not_equal(kiln_db_task_id(db, &task, &id, &err), KILN_OK);
    kiln_db_close(db);
}

/* In a folder that we may not write to: a shared one, or a package's. Root may write
 * everywhere, so it steps aside. Names need not be fit for a URI. */
static void is_read_where_nothing_may_be_written(void **state) {
    (void)state;
    enum { NOBODY = 65534 };
    kiln_err err = {0};
    kiln_db *db = NULL;
    kiln_db_stats s;
    const kiln_db_options o = {.read_only = true};
    const char *const top = kiln_test_dir();
    const char *const folder = kiln_path_join(kiln_test_arena(), top, "50% #1?");
    const char *const path = kiln_path_join(kiln_test_arena(), folder, "a.db");
    const bool is_root = geteuid() == 0;
    kiln_assert_status_ok(kiln_dir_make(folder, &err), &err);
    kiln_db_close(filled(path));
    assert_int_equal(chmod(top, 0755), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    if (is_root)
        assert_int_equal(seteuid(NOBODY), 0);
    const kiln_status st = kiln_db_open(kiln_test_arena(), path, &o, &db, &err);
    const kiln_status counted =
        st == KILN_OK ? kiln_db_stats_of(db, kiln_test_arena(), &s, &err) : st;
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    kiln_assert_status_ok(counted, &err);
    assert_int_equal(s.n_trials, 6);
    kiln_db_close(db);
}

typedef struct open_row {
    const char *name;
    const char *bytes; /* of the file; NULL: a database with `sql` run on it */
    const char *sql;
    bool read_only;
    kiln_status want;
    const char *text;
} open_row;

static open_row open_rows[] = {
    {"refuses_what_is_no_database", "this is a text file, and long enough to be read",
     NULL, false, KILN_ERR_PARSE, "is not a tuning database, or damaged"},
};

static open_row open_engine_rows[] = {
    {"refuses_another_programs", NULL, "CREATE TABLE bookmark (url TEXT)", false,
     KILN_ERR_PARSE, "is a database, but not kiln's tuning database"},
    {"refuses_a_newer_one", NULL,
     "PRAGMA application_id = 1265194052; PRAGMA user_version = 99", false,
     KILN_ERR_UNSUPPORTED, "has version 99, this kiln reads up to 4"},
    {"refuses_a_version_below_all", NULL,
     "PRAGMA application_id = 1265194052; PRAGMA user_version = -3", false,
     KILN_ERR_PARSE, "has version -3, which there is none of: the file is damaged"},
    {"refuses_to_migrate_what_it_may_only_read", NULL,
     "PRAGMA application_id = 1265194052; CREATE TABLE x (y TEXT)", true,
     KILN_ERR_UNSUPPORTED, "kiln tune and kiln db import bring it up to date"},
};

static void opening_looks_first(void **state) {
    const open_row *r = *state;
    kiln_err err = {0};
    kiln_db *db = NULL;
    const char *path = kiln_test_db_place(r->name);
    const kiln_db_options o = {.read_only = r->read_only};
    if (r->bytes != NULL)
        kiln_assert_status_ok(kiln_file_write(path, r->bytes, strlen(r->bytes), &err),
                              &err);
    else
        kiln_test_db_sql(path, r->sql);
    kiln_assert_fails(kiln_db_open(kiln_test_arena(), path, &o, &db, &err), r->want,
                      &err, r->text);
    assert_null(db);
}

/* ---- held by another ------------------------------------------------------------- */

typedef struct waiting {
    const char *path;
    bool is_told; /* why nothing goes on */
    kiln_err err;
    bool is_interrupted;
} waiting;

static void stop_when_told(void *user, const kiln_progress *p) {
    waiting *w = user;
    if (strstr(p->phase, "another process holds the database") == NULL || w->is_told)
        return;
    w->is_told = true;
    (void)raise(SIGINT);
}

/* In a process of its own: an interrupt stays. Exit code 0: all was as it should be. */
static void wait_for_another(void *user) {
    waiting *w = user;
    kiln_arena a = {0};
    kiln_sql *holder = NULL, *waiter = NULL;
    const kiln_sql_options o = {
        .busy_ms = KILN_TEST_PATIENCE_MS, .what = "tuning database", .remedy = ""};
    kiln_interrupt_catch();
    kiln_progress_watch(stop_when_told, w);
    if (kiln_sql_open(&a, w->path, &o, &holder, &w->err) != KILN_OK ||
        kiln_sql_open(&a, w->path, &o, &waiter, &w->err) != KILN_OK ||
        kiln_sql_run(holder, "BEGIN IMMEDIATE", &w->err) != KILN_OK)
        _exit(2);
    if (kiln_sql_run(waiter, "BEGIN IMMEDIATE", &w->err) != KILN_ERR_INTERRUPTED)
        _exit(3);
    _exit(w->is_told && strstr(w->err.text, "interrupted") != NULL ? 0 : 4);
}

static void an_interrupt_ends_waiting_for_another(void **state) {
    (void)state;
    waiting w = {.path = file("held.db")};
    kiln_test_death d;
    kiln_db_close(kiln_test_db_open(w.path));
    kiln_test_in_child(wait_for_another, &w, &d);
    assert_int_equal(d.signal, 0);
    assert_int_equal(d.exit_code, 0);
}

static void missing_places_are_named(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db *db = NULL;
    const kiln_db_options o = {.read_only = true};
    kiln_assert_fails(kiln_db_open(kiln_test_arena(), file("none.db"), &o, &db, &err),
                      KILN_ERR_MISSING, &err, "there is no tuning database");
    kiln_err_clear(&err);
    kiln_assert_fails(
        kiln_db_open(kiln_test_arena(), file("no/folder/x.db"), NULL, &db, &err),
        KILN_ERR_IO, &err, "no/folder/x.db");
}

/* ---- check finds ----------------------------------------------------------------- */

typedef struct damage_row {
    const char *name, *sql, *line;
} damage_row;

static damage_row damage_rows[] = {
    {"a_changed_sample", "UPDATE trial SET samples = zeroblob(8) WHERE id = 1",
     "trial 1: sample 0 is 0: no time"},
    {"a_cut_sample", "UPDATE trial SET samples = zeroblob(7) WHERE id = 1",
     "trial 1: its samples are cut"},
    {"a_changed_median", "UPDATE trial SET median_ns = 1 WHERE id = 2",
     "trial 2: median 1 ns, its samples say 200"},
    {"a_changed_configuration", "UPDATE trial SET config = '{}' WHERE id = 3",
     "trial 3: its contents were changed"},
    {"a_configuration_that_is_none", "UPDATE trial SET config = '[' WHERE id = 3",
     "trial 3: configuration:1:2"},
    {"a_changed_profile", "UPDATE profile SET json = '{}'",
     "profile 'x86-test': its hash is not that of its text"},
    {"a_lost_task", "PRAGMA foreign_keys = OFF; DELETE FROM task WHERE id = 1",
     "table trial refers to one of task"},
    {"a_wonder",
     "UPDATE trial SET facts = '{\"least_flops\": 1e6, \"limit_gflops\": 10}' WHERE id "
     "= "
     "1",
     "trial 1: 100 ns is faster than its machine allows"},
    {"a_changed_proof", "UPDATE trial SET proof = '{\"seeds\": 99}' WHERE id = 2",
     "trial 2: its contents were changed"},
    {"changed_facts", "UPDATE trial SET facts = '{\"spills\": 99}' WHERE id = 2",
     "trial 2: its contents were changed"},
    {"a_changed_peak", "UPDATE trial SET peak_gflops = 98.5 WHERE id = 2",
     "trial 2: its contents were changed"},
    {"a_changed_anchor", "UPDATE workload SET anchor = 'another'",
     "trial 1: its contents were changed"},
    {"a_changed_name", "UPDATE profile SET name = 'another'",
     "trial 1: its contents were changed"},
    {"a_lost_round", "UPDATE trial SET round = 2 WHERE id = 1",
     "round 2 without round 1"},
};

static void check_finds(void **state) {
    const damage_row *r = *state;
    kiln_err err = {0};
    kiln_db_problems p;
    const char *path =
        kiln_test_db_place(kiln_format(kiln_test_arena(), "%s.db", r->name));
    kiln_db_close(filled(path));
    kiln_test_db_sql(path, r->sql);
    kiln_db *db = kiln_test_db_open(path);
    kiln_assert_status_ok(kiln_db_check(db, kiln_test_arena(), &p, &err), &err);
    bool found = false;
    for (size_t i = 0; i < p.line.n; i++)
        found |= strstr(p.line.v[i], r->line) != NULL;
    if (!found)
        fail_msg("no line says '%s'; the first of %zu: '%s'", r->line, p.line.n,
                 p.line.n > 0 ? p.line.v[0] : "");
    kiln_db_close(db);
}

typedef struct patient {
    const char *path;
    int interrupted_after_ms;
} patient;

/* Another process has the file: who waits says so after a while, and an interrupt ends
 * the wait, long before the two minutes. */
static void wait_for_it(void *arg) {
    const patient *w = arg;
    kiln_db *db = NULL;
    kiln_err err = {0};
    kiln_interrupt_catch();
    alarm(KILN_TEST_PATIENCE_S);
    const pid_t self = getpid();
    if (fork() == 0) {
        poll(NULL, 0, w->interrupted_after_ms);
        kill(self, SIGINT);
        _exit(0);
    }
    const kiln_status st = kiln_db_open(kiln_test_arena(), w->path, NULL, &db, &err);
    fprintf(stderr, "%s: %s", kiln_status_name(st), err.text);
}

static void a_locked_file_does_not_hold(void **state) {
    (void)state;
    static const kiln_sql_options o = {.what = "file", .remedy = ""};
    static const char says[] = "is locked by another process; waiting";
    kiln_sql *other = NULL;
    kiln_test_death d = {.exit_code = 0};
    kiln_err err = {0};
    const char *path = file("locked.db");
    kiln_db_close(filled(path));
    kiln_assert_status_ok(kiln_sql_open(kiln_test_arena(), path, &o, &other, &err),
                          &err);
    kiln_assert_status_ok(kiln_sql_run(other,
                                       "PRAGMA locking_mode = EXCLUSIVE;"
                                       "BEGIN EXCLUSIVE; DELETE FROM claim",
                                       &err),
                          &err);
    /* It says that it waits after two seconds, or where it was held up, later. */
    for (patient w = {path, 2500};
         d.exit_code == 0 && strstr(d.stderr_text, says) == NULL &&
         w.interrupted_after_ms < KILN_TEST_PATIENCE_MS;
         w.interrupted_after_ms *= 3)
        kiln_test_in_child(wait_for_it, &w, &d);
    kiln_sql_close(other);
    assert_int_equal(d.exit_code, 0);
    if (strstr(d.stderr_text, says) == NULL ||
        strstr(d.stderr_text, "interrupted while another process holds") == NULL)
        fail_msg("%s", d.stderr_text);
}

/* Which runner measured is kept, counted, sealed, and goes along with an export. */
static void knows_who_measured(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_db_stats s;
    kiln_db_trials list;
    kiln_db_problems p;
    kiln_db_import_counts n;
    kiln_buf text;
    const char *path = kiln_test_db_place("from.db");
    kiln_db *db = filled(path), *to = kiln_test_db_open(kiln_test_db_place("to.db"));
    const kiln_db_task task = kiln_test_db_task("conv", "; gelu");
    const int64_t id = kiln_test_db_task_id(db, &task);
    static const double ns = 700;
    kiln_db_trial t = kiln_test_db_trial(7, &ns, NULL);
    t.runner = "tcp:127.0.0.1:4711";
    assert_true(kiln_test_db_record(db, id, &t));
    kiln_buf_init(&text, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_export(db, &text, &err), &err);
    kiln_assert_status_ok(kiln_db_import(to, kiln_buf_str(&text), "x", &n, &err), &err);
    for (int i = 0; i < 2; i++) {
        kiln_db *of = i == 0 ? db : to;
        kiln_assert_status_ok(kiln_db_stats_of(of, kiln_test_arena(), &s, &err), &err);
        assert_int_equal(s.runner.n, 2);
        assert_string_equal(s.runner.v[0].kind, "");
        assert_int_equal(s.runner.v[0].n, 6);
        assert_string_equal(s.runner.v[1].kind, t.runner);
        kiln_assert_status_ok(kiln_db_trials_of(of, kiln_test_arena(),
                                                kiln_test_db_task_id(of, &task), &list,
                                                &err),
                              &err);
        assert_int_equal(list.list.n, 1);
        assert_string_equal(list.list.v[0].runner, t.runner);
        kiln_assert_status_ok(kiln_db_check(of, kiln_test_arena(), &p, &err), &err);
        assert_int_equal(p.line.n, 0);
    }
    kiln_test_db_sql(path, "UPDATE trial SET runner = 'local' WHERE runner <> ''");
    kiln_assert_status_ok(kiln_db_check(db, kiln_test_arena(), &p, &err), &err);
    assert_int_equal(p.line.n, 1);
    kiln_db_close(db);
    kiln_db_close(to);
}

/* What version 4, 3 and 2 of the tables brought, taken away again. */
#define WITHOUT_4 "ALTER TABLE trial DROP COLUMN runner; "
#define WITHOUT_3                                                                      \
    WITHOUT_4 "DROP INDEX profile_key; ALTER TABLE profile DROP COLUMN key;"           \
              " ALTER TABLE profile DROP COLUMN key_version; "
#define WITHOUT_2 WITHOUT_3 "ALTER TABLE trial DROP COLUMN seal; "

/* A file as each kiln before wrote it: read as it is, and brought up to date by whoever
 * may write; what nobody sealed counts as before. */
static void older_files_are_read(void **state) {
    (void)state;
    static const char *const older[] = {WITHOUT_2 "PRAGMA user_version = 1",
                                        WITHOUT_3 "PRAGMA user_version = 2",
                                        WITHOUT_4 "PRAGMA user_version = 3"};
    _Static_assert(sizeof older / sizeof older[0] == KILN_DB_VERSION - 1,
                   "each older version is read");
    for (int version = 1; version < KILN_DB_VERSION; version++) {
        kiln_err err = {0};
        kiln_db *db = NULL;
        kiln_db_problems p;
        const kiln_db_options reads = {.read_only = true};
        const char *path =
            kiln_test_db_place(kiln_format(kiln_test_arena(), "older%d.db", version));
        char before[KILN_SHA256_HEX] = "", after[KILN_SHA256_HEX] = "";
        kiln_db_close(filled(path));
        kiln_test_db_sql(path, older[version - 1]);
        for (int i = 0; i < 2; i++) {
            kiln_assert_status_ok(kiln_db_open(kiln_test_arena(), path,
                                               i == 0 ? &reads : NULL, &db, &err),
                                  &err);
            kiln_assert_status_ok(kiln_db_check(db, kiln_test_arena(), &p, &err), &err);
            assert_int_equal(p.line.n, 0);
            kiln_assert_status_ok(kiln_db_digest(db, i == 0 ? before : after, &err),
                                  &err);
            kiln_db_close(db);
        }
        assert_string_equal(before, after);
    }
}

/* As many trials as before, from the same time: another state all the same. */
static void digests_tell_states_apart(void **state) {
    (void)state;
    static const char *const change[] = {
        "UPDATE trial SET median_ns = median_ns * 2 WHERE id = 1",
        "UPDATE trial SET config = '{\"other\": 1}' WHERE id = 1",
        "UPDATE workload SET anchor = 'x'",
        "INSERT INTO model (kind, scope, feature_version, n_trials, bytes, time_ms)"
        " VALUES ('k', '" KILN_DB_ALL_WORK "', 1, 1, x'01', 1)"};
    kiln_err err = {0};
    char was[KILN_SHA256_HEX], is[KILN_SHA256_HEX];
    const char *path = kiln_test_db_place("digest.db");
    kiln_db *db = filled(path);
    kiln_assert_status_ok(kiln_db_digest(db, was, &err), &err);
    for (size_t i = 0; i < sizeof change / sizeof change[0]; i++) {
        kiln_test_db_sql(path, change[i]);
        kiln_assert_status_ok(kiln_db_digest(db, is, &err), &err);
        assert_string_not_equal(was, is);
        memcpy(was, is, sizeof was);
    }
    kiln_db_close(db);
}

/* Any byte of the file flipped: opening or reading may fail, or check finds it, or the
 * contents are as before. Never another answer, never a crash. */
static void flipped_bytes_are_noticed(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_rng rng;
    kiln_str whole;
    kiln_buf want;
    const char *good = file("whole.db"), *bad = file("flipped.db");
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_db *db = filled(good);
    kiln_buf_init(&want, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_export(db, &want, &err), &err);
    kiln_db_close(db);
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), good, 0, &whole, &err),
                          &err);
    for (int round = 0; round < 150; round++) {
        char *copy = kiln_arena_dup(&a, whole.p, whole.n);
        copy[kiln_rng_next(&rng) % whole.n] ^= (char)(1 << kiln_rng_next(&rng) % 8);
        kiln_assert_status_ok(kiln_file_write(bad, copy, whole.n, &err), &err);
        kiln_db_problems p = {0};
        kiln_buf got;
        kiln_buf_init(&got, &a);
        if (kiln_db_open(&a, bad, NULL, &db, &err) == KILN_OK) {
            if (kiln_db_check(db, &a, &p, &err) == KILN_OK && p.line.n == 0 &&
                kiln_db_export(db, &got, &err) == KILN_OK)
                kiln_assert_text_equal(kiln_buf_str(&got), kiln_buf_str(&want));
            kiln_db_close(db);
        }
        kiln_err_clear(&err);
        kiln_arena_reset(&a);
    }
    kiln_arena_fini(&a);
}

/* ---- exchange -------------------------------------------------------------------- */

static void exports_merge(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_buf one, two;
    kiln_db *from = filled(kiln_test_db_own()),
            *to = kiln_test_db_open(kiln_test_db_own());
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const double ns = 50;
    kiln_db_trial t = kiln_test_db_trial(0, &ns, NULL);
    kiln_db_import_counts n = {0};
    t.owner = "another machine";
    assert_true(kiln_test_db_record(to, kiln_test_db_task_id(to, &task), &t));
    kiln_buf_init(&one, kiln_test_arena());
    kiln_buf_init(&two, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_export(from, &one, &err), &err);
    kiln_assert_status_ok(kiln_db_import(to, kiln_buf_str(&one), "x", &n, &err), &err);
    assert_int_equal(n.n_new, 6);
    assert_int_equal(n.n_known, 0);
    kiln_assert_status_ok(kiln_db_import(to, kiln_buf_str(&one), "x", &n, &err), &err);
    assert_int_equal(n.n_new, 0);
    assert_int_equal(n.n_known, 6);
    kiln_test_db_is_sound(to);
    /* And back: both hold the same now, however they came by it. */
    kiln_buf_init(&one, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_export(to, &two, &err), &err);
    kiln_assert_status_ok(kiln_db_import(from, kiln_buf_str(&two), "y", &n, &err),
                          &err);
    kiln_assert_status_ok(kiln_db_export(from, &one, &err), &err);
    kiln_assert_text_equal(kiln_buf_str(&one), kiln_buf_str(&two));
    kiln_db_close(from);
    kiln_db_close(to);
}

typedef struct import_row {
    const char *name, *text, *message;
} import_row;

#define HEAD "{\"kiln_tuning_records\": 1}\n"
#define TASK                                                                           \
    "{\"workload\": \"w\", \"anchor\": \"a\", \"profile\": \"p\", \"profile_json\": "  \
    "\"{}\", \"threads\": 1, \"numerics\": \"fast\", \"cache\": \"c\"}\n"
#define TRIAL(samples, more)                                                           \
    "{\"template\": \"t\", \"config\": \"{}\", \"samples_ns\": " samples               \
    ", \"owner\": \"o\", \"kiln\": \"0\", \"time_ms\": 5" more "}\n"

static import_row import_rows[] = {
    {"nothing", "", "x:1:1"},
    {"another_file", "{\"version\": 1}\n", "no export of a tuning database"},
    {"a_newer_export", "{\"kiln_tuning_records\": 2}\n", "an export of version 2"},
    {"a_torn_line", HEAD TASK "{\"template\": ", "importing line 3 of 'x'"},
    {"a_list", HEAD "[]", "each line must be a JSON object"},
    {"a_trial_without_task", HEAD TRIAL("[1]", ""), "a trial must follow its task"},
    {"no_threads", HEAD "{\"workload\": \"w\", \"threads\": 0}", "1 or more"},
    {"no_anchor", HEAD "{\"workload\": \"w\", \"threads\": 1}", "lacks its anchor"},
    {"words_for_times", HEAD TASK TRIAL("[\"x\"]", ""), "a sample must be a number"},
    {"no_proof", HEAD TASK TRIAL("[1]", ""), "lacks its proof"},
    {"no_samples", HEAD TASK TRIAL("[]", ", \"proof\": \"{}\""), "has neither"},
};

static void bad_imports_leave_nothing(void **state) {
    const import_row *r = *state;
    kiln_err err = {0};
    kiln_db_stats s;
    kiln_db_import_counts n;
    kiln_db *db = kiln_test_db_open(kiln_test_db_own());
    const kiln_status st = kiln_db_import(db, kiln_str_from(r->text), "x", &n, &err);
    assert_int_not_equal(st, KILN_OK);
    if (strstr(err.text, r->message) == NULL)
        fail_msg("'%s' is not in '%s'", r->message, err.text);
    kiln_err_clear(&err);
    kiln_assert_status_ok(kiln_db_stats_of(db, kiln_test_arena(), &s, &err), &err);
    assert_int_equal(s.n_tasks, 0);
    kiln_db_close(db);
}

/* ---- several processes ----------------------------------------------------------- */

enum { N_CANDIDATES = 60, N_TUNERS = 4 };

/* What comes by an import is nobody's to measure any more. */
static void imports_end_claims(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_buf text;
    kiln_db_import_counts n;
    const kiln_db_task task = kiln_test_db_task("conv", "");
    static const double ns = 100;
    const kiln_db_trial t = kiln_test_db_trial(1, &ns, NULL);
    kiln_db *from = kiln_test_db_open(kiln_test_db_own()),
            *to = kiln_test_db_open(kiln_test_db_own());
    assert_true(kiln_test_db_record(from, kiln_test_db_task_id(from, &task), &t));
    const int64_t id = kiln_test_db_task_id(to, &task);
    assert_int_equal(kiln_test_db_claim(to, id, 1, "dead", 60), KILN_DB_CLAIMED);
    kiln_buf_init(&text, kiln_test_arena());
    kiln_assert_status_ok(kiln_db_export(from, &text, &err), &err);
    kiln_assert_status_ok(
        kiln_db_import(to, kiln_buf_str(&text), "an export", &n, &err), &err);
    assert_int_equal(n.n_new, 1);
    kiln_test_db_is_sound(to);
    kiln_db_close(from);
    kiln_db_close(to);
}

/* Measures every candidate that it can claim, until all have a trial. One that was
 * claimed longer than the claim holds may be another's by now. */
static void tune(const char *path, const char *owner, int claim_s) {
    const int64_t sure_ns = (int64_t)claim_s * 1000000000 - 10000000;
    kiln_db *db = kiln_test_db_open(path);
    const kiln_db_task task = kiln_test_db_task("conv", "");
    const int64_t id = kiln_test_db_task_id(db, &task);
    for (int n_done = 0; n_done < N_CANDIDATES;) {
        n_done = 0;
        for (int k = 0; k < N_CANDIDATES; k++) {
            const int64_t begin_ns = kiln_now_ns();
            const kiln_db_claim_state c = kiln_test_db_claim(db, id, k, owner, claim_s);
            n_done += c == KILN_DB_DONE;
            if (c != KILN_DB_CLAIMED)
                continue;
            const double ns = 100 + k;
            kiln_db_trial t = kiln_test_db_trial(k, &ns, NULL);
            t.owner = owner;
            if (!kiln_test_db_record(db, id, &t) && kiln_now_ns() - begin_ns < sure_ns)
                _exit(3); /* measured twice */
        }
    }
    kiln_db_close(db);
}

static pid_t start(const char *path, int i, int claim_s) {
    const pid_t pid = fork();
    if (pid == 0) {
        tune(path, kiln_format(kiln_test_arena(), "tuner %d", i), claim_s);
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void four_tuners_lose_and_double_nothing(void **state) {
    const bool kills = *state != NULL;
    const int claim_s =
        kills ? 1 : KILN_TEST_PATIENCE_S; /* the dead must lose theirs */
    const char *path = kiln_test_db_place(kills ? "killed.db" : "shared.db");
    kiln_err err = {0};
    kiln_rng rng;
    pid_t pid[N_TUNERS];
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_db_close(kiln_test_db_open(path));
    for (int i = 0; i < N_TUNERS; i++)
        pid[i] = start(path, i, claim_s);
    for (int round = 0; kills && round < 10; round++) {
        const int i = (int)(kiln_rng_next(&rng) % N_TUNERS);
        poll(NULL, 0, (int)(kiln_rng_next(&rng) % 20));
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
        pid[i] = start(path, i, claim_s);
    }
    for (int i = 0; i < N_TUNERS; i++) {
        int status = 0;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    kiln_db *db = kiln_test_db_open(path);
    kiln_db_stats s;
    kiln_assert_status_ok(kiln_db_stats_of(db, kiln_test_arena(), &s, &err), &err);
    assert_int_equal(s.n_good, N_CANDIDATES);
    assert_int_equal(s.n_trials, N_CANDIDATES);
    assert_int_equal(s.n_claims, 0);
    kiln_test_db_is_sound(db);
    kiln_db_close(db);
}

/* A new file, by several at the same moment: all of them have it. */
static void opens_for_all_at_once(void **state) {
    enum { OPENERS = 4 };
    (void)state;
    for (int round = 0; round < kiln_test_times(40, 400); round++) {
        const char *path =
            kiln_format(kiln_test_arena(), "%s/at-once-%d.db", kiln_test_dir(), round);
        int gate[2], n_failed = 0;
        char byte;
        assert_int_equal(pipe(gate), 0);
        for (int i = 0; i < OPENERS; i++)
            if (fork() == 0) {
                kiln_db *db = NULL;
                kiln_err err = {0};
                close(gate[1]);
                const bool is_open = read(gate[0], &byte, 1) == 0; /* all go at once */
                if (kiln_db_open(kiln_test_arena(), path, NULL, &db, &err) != KILN_OK)
                    print_error("%s\n", err.text);
                _exit(is_open && db != NULL ? 0 : 1);
            }
        close(gate[0]);
        close(gate[1]);
        for (int i = 0; i < OPENERS; i++) {
            int status = 0;
            assert_true(wait(&status) > 0);
            n_failed += status != 0;
        }
        assert_int_equal(n_failed, 0);
    }
}

int main(void) {
    static bool kills = true;
    kiln_test_add_on_engines("imports_end_claims", imports_end_claims, NULL);
    kiln_test_add_on_engines("contents_outlive_the_handle", contents_outlive_the_handle,
                             NULL);
    kiln_test_add("opens_for_all_at_once", opens_for_all_at_once, NULL);
    kiln_test_add("is_read_where_nothing_may_be_written",
                  is_read_where_nothing_may_be_written, NULL);
    kiln_test_add_rows(opening_looks_first, open_rows);
    kiln_test_add_rows_on_engines(opening_looks_first, open_engine_rows);
    kiln_test_add("an_interrupt_ends_waiting_for_another",
                  an_interrupt_ends_waiting_for_another, NULL);
    kiln_test_add("missing_places_are_named", missing_places_are_named, NULL);
    kiln_test_add_rows_on_engines(check_finds, damage_rows);
    kiln_test_add_on_engines("knows_who_measured", knows_who_measured, NULL);
    kiln_test_add_on_engines("older_files_are_read", older_files_are_read, NULL);
    kiln_test_add_on_engines("digests_tell_states_apart", digests_tell_states_apart,
                             NULL);
    kiln_test_add("a_locked_file_does_not_hold_signals", a_locked_file_does_not_hold,
                  NULL);
    kiln_test_add("flipped_bytes_are_noticed", flipped_bytes_are_noticed, NULL);
    kiln_test_add_on_engines("exports_merge", exports_merge, NULL);
    kiln_test_add_rows_on_engines(bad_imports_leave_nothing, import_rows);
    kiln_test_add_on_engines("four_tuners_lose_and_double_nothing",
                             four_tuners_lose_and_double_nothing, NULL);
    kiln_test_add_on_engines("killed_tuners_lose_and_double_nothing",
                             four_tuners_lose_and_double_nothing, &kills);
    return kiln_test_run("tuning_db files");
}
