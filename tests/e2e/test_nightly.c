/* kiln nightly from outside: what it prints and refuses; a whole small pipeline; killed
 * at random moments it goes on, repeats nothing, loses and doubles no trial, and with a
 * frozen database makes the same archives. */
#include "tests/support/program/cli_run.h"
#include "tuning_db/tuning_db.h"
#include "zoo/onnx_write.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *dir; /* one for all */

/* ---- rows ------------------------------------------------------------------------ */

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"has_an_example", {"nightly", "--help"}, 0, "example:\n", NULL},
    {"wants_a_pipeline", {"nightly"}, 2, NULL, "PIPELINE.json"},
    {"names_an_absent_file", {"nightly", "@absent.json"}, 3, NULL, "absent.json"},
    {"names_what_is_wrong",
     {"nightly", "@wrong.json", "--check"},
     3,
     NULL,
     "models[0].threads must be a list, is 2"},
    {"names_all_that_is_wrong",
     {"nightly", "@wrong.json", "--check"},
     3,
     NULL,
     "wrong.json: gates is no known member"},
    {"plans_the_demo",
     {"nightly", "pipeline/demo.json", "--check"},
     0,
     "kiln tune zoo:dqn",
     NULL},
    {"plans_the_example_for_ci",
     {"nightly", "ci/nightly.json", "--check"},
     0,
     "kiln gate ",
     NULL},
    {"needs_a_database_to_freeze",
     {"nightly", "@p.json", "--frozen-db"},
     3,
     NULL,
     "t.db"},
    {"does_all_of_it", {"nightly", "@p.json"}, 0, "verdict: new\n", NULL},
    {"has_results",
     {"gate", "@out/latest", "--against", "@out/accepted"},
     0,
     "new",
     NULL},
    {"accepts_a_run",
     {"accept", "@out/latest", "--to", "@out/accepted"},
     0,
     NULL,
     NULL},
    {"finds_the_same_the_next_night",
     {"nightly", "@p.json", "--frozen-db"},
     0,
     "verdict: equal\n",
     NULL},
    {"refuses_a_part_that_nothing_is",
     {"nightly", "@p.json", "--only", "zz", "--check"},
     2,
     NULL,
     "--only must be MODEL[,PROFILE[,THREADS]] of some job, is 'zz'; jobs: a,native,1"},
    {"plans_a_part",
     {"nightly", "@p.json", "--only", "b,nat*", "--check"},
     0,
     ": 1 job, ",
     NULL},
    {"does_a_part",
     {"nightly", "@p.json", "--frozen-db", "--only", "a"},
     0,
     "history: not in it: it is a part of the pipeline: --only a\n",
     NULL},
    {"remembers_both_nights",
     {"history", "list", "@out/accepted"},
     0,
     "\n2 nights, ",
     NULL},
    {"knows_that_the_same_code_takes_the_same_time",
     {"history", "export", "@out/accepted"},
     0,
     ",1,1,1,",
     NULL},
    {"finds_its_history_sound",
     {"history", "check", "@out/accepted"},
     0,
     "0 problems\n",
     NULL},
    {"has_frozen_what_was_accepted_first",
     {"history", "freeze", "@out/accepted"},
     0,
     "nothing to do: what is accepted is frozen already\n",
     NULL},
    {"compares_a_run_with_itself",
     {"compare", "@out/latest", "@out/latest"},
     0,
     "\n0 of 2 jobs differ; ",
     NULL},
    {"asks_for_dynamic_dimensions", {"nightly", "@unbound.json"}, 1, "'x'", NULL},
    {"does_a_dynamic_model", {"nightly", "@dynamic.json"}, 0, "verdict: new\n", NULL},
    {"accepts_its_shapes",
     {"accept", "@dynamic/latest", "--to", "@dynamic/accepted"},
     0,
     NULL,
     NULL},
    {"gates_a_dynamic_model",
     {"nightly", "@dynamic.json", "--frozen-db"},
     0,
     "verdict: equal\n",
     NULL},
    {"says_that_shapes_have_changed",
     {"nightly", "@changed.json", "--frozen-db"},
     6,
     "input 'x' is f32[1,3,9,10] in the candidate, f32[1,3,7,11] in the accepted",
     NULL},
    {"reports_a_failing_model_and_goes_on",
     {"nightly", "@bad.json"},
     1,
     "bad, native, 1: build failed: ",
     NULL},
};

