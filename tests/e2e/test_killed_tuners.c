/* Four tuners on one file, whose builder makes kernels that crash, hang, write where they
 * must not or compute something else, or does so itself; and every now and then a tuner,
 * or a worker of one, is killed. Nothing wrong is accepted, no trial that was stored is
 * lost, and none is there twice. This program is also the builder, from a script that
 * kiln finds in the place of its own:
 *
 *     test_killed_tuners --builder FOLDER     objects of the faults are in FOLDER
 *
 * KILN_SOAK=1: 1000 faulty candidates, 50 kills. */
#include "compiler/schedule/template.h"
#include "compiler/target/target.h"
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/child_of.h"
#include "tests/support/measuring/faulty_builder.h"
#include "tests/support/measuring/measure_run.h"
#include "tests/support/program/cli_run.h"
#include "tuning_db/tuning_db.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A worker that dies before it is up, three times in a row, ends its tuner: that many
 * are not killed without a tuner between. */
enum { TUNERS = 4, WORKERS_IN_A_ROW = 2 };
static const char op[] = "conv F 5 8 8 3 1";

static const char *self, *dir, *db_path;

typedef struct crew {
    pid_t pid[TUNERS];
    int n_trials;                        /* of all of them */
    int n_workers, n_in_a_row, n_tuners; /* killed */
    kiln_rng rng;
} crew;

/* ---- a place with a builder of ours ---------------------------------------------- */

static void link_beside(const char *name) {
    kiln_arena *a = kiln_test_arena();
    const char *to = kiln_test_worker(a, name)[0];
    const char *path = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_path_real(a, to, &path, &err), &err);
    assert_int_equal(symlink(path, kiln_path_join(a, dir, name)), 0);
}

static void make_place(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const char *program = NULL, *path = kiln_path_join(a, dir, "kiln-builder");
    link_beside("kiln-runner");
    kiln_assert_status_ok(kiln_path_real(a, self, &program, &err), &err);
    const char *script =
        kiln_format(a, "#!/bin/sh\nexec '%s' --builder '%s'\n", program, dir);
    kiln_assert_status_ok(kiln_file_write(path, script, strlen(script), &err), &err);
    assert_int_equal(chmod(path, S_IRWXU), 0);
    kiln_test_compile_faults(a, dir);
    assert_int_equal(setenv("KILN_LIBEXEC", dir, 1), 0);
}

/* ---- the crew -------------------------------------------------------------------- */

static const char *said_by(int i) {
    kiln_arena *a = kiln_test_arena();
    return kiln_path_join(a, dir, kiln_format(a, "said-%d.txt", i));
}

static pid_t start(int n_trials, int i) {
    const char *kiln = getenv("KILN");
    const char *count = kiln_format(kiln_test_arena(), "%d", n_trials);
    const pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL ||
            freopen(said_by(i), "w", stderr) == NULL)
            _exit(126);
        execl(kiln, kiln, "tune", "--op", op, "--trials", count, "--search", "random",
              "--no-early-end", "--db", db_path, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

/* Well; or with nothing that works, where the others have claimed the rest of the trials
 * and found nothing yet. */
static void ended(int i, int status) {
    enum { NONE_WORKS = 4 };
    kiln_str said = {"", 0};
    kiln_err err = {0};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    (void)kiln_file_map(kiln_test_arena(), said_by(i), 0, &said, &err);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != NONE_WORKS ||
        strstr(kiln_str_dupv(kiln_test_arena(), said), "gave a kernel that works") ==
            NULL)
        fail_msg("tuner %d ended with %#x:\n%.*s", i, (unsigned)status, (int)said.n,
                 said.p);
}

/* False: it was over. */
static bool is_at_work(const crew *c, int i) {
    int status = 0;
    if (waitpid(c->pid[i], &status, WNOHANG) == 0)
        return true;
    ended(i, status);
    return false;
}

/* A tuner, which begins anew, or a worker of it. */
static void kill_one(crew *c) {
    const int i = (int)kiln_rng_range(&c->rng, 0, TUNERS - 1);
    const bool takes_tuner =
        kiln_rng_range(&c->rng, 0, 1) == 0 || c->n_in_a_row == WORKERS_IN_A_ROW;
    const uint64_t draw = kiln_rng_next(&c->rng);
    const int worker = takes_tuner ? 0 : kiln_test_a_child_of(c->pid[i], draw);
    if (worker != 0) {
        (void)kill(worker, SIGKILL);
        c->n_workers++;
        c->n_in_a_row++;
        return;
    }
    if (is_at_work(c, i)) {
        int status = 0;
        (void)kill(c->pid[i], SIGKILL);
        assert_int_equal(waitpid(c->pid[i], &status, 0), c->pid[i]);
    }
    c->n_tuners++;
    c->n_in_a_row = 0;
    c->pid[i] = start(c->n_trials, i);
}

/* ---- what must hold -------------------------------------------------------------- */

static kiln_db *open_file(void) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    kiln_assert_status_ok(kiln_db_open(kiln_test_arena(), db_path, NULL, &db, &err),
                          &err);
    return db;
}

/* Those of one candidate are one. */
static int64_t n_stored(void) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_db_stats s;
    kiln_db *db = open_file();
    kiln_assert_status_ok(kiln_db_stats_of(db, &a, &s, &err), &err);
    kiln_db_close(db);
    kiln_arena_fini(&a);
    return s.n_trials - s.n_repeats;
}

typedef struct found {
    int n, n_good, n_faulty, n_other; /* other: than its fault ends */
} found;

