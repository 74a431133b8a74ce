/* What lessons of some workloads say of others: pairs in order, what is held out, and
 * when that is enough. Encodings are made up: the model is one that reads them. */
#include "compiler/tuner/tuner_transfer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/kernel/sim_conv.h"

#define OK(call) kiln_assert_status_ok((call), &err)

static void pairs_that_are_near_are_in_no_order(void **state) {
    (void)state;
    static const double cost[] = {100, 104, 200, 0};
    static const float right[] = {4, 5, 2, 1}, wrong[] = {1, 2, 4, 5},
                       level[] = {1, 1, 1, 1};
    size_t n = 0;
    assert_true(kiln_pairs_in_order(cost, right, 4, &n) >= 1);
    assert_int_equal(n, 5); /* 100 and 104 are the sixth */
    assert_true(kiln_pairs_in_order(cost, wrong, 4, &n) <= 0);
    assert_true(kiln_pairs_in_order(cost, level, 4, &n) <= 0);
    assert_true(kiln_pairs_in_order(cost, right, 1, &n) <= 0);
    assert_int_equal(n, 0);
}

static const kiln_sim_shape shapes[] = {{"a", 56, 64, 64, 3, 1},
                                        {"b", 28, 128, 128, 3, 1},
                                        {"c", 14, 256, 256, 3, 1},
                                        {"d", 56, 64, 128, 3, 2},
                                        {"e", 28, 64, 64, 5, 1}};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0], TRIALS = 48 };

static void make_lessons(kiln_arena *a, kiln_lesson *out, uint64_t seed) {
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    for (int i = 0; i < N_SHAPES; i++) {
        kiln_sim_conv *c = kiln_new(a, kiln_sim_conv);
        kiln_encoding_list *list = kiln_new(a, kiln_encoding_list);
        double *cost = kiln_array(a, double, TRIALS);
        kiln_sim_conv_make(a, &shapes[i], c);
        kiln_candidates *made =
            kiln_candidates_new(a, &c->task, &kiln_cost_model_xgboost);
        const kiln_config guess =
            c->task.tmpl->guess(c->task.work, c->task.profile, &c->task.space);
        size_t n = 0;
        while (n < TRIALS) {
            const kiln_config x =
                n == 0 ? guess : kiln_config_random(&c->task.space, &rng);
            const uint64_t index = kiln_config_index(&c->task.space, &x);
            const kiln_encoding *e = kiln_candidates_encoding(made, index);
            if (e == NULL)
                continue;
            kiln_encoding_list_add(a, list, e->bytes);
            cost[n++] = kiln_sim_conv_ns(c, index);
        }
        out[i] = (kiln_lesson){.workload = (uint32_t)i,
                               .encoding = kiln_encoding_list_view(list),
                               .cost_ns = cost,
                               .rule = 0};
    }
}

static kiln_held_out score(const kiln_cost_model_kind *kind, const kiln_lesson *l,
                           size_t n) {
    kiln_err err = {0};
    kiln_held_out h;
    OK(kiln_held_out_score(kind, NULL, l, n, &h, &err));
    return h;
}

static void what_is_held_out_tells_models_apart(void **state) {
    (void)state;
    kiln_lesson l[N_SHAPES];
    make_lessons(kiln_test_arena(), l, kiln_test_seed());
    const kiln_held_out learns = score(&kiln_cost_model_xgboost, l, N_SHAPES);
    const kiln_held_out again = score(&kiln_cost_model_xgboost, l, N_SHAPES);
    const kiln_held_out coin = score(&kiln_cost_model_random, l, N_SHAPES);
    printf("xgboost %.3f, gain %.3f; random %.3f, gain %.3f\n", learns.accuracy,
           learns.gain, coin.accuracy, coin.gain);
    assert_int_equal(learns.n_workloads, N_SHAPES);
    assert_int_equal(learns.n_judged, N_SHAPES);
    assert_true(learns.accuracy >= 0.7);
    assert_true(fabs(coin.accuracy - 0.5) <= 0.1);
    assert_false(kiln_held_out_beats_rule(&coin));
    assert_true(fabs(learns.gain - again.gain) <= 0);
    assert_true(fabs(learns.accuracy - again.accuracy) <= 0);
}

