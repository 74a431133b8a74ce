/* Random numbers: fixed values, ranges, and that nothing is obviously skewed. */
#include "tests/support/kiln_test.h"

/* Computed once by an independent implementation of the paper's algorithm
 * (arbitrary-precision integers masked to 64 bits). */
static void splitmix_gives_the_published_sequence(void **state) {
    (void)state;
    static const uint64_t want[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821)};
    kiln_rng r;
    kiln_rng_init(&r, 1234567);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        assert_true(kiln_rng_next(&r) == want[i]);
}

/* The same way; goldens elsewhere depend on these values. */
static void counter_gives_fixed_values(void **state) {
    (void)state;
    static const struct {
        uint32_t i, seed;
        double want;
    } rows[] = {{0, 0, 0x0.0p+0},
                {1, 0, 0x1.1fd0200000000p-4},
                {0, 1, 0x1.3766220000000p-1},
                {123456, 42, 0x1.2bd5a00000000p-3},
                {UINT32_MAX, 7, 0x1.a160780000000p-1},
                {3, UINT32_MAX, 0x1.ffaf4a0000000p-1}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const double got = kiln_counter_unit(rows[k].i, rows[k].seed);
        kiln_assert_close_f64(&got, &rows[k].want, 1, 0, 0);
    }
}

typedef struct range_row {
    const char *name;
    int64_t lo, hi;
} range_row;

static range_row range_rows[] = {
    {"range_of_one_element", 7, 7},
    {"range_around_zero", -3, 3},
    {"range_of_the_smallest_only", INT64_MIN, INT64_MIN},
    {"range_of_all_numbers", INT64_MIN, INT64_MAX},
    {"range_of_all_but_one", INT64_MIN, INT64_MAX - 1},
    {"range_of_half_and_one", -1, INT64_MAX},
};

static void check_range(void **state) {
    const range_row *r = *state;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    bool seen_lo = false, seen_hi = false;
    for (int i = 0; i < 2000; i++) {
        const int64_t x = kiln_rng_range(&rng, r->lo, r->hi);
        assert_true(x >= r->lo && x <= r->hi);
        seen_lo = seen_lo || x == r->lo;
        seen_hi = seen_hi || x == r->hi;
    }
    if (r->hi >= 0 && r->lo > -10 && r->hi < 10)
        assert_true(seen_lo && seen_hi); /* both ends belong to it */
}

static void draws_are_even(void **state) {
    (void)state;
    enum { N = 200000, CELLS = 10 };
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    int count[3][CELLS] = {{0}};
    for (uint32_t i = 0; i < N; i++) {
        const double unit = kiln_rng_unit(&rng), counter = kiln_counter_unit(i, 5);
        assert_true(unit >= 0 && unit < 1 && counter >= 0 && counter < 1);
        count[0][(int)(unit * CELLS)]++;
        count[1][(int)(counter * CELLS)]++;
        count[2][kiln_rng_range(&rng, 100, 100 + CELLS - 1) - 100]++;
    }
    /* The standard deviation of a cell is 134; ten of them never happen by chance. */
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < CELLS; c++)
            assert_in_range(count[k][c], N / CELLS - 1340, N / CELLS + 1340);
}

int main(void) {
    kiln_test_add("splitmix_gives_the_published_sequence",
                  splitmix_gives_the_published_sequence, NULL);
    kiln_test_add("counter_gives_fixed_values", counter_gives_fixed_values, NULL);
    kiln_test_add_rows(check_range, range_rows);
    kiln_test_add("draws_are_even", draws_are_even, NULL);
    return kiln_test_run("rng");
}
