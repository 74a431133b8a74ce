/* tests/run.sh on made-up test programs: silence, crashes and hangs never look like
 * success. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "tests/support/kiln_test.h"

#define ANNOUNCE(n) "echo '[==========] Running " #n " test(s).'\n"
#define RUN(t) "echo '[ RUN      ] " #t "'\n"
#define OK(t) RUN(t) "echo '[       OK ] " #t "'\n"
#define FAILED(t) RUN(t) "echo '[  FAILED  ] " #t "'\n"
#define SKIPPED(t)                                                                     \
    RUN(t)                                                                             \
    "echo 'skipped: no wheels'\n"                                                      \
    "echo '[  SKIPPED ] " #t "'\n"                                                     \
    "echo '[  SKIPPED ] 1 test(s), listed below:'\n"                                   \
    "echo '[  SKIPPED ] " #t "'\n"

typedef struct {
    const char *name;
    const char *script; /* the test program; NULL: none is given */
    const char *want;   /* in what the runner prints */
    const char *sum;    /* its last line */
    int want_code;
    const char *not_shown; /* NULL: nothing is asked */
} row;

static row rows[] = {
    {"counts_what_passed", ANNOUNCE(2) OK(a) OK(b), "[  PASSED  ] 2 test(s).",
     "2 passed, 0 failed, 0 skipped", 0, NULL},
    {"adds_up_several_groups", ANNOUNCE(1) OK(a) ANNOUNCE(1) OK(b), "",
     "2 passed, 0 failed, 0 skipped", 0, NULL},
    {"counts_what_was_skipped", ANNOUNCE(2) OK(a) SKIPPED(b), "[  SKIPPED ] 1 test(s).",
     "1 passed, 0 failed, 1 skipped", 0, NULL},
    {"says_why_it_skipped", ANNOUNCE(3) OK(a) SKIPPED(b) SKIPPED(c),
     "test_made_up: c\n", "1 passed, 0 failed, 2 skipped", 0, NULL},
    {"has_one_line_of_what_passed", ANNOUNCE(1) "echo noise\n" OK(a) SKIPPED(b),
     "test_made_up: 1 passed, 1 skipped (", "1 passed, 0 failed, 1 skipped", 0,
     "noise"},
    {"says_what_was_counted", ANNOUNCE(1) OK(a) "echo 'counted: 7 of 7'\n",
     " processor)\n      7 of 7\n", "1 passed, 0 failed, 0 skipped", 0, NULL},
    {"says_what_failed",
     ANNOUNCE(2) OK(a) RUN(b) "echo wanted 1\n"
                              "echo '[  FAILED  ] b'\n",
     "wanted 1\n[  FAILED  ] b\n", "1 passed, 1 failed, 0 skipped", 1, "RUN      ] a"},
    {"says_what_was_said_behind_the_tests", ANNOUNCE(1) OK(a) "echo leaked\nexit 1\n",
     "\nleaked\n", "1 passed, 1 failed, 0 skipped", 1, NULL},
    {"counts_what_failed", ANNOUNCE(3) OK(a) FAILED(b) FAILED(c) "exit 2\n",
     "[  FAILED  ] 2 test(s).", "1 passed, 2 failed, 0 skipped", 1, NULL},
    {"counts_a_failure_that_the_exit_code_hides", ANNOUNCE(1) FAILED(a), "",
     "0 passed, 1 failed, 0 skipped", 1, NULL},
    {"counts_a_failed_setup", ANNOUNCE(2) OK(a) RUN(b) "exit 1\n", "",
     "1 passed, 1 failed, 0 skipped", 1, NULL},
    {"counts_tests_that_a_crash_left_out", ANNOUNCE(3) OK(a) RUN(b) "kill -SEGV $$\n",
     "ended by signal 11", "1 passed, 2 failed, 0 skipped", 1, NULL},
    {"rejects_an_early_exit", ANNOUNCE(2) OK(a) "exit 0\n",
     "1 of 2 announced tests never ran, exit code 0", "1 passed, 1 failed, 0 skipped",
     1, NULL},
    {"rejects_a_bad_exit_code_alone", ANNOUNCE(1) OK(a) "exit 3\n",
     "exit code 3 though every test passed", "1 passed, 1 failed, 0 skipped", 1, NULL},
    {"rejects_silence", "exit 0\n", "ran no tests", "0 passed, 1 failed, 0 skipped", 1,
     NULL},
    {"rejects_a_program_that_cannot_start", "exit 127\n",
     "exit code 127 before any test", "0 passed, 1 failed, 0 skipped", 1, NULL},
    {"ends_a_hang", ANNOUNCE(2) OK(a) RUN(b) "sleep 3600\n",
     "killed: ran longer than 1", "1 passed, 1 failed, 0 skipped", 1, NULL},
    {"rejects_nothing_to_run", NULL, "nothing was run", "0 passed, 1 failed, 0 skipped",
     1, NULL},
};

static kiln_process_result run(const char *program, const char *dir,
                               const char *seconds) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_process_result got;
    const char *argv[] = {
        "tests/run.sh", "-j", "1", "-t", seconds, "-l", kiln_path_join(a, dir, "logs"),
        program,        NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &got, &err), &err);
    return got;
}

