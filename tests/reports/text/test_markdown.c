/* summary.md and annotations: what needs a look, the worst first; texts of others stay
 * texts. */
#include "reports/results/results.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef void printer(kiln_buf *out, const kiln_results *r);

static const char *text_of(printer *print, const char *json) {
    kiln_results r;
    kiln_err err = {0};
    kiln_buf out;
    kiln_assert_status_ok(
        kiln_results_parse(kiln_test_arena(), kiln_str_from(json), "test", &r, &err),
        &err);
    kiln_results_derive(kiln_test_arena(), &r);
    kiln_buf_init(&out, kiln_test_arena());
    kiln_buf_puts(&out, "");
    print(&out, &r);
    return out.p;
}

#define NIGHT(jobs, more)                                                              \
    "{\"schema\": \"kiln-results-1\", \"name\": \"n\", \"run\": \"r\", \"status\": "   \
    "\"ok\", \"kiln\": \"1\", \"machine\": {\"cpu\": \"c\"}, \"jobs\": [" jobs         \
    "]" more "}"
#define JOB(model, more)                                                               \
    "{\"model\": \"" model "\", \"profile\": \"p\", \"threads\": 2, \"status\": "      \
    "\"ok\"" more "}"
#define GATE(verdict)                                                                  \
    ", \"gate\": {\"verdict\": \"" verdict                                             \
    "\", \"reason\": \"because\", \"command\": "                                       \
    "\"kiln gate x\"}"
#define FAILED                                                                         \
    ", \"stages\": [{\"name\": \"build\", \"state\": \"failed\", \"message\": "        \
    "\"no\"}]"
#define RATIO(x)                                                                       \
    ", \"baselines\": [{\"name\": \"ort\", \"state\": \"measured\", \"ratio\": "       \
    "{\"estimate\": " x ", \"low\": " x ", \"high\": " x "}}]"

typedef struct row {
    const char *name;
    printer *print;
    const char *json, *want;
} row;

static row rows[] = {
    {"a_job_is_a_row", kiln_results_markdown,
     NIGHT(JOB("m", ", \"latency\": {\"median_ms\": 1.5}" RATIO("0.5")), ""),
     "| m | p | 2 | 1.5000 | 0.50 of ort |  | ok |\n"},
    {"a_disturbed_job_is_marked", kiln_results_markdown,
     NIGHT(JOB("m", ", \"latency\": {\"median_ms\": 1.5, \"n_samples\": 3, "
                    "\"n_disturbed\": 2}"),
           ""),
     "| 1.5000 (disturbed) |"},
    {"the_sentence_is_said", kiln_results_markdown, NIGHT(JOB("m", RATIO("0.5")), ""),
     "kiln takes 0\\.50 of ort's time \\(1 job\\); nothing was held against accepted "
     "archives.\n"},
    {"disturbed_jobs_are_in_no_mean", kiln_results_found,
     NIGHT(JOB("m", ", \"latency\": {\"n_samples\": 3, \"n_disturbed\": 2}" RATIO(
                        "9")) "," JOB("k", RATIO("0.5")),
           ""),
     "kiln takes 0.50 of ort's time (1 job)"},
    {"a_busy_machine_is_said", kiln_results_found,
     NIGHT(JOB("m", ", \"latency\": {\"n_samples\": 3, \"n_disturbed\": 2}" RATIO("9")),
           ""),
     "the machine was too busy to compare with baselines"},
    {"no_baseline_is_said", kiln_results_found, NIGHT(JOB("m", ""), ""),
     "no baseline was measured"},
    {"what_is_new_is_said", kiln_results_found,
     NIGHT(JOB("m", GATE("new")),
           ", \"verdict\": \"new\", \"by_verdict\": [{\"name\": \"new\", \"n\": 1}]"),
     "nothing is accepted yet for 1 job"},
    {"what_got_slower_comes_before_what_is_open", kiln_results_found,
     NIGHT(JOB("m", ""), ", \"verdict\": \"fail\", \"by_verdict\": [{\"name\": "
                         "\"inconclusive\", \"n\": "
                         "3}, {\"name\": \"fail\", \"n\": 2}]"),
     "2 jobs got slower than what is accepted"},
    {"what_is_wrong_comes_before_what_got_slower", kiln_results_found,
     NIGHT(JOB("m", ""), ", \"verdict\": \"wrong\", \"by_verdict\": [{\"name\": "
                         "\"fail\", \"n\": "
                         "3}, {\"name\": \"wrong\", \"n\": 2}]"),
     "the outputs of 2 jobs are wrong"},
    {"wrong_outputs_are_an_error", kiln_results_annotations,
     NIGHT(JOB("a", GATE("fail")) "," JOB("m", GATE("wrong")), ""),
     "::error title=wrong%3A m (p%2C 2 threads)::because\n::error title=fail%3A a"},
    {"an_injected_slowdown_is_said_first", kiln_results_found,
     NIGHT(JOB("m", ""), ", \"injected\": 0.05"),
     "INJECTED: the gate slowed every candidate by 5% on purpose"},
    {"a_regression_is_an_error", kiln_results_annotations,
     NIGHT(JOB("m", GATE("fail")), ""),
     "::error title=fail%3A m (p%2C 2 threads)::because\n"},
    {"a_storm_is_a_warning", kiln_results_annotations,
     NIGHT(JOB("m", GATE("invalid")), ""),
     "::warning title=invalid%3A m (p%2C 2 threads)::because\n"},
    {"regressions_come_first", kiln_results_annotations,
     NIGHT(JOB("a", FAILED) "," JOB("b", GATE("fail")), ""),
     "::because\n::error title=build%3A a (p%2C 2 threads)::no\n"},
    {"its_command_is_in_a_fence", kiln_results_markdown,
     NIGHT(JOB("m", GATE("fail")), ""),
     "* **fail** m, p, 2 threads: because\n  ~~~~sh\n  kiln gate x\n  ~~~~\n"},
    {"names_are_no_markup", kiln_results_markdown,
     NIGHT(JOB("a|b*<i>[x](y)`\\n", ""), ""),
     "| a\\|b\\*&lt;i&gt;\\[x\\]\\(y\\)\\`  | p |"},
    {"lines_are_no_commands", kiln_results_annotations,
     NIGHT(JOB("m\\n::error::x", GATE("fail")), ""),
     "::error title=fail%3A m%0A%3A%3Aerror%3A%3Ax (p%2C 2 threads)::because\n"},
};

static void check_row(void **state) {
    const row *r = *state;
    const char *text = text_of(r->print, r->json);
    if (strstr(text, r->want) == NULL)
        fail_msg("it says:\n%s", text);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    return kiln_test_run("markdown");
}
