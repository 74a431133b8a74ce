/* kiln report, and its page in a browser: nothing complains, nothing sticks out at the
 * width of a phone, every text stands out from its ground, in light and in dark. */
#include "tests/support/program/browser.h"
#include "tests/support/program/cli_run.h"
#include "tests/support/database/support_nights.h"

#include <stdlib.h>
#include <string.h>

#define DEMO "tests/reports/demo/results.json"
#define NIGHTS "tests/reports/demo/nights.json"

static kiln_test_cli_row rows[] = {
    {"says_what_it_wrote", {"report", DEMO, "-o", "@out"}, 0, "out/index.html\n", NULL},
    {"wants_a_file", {"report"}, 2, NULL, "RESULTS.json"},
    {"refuses_a_missing_file", {"report", "@none.json"}, 3, NULL, "none.json"},
    {"refuses_another_document",
     {"report", "tests/e2e/test_e2e_report.c"},
     3,
     NULL,
     "test_e2e_report.c:1:1"},
    {"refuses_a_results_file_of_another_kind",
     {"report", "@other.json"},
     3,
     NULL,
     "schema: must be 'kiln-results-1'"},
    {"refuses_a_file_as_its_folder",
     {"report", DEMO, "-o", "@other.json"},
     4,
     NULL,
     "cannot make the folder"},
};

static void check_cli(void **state) {
    kiln_arena a = {0};
    kiln_err err = {0};
    const char *dir = kiln_test_dir();
    kiln_assert_status_ok(
        kiln_file_write(kiln_path_join(&a, dir, "other.json"), "{}", 2, &err), &err);
    kiln_test_cli_check(&a, dir, *state);
    kiln_arena_fini(&a);
}

static kiln_str text_of(const char *path) {
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &text, &err), &err);
    return text;
}

static const char *make_page(const char *results, const char *dir) {
    const kiln_test_cli_row row = {"", {"report", results, "-o", dir}, 0, NULL, NULL};
    (void)kiln_test_cli_check(kiln_test_arena(), dir, &row);
    return kiln_path_join(kiln_test_arena(), dir, "index.html");
}

static void makes_the_same_bytes_again(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    static const char *const file[] = {"index.html", "results.csv", "results.json"};
    const char *first = kiln_test_dir(), *second = kiln_test_dir();
    make_page(DEMO, first);
    make_page(kiln_path_join(a, first, "results.json"), second);
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++)
        kiln_assert_text_equal(text_of(kiln_path_join(a, second, file[i])),
                               text_of(kiln_path_join(a, first, file[i])));
    kiln_assert_text_equal(text_of(kiln_path_join(a, first, "results.json")),
                           text_of(DEMO));
}

/* ---- in a browser ---------------------------------------------------------------- */

static kiln_process_result browse(const char *page, const char *action, int width) {
    return kiln_test_browse(page, action, (kiln_test_window){width, 2000, false});
}

/* Messages to the console are lines "...:CONSOLE...": errors of a page, and what its
 * policy forbids. */
static void the_console_is_silent(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir();
    const char *page = make_page(DEMO, dir);
    assert_null(strstr(browse(page, "--dump-dom", 1280).err.p, "CONSOLE"));
    page = make_page(NIGHTS, dir);
    assert_null(strstr(browse(page, "--dump-dom", 1280).err.p, "CONSOLE"));
    /* A page that does complain is heard. */
    static const char bad[] = "<script>console.error('heard')</script>";
    kiln_err err = {0};
    const char *control = kiln_path_join(a, dir, "control.html");
    kiln_assert_status_ok(kiln_file_write(control, bad, strlen(bad), &err), &err);
    const char *log = browse(control, "--dump-dom", 1280).err.p;
    assert_true(strstr(log, "CONSOLE") != NULL && strstr(log, "heard") != NULL);
}

/* Contrast: WCAG 2.1, 1.4.3; over a background that is half transparent nothing lies.
 */
static const char measure[] =
    "const d=document.documentElement;"
    "const rgb=c=>c.match(/[\\d.]+/g).map(Number);"
    "const lum=c=>{const v=c.slice(0,3).map(x=>{x/=255;return x<=.03928?x/12.92:"
    "Math.pow((x+.055)/1.055,2.4)});return .2126*v[0]+.7152*v[1]+.0722*v[2]};"
    "let least=99,who='',out=[],texts=0;"
    "all('details').forEach(e=>e.open=true);"
    "for(const e of document.body.querySelectorAll('*')){"
    "if(e.closest('svg')||!e.checkVisibility())continue;"
    "if(e.getBoundingClientRect().right>innerWidth+1&&!e.closest('.scroll'))"
    "out.push(e.tagName+'.'+e.className);"
    "if(![...e.childNodes].some(n=>n.nodeType==3&&n.data.trim()))continue;"
    "texts++;let g=e,b;do{b=rgb(getComputedStyle(g).backgroundColor);g=g.parentElement}"
    "while(g&&b.length>3&&b[3]==0);"
    "const p=lum(rgb(getComputedStyle(e).color)),q=lum(b);"
    "const c=(Math.max(p,q)+.05)/(Math.min(p,q)+.05);"
    "if(c<least){least=c;who=e.tagName+'.'+e.className}}"
    "done({page:d.scrollWidth,"
    "window:innerWidth,texts,contrast:least,who,out:out.slice(0,5),"
    "dark:matchMedia('(prefers-color-scheme: dark)').matches})";

