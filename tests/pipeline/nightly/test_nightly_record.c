/* Nights among others: what the history says of them, whatever happens to it. Stages
 * are a stand-in's, a script that reports the ratio that a file says. */
#include "history/history.h"
#include "pipeline/gate/gate.h"
#include "pipeline/nightly/nightly.h"
#include "tests/support/kiln_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char script[] =
    "#!/bin/sh\n"
    "verb=$1 json= out=\n"
    "while [ $# -gt 0 ]; do\n"
    "  case $1 in --json) json=$2;; -o) out=$2;; esac\n"
    "  shift\n"
    "done\n"
    "r=$(cat \"$FAKE/ratio\")\n"
    "case $verb in\n"
    "  build) printf archive > \"$out\"\n"
    "    sha=$(sha256sum \"$out\"); text='[{\"sha256\":\"'${sha%% *}'\"}]';;\n"
    "  gate) text='{\"format\":\"kiln-gate-1\",\"verdict\":\"pass\",\"series\":"
    "[{\"verdict\":\"pass\",\"frozen_sha256\":\"f\",\"frozen\":{\"estimate\":'$r',"
    "\"low\":'$r',\"high\":'$r'}}]}';;\n"
    "  *) "
    "text='{\"format\":\"kiln-bench-1\",\"output\":{\"ok\":true},\"threads\":[{"
    "\"median_ms\":1.5}]}';;\n"
    "esac\n"
    "echo \"$text\" > \"$json.tmp\" && mv \"$json.tmp\" \"$json\"\n";

static const char pipeline[] =
    "{\"name\": \"demo\", \"models\": [{\"name\": \"a\", \"source\": \"m.onnx\"}],"
    " \"gate\": {\"accepted\": \"accepted\"}%s}";

typedef struct place {
    const char *dir;
} place;

static kiln_arena *arena(void) { return kiln_test_arena(); }

static const char *at(const place *p, const char *name) {
    return kiln_path_join(arena(), p->dir, name);
}

static void write_file(const place *p, const char *name, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(at(p, name), text, strlen(text), &err), &err);
}

static place new_place(const char *more) {
    const place p = {kiln_test_dir()};
    write_file(&p, "kiln", script);
    assert_int_equal(chmod(at(&p, "kiln"), 0755), 0);
    write_file(&p, "ready.jsonl", "{\"kiln_ready_records\": 1}\n");
    write_file(&p, "m.onnx", "a model");
    write_file(&p, "ratio", "1");
    write_file(&p, "p.json", kiln_format(arena(), pipeline, more));
    return p;
}

static kiln_nightly_result run_injected(const place *p, bool is_new, double share) {
    const kiln_nightly_overrides over = {.injected = share};
    const kiln_nightly_options o = {.program = at(p, "kiln"), .is_new = is_new};
    kiln_nightly_config c;
    kiln_nightly_graph g;
    kiln_nightly_result r;
    kiln_err err = {0};
    setenv("FAKE", p->dir, 1);
    setenv("KILN_DATA", p->dir, 1);
    kiln_assert_status_ok(kiln_nightly_read(arena(), at(p, "p.json"), &over, &c, &err),
                          &err);
    kiln_assert_status_ok(kiln_nightly_plan(arena(), &c, &g, &err), &err);
    kiln_assert_status_ok(kiln_nightly_run(arena(), &c, &g, &o, &r, &err), &err);
    return r;
}

static kiln_nightly_result run(const place *p, bool is_new) {
    return run_injected(p, is_new, 0);
}

static kiln_nightly_result night(const place *p, const char *ratio) {
    write_file(p, "ratio", ratio);
    return run(p, true);
}

static kiln_nights nights_of(const place *p) {
    const kiln_history_options o = {.may_make = false};
    kiln_history *h = NULL;
    kiln_nights n;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_history_open(arena(), at(p, "accepted/history.db"), &o, &h, &err), &err);
    kiln_assert_status_ok(kiln_history_read(h, arena(), "demo", 1000, &n, &err), &err);
    kiln_history_close(h);
    return n;
}

static const char *text_of(const char *path) {
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(arena(), path, 0, &text, &err), &err);
    return kiln_str_dupv(arena(), text);
}

