/* What all tests share. Includes cmocka and the headers that it needs, so a test file
 * starts with
 *
 *     #include "compiler/graph/graph.h"
 *     #include "tests/support/kiln_test.h"
 *
 * Tests run with the project's root as working folder. A test program:
 *
 *     static row rows[] = {{"accepts_last_axis", .axis = 1}, ...};
 *     int main(void)
 *     {
 *         kiln_test_add_rows(check_infer, rows);
 *         kiln_test_add("keeps_its_promise", check_promise, NULL);
 *         return kiln_test_run("softmax");
 *     }
 */
#ifndef KILN_TESTS_SUPPORT_KILN_TEST_H
#define KILN_TESTS_SUPPORT_KILN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

/* ---- running --------------------------------------------------------------------- */

/* One more test; `row` comes to the function as *state. Both pointers are borrowed
 * until the end. */
void kiln_test_add(const char *name, void (*check)(void **state), void *row);
/* One test for each row of an array of structs with a member `name`. */
#define kiln_test_add_rows(check, rows)                                                \
    do {                                                                               \
        for (size_t kiln_i = 0; kiln_i < sizeof(rows) / sizeof((rows)[0]); kiln_i++)   \
            kiln_test_add((rows)[kiln_i].name, (check), &(rows)[kiln_i]);              \
    } while (0)
/* An array of cmocka_unit_test(...), one after another. */
#define kiln_test_add_tests(unit)                                                      \
    do {                                                                               \
        for (size_t kiln_i = 0; kiln_i < sizeof(unit) / sizeof((unit)[0]); kiln_i++)   \
            kiln_test_add((unit)[kiln_i].name, (unit)[kiln_i].test_func, NULL);        \
    } while (0)
/* Runs what was added; the exit code for main. */
int kiln_test_run(const char *group);

/* From KILN_SEED, else a fixed number. Printed at the first use, so that the log of a
 * failure has it: KILN_SEED=... replays. */
uint64_t kiln_test_seed(void);

/* Is this program under AddressSanitizer or ThreadSanitizer, several times slower? */
bool kiln_test_is_sanitized(void);
/* Skips, under a sanitizer, what would only repeat there: its numbers are the same without,
 * and what it runs other tests of the program run too. KILN_SOAK=1 runs it. */
void kiln_test_skip_repeat(void);
/* How many random cases to draw: n, or a third of them under a sanitizer, unless
 * KILN_SOAK or KILN_SCHEDULES=number asks for more. */
int64_t kiln_test_cases(int64_t n);
/* The same of something that takes long each time: `soak` of it with KILN_SOAK. */
int kiln_test_times(int usual, int soak);

/* What a test has tried, in words, for whoever asks how much that was: all of a program's
 * are one line at its end, which tests/run.sh shows where they pass, too. */
void kiln_test_tally(const char *fmt, ...) KILN_PRINTF(1, 2);

/* An arena that lives until the program ends, for what a test does not release. */
kiln_arena *kiln_test_arena(void);

/* How long a test waits for what must come. Nobody waits that long but for a hang: a
 * machine may be ten times slower, and a process may stand still for a while. */
enum { KILN_TEST_PATIENCE_MS = 600000, KILN_TEST_PATIENCE_S = 600 };

/* ---- assertions ------------------------------------------------------------------ */

