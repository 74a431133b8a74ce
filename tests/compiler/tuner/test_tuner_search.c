/* What every search promises: no configuration twice, none that the template refuses,
 * all of a small space, the same again for the same seed; and their parts. */
#include "compiler/tuner/tuner.h"

#include <math.h>
#include <string.h>

#include "compiler/tuner/features.h"
#include "compiler/tuner/tuner_search_internal.h"
#include "tests/support/kiln_test.h"

/* ---- tasks ----------------------------------------------------------------------- */

/* A template with a knob of 5 and one of 9 options that refuses every third point, and
 * makes the first knob's loop out of what is left: programs differ by it alone. */
enum { WIDE = 5, DEEP = 9, N_PICKY = WIDE * DEEP };

static bool picky_fits(const kiln_workload *w, const kiln_profile *p) {
    (void)w;
    (void)p;
    return true;
}

static kiln_status picky_space(const kiln_workload *w, const kiln_profile *p,
                               kiln_space *out, kiln_err *err) {
    static const int64_t wide[WIDE] = {1, 2, 4, 8, 16};
    static const int64_t deep[DEEP] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    (void)w;
    (void)p;
    (void)err;
    kiln_space_add_ints(out, "wide", "makes a program", wide, WIDE);
    kiln_space_add_ints(out, "deep", "makes no difference", deep, DEEP);
    return KILN_OK;
}

static kiln_config picky_guess(const kiln_workload *w, const kiln_profile *p,
                               const kiln_space *s) {
    (void)w;
    (void)p;
    return kiln_config_at(s, 7);
}

static bool is_refused(uint64_t index) { return index % 3 == 0; }

static kiln_status picky_apply(kiln_arena *a, const kiln_workload *w,
                               const kiln_profile *p, const kiln_space *s,
                               const kiln_config *c, kiln_scheduled *out,
                               kiln_err *err) {
    kiln_scheduled made = {0};
    (void)p;
    if (is_refused(kiln_config_index(s, c)))
        return kiln_fail(err, KILN_ERR_ARG, "picky: not this one");
    KILN_TRY(kiln_graph_compute(a, w->graph, NULL, false, &made.te, err));
    made.schedule = kiln_schedule_new(a, made.te.arg + made.te.n_inputs,
                                      made.te.n_args - made.te.n_inputs);
    kiln_stage *st = made.schedule->stage.v[made.schedule->stage.n - 1];
    kiln_iter *outer, *inner;
    KILN_TRY(kiln_split(st, kiln_stage_axis(st, 0), kiln_config_int(s, c, 0, 0), &outer,
                        &inner, err));
    *out = made;
    return KILN_OK;
}

static const kiln_template picky = {.name = "picky",
                                    .doc = "for tests",
                                    .fits = picky_fits,
                                    .space = picky_space,
                                    .guess = picky_guess,
                                    .apply = picky_apply};

typedef struct subject {
    kiln_profile profile;
    kiln_workload work;
    kiln_tune_task task;
} subject;

static subject *subject_of(kiln_arena *a, const char *text, const kiln_template *t) {
    subject *s = kiln_new(a, subject);
    kiln_graph *g;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "text", &g, &err),
                          &err);
    kiln_assert_status_ok(kiln_workload_of(g, &s->work, &err), &err);
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx2", &s->profile, &err), &err);
    kiln_assert_status_ok(
        kiln_tune_task_make(a, &s->work, &s->profile, t, &s->task, &err), &err);
    return s;
}

static const char relu[] = "graph \"r\" { input %x : f32[32] %y = relu(%x) output %y }";
static const char conv[] = "graph \"c\" { input %x : f32[1,4,6,6] "
                           "input %w : f32[8,4,1,1] %y = conv(%x, %w) output %y }";
/* Without meaning, but always the same. */
static double made_up_ns(uint64_t index) {
    return 100 + (double)(kiln_hash64(&index, sizeof index, 5) % 1000);
}

