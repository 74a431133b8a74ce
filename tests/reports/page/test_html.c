/* The page: every number and text of the results on it is found in results.json, by the
 * rule that docs/results-json.md states, and there is no other number; nothing that a
 * name holds becomes markup; no sentence stands there twice; equal results give equal
 * bytes. */
#include "reports/results/results.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEMO "tests/reports/demo/results.json"

static kiln_str page_of(const kiln_results *r) {
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_results_html(&out, r);
    return kiln_buf_str(&out);
}

static void parse(kiln_str json, kiln_results *r) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_results_parse(kiln_test_arena(), json, "test", r, &err),
                          &err);
}

/* ---- what the page shows ----------------------------------------------------------
 *
 * A small reader of the page's own markup: tags and the texts between them. */

enum { MAX_COLUMNS = 16 };

typedef struct reader {
    const char *at;
    const kiln_json *json;
    size_t n_numbers, n_texts;
    const char *base; /* the last data-at */
    /* Of the table that we are in: what columns are of, and the next cell's. */
    const char *col[MAX_COLUMNS], *by[MAX_COLUMNS];
    size_t n_cols, cell;
    kiln_map shown; /* texts that stand somewhere: by path, how often */
} reader;

/* A value of a tag's attribute, in the test arena; NULL: it has none. */
static const char *attribute(kiln_str tag, const char *name) {
    const char *text = kiln_str_dupv(kiln_test_arena(), tag);
    const char *at = strstr(text, kiln_format(kiln_test_arena(), " %s=\"", name));
    if (at == NULL)
        return NULL;
    at = strchr(at, '"') + 1;
    return kiln_str_dupv(kiln_test_arena(), (kiln_str){at, strcspn(at, "\"")});
}

static const char *unescaped(kiln_str s) {
    static const struct {
        const char *name, *text;
    } entity[] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}};
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_buf_puts(&out, "");
    while (s.n > 0) {
        size_t n = 1;
        const char *text = NULL;
        for (size_t i = 0; i < sizeof entity / sizeof entity[0]; i++) {
            if (kiln_str_starts(s, entity[i].name)) {
                n = strlen(entity[i].name);
                text = entity[i].text;
            }
        }
        if (text == NULL && s.p[0] == '&')
            fail_msg("an & that stands for itself: %.20s", s.p);
        kiln_buf_add(&out, text != NULL ? text : s.p, 1);
        s = (kiln_str){s.p + n, s.n - n};
    }
    return out.p;
}

/* The number that the text shows, and half a unit of its last digit. */
static double shown(const char *text, double *half) {
    kiln_buf plain;
    kiln_buf_init(&plain, kiln_test_arena());
    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, "\xE2\x88\x92", 3) == 0) { /* minus */
            kiln_buf_puts(&plain, "-");
            at += 3;
        } else if (strncmp(at, "\xE2\x80\xAF", 3) == 0) { /* between groups */
            at += 3;
        } else if (strncmp(at, "\xC2\xA0s", 3) == 0) { /* seconds */
            at += 3;
        } else if (*at == '%' && at[1] == '\0') {
            at++;
        } else {
            kiln_buf_add(&plain, at++, 1);
        }
    }
    double v = 0;
    if (!kiln_parse_f64(kiln_buf_str(&plain), &v))
        fail_msg("'%s' is no number", text);
    const char *point = strchr(plain.p, '.'), *e = strchr(plain.p, 'e');
    const size_t digits = point == NULL ? 0 : strspn(point + 1, "0123456789");
    double exponent = 0;
    assert_true(e == NULL || kiln_parse_f64(kiln_str_from(e + 1), &exponent));
    *half = 0.5 * pow(10, exponent - (double)digits);
    return v;
}

/* What is said once: sentences and commands, not names, words and numbers. */
static void count_sentence(reader *r, const char *path) {
    static const char *const member[] = {".reason",         ".message",  ".command",
                                         ".problem",        ".changes[", ".moved_says",
                                         ".frozen_problem", "since["};
    for (size_t i = 0; i < sizeof member / sizeof member[0]; i++) {
        if (strstr(path, member[i]) == NULL)
            continue;
        if (kiln_map_get(&r->shown, kiln_str_from(path)) != NULL)
            fail_msg("%s stands on the page twice", path);
        kiln_map_set(kiln_test_arena(), &r->shown,
                     kiln_str_from(kiln_str_dup(kiln_test_arena(), path)), r);
    }
}