static const kiln_test_fault *fault_of(const kiln_profile *p, const kiln_op_work *w,
                                       const kiln_db_candidate *c) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_space space;
    const kiln_json *json = NULL;
    kiln_config config;
    const kiln_template *t = kiln_template_find(kiln_str_from(c->tmpl));
    assert_non_null(t);
    kiln_space_init(&space, a);
    kiln_assert_status_ok(t->space(&w->workload, p, &space, &err), &err);
    kiln_assert_status_ok(
        kiln_json_parse(a, kiln_str_from(c->config), "a trial", &json, &err), &err);
    kiln_assert_status_ok(kiln_config_parse(json, t, &space, &config, &err), &err);
    return kiln_test_fault_drawn(kiln_config_index(&space, &config));
}

/* What was accepted is what is right; what is right and was not is among what a worker
 * was killed with. */
static void look_at(const kiln_db_trial *t, const kiln_test_fault *f, bool is_confined,
                    found *out) {
    const bool is_good = t->error == NULL || t->error[0] == '\0' ||
                         strcmp(t->error, kiln_trial_error_name(KILN_TRIAL_SLOW)) == 0;
    const kiln_trial_error want = kiln_test_fault_ends(f, is_confined);
    if (is_good && want != KILN_TRIAL_GOOD)
        fail_msg("%s was accepted: %s", f->name, t->candidate.config);
    out->n++;
    out->n_good += is_good;
    out->n_faulty += want != KILN_TRIAL_GOOD;
    if (!is_good && strcmp(t->error, kiln_trial_error_name(want)) != 0) {
        print_message("%s: '%s' (%s)\n", f->name, t->error, t->detail);
        out->n_other++;
    }
}

static void look_at_all(bool is_confined, found *out) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile p;
    kiln_op_line line;
    kiln_op_work w;
    kiln_db_tasks tasks = {.list = {0}};
    kiln_db *db = open_file();
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(kiln_op_line_of(a, op, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &line, &w, &err), &err);
    kiln_assert_status_ok(kiln_db_tasks_of(db, a, &tasks, &err), &err);
    for (size_t i = 0; i < tasks.list.n; i++) {
        int64_t id;
        kiln_db_trials trials = {.list = {0}};
        kiln_assert_status_ok(kiln_db_task_id(db, &tasks.list.v[i], &id, &err), &err);
        kiln_assert_status_ok(kiln_db_trials_of(db, a, id, &trials, &err), &err);
        for (size_t k = 0; k < trials.list.n; k++) {
            const kiln_db_trial *t = &trials.list.v[k];
            if (t->round == 0)
                look_at(t, fault_of(&p, &w, &t->candidate), is_confined, out);
        }
    }
    kiln_db_close(db);
}

static void is_sound(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_db_problems p = {.line = {0}};
    kiln_db *db = open_file();
    kiln_assert_status_ok(kiln_db_check(db, a, &p, &err), &err);
    kiln_db_close(db);
    if (p.line.n > 0)
        fail_msg("%s", p.line.v[0]);
}

static bool fleet_is_confined(void) {
    kiln_arena a = {0};
    kiln_measure_options o = {.threads = 1};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const bool is_confined = kiln_measure_count(m).is_confined;
    kiln_measure_close(m);
    kiln_arena_fini(&a);
    return is_confined;
}

/* ---- the test -------------------------------------------------------------------- */

/* Kills are as many parts of the trials apart. */
static void work_and_kill(crew *c, int kills) {
    enum { LOOK_MS = 50, LATER_MS = 400 };
    int64_t stored = 0;
    for (int i = 0; i < TUNERS; i++)
        c->pid[i] = start(c->n_trials, i);
    for (int k = 0; k < kills; k++) {
        const int64_t until = (int64_t)c->n_trials * k / kills;
        while (stored < until) {
            const int64_t now = n_stored();
            assert_true(now >= stored); /* nothing that was stored is lost */
            stored = now;
            kiln_test_pause_ms(LOOK_MS);
        }
        kiln_test_pause_ms(kiln_rng_range(&c->rng, 0, LATER_MS));
        kill_one(c);
    }
    for (int i = 0; i < TUNERS; i++) {
        int status = 0;
        assert_int_equal(waitpid(c->pid[i], &status, 0), c->pid[i]);
        ended(i, status);
    }
    assert_true(n_stored() >= stored);
}

static void accept_nothing_wrong_and_lose_nothing(void **state) {
    (void)state;
    crew c = {.n_trials = kiln_test_times(20, 1500)};
    found f = {.n = 0};
    const bool is_confined = fleet_is_confined();
    kiln_rng_init(&c.rng, kiln_test_seed());
    make_place();
    work_and_kill(&c, kiln_test_times(2, 50));
    is_sound();
    look_at_all(is_confined, &f);
    print_message("%d candidates, %d faulty, %d accepted; %d tuners and %d workers "
                  "killed\n",
                  f.n, f.n_faulty, f.n_good, c.n_tuners, c.n_workers);
    assert_int_equal(f.n, c.n_trials); /* neither more nor one twice */
    assert_true(f.n_faulty >= kiln_test_times(1, 1000));
    assert_true(f.n_good >= kiln_test_times(0, 100)); /* few may have none */
    assert_true(f.n_other <= c.n_workers);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--builder") == 0)
        return kiln_test_faulty_builder(argv[2], kiln_test_fault_drawn);
    self = argv[0];
    kiln_test_own_home();
    dir = kiln_test_dir();
    db_path = kiln_path_join(kiln_test_arena(), dir, "shared.db");
    kiln_test_add("accept_nothing_wrong_and_lose_nothing",
                  accept_nothing_wrong_and_lose_nothing, NULL);
    return kiln_test_run("killed tuners");
}
