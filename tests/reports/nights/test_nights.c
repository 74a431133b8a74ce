/* Nights as series: what is said of them, in results, as text and on the index page. */
#include "reports/nights/reports_nights.h"
#include "tests/support/kiln_test.h"
#include "tests/support/database/support_nights.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { YEAR = 365, INDEX_BYTES = 1000000 };

static kiln_arena *arena(void) { return kiln_test_arena(); }

static kiln_nights many(int n, int n_jobs, double (*ratio)(int)) {
    kiln_rng rng;
    kiln_nights nights;
    kiln_rng_init(&rng, 5);
    nights_many(&rng, "/out", n, n_jobs, ratio, &nights);
    return nights;
}

static double a_step(int i) { return i >= 40 ? 1.03 : 1; }
static double a_step_tonight(int i) { return i == 49 ? 1.03 : 1; }
static double a_drift(int i) { return 1 + .001 * fmax(i - 30, 0); }
static double a_repair(int i) { return i >= 40 ? 1 : 1.03; }

/* Results whose jobs are the last night's. */
static kiln_results results_of(const kiln_nights *n) {
    kiln_results r = {.name = "demo", .status = "ok"};
    const kiln_night *last = &n->v[n->n - 1];
    for (size_t i = 0; i < last->job.n; i++) {
        const kiln_results_job j = {.model = last->job.v[i].model,
                                    .profile = last->job.v[i].profile,
                                    .threads = last->job.v[i].threads,
                                    .status = "ok"};
        kiln_vec_push(arena(), &r.job, j);
    }
    return r;
}

static kiln_results filled(const kiln_nights *n, bool drift_fails) {
    kiln_results r = results_of(n);
    kiln_nights_fill(arena(), n, drift_fails, &r);
    assert_true(r.has_past);
    assert_int_equal(r.past.nights, n->n);
    return r;
}

static void a_quiet_history_is_stable(void **state) {
    (void)state;
    const kiln_nights n = many(80, 2, NULL);
    const kiln_results r = filled(&n, true);
    assert_string_equal(r.status, "ok");
    assert_string_equal(r.past.trend, "stable");
    assert_true(r.job.v[0].has_history);
    const kiln_results_history *h = &r.job.v[0].history;
    assert_int_equal(h->night.n, KILN_NIGHTS_SHOWN);
    assert_string_equal(h->night.v[59].run, n.v[79].run);
    assert_string_equal(h->trend, "stable");
    assert_non_null(strstr(h->reason, "would be seen"));
    assert_true(h->findable >= .01 && h->findable < .03 && isnan(h->change));
    assert_int_equal(h->alarms, 0);
    size_t n_accepted = 0, n_commits = 0;
    for (size_t i = 0; i < h->night.n; i++) {
        n_accepted += h->night.v[i].is_accepted;
        n_commits += h->night.v[i].is_commit;
    }
    assert_int_equal(n_accepted, 2); /* nights 30 and 60 of 20 to 79 */
    assert_int_equal(n_commits, 20); /* every third */
}

static void a_step_fails_the_night_it_happens(void **state) {
    (void)state;
    const kiln_nights n = many(50, 3, a_step_tonight);
    const kiln_results r = filled(&n, false);
    assert_string_equal(r.status, "regressed");
    assert_string_equal(r.past.trend, "step");
    assert_string_equal(r.job.v[0].status, "regressed");
    assert_string_equal(r.job.v[0].history.trend, "step");
    assert_true(fabs(r.job.v[0].history.change - .03) < .01);
    assert_string_equal(r.job.v[1].status, "ok");
    assert_string_equal(r.job.v[1].history.trend, "stable");
}

static void a_step_of_another_night_is_marked_and_fails_no_more(void **state) {
    (void)state;
    const kiln_nights n = many(50, 1, a_step);
    const kiln_results r = filled(&n, false);
    assert_string_equal(r.status, "ok");
    const kiln_results_history *h = &r.job.v[0].history;
    assert_true(h->night.v[40].is_change);
    assert_string_equal(h->night.v[40].trend, "step");
    assert_int_equal(h->alarms, 1);
}