/* Lessons of one workload on two machines are held out together: copies teach nothing
 * of each other. */
static void equal_work_is_on_one_side(void **state) {
    (void)state;
    kiln_lesson l[2 * N_SHAPES];
    make_lessons(kiln_test_arena(), l, kiln_test_seed());
    for (int i = 0; i < N_SHAPES; i++)
        l[N_SHAPES + i] = l[(i + 1) % N_SHAPES]; /* dealt into another fold */
    const kiln_held_out once = score(&kiln_cost_model_xgboost, l, N_SHAPES);
    const kiln_held_out together = score(&kiln_cost_model_xgboost, l, 2 * N_SHAPES);
    for (int i = 0; i < N_SHAPES; i++)
        l[N_SHAPES + i].workload = (uint32_t)(N_SHAPES + i);
    const kiln_held_out apart = score(&kiln_cost_model_xgboost, l, 2 * N_SHAPES);
    assert_int_equal(together.n_workloads, N_SHAPES);
    assert_int_equal(apart.n_workloads, 2 * N_SHAPES);
    printf("once %.3f, together %.3f, apart %.3f\n", once.accuracy, together.accuracy,
           apart.accuracy);
    assert_true(fabs(together.accuracy - once.accuracy) <= 0.05);
    assert_true(apart.accuracy >= together.accuracy + 0.05);
}

/* Works of which every candidate failed are dealt into no fold: a fold's others would be
 * nothing but those, and there would be nothing to learn from. */
static void where_nothing_ran_nothing_is_held_out(void **state) {
    (void)state;
    kiln_test_skip_repeat();
    kiln_lesson l[2 * N_SHAPES];
    static const double failed[TRIALS];
    make_lessons(kiln_test_arena(), l, kiln_test_seed());
    const kiln_held_out alone = score(&kiln_cost_model_bootstrap, l, N_SHAPES);
    for (int i = 0; i < N_SHAPES; i++) {
        l[N_SHAPES + i] = l[i];
        l[N_SHAPES + i].workload = (uint32_t)(N_SHAPES + i);
        l[N_SHAPES + i].cost_ns = failed;
    }
    const kiln_held_out among = score(&kiln_cost_model_bootstrap, l, 2 * N_SHAPES);
    assert_int_equal(among.n_workloads, N_SHAPES);
    assert_int_equal(among.n_judged, alone.n_judged);
    assert_true(fabs(among.accuracy - alone.accuracy) <= 0);
    for (int i = 1; i < N_SHAPES; i++) /* all but one */
        l[i].cost_ns = failed;
    const kiln_held_out one = score(&kiln_cost_model_bootstrap, l, 2 * N_SHAPES);
    assert_int_equal(one.n_workloads, 1);
    assert_int_equal(one.n_judged, 0);
    int label[N_SHAPES] = {0, 1, 1, 1, 1};
    kiln_err err = {0};
    kiln_held_apart apart;
    OK(kiln_held_apart_score(&kiln_cost_model_bootstrap, NULL, l, N_SHAPES, label, 0,
                             &apart, &err));
    assert_int_equal(apart.n_lessons, 0);
}

static void few_are_not_held_out(void **state) {
    (void)state;
    kiln_lesson l[N_SHAPES];
    make_lessons(kiln_test_arena(), l, kiln_test_seed());
    const kiln_held_out three = score(&kiln_cost_model_xgboost, l, 3);
    assert_int_equal(three.n_workloads, 3);
    assert_int_equal(three.n_judged, 0);
    assert_false(kiln_held_out_beats_rule(&three));
    assert_int_equal(score(&kiln_cost_model_xgboost, l, 0).n_workloads, 0);
}

