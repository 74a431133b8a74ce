/* E-divisive: against the formula by hand, on series whose points are known, and how
 * often it sees one where there is none. */
#include "reports/stats/change_points.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <time.h>

enum { NIGHTS = 60, YEAR = 365, SERIES = 200 };

static double normal(kiln_rng *rng) {
    const double u = kiln_rng_unit(rng), v = kiln_rng_unit(rng);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
}

/* Levels of runs of nights, with noise. */
static void make(kiln_rng *rng, double *v, size_t n, size_t run, const double *level,
                 double noise) {
    for (size_t i = 0; i < n; i++)
        v[i] = level[i / run] + noise * normal(rng);
}

static size_t points(const double *v, size_t n, size_t *at) {
    kiln_arena a = {0};
    const size_t found = kiln_change_points(&a, v, n, 1, at);
    kiln_arena_fini(&a);
    return found;
}

static void flat_and_short_series_have_none(void **state) {
    double v[NIGHTS] = {0};
    const double jump[] = {0, 0, 0, 1, 1, 1, 1};
    size_t at[NIGHTS];
    (void)state;
    assert_int_equal(points(v, 0, at), 0);
    assert_int_equal(points(v, 1, at), 0);
    assert_int_equal(points(v, NIGHTS, at), 0);
    assert_int_equal(points(jump, 7, at), 0); /* 3 nights before it are too few */
}

static void exact_step_has_its_night(void **state) {
    double v[NIGHTS] = {0};
    size_t at[NIGHTS];
    (void)state;
    for (int i = 23; i < NIGHTS; i++)
        v[i] = .02;
    assert_int_equal(points(v, NIGHTS, at), 1);
    assert_int_equal(at[0], 23);
}

static void several_steps_are_all_found(void **state) {
    static const double level[] = {0, .03, .01, .05, .05, .02};
    double v[NIGHTS];
    size_t at[NIGHTS];
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    make(&rng, v, NIGHTS, 10, level, .002);
    assert_int_equal(points(v, NIGHTS, at), 4);
    const size_t want[] = {10, 20, 30, 50};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(at[i], want[i]);
}

/* A change of spread alone is one too: that is what distances see and means do not. */
static void change_of_spread_is_found(void **state) {
    double v[2 * NIGHTS];
    size_t at[2 * NIGHTS];
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 2 * NIGHTS; i++)
        v[i] = (i < NIGHTS ? .001 : .02) * normal(&rng);
    assert_true(points(v, 2 * NIGHTS, at) >= 1);
    assert_in_range(at[0], NIGHTS - 8, NIGHTS + 8);
}

static void noise_alone_seldom_has_points(void **state) {
    static const double level[1] = {0};
    double v[NIGHTS];
    size_t at[NIGHTS];
    kiln_rng rng;
    int n = 0;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int k = 0; k < SERIES; k++) {
        make(&rng, v, NIGHTS, NIGHTS, level, .004);
        n += points(v, NIGHTS, at) > 0;
    }
    print_message("%d of %d series without a change have a point\n", n, SERIES);
    assert_true(n <= 8); /* 2 are expected; 9 or more have a chance of 2e-4 */
}

static void three_percent_are_seldom_missed(void **state) {
    static const double level[] = {0, .03, .03};
    double v[NIGHTS];
    size_t at[NIGHTS];
    kiln_rng rng;
    int n = 0;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int k = 0; k < SERIES; k++) {
        make(&rng, v, NIGHTS, 20, level, .0045);
        const size_t found = points(v, NIGHTS, at);
        for (size_t i = 0; i < found; i++)
            n += at[i] == 20;
    }
    print_message("%d of %d steps of 3%% have their night\n", n, SERIES);
    assert_true(100 * n >= 98 * SERIES);
}

static void equal_series_have_equal_points(void **state) {
    static const double level[] = {0, .01, 0};
    double v[NIGHTS];
    size_t at[NIGHTS], again[NIGHTS];
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, 7);
    make(&rng, v, NIGHTS, 20, level, .004);
    const size_t n = points(v, NIGHTS, at);
    assert_int_equal(points(v, NIGHTS, again), n);
    assert_memory_equal(at, again, n * sizeof *at);
}

static void a_year_is_quick(void **state) {
    static const double level[] = {0, .03, .01, .02, .05};
    double v[YEAR];
    size_t at[YEAR];
    struct timespec begin, end;
    kiln_rng rng;
    (void)state;
    kiln_rng_init(&rng, kiln_test_seed());
    make(&rng, v, YEAR, 80, level, .004);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    assert_true(points(v, YEAR, at) >= 4);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double s = (double)(end.tv_sec - begin.tv_sec) +
                     (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    print_message("a year with steps: %.3f s\n", s);
    assert_true(s < (kiln_test_is_sanitized() ? 60 : 6));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_and_short_series_have_none),
        cmocka_unit_test(exact_step_has_its_night),
        cmocka_unit_test(several_steps_are_all_found),
        cmocka_unit_test(change_of_spread_is_found),
        cmocka_unit_test(noise_alone_seldom_has_points),
        cmocka_unit_test(three_percent_are_seldom_missed),
        cmocka_unit_test(equal_series_have_equal_points),
        cmocka_unit_test(a_year_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
