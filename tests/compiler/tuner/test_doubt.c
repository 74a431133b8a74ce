/* Models that know how unsure they are, what searches make of it, and what a model says
 * of its samples. */
#include "compiler/tuner/features.h"
#include "compiler/tuner/tuner_search_internal.h"
#include "compiler/tuner/tuner_transfer.h"

#include <math.h>
#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/kernel/sim_conv.h"

#define OK(call) kiln_assert_status_ok((call), &err)

static const kiln_sim_shape c6 = {"c6", 28, 128, 128, 3, 1},
                            c9 = {"c9", 14, 256, 256, 3, 1};

static kiln_samples samples_of(kiln_arena *a, const kiln_sim_shape *shape, size_t n,
                               uint64_t seed) {
    return kiln_sim_shape_samples(a, shape, &kiln_cost_model_bootstrap, n, seed, false);
}

static double mean_spread(const kiln_cost_model *m, const kiln_samples *s) {
    kiln_err err = {0};
    float *out = kiln_array(kiln_test_arena(), float, s->encoding.n);
    float *spread = kiln_array(kiln_test_arena(), float, s->encoding.n);
    double sum = 0;
    OK(kiln_cost_model_predict_spread(m, &s->encoding, NULL, out, spread, &err));
    for (size_t i = 0; i < s->encoding.n; i++) {
        assert_true(isfinite(out[i]) && spread[i] >= 0);
        sum += (double)spread[i];
    }
    return sum / (double)s->encoding.n;
}

static void fit(kiln_cost_model *m, const kiln_cost_model_kind *kind, const char *own,
                const kiln_samples *s) {
    kiln_err err = {0};
    const kiln_cost_model_options o = {
        .objective = KILN_OBJECTIVE_REGRESSION, .seed = 5, .own = own};
    OK(kiln_cost_model_init(m, kind, &o, &err));
    OK(kiln_cost_model_fit(m, s, &err));
}

/* Members agree where they have seen much, and less where they have not. */
static void doubt_falls_with_samples(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    const uint64_t seed = kiln_test_seed();
    const kiln_samples few = samples_of(a, &c6, 24, seed),
                       many = samples_of(a, &c6, 384, seed + 1),
                       others = samples_of(a, &c6, 128, seed + 2);
    kiln_cost_model m, better, alone;
    fit(&m, &kiln_cost_model_bootstrap, "n_members=8", &few);
    fit(&better, &kiln_cost_model_bootstrap, "n_members=8", &many);
    fit(&alone, &kiln_cost_model_xgboost, NULL, &few);
    assert_true(mean_spread(&better, &others) < 0.8 * mean_spread(&m, &others));
    assert_true(mean_spread(&m, &few) < mean_spread(&m, &others));
    assert_true(mean_spread(&alone, &others) <= 0); /* it cannot tell */
    kiln_cost_model_fini(&m);
    kiln_cost_model_fini(&better);
    kiln_cost_model_fini(&alone);
}

/* By Simpson's rule, where that has a number; in order where it has none. */
static void improvement_is_what_is_expected(void **state) {
    (void)state;
    for (int k = -8; k <= 6; k++)
        for (int power = -2; power <= 1; power++) {
            enum { N = 4000 };
            const double above = 0.5 * k, spread = ldexp(1, power);
            const double h = 20 * spread / N, root = sqrt(2 * acos(-1.0));
            double sum = 0;
            for (int i = 0; i <= N; i++) {
                const double z = -10 + 20.0 * i / N, x = above + spread * z;
                sum += (i == 0 || i == N ? 1
                        : i % 2 == 1     ? 4
                                         : 2) *
                       fmax(0, x) * exp(-z * z / 2) / (root * spread);
            }
            const double want = sum * h / 3;
            if (above / spread >= -6)
                assert_true(fabs(kiln_log_improvement(above, spread) - log(want)) <
                            1e-2);
        }
    for (int k = -800; k < -4; k++)
        assert_true(kiln_log_improvement(0.25 * k, 1) <
                    kiln_log_improvement(0.25 * (k + 1), 1));
    assert_true(kiln_log_improvement(-1, 0) < kiln_log_improvement(-100, 1));
    assert_true(fabs(kiln_log_improvement(2, 0) - log(2)) < 1e-12);
}