static void check_element(reader *r, const char *path, const char *by,
                          const char *text) {
    if (path[0] == '.' || path[0] == '[')
        path = kiln_format(kiln_test_arena(), "%s%s", r->base, path);
    const kiln_json *v = kiln_test_json_at(r->json, path);
    count_sentence(r, path);
    if (v == NULL || kiln_json_is_null(v))
        fail_msg("%s is not in results.json; the page shows '%s'", path, text);
    if (kiln_json_is_string(v)) {
        assert_string_equal(text, kiln_json_string(v, ""));
        r->n_texts++;
        return;
    }
    assert_true(kiln_json_is_number(v));
    double half, scale = 1;
    const double got = shown(text, &half);
    assert_true(by == NULL || kiln_parse_f64(kiln_str_from(by), &scale));
    const double want = kiln_json_number(v, 0) * scale;
    if (!(fabs(got - want) <= half * (1 + 1e-6) + fabs(want) * 1e-12))
        fail_msg("%s: the page shows '%s', results.json says %.17g", path, text, want);
    r->n_numbers++;
}

/* Texts of the page's own have no numbers, but for these names. */
static void check_own_text(kiln_str text) {
    static const char *const names[] = {"95% intervals", "SHA-256"};
    const char *plain = kiln_str_dupv(kiln_test_arena(), text);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(plain, names[i]) != NULL)
            return;
    if (strpbrk(plain, "0123456789") != NULL)
        fail_msg("a number that nobody can look up: '%s'", plain);
}

static bool is_tag(kiln_str tag, const char *name) {
    return kiln_str_starts(tag, name) && strchr(" >/", tag.p[strlen(name)]) != NULL;
}

/* Tables whose columns have a data-col, in rows that have a data-at: the cell's member,
 * whose factor is *by; NULL: the tag is no such cell. */
static const char *member_of_cell(reader *r, kiln_str tag, const char **by) {
    const char *col = attribute(tag, "data-col");
    if (is_tag(tag, "<table"))
        r->n_cols = 0;
    if (attribute(tag, "data-at") != NULL) {
        r->base = attribute(tag, "data-at");
        r->cell = 0;
    }
    if (col != NULL) {
        assert_true(r->n_cols < MAX_COLUMNS);
        r->col[r->n_cols] = col;
        r->by[r->n_cols++] = attribute(tag, "data-by");
    } else if ((is_tag(tag, "<td") || is_tag(tag, "<th")) && r->cell < r->n_cols) {
        *by = r->by[r->cell];
        return kiln_format(kiln_test_arena(), ".%s", r->col[r->cell++]);
    }
    return NULL;
}

static void check_tag(kiln_str tag) {
    static const char *const never[] = {"<script", "<img",    "<link",  "<iframe",
                                        "<object", "<button", "<input", "<form"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        assert_false(is_tag(tag, never[i]));
    const char *href = attribute(tag, "href");
    assert_true(href == NULL || href[0] == '#' || strcmp(href, "results.json") == 0 ||
                strcmp(href, "../index.html") == 0 || strcmp(href, "results.csv") == 0);
}

static void read_page(reader *r) {
    r->at = strstr(r->at, "<body>");
    while (r->at != NULL && *r->at != '\0') {
        const kiln_str tag = {r->at, strcspn(r->at, ">") + 1};
        r->at += tag.n;
        const kiln_str text = {r->at, strcspn(r->at, "<")};
        const char *cls = attribute(tag, "class"), *by = NULL;
        const char *cell = member_of_cell(r, tag, &by);
        const char *path = attribute(tag, "data-path");
        if (path != NULL) {
            if (strncmp(r->at + text.n, "</", 2) != 0)
                fail_msg("%s: an element inside", path);
            check_element(r, path, attribute(tag, "data-by"), unescaped(text));
        } else if (cell != NULL && !kiln_str_eq(text, KILN_STR_LIT("\xE2\x80\x93"))) {
            check_element(r, cell, by, unescaped(text));
        } else if (cls == NULL || strncmp(cls, "tick", 4) != 0) {
            check_own_text(text);
        }
        check_tag(tag);
        r->at += text.n;
    }
}

/* Against what the results are written down as, where integers that are not known have
 * a 0. */
static void check_page(kiln_str json, size_t least_numbers) {
    kiln_results r;
    kiln_err err = {0};
    kiln_buf written;
    parse(json, &r);
    kiln_buf_init(&written, kiln_test_arena());
    kiln_results_json(&written, &r);
    reader page = {.at = page_of(&r).p};
    kiln_assert_status_ok(kiln_json_parse(kiln_test_arena(), kiln_buf_str(&written),
                                          "test", &page.json, &err),
                          &err);
    read_page(&page);
    assert_in_range(page.n_numbers, least_numbers, SIZE_MAX);
}

static kiln_str file_of(const char *path) {
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &text, &err), &err);
    return text;
}