static void a_step_fails_the_night_and_no_later_one(void **state) {
    (void)state;
    const place p = new_place("");
    kiln_nightly_result r;
    for (int i = 0; i < 6; i++) {
        r = night(&p, i % 2 == 0 ? "1.001" : "0.999");
        assert_true(r.is_good);
    }
    assert_int_equal(r.results.past.nights, 6);
    r = night(&p, "1.04");
    assert_false(r.is_good);
    assert_string_equal(r.results.status, "regressed");
    assert_string_equal(r.results.past.trend, "step");
    kiln_buf text;
    kiln_buf_init(&text, arena());
    kiln_nightly_text(&text, &r);
    assert_non_null(strstr(text.p, "a, native, 1: against the frozen archive: step: "
                                   "slower by "));
    assert_non_null(strstr(text.p, "history: night 7 of demo\n"));
    const kiln_results_history *h = &r.results.job.v[0].history;
    assert_true(r.results.job.v[0].has_history && h->night.n == 7);
    /* What the program has, the file has. */
    kiln_results read;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_results_read(arena(), kiln_path_join(arena(), r.folder, "results.json"),
                          &read, &err),
        &err);
    assert_string_equal(read.job.v[0].history.trend, "step");
    assert_true(night(&p, "1.041").is_good);
    const kiln_nights n = nights_of(&p);
    assert_int_equal(n.n, 8);
    assert_string_equal(n.v[6].status, "regressed");
    const char *index = text_of(at(&p, "out/index.html"));
    for (size_t i = 0; i < n.n; i++)
        assert_non_null(
            strstr(index, kiln_format(arena(), "href=\"%s/index.html\"", n.v[i].run)));
}

static void a_night_that_goes_on_is_one_night(void **state) {
    (void)state;
    const place p = new_place("");
    const kiln_nightly_result r = run(&p, false);
    const char *json = kiln_path_join(arena(), r.folder, "run.json");
    char *text = (char *)(uintptr_t)text_of(json); /* ours: a copy */
    char *ended = strstr(text, "\"is_ended\": true");
    assert_non_null(ended);
    memcpy(ended, "\"is_ended\":false", 16); /* killed right before its end */
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(json, text, strlen(text), &err), &err);
    const kiln_nightly_result again = run(&p, false);
    assert_true(again.goes_on && again.is_good);
    assert_string_equal(again.folder, r.folder);
    assert_int_equal(again.results.past.nights, 1);
    assert_int_equal(nights_of(&p).n, 1);
    assert_false(run(&p, false).goes_on);
    assert_int_equal(nights_of(&p).n, 2);
}

/* The last run had told its end when it was killed: another would be another night. */
static bool has_ended(const place *p) {
    const char *json = at(p, "out/latest/run.json");
    return kiln_file_exists(json) &&
           strstr(text_of(json), "\"is_ended\": true") != NULL;
}

/* Killed at any moment, again and again. */
static void killed_nights_are_appended_once(void **state) {
    (void)state;
    const place p = new_place("");
    kiln_rng rng;
    int kills = 0, status = 1;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int k = 0; k < 60 && status != 0; k++) {
        fflush(NULL);
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(run(&p, false).is_good ? 0 : 1);
        const int64_t ms = kiln_rng_range(&rng, 1, 60 + 20 * k);
        const struct timespec moment = {ms / 1000, ms % 1000 * 1000000};
        nanosleep(&moment, NULL);
        (void)kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status != 0 && has_ended(&p))
            status = 0;
        kills += status != 0;
    }
    print_message("%d kills before a night ended\n", kills);
    assert_int_equal(status, 0);
    assert_int_equal(nights_of(&p).n, 1);
    assert_true(kiln_file_exists(at(&p, "out/latest/index.html")));
    assert_true(night(&p, "1").is_good);
    assert_int_equal(nights_of(&p).n, 2);
}

static void a_damaged_history_costs_no_results(void **state) {
    (void)state;
    const place p = new_place("");
    assert_true(night(&p, "1").is_good);
    write_file(&p, "accepted/history.db",
               "somebody wrote over it, with some more text");
    const kiln_nightly_result r = night(&p, "1");
    assert_false(r.is_good);
    assert_string_equal(r.failure, "the history of nights was not kept");
    assert_string_equal(r.results.status, "failed");
    assert_non_null(strstr(r.results.past.problem, "is not a history of nights, or "
                                                   "damaged"));
    assert_non_null(
        strstr(r.results.past.problem,
               kiln_format(arena(), "'kiln history add %s %s' appends this night later",
                           at(&p, "accepted/history.db"), r.folder)));
    const char *json = text_of(kiln_path_join(arena(), r.folder, "results.json"));
    assert_non_null(strstr(json, "appends this night later"));
    assert_non_null(strstr(json, "\"median_ms\": 1.5"));
    /* It has ended, and is not repeated. */
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_remove_tree(at(&p, "accepted/history.db"), &err), &err);
    const kiln_nightly_result next = run(&p, false);
    assert_true(next.is_good && !next.goes_on);
    assert_int_equal(next.results.past.nights, 1);
}

