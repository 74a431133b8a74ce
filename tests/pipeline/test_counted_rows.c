/* Bounded outputs are compared as far as their count says (docs/bounded-outputs.md). */
#include "pipeline/pipeline.h"

#include "tests/support/kiln_test.h"

static const int64_t rows[4][3] = {{0, 0, 7}, {0, 1, 2}, {-1, -1, -1}, {-1, -1, -1}};
static const int64_t two = 2;

static kiln_tensor table(void) {
    const int64_t dim[] = {4, 3};
    return (kiln_tensor){kiln_type_make(KILN_I64, 2, dim), (void *)(uintptr_t)rows};
}

static kiln_tensor number(kiln_dtype dtype) {
    return (kiln_tensor){kiln_type_scalar(dtype), (void *)(uintptr_t)&two};
}

/* Rows of the result, for an expectation of `want` rows. */
static int64_t rows_for(const char *count_name, kiln_dtype dtype, int64_t want) {
    const char *const name[] = {"y", "z", count_name};
    const kiln_tensor value[] = {table(), table(), number(dtype)};
    const int64_t dim[] = {want, 3};
    const kiln_type t = kiln_type_make(KILN_I64, 2, dim);
    const kiln_tensor got = kiln_counted_rows(kiln_test_arena(), name, value, 3, 0, &t);
    assert_ptr_equal(got.data, rows);
    assert_int_equal(got.type.rank, 2);
    assert_int_equal(got.type.dim[1], 3);
    return got.type.dim[0];
}

static void takes_as_many_as_count(void **state) {
    (void)state;
    assert_int_equal(rows_for("y.count", KILN_I64, 2), 2);
}

static void keeps_all_where_another_number_is_wanted(void **state) {
    (void)state;
    assert_int_equal(rows_for("y.count", KILN_I64, 3), 4);
    assert_int_equal(rows_for("y.count", KILN_I64, 4), 4);
}

static void keeps_all_without_a_count_of_its_own(void **state) {
    (void)state;
    assert_int_equal(rows_for("z.count", KILN_I64, 2), 4);
    assert_int_equal(rows_for("y.counts", KILN_I64, 2), 4);
    assert_int_equal(rows_for("y", KILN_I64, 2), 4);
    assert_int_equal(rows_for("y.count", KILN_U64, 2), 4);
}

/* The first two of three columns are copied; of one row they lie together. */
static void takes_columns(void **state) {
    const char *const name[] = {"y", "y.count"};
    const kiln_tensor value[] = {table(), number(KILN_I64)};
    const int64_t dim[] = {4, 2};
    const kiln_type t = kiln_type_make(KILN_I64, 2, dim);
    (void)state;
    const kiln_tensor got = kiln_counted_rows(kiln_test_arena(), name, value, 2, 0, &t);
    const int64_t *v = got.data;
    assert_true(kiln_type_eq(&got.type, &t));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(v[2 * i], rows[i][0]);
        assert_int_equal(v[2 * i + 1], rows[i][1]);
    }
}

int main(void) {
    kiln_test_add("takes_columns", takes_columns, NULL);
    kiln_test_add("takes_as_many_as_count", takes_as_many_as_count, NULL);
    kiln_test_add("keeps_all_where_another_number_is_wanted",
                  keeps_all_where_another_number_is_wanted, NULL);
    kiln_test_add("keeps_all_without_a_count_of_its_own",
                  keeps_all_without_a_count_of_its_own, NULL);
    return kiln_test_run("counted_rows");
}
