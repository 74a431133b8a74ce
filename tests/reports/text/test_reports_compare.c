/* Two runs side by side: every difference is told once, and nothing else is. */
#include "reports/text/reports_compare.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

static kiln_arena *arena(void) { return kiln_test_arena(); }

static const char form[] =
    "{'schema': 'kiln-results-1', 'name': 'demo', 'run': 'one', 'kiln': '%s',"
    " 'commit': '%s', 'machine': {'cpu': '%s', 'cores': 2}, 'jobs': [{'model': 'net',"
    " 'profile': 'native', 'threads': 1, 'status': 'ok', 'latency': {'median_ms': %s,"
    " 'q1_ms': %s, 'q3_ms': %s, 'n_samples': 30}, 'archive': {'sha256': '%s'},"
    " 'gate': {'verdict': 'pass'}, 'steps': [{'name': 'conv1', 'template': '%s',"
    " 'origin': 'tuned', 'median_ms': 1}, {'name': '%s', 'median_ms': 0.5}],"
    " 'tuning': {'work': [{'name': 'w', 'best': '%s'}]}, 'baselines': [{'name': 'ort',"
    " 'version': '%s', 'state': 'measured', 'ratio': {'estimate': %s, 'low': %s,"
    " 'high': %s}}]}%s]}";

static kiln_results parse(const char *json) {
    kiln_results r;
    kiln_err err = {0};
    char *text = kiln_str_dup(arena(), json);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    kiln_assert_status_ok(
        kiln_results_parse(arena(), kiln_str_from(text), "test", &r, &err), &err);
    return r;
}

#define CONFIG_A "{\\'tile\\': 16, \\'unroll\\': 4, \\'order\\': [1, 2]}"
#define CONFIG_B "{\\'tile\\': 32, \\'unroll\\': 4, \\'vector\\': true}"

static kiln_results first(void) {
    return parse(kiln_format(arena(), form, "0.1", "abc", "A", "2", "1.9", "2.1", "aa",
                             "direct", "relu1", CONFIG_A, "1.0", "0.5", "0.4", "0.6",
                             ""));
}

static kiln_results second(void) {
    return parse(kiln_format(
        arena(), form, "0.2", "def", "B", "3", "2.9", "3.1", "bb", "winograd", "relu2",
        CONFIG_B, "1.1", "0.9", "0.8", "1.0",
        ", {'model': 'more', 'profile': 'native', 'threads': 2, 'status': 'failed'}"));
}

static const char *text_of(const kiln_results *a, const kiln_results *b) {
    kiln_compare c;
    kiln_buf out;
    kiln_compare_results(arena(), a, b, &c);
    kiln_buf_init(&out, arena());
    kiln_compare_text(&out, &c);
    return out.p;
}

static void says(const char *text, const char *part) {
    const char *at = strstr(text, part);
    if (at == NULL)
        fail_msg("it lacks '%s': %s", part, text);
    if (strstr(at + 1, part) != NULL)
        fail_msg("it says '%s' twice: %s", part, text);
}

static void equal_runs_differ_in_nothing(void **state) {
    (void)state;
    const kiln_results a = first(), b = first();
    kiln_compare c;
    kiln_compare_results(arena(), &a, &b, &c);
    assert_int_equal(c.around.n, 0);
    assert_int_equal(c.job.n, 1);
    assert_int_equal(c.job.v[0].why.n, 0);
    assert_true(c.job.v[0].ratio == 1 && !c.job.v[0].is_apart);
    assert_int_equal(c.n_differ, 0);
}

static void every_difference_is_told_once(void **state) {
    (void)state;
    const kiln_results a = first(), b = second();
    const char *text = text_of(&a, &b);
    says(text, "\nkiln: 0.1, then 0.2\n");
    says(text, "\ncommit: abc, then def\n");
    says(text, "\nprocessor: A, then B\n");
    says(text, "net, native, 1 thread: 2.0000 ms (1.9000 to 2.1000), then 3.0000 ms "
               "(2.9000 to 3.1000): 1.500\n");
    says(text, "  archive: aa, then bb\n");
    says(text, "  step conv1: template direct, then winograd\n");
    says(text, "  step relu2: new\n");
    says(text, "  step relu1: gone\n");
    says(text, "  workload w: tile 16, then 32; order [1, 2], then absent; vector "
               "absent, then true\n");
    says(text, "  ort's version: 1.0, then 1.1\n");
    says(text, "  kiln / ort: 0.500 (0.400 to 0.600), then 0.900 (0.800 to 1.000)\n");
    says(text, "more, native, 2 threads: no such job, then not measured\n");
    says(text, "\n2 of 2 jobs differ;");
    assert_null(strstr(text, "cores"));
    assert_null(strstr(text, "unroll"));
    assert_null(strstr(text, "gate:"));
}

static void the_other_way_round_is_the_mirror(void **state) {
    (void)state;
    const kiln_results a = first(), b = second();
    const char *text = text_of(&b, &a);
    says(text, "  step relu1: new\n");
    says(text, "more, native, 2 threads: not measured, then no such job\n");
    says(text, "  workload w: tile 32, then 16; vector true, then absent; order "
               "absent, then [1, 2]\n");
}

static void a_step_that_got_slower_is_named(void **state) {
    (void)state;
    const kiln_results a = first();
    kiln_results b = first();
    b.job.v[0].step.v[0].median_ms = 1.1; /* a tenth: one median says little */
    assert_null(strstr(text_of(&a, &b), "step conv1"));
    b.job.v[0].step.v[0].median_ms = 1.3;
    says(text_of(&a, &b), "  step conv1: 1.0000 ms, then 1.3000 ms\n");
    b.job.v[0].latency.q1_ms = 2.05; /* the middle halves still meet */
    b.job.v[0].latency.median_ms = b.job.v[0].latency.q3_ms = 2.2;
    says(text_of(&a, &b), ": 1.100 (middle halves meet)\n");
}

static void json_has_the_same(void **state) {
    (void)state;
    const kiln_results a = first(), b = second();
    const kiln_json *v = NULL;
    kiln_compare c;
    kiln_buf out;
    kiln_err err = {0};
    kiln_compare_results(arena(), &a, &b, &c);
    kiln_buf_init(&out, arena());
    kiln_compare_json(&out, &c);
    kiln_assert_status_ok(
        kiln_json_parse(arena(), kiln_buf_str(&out), "compare", &v, &err), &err);
    const kiln_json *jobs = kiln_json_get(v, "jobs");
    assert_int_equal(kiln_json_size(kiln_json_get(v, "around")), 3);
    assert_int_equal(kiln_json_size(jobs), 2);
    assert_true(kiln_json_number(kiln_json_get(kiln_json_at(jobs, 0), "ratio"), 0) ==
                1.5);
    assert_int_equal(kiln_json_size(kiln_json_get(kiln_json_at(jobs, 0), "why")),
                     c.job.v[0].why.n);
    assert_true(kiln_json_is_null(kiln_json_get(kiln_json_at(jobs, 1), "a")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_differ_in_nothing),
        cmocka_unit_test(every_difference_is_told_once),
        cmocka_unit_test(the_other_way_round_is_the_mirror),
        cmocka_unit_test(a_step_that_got_slower_is_named),
        cmocka_unit_test(json_has_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