/* A test of the alarm is no night: the page says so, the history has none of it, and
 * what it built is not accepted. */
static void injected_nights_are_no_nights(void **state) {
    (void)state;
    const place p = new_place("");
    kiln_accept_rows rows;
    kiln_err err = {0};
    (void)night(&p, "1");
    const kiln_nightly_result r = run_injected(&p, true, .05);
    const char *json = text_of(kiln_path_join(arena(), r.folder, "results.json"));
    const char *page = text_of(kiln_path_join(arena(), r.folder, "index.html"));
    assert_int_equal(nights_of(&p).n, 1);
    assert_non_null(strstr(json, "\"injected\": 0.05"));
    assert_non_null(
        strstr(page, "INJECTED</strong>: the gate slowed every candidate by "));
    assert_non_null(strstr(r.results.command, " --inject 5%"));
    kiln_buf text;
    kiln_buf_init(&text, arena());
    kiln_nightly_text(&text, &r);
    assert_non_null(strstr(text.p, "found:   INJECTED: "));
    assert_non_null(strstr(text.p, "the same without --inject"));
    const char *archive = kiln_path_join(
        arena(), r.folder, "models/a/native-t1/build/a-1-native.kiln.tar.zst");
    assert_true(kiln_file_exists(archive));
    const kiln_accept_options o = {
        .to = at(&p, "accepted"), .is_trusting = true, .nights = &kiln_nightly_nights};
    kiln_assert_fails(kiln_accept(arena(), &archive, 1, &o, &rows, &err), KILN_ERR_ARG,
                      &err, "is of a run with --inject, whose verdicts are a test");
    /* The next night is the second. */
    assert_int_equal(night(&p, "1").results.past.nights, 2);
}

static void old_runs_go_by_rule(void **state) {
    (void)state;
    const place p = new_place(", \"keep\": {\"nights\": 3}");
    kiln_nightly_result r;
    for (int i = 0; i < 5; i++)
        r = night(&p, "1");
    kiln_history_runs runs;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_history_find_runs(arena(), at(&p, "out"), &runs, &err),
                          &err);
    assert_int_equal(runs.n, 3);
    assert_non_null(strstr(r.pruned, "1 run removed, "));
    assert_null(r.untidy);
    const kiln_nights n = nights_of(&p);
    assert_int_equal(n.n, 5);
    assert_true(n.v[1].is_pruned && !n.v[2].is_pruned && !n.v[4].is_pruned);
    assert_non_null(strstr(text_of(at(&p, "out/index.html")), ">pruned<"));
}

static void a_history_may_lie_elsewhere(void **state) {
    (void)state;
    const place p = new_place(", \"history\": \"else/where.db\"");
    assert_true(night(&p, "1").is_good);
    assert_true(kiln_file_exists(at(&p, "else/where.db")));
    assert_false(kiln_file_exists(at(&p, "accepted/history.db")));
}

int main(void) {
    kiln_test_add("a_step_fails_the_night_and_no_later_one",
                  a_step_fails_the_night_and_no_later_one, NULL);
    kiln_test_add("a_night_that_goes_on_is_one_night",
                  a_night_that_goes_on_is_one_night, NULL);
    kiln_test_add("killed_nights_are_appended_once", killed_nights_are_appended_once,
                  NULL);
    kiln_test_add("a_damaged_history_costs_no_results",
                  a_damaged_history_costs_no_results, NULL);
    kiln_test_add("injected_nights_are_no_nights", injected_nights_are_no_nights, NULL);
    kiln_test_add("old_runs_go_by_rule", old_runs_go_by_rule, NULL);
    kiln_test_add("a_history_may_lie_elsewhere", a_history_may_lie_elsewhere, NULL);
    return kiln_test_run("nightly record");
}
