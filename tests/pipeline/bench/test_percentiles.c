/* Percentiles by the nearest rank, and which of them so many samples know. */
#include "pipeline/bench/bench.h"
#include "tests/support/kiln_test.h"

#include <math.h>

typedef struct row {
    const char *name;
    int n;
    double want[KILN_N_PERCENTILES]; /* of the samples 1, 2, ..., n; 0: not known */
} row;

static row rows[] = {
    {"one_sample_knows_none", 1, {0, 0, 0, 0, 0}},
    {"two_know_the_median", 2, {1, 0, 0, 0, 0}},
    {"nine_know_no_ninetieth", 9, {5, 0, 0, 0, 0}},
    {"ten_know_the_ninetieth", 10, {5, 9, 0, 0, 0}},
    {"twenty_know_the_95th", 20, {10, 18, 19, 0, 0}},
    {"thirty_as_bench_takes", 30, {15, 27, 29, 0, 0}},
    {"a_hundred", 100, {50, 90, 95, 99, 0}},
    {"one_less_than_a_thousand", 999, {500, 900, 950, 990, 0}},
    {"a_thousand", 1000, {500, 900, 950, 990, 999}},
    {"many", 12345, {6173, 11111, 11728, 12222, 12333}},
};

static void are_samples(void **state) {
    const row *r = *state;
    double *v = kiln_array(kiln_test_arena(), double, r->n);
    for (int i = 0; i < r->n;
         i++) /* 1 to n, out of order: 7919 is prime to all of them */
        v[i] = 1 + (double)((int64_t)i * 7919 % r->n);
    const kiln_percentiles p = kiln_percentiles_of(v, (size_t)r->n);
    assert_int_equal(p.n, r->n);
    assert_true(p.min == 1 && p.max == r->n && fabs(p.mean - (1 + r->n) / 2.0) < 1e-9);
    for (int i = 0; i < KILN_N_PERCENTILES; i++) {
        const double got = isnan(p.at[i]) ? 0 : p.at[i];
        if (got != r->want[i])
            fail_msg("%s of %d: %g, wanted %g", kiln_percentile_name(i), r->n, got,
                     r->want[i]);
    }
}

int main(void) {
    kiln_test_add_rows(are_samples, rows);
    return kiln_test_run("percentiles");
}
