/* Runs with a stand-in for kiln, a script that does what each test tells it: how stages
 * end, what is repeated and what is not, interrupts, kills, locks. */
#include "pipeline/nightly/nightly.h"
#include "tests/support/kiln_test.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* $FAKE/calls gets a line for each command; $FAKE/VERB, where it is there, is run in
 * its middle, with the command's options in $json, $out, $model, $ops. */
static const char script[] =
    "#!/bin/sh\n"
    "verb=$1 model=$2 json= out= ops=\n"
    "[ \"$verb $model\" != 'bench --ops' ] || verb=ops\n"
    "while [ $# -gt 0 ]; do\n"
    "  case $1 in --json) json=$2;; -o) out=$2;; --ops) ops=$2;; esac\n"
    "  shift\n"
    "done\n"
    "echo \"$verb $json\" >> \"$FAKE/calls\"\n"
    "[ ! -f \"$FAKE/$verb\" ] || . \"$FAKE/$verb\"\n"
    "sha=$(printf '%064d' 0)\n"
    "case $verb in\n"
    "  fetch) [ ! -f \"$FAKE/fetched.onnx\" ] || sha=$(sha256sum < "
    "\"$FAKE/fetched.onnx\")\n"
    "    text='[{\"path\":\"'$FAKE'/fetched.onnx\",\"sha256\":\"'${sha%% *}'\"}]';;\n"
    "  build) printf archive > \"$out\"\n"
    "    sha=$(sha256sum \"$out\"); text='[{\"sha256\":\"'${sha%% *}'\"}]';;\n"
    "  gate) "
    "text='{\"format\":\"kiln-gate-1\",\"verdict\":\"'${verdict:-new}'\",\"series\":[{"
    "\"verdict\":\"'"
    "${verdict:-new}'\"}]}';;\n"
    "  tune) "
    "text='{\"format\":\"kiln-tune-1\",\"work\":[{\"best_ns\":9,\"new_trials\":'${"
    "trials:-3}'}]}';;\n"
    "  ops) "
    "text='{\"format\":\"kiln-ops-1\",\"ops\":[{}],\"wrong\":0,\"refused\":0}';;\n"
    "  *) text='{\"format\":\"kiln-bench-1\",\"output\":{\"ok\":true},"
    "\"threads\":[{\"median_ms\":'${ms:-1.5}'}]}';;\n"
    "esac\n"
    "echo \"$text\" > \"$json.tmp\" && mv \"$json.tmp\" \"$json\"\n"
    "exit ${code:-0}\n";

static const char pipeline[] =
    "{\"models\": [{\"name\": \"a\", \"source\": \"m.onnx\", \"binds\": {\"h\": "
    "\"h.npy\"}}, {\"name\": \"b\", \"source\": \"fetch:resnet18-v1-7\", \"tune\": "
    "null}],"
    " \"operators\": [{\"set\": \"gemm\", \"tune\": null}],"
    " \"tune\": {}, \"bench\": {\"require_baselines\": false},"
    " \"keyring\": \"trusted.pub\", \"sign\": \"sign.key\","
    " \"gate\": {\"accepted\": \"accepted\"}, \"limits\": {\"verify\": %d}}";

/* Keys that nobody has: the stand-in asks for none. */
#define KEY(line) "untrusted comment: x\n" line "\n"
#define TRUSTED "RWShsqhL7mqFfLxUGVwP+sPX0QH5ehRmF73xOI+3s+IKuWk3UvcsDftv"
#define ANOTHER "RWSYB8qKj+qBIbeXHyIYjDymh+cZpIHbE6bkis0ymLZHSDU69Ck9uRdr"

/* ---- a place to work in ---------------------------------------------------------- */

typedef struct place {
    const char *dir; /* with p.json, m.onnx, kiln; runs are in out/ */
} place;

static const char *at(const place *p, const char *name) {
    return kiln_path_join(kiln_test_arena(), p->dir, name);
}

static void write_file(const place *p, const char *name, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(at(p, name), text, strlen(text), &err), &err);
}