static kiln_str demo(void) { return file_of(DEMO); }

static void each_number_is_in_the_results(void **state) {
    (void)state;
    check_page(demo(), 400);
}

/* Sixty nights of two jobs, and one job that has only one. */
static void each_night_is_in_the_results(void **state) {
    (void)state;
    const kiln_str json = file_of("tests/reports/demo/nights.json");
    kiln_results r;
    check_page(json, 350);
    parse(json, &r);
    const char *page = page_of(&r).p;
    assert_non_null(strstr(page, "data-path=\"jobs[1].history.nights[59].ratio.low\""));
    assert_non_null(strstr(page, "data-path=\"history.since[2]\""));
    size_t n_points = 0, n_changes = 0;
    for (const char *at = page; (at = strstr(at, "<circle class=\"")) != NULL; at++)
        n_points++;
    for (const char *at = page; (at = strstr(at, "<line class=\"change\"")) != NULL;
         at++)
        n_changes++;
    assert_int_equal(n_points, 60 + 60 + 1);
    assert_null(strstr(page, "Nothing needs a look"));
    assert_non_null(strstr(page, "> against the frozen archive</p>"));
    assert_int_equal(n_changes, 3);
}

/* ---- whatever the results say ---------------------------------------------------- */

static void nothing_is_known(void **state) {
    (void)state;
    check_page(KILN_STR_LIT("{\"schema\": \"kiln-results-1\"}"), 0);
    check_page(KILN_STR_LIT("{\"schema\": \"kiln-results-1\", \"jobs\": [{\"latency\": "
                            "{}, \"tuning\": {\"curve\": [{}]}, \"gate\": {}, "
                            "\"archive\": {}, \"steps\": [{}], \"coverage\": [{}], "
                            "\"baselines\": [{}], \"stages\": [{}]}], \"ops\": "
                            "[{\"rows\": [{\"baselines\": [{}]}]}]}"),
               0);
    check_page(
        KILN_STR_LIT("{\"schema\": \"kiln-results-1\", \"history\": {}, \"jobs\": "
                     "[{\"history\": {}}, {\"history\": {\"nights\": [{}, "
                     "{\"ratio\": {\"estimate\": 1e300, \"low\": 1e-300, "
                     "\"high\": 1e308}}]}}]}"),
        0);
}

