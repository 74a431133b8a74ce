/* kiln tune from outside: what it prints and refuses; tuner, builder and runner killed
 * at random moments; three tuners on one file; records in a build. */
#include "tests/support/program/cli_run.h"
#include "tests/support/measuring/child_of.h"
#include "tests/support/measuring/measure_run.h"
#include "compiler/target/target.h"
#include "tuning_db/tuning_db.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *dir; /* one for all */

/* Its best stays far from its floor on every machine: none is given up. */
#define SMALL "matmul small m=5 k=60 n=36"

/* ---- rows ------------------------------------------------------------------------ */

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"has_an_example", {"tune", "--help"}, 0, "example:\n", NULL},
    {"tunes_an_operator",
     {"tune", "--op", SMALL, "--trials", "6", "--db", "@t.db"},
     0,
     "6 trials in ",
     NULL},
    {"measures_nothing_twice",
     {"tune", "--op", SMALL, "--trials", "6", "--db", "@t.db", "--json", "-"},
     0,
     "\"new_trials\": 0",
     NULL},
    {"goes_on",
     {"tune", "--op", SMALL, "--trials", "9", "--search", "random", "--db", "@t.db"},
     0,
     "3 trials in ",
     NULL},
    {"leaves_a_sound_file", {"db", "check", "--db", "@t.db"}, 0, "no problems", NULL},
    {"makes_a_network", {"zoo", "make", "dqn", "-o", "@dqn.onnx"}, 0, NULL, NULL},
    {"tunes_a_network",
     {"tune", "@dqn.onnx", "--trials", "4", "--db", "@t.db"},
     0,
     "in the network: ",
     NULL},
    /* Of so few trials most kernels get one: they are timed, not tuned. */
    {"builds_with_records",
     {"build", "@dqn.onnx", "--profile", "native", "--db", "@t.db", "--require-tuned",
      "1%", "-o", "@dqn.kiln.tar.zst"},
     0,
     "tuned",
     NULL},
    {"the_package_is_right", {"verify", "@dqn.kiln.tar.zst"}, 0, NULL, NULL},
    {"looks_at_other_layouts",
     {"tune", "@dqn.onnx", "--trials", "4", "--db", "@l.db"},
     0,
     "in other layouts: ",
     NULL},
    {"searches_for_layouts_by_records",
     {"build", "@dqn.onnx", "--profile", "native", "--layouts", "search", "--db",
      "@l.db", "-o", "@layouts.kiln.tar.zst"},
     0,
     "layouts: search expects ",
     NULL},
    {"what_it_found_is_right", {"verify", "@layouts.kiln.tar.zst"}, 0, NULL, NULL},
    {"conversions_leave_a_sound_file",
     {"db", "check", "--db", "@l.db"},
     0,
     "no problems",
     NULL},
    {"conversions_are_no_ready_records",
     {"db", "export", "--best", "--db", "@l.db", "-o", "@best.jsonl"},
     0,
     NULL,
     NULL},
    {"a_build_may_want_more",
     {"build", "@dqn.onnx", "--profile", "x86-baseline", "--db", "@t.db",
      "--require-tuned", "50%", "-o", "@base.kiln.tar.zst"},
     1,
     " --profile x86-baseline --db ",
     NULL},
    {"wants_an_address_of_a_runner",
     {"tune", "--op", SMALL, "--trials", "1", "--runner", "there", "--db", "@u.db"},
     2,
     NULL,
     "there is no device 'there', and it is no address; kiln device add"},
    {"wants_something_to_tune", {"tune", "--db", "@t.db"}, 2, NULL, "say what to tune"},
    {"wants_one_thing",
     {"tune", "@dqn.onnx", "--ops", "gemm", "--db", "@t.db"},
     2,
     NULL,
     "say what to tune"},
    {"wants_a_time",
     {"tune", "@dqn.onnx", "--time-limit", "soon", "--db", "@t.db"},
     2,
     NULL,
     "--time-limit must be a time such as 90s, 15m or 2h"},
    {"goes_on_to_some_end",
     {"tune", "--op", SMALL, "--no-early-end", "--db", "@t.db"},
     2,
     NULL,
     "--no-early-end needs an end: --trials or --time-limit"},
    {"goes_on_where_nothing_is_expected",
     {"tune", "--op", SMALL, "--trials", "300", "--no-early-end", "--db", "@e.db"},
     0,
     "300 trials in ",
     NULL},
    {"summarizes_for_programs",
     {"tune", "@dqn.onnx", "--trials", "2", "--db", "@j.db", "--json", "-"},
     0,
     "\"in_network\": {",
     NULL},
    {"tunes_strict_numerics",
     {"tune", "--op", SMALL, "--trials", "2", "--numerics", "strict", "--db", "@t.db"},
     0,
     "2 trials in ",
     NULL},
    {"binds_only_models",
     {"tune", "--op", SMALL, "--shape", "x:1", "--db", "@t.db"},
     2,
     NULL,
     "--shape and --bind are for a model"},
    {"leaves_the_network_for_later",
     {"tune", "@dqn.onnx", "--trials", "5", "--time-limit", "0.001", "--db", "@n.db"},
     0,
     "0 trials in ",
     NULL},
    {"learns_from_loops",
     {"tune", "--op", SMALL, "--trials", "8", "--cost-model", "treegru", "--db",
      "@tree.db"},
     0,
     "8 trials in ",
     NULL},
    {"recalls_what_loops_taught",
     {"tune", "--op", "matmul other m=6 k=60 n=36", "--trials", "8", "--cost-model",
      "treegru", "--db", "@tree.db"},
     0,
     "8 trials in ",
     NULL},
    {"knows_its_models",
     {"tune", "--op", SMALL, "--cost-model", "luck", "--db", "@t.db"},
     2,
     NULL,
     "--cost-model must be one of xgboost bootstrap treegru knobs random, is 'luck'"},
    /* A golden log, whose first line is a sentence; others end its input. */
    {"begins_with_hints",
     {"tune", "--op", "matmul fc m=128 k=768 n=3072", "--trials", "3", "--hints",
      "tests/pipeline/tune/golden/hints/autotvm.txt", "--hints",
      "tests/pipeline/tune/golden/hints/ansor.txt", "--db", "@h.db"},
     0,
     "3 trials in ",
     " for 1 of 1 kernel"},
    {"measures_hints_itself",
     {"db", "export", "--db", "@h.db"},
     0,
     "tile_m\\\": 8, \\\"tile_n\\\": 32, \\\"block_m\\\": 4",
     NULL},
    {"wants_the_log_that_is_named",
     {"tune", "--op", SMALL, "--hints", "@none.log", "--db", "@t.db"},
     3,
     NULL,
     "none.log"},
    {"knows_its_searches",
     {"tune", "--op", SMALL, "--search", "luck", "--db", "@t.db"},
     2,
     NULL,
     "--search must be one of"},
    {"knows_its_templates",
     {"tune", "--op", SMALL, "--template", "luck", "--db", "@t.db"},
     2,
     NULL,
     "--template must be one of conv_1x1"},
    {"says_what_a_template_does_not_take",
     {"tune", "--op", SMALL, "--template", "pool", "--db", "@t.db"},
     2,
     NULL,
     "template 'pool' takes none of the 1 kernel,"},
    {"needs_a_machine_that_runs_it",
     {"tune", "--op", SMALL, "--profile", "aarch64", "--db", "@t.db"},
     3,
     NULL,
     "aarch64"},
};