static void enough_is_a_line(void **state) {
    (void)state;
    const kiln_held_out good = {4, 4, 0.65, 1.03, 0.97, 3, 0.5, {{NULL, 0}}, 0};
    kiln_held_out h = good;
    assert_true(kiln_held_out_beats_rule(&h));
    h.n_workloads = 3;
    assert_false(kiln_held_out_beats_rule(&h));
    h = good;
    h.accuracy = 0.64;
    assert_false(kiln_held_out_beats_rule(&h));
    h = good;
    h.gain = 1.02;
    assert_false(kiln_held_out_beats_rule(&h));
    h = good;
    h.worst = 0.96;
    assert_false(kiln_held_out_beats_rule(&h));
    h = good;
    h.n_taken = 2;
    assert_false(kiln_held_out_beats_rule(&h));
    h = good;
    h.margin = (double)INFINITY;
    assert_false(kiln_held_out_beats_rule(&h));
    h = good;
    h.accuracy = (double)NAN;
    assert_false(kiln_held_out_beats_rule(&h));
}

/* ---- what a build may take ------------------------------------------------------- */

/* Candidates that say themselves how much better they are, and how sure that is. */
static kiln_status said(const kiln_cost_model *m, const kiln_encodings *e, float *out,
                        kiln_err *err) {
    (void)m, (void)err;
    for (size_t i = 0; i < e->n; i++)
        memcpy(&out[i], kiln_encodings_at(e, i).p, sizeof *out);
    return KILN_OK;
}

static kiln_status said_over(const kiln_cost_model *m, const kiln_encodings *e,
                             size_t of, float *out, float *spread, kiln_err *err) {
    float zero;
    const kiln_status st = said(m, e, out, err);
    memcpy(&zero, kiln_encodings_at(e, of).p, sizeof zero);
    for (size_t i = 0; i < e->n; i++) {
        memcpy(&spread[i], kiln_encodings_at(e, i).p + sizeof zero, sizeof *spread);
        out[i] -= zero;
    }
    return st;
}

static const kiln_cost_model_kind says = {
    .name = "says", .predict = said, .predict_over = said_over};

typedef struct choice_row {
    const char *name;
    float score[3], spread[3];
    size_t rule, choice;
    double margin;
} choice_row;

static choice_row choice_rows[] = {
    {"all_agree", {1, 3, 2}, {0, 0.5F, 0}, 0, 1, 1},
    {"members_do_not", {1, 3, 2}, {0, 1.5F, 0}, 0, 1, -1},
    {"the_rule_is_best", {4, 3, 2}, {0, 0, 0}, 0, 0, 0},
    {"the_rule_is_last", {1, 3, 2}, {0.25F, 0.25F, 0}, 2, 1, 0.5},
};

static void a_choice_is_what_members_agree_on(void **state) {
    const choice_row *row = *state;
    kiln_err err = {0};
    kiln_encoding_list list = {.begin = {.n = 0}};
    const kiln_cost_model m = {.kind = &says, .is_fitted = true};
    size_t choice = 9;
    double margin = 9;
    for (int i = 0; i < 3; i++) {
        const float of[4] = {row->score[i], row->spread[i], 0, 0};
        kiln_encoding_list_add(kiln_test_arena(), &list,
                               (kiln_str){(const char *)of, sizeof of});
    }
    const kiln_encodings e = kiln_encoding_list_view(&list);
    OK(kiln_choose_over_rule(&m, &e, row->rule, &choice, &margin, &err));
    assert_int_equal(choice, row->choice);
    assert_true(fabs(margin - row->margin) < 1e-6);
}

int main(void) {
    kiln_test_add("pairs_that_are_near_are_in_no_order",
                  pairs_that_are_near_are_in_no_order, NULL);
    kiln_test_add("what_is_held_out_tells_models_apart",
                  what_is_held_out_tells_models_apart, NULL);
    kiln_test_add("equal_work_is_on_one_side", equal_work_is_on_one_side, NULL);
    kiln_test_add("where_nothing_ran_nothing_is_held_out",
                  where_nothing_ran_nothing_is_held_out, NULL);
    kiln_test_add("few_are_not_held_out", few_are_not_held_out, NULL);
    kiln_test_add("enough_is_a_line", enough_is_a_line, NULL);
    kiln_test_add_rows(a_choice_is_what_members_agree_on, choice_rows);
    return kiln_test_run("transfer");
}