/* Each way of choosing proposes, and they do not all propose the same. */
static void searches_maximize_what_they_are_told(void **state) {
    (void)state;
    enum { N = 24 };
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_sim_conv *c = kiln_new(a, kiln_sim_conv);
    uint64_t index[3][N];
    kiln_sim_conv_make(a, &c9, c);
    for (int how = 0; how < 3; how++) {
        kiln_search *s = NULL;
        const kiln_search_options o = {.seed = 11,
                                       .most_spills = -1, /* nothing is built */
                                       .n_chains = 8,
                                       .n_steps = 20,
                                       .epsilon = -1,
                                       .model = &kiln_cost_model_bootstrap,
                                       .model_options = {.own = "n_trees=8"},
                                       .acquisition = (kiln_acquisition)how};
        OK(kiln_search_new(a, &kiln_search_annealing, &c->task, &o, &s, &err));
        for (int round = 0; round < 3; round++) {
            size_t n = 0;
            OK(kiln_search_next(s, N, index[how], &n, &err));
            assert_int_equal(n, N);
            for (size_t i = 0; i < n; i++) {
                const kiln_trial t = {index[how][i], KILN_OUTCOME_MEASURED,
                                      kiln_sim_conv_ns(c, index[how][i])};
                OK(kiln_search_report(s, &t, &err));
            }
        }
    }
    assert_memory_not_equal(index[0], index[1], sizeof index[0]);
    assert_memory_not_equal(index[0], index[2], sizeof index[0]);
    assert_memory_not_equal(index[1], index[2], sizeof index[1]);
}

/* ---- what a model says of its samples -------------------------------------------- */

static void models_say_what_they_were_fitted_to(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_samples x = samples_of(a, &c6, 40, 3), y = samples_of(a, &c6, 40, 4);
    for (int i = 0; i < 2; i++) {
        const kiln_cost_model_kind *kind =
            i == 0 ? &kiln_cost_model_xgboost : &kiln_cost_model_bootstrap;
        kiln_cost_model m, same, other, loaded;
        kiln_buf b;
        kiln_buf_init(&b, a);
        fit(&m, kind, "n_trees=4", &x);
        fit(&same, kind, "n_trees=9", &x);
        fit(&other, kind, "n_trees=4", &y);
        assert_int_equal(m.origin.n_samples, 40);
        assert_true(m.origin.held_out < 0);
        assert_string_equal(m.origin.samples, same.origin.samples);
        assert_string_not_equal(m.origin.samples, other.origin.samples);
        m.origin.held_out = 0.8125;
        OK(kiln_cost_model_save(&m, &b, &err));
        OK(kiln_cost_model_load(&loaded, kind, b.p, b.n, &err));
        assert_memory_equal(&loaded.origin, &m.origin, sizeof m.origin);
        kiln_cost_model_fini(&m);
        kiln_cost_model_fini(&same);
        kiln_cost_model_fini(&other);
        kiln_cost_model_fini(&loaded);
    }
}

static void samples_are_held_out(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    const kiln_samples many = samples_of(a, &c6, 400, kiln_test_seed()),
                       few = samples_of(a, &c6, 4, kiln_test_seed());
    kiln_hold_out learns, coin, none;
    OK(kiln_cost_model_hold_out(&kiln_cost_model_xgboost, NULL, &many, &learns, &err));
    OK(kiln_cost_model_hold_out(&kiln_cost_model_random, NULL, &many, &coin, &err));
    OK(kiln_cost_model_hold_out(&kiln_cost_model_xgboost, NULL, &few, &none, &err));
    assert_true(learns.accuracy >= 0.85 && learns.accuracy <= 1);
    assert_true(learns.recall >= 0.5 && learns.recall <= 1);
    assert_true(fabs(coin.accuracy - 0.5) <= 0.1 && coin.recall <= 0.5);
    assert_true(none.accuracy < 0 && none.recall < 0);
}

