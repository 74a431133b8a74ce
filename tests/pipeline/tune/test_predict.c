/* Configurations for work that nobody measured: when the model of all work is asked, what
 * it is worth, and when it is not. Nothing is measured here: times are those of the
 * machine of sim_conv.h, but with fewer registers than the rule counts on. */
#include "pipeline/tune/transfer_internal.h"
#include "tests/support/database/db_make.h"
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/sim_conv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define OK(call) kiln_assert_status_ok((call), &err)

enum { N_TUNED = 6, N_NEW = 3, TRIALS = 64, FEW = 24 };

/* Such as the direct template takes by rule. */
static const kiln_sim_shape tuned[N_TUNED] = {
    {"a", 56, 32, 64, 3, 2}, {"b", 28, 64, 128, 3, 2}, {"c", 14, 128, 256, 3, 2},
    {"d", 56, 32, 64, 5, 2}, {"e", 28, 64, 128, 5, 2}, {"f", 56, 64, 128, 3, 2},
};
static const kiln_sim_shape new_ones[N_NEW] = {
    {"x", 56, 64, 64, 5, 2}, {"y", 28, 32, 128, 3, 2}, {"z", 14, 64, 256, 3, 2}};

/* A work, and the paper machine's opinion of it. */
typedef struct subject {
    kiln_op_work work;
    kiln_sim_conv sim;
} subject;

static subject *subject_of(const kiln_sim_shape *s) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_op_line line;
    kiln_tune_task t;
    subject *out = kiln_new(a, subject);
    const char *text =
        kiln_format(a, "conv %s h=%d ic=%d oc=%d k=%d s=%d", s->name, (int)s->h,
                    (int)s->ic, (int)s->oc, (int)s->k, (int)s->s);
    OK(kiln_op_line_of(a, text, &line, &err));
    OK(kiln_op_work_make(a, &line, &out->work, &err));
    kiln_sim_conv_make(a, s, &out->sim);
    out->sim.profile.numerics = KILN_NUMERICS_STRICT; /* conv_direct alone */
    OK(kiln_tune_task_make(a, &out->work.workload, &out->sim.profile, NULL, &t, &err));
    assert_ptr_equal(t.tmpl, &kiln_template_conv_direct);
    assert_int_equal(t.space.size, out->sim.task.space.size);
    return out;
}

static int64_t part_of(const subject *s, const kiln_config *c, int part) {
    const kiln_space *space = &s->sim.task.space;
    for (int k = 0; k < space->n; k++)
        if (strcmp(space->knob[k].name, "tile") == 0)
            return kiln_config_int(space, c, k, part);
    fail_msg("there is no knob 'tile'");
    return 0;
}

/* Register tiles above these are spilled. */
static double cost_ns(const subject *s, uint64_t index) {
    enum { REGISTERS = 12 };
    const kiln_config c = kiln_config_at(&s->sim.task.space, index);
    const double tile =
        (double)(part_of(s, &c, 0) * part_of(s, &c, 1) * part_of(s, &c, 2));
    return kiln_sim_conv_ns(&s->sim, index) *
           (tile > REGISTERS ? 1 + (tile - REGISTERS) / REGISTERS : 1);
}

static double noise_ns(uint64_t index) {
    return 1000 + (double)(kiln_hash64(&index, sizeof index, 7) % 1000);
}

static void record(kiln_db *db, const subject *s, int threads, uint64_t index,
                   double ns) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    int64_t id = 0;
    const kiln_db_task task =
        kiln_tune_task_of(a, &s->work, &s->sim.profile, threads, KILN_TUNE_CACHE);
    const kiln_db_trial t = {
        .candidate = {"conv_direct", kiln_tune_index_text(a, &s->sim.task, index)},
        .layouts = "some",
        .sample_ns = &ns,
        .n_samples = 1,
        .proof = "{\"seeds\": 3, \"worst\": 0.25}",
        .owner = "test",
        .kiln = "0.0",
        .time_ms = 1000};
    OK(kiln_db_task_id(db, &task, &id, &err));
    OK(kiln_db_record(db, id, &t, NULL, &err));
}

/* Of the work itself: its weights are constant, the paper machine's are not. */
static uint64_t rule_of(const subject *s) {
    const kiln_tune_task *t = &s->sim.task;
    const kiln_config c = t->tmpl->guess(&s->work.workload, t->profile, &t->space);
    return kiln_config_index(&t->space, &c);
}

