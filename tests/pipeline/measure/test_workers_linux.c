/* The fleet and its workers: what comes back, who is started again, who ends with whom.
 * Linux, for /proc. This program is also a coordinator that is killed:
 *
 *     test_workers_linux --coordinate     opens a fleet, and never ends
 */
#include <dirent.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/measure/measure_fleet.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

static const char small[] = "conv S 8 16 16 3 1";
static const char *self;

/* ---- what comes back ------------------------------------------------------------- */

static kiln_measured measure_one(kiln_measure *m, const kiln_measure_candidate *c) {
    kiln_err err = {0};
    kiln_measured got = {.id = 0};
    uint64_t id;
    kiln_assert_status_ok(kiln_measure_submit(m, c, &id, &err), &err);
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
    assert_int_equal(got.id, id);
    return got;
}

/* The share of the peak is one of the slices', whatever disturbs them. */
static void has_a_share(const kiln_measured *got, int64_t flops) {
    double least = DBL_MAX, most = 0;
    for (size_t i = 0; i < got->n_slices; i++) {
        const kiln_slice *s = &got->slice[i];
        const double share = (double)flops / s->ns / s->peak_gflops;
        least = fmin(least, share);
        most = fmax(most, share);
    }
    assert_true(got->peak_share >= least && got->peak_share <= most);
}

/* In calm weather nothing beats the peak. Who takes a processor from all loops that
 * measure the peak and from none of the kernel's leaves no noise to see: of a few rounds
 * one is calm. */
static kiln_measured measure_calmly(kiln_measure *m, const kiln_measure_candidate *c) {
    enum { ROUNDS = 8 };
    kiln_measured got = {.peak_share = HUGE_VAL};
    for (int i = 0; i < ROUNDS && got.peak_share >= 1.5 && !got.is_noisy; i++)
        got = measure_one(m, c);
    assert_true(got.peak_share < 1.5 || got.is_noisy);
    return got;
}

typedef struct good_row {
    const char *name, *line;
    int threads;
    bool is_cold;
    const kiln_template *tmpl; /* NULL: by rule */
} good_row;

static good_row good_rows[] = {
    {"warm", small, 1, false, NULL},
    {"weights_cold", small, 1, true, NULL},
    {"two_threads", "conv T 28 32 32 3 1", 2, false, NULL},
    {"depthwise", "dw D 14 32 32 3 1", 1, true, NULL},
    {"product", "mm M 8 64 48", 1, true, NULL},
    {"integers", "add A in=i32[3,17] in=i32[3,17]", 1, false, NULL},
    {"halves", "relu R in=f16[5,33]", 1, false, NULL},
    {"many_elements", "conv P 20 64 32 3 1 ", 1, true, NULL},
    {"packed_by_code", "conv W 9 19 21 3 1", 1, true, &kiln_template_conv_winograd},
};

static void take_template(kiln_arena *a, kiln_test_work *w, const kiln_template *t,
                          const kiln_profile *p) {
    kiln_err err = {0};
    w->tmpl = t;
    kiln_space_init(&w->space, a);
    kiln_assert_status_ok(t->space(&w->op.workload, p, &w->space, &err), &err);
}

static void proves_and_times(void **state) {
    const good_row *row = *state;
    kiln_arena a = {0};
    kiln_measure_options o = {.threads = row->threads,
                              .budget_ms = 5,
                              .keeps_objects = true,
                              .measures_spilling = true};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, row->line, row->is_cold);
    if (row->tmpl != NULL)
        take_template(&a, &w, row->tmpl, o.profile);
    const kiln_measure_candidate c = {.work = w.id,
                                      .tmpl = w.tmpl,
                                      .config = kiln_test_measure_guess(&w, o.profile),
                                      .user = &a};
    const kiln_measured got = measure_calmly(m, &c);
    if (got.error != KILN_TRIAL_GOOD)
        fail_msg("%s: %s", kiln_trial_error_name(got.error), got.text);
    assert_int_equal(got.n_seeds, KILN_MEASURE_SEEDS);
    assert_true(got.worst <= 1 && got.median_ns > 0 && got.n_slices >= 7);
    has_a_share(&got, w.op.cost.flops);
    assert_true(got.n_runs >= (int64_t)got.n_slices);
    assert_ptr_equal(got.user, &a);
    assert_true(got.object.n > 0 && got.object.n == got.code_bytes);
    assert_true(strchr(got.layouts, '[') != NULL);
    assert_int_equal(kiln_measure_pending(m), 0);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

