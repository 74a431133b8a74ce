/* One network left out: what is left of a database, which configurations are compared,
 * how kernels add up. Nothing is measured: times are made up. */
#include "pipeline/study/study_internal.h"
#include "tests/support/kiln_test.h"

#include <math.h>
#include <string.h>

#define OK(call) kiln_assert_status_ok((call), &err)

enum { ROUNDS = 3 };

static const kiln_profile *profile(void) {
    kiln_err err = {0};
    kiln_profile *p = kiln_new(kiln_test_arena(), kiln_profile);
    OK(kiln_profile_detect(kiln_test_arena(), p, &err));
    return p;
}

static kiln_tune_works works_of_dqn(const kiln_profile *p) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_source source;
    kiln_tune_works works;
    OK(kiln_source_read(a, "zoo:dqn", NULL, &source, &err));
    OK(kiln_tune_works_of_graph(a, source.graph, p, &works, &err));
    return works;
}

static kiln_db *empty(void) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    OK(kiln_db_open(kiln_test_arena(), ":memory:", NULL, &db, &err));
    return db;
}

static void record(kiln_db *db, const kiln_db_task *task, const char *tmpl,
                   const char *config, double ns) {
    kiln_err err = {0};
    static int64_t time_ms = 1; /* two trials are never the same */
    int64_t id = 0;
    const kiln_db_trial t = {.candidate = {tmpl, config},
                             .layouts = "some",
                             .sample_ns = &ns,
                             .n_samples = 1,
                             .proof = "{\"seeds\": 3, \"worst\": 0.25}",
                             .owner = "test",
                             .kiln = "0.0",
                             .time_ms = time_ms,
                             .is_repeat = true};
    time_ms++;
    OK(kiln_db_task_id(db, task, &id, &err));
    OK(kiln_db_record(db, id, &t, NULL, &err));
}

static size_t n_tasks(kiln_db *db) {
    kiln_err err = {0};
    kiln_db_tasks tasks;
    OK(kiln_db_tasks_of(db, kiln_test_arena(), &tasks, &err));
    return tasks.list.n;
}

/* ---- keys ------------------------------------------------------------------------ */

static void batches_have_one_key(void **state) {
    static const char *const pair[][2] = {
        {"conv{pads=[1,1,1,1]}(%0: f32[8,64,7,7], %1: const f32[64,64,3,3])",
         "conv{pads=[1,1,1,1]}(%0: f32[*,64,7,7], %1: const f32[64,64,3,3])"},
        {"matmul(%0: f32[128], %1: const f32[128,4])",
         "matmul(%0: f32[*], %1: const f32[128,4])"},
        {"nothing", "nothing"},
        {"odd(", "odd("},
        {"open(%0: f32[12", "open(%0: f32[*"},
        {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++) {
        const kiln_str got =
            kiln_tune_without_batch(kiln_test_arena(), kiln_str_from(pair[i][0]));
        assert_true(kiln_str_is(got, pair[i][1]));
    }
}

static void works_go_at_every_batch(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_profile *p = profile();
    const kiln_tune_works works = works_of_dqn(p);
    kiln_db *db = empty(), *apart = NULL;
    kiln_db_task t = kiln_tune_task_of(a, &works.list.v[0].op, p, 2, KILN_TUNE_CACHE);
    record(db, &t, "conv_direct", "{}", 10);
    const kiln_str key = kiln_tune_without_batch(a, works.list.v[0].op.anchor);
    const char *star = memchr(key.p, '*', key.n);
    t.anchor = kiln_format(a, "%.*s77%s", (int)(star - key.p), key.p, star + 1);
    t.workload = kiln_format(a, "%s -> %%3", t.anchor);
    record(db, &t, "conv_direct", "{}", 10);
    t.anchor = "matmul(%0: f32[3,5], %1: const f32[5,7])";
    t.workload = "matmul(%0: f32[3,5], %1: const f32[5,7]) -> %2";
    record(db, &t, "matmul", "{}", 10);
    record(db, &t, "matmul", "{}", 12);
    assert_int_equal(n_tasks(db), 3);
    OK(kiln_transfer_apart(a, db, &works, &apart, &err));
    assert_int_equal(n_tasks(apart), 1);
    int64_t id = 0, n = 0;
    OK(kiln_db_task_id(apart, &t, &id, &err));
    OK(kiln_db_count(apart, id, &n, &err));
    assert_int_equal(n, 2);
    kiln_db_close(apart);
    kiln_db_close(db);
}

/* ---- the study ------------------------------------------------------------------- */

static const char *text_of(const kiln_choice *c) {
    kiln_json_writer w;
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_json_writer_init(&w, &text);
    w.compact_from = 1;
    kiln_config_put(&w, c->tmpl, &c->space, &c->config);
    return text.p;
}

/* Another one than the rule's, in its layouts: of each knob the next option, until one
 * fits. */
static const char *another(const kiln_op_work *w, const kiln_profile *p,
                           const kiln_choice *rule) {
    kiln_arena *a = kiln_test_arena();
    const char *want =
        kiln_work_layouts(a, &w->workload, p, rule->tmpl, &rule->space, &rule->config);
    for (int k = 0; k < rule->space.n; k++)
        for (int i = 0; i < rule->space.knob[k].n; i++) {
            kiln_choice c = *rule;
            c.config.option[k] = (int16_t)i;
            const char *got =
                kiln_work_layouts(a, &w->workload, p, c.tmpl, &c.space, &c.config);
            if (i != rule->config.option[k] && got != NULL && strcmp(got, want) == 0)
                return text_of(&c);
        }
    fail_msg("'%s' has one configuration", w->name);
    return NULL;
}

/* Tuned is 0.8 of the rule; a kernel of number `but` was never tuned, nothing of it is
 * measured. */
static void fill(const kiln_transfer_options *o, size_t but) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_tune_works works = works_of_dqn(o->profile);
    for (size_t i = 0; i < works.list.n; i++) {
        const kiln_op_work *w = &works.list.v[i].op;
        const kiln_db_task t = kiln_tune_task_of(a, w, o->profile, 1, KILN_TUNE_CACHE);
        const kiln_choose_options by_rule = {.oracle = NULL};
        kiln_choice rule;
        OK(kiln_choose(a, w, o->profile, &by_rule, &rule, &err));
        const char *tuned = another(w, o->profile, &rule);
        for (int r = 0; r < ROUNDS && i != but; r++) {
            record(o->measured, &t, rule.tmpl->name, text_of(&rule), 1e6);
            record(o->measured, &t, rule.tmpl->name, tuned, 8e5);
        }
        if (i == but)
            continue;
        record(o->db, &t, rule.tmpl->name, text_of(&rule), 1e6);
        record(o->db, &t, rule.tmpl->name, tuned, 8e5);
    }
}