/* As a search leaves them: the rule, random ones, and neighbours of the best. */
static void fill(kiln_db *db, const subject *s, int n, kiln_rng *rng, bool is_noise) {
    const kiln_space *space = &s->sim.task.space;
    kiln_config best = kiln_config_at(space, rule_of(s));
    double best_ns = (double)INFINITY;
    for (int k = 0; k < n; k++) {
        const kiln_config c = k == 0       ? best
                              : k % 4 == 1 ? kiln_config_random(space, rng)
                                           : kiln_config_neighbour(space, &best, rng);
        const uint64_t index = kiln_config_index(space, &c);
        const double ns = is_noise ? noise_ns(index) : cost_ns(s, index);
        record(db, s, 1, index, ns);
        if (ns < best_ns) {
            best = c;
            best_ns = ns;
        }
    }
}

/* Until the program ends: */
static kiln_arena for_all;
static kiln_db *db_for_all; /* NULL: nobody asked yet */
static kiln_db *four;       /* of works, and a model of them, for the last tests */

/* Enough to learn something from. */
static kiln_db *filled(int n, bool is_noise) {
    kiln_err err = {0};
    kiln_db *db = NULL;
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    OK(kiln_db_open(&for_all, ":memory:", NULL, &db, &err));
    for (int i = 0; i < n; i++)
        fill(db, subject_of(&tuned[i]), FEW, &rng, is_noise);
    return db;
}

/* One for all tests that need several works; the last of them adds to it. */
static kiln_db *shared(void) {
    kiln_err err = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, kiln_test_seed());
    if (db_for_all != NULL)
        return db_for_all;
    OK(kiln_db_open(&for_all, ":memory:", NULL, &db_for_all, &err));
    for (int i = 0; i < N_TUNED; i++)
        fill(db_for_all, subject_of(&tuned[i]), TRIALS, &rng, false);
    return db_for_all;
}

static const kiln_tune_transfer *renewed(kiln_db *db) {
    kiln_err err = {0};
    const kiln_tune_transfer *t = NULL;
    OK(kiln_tune_transfer_renew(kiln_test_arena(), db, &kiln_cost_model_xgboost, &t,
                                &err));
    return t;
}

static const kiln_tune_transfer *opened(kiln_db *db) {
    kiln_err err = {0};
    const kiln_tune_transfer *t = NULL;
    OK(kiln_tune_transfer_open(kiln_test_arena(), db, &kiln_cost_model_xgboost, &t,
                               &err));
    return t;
}

/* As a build asks. */
static kiln_choice chosen(kiln_db *db, const kiln_tune_transfer *t, const subject *s,
                          int threads, int *n_predicted) {
    kiln_err err = {0};
    kiln_choice c;
    kiln_tune_advice advice = {
        .db = db, .transfer = t, .threads = threads, .arena = kiln_test_arena()};
    const kiln_oracle oracle = kiln_tune_oracle(&advice);
    const kiln_choose_options o = {.oracle = &oracle};
    OK(kiln_choose(kiln_test_arena(), &s->work, &s->sim.profile, &o, &c, &err));
    if (n_predicted != NULL)
        *n_predicted = advice.n_predicted;
    return c;
}

static uint64_t index_of(const kiln_choice *c) {
    return kiln_config_index(&c->space, &c->config);
}

/* ---- worth ----------------------------------------------------------------------- */

static void predicted_is_better_than_the_rule(void **state) {
    (void)state;
    kiln_db *db = shared();
    const kiln_tune_transfer *t = renewed(db);
    double sum = 0;
    int n = 0;
    assert_non_null(t);
    printf("held out: %.2f of pairs, gain %.3f for %d of %d, margin %.2f\n",
           t->held_out.accuracy, t->held_out.gain, t->held_out.n_taken,
           t->held_out.n_judged, kiln_held_out_margin_of(&t->held_out, "conv_direct"));
    assert_int_equal(t->held_out.n_workloads, N_TUNED);
    assert_int_equal(t->held_out.n_judged, N_TUNED);
    assert_true(kiln_held_out_beats_rule(&t->held_out));
    for (int i = 0; i < N_NEW; i++) {
        const subject *s = subject_of(&new_ones[i]);
        int n_predicted = 0;
        const kiln_choice c = chosen(db, t, s, 1, &n_predicted);
        const kiln_choice again = chosen(db, t, s, 1, NULL);
        const double rule_ns = cost_ns(s, rule_of(s));
        const double ns = cost_ns(s, index_of(&c));
        printf("%s: %s, %.0f ns, rule %.0f\n", s->work.name, kiln_origin_name(c.origin),
               ns, rule_ns);
        assert_int_equal(n_predicted, c.origin == KILN_ORIGIN_PREDICTED);
        assert_int_equal(index_of(&c), index_of(&again));
        n += n_predicted;
        sum += log(ns / rule_ns);
    }
    assert_true(n >= 2);
    assert_true(exp(sum / N_NEW) <= 0.95);
}

