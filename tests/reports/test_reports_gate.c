/* The gate by simulation: thousands of nights of pairs with noise, outliers and drift
 * as machines have them. */
#include "reports/reports.h"
#include "tests/support/kiln_test.h"

#include <math.h>

enum { NIGHTS = 1000 };

/* One night's weather. */
typedef struct weather {
    const char *name;
    double slowdown; /* true: candidate / control - 1 */
    double noise;    /* deviation of one run, relative */
    double outliers; /* share of runs that somebody disturbs, by up to half */
    double drift;    /* what both sides get slower by within the night */
    double steps;    /* chance that the clock changes between the runs of a pair */
    int max_fail, min_fail; /* of NIGHTS, confirmed */
    int min_pass;
} weather;

/* A run is the median of many in a process of its own, and one that was seen to be
 * disturbed is taken again: half a percent of noise and one lasting disturbance in a
 * hundred runs is a machine that others use too. */
static weather rows[] = {
    {"same_code_quiet", 0, .003, 0, 0, 0, 0, 0, 990},
    {"same_code_noisy", 0, .01, .02, .05, 0, 5, 0, 900},
    {"same_code_with_outliers", 0, .006, .1, 0, .02, 5, 0, 600},
    {"same_code_drifting", 0, .006, .02, .3, 0, 5, 0, 950},
    {"same_code_in_a_storm", 0, .05, .2, .3, .1, 5, 0, 0},
    {"half_a_percent_is_no_alarm", .005, .006, .02, 0, 0, 5, 0, 950},
    {"three_percent_quiet", .03, .003, 0, 0, 0, NIGHTS, 980, 0},
    {"three_percent_on_a_shared_machine", .03, .005, .01, .05, 0, NIGHTS, 980, 0},
    {"five_percent_noisy", .05, .01, .01, .05, 0, NIGHTS, 980, 0},
    {"ten_percent_very_noisy", .1, .02, .02, .1, 0, NIGHTS, 980, 0},
};

static double normal(kiln_rng *rng) {
    const double u = kiln_rng_unit(rng), v = kiln_rng_unit(rng);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

static double one_run(kiln_rng *rng, const weather *w, double base) {
    double t = base * exp(w->noise * normal(rng));
    if (kiln_rng_unit(rng) < w->outliers)
        t *= 1 + 0.5 * kiln_rng_unit(rng);
    return t;
}

static kiln_gate_verdict series(kiln_arena *a, kiln_rng *rng, const weather *w) {
    double candidate[KILN_GATE_MAX_PAIRS], control[KILN_GATE_MAX_PAIRS];
    size_t n = 0;
    kiln_gate_verdict v = KILN_GATE_MORE;
    for (int look = 0; look < KILN_GATE_LOOKS && v == KILN_GATE_MORE; look++) {
        for (; n < kiln_gate_pairs(look); n++) {
            const double drift = 1 + w->drift * (double)n / KILN_GATE_MAX_PAIRS;
            const double step = kiln_rng_unit(rng) < w->steps ? 1.1 : 1;
            const bool first = kiln_rng_next(rng) % 2 == 0; /* who runs first */
            candidate[n] =
                one_run(rng, w, drift * (1 + w->slowdown) * (first ? 1 : step));
            control[n] = one_run(rng, w, drift * (first ? step : 1));
        }
        v = kiln_gate_judge(a, candidate, control, n).verdict;
    }
    return v;
}

static void nights(void **state) {
    const weather *w = *state;
    kiln_arena a = {0};
    kiln_rng rng;
    int n_fail = 0, n_pass = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < NIGHTS; i++) {
        kiln_gate_verdict v = series(&a, &rng, w);
        if (v == KILN_GATE_FAIL)
            v = kiln_gate_confirm(v, series(&a, &rng, w));
        n_fail += v == KILN_GATE_FAIL;
        n_pass += v == KILN_GATE_PASS;
        kiln_arena_reset(&a);
    }
    print_message("%s: %d fail, %d pass of %d\n", w->name, n_fail, n_pass, NIGHTS);
    assert_in_range(n_fail, w->min_fail, w->max_fail);
    assert_true(n_pass >= w->min_pass);
    kiln_arena_fini(&a);
}

/* ---- verdicts one by one --------------------------------------------------------- */

static void verdicts(void **state) {
    (void)state;
    kiln_arena a = {0};
    double slow[24], even[24];
    for (int i = 0; i < 24; i++) {
        even[i] = 100 + i % 3 * 0.1;
        slow[i] = 1.02 * (100 + (i + 1) % 3 * 0.1);
    }
    kiln_gate_look l = kiln_gate_judge(&a, slow, even, 10);
    assert_int_equal(l.verdict, KILN_GATE_FAIL);
    assert_int_equal(l.look, 0);
    assert_true(fabs(l.slowdown.estimate - .02) < .002);
    assert_true(l.p < .001);
    assert_int_equal(kiln_gate_judge(&a, even, slow, 24).verdict, KILN_GATE_PASS);
    assert_int_equal(kiln_gate_judge(&a, even, even, 10).verdict, KILN_GATE_PASS);
    /* As many pairs as a look wants, not fewer. */
    assert_int_equal(kiln_gate_judge(&a, slow, even, 9).verdict, KILN_GATE_INVALID);
    even[3] = 0;
    assert_int_equal(kiln_gate_judge(&a, slow, even, 10).verdict, KILN_GATE_INVALID);
    even[3] = (double)NAN;
    assert_int_equal(kiln_gate_judge(&a, slow, even, 10).verdict, KILN_GATE_INVALID);
    kiln_arena_fini(&a);
}