static bool says(const kiln_doc_study_part *p, const char *text) {
    for (size_t i = 0; i < p->note.n; i++)
        if (strstr(p->note.v[i], text) != NULL)
            return true;
    return false;
}

/* One small network of records that are made up. */
static kiln_transfer_options replayed(void) {
    static const char *const model[] = {"zoo:dqn", NULL};
    return (kiln_transfer_options){.profile = profile(),
                                   .model = model,
                                   .db = empty(),
                                   .measured = empty(),
                                   .threads = 1,
                                   .rounds = ROUNDS,
                                   .replays = true};
}

static void kernels_add_up_by_their_calls(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_doc_study s;
    const kiln_transfer_options o = replayed();
    fill(&o, SIZE_MAX);
    OK(kiln_study_transfer(a, &o, &s, &err));
    assert_string_equal(s.study, "transfer");
    assert_int_equal(s.part.n, 2);
    assert_true(kiln_doc_study_is_good(&s));
    const kiln_doc_study_part *p = &s.part.v[0], *kernels = &s.part.v[1];
    const size_t n = works_of_dqn(o.profile).list.n;
    assert_int_equal(p->row.n, KILN_TRANSFER_WAYS);
    assert_int_equal(kernels->row.n, n * KILN_TRANSFER_WAYS);
    assert_string_equal(p->row.v[KILN_BY_TUNING].way, "tuned");
    assert_int_equal(p->row.v[0].n_samples, ROUNDS);
    assert_true(fabs(p->row.v[KILN_BY_TUNING].gain.estimate - 1.25) < 1e-9);
    /* Nobody else has records: the rule's is what a build takes. */
    assert_true(p->row.v[KILN_BY_MODEL].gain.estimate == 1);
    assert_true(kiln_str_starts(kiln_str_from(kernels->row.v[0].choice), "guess "));
    assert_true(kiln_str_starts(kiln_str_from(kernels->row.v[2].choice), "tuned "));
    assert_true(says(p, "of tuned speed the rules reach 80.0%, predicted 80.0%"));
    assert_true(says(p, "geometric mean of 1 network"));
    assert_true(says(p, "no model: the others have too few records"));
    kiln_db_close(o.db);
    kiln_db_close(o.measured);
}

static void what_was_not_measured_does_not_count(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_doc_study s;
    const kiln_transfer_options o = replayed();
    fill(&o, 1);
    OK(kiln_study_transfer(a, &o, &s, &err));
    const kiln_doc_study_part *p = &s.part.v[0], *kernels = &s.part.v[1];
    const size_t n = works_of_dqn(o.profile).list.n;
    assert_true(says(p, kiln_format(a, "dqn: %zu of %zu kernels", n - 1, n)));
    for (int k = 0; k < KILN_TRANSFER_WAYS; k++)
        assert_string_equal(kernels->row.v[KILN_TRANSFER_WAYS + k].state, "absent");
    assert_non_null(strstr(kernels->row.v[KILN_TRANSFER_WAYS + KILN_BY_TUNING].problem,
                           "'kiln tune' makes one"));
    assert_true(kiln_doc_study_is_good(&s));
    kiln_db_close(o.db);
    kiln_db_close(o.measured);
}

int main(void) {
    static const struct CMUnitTest unit[] = {
        cmocka_unit_test(batches_have_one_key),
        cmocka_unit_test(works_go_at_every_batch),
        cmocka_unit_test(kernels_add_up_by_their_calls),
        cmocka_unit_test(what_was_not_measured_does_not_count),
    };
    kiln_test_add_tests(unit);
    return kiln_test_run("transfer");
}
