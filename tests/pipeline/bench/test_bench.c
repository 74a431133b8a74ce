/* A network of the zoo as a subject: what is known of its steps adds up to the whole, a
 * right output gives samples, a wrong one a failed check and no number. Times are not
 * looked at. */
#include "pipeline/bench/bench.h"
#include "tests/support/kiln_test.h"

#include <string.h>

enum { ROUNDS = 3 };

static kiln_subject subject_of(const char *model) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile *p = kiln_new(a, kiln_profile);
    kiln_subject s;
    kiln_assert_status_ok(kiln_profile_detect(a, p, &err), &err);
    kiln_assert_status_ok(kiln_subject_of_model(a, model, NULL, p, NULL, 1, &s, &err),
                          &err);
    return s;
}

static void steps_add_up(void **state) {
    (void)state;
    const kiln_subject s = subject_of("zoo:dqn");
    kiln_cost sum = {0};
    char text[KILN_ERROR_TEXT];
    kiln_session *on = kiln_session_open(s.model, NULL, text);
    assert_string_equal(s.name, "dqn");
    assert_int_equal(s.cost.muladds, 9352192); /* as zoo/networks.def has it */
    assert_int_equal(s.n_steps, kiln_session_n_steps(on));
    for (int i = 0; i < s.n_steps; i++) {
        kiln_step_info info;
        assert_int_equal(kiln_session_step(on, i, &info), 0);
        assert_string_equal(info.name, s.step[i].name);
        assert_string_equal(info.op, s.step[i].op);
        sum.muladds += s.step[i].cost.muladds;
    }
    kiln_session_close(on);
    assert_int_equal(sum.muladds, s.cost.muladds);
    assert_true(s.arena >= s.lower_bound && s.lower_bound > 0);
}

static kiln_net_bench measured(const kiln_subject *s) {
    static const int threads[] = {1, 2};
    const kiln_net_bench_options o = {
        .threads = threads, .n_threads = 2, .rounds = ROUNDS, .steps = true};
    kiln_net_bench b;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_net_bench_run(kiln_test_arena(), s, &o, &b, &err), &err);
    return b;
}

static const kiln_json *json_of(const kiln_net_bench *b) {
    kiln_err err = {0};
    kiln_buf json;
    const kiln_json *doc = NULL;
    kiln_buf_init(&json, kiln_test_arena());
    kiln_net_bench_json(&json, b);
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_buf_str(&json), "bench", &doc, &err),
        &err);
    return doc;
}

static void keeps_every_sample(void **state) {
    (void)state;
    const kiln_subject s = subject_of("zoo:dqn");
    const kiln_net_bench b = measured(&s);
    assert_int_equal(b.check.outcome, KILN_PASSED);
    assert_int_equal(b.side.n, 2);
    for (size_t i = 0; i < b.side.n; i++) {
        const kiln_net_side *r = &b.side.v[i];
        assert_int_equal(r->threads, (int)i + 1);
        assert_int_equal(r->sample.n, ROUNDS);
        assert_true(r->min_ms > 0 && r->min_ms <= r->q1_ms);
        assert_true(r->q1_ms <= r->median_ms && r->median_ms <= r->q3_ms);
        assert_true(r->peak_share > 0 && r->gflops > 0);
        assert_non_null(r->step_ms);
    }
    const kiln_json *sides = kiln_json_get(json_of(&b), "threads");
    assert_int_equal(kiln_json_size(sides), 2);
    assert_int_equal(kiln_json_size(kiln_json_get(kiln_json_first(sides), "samples")),
                     ROUNDS);
    assert_int_equal(kiln_json_size(kiln_json_get(kiln_json_first(sides), "steps")),
                     s.n_steps);
}

static void gives_no_number_for_a_wrong_output(void **state) {
    (void)state;
    kiln_subject s = subject_of("zoo:dqn");
    ((float *)s.want[0].value.data)[3] += 1;
    const kiln_net_bench b = measured(&s);
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_net_bench_text(&text, &b);
    assert_int_equal(b.check.outcome, KILN_FAILED);
    assert_int_equal(b.side.v[0].sample.n, 0);
    assert_non_null(strstr(text.p, "WRONG: output '"));
    assert_null(strstr(text.p, "median"));
    assert_int_equal(kiln_json_size(kiln_json_get(json_of(&b), "threads")), 0);
}

static void compares_chosen_elements(void **state) {
    (void)state;
    kiln_subject s = subject_of("zoo:dqn");
    static const int64_t at[] = {0, 4, 17};
    kiln_wanted want = {.name = s.want[0].name, .at = at};
    const int64_t n = 3;
    const kiln_type t = kiln_type_make(KILN_F32, 1, &n);
    const float *whole = s.want[0].value.data;
    char text[KILN_ERROR_TEXT];
    kiln_err err = {0};
    want.value = kiln_tensor_new(kiln_test_arena(), &t);
    s.want = &want;
    for (int wrong = 0; wrong < 2; wrong++) {
        kiln_check check = {.group = "", .reason = ""};
        for (int64_t i = 0; i < n; i++)
            ((float *)want.value.data)[i] = whole[at[i] + wrong];
        kiln_session *on = kiln_session_open(s.model, NULL, text);
        kiln_assert_status_ok(
            kiln_subject_check(kiln_test_arena(), &s, on, &check, &err), &err);
        kiln_session_close(on);
        assert_int_equal(check.outcome, wrong == 0 ? KILN_PASSED : KILN_FAILED);
    }
}

static void names_what_is_no_model(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_source s;
    kiln_assert_fails(kiln_source_read(kiln_test_arena(), "zoo:nope", NULL, &s, &err),
                      KILN_ERR_ARG, &err, "the zoo has no network 'nope'");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_source_read(kiln_test_arena(), "no/such", NULL, &s, &err),
                      KILN_ERR_IO, &err, "no/such");
}

int main(void) {
    kiln_test_add("steps_add_up", steps_add_up, NULL);
    kiln_test_add("keeps_every_sample", keeps_every_sample, NULL);
    kiln_test_add("gives_no_number_for_a_wrong_output",
                  gives_no_number_for_a_wrong_output, NULL);
    kiln_test_add("compares_chosen_elements", compares_chosen_elements, NULL);
    kiln_test_add("names_what_is_no_model", names_what_is_no_model, NULL);
    return kiln_test_run("bench");
}