static place new_place(int verify_limit_s) {
    const place p = {kiln_test_dir()};
    write_file(&p, "kiln", script);
    assert_int_equal(chmod(at(&p, "kiln"), 0755), 0);
    write_file(&p, "ready.jsonl", "{\"kiln_ready_records\": 1}\n");
    write_file(&p, "m.onnx", "a model");
    write_file(&p, "h.npy", "a value");
    write_file(&p, "fetched.onnx", "another");
    write_file(&p, "trusted.pub", KEY(TRUSTED));
    write_file(&p, "other.pub", KEY(ANOTHER));
    write_file(&p, "sign.key", "a key");
    write_file(&p, "p.json", kiln_format(kiln_test_arena(), pipeline, verify_limit_s));
    return p;
}

static kiln_str file_text(const char *path) {
    kiln_str text = {"", 0};
    kiln_err err = {0};
    if (kiln_file_exists(path))
        kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &text, &err),
                              &err);
    return (kiln_str){kiln_arena_dup(kiln_test_arena(), text.p, text.n), text.n};
}

static size_t n_lines(kiln_str text, const char *part) {
    size_t n = 0;
    kiln_str line;
    while (kiln_str_cut(&text, '\n', &line)) {
        const char *z = kiln_str_dupv(kiln_test_arena(), line);
        n += line.n > 0 && strstr(z, part) != NULL;
    }
    return n;
}

static size_t n_calls(const place *p, const char *part) {
    return n_lines(file_text(at(p, "calls")), part);
}

/* ---- running --------------------------------------------------------------------- */

static void note(void *user, const kiln_nightly_event *e) {
    kiln_buf *out = user;
    if (e->is_end)
        kiln_buf_printf(out, "%s %s: %s%s%s%s\n", e->title, e->stage, e->state,
                        e->is_reused ? " before" : "", e->message != NULL ? ": " : "",
                        e->message != NULL ? e->message : "");
}

static kiln_status run(const place *p, bool is_new, bool is_frozen,
                       kiln_nightly_result *out, kiln_buf *events, kiln_err *err) {
    kiln_arena *a = kiln_test_arena();
    const kiln_nightly_overrides over = {.is_frozen = is_frozen};
    const kiln_nightly_options o = {
        .program = at(p, "kiln"), .is_new = is_new, .progress = note, .user = events};
    kiln_nightly_config c;
    kiln_nightly_graph g;
    kiln_buf_init(events, a);
    setenv("FAKE", p->dir, 1);
    setenv("KILN_DATA", p->dir, 1);
    KILN_TRY(kiln_nightly_read(a, at(p, "p.json"), &over, &c, err));
    KILN_TRY(kiln_nightly_plan(a, &c, &g, err));
    return kiln_nightly_run(a, &c, &g, &o, out, err);
}

static kiln_nightly_result run_well(const place *p, kiln_buf *events) {
    kiln_nightly_result r;
    kiln_err err = {0};
    kiln_assert_status_ok(run(p, false, false, &r, events, &err), &err);
    return r;
}

/* In a process of its own, that can be interrupted and killed. */
static pid_t start(const place *p) {
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        kiln_nightly_result r;
        kiln_buf events;
        kiln_err err = {0};
        kiln_interrupt_catch();
        const kiln_status st = run(p, false, false, &r, &events, &err);
        _exit(st != KILN_OK ? 4 : r.is_interrupted ? 9 : r.n_failed > 0 ? 1 : 0);
    }
    assert_true(pid > 0);
    return pid;
}

static void wait_for(const char *path) {
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && !kiln_file_exists(path); ms += 10)
        poll(NULL, 0, 10);
    assert_true(kiln_file_exists(path));
}

/* ---- how stages end -------------------------------------------------------------- */

enum { N_ALL = 11 };

static const char all_done[] = "a, native, 1 thread tune: done\n"
                               "a, native, 1 thread build: done\n"
                               "a, native, 1 thread verify: done\n"
                               "a, native, 1 thread bench: done\n"
                               "a, native, 1 thread gate: done\n"
                               "b fetch: done\n"
                               "b, native, 1 thread build: done\n"
                               "b, native, 1 thread verify: done\n"
                               "b, native, 1 thread bench: done\n"
                               "b, native, 1 thread gate: done\n"
                               "gemm, native, 1 thread operators: done\n";