static void stops_losers_early(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_measure_options o = {.budget_ms = 5, .measures_spilling = true};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w =
        kiln_test_measure_add(&a, m, o.profile, "conv L 28 64 64 3 1", false);
    kiln_measure_candidate c = {
        .work = w.id, .tmpl = w.tmpl, .config = kiln_test_measure_guess(&w, o.profile)};
    const double full_ns = measure_one(m, &c).median_ns;
    /* Below what any could reach, if the first was measured at a bad moment; once
     * hopelessly, once not. */
    for (int i = 0; i < 2; i++) {
        kiln_measure_set_best(m, w.id, i == 0 ? 1 : full_ns / 20);
        const kiln_measured got = measure_one(m, &c);
        assert_int_equal(got.error, KILN_TRIAL_SLOW);
        assert_true(got.n_slices > 0 && got.n_slices <= 7 && got.median_ns > 0);
    }
    c.never_stops_early = true;
    assert_int_equal(measure_one(m, &c).error, KILN_TRIAL_GOOD);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* Code that goes to the stack in its hot loops is not worth a measurement, unless who
 * asks says that it is: a build would take it. */
static void measures_what_spills_on_demand(void **state) {
    enum { TRIED = 24 };
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p; /* with few registers */
    kiln_assert_status_ok(kiln_profile_find(&a, "x86-avx2", &p, &err), &err);
    if (kiln_runs_here(&p, &err) != KILN_OK)
        kiln_test_skip("%s", err.text);
    kiln_measure_options o = {.profile = &p, .budget_ms = 5};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w =
        kiln_test_measure_add(&a, m, &p, "dw D 65 256 256 3 1", false);
    kiln_measure_candidate c = {.work = w.id, .tmpl = w.tmpl};
    kiln_measured got = {.error = KILN_TRIAL_GOOD};
    for (uint64_t i = 0; i < TRIED && got.error != KILN_TRIAL_SPILLS; i++) {
        c.config = w.space.size - 1 - w.space.size / TRIED * i; /* large tiles first */
        got = measure_one(m, &c);
    }
    assert_int_equal(got.error, KILN_TRIAL_SPILLS);
    c.takes_spills = true;
    got = measure_one(m, &c);
    assert_int_equal(got.error, KILN_TRIAL_GOOD);
    assert_true(got.n_slices > 0 && got.spills > 0);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* Kernels that need every CPU: built while the caller thinks, timed once it waits. */
static void lets_the_caller_think(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    uint64_t id;
    kiln_measured got;
    kiln_measure_options o = {
        .threads = kiln_cpus_own().n, .budget_ms = 5, .loser = -1};
    if (o.threads > KILN_POOL_MAX_THREADS)
        kiln_test_skip("a kernel cannot have as many threads as there are CPUs here");
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, small, false);
    const kiln_measure_candidate c = {
        .work = w.id, .tmpl = w.tmpl, .config = kiln_test_measure_guess(&w, o.profile)};
    for (int round = 0; round < 2; round++) {
        const double before_s = kiln_measure_count(m).building_s;
        kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
        while (kiln_measure_count(m).building_s <= before_s)
            kiln_test_pause_ms(1);
        /* What is built is dispatched under the same lock, if it is at all. */
        assert_int_equal(kiln_measure_count(m).runs, round);
        assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
        assert_int_equal(got.error, KILN_TRIAL_GOOD);
        assert_int_equal(kiln_measure_count(m).runs, round + 1);
    }
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

static void refuses_wrong_use(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    uint64_t id;
    kiln_measured got;
    kiln_measure_options o = {.threads = 1};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    assert_false(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got)); /* at once */
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, small, false);
    kiln_measure_candidate c = {.work = w.id + 1, .tmpl = w.tmpl};
    kiln_assert_fails(kiln_measure_submit(m, &c, &id, &err), KILN_ERR_ARG, &err,
                      "there is no workload 1");
    c.work = w.id;
    c.config = w.space.size;
    got = measure_one(m, &c);
    assert_int_equal(got.error, KILN_TRIAL_REFUSED);
    assert_non_null(strstr(got.text, "is outside of"));
    c.config = kiln_test_measure_guess(&w, o.profile);
    for (int i = 0; i < KILN_MEASURE_MAX_QUEUED; i++)
        kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
    kiln_assert_fails(kiln_measure_submit(m, &c, &id, &err), KILN_ERR_LIMIT, &err,
                      "on their way already");
    /* What is on its way when the fleet ends never comes back. */
    assert_int_equal(kiln_measure_pending(m), KILN_MEASURE_MAX_QUEUED);
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
    assert_int_equal(kiln_measure_pending(m), KILN_MEASURE_MAX_QUEUED - 1);
    kiln_measure_close(m);
    kiln_measure_close(NULL);
    kiln_arena_fini(&a);
}

