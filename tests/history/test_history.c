/* The store of nights: what was appended is read back, once and in its order, whatever
 * was killed, full, damaged or set back meanwhile. */
#include "history/history.h"
#include "sql/sql.h"
#include "tests/support/kiln_test.h"
#include "tests/support/database/support_nights.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static kiln_arena *arena(void) { return kiln_test_arena(); }

static kiln_rng rng;

static const char *file(void) {
    kiln_rng_init(&rng, 1);
    return kiln_path_join(arena(), kiln_test_dir(), "accepted/" KILN_HISTORY_FILE);
}

static kiln_status try_open(const char *path, kiln_history **h, kiln_err *err) {
    const kiln_history_options o = {.may_make = true, .busy_ms = 5000};
    return kiln_history_open(arena(), path, &o, h, err);
}

static kiln_history *opened(const char *path) {
    kiln_history *h = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(try_open(path, &h, &err), &err);
    return h;
}

static kiln_nights read_all(kiln_history *h) {
    kiln_nights n;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_history_read(h, arena(), NULL, 10000, &n, &err), &err);
    return n;
}

static void append(kiln_history *h, const kiln_night *n) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_history_append(h, n, &err), &err);
}

static kiln_str json_of(const kiln_nights *n) {
    kiln_buf out;
    kiln_buf_init(&out, arena());
    kiln_nights_json(&out, n);
    return kiln_buf_str(&out);
}

/* ---- what is kept ---------------------------------------------------------------- */

static void nights_are_read_as_they_were_appended(void **state) {
    (void)state;
    const char *path = file();
    kiln_nights want;
    kiln_history *h = opened(path);
    nights_many(&rng, "/out", 9, 3, NULL, &want);
    want.v[2].job.v[1].ratio =
        (kiln_stats_interval){(double)NAN, (double)NAN, (double)NAN};
    want.v[2].job.v[1].frozen = want.v[2].commit = want.v[2].verdict = NULL;
    want.v[2].job.v[1].median_ms = 0;
    want.v[3].job.n = 0;
    for (size_t i = 0; i < want.n; i++) {
        append(h, &want.v[i]);
        want.v[i].seq = (int64_t)i + 1;
    }
    kiln_history_close(h);
    h = opened(path);
    kiln_nights got = read_all(h);
    kiln_assert_text_equal(json_of(&got), json_of(&want));
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_history_read(h, arena(), "demo", 4, &got, &err), &err);
    assert_int_equal(got.n, 4); /* the newest, oldest first */
    assert_int_equal(got.v[0].seq, 6);
    kiln_assert_status_ok(kiln_history_read(h, arena(), "other", 4, &got, &err), &err);
    assert_int_equal(got.n, 0);
    kiln_history_close(h);
}

static void the_same_night_again_keeps_its_place(void **state) {
    (void)state;
    kiln_history *h = opened(file());
    kiln_nights n;
    nights_many(&rng, "/out", 3, 2, NULL, &n);
    for (size_t i = 0; i < n.n; i++)
        append(h, &n.v[i]);
    n.v[1].status = "failed";
    n.v[1].job.n = 1;
    append(h, &n.v[1]);
    const kiln_nights got = read_all(h);
    assert_int_equal(got.n, 3);
    assert_int_equal(got.v[1].seq, 2);
    assert_string_equal(got.v[1].status, "failed");
    assert_int_equal(got.v[1].job.n, 1);
    kiln_history_close(h);
}

static void order_is_that_of_appending_whatever_clocks_say(void **state) {
    (void)state;
    kiln_history *h = opened(file());
    const int number[] = {5, 1, 9};
    for (int i = 0; i < 3; i++) {
        const kiln_night n = nights_one(&rng, "/out", number[i], 1, 1);
        append(h, &n);
    }
    const kiln_nights got = read_all(h);
    for (size_t i = 1; i < got.n; i++)
        assert_true(got.v[i].seq > got.v[i - 1].seq);
    assert_true(strcmp(got.v[1].started, got.v[0].started) < 0);
    kiln_history_close(h);
}