typedef struct end_row {
    const char *name, *verb, *does; /* the script's middle */
    const char *want[5];            /* lines of the events; NULL: no more */
    int done, failed, skipped;
    const char *failure; /* of the whole; NULL: none */
    bool is_good;
    const char *status; /* NULL: "ok" or "failed" */
} end_row;

static end_row ends[] = {
    {"all_is_well", "bench", "", {all_done}, N_ALL, 0, 0, NULL, true, NULL},
    {"nothing_measured_is_a_failure",
     "bench",
     "ms=0",
     {all_done},
     N_ALL,
     0,
     0,
     "nothing was measured",
     false,
     NULL},
    {"nothing_tuned_is_a_failure",
     "tune",
     "trials=0",
     {all_done},
     N_ALL,
     0,
     0,
     "nothing was tuned",
     false,
     NULL},
    {"a_failing_model_fails_alone",
     "build",
     "case $json in */a/*) printf 'x\\nerror: conv: no\\n  while building\\n' >&2; "
     "exit "
     "3;; esac",
     {"a, native, 1 thread build: failed: conv: no; while building\n",
      "a, native, 1 thread verify: skipped: its stage 'build' failed\n",
      "a, native, 1 thread bench: skipped: its stage 'build' failed\n",
      "a, native, 1 thread gate: skipped: its stage 'build' failed\n",
      "b, native, 1 thread gate: done\n"},
     7,
     1,
     3,
     NULL,
     false,
     NULL},
    {"a_build_that_misses_its_check_is_measured",
     "build",
     "case $json in */a/*) echo too little is tuned; code=1;; esac",
     {"a, native, 1 thread build: failed: too little is tuned\n",
      "a, native, 1 thread verify: done\n"},
     10,
     1,
     0,
     NULL,
     false,
     NULL},
    {"tuning_that_fails_leaves_defaults",
     "tune",
     "echo 'error: none of 3 trials gave a kernel that works' >&2; exit 4",
     {"a, native, 1 thread tune: failed: none of 3 trials gave a kernel that works\n",
      "a, native, 1 thread gate: done\n"},
     10,
     1,
     0,
     "nothing was tuned",
     false,
     NULL},
    {"what_is_wrong_is_not_measured",
     "verify",
     "case $json in */a/*) printf 'passed x\\nfailed y: far off\\n1 passed\\n'; exit "
     "1;; "
     "esac",
     {"a, native, 1 thread verify: failed: failed y: far off\n",
      "a, native, 1 thread bench: skipped: its stage 'verify' failed\n"},
     8,
     1,
     2,
     NULL,
     false,
     NULL},
    {"what_is_not_fetched_is_not_built",
     "fetch",
     "echo 'error: the server answers 404 (not found)' >&2; exit 4",
     {"b fetch: failed: the server answers 404 (not found)\n",
      "b, native, 1 thread build: skipped: its stage 'fetch' failed\n",
      "b, native, 1 thread verify: skipped: its stage 'fetch' failed\n",
      "b, native, 1 thread bench: skipped: its stage 'build' was skipped\n",
      "gemm, native, 1 thread operators: done\n"},
     6,
     1,
     4,
     NULL,
     false,
     NULL},
    {"a_result_must_name_the_model",
     "fetch",
     "echo '[]' > $json; exit 0",
     {"b fetch: failed: its result names no file\n"},
     6,
     1,
     4,
     NULL,
     false,
     NULL},
    {"the_model_must_be_there",
     "fetch",
     "rm $FAKE/fetched.onnx",
     {"b fetch: failed: the file that it names is not there\n"},
     6,
     1,
     4,
     NULL,
     false,
     NULL},
    {"baselines_may_be_absent",
     "bench",
     "code=1",
     {"a, native, 1 thread bench: done: measured; not every baseline was, and none is "
      "required\n",
      "b, native, 1 thread bench: done: measured; not every"},
     N_ALL,
     0,
     0,
     NULL,
     true,
     NULL},
    {"baselines_of_operators_too",
     "ops",
     "code=1",
     {"operators: done: measured; not every"},
     N_ALL,
     0,
     0,
     NULL,
     true,
     NULL},
    {"a_bad_verdict_is_a_verdict",
     "gate",
     "code=1 verdict=fail",
     {"a, native, 1 thread gate: done: verdict: fail\n"},
     N_ALL,
     0,
     0,
     NULL,
     false,
     "regressed"},
    {"a_wrong_candidate_has_failed",
     "gate",
     "code=1 verdict=wrong",
     {"a, native, 1 thread gate: done: verdict: wrong\n"},
     N_ALL,
     0,
     0,
     NULL,
     false,
     "failed"},
    {"a_gate_that_could_not_compare_is_unjudged",
     "gate",
     "code=6 verdict=invalid",
     {"a, native, 1 thread gate: done: verdict: invalid\n"},
     N_ALL,
     0,
     0,
     NULL,
     false,
     "unjudged"},
    {"a_gate_that_cannot_work_fails",
     "gate",
     "echo 'error: no such folder' >&2; exit 4",
     {"a, native, 1 thread gate: failed: no such folder\n"},
     9,
     2,
     0,
     NULL,
     false,
     NULL},
    {"a_crash_is_a_signal",
     "ops",
     "kill -SEGV $$",
     {"gemm, native, 1 thread operators: failed: it was ended by signal 11 (bad memory "
      "access)\n"},
     10,
     1,
     0,
     NULL,
     false,
     NULL},
    {"who_was_killed_once_is_asked_again",
     "ops",
     "[ -f $FAKE/killed ] || { touch $FAKE/killed; kill -KILL $$; }",
     {all_done},
     N_ALL,
     0,
     0,
     NULL,
     true,
     NULL},
    {"who_is_always_killed_fails",
     "ops",
     "kill -KILL $$",
     {"gemm, native, 1 thread operators: failed: it was ended by signal 9 (killed: out "
      "of memory?)\n"},
     10,
     1,
     0,
     NULL,
     false,
     NULL},
    {"silence_is_no_success",
     "ops",
     "exit 0",
     {"gemm, native, 1 thread operators: failed: it ended well and wrote no result\n"},
     10,
     1,
     0,
     NULL,
     false,
     NULL},
    {"garbage_is_no_success",
     "ops",
     "echo '{' > $json; exit 0",
     {"gemm, native, 1 thread operators: failed: ", "result.json:"},
     10,
     1,
     0,
     NULL,
     false,
     NULL},
    {"last_words_may_be_missing",
     "ops",
     "exit 7",
     {"gemm, native, 1 thread operators: failed: it ended with code 7\n"},
     10,
     1,
     0,
     NULL,
     false,
     NULL},
};