/* The first limit in which the program came as far as to hang. */
static kiln_process_result run_until_it_began(const char *program, const char *dir) {
    static const char *const limits[] = {"1", "10", "100"};
    kiln_process_result got = {.code = -1};
    for (size_t i = 0;
         i < 3 && strstr(got.out.p != NULL ? got.out.p : "", "RUN      ] b") == NULL;
         i++)
        got = run(program, dir, limits[i]);
    return got;
}

static void check_run(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const char *dir = kiln_test_dir();
    const char *program = NULL;
    if (r->script != NULL) {
        program = kiln_path_join(a, dir, "test_made_up");
        const char *text = kiln_format(a, "#!/bin/sh\n%s", r->script);
        kiln_assert_status_ok(kiln_file_write(program, text, strlen(text), &err), &err);
        assert_int_equal(chmod(program, 0700), 0);
    }
    const bool hangs = strstr(r->want, "ran longer") != NULL;
    const kiln_process_result got =
        hangs ? run_until_it_began(program, dir) : run(program, dir, "600");
    if (strstr(got.out.p, r->want) == NULL)
        fail_msg("wanted '%s', got '%s'", r->want, got.out.p);
    if (r->not_shown != NULL && strstr(got.out.p, r->not_shown) != NULL)
        fail_msg("'%s' is no news: '%s'", r->not_shown, got.out.p);
    const char *last = kiln_format(a, "\n%s\n", r->sum);
    const size_t n = strlen(last);
    if (got.out.n < n || memcmp(got.out.p + got.out.n - n, last, n) != 0)
        fail_msg("wanted '%s' last, got '%s'", r->sum, got.out.p);
    assert_int_equal(got.end, KILN_PROCESS_EXITED);
    assert_int_equal(got.code, r->want_code);
}

/* So that nothing else waits for it at the end. */
static void starts_the_longest_first(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_process_result got;
    static const char text[] = "#!/bin/sh\n" ANNOUNCE(1) OK(a);
    static const char *const names[] = {"tests/a/test_a", "tests/zoo/test_fetch",
                                        "tests/e2e/test_packages"};
    const char *program[3], *dir = kiln_test_dir();
    for (int i = 0; i < 3; i++) {
        program[i] = kiln_path_join(a, dir, names[i]);
        kiln_assert_status_ok(kiln_dir_make(kiln_path_dir(a, program[i]), &err), &err);
        kiln_assert_status_ok(kiln_file_write(program[i], text, strlen(text), &err),
                              &err);
        assert_int_equal(chmod(program[i], 0700), 0);
    }
    const char *argv[] = {
        "tests/run.sh", "-j",       "1",        "-l", kiln_path_join(a, dir, "logs"),
        program[0],     program[1], program[2], NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &got, &err), &err);
    const char *first = strstr(got.out.p, names[2]),
               *second = strstr(got.out.p, names[1]),
               *third = strstr(got.out.p, names[0]);
    assert_true(first != NULL && first < second && second < third);
    assert_non_null(strstr(got.out.p, "3 passed, 0 failed, 0 skipped"));
}

static const char *sum_of(const char *dir, const char *script) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_process_result got;
    const char *program = kiln_path_join(a, dir, "test_made_up");
    const char *results = kiln_path_join(a, dir, "results.txt");
    const char *const runs[] = {
        "tests/run.sh", "-l", kiln_path_join(a, dir, "logs"), "-r", results,
        program,        NULL};
    const char *const sums[] = {"tests/run.sh", "-s", results, NULL};
    const char *const *const argv[] = {runs, sums};
    const char *text = kiln_format(a, "#!/bin/sh\n%s", script);
    kiln_assert_status_ok(kiln_file_write(program, text, strlen(text), &err), &err);
    assert_int_equal(chmod(program, 0700), 0);
    for (int i = 0; i < 2; i++) {
        const kiln_process_options o = {.argv = argv[i],
                                        .time_limit_ms = KILN_TEST_PATIENCE_MS};
        kiln_assert_status_ok(kiln_process_run(a, &o, &got, &err), &err);
    }
    return got.out.p;
}

/* Who sees the end of a long log sees which test failed, and why. */
static void repeats_failures_in_the_sum(void **state) {
    (void)state;
    const char *dir = kiln_test_dir();
    const char *bad = sum_of(dir, ANNOUNCE(2) OK(a) RUN(b) "echo wanted 1\n"
                                                           "echo '[  FAILED  ] b'\n");
    assert_non_null(strstr(bad, "test_made_up:\n    [ RUN      ] b\n    wanted 1\n"));
    assert_null(strstr(bad, "] a"));
    assert_null(strstr(sum_of(dir, ANNOUNCE(1) OK(a)), "test_made_up"));
}

int main(void) {
    kiln_test_add_rows(check_run, rows);
    kiln_test_add("starts_the_longest_first", starts_the_longest_first, NULL);
    kiln_test_add("repeats_failures_in_the_sum", repeats_failures_in_the_sum, NULL);
    return kiln_test_run("runner");
}
