/* How many candidates a second are built, proved and timed: random configurations of
 * the convolutions C2, C6 and C9 of ResNet-18, the template's guess first, end to end.
 * KILN_TRIALS=N trials of each (default 64), KILN_THREADS=N threads of the kernels. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

enum { ON_THEIR_WAY = 16 };

static int from_env(const char *name, int otherwise) {
    const char *text = getenv(name);
    int64_t v;
    return text != NULL && kiln_parse_i64(kiln_str_from(text), &v) ? (int)v : otherwise;
}

static void submit(kiln_measure *m, kiln_test_work *w, uint64_t config, bool is_guess) {
    kiln_err err = {0};
    uint64_t id;
    const kiln_measure_candidate c = {
        .work = w->id, .tmpl = w->tmpl, .config = config, .user = is_guess ? w : NULL};
    kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
}

typedef struct tally {
    int n, by_error[KILN_N_TRIAL_ERRORS];
    double best_ns, best_share, guess_ns, build_ms, run_ms;
} tally;

static void count(tally *t, const kiln_measured *o) {
    t->n++;
    t->by_error[o->error]++;
    t->build_ms += o->build_ms;
    t->run_ms += o->run_ms;
    if (o->user != NULL)
        t->guess_ns = o->median_ns;
    if (o->error == KILN_TRIAL_GOOD && (t->best_ns == 0 || o->median_ns < t->best_ns)) {
        t->best_ns = o->median_ns;
        t->best_share = o->peak_share;
    }
    if (kiln_trial_error_is_fault(o->error) || o->error == KILN_TRIAL_LOST)
        printf("  %s: %s\n", kiln_trial_error_name(o->error), o->text);
}

static void measure(kiln_measure *m, const kiln_profile *p, const char *line, int n) {
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_measured o;
    tally t = {.n = 0};
    const int64_t prepared = kiln_now_ns();
    kiln_test_work w = kiln_test_measure_add(&a, m, p, line, true);
    const int64_t begin = kiln_now_ns();
    kiln_rng_init(&rng, kiln_test_seed());
    const kiln_config guess = w.tmpl->guess(&w.op.workload, p, &w.space);
    submit(m, &w, kiln_config_index(&w.space, &guess), true);
    for (int i = 1; t.n < n;) {
        for (; i < n && kiln_measure_pending(m) < ON_THEIR_WAY; i++)
            submit(m, &w, (uint64_t)kiln_rng_range(&rng, 0, (int64_t)w.space.size - 1),
                   false);
        if (kiln_measure_poll(m, 10000, &o))
            count(&t, &o);
    }
    const double s = (double)(kiln_now_ns() - begin) * 1e-9;
    printf("%-20s %5.1f trials/s; reference %.2f s; build %.1f ms, run %.1f ms; "
           "guess %.3f ms, best %.3f ms, %.0f%% of peak\n ",
           line, n / s, (double)(begin - prepared) * 1e-9, t.build_ms / n, t.run_ms / n,
           t.guess_ns * 1e-6, t.best_ns * 1e-6, t.best_share * 100);
    for (int e = 0; e < KILN_N_TRIAL_ERRORS; e++)
        if (t.by_error[e] > 0)
            printf(" %s %d", kiln_trial_error_name((kiln_trial_error)e), t.by_error[e]);
    printf("\n");
    kiln_arena_fini(&a);
}

static void trials(void **state) {
    static const char *const lines[] = {
        "conv C2 56 64 64 3 1", "conv C6 28 128 128 3 1", "conv C9 14 256 256 3 1"};
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile here;
    kiln_assert_status_ok(kiln_profile_detect(&a, &here, &err), &err);
    kiln_measure_options o = {
        .profile = &here, .threads = from_env("KILN_THREADS", 1), .pins_caller = true};
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    for (int i = 0; i < 3; i++)
        measure(m, o.profile, lines[i], from_env("KILN_TRIALS", 64));
    const kiln_measure_stats s = kiln_measure_count(m);
    printf("%d builders, peak %.0f GFLOP/s, workers started %" PRIu64 " + %" PRIu64
           "\n",
           s.n_builders, s.peak_gflops, s.builders_started, s.runners_started);
    kiln_measure_close(m);
    struct rusage used;
    (void)getrusage(RUSAGE_CHILDREN, &used);
    const double cpu = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    printf("workers took %.1f ms of processors for each trial\n",
           cpu * 1e3 / (double)s.finished);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("trials", trials, NULL);
    return kiln_test_run("trials");
}