/* What was returned is what lies in the folder. */
static void holds_results(const kiln_nightly_result *r, size_t n_jobs, size_t n_ops) {
    kiln_results read;
    kiln_err err = {0};
    kiln_buf want, got;
    kiln_buf_init(&want, kiln_test_arena());
    kiln_buf_init(&got, kiln_test_arena());
    kiln_assert_status_ok(
        kiln_results_read(kiln_test_arena(),
                          kiln_path_join(kiln_test_arena(), r->folder, "results.json"),
                          &read, &err),
        &err);
    kiln_results_json(&want, &r->results);
    kiln_results_json(&got, &read);
    kiln_assert_text_equal(kiln_buf_str(&got), kiln_buf_str(&want));
    assert_int_equal(read.job.n, n_jobs);
    assert_int_equal(read.ops.n, n_ops);
    assert_string_equal(read.status, r->results.status);
}

static void end(void **state) {
    const end_row *r = *state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_buf events;
    write_file(&p, r->verb, r->does);
    const kiln_nightly_result got = run_well(&p, &events);
    for (int i = 0; i < 5 && r->want[i] != NULL; i++)
        if (strstr(events.p, r->want[i]) == NULL)
            fail_msg("the events must hold '%s', are\n%s", r->want[i], events.p);
    assert_int_equal(got.n_done, r->done);
    assert_int_equal(got.n_failed, r->failed);
    assert_int_equal(got.n_skipped, r->skipped);
    assert_int_equal(got.n_stages, N_ALL);
    assert_false(got.is_interrupted || got.goes_on);
    assert_int_equal(got.is_good, r->is_good);
    assert_string_equal(got.results.status, r->status != NULL ? r->status
                                            : r->is_good      ? "ok"
                                                              : "failed");
    if (r->failure == NULL)
        assert_null(got.failure);
    else
        assert_string_equal(got.failure, r->failure);
    holds_results(&got, 2, 1);
}