typedef struct start_row {
    const char *name, *program, *text;
} start_row;

static start_row start_rows[] = {
    {"missing", "/nonexistent/kiln-runner", "cannot run the worker '/nonexistent/"},
    {"ends_at_once", "/bin/true",
     "workers do not start: the runner ended: exit code 0"},
    {"says_something_else", "/bin/date", "a worker's message does not start as one"},
};

static void reports_workers_that_do_not_start(void **state) {
    const start_row *row = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_measure *m = NULL;
    const char *const argv[] = {row->program, NULL};
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    const kiln_measure_options o = {.profile = &p,
                                    .builder_argv =
                                        kiln_test_worker(&a, "kiln-builder"),
                                    .runner_argv = argv};
    kiln_assert_fails(kiln_measure_open(&a, &o, &m, &err), KILN_ERR_IO, &err,
                      row->text);
    assert_null(m);
    kiln_arena_fini(&a);
}

/* ---- processes ------------------------------------------------------------------- */

enum { MAX_CHILDREN = 64 };

static int parent_of(int pid) {
    char path[64], text[512];
    int parent = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return 0;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    const char *behind = strrchr(text, ')'); /* names may hold anything */
    return behind != NULL && sscanf(behind, ") %*c %d", &parent) == 1 ? parent : 0;
}

static size_t children_of(int parent, int pid[MAX_CHILDREN]) {
    size_t n = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (const struct dirent *e; (e = readdir(proc)) != NULL && n < MAX_CHILDREN;) {
        int64_t number;
        if (kiln_parse_i64(kiln_str_from(e->d_name), &number) &&
            parent_of((int)number) == parent)
            pid[n++] = (int)number;
    }
    (void)closedir(proc);
    return n;
}

static bool runs(int pid) {
    char path[64], state = 'X';
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return false;
    const bool known = fscanf(f, "%*d %*s %c", &state) == 1;
    (void)fclose(f);
    return known && state != 'Z' && state != 'X';
}

/* A worker without standard error: a pipe that hung up does not wake the fleet for
 * ever. */
static void bears_a_closed_log(void **state) {
    (void)state;
    enum { MANY = 3000 }; /* a message or two each; a fleet that spins has millions */
    kiln_arena a = {0};
    const char *const argv[] = {"/bin/sh", "-c", "exec \"$0\" 2>/dev/null",
                                kiln_test_worker(&a, "kiln-builder")[0], NULL};
    kiln_measure_options o = {.budget_ms = 50, .builder_argv = argv};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, small, false);
    const kiln_measure_candidate c = {
        .work = w.id, .tmpl = w.tmpl, .config = kiln_test_measure_guess(&w, o.profile)};
    assert_int_equal(measure_one(m, &c).error, KILN_TRIAL_GOOD);
    assert_in_range(kiln_measure_count(m).wakes, 1, MANY);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

static uint64_t kept_by(const kiln_measure *m) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->work.n; i++)
        bytes += m->work.v[i].arena.bytes;
    return bytes;
}

/* Memory of a workload goes when it is dropped, not when the fleet is closed; the others
 * stay what they are, also for a worker that starts later. */