typedef struct damage {
    const char *name, *bytes, *text;
} damage;

static damage damages[] = {
    {"ensembles_of_one_are_refused", "members 1\n", "it must have 2 to 64 members"},
    {"ensembles_without_number_are_refused", "member 3\n", "2 to 64 members"},
    {"ensembles_that_end_are_refused", "members 2\n0 9\n", "a member is cut off"},
    {"members_without_size_are_refused", "members 2\n0.5 -3\nabc",
     "a member is cut off"},
    {"members_that_are_none_are_refused", "members 2\n0.5 3\nabc",
     "this is no saved cost model"},
};

static void check_damage(void **state) {
    const damage *d = *state;
    kiln_err err = {0};
    kiln_cost_model m = {0};
    kiln_buf b;
    char hex[KILN_SHA256_HEX];
    kiln_buf_init(&b, kiln_test_arena());
    kiln_sha256_of(d->bytes, strlen(d->bytes), hex);
    kiln_buf_printf(&b,
                    "kiln cost model 2\nkind bootstrap\nencoding %d\n"
                    "objective rank\nsha256 %s\n\n%s",
                    (int)KILN_FEATURE_VERSION, hex, d->bytes);
    kiln_assert_fails(
        kiln_cost_model_load(&m, &kiln_cost_model_bootstrap, b.p, b.n, &err),
        KILN_ERR_PARSE, &err, d->text);
    assert_null(m.kind);
}

static void options_are_for_members_too(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_cost_model m;
    const kiln_cost_model_options one = {.own = "n_trees=3 n_members=1"},
                                  bees = {.own = "n_members=3 n_bees=1"};
    kiln_assert_fails(kiln_cost_model_init(&m, &kiln_cost_model_bootstrap, &one, &err),
                      KILN_ERR_ARG, &err, "n_members must be 2 to 64, is 1");
    kiln_assert_fails(kiln_cost_model_init(&m, &kiln_cost_model_bootstrap, &bees, &err),
                      KILN_ERR_ARG, &err, "there is no option n_bees=1");
}

/* ---- what is near ---------------------------------------------------------------- */

static void nearer_lessons_count_more(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    static const kiln_sim_shape shape[] = {{"a", 28, 128, 128, 3, 1},
                                           {"b", 28, 128, 256, 3, 1},
                                           {"c", 14, 256, 512, 3, 1},
                                           {"d", 224, 4, 8, 7, 2}};
    kiln_setting s[4];
    for (int i = 0; i < 4; i++) {
        kiln_sim_conv *c = kiln_new(a, kiln_sim_conv);
        kiln_sim_conv_make(a, &shape[i], c);
        kiln_setting_of(&c->task, 1, &s[i]);
    }
    assert_true(kiln_nearness(&s[0], &s[0]) >= 1);
    for (int i = 1; i < 4; i++) {
        assert_true(kiln_nearness(&s[0], &s[i]) < kiln_nearness(&s[0], &s[i - 1]));
        assert_true(kiln_nearness(&s[0], &s[i]) >= 0.125);
        assert_true(kiln_nearness(&s[0], &s[i]) >= kiln_nearness(&s[i], &s[0]));
    }
    kiln_setting other = s[0];
    other.tmpl = "another";
    assert_true(kiln_nearness(&s[0], &other) < 1);
}