/* Prints the chain when the call failed. */
#define kiln_assert_status_ok(st, err)                                                 \
    kiln_test_check_ok((st), (err), #st, __FILE__, __LINE__)
/* The call must fail with this status, and with this text somewhere in its chain. */
#define kiln_assert_fails(st, want_status, err, text)                                  \
    kiln_test_check_fails((st), (want_status), (err), (text), #st, __FILE__, __LINE__)

/* n floats (or doubles), each within `ulps` units in the last place of what is wanted,
 * or within abs_floor. NaN is close to NaN only, an infinity to itself only; -0 is
 * close to 0. Prints index, expected, got and distance of the first few that are not.
 */
#define kiln_assert_close(got, want, n, ulps, abs_floor)                               \
    kiln_test_check_close_f32((got), (want), (n), (ulps), (abs_floor), __FILE__,       \
                              __LINE__)
#define kiln_assert_close_f64(got, want, n, ulps, abs_floor)                           \
    kiln_test_check_close_f64((got), (want), (n), (ulps), (abs_floor), __FILE__,       \
                              __LINE__)

/* Like assert_string_equal, but shows the first line that differs, not two long texts.
 */
#define kiln_assert_text_equal(got, want)                                              \
    kiln_test_check_text((got), (want), __FILE__, __LINE__)

void kiln_test_check_ok(kiln_status st, const kiln_err *err, const char *what,
                        const char *file, int line);
void kiln_test_check_fails(kiln_status st, kiln_status want, const kiln_err *err,
                           const char *text, const char *what, const char *file,
                           int line);
void kiln_test_check_close_f32(const float *got, const float *want, size_t n,
                               double ulps, double abs_floor, const char *file,
                               int line);
void kiln_test_check_close_f64(const double *got, const double *want, size_t n,
                               double ulps, double abs_floor, const char *file,
                               int line);
void kiln_test_check_text(kiln_str got, kiln_str want, const char *file, int line);

/* |got - want| in units of the last place of `want` as a number with so many
 * significant bits (24: float, 53: double) and this smallest exponent of a normal
 * number (-126, -1022). */
double kiln_test_ulps(double got, double want, int bits, int min_exponent);

/* ---- texts ----------------------------------------------------------------------- */

/* The text with the first `from`, which must be there, made `to`. In the test arena. */
const char *kiln_test_replaced(const char *text, const char *from, const char *to);
/* "jobs[3].latency.median_ms" of a document; NULL: it has no such member. */
const kiln_json *kiln_test_json_at(const kiln_json *v, const char *path);

/* ---- files ----------------------------------------------------------------------- */

/* A fresh empty folder, removed when the program ends. In the test arena. */
const char *kiln_test_dir(void);

/* Runs a script by sh in that folder; its $0 is the folder that the test was started in.
 * What it prints is in the test arena. */
kiln_process_result kiln_test_shell(const char *script);

/* The path of something beside the project, below ../shared/ (or below KILN_SHARED), in
 * the test arena. Where it is not on this machine, the test is skipped, with the reason
 * printed. */
#define kiln_test_shared(suffix) kiln_test_find_shared((suffix), __FILE__, __LINE__)
const char *kiln_test_find_shared(const char *suffix, const char *file, int line);

/* Skips the running test and says why. */
#define kiln_test_skip(...) kiln_test_skip_at(__FILE__, __LINE__, __VA_ARGS__)
void kiln_test_skip_at(const char *file, int line, const char *fmt, ...)
    KILN_PRINTF(3, 4);

/* ---- golden text ----------------------------------------------------------------- */

/* A golden file: a sentence that says why it exists, up to the first empty line; the
 * input; a line
 * "---"; the expected text. */
typedef struct kiln_test_golden {
    const char *path;
    kiln_str why, input, want; /* input and want end in a newline, or are empty */
} kiln_test_golden;

/* Fails the test when the file does not have that form. */
void kiln_test_golden_read(const char *path, kiln_test_golden *out);
/* Compares; with KILN_GOLDEN_UPDATE=1 rewrites the expected part instead. `got` should
 * end in a newline; one is added where it is missing. */
void kiln_test_golden_check(const kiln_test_golden *g, kiln_str got);
/* One test for each .txt file of a folder, named after it, with the path as its *state;
 * a folder without any is a failure. */
void kiln_test_add_golden(const char *folder, void (*check)(void **state));

/* ---- what ends a process --------------------------------------------------------- */

/* Calls fn(arg) in a child process, where it may exit or abort. */
typedef struct kiln_test_death {
    int exit_code;          /* -1 when a signal ended it */
    int signal;             /* 0 when it exited */
    char stderr_text[4096]; /* what it wrote there, cut */
} kiln_test_death;
/* A function that returns exits with code 0. */
void kiln_test_in_child(void (*fn)(void *arg), void *arg, kiln_test_death *out);

#endif
