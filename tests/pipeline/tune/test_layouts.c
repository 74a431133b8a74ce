/* Other layouts: what a search over the network wishes for is measured and on record,
 * conversions too; builds are told, settling and ready records leave it alone. */
#include "compiler/network/wishes.h"
#include "pipeline/tune/tune_internal.h"
#include "tests/support/kiln_test.h"
#include "tests/support/database/db_make.h"
#include "tests/support/measuring/tune_run.h"

#include <string.h>

/* A row-major input, a pool between, channels that are no whole blocks. */
static kiln_graph *network(void) {
    static const char text[] =
        "graph \"g\" { input %x : f32[1,24,12,12] "
        "const %u : f32[40,24,3,3] = random(1) const %v : f32[24,40,3,3] = random(2) "
        "%a = conv(%x, %u) {pads=[1,1,1,1]} %b = relu(%a) "
        "%c = max_pool(%b) {kernel=[2,2], strides=[2,2]} "
        "%d = conv(%c, %v) {pads=[1,1,1,1]} output %d }";
    return kiln_test_tune_graph(text);
}

static kiln_tune_works works_of(const kiln_graph *g) {
    kiln_err err = {0};
    kiln_tune_works works;
    kiln_assert_status_ok(kiln_tune_works_of_graph(kiln_test_arena(), g,
                                                   kiln_test_native(), &works, &err),
                          &err);
    return works;
}

static kiln_tune_layouts try_layouts(const kiln_graph *g, const kiln_tune_works *works,
                                     const kiln_tune_options *o) {
    kiln_err err = {0};
    kiln_tune_layouts l;
    kiln_assert_status_ok(
        kiln_tune_try_layouts(kiln_test_arena(), g, works, o, &l, &err), &err);
    return l;
}

static size_t count_records(kiln_db *db, const char *tmpl) {
    kiln_err err = {0};
    kiln_db_tasks tasks;
    kiln_arena *a = kiln_test_arena();
    size_t n = 0;
    kiln_assert_status_ok(kiln_db_tasks_of(db, a, &tasks, &err), &err);
    for (size_t i = 0; i < tasks.list.n; i++) {
        kiln_db_trials all;
        int64_t id = 0;
        kiln_assert_status_ok(kiln_db_task_id(db, &tasks.list.v[i], &id, &err), &err);
        kiln_assert_status_ok(kiln_db_trials_of(db, a, id, &all, &err), &err);
        for (size_t k = 0; k < all.list.n; k++)
            n += strcmp(all.list.v[k].candidate.tmpl, tmpl) == 0;
    }
    return n;
}

/* A time of the very way, on record as if it had been measured. */
static void record(kiln_db *db, const kiln_net_wish *w, double ns) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_op_work work;
    kiln_assert_status_ok(kiln_workload_read(a, kiln_str_from(w->workload), &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_op_work_of(a, g->name, g, &work, &err), &err);
    kiln_test_tune_record(db, &work, kiln_template_find(kiln_str_from(w->tmpl)),
                          w->config, ns);
}

static kiln_net_wishes wishes_of(const kiln_graph *g, kiln_db *db) {
    kiln_err err = {0};
    kiln_net_wishes w;
    kiln_tune_advice advice = {.db = db, .threads = 1, .arena = kiln_test_arena()};
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options choose = {.oracle = &oracle};
    kiln_assert_status_ok(kiln_network_wishes(kiln_test_arena(), g, kiln_test_native(),
                                              &choose, &w, &err),
                          &err);
    return w;
}

/* A conversion's record is what the search reckons with, and nobody wishes for it. */
static void a_record_is_what_a_conversion_costs(void **state) {
    (void)state;
    kiln_graph *g = network();
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_net_wishes before = wishes_of(g, db);
    double added_ns = 0;
    int n = 0;
    for (size_t i = 0; i < before.list.n; i++)
        if (before.list.v[i].is_conversion) {
            record(db, &before.list.v[i], 1e7);
            added_ns += 1e7;
            n++;
        }
    assert_true(n > 0); /* the input is row-major, or the output */
    const kiln_net_wishes after = wishes_of(g, db);
    for (size_t i = 0; i < after.list.n; i++)
        for (size_t k = 0; k < before.list.n; k++)
            assert_false(
                after.list.v[i].is_conversion && before.list.v[k].is_conversion &&
                strcmp(after.list.v[i].workload, before.list.v[k].workload) == 0 &&
                strcmp(after.list.v[i].config, before.list.v[k].config) == 0);
    assert_true(after.greedy_ns >= before.greedy_ns);
    assert_true(after.greedy_ns <= before.greedy_ns + added_ns);
    kiln_db_close(db);
}