/* A lesson that weighs nothing beside another teaches next to nothing. */
static void weights_count(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    enum { N = 64 };
    const kiln_samples s = samples_of(a, &c6, N, kiln_test_seed());
    double cost[2][N];
    float out[2][N];
    size_t n_pairs = 0;
    for (int i = 0; i < N; i++) {
        cost[0][i] = 1 / fmax((double)s.score[i], 1e-3);
        cost[1][i] = 1 / cost[0][i]; /* the opposite */
    }
    for (int heavy = 0; heavy < 2; heavy++) {
        kiln_cost_model m;
        const kiln_lesson l[2] = {
            {0, s.encoding, cost[0], -1, heavy == 0 ? 1 : 0.01, NULL},
            {1, s.encoding, cost[1], -1, heavy == 1 ? 1 : 0.01, NULL}};
        OK(kiln_cost_model_init(&m, &kiln_cost_model_xgboost, NULL, &err));
        OK(kiln_lessons_fit(&m, l, 2, &err));
        OK(kiln_cost_model_predict(&m, &s.encoding, NULL, out[heavy], &err));
        assert_true(kiln_pairs_in_order(cost[heavy], out[heavy], N, &n_pairs) > 0.8);
        kiln_cost_model_fini(&m);
    }
}

/* What members say of one over another is free of what each thinks of the workload. */
static void members_compare_each_for_itself(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    enum { N = 96, OF = 7 };
    const kiln_samples few = samples_of(a, &c6, 32, kiln_test_seed()),
                       s = samples_of(a, &c9, N, kiln_test_seed() + 1);
    kiln_cost_model m = {.kind = NULL}, alone;
    float out[N], spread[N], score[N], doubt[N];
    double over = 0, apart = 0;
    OK(kiln_cost_model_init(&m, &kiln_cost_model_bootstrap, NULL, &err));
    OK(kiln_cost_model_predict_over(&m, &s.encoding, OF, out, spread, &err));
    for (int i = 0; i < N; i++) /* not fitted: all are equal, as far as it knows */
        assert_true(fabsf(out[i]) <= 0 && spread[i] <= 0);
    OK(kiln_cost_model_fit(&m, &few, &err));
    OK(kiln_cost_model_predict_over(&m, &s.encoding, OF, out, spread, &err));
    OK(kiln_cost_model_predict_spread(&m, &s.encoding, NULL, score, doubt, &err));
    assert_true(fabsf(out[OF]) <= 0 && spread[OF] <= 0);
    for (int i = 0; i < N; i++) {
        assert_true(fabsf(out[i] - (score[i] - score[OF])) <= 1e-4F);
        /* No difference is more in doubt than both together. */
        assert_true(spread[i] <= doubt[i] + doubt[OF] + 1e-4F);
        over += (double)spread[i];
        apart += hypot((double)doubt[i], (double)doubt[OF]);
    }
    assert_true(over > 0 && over < apart);
    fit(&alone, &kiln_cost_model_xgboost, NULL, &few);
    OK(kiln_cost_model_predict_over(&alone, &s.encoding, OF, out, spread, &err));
    for (int i = 0; i < N; i++)
        assert_true(spread[i] <= 0);
    kiln_cost_model_fini(&m);
    kiln_cost_model_fini(&alone);
}

int main(void) {
    kiln_test_add("doubt_falls_with_samples", doubt_falls_with_samples, NULL);
    kiln_test_add("improvement_is_what_is_expected", improvement_is_what_is_expected,
                  NULL);
    kiln_test_add("searches_maximize_what_they_are_told",
                  searches_maximize_what_they_are_told, NULL);
    kiln_test_add("models_say_what_they_were_fitted_to",
                  models_say_what_they_were_fitted_to, NULL);
    kiln_test_add("samples_are_held_out", samples_are_held_out, NULL);
    kiln_test_add_rows(check_damage, damages);
    kiln_test_add("options_are_for_members_too", options_are_for_members_too, NULL);
    kiln_test_add("nearer_lessons_count_more", nearer_lessons_count_more, NULL);
    kiln_test_add("weights_count", weights_count, NULL);
    kiln_test_add("members_compare_each_for_itself", members_compare_each_for_itself,
                  NULL);
    return kiln_test_run("doubt");
}