static void wide_noise_asks_for_more(void **state) {
    (void)state;
    kiln_arena a = {0};
    double x[24], y[24];
    for (int i = 0; i < 24; i++) {
        x[i] = 100 + 20 * (i % 2);
        y[i] = 100 + 20 * (i / 2 % 2);
    }
    assert_int_equal(kiln_gate_judge(&a, x, y, 10).verdict, KILN_GATE_MORE);
    assert_int_equal(kiln_gate_judge(&a, x, y, 16).verdict, KILN_GATE_MORE);
    assert_int_equal(kiln_gate_judge(&a, x, y, 24).verdict, KILN_GATE_INCONCLUSIVE);
    const kiln_gate_limits usual = {0}, loose = {.05, .3};
    assert_true(kiln_gate_detectable(&a, usual, x, y, 24) > .05);
    assert_true(kiln_gate_detectable(&a, usual, x, x, 24) < .0101);
    assert_true(kiln_gate_detectable(&a, loose, x, x, 24) < .0501);
    /* Noise of 20%: hundreds of pairs for 2%, a quarter of them for twice the room. */
    const kiln_gate_limits wide = {.01, 1.01 * 1.03 / 1.01 * 1.03 / 1.01 - 1};
    const double needed = kiln_gate_pairs_needed(&a, usual, x, y, 24);
    const double of_wide = kiln_gate_pairs_needed(&a, wide, x, y, 24);
    assert_true(needed > 100 && isfinite(needed));
    assert_true(fabs(of_wide - needed / 4) <= 1);
    assert_true(kiln_gate_pairs_needed(&a, usual, x, x, 24) == 10);
    y[3] = 0;
    assert_true(isinf(kiln_gate_pairs_needed(&a, usual, x, y, 24)));
    kiln_arena_fini(&a);
}

static void limits_are_whoever_asks_s(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    double slow[24], even[24];
    for (int i = 0; i < 24; i++) {
        even[i] = 100 + i % 3 * 0.1;
        slow[i] = 1.02 * (100 + (i + 1) % 3 * 0.1);
    }
    const kiln_gate_limits loose = {.03, .05}, tight = {.001, .005};
    const kiln_gate_look passes = kiln_gate_judge_by(&a, loose, slow, even, 10);
    assert_int_equal(passes.verdict, KILN_GATE_PASS);
    assert_true(passes.p > .99); /* it is not slower by more than 3% */
    assert_int_equal(kiln_gate_judge_by(&a, tight, slow, even, 10).verdict,
                     KILN_GATE_FAIL);
    assert_true(kiln_gate_limits_of((kiln_gate_limits){0}).pass_below ==
                KILN_GATE_PASS_BELOW);
    kiln_assert_status_ok(kiln_gate_limits_check(loose, &err), &err);
    kiln_assert_fails(
        kiln_gate_limits_check((kiln_gate_limits){.05, .03}, &err), KILN_ERR_ARG, &err,
        "limits must be 0% <= fail above < pass below <= 100%, are 5% and "
        "3%");
    kiln_err_clear(&err);
    kiln_assert_fails(
        kiln_gate_limits_check((kiln_gate_limits){(double)NAN, .03}, &err),
        KILN_ERR_ARG, &err, "limits must be");
    kiln_arena_fini(&a);
}

static void failures_are_confirmed(void **state) {
    (void)state;
    assert_int_equal(kiln_gate_confirm(KILN_GATE_FAIL, KILN_GATE_FAIL), KILN_GATE_FAIL);
    assert_int_equal(kiln_gate_confirm(KILN_GATE_FAIL, KILN_GATE_PASS),
                     KILN_GATE_INCONCLUSIVE);
    assert_int_equal(kiln_gate_confirm(KILN_GATE_PASS, KILN_GATE_FAIL), KILN_GATE_PASS);
    assert_string_equal(kiln_gate_verdict_name(KILN_GATE_INCONCLUSIVE), "inconclusive");
}

int main(void) {
    kiln_test_add_rows(nights, rows);
    kiln_test_add("verdicts", verdicts, NULL);
    kiln_test_add("wide_noise_asks_for_more", wide_noise_asks_for_more, NULL);
    kiln_test_add("limits_are_whoever_asks_s", limits_are_whoever_asks_s, NULL);
    kiln_test_add("failures_are_confirmed", failures_are_confirmed, NULL);
    return kiln_test_run("reports: gate");
}