static void pipelines_share_a_file(void **state) {
    (void)state;
    kiln_history *h = opened(file());
    kiln_history_names names;
    kiln_err err = {0};
    for (int i = 0; i < 4; i++) {
        kiln_night n = nights_one(&rng, i % 2 == 0 ? "/a" : "/b", i, 1, 1);
        n.pipeline = i % 2 == 0 ? "day" : "night";
        append(h, &n);
    }
    kiln_nights got;
    kiln_assert_status_ok(kiln_history_read(h, arena(), "night", 9, &got, &err), &err);
    assert_int_equal(got.n, 2);
    kiln_assert_status_ok(kiln_history_pipelines(h, arena(), &names, &err), &err);
    assert_int_equal(names.n, 2);
    assert_string_equal(names.v[0], "day");
    int64_t gone = 0;
    kiln_assert_status_ok(kiln_history_forget(h, 1, &gone, &err), &err);
    assert_int_equal(gone, 2);
    assert_int_equal(read_all(h).n, 2); /* the newest of each */
    assert_int_equal(read_all(h).v[0].seq, 3);
    kiln_history_close(h);
}

static void bad_nights_are_refused_whole(void **state) {
    (void)state;
    kiln_history *h = opened(file());
    kiln_err err = {0};
    kiln_night n = nights_one(&rng, "/out", 1, 2, 1);
    n.job.v[1].model = "net0";
    n.job.v[1].threads = n.job.v[0].threads;
    kiln_assert_fails(kiln_history_append(h, &n, &err), KILN_ERR_ARG, &err,
                      "has the job 'net0', profile 'native', 1 threads twice");
    kiln_err_clear(&err);
    n.job.n = 1;
    n.run = NULL;
    kiln_assert_fails(kiln_history_append(h, &n, &err), KILN_ERR_ARG, &err,
                      "a night needs its run");
    assert_int_equal(read_all(h).n, 0);
    kiln_history_close(h);
}

