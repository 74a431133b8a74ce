/* results.junit.xml: well-formed whatever the texts are; each stage a case, each
 * verdict what CI systems make red. */
#include "reports/results/results.h"
#include "tests/support/kiln_test.h"

#include <ctype.h>
#include <string.h>

static const char *junit_of(kiln_str json) {
    kiln_results r;
    kiln_err err = {0};
    kiln_buf out;
    kiln_assert_status_ok(kiln_results_parse(kiln_test_arena(), json, "test", &r, &err),
                          &err);
    kiln_buf_init(&out, kiln_test_arena());
    kiln_results_junit(&out, &r);
    return out.p;
}

/* ---- well-formed? ---------------------------------------------------------------- */

enum { MAX_DEPTH = 8 };

static void check_reference(const char *at) {
    static const char *const known[] = {"&amp;",  "&lt;",  "&gt;",
                                        "&quot;", "&#10;", "&#9;"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(at, known[i], strlen(known[i])) == 0)
            return;
    fail_msg("no reference: '%.10s'", at);
}

/* Past the tag at `at`; names[*depth] is what is open. */
static const char *check_tag(const char *at, const char *name[MAX_DEPTH], int *depth) {
    const bool closes = at[1] == '/';
    const char *from = at + 1 + closes;
    size_t n = 0;
    while (isalpha((unsigned char)from[n]))
        n++;
    assert_true(n > 0);
    bool quoted = false;
    const char *end = from + n;
    for (; *end != '\0' && (quoted || *end != '>'); end++) {
        quoted ^= *end == '"';
        assert_true(*end != '<');
        if (*end == '&')
            check_reference(end);
    }
    assert_true(*end == '>' && !quoted);
    if (closes) {
        assert_true(*depth > 0 && strncmp(name[--*depth], from, n) == 0);
    } else if (end[-1] != '/') {
        assert_true(*depth < MAX_DEPTH);
        name[(*depth)++] = from;
    }
    return end + 1;
}

static void check_xml(const char *text) {
    static const char head[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    const char *name[MAX_DEPTH];
    int depth = 0;
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    for (const char *at = text + strlen(head); *at != '\0';) {
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
        if (*at == '&')
            check_reference(at);
        at = *at == '<' ? check_tag(at, name, &depth) : at + 1;
    }
    assert_int_equal(depth, 0);
}

/* ---- what it says ---------------------------------------------------------------- */

#define STAGE(name, state, more)                                                       \
    "{\"name\": \"" name "\", \"state\": \"" state "\", \"seconds\": 1.5" more "}"
#define JOB(stages, more)                                                              \
    "{\"schema\": \"kiln-results-1\", \"name\": \"n\", \"jobs\": [{\"model\": \"m\", " \
    "\"profile\": \"p\", \"threads\": 1, \"stages\": [" stages "]" more "}]}"

typedef struct row {
    const char *name, *json, *want;
} row;

static row rows[] = {
    {"a_stage_is_a_case", JOB(STAGE("build", "done", ""), ""),
     "<testcase classname=\"m, p, 1 thread\" name=\"build\" time=\"1.500\"/>"},
    {"a_failed_stage_is_a_failure",
     JOB(STAGE("build", "failed", ", \"message\": \"no\", \"command\": \"kiln b\""),
         ""),
     "<failure type=\"failed\" message=\"no\">again: kiln b</failure>"},
    {"a_limit_is_an_error", JOB(STAGE("tune", "timed out", ""), ""),
     "<error type=\"timed out\" message=\"timed out\"></error>"},
    {"what_did_not_run_is_skipped",
     JOB(STAGE("gate", "skipped", ", \"message\": \"why\""), ""),
     "<skipped message=\"why\"/>"},
    {"a_regression_is_a_failure",
     JOB(STAGE("gate", "done", ""), ", \"gate\": {\"verdict\": \"fail\", \"reason\": "
                                    "\"slower\", \"command\": \"g\"}"),
     "<failure type=\"fail\" message=\"slower\">again: g</failure>"},
    {"wrong_outputs_are_a_failure",
     JOB(STAGE("gate", "done", ""), ", \"gate\": {\"verdict\": \"wrong\", \"reason\": "
                                    "\"y is 3\", \"command\": \"g\"}"),
     "<failure type=\"wrong\" message=\"y is 3\">again: g</failure>"},
    {"what_was_not_compared_is_an_error",
     JOB(STAGE("gate", "done", ""),
         ", \"gate\": {\"verdict\": \"invalid\", \"reason\": \"storm\"}"),
     "<error type=\"invalid\" message=\"storm\"></error>"},
    {"other_verdicts_are_good",
     JOB(STAGE("gate", "done", ""), ", \"gate\": {\"verdict\": \"inconclusive\"}"),
     "name=\"gate\" time=\"1.500\"/>"},
    {"cases_are_counted",
     JOB(STAGE("build", "done", "") "," STAGE("bench", "failed",
                                              "") "," STAGE("gate", "skipped", ""),
         ""),
     "<testsuites name=\"n\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" "
     "time=\"4.500\">"},
    {"texts_are_no_markup",
     JOB(STAGE("build", "failed", ", \"message\": \"a<b>&\\\"c\\\"\\n\\u0001\""), ""),
     "message=\"a&lt;b&gt;&amp;&quot;c&quot;&#10;\xEF\xBF\xBD\""},
};

static void check_row(void **state) {
    const row *r = *state;
    const char *text = junit_of(kiln_str_from(r->json));
    check_xml(text);
    if (strstr(text, r->want) == NULL)
        fail_msg("it says:\n%s", text);
}

static void the_demo_is_well_formed(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_str json;
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(),
                                        "tests/reports/demo/results.json", 0, &json,
                                        &err),
                          &err);
    const char *text = junit_of(json);
    check_xml(text);
    assert_non_null(strstr(text, "type=\"fail\""));
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("the_demo_is_well_formed", the_demo_is_well_formed, NULL);
    return kiln_test_run("junit");
}