static void gives_memory_back(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    uint64_t id;
    kiln_measured got;
    kiln_measure_options o = {.budget_ms = 5, .loser = -1};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work first =
        kiln_test_measure_add(&a, m, o.profile, "conv A 28 64 64 3 1", false);
    const kiln_test_work second = kiln_test_measure_add(&a, m, o.profile, small, false);
    kiln_measure_candidate c = {.work = first.id,
                                .tmpl = first.tmpl,
                                .config = kiln_test_measure_guess(&first, o.profile)};
    const uint64_t both = kiln_measure_count(m).shared_bytes;
    const uint64_t kept = kept_by(m);
    assert_true(kept >= both);
    kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
    assert_false(kiln_measure_drop_work(m, first.id)); /* it is wanted */
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
    assert_true(kiln_measure_drop_work(m, first.id));
    assert_true(kiln_measure_drop_work(m, first.id)); /* again: nothing to do */
    assert_true(kiln_measure_count(m).shared_bytes < both / 2);
    assert_true(kept_by(m) < kept / 2);
    kiln_assert_fails(kiln_measure_submit(m, &c, &id, &err), KILN_ERR_ARG, &err,
                      "workload 0 was dropped");
    int pid[MAX_CHILDREN];
    for (size_t n = children_of(getpid(), pid); n-- > 0;)
        (void)kill(pid[n], SIGKILL);
    c = (kiln_measure_candidate){.work = second.id,
                                 .tmpl = second.tmpl,
                                 .config = kiln_test_measure_guess(&second, o.profile)};
    assert_int_equal(measure_one(m, &c).error, KILN_TRIAL_GOOD);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* A worker that ends by itself takes with it what it had started. */
static void groups_end_with_their_leader(void **state) {
    (void)state;
    static const char *const argv[] = {"/bin/sh", "-c",
                                       "sleep 3600 >/dev/null 2>&1 & echo $!", NULL};
    const kiln_cpus any = {.n = 0};
    kiln_err err = {0};
    kiln_child c;
    char text[32] = "";
    size_t n = 0;
    int left = 0, status;
    bool by_itself;
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &c, &err), &err);
    for (int i = 0; i < KILN_TEST_PATIENCE_MS && strchr(text, '\n') == NULL; i++) {
        const ssize_t got = read(c.out, text + n, sizeof text - 1 - n);
        n += got > 0 ? (size_t)got : 0;
        kiln_test_pause_ms(1);
    }
    assert_int_equal(sscanf(text, "%d", &left), 1);
    for (int i = 0; i < KILN_TEST_PATIENCE_MS && runs(c.pid); i++)
        kiln_test_pause_ms(1);
    assert_true(runs(left));
    kiln_child_end(&c, &by_itself, &status);
    assert_true(by_itself);
    for (int i = 0; i < KILN_TEST_PATIENCE_MS && runs(left); i++)
        kiln_test_pause_ms(1);
    assert_false(runs(left));
}

/* One of the workers, or of what they started. */
static void kill_one(kiln_rng *rng) {
    int pid[MAX_CHILDREN], inner[MAX_CHILDREN];
    const size_t n = children_of(getpid(), pid);
    if (n == 0)
        return;
    int victim = pid[kiln_rng_range(rng, 0, (int64_t)n - 1)];
    const size_t n_inner = children_of(victim, inner);
    if (n_inner > 0 && kiln_rng_range(rng, 0, 1) == 0)
        victim = inner[0];
    (void)kill(victim, SIGKILL);
}

/* At most the candidate in flight is lost, and that is said; every one comes back once.
 */
static void survives_kills(void **state) {
    (void)state;
    enum { N = 60, ON_THEIR_WAY = 6, MAX_KILLS = 30 };
    const int n_kills = getenv("KILN_SOAK") != NULL ? MAX_KILLS : 6;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_rng rng;
    kiln_measured got;
    bool seen[N + 1] = {false};
    int n_lost = 0, killed = 0;
    kiln_measure_options o = {.budget_ms = 2, .loser = -1, .measures_spilling = true};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, small, false);
    kiln_rng_init(&rng, kiln_test_seed());
    const kiln_measure_candidate c = {
        .work = w.id, .tmpl = w.tmpl, .config = kiln_test_measure_guess(&w, o.profile)};
    for (int sent = 0, done = 0; done < N;) {
        uint64_t id;
        for (; sent < N && kiln_measure_pending(m) < ON_THEIR_WAY; sent++)
            kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
        if (killed < n_kills && killed * N / n_kills <= done) {
            kiln_test_pause_ms(kiln_rng_range(&rng, 0, 30));
            kill_one(&rng);
            killed++;
        }
        assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
        assert_true(got.id >= 1 && got.id <= N && !seen[got.id]);
        seen[got.id] = true;
        done++;
        n_lost += got.error == KILN_TRIAL_LOST;
        if (got.error != KILN_TRIAL_LOST && got.error != KILN_TRIAL_GOOD)
            fail_msg("%s: %s", kiln_trial_error_name(got.error), got.text);
    }
    assert_true(n_lost <= killed / 2); /* it takes two to lose one */
    assert_int_equal(kiln_measure_n_lethal(m), 0);
    kiln_measure_close(m);
    int pid[MAX_CHILDREN];
    assert_int_equal(children_of(getpid(), pid), 0);
    kiln_arena_fini(&a);
}