/* Read from the file, judged, drawn and written. */
static void the_page_over_a_year_is_small_and_quick(void **state) {
    (void)state;
    enum { YEAR = 365, MOST_BYTES = 1000000 };
    const char *out = kiln_test_dir();
    kiln_history *h = opened(file());
    struct timespec begin, end;
    kiln_str page;
    kiln_err err = {0};
    for (int i = 0; i < YEAR; i++) {
        const kiln_night n = nights_one(&rng, out, i, NIGHTS_MAX_JOBS, 1);
        append(h, &n);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    kiln_assert_status_ok(kiln_history_write_index(h, "demo", out, &err), &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    kiln_history_close(h);
    const double s = (double)(end.tv_sec - begin.tv_sec) +
                     (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    kiln_assert_status_ok(kiln_file_map(arena(),
                                        kiln_path_join(arena(), out, "index.html"), 0,
                                        &page, &err),
                          &err);
    print_message("%d nights of %d jobs: %zu bytes in %.3f s\n", YEAR, NIGHTS_MAX_JOBS,
                  page.n, s);
    assert_true(page.n < MOST_BYTES);
    assert_true(s < (kiln_test_is_sanitized() ? 20 : 2));
}

/* ---- accidents ------------------------------------------------------------------- */

typedef struct writer {
    const char *path;
    int from, n;
} writer;

static void append_many(void *arg) {
    const writer *w = arg;
    kiln_history *h = opened(w->path);
    for (int i = w->from; i < w->from + w->n; i++) {
        const kiln_night n = nights_one(&rng, "/out", i, NIGHTS_MAX_JOBS, 1);
        append(h, &n);
    }
    kiln_history_close(h);
}

/* Killed anywhere: what is there is whole nights, from the first on without a gap. */
static void killed_writers_leave_whole_nights(void **state) {
    (void)state;
    const char *path = file();
    kiln_history_close(opened(path));
    size_t before = 0;
    for (int k = 0; k < 12; k++) {
        const writer w = {path, (int)before, 300};
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            append_many((void *)(uintptr_t)&w);
            _exit(0);
        }
        const struct timespec moment = {0, 3000000 + 7919000L * k};
        nanosleep(&moment, NULL);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        kiln_history *h = opened(path);
        kiln_history_names wrong;
        kiln_err err = {0};
        kiln_assert_status_ok(kiln_history_check(h, arena(), &wrong, &err), &err);
        assert_int_equal(wrong.n, 0);
        const kiln_nights got = read_all(h);
        for (size_t i = 0; i < got.n; i++) {
            assert_int_equal(got.v[i].job.n, NIGHTS_MAX_JOBS);
            assert_string_equal(got.v[i].run,
                                nights_one(&rng, "/out", (int)i, 0, 1).run);
        }
        assert_true(got.n >= before);
        before = got.n;
        kiln_history_close(h);
    }
    print_message("%zu nights were appended before the kills\n", before);
    assert_true(before > 0);
}

static void two_writers_wait_for_each_other(void **state) {
    (void)state;
    enum { WRITERS = 2, NIGHTS = 25 };
    const char *path = file();
    pid_t pid[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        const writer w = {path, 1000 * i, NIGHTS};
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0) {
            append_many((void *)(uintptr_t)&w);
            _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = 1;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    kiln_history *h = opened(path);
    assert_int_equal(read_all(h).n, WRITERS * NIGHTS);
    kiln_history_close(h);
}

static void a_writer_that_holds_on_is_named(void **state) {
    (void)state;
    const char *path = file();
    kiln_history_close(opened(path));
    const kiln_sql_options so = {
        .busy_ms = 100, .what = "history", .remedy = "", .is_single_file = true};
    const kiln_history_options o = {.busy_ms = 100};
    kiln_sql *holder = NULL;
    kiln_history *h = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_history_open(arena(), path, &o, &h, &err), &err);
    kiln_assert_status_ok(kiln_sql_open(arena(), path, &so, &holder, &err), &err);
    kiln_assert_status_ok(kiln_sql_begin(holder, &err), &err);
    const kiln_night n = nights_one(&rng, "/out", 1, 1, 1);
    kiln_assert_fails(kiln_history_append(h, &n, &err), KILN_ERR_IO, &err,
                      "is in use by another process that does not let go");
    kiln_sql_rollback(holder);
    append(h, &n);
    kiln_sql_close(holder);
    kiln_history_close(h);
}

/* No file may grow beyond what the history has: as on a full disk. */
static void append_without_room(void *arg) {
    const char *path = arg;
    kiln_err err = {0};
    kiln_history *h = opened(path);
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {40960, 40960};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(3);
    kiln_status st = KILN_OK;
    for (int i = 0; i < 1000 && st == KILN_OK; i++) {
        const kiln_night n = nights_one(&rng, "/out", i, NIGHTS_MAX_JOBS, 1);
        st = kiln_history_append(h, &n, &err);
    }
    fprintf(stderr, "%s\n", err.text);
    kiln_history_close(h);
    _exit(st == KILN_ERR_IO ? 17 : 1);
}

static void a_full_disk_loses_no_night(void **state) {
    (void)state;
    const char *path = file();
    kiln_test_death d;
    kiln_history_close(opened(path));
    kiln_test_in_child(append_without_room, (void *)(uintptr_t)path, &d);
    print_message("%s", d.stderr_text);
    assert_int_equal(d.exit_code, 17);
    assert_non_null(strstr(d.stderr_text, "history of nights '"));
    kiln_history *h = opened(path);
    const kiln_nights got = read_all(h);
    assert_true(got.n > 0);
    for (size_t i = 0; i < got.n; i++)
        assert_int_equal(got.v[i].job.n, NIGHTS_MAX_JOBS);
    const kiln_night next = nights_one(&rng, "/out", 999, 1, 1);
    append(h, &next);
    assert_int_equal(read_all(h).n, got.n + 1);
    kiln_history_close(h);
}

typedef struct bad_row {
    const char *name, *bytes, *sql;
    kiln_status want;
    const char *text;
} bad_row;

static bad_row bad_rows[] = {
    {"refuses_what_is_no_database", "this is a text file, and long enough to be read",
     NULL, KILN_ERR_PARSE, "'kiln history add OUT/RUN...' puts nights back"},
    {"refuses_another_programs", NULL, "CREATE TABLE bookmark (url TEXT)",
     KILN_ERR_PARSE, "is a database, but no history of nights; name another file"},
    {"refuses_a_version_below_all", NULL,
     "PRAGMA application_id = 1265191017; PRAGMA user_version = -3", KILN_ERR_PARSE,
     "has version -3, which there is none of: the file is damaged"},
    {"refuses_a_newer_one", NULL,
     "PRAGMA application_id = 1265191017; PRAGMA user_version = 99",
     KILN_ERR_UNSUPPORTED, "has version 99, this kiln reads up to 1; use the newer"},
};

static void check_bad(void **state) {
    const bad_row *r = *state;
    const char *path = kiln_path_join(arena(), kiln_test_dir(), "history.db");
    kiln_err err = {0};
    kiln_history *h = NULL;
    kiln_sql *s = NULL;
    const kiln_sql_options o = {.busy_ms = 100, .what = "file", .remedy = ""};
    if (r->bytes != NULL) {
        kiln_assert_status_ok(kiln_file_write(path, r->bytes, strlen(r->bytes), &err),
                              &err);
    } else {
        kiln_assert_status_ok(kiln_sql_open(arena(), path, &o, &s, &err), &err);
        kiln_assert_status_ok(kiln_sql_run(s, r->sql, &err), &err);
        kiln_sql_close(s);
    }
    kiln_assert_fails(try_open(path, &h, &err), r->want, &err, r->text);
    assert_null(h);
}

static void nothing_there_is_said(void **state) {
    (void)state;
    const kiln_history_options o = {.may_make = false};
    kiln_history *h = NULL;
    kiln_err err = {0};
    kiln_assert_fails(kiln_history_open(arena(), file(), &o, &h, &err),
                      KILN_ERR_MISSING, &err, "kiln nightly makes one");
}

/* Without what may change when a night has been appended. */
static kiln_str sealed_of(kiln_nights *n) {
    for (size_t i = 0; i < n->n; i++) {
        n->v[i].seq = n->v[i].bytes = 0;
        n->v[i].is_pruned = false;
    }
    return json_of(n);
}

/* Any byte flipped: opening, reading or checking says so, or nothing has changed. */
static void flipped_bytes_are_no_other_answer(void **state) {
    (void)state;
    const char *path = file();
    kiln_history *h = opened(path);
    kiln_nights n;
    nights_many(&rng, "/out", 6, 3, NULL, &n);
    for (size_t i = 0; i < n.n; i++)
        append(h, &n.v[i]);
    kiln_history_close(h);
    kiln_str whole;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(arena(), path, 0, &whole, &err), &err);
    char *bytes = kiln_arena_dup(arena(), whole.p, whole.n);
    h = opened(path);
    kiln_nights before = read_all(h);
    const kiln_str want = sealed_of(&before);
    kiln_history_close(h);
    int n_seen = 0;
    for (size_t k = 0; k < 150; k++) {
        const size_t at = (size_t)kiln_rng_range(&rng, 0, (int64_t)whole.n - 1);
        bytes[at] = (char)(bytes[at] ^ (1 << k % 8));
        kiln_assert_status_ok(kiln_file_write(path, bytes, whole.n, &err), &err);
        kiln_history_names wrong = {.n = 0};
        kiln_nights got;
        h = NULL;
        kiln_status st = try_open(path, &h, &err);
        if (st == KILN_OK)
            st = kiln_history_check(h, arena(), &wrong, &err);
        if (st == KILN_OK)
            st = kiln_history_read(h, arena(), NULL, 100, &got, &err);
        n_seen += st != KILN_OK || wrong.n > 0;
        if (st == KILN_OK && wrong.n == 0)
            kiln_assert_text_equal(sealed_of(&got), want);
        if (st != KILN_OK)
            assert_true(st == KILN_ERR_PARSE || st == KILN_ERR_IO ||
                        st == KILN_ERR_LIB || st == KILN_ERR_UNSUPPORTED);
        kiln_history_close(h);
        kiln_err_clear(&err);
        bytes[at] = (char)(bytes[at] ^ (1 << k % 8));
    }
    print_message("%d of 150 flips were seen\n", n_seen);
    h = opened(path);
    assert_int_equal(read_all(h).n, 6);
    kiln_history_close(h);
}

/* ---- runs ------------------------------------------------------------------------ */

/* A folder of a run as kiln nightly leaves it, with so many bytes. */
static void make_run_of(const char *out, const char *name, bool is_ended, bool is_part,
                        size_t bytes) {
    const char *dir = kiln_path_join(arena(), out, name);
    const char *json =
        kiln_format(arena(),
                    "{\"schema\": \"kiln-run-1\", \"pipeline\": \"demo\", \"identity\":"
                    " \"\", \"started\": \"\", \"is_ended\": %s%s}",
                    is_ended ? "true" : "false", is_part ? ", \"is_part\": true" : "");
    char *filler = kiln_arena_array(arena(), bytes, 1);
    kiln_err err = {0};
    memset(filler, 'x', bytes);
    kiln_assert_status_ok(kiln_dir_make(kiln_path_join(arena(), dir, "models/a"), &err),
                          &err);
    kiln_assert_status_ok(kiln_file_write(kiln_path_join(arena(), dir, "run.json"),
                                          json, strlen(json), &err),
                          &err);
    kiln_assert_status_ok(kiln_file_write(kiln_path_join(arena(), dir, "models/a/x"),
                                          filler, bytes, &err),
                          &err);
}

static void make_run(const char *out, const char *name, bool is_ended, size_t bytes) {
    make_run_of(out, name, is_ended, false, bytes);
}

enum { RUNS = 8, RUN_BYTES = 100000 };

/* Eight runs: 3 has not ended, 5 is not in the history, 7 is the latest, 1 built what
 * is needed. */
static const char *make_runs(kiln_history *h, const char **needed) {
    const char *out = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_path_real(arena(), kiln_test_dir(), &out, &err), &err);
    for (int i = 0; i < RUNS; i++) {
        const kiln_night n = nights_one(&rng, out, i, 1, 1);
        make_run(out, n.run, i != 3, RUN_BYTES);
        if (i != 5)
            append(h, &n);
        if (i == 1)
            *needed = n.job.v[0].archive;
        if (i == 7)
            assert_int_equal(symlink(n.run, kiln_path_join(arena(), out, "latest")), 0);
    }
    kiln_assert_status_ok(
        kiln_dir_make(kiln_path_join(arena(), out, "somebody's"), &err), &err);
    return out;
}

