/* results.json: read and written again it is the same bytes; what is wrong is refused
 * by its path. (test_documents.c: every member comes back, and is documented.) */
#include "reports/results/results.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEMO "tests/reports/demo/results.json"

static kiln_str text_of(const char *path) {
    kiln_str text;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_file_map(kiln_test_arena(), path, 0, &text, &err), &err);
    return text;
}

static kiln_str json_of(const kiln_results *r) {
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    kiln_results_json(&out, r);
    return kiln_buf_str(&out);
}

/* With KILN_GOLDEN_UPDATE=1 the derived members of the file are made anew. */
static void demo_is_a_fixed_point(void **state) {
    (void)state;
    kiln_results r;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_results_read(kiln_test_arena(), DEMO, &r, &err), &err);
    kiln_results_derive(kiln_test_arena(), &r);
    const kiln_str json = json_of(&r);
    if (getenv("KILN_GOLDEN_UPDATE") != NULL)
        kiln_assert_status_ok(kiln_file_write(DEMO, json.p, json.n, &err), &err);
    kiln_assert_text_equal(json, text_of(DEMO));
    kiln_results_derive(kiln_test_arena(), &r);
    kiln_assert_text_equal(json_of(&r), json);
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    const char *text; /* of the document, behind the schema */
    kiln_status want;
    const char *says;
} row;

static row rows[] = {
    {"a_text_for_a_list", "\"jobs\": \"none\"", KILN_ERR_PARSE,
     "'x.json': jobs: must be a list, is 'none'"},
    {"a_list_for_an_object", "\"machine\": []", KILN_ERR_PARSE,
     "machine: must be an object, is a list"},
    {"an_object_for_a_number", "\"seconds\": {}", KILN_ERR_PARSE,
     "seconds: must be a number or null, is an object"},
    {"a_number_for_a_text", "\"name\": 12", KILN_ERR_PARSE,
     "name: must be a text or null, is 12"},
    {"a_text_in_the_samples",
     "\"jobs\": [{}, {\"latency\": {\"samples_ms\": [1, \"2\"]}}]", KILN_ERR_PARSE,
     "jobs[1].latency.samples_ms[1]: must be a number, is '2'"},
    {"null_in_the_samples", "\"jobs\": [{\"latency\": {\"samples_ms\": [null]}}]",
     KILN_ERR_PARSE, "jobs[0].latency.samples_ms[0]: must be a number, is null"},
    {"an_unknown_member", "\"colour\": 1", KILN_ERR_PARSE,
     "colour: is no member of kiln-results-1"},
    {"an_unknown_member_far_down",
     "\"jobs\": [{\"gate\": {\"slowdown\": {\"mid\": 1}}}]", KILN_ERR_PARSE,
     "jobs[0].gate.slowdown.mid: is no member"},
    {"a_schema_inside", "\"machine\": {\"schema\": 1}", KILN_ERR_PARSE,
     "machine.schema: is no member"},
    {"half_a_step", "\"jobs\": [{\"steps\": [{\"bytes\": 1.5}]}]", KILN_ERR_PARSE,
     "jobs[0].steps[0].bytes: must be a whole number from 0 to 2^53, is 1.5"},
    {"fewer_than_no_bytes", "\"machine\": {\"memory_bytes\": -1}", KILN_ERR_PARSE,
     "machine.memory_bytes: must be a whole number from 0 to 2^53, is -1"},
    {"more_than_doubles_hold", "\"machine\": {\"memory_bytes\": 1e16}", KILN_ERR_PARSE,
     "machine.memory_bytes: must be a whole number from 0 to 2^53, is 1e+16"},
    {"an_exit_code_of_64_bits",
     "\"jobs\": [{\"stages\": [{\"exit_code\": 4294967296}]}]", KILN_ERR_PARSE,
     "jobs[0].stages[0].exit_code: must be a whole number of 32 bits"},
    {"time_below_nothing", "\"jobs\": [{\"latency\": {\"median_ms\": -2}}]",
     KILN_ERR_PARSE, "jobs[0].latency.median_ms: must be a number above 0 or null"},
    {"a_number_for_a_truth", "\"jobs\": [{\"stages\": [{\"is_reused\": 1}]}]",
     KILN_ERR_PARSE, "is_reused: must be true or false, is 1"},
    {"an_unknown_state", "\"jobs\": [{\"stages\": [{\"state\": \"lost\"}]}]",
     KILN_ERR_PARSE, "state: must be one of done, failed, timed out, skipped"},
    {"an_unknown_verdict", "\"verdict\": \"maybe\"", KILN_ERR_PARSE,
     "verdict: must be one of pass, fail, inconclusive, invalid, equal, new, wrong, is "
     "'maybe'"},
    {"a_hostile_key", "\"\\u001b[31m\": 1", KILN_ERR_PARSE, "\\x1b[31m: is no member"},
    {"a_key_twice", "\"name\": \"a\", \"name\": \"b\"", KILN_ERR_PARSE,
     "key 'name' appears twice"},
};