/* The demo with every number replaced: what is drawn must not fail on any of them. */
static void extreme_numbers(void **state) {
    (void)state;
    static const char *const number[] = {"0", "1e-300", "1e300", "1",
                                         "9007199254740992"};
    for (size_t k = 0; k < sizeof number / sizeof number[0]; k++) {
        kiln_buf out;
        kiln_results r;
        kiln_err err = {0};
        const kiln_str text = demo();
        bool in_string = false;
        kiln_buf_init(&out, kiln_test_arena());
        for (size_t i = 0; i < text.n; i++) {
            const char c = text.p[i];
            if (c == '"' && text.p[i - 1] != '\\')
                in_string = !in_string;
            if (in_string || strchr("-0123456789", c) == NULL) {
                kiln_buf_add(&out, &c, 1);
                continue;
            }
            i += strspn(text.p + i, "-+.e0123456789") - 1;
            kiln_buf_puts(&out, number[k]);
        }
        /* Most integers are refused where they are none of 53 bits. */
        if (kiln_results_parse(kiln_test_arena(), kiln_buf_str(&out), "extreme", &r,
                               &err) == KILN_OK)
            (void)page_of(&r);
        else
            assert_true(k == 1 || k == 2 || k == 4);
    }
    /* The doubles alone. */
    for (int k = 0; k < 2; k++) {
        const char *json = kiln_format(
            kiln_test_arena(),
            "{\"schema\": \"kiln-results-1\", \"machine\": {\"bandwidth_gbs\": %s, "
            "\"peaks\": [{\"threads\": 0, \"gflops\": %s}]}, \"jobs\": [{\"latency\": "
            "{\"median_ms\": %s, \"q1_ms\": %s, \"q3_ms\": %s, \"peak_share\": %s}, "
            "\"baselines\": [{\"name\": \"x\", \"state\": \"measured\", \"median_ms\": "
            "%s, \"ratio\": {\"estimate\": %s, \"low\": %s, \"high\": %s}}], "
            "\"steps\": "
            "[{\"median_ms\": %s, \"gflops\": %s, \"intensity\": %s, \"time_share\": "
            "%s}], \"coverage\": [{\"ms\": %s, \"time_share\": %s}], \"tuning\": "
            "{\"new_trials\": 3, \"start_ns\": %s, \"curve\": [{\"trial\": 9, \"ns\": "
            "%s}]}, \"gate\": {\"pairs\": 2, \"slowdown\": {\"estimate\": -%s, "
            "\"low\": "
            "-%s}}}]}",
#define V number[k + 1]
            V, V, V, V, V, V, V, V, V, V, V, V, V, V, V, V, V, V, V, V);
#undef V
        check_page(kiln_str_from(json), 20);
    }
}

/* What somebody must be told, and where there is nothing to tell. */
typedef struct says_row {
    const char *name, *json;   /* members of the results */
    const char *holds, *lacks; /* NULL: nothing is looked for */
} says_row;

#define JOB(members) "\"status\": \"ok\", \"jobs\": [{\"status\": \"ok\", " members "}]"
#define RATIO(r)                                                                       \
    JOB("\"baselines\": [{\"name\": \"x\", \"state\": \"measured\", \"ratio\": "       \
        "{\"estimate\": " r "}}]")

static says_row says[] = {
    {"a_failed_run_says_so_beside_its_verdict",
     "\"status\": \"failed\", \"verdict\": \"pass\"",
     "data-path=\"status\">failed</span><span>gate:</span>", NULL},
    {"a_good_run_has_its_verdict_alone", "\"status\": \"ok\", \"verdict\": \"pass\"",
     "data-path=\"verdict\">pass</span>", "gate:"},
    {"why_all_of_it_failed",
     "\"status\": \"failed\", \"failure\": \"nothing was measured\"",
     "data-path=\"failure\">nothing was measured</b>", NULL},
    {"what_new_asks_for",
     "\"verdict\": \"fail\", \"by_verdict\": [{\"name\": \"new\", \"n\": 1}]",
     "<code>kiln accept</code>", NULL},
    {"nothing_new_asks_for_nothing",
     "\"verdict\": \"pass\", \"by_verdict\": [{\"name\": \"pass\", \"n\": 1}]", NULL,
     "<code>kiln accept</code>"},
    {"failed_operators_need_a_look",
     "\"ops\": [{\"set\": \"mine\", \"status\": \"failed\", \"stages\": [{\"name\": "
     "\"operators\", \"state\": \"timed out\", \"message\": \"at its limit\"}]}]",
     "data-path=\"ops[0].stages[0].message\">at its limit</span>",
     "Nothing needs a look"},
    {"most_samples_were_disturbed",
     JOB("\"latency\": {\"n_samples\": 5, \"n_disturbed\": 3}"),
     "take the times with care", "Nothing needs a look"},
    {"few_samples_were_disturbed",
     JOB("\"latency\": {\"n_samples\": 6, \"n_disturbed\": 3}"), "Nothing needs a look",
     "take the times with care"},
    {"an_alert_has_its_command",
     JOB("\"gate\": {\"verdict\": \"inconclusive\", \"command\": \"kiln gate a\"}"),
     "data-path=\"jobs[0].gate.command\">kiln gate a</pre>", NULL},
    {"a_pass_needs_no_command",
     JOB("\"gate\": {\"verdict\": \"pass\", \"command\": \"kiln gate a\"}"),
     "Nothing needs a look", "kiln gate a"},
    {"what_was_skipped_took_no_time",
     JOB("\"stages\": [{\"name\": \"tune\", \"state\": \"skipped\", \"seconds\": 0, "
         "\"exit_code\": 0, \"message\": \"frozen\", \"command\": \"\"}]"),
     ">frozen</span>", "stages[0].exit_code"},
    {"what_was_left_out_is_said",
     "\"versus\": [{\"name\": \"x\", \"measured\": 2, \"left_out\": 1}]",
     "data-path=\"versus[0].left_out\">1</span>", NULL},
    {"ratios_end_in_an_arrow", RATIO("100"), "class=\"beyond\"", ">100</text>"},
    {"ratios_in_sight_have_a_dot", RATIO("3.5"), "class=\"dot\"", "class=\"beyond\""},
    {"a_baseline_says_what_it_chose",
     JOB("\"baselines\": [{\"name\": \"x\", \"implementation\": \"brgconv\"}]"),
     "<small data-path=\"jobs[0].baselines[0].implementation\">brgconv</small>", NULL},
    {"origins_of_operators_have_colours",
     "\"ops\": [{\"rows\": [{\"origin\": \"table\"}, {\"origin\": \"guess\"}]}]",
     "<span class=\"key o3\"></span><b>table</b>: ships with kiln", "<b>tuned</b>"},
    {"operators_have_their_tuning", "\"ops\": [{\"tuning\": {\"new_trials\": 7}}]",
     "data-path=\"ops[0].tuning.new_trials\">7</span>", NULL},
    {"searches_have_their_card",
     JOB("\"tuning\": {\"card\": {\"trials_to\": [{\"share\": 0.9, \"trials\": 3}]}}"),
     "data-path=\"jobs[0].tuning.card.trials_to[0].trials\">3.00</span>", NULL},
    {"what_nobody_extrapolated_is_not_there",
     JOB("\"tuning\": {\"card\": {\"now_ns\": 5, \"taught\": 0}}"),
     "jobs[0].tuning.card.searches", "if stopped now"},
};