static void report(kiln_search *s, uint64_t index, kiln_outcome o) {
    kiln_err err = {0};
    const bool has_cost = o == KILN_OUTCOME_MEASURED || o == KILN_OUTCOME_SLOW;
    const kiln_trial t = {index, o, has_cost ? made_up_ns(index) : 0};
    kiln_assert_status_ok(kiln_search_report(s, &t, &err), &err);
}

/* Short annealing: these spaces are small. */
static const kiln_search_options quick = {
    .seed = 3, .n_chains = 8, .n_steps = 10, .model_options = {.own = "n_trees=5"}};

static kiln_search *open_search(kiln_arena *a, const char *kind, const subject *s,
                                const kiln_search_options *o) {
    kiln_search *out;
    kiln_err err = {0};
    const kiln_search_kind *k = kiln_search_find(kiln_str_from(kind));
    assert_non_null(k);
    kiln_assert_status_ok(kiln_search_new(a, k, &s->task, o, &out, &err), &err);
    return out;
}

static size_t next(kiln_search *s, size_t n, uint64_t *out) {
    size_t n_out;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_search_next(s, n, out, &n_out, &err), &err);
    assert_true(n_out <= n);
    return n_out;
}

/* ---- promises, for each kind ----------------------------------------------------- */

/* All that the template takes, each once, whatever became of them; then nothing. Every
 * seventh is lost once and comes back. */
static void proposes_all_once(void **state) {
    kiln_arena a = {0};
    const subject *s = subject_of(&a, relu, &picky);
    kiln_search *x = open_search(&a, *state, s, &quick);
    int seen[N_PICKY] = {0}, n_lost = 0;
    uint64_t out[8];
    for (size_t n; (n = next(x, 8, out)) > 0;)
        for (size_t i = 0; i < n; i++) {
            assert_true(out[i] < N_PICKY && !is_refused(out[i]));
            const bool is_lost = out[i] % 7 == 0 && seen[out[i]] == 0;
            n_lost += is_lost;
            if (seen[out[i]]++ > (out[i] % 7 == 0 ? 1 : 0))
                fail_msg("%d came again", (int)out[i]);
            report(x, out[i],
                   is_lost ? KILN_OUTCOME_LOST
                           : (kiln_outcome)(out[i] % KILN_OUTCOME_LOST));
        }
    for (uint64_t i = 0; i < N_PICKY; i++)
        assert_true(is_refused(i) ? seen[i] == 0 : seen[i] >= 1);
    assert_true(n_lost > 0);
    assert_int_equal(kiln_search_n_trials(x), 2 * N_PICKY / 3);
    assert_int_equal(next(x, 8, out), 0);
    kiln_arena_fini(&a);
}

static void proposes_what_templates_take(void **state) {
    enum { ROUNDS = 12, BATCH = 16 };
    kiln_arena a = {0};
    const subject *s = subject_of(&a, conv, NULL);
    kiln_search *x = open_search(&a, *state, s, &quick);
    kiln_candidates *other =
        kiln_candidates_new(&a, &s->task, &kiln_cost_model_xgboost);
    kiln_index_map seen = {0};
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t out[BATCH];
        assert_int_equal(next(x, BATCH, out), BATCH);
        for (size_t i = 0; i < BATCH; i++) {
            assert_null(kiln_index_map_get(&seen, out[i]));
            kiln_index_map_put(&a, &seen, out[i], 1);
            assert_non_null(kiln_candidates_encoding(other, out[i]));
            report(x, out[i], KILN_OUTCOME_MEASURED);
        }
    }
    assert_true(kiln_candidates_count(kiln_search_candidates(x)).refused > 0);
    kiln_arena_fini(&a);
}

/* Known good ones first, in their order, then the guess; those that are reported are
 * not proposed. */
static void begins_with_what_is_known(void **state) {
    kiln_arena a = {0};
    const subject *s = subject_of(&a, relu, &picky);
    const uint64_t first[] = {22, 9, 4, 22, 40}; /* 9 is refused, 22 comes once */
    kiln_search_options o = quick;
    o.first = first;
    o.n_first = 5;
    kiln_search *x = open_search(&a, *state, s, &o);
    uint64_t out[4];
    report(x, 40, KILN_OUTCOME_MEASURED);
    assert_int_equal(next(x, 1, out), 1);
    assert_int_equal(out[0], 22);
    assert_int_equal(next(x, 4, out), 4);
    assert_int_equal(out[0], 4);
    assert_int_equal(out[1], 7); /* the guess */
    assert_true(out[2] != 40 && out[3] != 40);
    kiln_arena_fini(&a);
}