/* A pool on record in other layouts than its rule's: a build's question has the answer. */
static void pools_are_answered(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_op_work work;
    kiln_tune_task t;
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_template *pool = &kiln_template_pool;
    static const char key[] = "max_pool{strides=[2,2],kernel=[2,2]}(%0: "
                              "f32[1,48,12,12]) -> %1";
    kiln_assert_status_ok(kiln_workload_read(a, kiln_str_from(key), &g, &err), &err);
    kiln_assert_status_ok(kiln_op_work_of(a, g->name, g, &work, &err), &err);
    kiln_assert_status_ok(
        kiln_tune_task_make(a, &work.workload, kiln_test_native(), pool, &t, &err),
        &err);
    kiln_config c = pool->guess(t.work, kiln_test_native(), &t.space);
    kiln_test_tune_record(db, &work, pool, kiln_tune_config_text(a, pool, &t.space, &c),
                          5000);
    c.option[0] = (int16_t)(c.option[0] == 0 ? 1 : 0); /* c_block */
    kiln_test_tune_record(db, &work, pool, kiln_tune_config_text(a, pool, &t.space, &c),
                          3000);
    kiln_tune_advice advice = {.db = db, .threads = 1, .arena = a};
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    kiln_answers known = {.n = 0};
    kiln_tune_answers taken;
    kiln_assert_status_ok(
        oracle.ask(oracle.user, a, &work, kiln_test_native(), &known, &err), &err);
    assert_int_equal(known.n, 2);
    assert_true(known.v[0].ns == 3000 && known.v[1].ns == 5000);
    assert_string_not_equal(known.v[0].layouts, known.v[1].layouts);
    kiln_tune_answers_of(a, &advice, kiln_test_native(), &taken);
    assert_int_equal(taken.n, 1); /* provenance has it */
    kiln_db_problems problems = {.was_cut = false};
    kiln_assert_status_ok(kiln_tune_check(db, a, &problems, &err), &err);
    assert_int_equal(problems.line.n, 0);
    kiln_db_close(db);
}

/* A pool in the layouts that are asked for is measured as kernels are. */
static void pools_are_measured(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_tune_work work = {.calls = 1, .tmpl = &kiln_template_pool};
    kiln_tune_works works = {.list = {.n = 0}};
    kiln_db *db = kiln_test_db_open(":memory:");
    kiln_tune_task t;
    static const char key[] = "max_pool{strides=[2,2],kernel=[2,2]}(%0: "
                              "f32[1,48,12,12]) -> %1";
    kiln_assert_status_ok(kiln_workload_read(a, kiln_str_from(key), &g, &err), &err);
    kiln_assert_status_ok(kiln_op_work_of(a, g->name, g, &work.op, &err), &err);
    kiln_assert_status_ok(kiln_tune_task_make(a, &work.op.workload, kiln_test_native(),
                                              work.tmpl, &t, &err),
                          &err);
    kiln_config c = work.tmpl->guess(t.work, kiln_test_native(), &t.space);
    c.option[0] = (int16_t)(c.option[0] == 0 ? 1 : 0);
    work.like = kiln_tune_config_text(a, work.tmpl, &t.space, &c);
    kiln_vec_push(a, &works.list, work);
    kiln_tune_options o = kiln_test_tune_options(db, 2);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, 2);
    assert_true(count_records(db, "pool") >= 2); /* a noisy best is measured again */
    kiln_db_close(db);
}