static void check_says(void **state) {
    const says_row *r = *state;
    kiln_results results;
    const char *json =
        kiln_format(kiln_test_arena(), "{\"schema\": \"kiln-results-1\", %s}", r->json);
    parse(kiln_str_from(json), &results);
    check_page(kiln_str_from(json), 0);
    const char *page = strstr(page_of(&results).p, "<body>");
    if (r->holds != NULL && strstr(page, r->holds) == NULL)
        fail_msg("the page lacks '%s'", r->holds);
    if (r->lacks != NULL && strstr(page, r->lacks) != NULL)
        fail_msg("the page holds '%s'", r->lacks);
}

static void hostile_names_stay_texts(void **state) {
    (void)state;
    static const char name[] = "</title><script>alert(1)</script><img src=x "
                               "onerror='alert(2)'>&lt;\\\" \\u0007\\u202e x";
    const char *json = kiln_format(
        kiln_test_arena(),
        "{\"schema\": \"kiln-results-1\", \"name\": \"%s\", \"run\": \"%s\", "
        "\"command\": \"%s\", \"jobs\": [{\"model\": \"%s\", \"profile\": \"%s\", "
        "\"baselines\": [{\"name\": \"%s\", \"state\": \"failed\", \"problem\": "
        "\"%s\"}], \"steps\": [{\"name\": \"%s\", \"gflops\": 2, \"intensity\": 2}], "
        "\"gate\": {\"changes\": [\"%s\"]}, \"stages\": [{\"state\": \"failed\", "
        "\"message\": \"%s\", \"command\": \"%s\"}]}]}",
        name, name, name, name, name, name, name, name, name, name, name);
    kiln_results r;
    parse(kiln_str_from(json), &r);
    const kiln_str page = page_of(&r);
    const char *script = strstr(page.p, "<script");
    assert_true(script != NULL && strstr(script + 1, "<script") == NULL);
    assert_true(script < strstr(page.p, "<body>"));
    assert_null(strstr(page.p, "<img"));
    assert_null(strchr(page.p, '\a'));
    assert_non_null(strstr(page.p, "&lt;/title&gt;&lt;script&gt;alert(1)"));
    /* Quotes inside attributes are the page's own: no name is in any. */
    for (const char *at = strstr(page.p, "<body>"); (at = strchr(at, '<')) != NULL;) {
        const size_t n = strcspn(at, ">");
        const char *tag = kiln_str_dupv(kiln_test_arena(), (kiln_str){at, n});
        assert_null(strstr(tag, "alert"));
        at += n;
    }
}