static void same_seed_same_search(void **state) {
    enum { BATCH = 16, ROUNDS = 4 };
    kiln_arena a = {0};
    const subject *s = subject_of(&a, conv, NULL);
    uint64_t out[3][ROUNDS * BATCH];
    for (int k = 0; k < 3; k++) {
        kiln_search_options o = quick;
        o.seed = k < 2 ? 11 : 12;
        kiln_search *x = open_search(&a, *state, s, &o);
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t *batch = out[k] + round * BATCH;
            assert_int_equal(next(x, BATCH, batch), BATCH);
            for (int i = 0; i < BATCH; i++)
                report(x, batch[i], KILN_OUTCOME_MEASURED);
        }
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    if (strcmp(*state, "grid") != 0)
        assert_memory_not_equal(out[0], out[2], sizeof out[0]);
    kiln_arena_fini(&a);
}

/* ---- reports --------------------------------------------------------------------- */

static void best_is_the_fastest_measured(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const subject *s = subject_of(&a, relu, &picky);
    kiln_search *x = open_search(&a, "random", s, NULL);
    const kiln_trial trials[] = {{1, KILN_OUTCOME_WRONG, 0},
                                 {2, KILN_OUTCOME_MEASURED, 50},
                                 {4, KILN_OUTCOME_SLOW, 10},
                                 {5, KILN_OUTCOME_MEASURED, 40},
                                 {7, KILN_OUTCOME_MEASURED, 60},
                                 {5, KILN_OUTCOME_MEASURED, 55}}; /* measured again */
    kiln_trial best;
    assert_false(kiln_search_best(x, &best));
    for (int i = 0; i < 6; i++) {
        kiln_assert_status_ok(kiln_search_report(x, &trials[i], &err), &err);
        if (i == 4)
            assert_true(kiln_search_best(x, &best) && best.index == 5);
    }
    assert_true(kiln_search_best(x, &best));
    assert_true(best.index == 2 && best.cost_ns == 50);
    assert_int_equal(kiln_search_n_trials(x), 5);
    kiln_arena_fini(&a);
}

typedef struct refusal {
    const char *name;
    kiln_trial trial;
    const char *text;
} refusal;

static refusal refusals[] = {
    {"refuses_indexes_outside",
     {45, KILN_OUTCOME_WRONG, 0},
     "search: index 45 of a space of 45"},
    {"refuses_no_cost",
     {1, KILN_OUTCOME_MEASURED, 0},
     "a cost must be positive and finite, is 0 ns"},
    {"refuses_negative_costs",
     {1, KILN_OUTCOME_SLOW, -1},
     "a cost must be positive and finite, is -1 ns"},
    {"refuses_endless_costs",
     {1, KILN_OUTCOME_MEASURED, HUGE_VAL},
     "a cost must be positive and finite, is inf ns"},
};

static void check_refusal(void **state) {
    const refusal *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const subject *s = subject_of(&a, relu, &picky);
    kiln_search *x = open_search(&a, "random", s, NULL);
    kiln_assert_fails(kiln_search_report(x, &r->trial, &err), KILN_ERR_ARG, &err,
                      r->text);
    assert_int_equal(kiln_search_n_trials(x), 0);
    kiln_arena_fini(&a);
}

static void refuses_first_ones_outside(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *x;
    const uint64_t first = 45;
    const kiln_search_options o = {.first = &first, .n_first = 1};
    const subject *s = subject_of(&a, relu, &picky);
    kiln_assert_fails(kiln_search_new(&a, &kiln_search_random, &s->task, &o, &x, &err),
                      KILN_ERR_ARG, &err,
                      "a first configuration has index 45, the space has 45");
    kiln_arena_fini(&a);
}

/* ---- learning -------------------------------------------------------------------- */