static void check(void **state) {
    kiln_arena a = {0};
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

/* ---- killed ---------------------------------------------------------------------- */

static pid_t start(const char *db, int trials) {
    const char *kiln = getenv("KILN");
    if (kiln == NULL)
        kiln_test_skip("KILN does not name the kiln program: 'make e2e'");
    const char *count = kiln_format(kiln_test_arena(), "%d", trials);
    const pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL ||
            freopen("/dev/null", "w", stderr) == NULL)
            _exit(126);
        execl(kiln, kiln, "tune", "--op", SMALL, "--trials", count, "--search",
              "random", "--db", db, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static void holds(const char *path, int trials) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    kiln_db_stats s;
    kiln_db_problems p;
    kiln_assert_status_ok(kiln_db_open(kiln_test_arena(), path, NULL, &db, &err), &err);
    kiln_assert_status_ok(kiln_db_check(db, kiln_test_arena(), &p, &err), &err);
    kiln_assert_status_ok(kiln_db_stats_of(db, kiln_test_arena(), &s, &err), &err);
    kiln_db_close(db);
    if (p.line.n > 0)
        fail_msg("%s", p.line.v[0]);
    assert_int_equal(s.n_trials - s.n_repeats, trials); /* noisy ones come again */
}

static void ends_well(pid_t pid, const char *db, int trials) {
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    holds(db, trials);
}

/* The tuner itself, or one of its workers, dies every now and then; whenever a search
 * is over, another begins. So few trials that none is given up for lack of gain. Not
 * more than two workers in a row: a pool rightly gives up when a third one in a row
 * does not live until it is up, which takes long on a slow machine. */
static void killed_at_random(void **state) {
    (void)state;
    const int moments = kiln_test_times(5, 30), trials = 30;
    const char *db = kiln_path_join(kiln_test_arena(), dir, "killed.db");
    int n_workers = 0; /* killed in a row */
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    pid_t pid = start(db, trials);
    for (int i = 0; i < moments; i++) {
        siginfo_t end = {.si_pid = 0};
        poll(NULL, 0, 50 + (int)(kiln_rng_next(&rng) % 1500));
        const uint64_t draw = kiln_rng_next(&rng);
        const bool takes_tuner = draw % 2 == 0 || n_workers == 2;
        const pid_t child = takes_tuner ? 0 : kiln_test_a_child_of(pid, draw >> 8);
        assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT),
                         0);
        if (end.si_pid == pid) {
            ends_well(pid, db, trials);
            db = kiln_format(kiln_test_arena(), "%s/killed-%d.db", dir, i);
            pid = start(db, trials);
            continue;
        }
        kill(child != 0 ? child : pid, SIGKILL);
        n_workers = child != 0 ? n_workers + 1 : 0;
        if (child == 0) {
            assert_int_equal(waitpid(pid, NULL, 0), pid);
            pid = start(db, trials);
        }
    }
    ends_well(pid, db, trials);
}

