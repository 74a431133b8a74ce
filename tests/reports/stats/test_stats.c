/* Statistics against values worked out by hand, from tables, and by counting. */
#include "reports/stats/stats.h"
#include "tests/support/kiln_test.h"

#include <math.h>

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.12g, not %.12g", got, want);
}

static void quantiles(void **state) {
    (void)state;
    kiln_arena a = {0};
    const double v[] = {4, 1, 3, 2};
    near(kiln_stats_median(&a, v, 4), 2.5, 0);
    near(kiln_stats_median(&a, v, 3), 3, 0);
    near(kiln_stats_quantile(&a, v, 4, 0), 1, 0);
    near(kiln_stats_quantile(&a, v, 4, 1), 4, 0);
    near(kiln_stats_quantile(&a, v, 4, 0.25), 1.75, 1e-15);
    near(kiln_stats_median(&a, v, 1), 4, 0);
    kiln_arena_fini(&a);
}

/* ---- signed ranks ---------------------------------------------------------------- */

/* P(T >= t) by trying all signs. */
static double by_counting(const double *d, size_t n, double centre) {
    double rank[12], above = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        double less = 0, same = 0;
        for (size_t k = 0; k < n; k++) {
            less += fabs(d[k] - centre) < fabs(d[i] - centre);
            same += fabs(d[k] - centre) == fabs(d[i] - centre);
        }
        rank[i] = less + (same + 1) / 2;
        above += d[i] > centre ? rank[i] : 0;
    }
    for (size_t signs = 0; signs < (size_t)1 << n; signs++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += signs >> i & 1 ? rank[i] : 0;
        count += sum >= above;
    }
    return (double)count / (double)((size_t)1 << n);
}

static void p_is_what_counting_gives(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int round = 0; round < 200; round++) {
        double d[12];
        const size_t n = 1 + kiln_rng_next(&rng) % 12;
        /* Few values: many ties, none of them 0. */
        for (size_t i = 0; i < n; i++)
            d[i] = (double)kiln_rng_range(&rng, -4, 4) + 0.25;
        near(kiln_stats_signed_rank_p(&a, d, n, 0), by_counting(d, n, 0), 1e-12);
        kiln_arena_reset(&a);
    }
    kiln_arena_fini(&a);
}

static void nothing_differs(void **state) {
    (void)state;
    kiln_arena a = {0};
    const double d[] = {1, 1, 1};
    near(kiln_stats_signed_rank_p(&a, d, 3, 1), 1, 0);
    near(kiln_stats_signed_rank_p(&a, d, 3, 0), 0.125, 0);
    kiln_arena_fini(&a);
}

/* Depression scores before and after a tranquilizer (Hollander and Wolfe, example 3.1):
 * T+ = 40 of n = 9, P = .0195; centre -.46, interval at 96.1%: -.786 to -.010. */
static void the_textbooks_example(void **state) {
    (void)state;
    kiln_arena a = {0};
    const double d[] = {.952, -.147, 1.022, .430, .620, .590, .490, -.080, .010};
    near(kiln_stats_signed_rank_p(&a, d, 9, 0), .0195, .0001);
    const kiln_stats_interval c = kiln_stats_centre(&a, d, 9, .04);
    near(c.estimate, .46, .0005);
    near(c.low, .010, .0005);
    near(c.high, .786, .0005);
    kiln_arena_fini(&a);
}

static void too_few_pairs_say_nothing(void **state) {
    (void)state;
    kiln_arena a = {0};
    const double d[] = {1, 2, 3};
    const kiln_stats_interval c = kiln_stats_centre(&a, d, 3, .05);
    near(c.estimate, 2, 0);
    assert_true(isinf(c.low) && c.low < 0 && isinf(c.high) && c.high > 0);
    kiln_arena_fini(&a);
}

/* The interval holds the centre as often as it says, or more: 10 pairs at 2%. */
static void intervals_cover(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_rng rng;
    int misses = 0;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int round = 0; round < 4000; round++) {
        double d[10];
        for (size_t i = 0; i < 10; i++)
            d[i] = 5 + (kiln_rng_unit(&rng) - 0.5) * (kiln_rng_unit(&rng) + 1);
        const kiln_stats_interval c = kiln_stats_centre(&a, d, 10, .02);
        misses += c.low > 5 || c.high < 5;
        kiln_arena_reset(&a);
    }
    /* 80 expected at most; 5 deviations of sqrt(80) above never happens. */
    assert_true(misses <= 125);
    assert_true(misses > 0);
    kiln_arena_fini(&a);
}

/* ---- bootstrap and many tests ---------------------------------------------------- */

static void ratios_have_intervals(void **state) {
    (void)state;
    kiln_arena a = {0};
    double x[60], y[60];
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    for (int i = 0; i < 60; i++) {
        x[i] = 1.2 * (1 + 0.02 * kiln_rng_unit(&rng));
        y[i] = 1 + 0.02 * kiln_rng_unit(&rng);
    }
    const kiln_stats_interval r = kiln_stats_ratio(&a, x, 60, y, 60, 0.95, 500, 1);
    const kiln_stats_interval again = kiln_stats_ratio(&a, x, 60, y, 60, 0.95, 500, 1);
    assert_true(r.low <= r.estimate && r.estimate <= r.high);
    assert_true(r.low > 1.18 && r.high < 1.22);
    assert_memory_equal(&r, &again, sizeof r);
    const double two[] = {0.5, 2};
    const kiln_stats_interval g = kiln_stats_geomean(&a, two, 2, 0.95, 500, 1);
    near(g.estimate, 1, 1e-15);
    near(g.low, 0.5, 1e-15);
    near(g.high, 2, 1e-15);
    kiln_arena_fini(&a);
}

/* Benjamini and Hochberg (1995), section 3.2: of 15 the first four at 5%. */
static void many_tests(void **state) {
    (void)state;
    kiln_arena a = {0};
    const double p[] = {.3240, .0001, .0201, .0004, .0278, .0298, .0019, .0344,
                        .0459, .0095, .4262, .5719, .6528, .7590, 1.000};
    bool rejected[15];
    assert_int_equal(kiln_stats_rejected(&a, p, 15, .05, rejected), 4);
    for (size_t i = 0; i < 15; i++)
        assert_int_equal(rejected[i], p[i] <= .0095);
    assert_int_equal(kiln_stats_rejected(&a, p, 0, .05, rejected), 0);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add("quantiles", quantiles, NULL);
    kiln_test_add("p_is_what_counting_gives", p_is_what_counting_gives, NULL);
    kiln_test_add("nothing_differs", nothing_differs, NULL);
    kiln_test_add("the_textbooks_example", the_textbooks_example, NULL);
    kiln_test_add("too_few_pairs_say_nothing", too_few_pairs_say_nothing, NULL);
    kiln_test_add("intervals_cover", intervals_cover, NULL);
    kiln_test_add("ratios_have_intervals", ratios_have_intervals, NULL);
    kiln_test_add("many_tests", many_tests, NULL);
    return kiln_test_run("reports: statistics");
}
