/* The helpers of all tests: an assertion that never fails would make every test pass.
 * What must fail is run by this program called again, as a test program of one test. */
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

typedef struct ulps_row {
    const char *name;
    double got, want, want_ulps; /* as floats */
} ulps_row;

static ulps_row ulps_rows[] = {
    {"ulps_of_equals", 1.5, 1.5, 0},
    {"ulps_of_the_next_float", 1 + 0x1p-23, 1, 1},
    {"ulps_below_a_power_of_two", 1 - 0x1p-24, 1, 0.5},
    {"ulps_of_signs", -0.0, 0, 0},
    {"ulps_at_zero_are_subnormals", 0x1p-149, 0, 1},
    {"ulps_of_subnormals", 0x3p-149, 0x1p-149, 2},
    {"ulps_of_nan_and_nan", (double)NAN, (double)NAN, 0},
    {"ulps_of_nan_and_one", (double)NAN, 1, (double)INFINITY},
    {"ulps_of_one_and_nan", 1, (double)NAN, (double)INFINITY},
    {"ulps_of_infinities", (double)INFINITY, (double)INFINITY, 0},
    {"ulps_of_opposite_infinities", (double)INFINITY, -(double)INFINITY,
     (double)INFINITY},
    {"ulps_of_an_infinity_and_one", (double)INFINITY, 1, (double)INFINITY},
};

static void check_ulps(void **state) {
    const ulps_row *r = *state;
    assert_true(kiln_test_ulps(r->got, r->want, 24, -126) == r->want_ulps);
}

static void close_accepts_what_is_close(void **state) {
    (void)state;
    static const float got[] = {1, -0.0F, 1e-9F, NAN, INFINITY, 100 + 0x1p-17F};
    static const float want[] = {1, 0, 0, NAN, INFINITY, 100};
    kiln_assert_close(got, want, 6, 1, 1e-8);
}

/* ---- tests that must fail -------------------------------------------------------- */

static void two_values_are_far(void **state) {
    (void)state;
    static const float got[] = {1, 2, NAN, 4};
    static const float want[] = {1, 2.5F, 3, 4};
    kiln_assert_close(got, want, 4, 4, 0.1);
}

static void infinity_is_not_within_any_floor(void **state) {
    (void)state;
    static const double got[] = {(double)INFINITY}, want[] = {1};
    kiln_assert_close_f64(got, want, 1, 1e300, (double)INFINITY);
}

static void the_call_failed(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_fail(&err, KILN_ERR_IO, "the disk is full"), &err);
}

static void the_call_succeeded(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_assert_fails(KILN_OK, KILN_ERR_IO, &err, "");
}

static void the_status_is_another(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_assert_fails(kiln_fail(&err, KILN_ERR_IO, "text"), KILN_ERR_ARG, &err, "text");
}

static void the_text_is_another(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_assert_fails(kiln_fail(&err, KILN_ERR_IO, "text"), KILN_ERR_IO, &err, "other");
}

static void the_second_line_differs(void **state) {
    (void)state;
    kiln_assert_text_equal(KILN_STR_LIT("a\nb\nc\n"), KILN_STR_LIT("a\nx\nc\n"));
}

static void a_line_is_missing(void **state) {
    (void)state;
    kiln_assert_text_equal(KILN_STR_LIT("a\n"), KILN_STR_LIT("a\nb\n"));
}

static void compare_golden(void **state) {
    kiln_test_golden g;
    kiln_test_golden_read(*state, &g);
    kiln_test_golden_check(&g, kiln_str_trim(g.input)); /* the newline comes back */
}

static void the_last_newline_is_missing(void **state) {
    (void)state;
    kiln_assert_text_equal(KILN_STR_LIT("a\nb"), KILN_STR_LIT("a\nb\n"));
}

typedef struct failing_row {
    const char *name;
    void (*check)(void **state);
    const char *text; /* that must be printed */
} failing_row;

static failing_row failing_rows[] = {
    {"close_prints_index_and_distance", two_values_are_far,
     "[1]: expected 2.5 (0x1.4p+1), got 2 (0x1p+1), distance 2.1e+06 ulp, 0.5"},
    {"close_counts_what_is_far", two_values_are_far,
     "2 of 4 are not within 4 ulp or 0.1"},
    {"close_never_takes_an_infinity_for_a_number", infinity_is_not_within_any_floor,
     "1 of 1 are not within"},
    {"status_ok_prints_the_chain", the_call_failed,
     "must succeed; IO: the disk is full"},
    {"fails_wants_a_failure", the_call_succeeded, "must fail with IO"},
    {"fails_wants_the_status", the_status_is_another, "must fail with ARG and 'text'"},
    {"fails_wants_the_text", the_text_is_another, "must fail with IO and 'other'"},
    {"text_equal_shows_the_line", the_second_line_differs, "line 2 differs"},
    {"text_equal_says_what_ends", a_line_is_missing, "(got ends before this line)"},
    {"text_equal_sees_the_last_newline", the_last_newline_is_missing,
     "only the newline at the end differs"},
};

static const char *own_path;

/* Runs this program as `play`; everything it printed. */
static kiln_str play(const char *part, const char *arg, const char *const *env,
                     int *code) {
    kiln_arena *a = kiln_test_arena();
    const kiln_process_options o = {
        .argv = (const char *const[]){own_path, part, arg, NULL}, .env = env};
    kiln_err err = {0};
    kiln_process_result r;
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    assert_int_equal(r.end, KILN_PROCESS_EXITED);
    *code = r.code;
    return kiln_str_from(
        kiln_format(a, "%.*s%.*s", KILN_STR_ARG(r.out), KILN_STR_ARG(r.err)));
}