static void check(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

/* ---- killed ---------------------------------------------------------------------- */

static const char *at(const char *name) {
    return kiln_path_join(kiln_test_arena(), dir, name);
}

static pid_t start(const char *pipeline, const char *out, const char *option) {
    const char *kiln = getenv("KILN");
    if (kiln == NULL)
        kiln_test_skip("KILN does not name the kiln program: 'make e2e'");
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL ||
            freopen("/dev/null", "w", stderr) == NULL)
            _exit(126);
        execl(kiln, kiln, "nightly", pipeline, "--out", out, option, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static void finish(const char *pipeline, const char *out, const char *option) {
    int status = 0;
    const pid_t pid = start(pipeline, out, option);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A file that a rename replaces is another one. */
typedef struct found {
    const char *path;
    struct stat stat;
} found;
typedef KILN_VEC(found) founds;

static void find(const char *folder, const char *ending, founds *out) {
    char **names = NULL;
    size_t n = 0;
    kiln_err err = {0};
    if (!kiln_dir_exists(folder))
        return;
    kiln_assert_status_ok(kiln_dir_list(kiln_test_arena(), folder, &names, &n, &err),
                          &err);
    for (size_t i = 0; i < n; i++) {
        found f = {.path = kiln_path_join(kiln_test_arena(), folder, names[i])};
        if (lstat(f.path, &f.stat) != 0)
            continue; /* a temporary file of a child that is just dying */
        if (S_ISDIR(f.stat.st_mode))
            find(f.path, ending, out);
        else if (kiln_str_ends(kiln_str_from(names[i]), ending))
            kiln_vec_push(kiln_test_arena(), out, f);
    }
}

static bool is_same_file(const found *f) {
    struct stat now;
    return stat(f->path, &now) == 0 && now.st_ino == f->stat.st_ino &&
           now.st_mtim.tv_sec == f->stat.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == f->stat.st_mtim.tv_nsec;
}

static bool has_ended(const char *out) {
    return kiln_file_exists(kiln_path_join(kiln_test_arena(), out, "latest/run.json"));
}

/* Kills it so often, at random moments, or until a run has ended; what was finished at
 * any of them must be what is there at the end. */
static int kill_at_random(const char *pipeline, const char *out, const char *option,
                          int moments, int longest_ms, kiln_rng *rng) {
    founds finished = {.n = 0};
    int status = 0, n = 0;
    for (; n < moments && !has_ended(out); n++) {
        const pid_t pid = start(pipeline, out, option);
        poll(NULL, 0, 20 + (int)(kiln_rng_next(rng) % (uint64_t)longest_ms));
        (void)kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status)) /* it was faster */
            assert_int_equal(WEXITSTATUS(status), 0);
        find(out, "done.json", &finished);
    }
    if (!has_ended(out))
        finish(pipeline, out, option);
    for (size_t i = 0; i < finished.n; i++)
        if (!is_same_file(&finished.v[i]))
            fail_msg("'%s' was finished, and was made again", finished.v[i].path);
    return n;
}

/* No trial is there twice, and nothing is damaged. */
static void holds_each_trial_once(const char *path) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_db *db = NULL;
    kiln_db_stats s;
    kiln_db_problems p;
    kiln_assert_status_ok(kiln_db_open(a, path, NULL, &db, &err), &err);
    kiln_assert_status_ok(kiln_db_check(db, a, &p, &err), &err);
    kiln_assert_status_ok(kiln_db_stats_of(db, a, &s, &err), &err);
    assert_true(s.n_tasks > 0 && s.n_trials > 0);
    int64_t n = 0;
    for (int64_t task = 1; task <= s.n_tasks; task++) {
        kiln_db_trials t = {.list = {.n = 0}};
        kiln_map seen = {0};
        kiln_assert_status_ok(kiln_db_trials_of(db, a, task, &t, &err), &err);
        for (size_t i = 0; i < t.list.n; i++) {
            const kiln_db_trial *x = &t.list.v[i];
            const char *key = kiln_format(a, "%s %s %lld", x->candidate.tmpl,
                                          x->candidate.config, (long long)x->round);
            if (!kiln_map_set(a, &seen, kiln_str_from(key), db))
                fail_msg("task %lld has twice: %s", (long long)task, key);
        }
        n += (int64_t)t.list.n;
    }
    kiln_db_close(db);
    assert_int_equal(n, s.n_trials);
    if (p.line.n > 0)
        fail_msg("%s", p.line.v[0]);
}

static void killed_at_random(void **state) {
    (void)state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    const int n = kill_at_random(at("killed.json"), at("killed"), NULL,
                                 kiln_test_times(3, 20), 2500, &rng);
    print_message("killed %d times\n", n);
    holds_each_trial_once(at("killed/tuning.db"));
}

static kiln_str bytes_of(const char *path) {
    kiln_str bytes;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &bytes, &err),
                          &err);
    return bytes;
}

