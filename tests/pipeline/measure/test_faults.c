/* Candidates that crash, hang, take memory without end, write where they must not or
 * compute something else, or nothing: every one is recorded by its kind, none counts as
 * good, and the fleet goes on. This program is also the builder that makes them:
 *
 *     test_faults --builder FOLDER     objects of fault_kernels.c are in FOLDER
 *
 * KILN_SOAK=1: 500 candidates. */
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/faulty_builder.h"
#include "tests/support/measuring/measure_run.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- the tests ------------------------------------------------------------------- */

static const char *self;

static void submit(kiln_measure *m, const kiln_test_work *w, uint64_t index,
                   const kiln_test_fault *f) {
    kiln_err err = {0};
    uint64_t id;
    void *user;
    memcpy(&user, &f, sizeof user); /* a round trip through the fleet */
    const kiln_measure_candidate c = {
        .work = w->id, .tmpl = w->tmpl, .config = index, .user = user};
    kiln_assert_status_ok(kiln_measure_submit(m, &c, &id, &err), &err);
}

static bool is_confined = true; /* of the fleet at hand */

static kiln_trial_error wanted(const kiln_test_fault *f) {
    return kiln_test_fault_ends(f, is_confined);
}

static void check(const kiln_measured *o) {
    const kiln_test_fault *f = o->user;
    if (o->error != wanted(f))
        fail_msg("%s: is '%s' (%s), must be '%s'", f->name,
                 kiln_trial_error_name(o->error), o->text,
                 kiln_trial_error_name(wanted(f)));
    assert_int_equal(o->n_slices > 0, f->want == KILN_TRIAL_GOOD);
    if (f->want != KILN_TRIAL_GOOD) {
        assert_true(o->text[0] != '\0');
        return;
    }
    assert_int_equal(o->n_seeds, KILN_MEASURE_SEEDS);
    assert_true(o->worst <= 1 && o->median_ns > 0 && o->low_ns <= o->median_ns &&
                o->median_ns <= o->high_ns);
}

static const char line[] = "conv F 5 8 8 3 1";

/* What a good candidate takes here: hangs are ended after many times that. */
static void measure_good(const kiln_measure_options *options, double *build_ms,
                         double *run_ms) {
    kiln_arena a = {0};
    kiln_measure_options o = *options;
    kiln_measured got;
    kiln_measure *m = kiln_test_measure_open(&a, &o);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, true);
    submit(m, &w, 0, &kiln_test_faults[0]);
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
    check(&got);
    *build_ms = got.build_ms;
    *run_ms = got.run_ms;
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

/* times: of what a good candidate took; 0: nothing here hangs, and there is no limit. */
static kiln_measure *open_faulty(kiln_arena *a, kiln_measure_options *o, int times) {
    static const double least_build_ms = 375, least_run_ms = 100; /* of one */
    static double build_ms, run_ms;
    const char *dir = kiln_test_dir();
    kiln_test_compile_faults(a, dir);
    const char **argv = kiln_array(a, const char *, 4);
    argv[0] = self;
    argv[1] = "--builder";
    argv[2] = dir;
    o->builder_argv = argv;
    o->build_bytes = UINT64_C(256) << 20;
    o->run_bytes = UINT64_C(64) << 20;
    o->budget_ms = 5;
    o->loser = -1;
    o->measures_spilling = true;
    if (times > 0 && build_ms == 0)
        measure_good(o, &build_ms, &run_ms);
    if (times > 0) {
        o->build_limit_ms = (int64_t)(times * fmax(least_build_ms, build_ms));
        o->run_limit_ms = (int64_t)(times * fmax(least_run_ms, run_ms));
    }
    kiln_measure *m = kiln_test_measure_open(a, o);
    is_confined = kiln_measure_count(m).is_confined;
    return m;
}

/* Faults that cost their whole time limit are fewer among many. */
static const kiln_test_fault *draw(kiln_rng *rng, int i) {
    const int n = kiln_test_faults_drawn();
    for (;;) {
        const kiln_test_fault *f =
            &kiln_test_faults[i < n ? i : kiln_rng_range(rng, 0, n - 1)];
        const bool is_dear = kiln_test_fault_is_dear(f, is_confined);
        if (i < n || !is_dear || kiln_rng_range(rng, 0, 3) == 0)
            return f;
    }
}

/* Ended as if it hung, and it does not. */
static bool is_hurried(const kiln_measured *o) {
    return o->error != wanted(o->user) &&
           (o->error == KILN_TRIAL_TIMEOUT || o->error == KILN_TRIAL_BUILD_TIMEOUT);
}