static void coordinate(void) {
    kiln_arena a = {0};
    kiln_err err = {0};
    uint64_t id;
    kiln_measured got;
    kiln_measure_options o = {.threads = 1, .budget_ms = 30000};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, small, false);
    const kiln_measure_candidate c = {
        .work = w.id, .tmpl = w.tmpl, .config = kiln_test_measure_guess(&w, o.profile)};
    for (;;) {
        kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
        (void)printf("submitted\n");
        (void)fflush(stdout);
        while (!kiln_measure_poll(m, 1000, &got))
            ;
    }
}

static void workers_end_with_the_coordinator(void **state) {
    (void)state;
    char line[64];
    int pid[MAX_CHILDREN], inner[MAX_CHILDREN];
    (void)kiln_test_worker(kiln_test_arena(), "kiln-runner"); /* or skips */
    int pipe_end[2];
    assert_int_equal(pipe(pipe_end), 0);
    const pid_t coordinator = fork();
    if (coordinator == 0) {
        (void)dup2(pipe_end[1], STDOUT_FILENO);
        (void)execl(self, self, "--coordinate", (char *)NULL);
        _exit(127);
    }
    (void)close(pipe_end[1]);
    assert_true(read(pipe_end[0], line, sizeof line) > 0);
    size_t n = 0, n_inner = 0;
    /* Until a candidate runs. */
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && n_inner == 0; ms += 20) {
        kiln_test_pause_ms(20);
        n = children_of(coordinator, pid);
        n_inner = 0;
        for (size_t k = 0; k < n && n_inner == 0; k++)
            n_inner = children_of(pid[k], inner);
    }
    assert_true(n >= 2);
    assert_int_equal(n_inner, 1);
    assert_int_equal(kill(coordinator, SIGKILL), 0);
    assert_int_equal(waitpid(coordinator, NULL, 0), coordinator);
    pid[n++] = inner[0];
    for (size_t k = 0; k < n; k++) {
        /* A zombie whose new parent sleeps is dead enough. */
        for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && runs(pid[k]); ms += 20)
            kiln_test_pause_ms(20);
        assert_false(runs(pid[k]));
    }
    (void)close(pipe_end[0]);
}

static void runner_links_no_library(void **state) {
    static const char *const unwanted[] = {"libLLVM", "libxgboost", "libsqlite3",
                                           "libcurl", "libnettle",  "libgomp"};
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_str bytes;
    kiln_assert_status_ok(
        kiln_file_map(&a, kiln_test_worker(&a, "kiln-runner")[0], 0, &bytes, &err),
        &err);
    for (size_t u = 0; u < sizeof unwanted / sizeof unwanted[0]; u++) {
        const size_t n = strlen(unwanted[u]);
        for (size_t i = 0; i + n <= bytes.n; i++)
            if (memcmp(bytes.p + i, unwanted[u], n) == 0)
                fail_msg("kiln-runner needs '%s'", unwanted[u]);
    }
    kiln_arena_fini(&a);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--coordinate") == 0)
        coordinate(); /* for ever */
    self = argv[0];
    kiln_test_add_rows(proves_and_times, good_rows);
    kiln_test_add("stops_losers_early", stops_losers_early, NULL);
    kiln_test_add("measures_what_spills_on_demand", measures_what_spills_on_demand,
                  NULL);
    kiln_test_add("lets_the_caller_think", lets_the_caller_think, NULL);
    kiln_test_add("refuses_wrong_use", refuses_wrong_use, NULL);
    kiln_test_add_rows(reports_workers_that_do_not_start, start_rows);
    kiln_test_add("bears_a_closed_log", bears_a_closed_log, NULL);
    kiln_test_add("gives_memory_back", gives_memory_back, NULL);
    kiln_test_add("groups_end_with_their_leader", groups_end_with_their_leader, NULL);
    kiln_test_add("survives_kills", survives_kills, NULL);
    kiln_test_add("workers_end_with_the_coordinator", workers_end_with_the_coordinator,
                  NULL);
    kiln_test_add("runner_links_no_library", runner_links_no_library, NULL);
    return kiln_test_run("workers");
}
