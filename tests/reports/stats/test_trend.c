/* The rules that watch nights, by simulated years: twelve jobs, noise within and
 * between the nights, steps and drifts whose nights are known. */
#include "reports/stats/trend.h"
#include "tests/support/kiln_test.h"

#include <math.h>

enum { JOBS = 12, NIGHTS = 365, YEARS = 40, DRIFT_NIGHTS = 40 };

static double normal(kiln_rng *rng) {
    const double u = kiln_rng_unit(rng), v = kiln_rng_unit(rng);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

static double between(kiln_rng *rng, double low, double high) {
    return low + (high - low) * kiln_rng_unit(rng);
}

/* A job's machine: the gate's sixteen pairs know a ratio to 0.15 to 0.3%, and nights
 * differ by up to as much beside that; together up to 0.42%. One night in fifty is
 * disturbed, three times as noisy, and its interval knows. Intervals themselves are off
 * by a tenth. */
typedef struct noise {
    double within, nights;
} noise;

static noise any_noise(kiln_rng *rng) {
    return (noise){between(rng, .0015, .003), between(rng, 0, .003)};
}

static kiln_trend_night one_night(kiln_rng *rng, const noise *w, double d) {
    const double storm = kiln_rng_unit(rng) < .02 ? 3 : 1;
    const double error = w->within * storm;
    return (kiln_trend_night){d + error * normal(rng) + w->nights * normal(rng),
                              error * between(rng, .9, 1.1)};
}

static bool is_alarm(const kiln_trend_finding *f) {
    return f->word == KILN_TREND_STEP || f->word == KILN_TREND_DRIFT;
}

typedef struct tally {
    int nights, false_nights;
    int steps, found_steps, drifts, found_drifts, named_drifts, latest;
} tally;

/* What happens to one job in a year: a step of 3%, its repair, a drift and its repair,
 * some months apart. */
typedef struct events {
    size_t step, repair, drift, end, second_repair;
} events;

static events any_events(kiln_rng *rng) {
    events e;
    e.step = (size_t)kiln_rng_range(rng, 20, 70);
    e.repair = e.step + (size_t)kiln_rng_range(rng, 20, 60);
    e.drift = e.repair + (size_t)kiln_rng_range(rng, 30, 70);
    e.end = e.drift + DRIFT_NIGHTS;
    e.second_repair = e.end + (size_t)kiln_rng_range(rng, 20, 60);
    return e;
}

static double true_level(const events *e, size_t i) {
    double d = i >= e->step && i < e->repair ? log(1.03) : 0;
    if (i >= e->drift && i < e->second_repair)
        d += .001 * (double)((i < e->end ? i + 1 : e->end) - e->drift);
    return d;
}

/* Alarms while something was going on, or the nights in which it still shows. */
static bool is_explained(const events *e, size_t i) {
    return i == e->step || (i >= e->drift && i < e->end + 20);
}

static void count_events(const events *e, const kiln_trend_finding *f, tally *t) {
    t->steps++;
    t->found_steps += f[e->step].word == KILN_TREND_STEP;
    t->drifts++;
    for (size_t i = e->drift; i < e->end; i++)
        if (is_alarm(&f[i])) {
            t->found_drifts++;
            t->named_drifts += f[i].word == KILN_TREND_DRIFT;
            t->latest =
                (int)(i - e->drift) > t->latest ? (int)(i - e->drift) : t->latest;
            return;
        }
}

static void one_year(kiln_rng *rng, bool has_events, tally *t) {
    static kiln_trend_night night[NIGHTS];
    static kiln_trend_finding found[NIGHTS];
    bool is_false[NIGHTS] = {false};
    for (int j = 0; j < JOBS; j++) {
        const noise w = any_noise(rng);
        const events e = any_events(rng);
        for (size_t i = 0; i < NIGHTS; i++)
            night[i] = one_night(rng, &w, has_events ? true_level(&e, i) : 0);
        kiln_trend_judge(night, NIGHTS, JOBS, found);
        for (size_t i = 0; i < NIGHTS; i++)
            is_false[i] |= is_alarm(&found[i]) && !(has_events && is_explained(&e, i));
        if (has_events)
            count_events(&e, found, t);
    }
    for (size_t i = 0; i < NIGHTS; i++) {
        t->nights++;
        t->false_nights += is_false[i];
    }
}

static tally years(bool has_events) {
    tally t = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int y = 0; y < YEARS; y++)
        one_year(&rng, has_events, &t);
    print_message(
        "%d of %d nights with a false alarm; %d of %d steps the same night; %d "
        "of %d drifts within %d nights (the last after %d, %d called so)\n",
        t.false_nights, t.nights, t.found_steps, t.steps, t.found_drifts, t.drifts,
        DRIFT_NIGHTS, t.latest, t.named_drifts);
    return t;
}

static void quiet_years_alarm_in_at_most_one_night_of_two_hundred(void **state) {
    (void)state;
    const tally t = years(false);
    assert_true(200 * t.false_nights <= t.nights);
}

static void years_with_events_find_them(void **state) {
    (void)state;
    const tally t = years(true);
    assert_true(200 * t.false_nights <= t.nights);
    assert_true(100 * t.found_steps >= 99 * t.steps);
    assert_int_equal(t.found_drifts, t.drifts);
    assert_true(10 * t.named_drifts >= 8 * t.drifts);
}