/* The stored one says the same, and is fitted anew where there is more only. */
static void a_stored_model_says_the_same(void **state) {
    (void)state;
    kiln_db *db = shared();
    const subject *s = subject_of(&new_ones[1]);
    const kiln_tune_transfer *made = renewed(db), *stored = opened(db);
    assert_non_null(stored);
    assert_string_equal(stored->sha256, made->sha256);
    assert_ptr_equal(stored->model.kind, &kiln_cost_model_bootstrap);
    assert_true(fabs(stored->model.origin.held_out - made->held_out.accuracy) < 1e-9);
    assert_true(stored->seen.n >= N_TUNED);
    assert_true(fabs(stored->held_out.gain - made->held_out.gain) < 1e-9);
    const kiln_choice x = chosen(db, made, s, 1, NULL),
                      y = chosen(db, stored, s, 1, NULL);
    assert_int_equal(index_of(&x), index_of(&y));
    assert_int_equal(x.origin, y.origin);
    assert_string_equal(renewed(db)->sha256, made->sha256);
}

/* ---- when it is not asked -------------------------------------------------------- */

/* Measured for this very work, then for work like it, then predicted, then the rule.
 * After that, what the stored model was fitted to tells that it is stale. */
static void what_was_measured_comes_first(void **state) {
    (void)state;
    kiln_db *db = shared();
    const kiln_tune_transfer *t = renewed(db);
    const subject *s = subject_of(&new_ones[0]);
    const uint64_t rule = rule_of(s);
    assert_int_equal(chosen(db, NULL, s, 1, NULL).origin, KILN_ORIGIN_GUESS);
    assert_int_equal(chosen(db, t, s, 1, NULL).origin, KILN_ORIGIN_PREDICTED);
    record(db, s, 2, rule, 1000); /* with other threads */
    assert_int_equal(chosen(db, t, s, 1, NULL).origin, KILN_ORIGIN_TRANSFERRED);
    record(db, s, 1, rule, 1000);
    assert_int_equal(chosen(db, t, s, 1, NULL).origin, KILN_ORIGIN_TIMED);
    assert_string_equal(opened(db)->sha256, t->sha256);
    assert_string_not_equal(renewed(db)->sha256, t->sha256);
    assert_string_not_equal(opened(db)->sha256, t->sha256);
}

static void far_work_has_its_rule(void **state) {
    (void)state;
    static const kiln_sim_shape far = {"far", 28, 1024, 64, 5, 2};
    static const char near_text[] = "t x86_64/64/32 1 fast conv f32: 1 64 28 28",
                      other[] = "t x86_64/64/32 2 fast conv f32: 1 64 28 28",
                      twice[] = "t x86_64/64/32 1 fast conv f32: 1 128 14 28",
                      shorter[] = "t x86_64/64/32 1 fast conv f32: 1 64 28";
    const char *seen[] = {near_text};
    const kiln_tune_texts one = {.v = seen, .n = 1};
    kiln_db *db = shared();
    const kiln_tune_transfer *t = renewed(db);
    assert_int_equal(chosen(db, t, subject_of(&far), 1, NULL).origin,
                     KILN_ORIGIN_GUESS);
    assert_int_equal(chosen(db, t, subject_of(&new_ones[0]), 2, NULL).origin,
                     KILN_ORIGIN_GUESS);
    assert_true(kiln_tune_distance(&one, near_text) <= 0);
    assert_true(fabs(kiln_tune_distance(&one, twice) - 1) < 1e-9);
    assert_true(isinf(kiln_tune_distance(&one, other)));
    assert_true(isinf(kiln_tune_distance(&one, shorter)));
}

/* What cannot be learned is not believed: times that are noise. */
static void a_model_of_noise_chooses_nothing(void **state) {
    (void)state;
    kiln_db *db = filled(N_TUNED, true);
    const kiln_tune_transfer *t = renewed(db);
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    assert_non_null(t);
    assert_false(kiln_held_out_beats_rule(&t->held_out));
    assert_int_equal(chosen(db, t, subject_of(&new_ones[0]), 1, NULL).origin,
                     KILN_ORIGIN_GUESS);
    kiln_tune_transfer_text(&text, t);
    assert_non_null(strstr(text.p, "not enough to choose for builds"));
    kiln_db_close(db);
}

static void few_works_teach_nothing(void **state) {
    (void)state;
    kiln_db *db = filled(3, false);
    assert_null(renewed(db));
    assert_null(opened(db));
    kiln_db_close(db);
}