/* Of a single model: another one's stage of the same kind would have no more time. */
static void a_time_limit_ends_it(void **state) {
    static const char one[] =
        "{\"models\": [{\"name\": \"a\", \"source\": \"m.onnx\"}], \"tune\": {},"
        " \"gate\": {\"accepted\": \"accepted\"}, \"limits\": {\"verify\": 1}}";
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_buf events;
    (void)state;
    write_file(&p, "p.json", one);
    write_file(&p, "verify", "exec sleep 3600");
    const kiln_nightly_result got = run_well(&p, &events);
    assert_non_null(strstr(events.p, "a, native, 1 thread verify: timed out: it was "
                                     "ended at its limit of 1 s\n"));
    assert_non_null(strstr(events.p, "a, native, 1 thread bench: skipped: its stage "
                                     "'verify' timed out\n"));
    assert_int_equal(got.n_stages, 5);
    assert_int_equal(got.n_done, 2);
    assert_int_equal(got.n_failed, 1);
    assert_int_equal(got.n_skipped, 2);
    assert_false(got.is_interrupted || got.goes_on || got.is_good);
    assert_string_equal(got.failure, "nothing was measured");
    holds_results(&got, 1, 0);
}

/* ---- what is left behind --------------------------------------------------------- */

static void keeps_what_stages_say_and_no_more(void **state) {
    (void)state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_buf events;
    char link[4096] = "";
    write_file(&p, "build", "echo hello; echo more >&2; touch $TMPDIR/left");
    const kiln_nightly_result r = run_well(&p, &events);
    const char *folder =
        kiln_path_join(kiln_test_arena(), r.folder, "models/a/native-t1/build");
    const kiln_str log =
        file_text(kiln_path_join(kiln_test_arena(), folder, "log.txt"));
    assert_int_equal(n_lines(log, "$ "), 1);
    assert_int_equal(n_lines(log, "hello"), 1);
    assert_int_equal(n_lines(log, "more"), 1);
    assert_int_equal(n_lines(log, "(ended by exit code 0 after"), 1);
    assert_false(kiln_dir_exists(kiln_path_join(kiln_test_arena(), folder, "tmp")));
    assert_true(kiln_file_exists(
        kiln_path_join(kiln_test_arena(), folder, "a-1-native.kiln.tar.zst")));
    assert_true(readlink(at(&p, "out/latest"), link, sizeof link - 1) > 0);
    assert_string_equal(link, kiln_path_base(r.folder));
}

/* ---- going on -------------------------------------------------------------------- */

/* Interrupted while b is verified, whose script waits. */
static void interrupt(const place *p) {
    int status = 0;
    (void)unlink(at(p, "waits"));
    write_file(p, "verify",
               "case $json in */b/*) touch $FAKE/waits; exec sleep 3600;; esac");
    const pid_t pid = start(p);
    wait_for(at(p, "waits"));
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    assert_int_equal(unlink(at(p, "verify")), 0);
}

static void an_interrupt_keeps_what_is_finished(void **state) {
    (void)state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_buf events;
    interrupt(&p);
    /* What CI uploads is of this run, though it has not ended. */
    assert_true(kiln_file_exists(at(&p, "out/current/results.json")));
    assert_false(kiln_dir_exists(at(&p, "out/latest")));
    const kiln_nightly_result r = run_well(&p, &events);
    assert_true(r.goes_on && r.n_reused == 7 && r.n_done == N_ALL);
    assert_int_equal(n_calls(&p, "verify "), 3); /* b's was begun twice */
    assert_int_equal(n_calls(&p, ""), N_ALL + 1);
    assert_non_null(strstr(events.p, "b, native, 1 thread build: done before\n"));
    /* It has ended now: the same call is another night. */
    const kiln_nightly_result next = run_well(&p, &events);
    assert_true(!next.goes_on && next.n_reused == 0);
    assert_string_not_equal(next.folder, r.folder);
    assert_int_equal(n_calls(&p, ""), 2 * N_ALL + 1);
}

static void a_new_run_may_be_asked_for(void **state) {
    (void)state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_nightly_result r;
    kiln_buf events;
    kiln_err err = {0};
    interrupt(&p);
    kiln_assert_status_ok(run(&p, true, false, &r, &events, &err), &err);
    assert_true(!r.goes_on && r.n_reused == 0 && r.n_done == N_ALL);
}

