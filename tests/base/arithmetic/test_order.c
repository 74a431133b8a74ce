/* Sorting and quantiles. */
#include "tests/support/kiln_test.h"

typedef struct order_row {
    const char *name;
    double v[5];
    size_t n;
    double share, want;
} order_row;

static order_row rows[] = {
    {"one", {7}, 1, 0.5, 7},
    {"the_middle", {3, 1, 2}, 3, 0.5, 2},
    {"between_two", {4, 1, 3, 2}, 4, 0.5, 2.5},
    {"a_quarter", {4, 1, 3, 2}, 4, 0.25, 1.75},
    {"the_least", {4, 1, 3, 2}, 4, 0, 1},
    {"the_most", {4, 1, 3, 2}, 4, 1, 4},
    {"equal_ones", {2, 2, 2, 2, 1}, 5, 0.5, 2},
    {"negative_ones", {-1, -3, -2}, 3, 0.5, -2},
};

static void quantiles(void **state) {
    order_row r = *(order_row *)*state;
    kiln_sort_f64(r.v, r.n);
    for (size_t i = 1; i < r.n; i++)
        assert_true(r.v[i - 1] <= r.v[i]);
    assert_true(kiln_quantile(r.v, r.n, r.share) == r.want);
}

static void a_median_sorts(void **state) {
    (void)state;
    double v[] = {5, 1, 4, 2, 3};
    assert_true(kiln_median(v, 5) == 3);
    assert_true(v[0] == 1 && v[4] == 5);
}

int main(void) {
    kiln_test_add_rows(quantiles, rows);
    kiln_test_add("a_median_sorts", a_median_sorts, NULL);
    return kiln_test_run("order");
}