/* What a search on a new profile, or with other threads, begins with. */
static void searches_begin_with_it(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_cost_model m = {.kind = NULL};
    kiln_db *db = four = filled(4, false);
    assert_false(kiln_tune_transfer_take(db, &kiln_cost_model_xgboost, &m));
    const kiln_tune_transfer *t = renewed(db);
    assert_true(kiln_tune_transfer_take(db, &kiln_cost_model_xgboost, &m));
    assert_true(m.is_fitted);
    const subject *s = subject_of(&new_ones[0]);
    kiln_candidates *c = kiln_candidates_new(kiln_test_arena(), &s->sim.task, m.kind);
    kiln_encoding_list list = {.begin = {.n = 0}};
    float x, y;
    kiln_encoding_list_add(kiln_test_arena(), &list,
                           kiln_candidates_encoding(c, rule_of(s))->bytes);
    const kiln_encodings e = kiln_encoding_list_view(&list);
    OK(kiln_cost_model_predict(&m, &e, NULL, &x, &err));
    OK(kiln_cost_model_predict(&t->model, &e, NULL, &y, &err));
    assert_true(fabsf(x - y) <= 0);
    kiln_cost_model_fini(&m);
}

/* A run's own work is left out; the others come by how near they are, and weigh so. */
static void near_work_teaches_runs(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_tune_lessons l;
    const subject *s = subject_of(&tuned[1]), *x = subject_of(&new_ones[1]);
    const kiln_db_task task = kiln_tune_task_of(kiln_test_arena(), &s->work,
                                                &s->sim.profile, 1, KILN_TUNE_CACHE);
    kiln_setting setting[2];
    int64_t own[2] = {0, -1};
    OK(kiln_db_task_id(four, &task, &own[0], &err));
    kiln_setting_of(&s->sim.task, 1, &setting[0]);
    kiln_setting_of(&x->sim.task, 1, &setting[1]);
    for (size_t most = 1; most <= 9; most += 8) {
        const kiln_tune_pupils p = {setting, own, 2};
        OK(kiln_tune_lessons_near(kiln_test_arena(), four, &kiln_cost_model_bootstrap,
                                  &p, most, &l, &err));
        assert_int_equal(l.list.n, most < 3 ? most : 3); /* of four, but its own */
        for (size_t i = 0; i < l.list.n; i++) {
            assert_true(l.list.v[i].weight > 0 && l.list.v[i].weight < 1);
            assert_true(i == 0 || l.list.v[i].weight <= l.list.v[i - 1].weight);
            assert_true(l.list.v[i].encoding.n >= 4 && l.list.v[i].rule >= 0);
        }
    }
    const kiln_tune_pupils stranger = {setting, (int64_t[]){-1}, 1};
    OK(kiln_tune_lessons_near(kiln_test_arena(), four, &kiln_cost_model_bootstrap,
                              &stranger, 9, &l, &err));
    assert_int_equal(l.list.n, 4);
    assert_true(l.list.v[0].weight >= 1); /* the same work, on another's account */
}

/* ---- models that do not fit ------------------------------------------------------ */

static void others_are_refused(void **state) {
    (void)state;
    kiln_err err = {0};
    const kiln_tune_transfer *t = NULL;
    kiln_db *db = four;
    assert_non_null(opened(db));
    kiln_test_db_run(db, "UPDATE model SET feature_version = feature_version + 1");
    assert_null(opened(db)); /* of other features */
    assert_int_equal(chosen(db, opened(db), subject_of(&new_ones[0]), 1, NULL).origin,
                     KILN_ORIGIN_GUESS);
    kiln_test_db_run(db, "UPDATE model SET feature_version = feature_version - 1");
    assert_non_null(opened(db));
    kiln_test_db_run(db, "UPDATE model SET bytes = x'6b696c6e0a'");
    kiln_assert_fails(kiln_tune_transfer_open(kiln_test_arena(), db,
                                              &kiln_cost_model_xgboost, &t, &err),
                      KILN_ERR_PARSE, &err, "'kiln db learn' makes it anew");
    assert_non_null(renewed(db)); /* and so it does */
    assert_non_null(opened(db));
    kiln_db_close(db);
}

int main(void) {
    kiln_test_add("predicted_is_better_than_the_rule",
                  predicted_is_better_than_the_rule, NULL);
    kiln_test_add("far_work_has_its_rule", far_work_has_its_rule, NULL);
    kiln_test_add("a_stored_model_says_the_same", a_stored_model_says_the_same, NULL);
    kiln_test_add("what_was_measured_comes_first", what_was_measured_comes_first, NULL);
    kiln_test_add("a_model_of_noise_chooses_nothing", a_model_of_noise_chooses_nothing,
                  NULL);
    kiln_test_add("few_works_teach_nothing", few_works_teach_nothing, NULL);
    kiln_test_add("searches_begin_with_it", searches_begin_with_it, NULL);
    kiln_test_add("near_work_teaches_runs", near_work_teaches_runs, NULL);
    kiln_test_add("others_are_refused", others_are_refused, NULL);
    const int failed = kiln_test_run("predict");
    kiln_db_close(db_for_all);
    kiln_db_close(four);
    kiln_arena_fini(&for_all);
    return failed;
}
