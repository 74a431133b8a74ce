/* Versions with their age. */
#include "pipeline/baselines/library/library.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name, *version, *want;
} row;

static row rows[] = {
    {"a_snapshot", "0.0~git20220217.fdafc38-1",
     "0.0~git20220217.fdafc38-1 (of February 2022)"},
    {"the_last_month", "1~git20251231-1", "1~git20251231-1 (of December 2025)"},
    {"a_second_git", "0~github~git20240105.a",
     "0~github~git20240105.a (of January 2024)"},
    {"a_release", "2.6.3-1", "2.6.3-1"},
    {"no_month", "0~git20221301.a", "0~git20221301.a"},
    {"no_day", "0~git202202.a", "0~git202202.a"},
    {"too_many_digits", "0~git202202170.a", "0~git202202170.a"},
    {"nothing", "", ""},
    {"unknown", "unknown", "unknown"},
};

static void check(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    assert_string_equal(kiln_library_dated(&a, r->version), r->want);
    kiln_arena_fini(&a);
}

static void onednn_has_its_year(void **state) {
    (void)state;
    kiln_arena a = {0};
    assert_string_equal(kiln_library_onednn_dated(&a, 2, 6, 3), "2.6.3 (of 2022)");
    assert_string_equal(kiln_library_onednn_dated(&a, 2, 0, 0), "2.0.0 (of 2020)");
    assert_string_equal(kiln_library_onednn_dated(&a, 3, 0, 1), "3.0.1 (of 2022)");
    assert_string_equal(kiln_library_onednn_dated(&a, 3, 2, 0), "3.2.0 (of 2023)");
    assert_string_equal(kiln_library_onednn_dated(&a, 3, 10, 2), "3.10.2 (of 2025)");
    assert_string_equal(kiln_library_onednn_dated(&a, 9, 9, 9), "9.9.9");
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check, rows);
    kiln_test_add("onednn_has_its_year", onednn_has_its_year, NULL);
    return kiln_test_run("age of libraries");
}