static size_t n_runs(const char *out) {
    kiln_history_runs runs;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_history_find_runs(arena(), out, &runs, &err), &err);
    return runs.n;
}

static void old_runs_go_and_what_is_needed_stays(void **state) {
    (void)state;
    kiln_history *h = opened(file());
    const char *needed = NULL;
    const char *out = make_runs(h, &needed);
    kiln_err err = {0};
    kiln_history_pruning p;
    kiln_buf text;
    kiln_history_keep keep = {
        .nights = 2, .needed = &needed, .n_needed = 1, .is_dry = true};
    kiln_assert_status_ok(kiln_history_prune(h, arena(), out, &keep, &p, &err), &err);
    assert_int_equal(p.n_gone, 4); /* 0, 2, 4, 6 */
    assert_int_equal(n_runs(out), RUNS);
    keep.is_dry = false;
    kiln_assert_status_ok(kiln_history_prune(h, arena(), out, &keep, &p, &err), &err);
    assert_int_equal(p.n_gone, 4);
    assert_int_equal(p.n_left, 4);
    assert_true(p.bytes_gone > 4 * RUN_BYTES && p.bytes_gone < 5 * RUN_BYTES);
    assert_int_equal(n_runs(out), 4);
    assert_true(kiln_dir_exists(kiln_path_join(arena(), out, "somebody's")));
    kiln_buf_init(&text, arena());
    kiln_history_pruning_text(&text, &p, false);
    assert_non_null(strstr(text.p, "it built an archive that is accepted or frozen"));
    assert_non_null(strstr(text.p, "it has not ended"));
    assert_non_null(strstr(text.p, "'kiln history add' it first"));
    assert_non_null(strstr(text.p, "it is the latest"));
    assert_non_null(strstr(text.p, "4 runs removed, 0.4 MB freed; 4 left"));
    const kiln_nights got = read_all(h); /* nights stay when their folders go */
    assert_int_equal(got.n, RUNS - 1);
    assert_true(got.v[0].is_pruned && !got.v[1].is_pruned);
    kiln_history_close(h);
}