/* With records of the tests before. */
static void frozen_archives_are_equal(void **state) {
    (void)state;
    founds want = {.n = 0}, got = {.n = 0};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed() + 1);
    finish(at("p.json"), at("still"), "--frozen-db");
    const int n = kill_at_random(at("p.json"), at("moved"), "--frozen-db",
                                 kiln_test_times(3, 20), 1000, &rng);
    print_message("killed %d times\n", n);
    find(at("still"), ".kiln.tar.zst", &want);
    find(at("moved"), ".kiln.tar.zst", &got);
    assert_int_equal(want.n, 2);
    assert_int_equal(got.n, 2);
    for (size_t i = 0; i < got.n; i++) {
        const kiln_str a = bytes_of(want.v[i].path), b = bytes_of(got.v[i].path);
        if (!kiln_str_eq(a, b))
            fail_msg("'%s' and '%s' differ", want.v[i].path, got.v[i].path);
    }
}

/* ---- pipelines ------------------------------------------------------------------- */

static void write_file(const char *name, const char *text) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(at(name), text, strlen(text), &err), &err);
}

/* Of an image of any size and number, four channels. */
static void write_dynamic_model(void) {
    kiln_onnx_writer w;
    kiln_onnx_writer_init(&w, kiln_test_arena(), "dynamic");
    kiln_onnx_put_input(&w, "x", KILN_ONNX_FLOAT, "N,3,H,W");
    kiln_onnx_put_uniform(&w, "w", "4,3,3,3", 1, -1, 1);
    kiln_onnx_put_node(&w, "Conv", "conv", "x,w", "c");
    kiln_onnx_put_node(&w, "Relu", "relu", "c", "y");
    kiln_onnx_put_output(&w, "y", KILN_ONNX_FLOAT, "N,4,P,Q");
    const kiln_str bytes = kiln_onnx_finish_model(&w, 8, 17);
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_write(at("dynamic.onnx"), bytes.p, bytes.n, &err),
                          &err);
}

static void write_dynamic_pipelines(void) {
    static const char form[] =
        "{\"out\": \"dynamic\", \"models\": [{\"name\": \"a\", \"source\": "
        "\"dynamic.onnx\"%s}], \"tune\": {\"trials\": 2, \"search\": \"random\"}, "
        "\"bench\": {\"rounds\": 2}, \"gate\": {\"accepted\": "
        "\"dynamic/accepted\"}, \"operators\": [{\"set\": \"one.txt\", \"seconds\": "
        "0.01}]}";
    kiln_arena *a = kiln_test_arena();
    write_file("one.txt", "relu one in=f32[8,32]\n");
    write_file("unbound.json", kiln_format(a, form, ""));
    write_file("dynamic.json",
               kiln_format(a, form, ", \"shapes\": {\"x\": [1, 3, 7, 11]}"));
    write_file("changed.json",
               kiln_format(a, form, ", \"shapes\": {\"x\": [1, 3, 9, 10]}"));
}

static void write_pipelines(void) {
    static const char form[] =
        "{\"models\": [{\"name\": \"a\", \"source\": \"%s/samplenet.onnx\","
        " \"golden\": \"%s/golden\"}, {\"name\": \"b\", \"source\":"
        " \"%s/samplenet.onnx\", \"version\": \"2\", \"numerics\": \"strict\","
        " \"tune\": null}], \"tune\": {\"trials\": %d, \"search\": \"random\"},"
        " \"bench\": {\"rounds\": 3}%s}";
    const char *model = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_path_real(kiln_test_arena(), "demo/samplenet", &model, &err), &err);
    write_file("p.json", kiln_format(kiln_test_arena(), form, model, model, model, 2,
                                     ", \"db\": \"t.db\", \"gate\": {\"accepted\": "
                                     "\"out/accepted\"}"));
    write_file("killed.json",
               kiln_format(kiln_test_arena(), form, model, model, model, 6, ""));
    write_file("wrong.json", "{\"models\": [{\"name\": \"a\", \"source\": \"zoo:dqn\", "
                             "\"threads\": 2}], \"gates\": {}}");
    write_file("bad.onnx", "no model");
    write_file(
        "bad.json",
        kiln_format(kiln_test_arena(),
                    "{\"out\": \"bad\", \"models\": [{\"name\": \"bad\", "
                    "\"source\": \"bad.onnx\"}, {\"name\": \"good\", \"source\": "
                    "\"%s/samplenet.onnx\"}], \"bench\": {\"rounds\": 3}}",
                    model));
}

int main(void) {
    kiln_test_own_home();
    dir = kiln_test_dir();
    write_pipelines();
    write_dynamic_model();
    write_dynamic_pipelines();
    kiln_test_add_rows(check, rows);
    kiln_test_add("killed_at_random", killed_at_random, NULL);
    kiln_test_add("frozen_archives_are_equal", frozen_archives_are_equal, NULL);
    return kiln_test_run("kiln nightly");
}
