/* kiln_ref_compare: tolerance, special values, integers; kiln_ref_random: ranges and
 * repeatability. */
#include "compiler/reference/reference.h"

#include <math.h>
#include <string.h>

#include "tests/support/kiln_test.h"

#define INF ((double)HUGE_VAL)
#define QNAN ((double)NAN)

typedef struct row {
    const char *name;
    double got[3], want[3];
    double rtol, atol;
    int64_t n_bad, worst;
} row;

static row rows[] = {
    {"equal", {1, 2, 3}, {1, 2, 3}, 0, 0, 0, -1},
    {"zeros_of_either_sign_are_equal", {0.0, -0.0, 0}, {-0.0, 0.0, 0}, 0, 0, 0, -1},
    {"inside_relative", {1, 2, 101}, {1, 2, 100}, 0.01, 0, 0, 2},
    {"outside_relative", {1, 2, 102}, {1, 2, 100}, 0.01, 0, 1, 2},
    {"inside_absolute", {1.25, 2, 3}, {1, 2, 3}, 0, 0.25, 0, 0},
    {"outside_absolute", {1.5, 2, 3.25}, {1, 2, 3}, 0, 0.125, 2, 0},
    {"nan_equals_nan", {QNAN, 2, 3}, {QNAN, 2, 3}, 0, 0, 0, -1},
    {"nan_differs_from_number", {1, QNAN, 3}, {1, 2, 3}, 1e9, 1e9, 1, 1},
    {"number_differs_from_nan", {9, 2, 3}, {8, QNAN, 3}, 1e9, 1e9, 1, 1},
    {"infinity_equals_itself", {INF, -INF, 3}, {INF, -INF, 3}, 0, 0, 0, -1},
    {"infinity_differs_in_sign", {INF, 2, 3}, {-INF, 2, 3}, 1, 1, 1, 0},
    {"infinity_differs_from_number", {1, 2, 3}, {1, 2, INF}, 1, 1, 1, 2},
};

static void check_row(void **state) {
    row *r = *state;
    const int64_t n = 3;
    const kiln_type t = kiln_type_make(KILN_F64, 1, &n);
    const kiln_tensor got = {t, r->got}, want = {t, r->want};
    kiln_err err = {0};
    kiln_diff d;
    kiln_assert_status_ok(kiln_ref_compare(&got, &want, r->rtol, r->atol, &d, &err),
                          &err);
    assert_int_equal(d.n_bad, r->n_bad);
    assert_int_equal(d.worst_index, r->worst);
    assert_int_equal(d.ok, r->n_bad == 0);
}

static void check_numbers(void **state) {
    (void)state;
    const int64_t n = 4;
    const kiln_type t = kiln_type_make(KILN_F64, 1, &n);
    double g[] = {1, 4, QNAN, 0}, w[] = {1, 2, QNAN, 0};
    const kiln_tensor got = {t, g}, want = {t, w};
    kiln_diff d;
    assert_int_equal(kiln_ref_compare(&got, &want, 0, 0, &d, NULL), KILN_OK);
    assert_true(d.max_abs == 2 && d.max_rel == 1);
    assert_true(d.worst_index == 1 && d.worst_got == 4 && d.worst_want == 2);
    assert_true(fabs(d.rms_error - sqrt(4.0 / 3)) < 1e-15); /* three are finite */
    assert_true(fabs(d.rms_want - sqrt(5.0 / 3)) < 1e-15);
}

/* Doubles cannot tell these apart. */
static void check_large_integers(void **state) {
    (void)state;
    const int64_t n = 2;
    int64_t g[] = {INT64_MAX, 5}, w[] = {INT64_MAX - 1, 5};
    kiln_type t = kiln_type_make(KILN_I64, 1, &n);
    kiln_tensor got = {t, g}, want = {t, w};
    kiln_diff d;
    assert_int_equal(kiln_ref_compare(&got, &want, 0, 0.5, &d, NULL), KILN_OK);
    assert_int_equal(d.n_bad, 1);
    uint64_t gu[] = {UINT64_MAX, 5}, wu[] = {0, 5};
    t = kiln_type_make(KILN_U64, 1, &n);
    got = (kiln_tensor){t, gu};
    want = (kiln_tensor){t, wu};
    assert_int_equal(kiln_ref_compare(&got, &want, 0, 1e6, &d, NULL), KILN_OK);
    assert_int_equal(d.n_bad, 1);
    assert_true(d.max_abs == 18446744073709551616.0);
}

static void check_types(void **state) {
    (void)state;
    float x[2] = {0};
    const int64_t n = 2, m = 1;
    const kiln_tensor a = {kiln_type_make(KILN_F32, 1, &n), x},
                      b = {kiln_type_make(KILN_F32, 1, &m), x};
    kiln_err err = {0};
    kiln_diff d;
    kiln_assert_fails(kiln_ref_compare(&a, &b, 0, 0, &d, &err), KILN_ERR_SHAPE, &err,
                      "must be f32[1], is f32[2]");
}

/* More elements than are widened at a time, the odd one last. */
static void check_large(void **state) {
    (void)state;
    enum { N = 10001 };
    static float g[N], w[N];
    g[N - 1] = 1;
    const int64_t n = N;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    const kiln_tensor got = {t, g}, want = {t, w};
    kiln_diff d;
    assert_int_equal(kiln_ref_compare(&got, &want, 0, 0, &d, NULL), KILN_OK);
    assert_int_equal(d.n_bad, 1);
    assert_int_equal(d.worst_index, N - 1);
}

static void check_random(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const int64_t n = 5000;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    const kiln_tensor x = kiln_ref_random(a, &t, 7), same = kiln_ref_random(a, &t, 7),
                      other = kiln_ref_random(a, &t, 8);
    const float *f = x.data;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        assert_true(f[i] >= -1 && f[i] < 1);
        sum += (double)f[i];
    }
    assert_true(fabs(sum / (double)n) < 0.05); /* 6 standard deviations of the mean */
    assert_memory_equal(x.data, same.data, (size_t)n * sizeof(float));
    assert_memory_not_equal(x.data, other.data, (size_t)n * sizeof(float));
    const kiln_type u = kiln_type_make(KILN_I64, 1, &n);
    const kiln_tensor k = kiln_ref_random(a, &u, 7);
    for (int64_t i = 0; i < n; i++)
        assert_in_range(((const int64_t *)k.data)[i], 0, 1);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("counts_and_means", check_numbers, NULL);
    kiln_test_add("large_integers", check_large_integers, NULL);
    kiln_test_add("rejects_other_types", check_types, NULL);
    kiln_test_add("large_tensors", check_large, NULL);
    kiln_test_add("random_tensors", check_random, NULL);
    return kiln_test_run("reference_compare");
}