/* Few trials: the share of other layouts is kept, and all of it is on record. */
static void wishes_are_measured(void **state) {
    (void)state;
    enum { TRIALS = 6 };
    kiln_graph *g = network();
    kiln_err err = {0};
    kiln_db *db = kiln_test_db_open(":memory:");
    const kiln_tune_works works = works_of(g);
    const kiln_tune_options o = kiln_test_tune_options(db, TRIALS);
    const kiln_tune_result r = kiln_test_tune(&works, &o);
    assert_int_equal(r.n_new, TRIALS * (int64_t)works.list.n);
    const kiln_tune_layouts l = try_layouts(g, &works, &o);
    print_message("%d rounds, %lld trials of %lld kernels and %lld conversions; %g us "
                  "expected, not %g\n",
                  l.n_rounds, (long long)l.n_trials, (long long)l.n_kernels,
                  (long long)l.n_conversions, l.search_ns / 1e3, l.greedy_ns / 1e3);
    assert_true(l.n_conversions > 0);
    assert_true(l.n_trials > 0 && l.n_trials <= 8);
    assert_true(l.search_ns > 0 && l.search_ns <= l.greedy_ns);
    assert_true(count_records(db, "convert") > 0);
    assert_int_equal(count_records(db, "generic"), 0);

    /* What they are on record for: no ready records, no candidates in the network. */
    kiln_db_readies ready;
    kiln_db_problems left, problems = {.was_cut = false};
    kiln_assert_status_ok(
        kiln_tune_ready_make(kiln_test_arena(), db, &ready, &left, &err), &err);
    for (size_t i = 0; i < ready.list.n; i++)
        assert_string_not_equal(ready.list.v[i].candidate.tmpl, "convert");
    for (size_t i = 0; i < left.line.n; i++)
        assert_null(strstr(left.line.v[i], "identity("));
    kiln_assert_status_ok(kiln_tune_check(db, kiln_test_arena(), &problems, &err),
                          &err);
    assert_int_equal(problems.line.n, 0);
    kiln_tune_settled settled = {.n_works = 0};
    kiln_assert_status_ok(kiln_tune_settle(g, &o, &settled, &err), &err);
    assert_int_equal(settled.n_works, works.list.n);
    kiln_db_close(db);
}

/* A way in other layouts has a space of its own, and every point of it lies so. */
static void a_space_keeps_the_layouts_that_are_asked_for(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_rng rng;
    const kiln_tune_works works = works_of(network());
    const kiln_op_work *w = &works.list.v[0].op;
    const kiln_template *tmpl = &kiln_template_conv_direct;
    kiln_tune_task whole, t;
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_assert_status_ok(kiln_tune_task_make(kiln_test_arena(), &w->workload,
                                              kiln_test_native(), tmpl, &whole, &err),
                          &err);
    int n = 0;
    for (int i = 0; i < 20; i++) {
        const kiln_config c = kiln_config_random(&whole.space, &rng);
        const char *want =
            kiln_tune_activations(kiln_test_arena(), &whole, &whole.space, &c);
        if (want == NULL)
            continue;
        kiln_assert_status_ok(
            kiln_tune_space_like(
                kiln_test_arena(), w, kiln_test_native(), tmpl,
                kiln_tune_config_text(kiln_test_arena(), tmpl, &whole.space, &c), &t,
                &err),
            &err);
        for (int k = 0; k < 5; k++) {
            const kiln_config x = kiln_config_random(&t.space, &rng);
            const char *got =
                kiln_tune_activations(kiln_test_arena(), &t, &t.space, &x);
            if (got != NULL)
                assert_string_equal(got, want);
            n += got != NULL;
        }
    }
    assert_true(n > 0);
    kiln_assert_fails(kiln_tune_space_like(kiln_test_arena(), w, kiln_test_native(),
                                           tmpl, "{\"oc_block\": 3}", &t, &err),
                      KILN_ERR_ARG, &err,
                      "template 'conv_direct' has no configuration");
}

int main(void) {
    kiln_test_add("a_record_is_what_a_conversion_costs",
                  a_record_is_what_a_conversion_costs, NULL);
    kiln_test_add("pools_are_answered", pools_are_answered, NULL);
    kiln_test_add("pools_are_measured", pools_are_measured, NULL);
    kiln_test_add("wishes_are_measured", wishes_are_measured, NULL);
    kiln_test_add("a_space_keeps_the_layouts_that_are_asked_for",
                  a_space_keeps_the_layouts_that_are_asked_for, NULL);
    return kiln_test_run("layouts");
}