typedef struct change_row {
    const char *name;
    const char *shell; /* between the interrupt and the next call */
    int reused;        /* of 7 */
    bool goes_on;
} change_row;

static change_row changes[] = {
    {"nothing_changes", "true", 7, true},
    {"another_model_file", "echo other > m.onnx", 2, true},
    {"another_file_of_a_bound_input", "echo other > h.npy", 2, true},
    {"a_changed_fetched_file", "echo other > fetched.onnx", 5, true},
    {"another_program", "echo '# new' >> kiln", 0, true},
    {"other_keys_are_trusted", "mv other.pub trusted.pub", 4, true},
    {"another_key_signs", "echo more >> sign.key", 2, true},
    {"other_ready_records", "echo >> ready.jsonl", 0, true},
    {"another_pipeline", "echo ' ' >> p.json", 0, false},
    {"a_torn_marker", "echo '{' > $(ls -d out/2*)/models/a/native-t1/bench/done.json",
     6, true},
    {"a_lost_archive", "rm out/2*/models/a/native-t1/build/*.zst", 3, true},
    {"a_changed_archive", "echo x >> $(ls out/2*/models/a/native-t1/build/*.zst)", 3,
     true},
    {"a_lost_model", "rm fetched.onnx", 5, true},
    {"a_lost_result", "rm out/2*/models/a/native-t1/gate/result.json", 6, true},
    {"a_marker_of_something_else",
     "cp out/2*/models/b/fetch/done.json $(ls -d out/2*)/models/a/native-t1/gate/", 6,
     true},
};

static void change(void **state) {
    const change_row *r = *state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_buf events;
    interrupt(&p);
    /* What is repeated writes another marker: those behind it follow. */
    assert_int_equal(
        system(kiln_format(kiln_test_arena(), "cd '%s' && %s", p.dir, r->shell)), 0);
    write_file(&p, "fetch", "echo again > $FAKE/fetched.onnx");
    const kiln_nightly_result got = run_well(&p, &events);
    assert_int_equal(got.n_done, N_ALL);
    if (got.n_reused != r->reused)
        fail_msg("%d stages must be reused, %d were:\n%s", r->reused, got.n_reused,
                 events.p);
    assert_int_equal(got.goes_on, r->goes_on);
}

/* Verdicts are kept; what the machine, a signal or a limit ended is tried again. */
static void failures_of_the_moment_are_tried_again(void **state) {
    (void)state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_buf events;
    write_file(&p, "tune", "echo error: disk full $$ >&2; exit 4");
    write_file(&p, "bench",
               "case $json in */a/*) echo 'error: refused' >&2; exit 3;; esac");
    write_file(&p, "gate", "kill -SEGV $$");
    interrupt(&p);
    const kiln_nightly_result r = run_well(&p, &events);
    assert_true(r.goes_on);
    assert_non_null(strstr(events.p, "tune: failed: disk full "));
    assert_int_equal(n_calls(&p, "tune "), 2);
    /* Behind tuning all is built and measured again, for the marker is another one. */
    assert_int_equal(n_calls(&p, "bench "), 3);
    assert_int_equal(unlink(at(&p, "tune")), 0);
    write_file(&p, "p.json", kiln_format(kiln_test_arena(), pipeline, 700));
    interrupt(&p);
    const size_t before = n_calls(&p, "/a/native-t1/bench");
    run_well(&p, &events);
    assert_non_null(
        strstr(events.p, "a, native, 1 thread bench: failed before: refused"));
    assert_int_equal(n_calls(&p, "/a/native-t1/bench"), before);
}

/* ---- killed ---------------------------------------------------------------------- */

typedef struct paths {
    KILN_VEC(const char *) list;
} paths;

static void find_markers(const char *folder, paths *out) {
    char **names = NULL;
    size_t n = 0;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_dir_list(kiln_test_arena(), folder, &names, &n, &err),
                          &err);
    for (size_t i = 0; i < n; i++) {
        const char *path = kiln_path_join(kiln_test_arena(), folder, names[i]);
        if (strcmp(names[i], "latest") == 0 || strcmp(names[i], "current") == 0)
            continue;
        if (kiln_dir_exists(path))
            find_markers(path, out);
        else if (strcmp(names[i], "done.json") == 0)
            kiln_vec_push(kiln_test_arena(), &out->list, folder);
    }
}