/* False: this machine needs more than so many times what a good one took just now. */
static bool records_faults(int times) {
    kiln_arena a = {0};
    kiln_measure_options o = {.threads = 1};
    kiln_measure *m = open_faulty(&a, &o, times);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, true);
    const int n = getenv("KILN_SOAK") != NULL ? 500 : 2 * KILN_TEST_N_FAULTS;
    uint64_t by_error[KILN_N_TRIAL_ERRORS] = {0};
    bool was_hurried = false;
    kiln_measured got;
    kiln_rng rng;
    if (kiln_test_faults_drawn() < KILN_TEST_LAZY)
        print_message("left out under a sanitizer: a builder without memory\n");
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < n; i++) {
        const kiln_test_fault *f = draw(&rng, i);
        /* Another configuration each time: known ones are not tried again. */
        const uint64_t index =
            (uint64_t)i * KILN_TEST_N_FAULTS + (uint64_t)(f - kiln_test_faults);
        assert_true(index < w.space.size);
        submit(m, &w, index, f);
        by_error[wanted(f)]++;
    }
    for (int i = 0; i < n; i++) {
        assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
        if (is_hurried(&got) && o.run_limit_ms < KILN_TEST_PATIENCE_MS)
            was_hurried = true;
        else
            check(&got);
    }
    assert_false(kiln_measure_poll(m, 0, &got));
    const kiln_measure_stats s = kiln_measure_count(m);
    for (int e = 0; !was_hurried && e < KILN_N_TRIAL_ERRORS; e++)
        assert_int_equal(s.by_error[e], by_error[e]);
    assert_int_equal(s.runners_started, 1);
    if (!was_hurried)
        assert_int_equal(s.builders_started, (uint64_t)s.n_builders +
                                                 by_error[KILN_TRIAL_BUILD_CRASH] +
                                                 by_error[KILN_TRIAL_BUILD_TIMEOUT] +
                                                 by_error[KILN_TRIAL_BUILD_MEMORY]);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
    return !was_hurried;
}

static void records_every_fault(void **state) {
    int times = 4;
    (void)state;
    while (!records_faults(times))
        times *= 4;
}

/* Right on every seed, and so fast that it cannot have done its work: timed twice, on
 * record with its slices, and no best. */
static void believes_no_wonders(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_measure_options o = {.threads = 1};
    kiln_measure *m = open_faulty(&a, &o, 0);
    const kiln_test_work w =
        kiln_test_measure_add(&a, m, o.profile, "conv L 14 32 32 3 1", true);
    kiln_measured lazy, good;
    submit(m, &w, KILN_TEST_LAZY, &kiln_test_faults[KILN_TEST_LAZY]);
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &lazy));
    if (lazy.error != KILN_TRIAL_IMPLAUSIBLE)
        fail_msg("is '%s' (%s)", kiln_trial_error_name(lazy.error), lazy.text);
    assert_non_null(strstr(lazy.text, "timed twice at"));
    assert_true(lazy.n_slices > 0 && lazy.n_seeds == KILN_MEASURE_SEEDS);
    assert_true(lazy.least_flops > 1.05 * lazy.limit_gflops * lazy.median_ns);
    assert_int_equal(kiln_measure_n_lethal(m), 0);
    /* What follows is not compared with it. */
    submit(m, &w, 0, &kiln_test_faults[0]);
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &good));
    check(&good);
    assert_true(good.least_flops > 0);
    assert_true(good.least_flops <= 1.05 * good.limit_gflops * good.median_ns);
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

static void tries_lethal_ones_once(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_measure_options o = {.threads = 1};
    kiln_measure *m = open_faulty(&a, &o, 0);
    const kiln_test_work w = kiln_test_measure_add(&a, m, o.profile, line, true);
    kiln_measured got;
    enum { CRASH = 2, KNOWN = 6 };
    for (int i = 0; i < 2; i++) {
        submit(m, &w, CRASH, &kiln_test_faults[CRASH]);
        assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
        check(&got);
        assert_int_equal(strstr(got.text, "known") != NULL, i == 1);
    }
    assert_int_equal(kiln_measure_n_lethal(m), 1);
    const kiln_lethal l = kiln_measure_lethal(m, 0);
    assert_int_equal(l.index, CRASH);
    assert_int_equal(l.error, KILN_TRIAL_CRASH);
    assert_string_equal(l.tmpl, w.tmpl->name);
    /* What a database knew. */
    const kiln_lethal known = {w.id, w.tmpl->name, KNOWN, KILN_TRIAL_OUT_OF_BOUNDS};
    kiln_measure_add_lethal(m, &known);
    submit(m, &w, KNOWN, &kiln_test_faults[KNOWN]);
    assert_true(kiln_measure_poll(m, KILN_TEST_PATIENCE_MS, &got));
    check(&got);
    assert_non_null(strstr(got.text, "known"));
    kiln_measure_close(m);
    kiln_arena_fini(&a);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--builder") == 0)
        return kiln_test_faulty_builder(argv[2], kiln_test_fault_in_turn);
    self = argv[0];
    kiln_test_add("records_every_fault", records_every_fault, NULL);
    kiln_test_add("believes_no_wonders", believes_no_wonders, NULL);
    kiln_test_add("tries_lethal_ones_once", tries_lethal_ones_once, NULL);
    return kiln_test_run("faults");
}