static void three_tuners_share_a_file(void **state) {
    (void)state;
    enum { TRIALS = 24 };
    const char *db = kiln_path_join(kiln_test_arena(), dir, "shared.db");
    pid_t pid[3];
    for (int i = 0; i < 3; i++)
        pid[i] = start(db, TRIALS);
    for (int i = 0; i < 3; i++) {
        int status = 0;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    kiln_err err = {0};
    kiln_db *file = NULL;
    kiln_db_stats s;
    kiln_assert_status_ok(kiln_db_open(kiln_test_arena(), db, NULL, &file, &err), &err);
    kiln_assert_status_ok(kiln_db_stats_of(file, kiln_test_arena(), &s, &err), &err);
    kiln_db_close(file);
    holds(db, TRIALS); /* neither more nor one twice */
}

static void measures_where_a_runner_listens(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_test_server server;
    kiln_test_serve(&a, kiln_format(&a, "unix:%s/runner", dir), &server);
    const kiln_test_cli_row row = {"elsewhere",
                                   {"tune", "--op", SMALL, "--trials", "6", "--runner",
                                    server.address, "--db", "@elsewhere.db"},
                                   0,
                                   "6 trials in ",
                                   NULL};
    (void)kiln_test_cli_check(&a, dir, &row);
    kiln_test_server_kill(&server);
    kiln_arena_fini(&a);
}

static kiln_test_cli_row *row_named(const char *name) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    abort();
}

/* Two hints are tiles of 8 by 32 and of 6 by 64, more sums than 16 registers of 8 lanes
 * are: there they are left out, the third is measured, and no gain may be expected
 * behind it. */
static void expect_what_registers_hold(void) {
    kiln_arena a = {0};
    kiln_profile p;
    kiln_err err = {0};
    if (kiln_profile_detect(&a, &p, &err) != KILN_OK) {
        fprintf(stderr, "%s\n", err.text);
    } else if (p.vector_registers < 32 || p.vector_bytes < 64) {
        row_named("begins_with_hints")->out = " trials in ";
        row_named("measures_hints_itself")->out = "tile_m\\\": 4, \\\"tile_n\\\": 16";
    }
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_own_home();
    expect_what_registers_hold();
    dir = kiln_test_dir();
    kiln_test_add_rows(check, rows);
    kiln_test_add("measures_where_a_runner_listens", measures_where_a_runner_listens,
                  NULL);
    kiln_test_add("killed_at_random", killed_at_random, NULL);
    kiln_test_add("three_tuners_share_a_file", three_tuners_share_a_file, NULL);
    return kiln_test_run("kiln tune");
}