/* How often each of them was begun. */
static size_t n_begun(const place *p, const paths *of) {
    size_t n = 0;
    for (size_t i = 0; i < of->list.n; i++)
        n += n_calls(p, of->list.v[i]);
    return n;
}

static void nothing_finished_is_repeated(void **state) {
    (void)state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    const int kills = kiln_test_times(12, 60);
    kiln_rng rng;
    kiln_buf events;
    kiln_rng_init(&rng, kiln_test_seed());
    static const char *const verbs[] = {"fetch", "tune", "build", "verify",
                                        "bench", "gate", "ops"};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        write_file(&p, verbs[i], "sleep 0.05");
    for (int i = 0; i < kills; i++) {
        int status = 0;
        paths done = {.list = {.n = 0}};
        const pid_t pid = start(&p);
        poll(NULL, 0, (int)(kiln_rng_next(&rng) % 200));
        if (waitpid(pid, &status, WNOHANG) == pid)
            break; /* done */
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!kiln_dir_exists(at(&p, "out")))
            continue;
        find_markers(at(&p, "out"), &done);
        const size_t before = n_begun(&p, &done);
        const pid_t next = start(&p);
        poll(NULL, 0, (int)(kiln_rng_next(&rng) % 200));
        assert_int_equal(kill(next, SIGKILL), 0);
        assert_int_equal(waitpid(next, &status, 0), next);
        assert_int_equal(n_begun(&p, &done), before);
    }
    const kiln_nightly_result r = run_well(&p, &events);
    assert_int_equal(r.n_done, N_ALL);
}

/* ---- one at a time --------------------------------------------------------------- */