/* RFC 4648, 4, the slow and obvious way. */
static const char *base64_of(const char *hex) {
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    for (size_t at = 0; at < strlen(hex); at += 6) { /* three bytes */
        char six[7] = "000000";
        const size_t n = strnlen(hex + at, 6);
        memcpy(six, hex + at, n);
        const unsigned long bits = strtoul(six, NULL, 16);
        for (size_t k = 0; k < 4; k++)
            kiln_buf_add(&out, k <= n / 2 ? &digits[bits >> (18 - 6 * k) & 63] : "=",
                         1);
    }
    return out.p;
}

/* What the page's policy lets run is its own script, to the byte. */
static void the_policy_names_the_script(void **state) {
    (void)state;
    kiln_results r;
    parse(demo(), &r);
    const char *page = page_of(&r).p;
    const char *from = strstr(page, "<script>") + strlen("<script>");
    const char *to = strstr(from, "</script>");
    char hex[KILN_SHA256_HEX];
    kiln_sha256_of(from, (size_t)(to - from), hex);
    const char *policy =
        kiln_format(kiln_test_arena(),
                    "default-src 'none'; style-src 'unsafe-inline'; script-src "
                    "'sha256-%s'\"",
                    base64_of(hex));
    assert_non_null(strstr(page, policy));
}

/* How often `what` is on the page's body. */
static size_t count_of(const kiln_results *r, const char *what) {
    size_t n = 0;
    for (const char *at = strstr(page_of(r).p, "<body>");
         (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* Of the demo's four jobs one regressed and one failed. */
static void what_went_wrong_stands_open(void **state) {
    (void)state;
    kiln_results r;
    parse(demo(), &r);
    assert_int_equal(count_of(&r, "<details class=\"job"), 4 + 1);
    assert_int_equal(count_of(&r, "<details class=\"job bad-row\" open"), 2);
    assert_int_equal(count_of(&r, "<details open><summary><h4>Stages</h4>"), 1);
    assert_int_equal(count_of(&r, "<details class=\"steps\"><summary>"), 3);
    assert_int_equal(count_of(&r, "<details><summary><h4>Tuning</h4>"), 4);
    assert_int_equal(count_of(&r, "open><summary><h4>Tuning"), 0);
}

static void equal_results_give_equal_bytes(void **state) {
    (void)state;
    kiln_results a, b;
    parse(demo(), &a);
    parse(demo(), &b);
    kiln_assert_text_equal(page_of(&a), page_of(&b));
}

/* ---- golden ---------------------------------------------------------------------- */

/* Without style and script, which are looked at and tried, not compared. */
static void golden(void **state) {
    kiln_test_golden g;
    kiln_results r;
    kiln_test_golden_read(*state, &g);
    parse(g.input, &r);
    const kiln_str page = page_of(&r);
    const char *style = strstr(page.p, "<style>"), *end = strstr(page.p, "</script>");
    assert_true(style != NULL && end != NULL);
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_buf_add(&out, page.p, (size_t)(style - page.p));
    kiln_buf_puts(&out, end + strlen("</script>\n"));
    kiln_test_golden_check(&g, kiln_buf_str(&out));
}

int main(void) {
    kiln_test_add("each_number_is_in_the_results", each_number_is_in_the_results, NULL);
    kiln_test_add("each_night_is_in_the_results", each_night_is_in_the_results, NULL);
    kiln_test_add("nothing_is_known", nothing_is_known, NULL);
    kiln_test_add("extreme_numbers", extreme_numbers, NULL);
    kiln_test_add("hostile_names_stay_texts", hostile_names_stay_texts, NULL);
    kiln_test_add("the_policy_names_the_script", the_policy_names_the_script, NULL);
    kiln_test_add("what_went_wrong_stands_open", what_went_wrong_stands_open, NULL);
    kiln_test_add("equal_results_give_equal_bytes", equal_results_give_equal_bytes,
                  NULL);
    kiln_test_add_rows(check_says, says);
    kiln_test_add_golden("tests/reports/golden/html", golden);
    return kiln_test_run("html");
}