/* ---- by hand --------------------------------------------------------------------- */

enum { FEW = 60 };

static void judge(const double *d, double error, size_t n, kiln_trend_finding *out) {
    kiln_trend_night night[FEW];
    for (size_t i = 0; i < n; i++)
        night[i] = (kiln_trend_night){d[i], error};
    kiln_trend_judge(night, n, 1, out);
}

static void same_code_every_night_is_stable(void **state) {
    const double d[FEW] = {0};
    kiln_trend_finding f[FEW];
    (void)state;
    judge(d, 0, FEW, f);
    for (int i = 0; i < FEW; i++)
        assert_int_equal(f[i].word, KILN_TREND_STABLE);
}

/* Nights of the same code say nothing of the noise of the first that is timed. */
static void first_timed_night_after_equal_ones_may_be_noisy(void **state) {
    kiln_trend_night night[20] = {{0, 0}};
    kiln_trend_finding f[20];
    (void)state;
    for (int i = 10; i < 20; i++)
        night[i] = (kiln_trend_night){(i % 2 == 0 ? 1 : -1) * .005, .003};
    kiln_trend_judge(night, 20, 1, f);
    for (int i = 0; i < 20; i++)
        assert_int_equal(f[i].word, KILN_TREND_STABLE);
}

static void step_and_repair_have_their_night_and_size(void **state) {
    double d[FEW] = {0};
    kiln_trend_finding f[FEW];
    (void)state;
    for (int i = 30; i < 45; i++)
        d[i] = log(1.03);
    judge(d, .002, FEW, f);
    assert_int_equal(f[30].word, KILN_TREND_STEP);
    assert_int_equal(f[30].since, 30);
    assert_true(fabs(f[30].change - .03) < 1e-9);
    assert_int_equal(f[45].word, KILN_TREND_FASTER);
    for (int i = 0; i < FEW; i++)
        if (i != 30 && i != 45)
            assert_int_equal(f[i].word, KILN_TREND_STABLE);
}

static void second_night_is_judged_already(void **state) {
    const double d[2] = {0, .1};
    kiln_trend_finding f[2];
    (void)state;
    judge(d, .002, 2, f);
    assert_int_equal(f[0].word, KILN_TREND_STABLE);
    assert_true(isinf(f[0].step));
    assert_int_equal(f[1].word, KILN_TREND_STEP);
}

static void half_a_percent_is_no_step(void **state) {
    double d[FEW] = {0};
    kiln_trend_finding f[FEW];
    (void)state;
    for (int i = 30; i < FEW; i++)
        d[i] = log(1.005);
    judge(d, .0005, FEW, f);
    assert_int_equal(f[30].word, KILN_TREND_STABLE);
    assert_true(f[29].step >= .01);
}

static void slow_drift_is_no_step(void **state) {
    double d[FEW];
    kiln_trend_finding f[FEW];
    size_t first = FEW;
    (void)state;
    for (size_t i = 0; i < FEW; i++)
        d[i] = .001 * (double)i;
    judge(d, .002, FEW, f);
    for (size_t i = FEW; i-- > 0;)
        first = f[i].word != KILN_TREND_STABLE ? i : first;
    assert_true(first < 30);
    assert_int_equal(f[first].word, KILN_TREND_DRIFT);
    assert_true(f[first].is_gradual);
    assert_true(f[first].change >= .0075);
}

static void finding_depends_on_no_later_night(void **state) {
    double d[FEW];
    kiln_trend_finding f[FEW], g[FEW];
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < FEW; i++)
        d[i] = .004 * normal(&rng) + (i > 40 ? .03 : 0);
    judge(d, .003, FEW, f);
    for (size_t n = 1; n < FEW; n++) {
        judge(d, .003, n, g);
        assert_int_equal(f[n - 1].word, g[n - 1].word);
        assert_true(f[n - 1].change == g[n - 1].change);
    }
}

static void ratios_become_nights(void **state) {
    kiln_trend_night night;
    const kiln_stats_interval good = {1.02, 1.01, 1.03}, exact = {1, 1, 1},
                              open = {1, 0, (double)INFINITY},
                              none = {(double)NAN, (double)NAN, (double)NAN};
    (void)state;
    assert_true(kiln_trend_night_of(&good, &night));
    assert_true(fabs(night.d - log(1.02)) < 1e-12);
    assert_true(night.error > .0049 && night.error < .0051);
    assert_true(kiln_trend_night_of(&exact, &night));
    assert_true(night.d == 0 && night.error == 0);
    assert_false(kiln_trend_night_of(&open, &night));
    assert_false(kiln_trend_night_of(&none, &night));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_code_every_night_is_stable),
        cmocka_unit_test(first_timed_night_after_equal_ones_may_be_noisy),
        cmocka_unit_test(step_and_repair_have_their_night_and_size),
        cmocka_unit_test(second_night_is_judged_already),
        cmocka_unit_test(half_a_percent_is_no_step),
        cmocka_unit_test(slow_drift_is_no_step),
        cmocka_unit_test(finding_depends_on_no_later_night),
        cmocka_unit_test(ratios_become_nights),
        cmocka_unit_test(quiet_years_alarm_in_at_most_one_night_of_two_hundred),
        cmocka_unit_test(years_with_events_find_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