static void a_drift_warns_or_fails_as_the_pipeline_says(void **state) {
    (void)state;
    kiln_nights n = many(60, 1, a_drift);
    kiln_results r = filled(&n, false);
    while (n.n > 31 && strcmp(r.past.trend, "drift") != 0) { /* a night that says so */
        n.n--;
        r = filled(&n, false);
    }
    assert_string_equal(r.past.trend, "drift");
    assert_string_equal(r.status, "ok");
    assert_non_null(strstr(r.job.v[0].history.reason, "slower little by little"));
    assert_string_equal(filled(&n, true).status, "regressed");
}

static void a_repair_is_good_news(void **state) {
    (void)state;
    kiln_nights n = many(41, 1, a_repair);
    const kiln_results r = filled(&n, true);
    assert_string_equal(r.past.trend, "faster");
    assert_string_equal(r.status, "ok");
}

/* Nights that were held against another archive are no part of the series. */
static void freezing_begins_the_series_anew(void **state) {
    (void)state;
    const kiln_nights n = many(30, 1, NULL);
    for (size_t i = 20; i < 30; i++)
        n.v[i].job.v[0].frozen = "another";
    kiln_results r = filled(&n, false);
    assert_int_equal(r.job.v[0].history.night.n, 10);
    n.v[29].job.v[0].ratio.estimate = (double)NAN;
    r = filled(&n, false);
    assert_int_equal(r.job.v[0].history.night.n, 9);
    assert_null(r.job.v[0].history.trend);
    assert_null(r.past.trend);
    assert_string_equal(r.status, "ok");
}

static bool says(const kiln_results *r, const char *text) {
    for (size_t i = 0; i < r->past.since.n; i++)
        if (strstr(r->past.since.v[i], text) != NULL)
            return true;
    return false;
}

static void what_changed_since_the_last_night_is_told(void **state) {
    (void)state;
    const kiln_nights n = many(2, 3, NULL);
    kiln_night *last = &n.v[1];
    last->kiln = "0.2.0";
    last->cpu = NULL;
    last->cores = 4;
    last->job.v[0].verdict = "inconclusive";
    last->job.v[0].baseline.v[0].ratio = (kiln_stats_interval){1.2, 1.1, 1.3};
    last->job.v[2].model = "fresh";
    const kiln_results r = filled(&n, false);
    assert_true(says(&r, "kiln: 0.2.0, was 0.1.0"));
    assert_true(says(&r, "processor: not known, was a processor"));
    assert_true(says(&r, "cores: 4, was 2"));
    assert_true(says(&r, "net0, native, 1 thread: verdict: inconclusive, was pass"));
    assert_true(says(&r, "net0, native, 1 thread: kiln / onnxruntime is 1.200, was"));
    assert_true(says(&r, "net1, native, 2 threads: archive: "));
    assert_true(says(&r, "fresh, native, 1 thread: new job"));
    assert_true(says(&r, "net2, native, 1 thread: no longer a job"));
    assert_false(says(&r, "operating system"));
    assert_null(r.past.note);
}

static void a_clock_that_was_set_back_is_noted(void **state) {
    (void)state;
    const kiln_nights n = many(3, 1, NULL);
    n.v[2].started = "2020-01-01T00:00:00Z";
    const kiln_results r = filled(&n, false);
    assert_non_null(strstr(r.past.note, "the clock was set back: this run says that it "
                                        "began at 2020-01-01T00:00:00Z"));
}

static void the_first_night_has_no_before(void **state) {
    (void)state;
    const kiln_nights n = many(1, 1, NULL);
    const kiln_results r = filled(&n, true);
    assert_null(r.past.before);
    assert_int_equal(r.past.since.n, 0);
    assert_string_equal(r.job.v[0].history.reason,
                        "the first night against this frozen archive");
}

/* ---- written down ---------------------------------------------------------------- */

static kiln_str page_of(const kiln_nights *n) {
    kiln_buf page;
    kiln_buf_init(&page, arena());
    kiln_nights_html(&page, n, "/out");
    return kiln_buf_str(&page);
}