typedef struct look {
    const char *name;
    int width;
    bool is_dark;
    const char *results; /* NULL: the demo's */
} look;

static look looks[] = {{"fits_a_phone", 360, false, NULL},
                       {"fits_a_phone_in_the_dark", 360, true, NULL},
                       {"fits_a_desk", 1280, false, NULL},
                       {"fits_a_desk_in_the_dark", 1280, true, NULL},
                       {"nights_fit_a_phone", 360, false, NIGHTS},
                       {"nights_fit_a_desk_in_the_dark", 1280, true, NIGHTS}};

static void measure_page(const char *page, const look *l, double least_texts) {
    const kiln_test_probe probe = {.script = measure};
    const kiln_json *v = kiln_test_probe_page(
        page, &probe, (kiln_test_window){l->width, 2000, l->is_dark});
    assert_int_equal(kiln_json_bool(kiln_json_get(v, "dark"), !l->is_dark), l->is_dark);
    assert_int_equal((int)kiln_json_number(kiln_json_get(v, "window"), 0), l->width);
    assert_true(kiln_json_number(kiln_json_get(v, "texts"), 0) > least_texts);
    const kiln_json *out = kiln_json_get(v, "out");
    if (kiln_json_size(out) > 0)
        fail_msg("sticks out: %s", kiln_json_string(kiln_json_first(out), "?"));
    assert_true(kiln_json_number(kiln_json_get(v, "page"), 1e9) <= l->width);
    const double contrast = kiln_json_number(kiln_json_get(v, "contrast"), 0);
    if (contrast < 4.5)
        fail_msg("the contrast of %s is %.2f, below 4.5",
                 kiln_json_string(kiln_json_get(v, "who"), "?"), contrast);
}

static void check_look(void **state) {
    const look *l = *state;
    const char *dir = kiln_test_dir();
    const bool is_demo = l->results == NULL;
    const char *page = make_page(is_demo ? DEMO : l->results, dir);
    measure_page(page, l, is_demo ? 300 : 90);
}

static look index_looks[] = {{"all_nights_fit_a_phone", 360, false, NULL},
                             {"all_nights_fit_a_desk_in_the_dark", 1280, true, NULL}};

static double a_step(int i) { return i >= 300 ? 1.03 : 1; }

/* The page over all nights: a year of twelve jobs. */
static void check_index(void **state) {
    const look *l = *state;
    const char *dir = kiln_test_dir();
    const char *page = kiln_path_join(kiln_test_arena(), dir, "index.html");
    kiln_nights n;
    kiln_rng rng;
    kiln_buf out;
    kiln_err err = {0};
    kiln_rng_init(&rng, 1);
    nights_many(&rng, dir, 365, NIGHTS_MAX_JOBS, a_step, &n);
    kiln_buf_init(&out, kiln_test_arena());
    kiln_nights_html(&out, &n, dir);
    kiln_assert_status_ok(kiln_file_write(page, out.p, out.n, &err), &err);
    assert_null(strstr(browse(page, "--dump-dom", 1280).err.p, "CONSOLE"));
    measure_page(page, l, 2000);
}

/* A screenshot of one colour would be smaller than this; a page that is printed has
 * pages. */
static void can_be_seen_and_printed(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const char *dir = kiln_test_dir();
    const char *page = make_page(DEMO, dir);
    const char *png = kiln_path_join(a, dir, "page.png");
    const char *pdf = kiln_path_join(a, dir, "page.pdf");
    (void)browse(page, kiln_format(a, "--screenshot=%s", png), 360);
    (void)browse(page, kiln_format(a, "--print-to-pdf=%s", pdf), 1280);
    const kiln_str image = text_of(png);
    assert_true(kiln_str_starts(image, "\x89PNG"));
    assert_in_range(image.n, 30000, SIZE_MAX);
    const kiln_str printed = text_of(pdf);
    assert_true(kiln_str_starts(printed, "%PDF"));
    assert_in_range(printed.n, 30000, SIZE_MAX);
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add_rows(check_cli, rows);
    kiln_test_add("makes_the_same_bytes_again", makes_the_same_bytes_again, NULL);
    kiln_test_add("the_console_is_silent", the_console_is_silent, NULL);
    kiln_test_add_rows(check_look, looks);
    kiln_test_add_rows(check_index, index_looks);
    kiln_test_add("can_be_seen_and_printed", can_be_seen_and_printed, NULL);
    return kiln_test_run("report");
}