static void runs_go_by_size_too(void **state) {
    (void)state;
    kiln_history *h = opened(file());
    const char *needed = NULL;
    const char *out = make_runs(h, &needed);
    kiln_err err = {0};
    kiln_history_pruning p;
    const kiln_history_keep any = {.nights = 0}, keep = {.gb = 6.5 * RUN_BYTES * 1e-9};
    kiln_assert_status_ok(kiln_history_prune(h, arena(), out, &any, &p, &err), &err);
    assert_int_equal(p.n_gone, 0);
    kiln_assert_status_ok(kiln_history_prune(h, arena(), out, &keep, &p, &err), &err);
    assert_int_equal(p.n_gone, 2); /* the oldest: 0 and 1 */
    assert_true((double)p.bytes_left <= keep.gb * 1e9);
    kiln_history_close(h);
}

/* They are no nights, however new they are; one that has not ended stays. */
static void parts_of_pipelines_go_first(void **state) {
    (void)state;
    kiln_history *h = opened(file());
    const char *needed = NULL;
    const char *out = make_runs(h, &needed);
    kiln_err err = {0};
    kiln_history_pruning p;
    const kiln_history_keep keep = {.nights = RUNS};
    make_run_of(out, "9999-01-01T00-00-00", true, true, RUN_BYTES);
    make_run_of(out, "9999-01-02T00-00-00", false, true, RUN_BYTES);
    make_run_of(out, "9999-01-03T00-00-00", true, true, RUN_BYTES);
    kiln_assert_status_ok(kiln_history_prune(h, arena(), out, &keep, &p, &err), &err);
    assert_int_equal(p.n_gone, 3);
    assert_string_equal(p.run.v[0].run, "9999-01-01T00-00-00");
    assert_false(p.run.v[1].is_gone);
    assert_string_equal(p.run.v[2].run, "9999-01-03T00-00-00");
    assert_int_equal(n_runs(out), RUNS);
    assert_true(kiln_history_is_part(
        arena(), kiln_path_join(arena(), out, "9999-01-02T00-00-00")));
    assert_false(kiln_history_is_part(arena(), out));
    kiln_history_close(h);
}