static void a_year_on_one_page_is_small_and_quick(void **state) {
    (void)state;
    const kiln_nights n = many(YEAR, NIGHTS_MAX_JOBS, a_step);
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    const kiln_str page = page_of(&n);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double s = (double)(end.tv_sec - begin.tv_sec) +
                     (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    print_message("%d nights of %d jobs: %zu bytes in %.3f s\n", YEAR, NIGHTS_MAX_JOBS,
                  page.n, s);
    assert_true(page.n < INDEX_BYTES);
    assert_true(s < (kiln_test_is_sanitized() ? 20 : 2));
    kiln_assert_text_equal(page_of(&n), page);
}

static void ten_years_are_the_newest_thousand(void **state) {
    (void)state;
    const kiln_nights n = many(10 * YEAR, NIGHTS_MAX_JOBS, NULL);
    const kiln_str page = page_of(&n);
    assert_true(page.n < INDEX_BYTES);
    assert_non_null(strstr(page.p, "1000 nights;"));
    assert_non_null(strstr(page.p, n.v[n.n - 1].run));
    assert_null(strstr(page.p, kiln_format(arena(), ">%s<", n.v[0].run)));
}

static void the_index_links_what_is_there_and_escapes_names(void **state) {
    (void)state;
    const kiln_nights n = many(3, 1, NULL);
    n.v[0].is_pruned = true;
    n.v[1].folder = "/elsewhere/run";
    n.v[2].job.v[0].model = "<script>alert(1)</script>";
    n.v[2].commit = "<b>";
    n.v[2].pipeline = "a & b";
    const kiln_str page = page_of(&n);
    assert_non_null(strstr(page.p, "href=\"2026-01-03T02-00-00/index.html\""));
    assert_null(strstr(page.p, "href=\"2026-01-01T02-00-00"));
    assert_null(strstr(page.p, "/elsewhere"));
    assert_null(strstr(page.p, "<script>"));
    assert_null(strstr(page.p, "<b>"));
    assert_non_null(strstr(page.p, "a &amp; b"));
    assert_non_null(strstr(page.p, ">pruned<"));
    const kiln_nights none = {.n = 0};
    assert_non_null(strstr(page_of(&none).p, "no nights"));
}

static void texts_and_tables_name_every_night(void **state) {
    (void)state;
    const kiln_nights n = many(45, 2, a_step);
    kiln_buf text, csv, one;
    kiln_buf_init(&text, arena());
    kiln_buf_init(&csv, arena());
    kiln_buf_init(&one, arena());
    kiln_nights_text(&text, &n);
    kiln_nights_csv(&csv, &n);
    kiln_nights_show(&one, &n, 40);
    size_t lines = 0;
    for (const char *c = csv.p; *c != '\0'; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 1 + 45 * 2);
    for (size_t i = 0; i < n.n; i++) {
        assert_non_null(strstr(text.p, n.v[i].run));
        assert_non_null(strstr(csv.p, n.v[i].run));
    }
    assert_non_null(strstr(one.p, "  step +"));
    assert_non_null(strstr(one.p, "kiln / onnxruntime: 0."));
    assert_non_null(strstr(one.p, "since 2026-02-12T02-00-00:"));
}

static void cells_are_no_formulas(void **state) {
    (void)state;
    const kiln_nights n = many(1, 1, NULL);
    kiln_buf csv;
    n.v[0].job.v[0].model = "=1+1";
    n.v[0].pipeline = "a, \"b\"";
    kiln_buf_init(&csv, arena());
    kiln_nights_csv(&csv, &n);
    assert_non_null(strstr(csv.p, ",\"'=1+1\","));
    assert_non_null(strstr(csv.p, ",\"a, \"\"b\"\"\","));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_history_is_stable),
        cmocka_unit_test(a_step_fails_the_night_it_happens),
        cmocka_unit_test(a_step_of_another_night_is_marked_and_fails_no_more),
        cmocka_unit_test(a_drift_warns_or_fails_as_the_pipeline_says),
        cmocka_unit_test(a_repair_is_good_news),
        cmocka_unit_test(freezing_begins_the_series_anew),
        cmocka_unit_test(what_changed_since_the_last_night_is_told),
        cmocka_unit_test(a_clock_that_was_set_back_is_noted),
        cmocka_unit_test(the_first_night_has_no_before),
        cmocka_unit_test(a_year_on_one_page_is_small_and_quick),
        cmocka_unit_test(ten_years_are_the_newest_thousand),
        cmocka_unit_test(the_index_links_what_is_there_and_escapes_names),
        cmocka_unit_test(texts_and_tables_name_every_night),
        cmocka_unit_test(cells_are_no_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
