/* A model compiled again by what is known of another number of threads: another network
 * beside the first, held to the same outputs; what becomes the same shares its process. */
#include "pipeline/bench/bench.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/support_subject.h"

#include <string.h>

enum { N_PRODUCTS = 2 }; /* of DQN */

/* Another configuration of the same layouts, by one knob: whatever the machine's rules
 * say, this is not it. */
static bool change(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                   kiln_choice *c) {
    const char *layouts = kiln_work_layouts(a, w, p, c->tmpl, &c->space, &c->config);
    for (int i = 0; i < c->space.n; i++)
        for (int k = 0; k < c->space.knob[i].n; k++) {
            kiln_config other = c->config;
            kiln_scheduled scheduled;
            kiln_err refused = {0};
            other.option[i] = (int16_t)k;
            const char *its = kiln_work_layouts(a, w, p, c->tmpl, &c->space, &other);
            if (k == c->config.option[i] || its == NULL || strcmp(its, layouts) != 0 ||
                kiln_template_apply(a, c->tmpl, w, p, &c->space, &other, &scheduled,
                                    &refused) != KILN_OK)
                continue;
            c->config = other;
            return true;
        }
    return false;
}

/* Knows matrix products: what the rules say of them or, where *user is set, another
 * configuration. */
static kiln_status ask(void *user, kiln_arena *a, const kiln_op_work *w,
                       const kiln_profile *p, kiln_answers *out, kiln_err *err) {
    static const kiln_choose_options by_rule = {.oracle = NULL};
    const bool *changes = user;
    kiln_choice c;
    kiln_buf text;
    if (strcmp(w->workload.anchor->op->name, "gemm") != 0)
        return KILN_OK;
    KILN_TRY(kiln_choose(a, w, p, &by_rule, &c, err));
    if (*changes)
        assert_true(change(a, &w->workload, p, &c));
    kiln_answer answer = {
        .tmpl = c.tmpl->name, .origin = KILN_ORIGIN_TUNED, .n_tried = 7, .ns = 1};
    kiln_buf_init(&text, a);
    kiln_config_json(&text, c.tmpl, &c.space, &c.config);
    KILN_TRY(kiln_json_parse(a, kiln_buf_str(&text), "known", &answer.config, err));
    answer.layouts = kiln_work_layouts(a, &w->workload, p, c.tmpl, &c.space, &c.config);
    kiln_vec_push(a, out, answer);
    return KILN_OK;
}

static kiln_subject again(const kiln_subject *s, bool changes) {
    const kiln_oracle oracle = {.ask = ask, .user = &changes};
    const kiln_choose_options choose = {.oracle = &oracle};
    kiln_err err = {0};
    kiln_subject other;
    kiln_assert_status_ok(
        kiln_subject_again(kiln_test_arena(), s, &choose, NULL, &other, &err), &err);
    return other;
}

/* How many steps' configurations are known, not their rules'. */
static int n_known(const kiln_subject *s) {
    int n = 0;
    for (int i = 0; i < s->n_steps; i++)
        n += s->step[i].origin != NULL && strcmp(s->step[i].origin, "tuned") == 0;
    return n;
}

static kiln_net_bench measured(const kiln_subject *each, int n) {
    static const int threads[] = {1, 2};
    const kiln_net_bench_options o = {
        .threads = threads, .n_threads = n, .each = each, .rounds = 1, .steps = true};
    kiln_net_bench b;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_net_bench_run(kiln_test_arena(), &each[0], &o, &b, &err),
                          &err);
    return b;
}

static void each_number_of_threads_has_its_network(void **state) {
    kiln_subject each[2] = {kiln_test_subject("zoo:dqn")};
    (void)state;
    each[1] = again(&each[0], true);
    assert_ptr_not_equal(each[1].remote, each[0].remote);
    assert_ptr_equal(each[1].want, each[0].want);
    assert_int_equal(n_known(&each[0]), 0);
    assert_int_equal(n_known(&each[1]), N_PRODUCTS);
    const kiln_net_bench b = measured(each, 2);
    assert_int_equal(b.check.outcome, KILN_PASSED);
    kiln_buf json;
    kiln_buf_init(&json, kiln_test_arena());
    kiln_net_bench_json(&json, &b);
    const kiln_json *doc = NULL;
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_buf_str(&json), "bench", &doc, &err),
        &err);
    const kiln_json *side = kiln_json_first(kiln_json_get(doc, "threads"));
    for (int i = 0; i < 2; i++, side = kiln_json_next(side)) {
        int n = 0;
        const kiln_json *step = kiln_json_first(kiln_json_get(side, "steps"));
        assert_ptr_equal(b.side.v[i].subject, &each[i]);
        for (; step != NULL; step = kiln_json_next(step))
            n += strcmp(kiln_json_string(kiln_json_get(step, "origin"), ""), "tuned") ==
                 0;
        assert_int_equal(n, i == 0 ? 0 : N_PRODUCTS);
    }
}

/* An output that nothing gives. */
static kiln_wanted another(const kiln_wanted *w) {
    kiln_wanted other = *w;
    other.value = kiln_tensor_new(kiln_test_arena(), &w->value.type);
    ((float *)other.value.data)[3] = 1e6F;
    return other;
}

/* The wrong network is named as such, whichever number of threads it is for. */
static void each_is_held_to_the_outputs(void **state) {
    kiln_subject each[2] = {kiln_test_subject("zoo:dqn")};
    (void)state;
    each[1] = again(&each[0], true);
    const kiln_wanted want = another(each[0].want);
    each[1].want = &want;
    assert_int_equal(measured(each, 1).check.outcome, KILN_PASSED);
    assert_int_equal(measured(each, 2).check.outcome, KILN_FAILED);
}

/* What is known says what the rules say: nothing runs twice. */
static void the_same_network_is_shared(void **state) {
    const kiln_subject s = kiln_test_subject("zoo:dqn");
    (void)state;
    const kiln_subject other = again(&s, false);
    assert_ptr_equal(other.remote, s.remote);
    assert_int_equal(n_known(&s), 0);
    assert_int_equal(n_known(&other), N_PRODUCTS);
}

/* Each under load in its own process. */
static void loads_have_theirs(void **state) {
    static const int threads[] = {1, 2}, instances[] = {1};
    kiln_subject each[2] = {kiln_test_subject("zoo:dqn")};
    (void)state;
    each[1] = again(&each[0], true);
    const kiln_wanted want = another(each[0].want);
    const kiln_load_options o = {.threads = threads,
                                 .n_threads = 2,
                                 .instances = instances,
                                 .n_instances = 1,
                                 .each = each,
                                 .seconds = 0.1};
    for (int wrong = 0; wrong < 2; wrong++) {
        kiln_load l;
        kiln_err err = {0};
        kiln_assert_status_ok(kiln_load_run(kiln_test_arena(), &each[0], &o, &l, &err),
                              &err);
        assert_int_equal(l.check.outcome, wrong == 0 ? KILN_PASSED : KILN_FAILED);
        assert_int_equal(l.side.n, 2 - wrong);
        each[1].want = &want;
    }
}

int main(void) {
    kiln_test_add("each_number_of_threads_has_its_network",
                  each_number_of_threads_has_its_network, NULL);
    kiln_test_add("each_is_held_to_the_outputs", each_is_held_to_the_outputs, NULL);
    kiln_test_add("the_same_network_is_shared", the_same_network_is_shared, NULL);
    kiln_test_add("loads_have_theirs", loads_have_theirs, NULL);
    return kiln_test_run("subject");
}