int main(void) {
    kiln_test_add("nights_are_read_as_they_were_appended",
                  nights_are_read_as_they_were_appended, NULL);
    kiln_test_add("the_same_night_again_keeps_its_place",
                  the_same_night_again_keeps_its_place, NULL);
    kiln_test_add("order_is_that_of_appending_whatever_clocks_say",
                  order_is_that_of_appending_whatever_clocks_say, NULL);
    kiln_test_add("pipelines_share_a_file", pipelines_share_a_file, NULL);
    kiln_test_add("the_page_over_a_year_is_small_and_quick",
                  the_page_over_a_year_is_small_and_quick, NULL);
    kiln_test_add("bad_nights_are_refused_whole", bad_nights_are_refused_whole, NULL);
    kiln_test_add("killed_writers_leave_whole_nights",
                  killed_writers_leave_whole_nights, NULL);
    kiln_test_add("two_writers_wait_for_each_other", two_writers_wait_for_each_other,
                  NULL);
    kiln_test_add("a_writer_that_holds_on_is_named", a_writer_that_holds_on_is_named,
                  NULL);
    kiln_test_add("a_full_disk_loses_no_night", a_full_disk_loses_no_night, NULL);
    kiln_test_add_rows(check_bad, bad_rows);
    kiln_test_add("nothing_there_is_said", nothing_there_is_said, NULL);
    kiln_test_add("flipped_bytes_are_no_other_answer",
                  flipped_bytes_are_no_other_answer, NULL);
    kiln_test_add("old_runs_go_and_what_is_needed_stays",
                  old_runs_go_and_what_is_needed_stays, NULL);
    kiln_test_add("runs_go_by_size_too", runs_go_by_size_too, NULL);
    kiln_test_add("parts_of_pipelines_go_first", parts_of_pipelines_go_first, NULL);
    return kiln_test_run("history");
}