static void check_refusal(void **state) {
    const row *r = *state;
    kiln_results out = {.kiln = "as it was"};
    kiln_err err = {0};
    const char *text =
        kiln_format(kiln_test_arena(), "{\"schema\": \"kiln-results-1\", %s}", r->text);
    kiln_assert_fails(kiln_results_parse(kiln_test_arena(), kiln_str_from(text),
                                         "x.json", &out, &err),
                      r->want, &err, r->says);
    assert_string_equal(out.kiln, "as it was");
}

static void refuses_other_documents(void **state) {
    (void)state;
    static const char *const text[] = {"{}", "[]", "3", "{\"schema\": 1}",
                                       "{\"schema\": \"kiln-results-2\"}"};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        kiln_results r;
        kiln_err err = {0};
        kiln_assert_fails(kiln_results_parse(kiln_test_arena(), kiln_str_from(text[i]),
                                             "x.json", &r, &err),
                          KILN_ERR_PARSE, &err,
                          "'x.json': schema: must be 'kiln-results-1', is ");
    }
}

static void refuses_too_many(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_buf jobs, samples;
    kiln_results r;
    kiln_err err = {0};
    kiln_buf_init(&jobs, &a);
    kiln_buf_puts(&jobs, "{\"schema\": \"kiln-results-1\", \"jobs\": [{}");
    for (int i = 0; i < KILN_RESULTS_MAX_JOBS; i++)
        kiln_buf_puts(&jobs, ",{}");
    kiln_buf_puts(&jobs, "]}");
    kiln_assert_fails(kiln_results_parse(&a, kiln_buf_str(&jobs), "x.json", &r, &err),
                      KILN_ERR_LIMIT, &err, "jobs: has 4097 elements; at most 4096");
    kiln_err_clear(&err);
    kiln_buf_init(&samples, &a);
    kiln_buf_puts(&samples, "{\"schema\": \"kiln-results-1\", \"jobs\": "
                            "[{\"latency\": {\"samples_ms\": [1");
    for (int i = 1; i < KILN_RECORD_MAX_ITEMS; i++)
        kiln_buf_puts(&samples, ",1");
    kiln_buf_puts(&samples, "]}}]}");
    kiln_assert_fails(
        kiln_results_parse(&a, kiln_buf_str(&samples), "x.json", &r, &err),
        KILN_ERR_LIMIT, &err,
        "jobs[0].latency.samples_ms: all lists together have more than 1048576");
    kiln_arena_fini(&a);
}

/* ---- what is not there ----------------------------------------------------------- */

static void missing_members_are_not_known(void **state) {
    (void)state;
    kiln_results r;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_results_parse(kiln_test_arena(),
                           KILN_STR_LIT("{\"schema\": \"kiln-results-1\", \"jobs\": "
                                        "[{\"latency\": {}}]}"),
                           "x.json", &r, &err),
        &err);
    assert_null(r.name);
    assert_true(isnan(r.seconds) && isnan(r.geomean_slowdown.low));
    assert_true(r.job.n == 1 && r.job.v[0].has_latency && !r.job.v[0].has_gate);
    assert_true(r.job.v[0].latency.median_ms == 0 && isnan(r.job.v[0].rms_error));
}

int main(void) {
    kiln_test_add("demo_is_a_fixed_point", demo_is_a_fixed_point, NULL);
    kiln_test_add_rows(check_refusal, rows);
    kiln_test_add("refuses_other_documents", refuses_other_documents, NULL);
    kiln_test_add("refuses_too_many", refuses_too_many, NULL);
    kiln_test_add("missing_members_are_not_known", missing_members_are_not_known, NULL);
    return kiln_test_run("results");
}
