/* Running and assertions: see kiln_test.h. Files, golden text and children are in
 * kiln_test_files.c. */
#include "tests/support/kiln_test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kiln_arena arena; /* until the end of the process: still reachable, so no leak */
static KILN_VEC(struct CMUnitTest) tests;
static KILN_VEC(const char *) counts;

kiln_arena *kiln_test_arena(void) { return &arena; }

void kiln_test_add(const char *name, void (*check)(void **state), void *row) {
    const struct CMUnitTest t = {
        .name = name, .test_func = check, .initial_state = row};
    kiln_vec_push(&arena, &tests, t);
}

void kiln_test_tally(const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kiln_vec_push(&arena, &counts, kiln_str_dup(&arena, text));
}

int kiln_test_run(const char *group) {
    const int code = _cmocka_run_group_tests(group, tests.v, tests.n, NULL, NULL);
    for (size_t i = 0; i < counts.n; i++)
        print_message("%s%s%s", i == 0 ? "counted: " : "; ", counts.v[i],
                      i + 1 == counts.n ? "\n" : "");
    return code;
}

uint64_t kiln_test_seed(void) {
    static uint64_t seed;
    static bool is_known;
    if (!is_known) {
        const char *text = getenv("KILN_SEED");
        const bool is_given = text != NULL && text[0] != '\0';
        seed = is_given ? strtoull(text, NULL, 0) : UINT64_C(20240607);
        is_known = true;
        print_message("seed %" PRIu64 "; KILN_SEED=%" PRIu64 " replays\n", seed, seed);
    }
    return seed;
}

void kiln_test_check_ok(kiln_status st, const kiln_err *err, const char *what,
                        const char *file, int line) {
    if (st == KILN_OK)
        return;
    print_error("%s\n  must succeed; %s: %s\n", what, kiln_status_name(st),
                err == NULL ? "" : err->text);
    _fail(file, line);
}

void kiln_test_check_fails(kiln_status st, kiln_status want, const kiln_err *err,
                           const char *text, const char *what, const char *file,
                           int line) {
    const bool has_text = err != NULL && strstr(err->text, text) != NULL;
    if (st == want && has_text && err->status == st)
        return;
    print_error("%s\n  must fail with %s and '%s'\n  got %s: %s\n", what,
                kiln_status_name(want), text, kiln_status_name(st),
                err == NULL ? "" : err->text);
    if (err != NULL && err->status != st)
        print_error("  the chain holds %s\n", kiln_status_name(err->status));
    _fail(file, line);
}

bool kiln_test_is_sanitized(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#else
    return false;
#endif
#else
    return false;
#endif
}

void kiln_test_skip_repeat(void) {
    if (kiln_test_is_sanitized() && getenv("KILN_SOAK") == NULL)
        kiln_test_skip(
            "its numbers are the same without a sanitizer, and tests beside it "
            "run the same code under one: KILN_SOAK=1 runs it");
}

int64_t kiln_test_cases(int64_t n) {
    const char *wanted = getenv("KILN_SCHEDULES");
    if (wanted != NULL && !kiln_parse_i64(kiln_str_from(wanted), &n))
        fail_msg("KILN_SCHEDULES must be a number, is '%s'", wanted);
    return wanted == NULL && getenv("KILN_SOAK") == NULL && kiln_test_is_sanitized()
               ? (n + 2) / 3
               : n;
}

int kiln_test_times(int usual, int soak) {
    return getenv("KILN_SOAK") != NULL ? soak : (int)kiln_test_cases(usual);
}

double kiln_test_ulps(double got, double want, int bits, int min_exponent) {
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) ? 0 : (double)INFINITY;
    if (got == want)
        return 0;
    if (isinf(got) || isinf(want))
        return (double)INFINITY;
    int exponent = min_exponent;
    if (want != 0 && ilogb(want) > min_exponent)
        exponent = ilogb(want);
    return fabs(got - want) / ldexp(1.0, exponent - bits + 1);
}

enum { MAX_SHOWN = 5 };

/* False, and a line of text for the first few, when an element is not close. */
static bool is_close(double got, double want, double distance, double ulps,
                     double abs_floor, size_t i, size_t *n_bad) {
    /* Not fabs() <= floor alone: NaN and infinities must not pass by a NaN's
     * comparison. */
    if (distance <= ulps || (isfinite(distance) && fabs(got - want) <= abs_floor))
        return true;
    if (++*n_bad <= MAX_SHOWN)
        print_error(
            "[%zu]: expected %.9g (%a), got %.9g (%a), distance %.3g ulp, %.3g\n", i,
            want, want, got, got, distance, fabs(got - want));
    return false;
}

static void report_close(size_t n_bad, size_t n, double ulps, double abs_floor,
                         const char *file, int line) {
    if (n_bad == 0)
        return;
    print_error("%zu of %zu are not within %g ulp or %g\n", n_bad, n, ulps, abs_floor);
    _fail(file, line);
}

void kiln_test_check_close_f32(const float *got, const float *want, size_t n,
                               double ulps, double abs_floor, const char *file,
                               int line) {
    size_t n_bad = 0;
    for (size_t i = 0; i < n; i++) {
        const double g = (double)got[i], w = (double)want[i];
        (void)is_close(g, w, kiln_test_ulps(g, w, 24, -126), ulps, abs_floor, i,
                       &n_bad);
    }
    report_close(n_bad, n, ulps, abs_floor, file, line);
}

void kiln_test_check_close_f64(const double *got, const double *want, size_t n,
                               double ulps, double abs_floor, const char *file,
                               int line) {
    size_t n_bad = 0;
    for (size_t i = 0; i < n; i++)
        (void)is_close(got[i], want[i], kiln_test_ulps(got[i], want[i], 53, -1022),
                       ulps, abs_floor, i, &n_bad);
    report_close(n_bad, n, ulps, abs_floor, file, line);
}

void kiln_test_check_text(kiln_str got, kiln_str want, const char *file, int line) {
    if (kiln_str_eq(got, want))
        return;
    for (size_t i = 1; got.n > 0 || want.n > 0; i++) {
        kiln_str got_line = {NULL, 0}, want_line = {NULL, 0};
        const bool has_got = got.n > 0 && kiln_str_cut(&got, '\n', &got_line);
        const bool has_want = want.n > 0 && kiln_str_cut(&want, '\n', &want_line);
        if (has_got == has_want && kiln_str_eq(got_line, want_line))
            continue;
        print_error("line %zu differs\n  expected: %.*s\n  got:      %.*s\n", i,
                    KILN_STR_ARG(want_line), KILN_STR_ARG(got_line));
        if (!has_want || !has_got)
            print_error("  (%s ends before this line)\n",
                        has_want ? "got" : "expected");
        _fail(file, line);
    }
    print_error("only the newline at the end differs\n");
    _fail(file, line);
}