static void two_are_one_too_many(void **state) {
    (void)state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_nightly_result r;
    kiln_buf events;
    kiln_err err = {0};
    write_file(&p, "ops", "touch $FAKE/waits; exec sleep 3600");
    const pid_t pid = start(&p);
    int status = 0;
    wait_for(at(&p, "waits"));
    kiln_assert_fails(run(&p, false, false, &r, &events, &err), KILN_ERR_IO, &err,
                      kiln_format(kiln_test_arena(),
                                  "process %ld, another kiln nightly, is at work in '",
                                  (long)pid));
    assert_int_equal(n_calls(&p, "tune "), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    write_file(&p, "ops", "");
    assert_true(run_well(&p, &events).goes_on); /* its lock died with it */
}

static void a_frozen_database_must_be_there(void **state) {
    (void)state;
    const place p = new_place(KILN_TEST_PATIENCE_S);
    kiln_nightly_result r;
    kiln_buf events;
    kiln_err err = {0};
    kiln_assert_fails(run(&p, false, true, &r, &events, &err), KILN_ERR_MISSING, &err,
                      "tuning.db");
    run_well(&p, &events); /* makes it */
    err = (kiln_err){0};
    kiln_assert_status_ok(run(&p, false, true, &r, &events, &err), &err);
    assert_int_equal(r.n_done, N_ALL - 1);
    assert_non_null(strstr(
        events.p, "a, native, 1 thread tune: skipped: the database is frozen\n"));
}

static void ready_records_must_be_there(void **state) {
    (void)state;
    const place p = new_place(600);
    kiln_nightly_result r;
    kiln_buf events;
    kiln_err err = {0};
    assert_int_equal(unlink(at(&p, "ready.jsonl")), 0);
    kiln_assert_fails(run(&p, false, false, &r, &events, &err), KILN_ERR_IO, &err,
                      "leave them out by --no-ready");
    assert_int_equal(n_calls(&p, ""), 0);
}

/* ---- lists of operators ---------------------------------------------------------- */

static const char operators[] =
    "{\"operators\": [{\"set\": \"mine.txt\", \"tune\": {\"trials\": 5}},"
    " {\"set\": \"gemm\", \"tune\": null}], \"tune\": {\"seed\": 3}}";

static place new_operators(void) {
    const place p = new_place(600);
    write_file(&p, "p.json", operators);
    write_file(&p, "mine.txt", "relu x in=f32[4,8]\n");
    write_file(
        &p, "ops",
        "text='{\"format\":\"kiln-ops-1\",\"ops\":[{\"median_ms\":1}],\"wrong\":0,"
        "\"refused\":0}'; echo \"$text\" > \"$json\"; exit ${code:-0}");
    return p;
}

static void operators_are_tuned_like_models(void **state) {
    (void)state;
    const place p = new_operators();
    kiln_buf events;
    const kiln_nightly_result r = run_well(&p, &events);
    assert_string_equal(events.p, "mine, native, 1 thread tune: done\n"
                                  "mine, native, 1 thread operators: done\n"
                                  "gemm, native, 1 thread operators: done\n");
    assert_true(r.is_good && r.results.ops.n == 2);
    const kiln_results_ops *o = r.results.ops.v;
    assert_true(o[0].has_tuning && o[0].tuning.work.v[0].new_trials == 3);
    assert_false(o[1].has_tuning);
    assert_non_null(strstr(o[0].stage.v[0].command, "tune --ops"));
    assert_non_null(strstr(o[0].stage.v[0].command, "--trials 5 --seed 3"));
    assert_non_null(strstr(o[0].stage.v[0].command, "out/tuning.db"));
}

static void operators_are_measured_untuned_too(void **state) {
    (void)state;
    const place p = new_operators();
    kiln_buf events;
    write_file(&p, "tune", "echo 'error: no' >&2; exit 4");
    const kiln_nightly_result r = run_well(&p, &events);
    assert_non_null(strstr(events.p, "mine, native, 1 thread tune: failed: no\n"
                                     "mine, native, 1 thread operators: done\n"));
    assert_true(!r.is_good && r.n_failed == 1);
    assert_string_equal(r.failure, "nothing was tuned");
}

/* While the second list is measured, somebody changes the file of the first. */
static void another_file_of_operators_is_another_stage(void **state) {
    (void)state;
    const place p = new_operators();
    kiln_buf events;
    int status = 0;
    const kiln_str quick = file_text(at(&p, "ops"));
    write_file(&p, "ops",
               kiln_format(kiln_test_arena(),
                           "case $json in */gemm/*) touch $FAKE/waits; sleep 60;; "
                           "esac; %.*s",
                           KILN_STR_ARG(quick)));
    const pid_t pid = start(&p);
    wait_for(at(&p, "waits"));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    write_file(&p, "ops", kiln_str_dupv(kiln_test_arena(), quick));
    write_file(&p, "mine.txt", "relu y in=f32[4,9]\n");
    const kiln_nightly_result r = run_well(&p, &events);
    assert_true(r.goes_on && r.n_reused == 0 && r.n_done == 3);
}

int main(void) {
    kiln_test_add("ready_records_must_be_there", ready_records_must_be_there, NULL);
    kiln_test_add_rows(end, ends);
    kiln_test_add("a_time_limit_ends_it", a_time_limit_ends_it, NULL);
    kiln_test_add("operators_are_tuned_like_models", operators_are_tuned_like_models,
                  NULL);
    kiln_test_add("operators_are_measured_untuned_too",
                  operators_are_measured_untuned_too, NULL);
    kiln_test_add("another_file_of_operators_is_another_stage",
                  another_file_of_operators_is_another_stage, NULL);
    kiln_test_add("keeps_what_stages_say_and_no_more",
                  keeps_what_stages_say_and_no_more, NULL);
    kiln_test_add("an_interrupt_keeps_what_is_finished",
                  an_interrupt_keeps_what_is_finished, NULL);
    kiln_test_add("a_new_run_may_be_asked_for", a_new_run_may_be_asked_for, NULL);
    kiln_test_add_rows(change, changes);
    kiln_test_add("failures_of_the_moment_are_tried_again",
                  failures_of_the_moment_are_tried_again, NULL);
    kiln_test_add("nothing_finished_is_repeated", nothing_finished_is_repeated, NULL);
    kiln_test_add("two_are_one_too_many", two_are_one_too_many, NULL);
    kiln_test_add("a_frozen_database_must_be_there", a_frozen_database_must_be_there,
                  NULL);
    return kiln_test_run("nightly run");
}