/* Of programs that are the same, one is measured while there are others. */
static void measures_each_program_once(void **state) {
    (void)state;
    kiln_arena a = {0};
    const subject *s = subject_of(&a, relu, &picky);
    kiln_search *x = open_search(&a, "annealing", s, &quick);
    uint64_t out[WIDE];
    int seen[WIDE] = {0};
    assert_int_equal(next(x, WIDE, out), WIDE);
    for (int i = 0; i < WIDE; i++)
        seen[out[i] % WIDE]++;
    for (int i = 1; i < WIDE; i++)
        assert_int_equal(seen[i], 1);
    kiln_arena_fini(&a);
}

/* A cost that features tell: the more copies in the body, the faster. */
static double told_ns(kiln_candidates *c, uint64_t index) {
    const kiln_encoding *e = kiln_candidates_encoding(c, index);
    float body;
    kiln_buf name;
    kiln_buf_init(&name, kiln_test_arena());
    kiln_feature_name(&name, 4);
    assert_string_equal(name.p, "body");
    if (e == NULL)
        return 0;
    memcpy(&body, e->bytes.p + 4 * sizeof body, sizeof body);
    return 10 - (double)body;
}

/* With a global model the first batch is its choice, and so are predictions. */
static void knowledge_leads_the_first_batch(void **state) {
    (void)state;
    enum { N = 300, BATCH = 8 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_rng rng;
    const subject *s = subject_of(&a, conv, NULL);
    kiln_candidates *c = kiln_candidates_new(&a, &s->task, &kiln_cost_model_xgboost);
    kiln_cost_model global;
    kiln_sample_set set;
    kiln_trial t[N];
    double mean = 0, all = 0;
    kiln_rng_init(&rng, 1);
    for (int i = 0; i < N;) {
        const kiln_config x = kiln_config_random(&s->task.space, &rng);
        const uint64_t index = kiln_config_index(&s->task.space, &x);
        t[i] = (kiln_trial){index, KILN_OUTCOME_MEASURED, told_ns(c, index)};
        all += t[i].cost_ns / N;
        i += t[i].cost_ns > 0;
    }
    kiln_sample_set_init(&set, &a, true);
    kiln_sample_set_add(&set, c, t, N);
    const kiln_samples samples = kiln_sample_set_view(&set);
    kiln_assert_status_ok(
        kiln_cost_model_init(&global, &kiln_cost_model_xgboost, NULL, &err), &err);
    kiln_assert_status_ok(kiln_cost_model_fit(&global, &samples, &err), &err);
    kiln_search_options o = quick;
    o.global = &global;
    o.n_steps = 60;
    o.without_guess = true;
    o.epsilon = o.diversity = -1;
    kiln_search *x = open_search(&a, "annealing", s, &o);
    uint64_t out[BATCH];
    size_t n;
    kiln_assert_status_ok(kiln_search_predicted(x, 1, out, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_true(told_ns(c, out[0]) < 0.85 * all);
    assert_int_equal(next(x, BATCH, out), BATCH);
    for (size_t i = 0; i < BATCH; i++)
        mean += told_ns(c, out[i]) / BATCH;
    assert_true(mean < 0.85 * all);
    kiln_cost_model_fini(&global);
    kiln_arena_fini(&a);
}

/* Making programs is what proposals cost: no batch makes more than it may, and none is
 * made twice. */
static void batches_make_few_programs(void **state) {
    (void)state;
    enum { ROUNDS = 10, BATCH = 8, ALWAYS = 48, EACH = 12, LIMIT = 40, RANDOM = 8 };
    kiln_arena a = {0};
    const subject *s = subject_of(&a, conv, NULL);
    for (int k = 0; k < 2; k++) {
        kiln_search_options o = {.seed = 5, .model_options = {.own = "n_trees=5"}};
        o.n_fresh = k == 0 ? 0 : LIMIT;
        kiln_search *x = open_search(&a, "annealing", s, &o);
        const uint64_t most =
            (k == 0 ? ALWAYS + EACH * BATCH : LIMIT) + (RANDOM + 1) * BATCH;
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t out[BATCH];
            kiln_candidates *c = kiln_search_candidates(x);
            const kiln_candidates_stats before = kiln_candidates_count(c);
            assert_int_equal(next(x, BATCH, out), BATCH);
            const kiln_candidates_stats now = kiln_candidates_count(c);
            /* Random ones are drawn until the template takes one. */
            assert_true(now.lowered - before.lowered <=
                        most + now.refused - before.refused);
            for (int i = 0; i < BATCH; i++)
                report(x, out[i], KILN_OUTCOME_MEASURED);
            assert_int_equal(kiln_candidates_count(c).lowered, now.lowered);
        }
    }
    kiln_arena_fini(&a);
}

static void others_predict_nothing(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    uint64_t out[1];
    size_t n;
    const subject *s = subject_of(&a, relu, &picky);
    kiln_search *x = open_search(&a, "grid", s, NULL);
    kiln_assert_fails(kiln_search_predicted(x, 1, out, &n, &err), KILN_ERR_ARG, &err,
                      "search 'grid' has no model: it predicts nothing");
    kiln_arena_fini(&a);
}

/* What others taught is of use only to a model that reads the same bytes. */
static void refuses_another_kinds_knowledge(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *x;
    const kiln_cost_model global = {.kind = &kiln_cost_model_knobs};
    const kiln_search_options o = {.global = &global};
    const subject *s = subject_of(&a, relu, &picky);
    kiln_assert_fails(
        kiln_search_new(&a, &kiln_search_annealing, &s->task, &o, &x, &err),
        KILN_ERR_ARG, &err,
        "what is carried over is of cost model 'knobs', which does not read what "
        "'xgboost' does");
    kiln_arena_fini(&a);
}

/* From a database of other days: trials of what the template refuses now are trials,
 * but nothing is learned from them. */
static void learns_nothing_from_what_is_refused(void **state) {
    (void)state;
    kiln_arena a = {0};
    const subject *s = subject_of(&a, relu, &picky);
    kiln_search *x = open_search(&a, "annealing", s, &quick);
    uint64_t out[4];
    for (uint64_t i = 0; i < 8; i++)
        report(x, 3 * i, KILN_OUTCOME_MEASURED);
    assert_int_equal(kiln_search_n_trials(x), 8);
    assert_int_equal(next(x, 4, out), 4);
    for (int i = 0; i < 4; i++)
        assert_false(is_refused(out[i]));
    for (uint64_t i = 0; i < 8; i++)
        report(x, 3 * i + 1, KILN_OUTCOME_MEASURED);
    assert_int_equal(next(x, 4, out), 4);
    kiln_arena_fini(&a);
}

static void batches_grow(void **state) {
    (void)state;
    kiln_arena a = {0};
    const subject *s = subject_of(&a, conv, NULL);
    kiln_search *x = open_search(&a, "random", s, NULL);
    size_t last = 0;
    uint64_t out[64];
    for (int i = 0; i < 12; i++) {
        const size_t n = kiln_search_batch(x);
        assert_true(n >= 4 && n <= 32 && n >= last);
        last = n;
        assert_int_equal(next(x, n, out), n);
        for (size_t k = 0; k < n; k++)
            report(x, out[k], KILN_OUTCOME_MEASURED);
    }
    assert_true(last > 8);
    kiln_arena_fini(&a);
}

/* ---- parts ----------------------------------------------------------------------- */

/* Two knobs; scores fall slowly. Without weight the best; with it, those that bring new
 * options. */
static void diverse_batches_cover_options(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_space s;
    static const int64_t v[] = {1, 2, 3, 4};
    kiln_space_init(&s, &a);
    kiln_space_add_ints(&s, "x", "", v, 4);
    kiln_space_add_ints(&s, "y", "", v, 4);
    const kiln_scored pool[] = {/* index = x + 4 y */
                                {0, 1.0F},
                                {1, 0.95F},
                                {2, 0.9F},
                                {5, 0.85F},
                                {15, 0}};
    uint64_t out[5];
    assert_int_equal(kiln_pick_diverse(&a, &s, pool, 5, 0, 3, out), 3);
    assert_true(out[0] == 0 && out[1] == 1 && out[2] == 2);
    assert_int_equal(kiln_pick_diverse(&a, &s, pool, 5, 0.2, 3, out), 3);
    /* 0 first; 5 has both knobs new: 0.85 + 0.4 before 0.95 + 0.2; then 2 is new by x
     */
    assert_true(out[0] == 0 && out[1] == 5 && out[2] == 2);
    assert_int_equal(kiln_pick_diverse(&a, &s, pool, 5, 9, 2, out), 2);
    assert_true(out[0] == 0 && out[1] == 5);
    assert_int_equal(kiln_pick_diverse(&a, &s, pool, 5, 1, 9, out), 5);
    assert_int_equal(kiln_pick_diverse(&a, &s, pool, 0, 1, 9, out), 0);
    kiln_arena_fini(&a);
}

static void index_maps_keep_all(void **state) {
    (void)state;
    enum { N = 5000 };
    kiln_arena a = {0};
    kiln_index_map m = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    assert_null(kiln_index_map_get(&m, 0));
    for (uint32_t i = 0; i < N; i++)
        kiln_index_map_put(&a, &m, (uint64_t)i * UINT64_C(0x100000001), i);
    for (uint32_t i = 0; i < N; i += 2)
        kiln_index_map_put(&a, &m, (uint64_t)i * UINT64_C(0x100000001), i + 1);
    assert_int_equal(m.n, N);
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t *got =
            kiln_index_map_get(&m, (uint64_t)i * UINT64_C(0x100000001));
        assert_true(got != NULL && *got == (i % 2 == 0 ? i + 1 : i));
    }
    assert_null(kiln_index_map_get(&m, UINT64_MAX));
    kiln_arena_fini(&a);
}

static void tasks_name_what_does_not_fit(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const subject *s = subject_of(&a, relu, &picky);
    kiln_tune_task t;
    kiln_assert_fails(kiln_tune_task_make(&a, &s->work, &s->profile,
                                          &kiln_template_conv_direct, &t, &err),
                      KILN_ERR_ARG, &err,
                      "template 'conv_direct' does not take operator 'relu'");
    kiln_arena_fini(&a);
}

static void add_for_each_kind(const char *name, void (*check)(void **state)) {
    for (int i = 0; kiln_search_at(i) != NULL; i++) {
        const char *kind = kiln_search_at(i)->name;
        kiln_test_add(kiln_format(kiln_test_arena(), "%s_%s", kind, name), check,
                      kiln_str_dup(kiln_test_arena(), kind));
    }
}

int main(void) {
    add_for_each_kind("proposes_all_once", proposes_all_once);
    add_for_each_kind("proposes_what_templates_take", proposes_what_templates_take);
    add_for_each_kind("begins_with_what_is_known", begins_with_what_is_known);
    add_for_each_kind("same_seed_same_search", same_seed_same_search);
    kiln_test_add("best_is_the_fastest_measured", best_is_the_fastest_measured, NULL);
    kiln_test_add_rows(check_refusal, refusals);
    kiln_test_add("refuses_first_ones_outside", refuses_first_ones_outside, NULL);
    kiln_test_add("measures_each_program_once", measures_each_program_once, NULL);
    kiln_test_add("knowledge_leads_the_first_batch", knowledge_leads_the_first_batch,
                  NULL);
    kiln_test_add("batches_make_few_programs", batches_make_few_programs, NULL);
    kiln_test_add("others_predict_nothing", others_predict_nothing, NULL);
    kiln_test_add("refuses_another_kinds_knowledge", refuses_another_kinds_knowledge,
                  NULL);
    kiln_test_add("learns_nothing_from_what_is_refused",
                  learns_nothing_from_what_is_refused, NULL);
    kiln_test_add("batches_grow", batches_grow, NULL);
    kiln_test_add("diverse_batches_cover_options", diverse_batches_cover_options, NULL);
    kiln_test_add("index_maps_keep_all", index_maps_keep_all, NULL);
    kiln_test_add("tasks_name_what_does_not_fit", tasks_name_what_does_not_fit, NULL);
    return kiln_test_run("search");
}