static void check_failing(void **state) {
    const failing_row *r = *state;
    int code = 0;
    const kiln_str text = play("fail", r->name, NULL, &code);
    assert_int_equal(code, 1); /* one test failed */
    assert_non_null(strstr(text.p, r->text));
    assert_non_null(strstr(text.p, "test_support.c:")); /* where the assertion stands */
}

static void seed_comes_from_the_environment(void **state) {
    (void)state;
    int code = -1;
    const kiln_str text =
        play("seed", NULL, (const char *const[]){"KILN_SEED=12345", NULL}, &code);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text.p, "KILN_SEED=12345 replays"));
}

static void test_folders_go_away(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    int code = -1;
    const kiln_str text = play(
        "folder", NULL,
        (const char *const[]){kiln_format(kiln_test_arena(), "TMPDIR=%s", dir), NULL},
        &code);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text.p, dir));
    kiln_err err = {0};
    char **names = NULL;
    size_t n = 99;
    kiln_assert_status_ok(kiln_dir_list(kiln_test_arena(), dir, &names, &n, &err),
                          &err);
    assert_int_equal(n, 0);
}

static void skips_where_shared_data_are_absent(void **state) {
    (void)state;
    int code = -1;
    const kiln_str text = play("shared", NULL, NULL, &code);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text.p, "skipped: '../shared/no/such/data' is not on this"));
    assert_non_null(strstr(text.p, "[  SKIPPED ]"));
}

static const char *golden_folder(const char *text) {
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir();
    kiln_err err = {0};
    if (text != NULL)
        kiln_assert_status_ok(kiln_file_write(kiln_path_join(a, dir, "case.txt"), text,
                                              strlen(text), &err),
                              &err);
    return dir;
}

typedef struct golden_row {
    const char *name, *text; /* NULL: no file */
    int want_code;
    const char *want;
} golden_row;

static golden_row golden_rows[] = {
    {"golden_accepts_what_is_expected", "Why.\n\na\n\nb\n---\na\n\nb\n", 0, "case.txt"},
    {"golden_accepts_nothing", "Why.\n\n---\n", 0, "case.txt"},
    {"golden_shows_what_differs", "Why.\n\na\n---\nb\n", 1, "line 1 differs"},
    {"golden_says_why_the_file_exists", "Because.\n\na\n---\nb\n", 1, "Because."},
    {"golden_needs_a_sentence", "\na\n---\na\n", 1, "must start with a sentence"},
    {"golden_needs_an_empty_line", "Why.\na\n---\na\n", 1, "and an empty line"},
    {"golden_needs_a_separator", "Why.\n\na\n----\n", 1, "must have a line '---'"},
    {"golden_needs_a_file", NULL, 1, "has no golden file"},
};

static void check_golden(void **state) {
    const golden_row *r = *state;
    int code = -1;
    /* Not as a real update, in which this test may itself run. */
    const kiln_str text =
        play("golden", golden_folder(r->text),
             (const char *const[]){"KILN_GOLDEN_UPDATE=", NULL}, &code);
    assert_int_equal(code, r->want_code);
    assert_non_null(strstr(text.p, r->want));
}

static void golden_update_rewrites_the_expected_part(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = golden_folder("Why.\nTwo lines.\n\na\nb\n---\nold\n");
    int code = -1;
    const kiln_str text =
        play("golden", dir, (const char *const[]){"KILN_GOLDEN_UPDATE=1", NULL}, &code);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text.p, "rewrote"));
    kiln_err err = {0};
    kiln_str now;
    kiln_assert_status_ok(
        kiln_file_map(a, kiln_path_join(a, dir, "case.txt"), 0, &now, &err), &err);
    kiln_assert_text_equal(now, KILN_STR_LIT("Why.\nTwo lines.\n\na\nb\n---\na\nb\n"));
}

/* ---- parts ----------------------------------------------------------------------- */

static void need_shared(void **state) {
    (void)state;
    (void)kiln_test_shared("no/such/data");
    fail();
}

static int run_part(const char *part, const char *arg) {
    if (strcmp(part, "seed") == 0)
        return kiln_test_seed() == 12345 ? 0 : 1;
    if (strcmp(part, "folder") == 0) {
        print_message("%s\n", kiln_test_dir());
        return kiln_file_write(kiln_path_join(kiln_test_arena(), kiln_test_dir(), "x"),
                               "", 0, NULL) == KILN_OK
                   ? 0
                   : 1;
    }
    if (strcmp(part, "shared") == 0)
        kiln_test_add("need_shared", need_shared, NULL);
    if (strcmp(part, "golden") == 0)
        kiln_test_add_golden(arg, compare_golden);
    for (size_t i = 0; i < sizeof failing_rows / sizeof failing_rows[0]; i++)
        if (strcmp(part, "fail") == 0 && strcmp(arg, failing_rows[i].name) == 0)
            kiln_test_add(arg, failing_rows[i].check, NULL);
    return kiln_test_run(part);
}

int main(int argc, char **argv) {
    if (argc > 1)
        return run_part(argv[1], argc > 2 ? argv[2] : "");
    own_path = argv[0];
    kiln_test_add_rows(check_ulps, ulps_rows);
    kiln_test_add("close_accepts_what_is_close", close_accepts_what_is_close, NULL);
    kiln_test_add_rows(check_failing, failing_rows);
    kiln_test_add("seed_comes_from_the_environment", seed_comes_from_the_environment,
                  NULL);
    kiln_test_add("test_folders_go_away", test_folders_go_away, NULL);
    kiln_test_add("skips_where_shared_data_are_absent",
                  skips_where_shared_data_are_absent, NULL);
    kiln_test_add_rows(check_golden, golden_rows);
    kiln_test_add("golden_update_rewrites_the_expected_part",
                  golden_update_rewrites_the_expected_part, NULL);
    return kiln_test_run("support");
}
