/* Cost models: do they learn, are they the same each time, what they save, what they
 * refuse to load. */
#include "compiler/tuner/tuner.h"

#include <math.h>
#include <string.h>

#include "compiler/tuner/model/rank.h"
#include "tests/support/kiln_test.h"
#include "tests/support/sim_conv.h"

/* Trials of random points on the paper machine. */
static kiln_samples samples_of(kiln_arena *a, const kiln_sim_shape *shape, size_t n,
                               uint64_t seed, bool relation_only) {
    kiln_rng rng;
    kiln_sim_conv *c = kiln_new(a, kiln_sim_conv);
    kiln_sample_set *set = kiln_new(a, kiln_sample_set);
    kiln_trial *t = kiln_array(a, kiln_trial, n);
    kiln_rng_init(&rng, seed);
    kiln_sim_conv_make(a, shape, c);
    for (size_t i = 0; i < n; i++) {
        const kiln_config x = kiln_config_random(&c->task.space, &rng);
        const uint64_t index = kiln_config_index(&c->task.space, &x);
        t[i] = (kiln_trial){index, KILN_OUTCOME_MEASURED, kiln_sim_conv_ns(c, index)};
    }
    kiln_sample_set_init(set, a, relation_only);
    kiln_sample_set_add(set, kiln_candidates_new(a, &c->task), t, n);
    return kiln_sample_set_view(set);
}

static const kiln_sim_shape c2 = {"c2", 56, 64, 64, 3, 1},
                            c6 = {"c6", 28, 128, 128, 3, 1},
                            c9 = {"c9", 14, 256, 256, 3, 1};

/* Of pairs whose scores differ by a twentieth, the part that is in the right order. */
static double right_pairs(const kiln_samples *s, const float *predicted) {
    double right = 0, all = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->n; j++)
            if (s->score[i] > s->score[j] + 0.05F) {
                all++;
                right += predicted[i] > predicted[j] ? 1 : 0;
            }
    assert_true(all > 100);
    return right / all;
}

static double accuracy(const kiln_cost_model *m, const kiln_samples *s) {
    float *out = kiln_array(kiln_test_arena(), float, s->n);
    kiln_err err = {0};
    kiln_assert_status_ok(
        kiln_cost_model_predict(m, s->features, s->n_features, s->n, NULL, out, &err),
        &err);
    return right_pairs(s, out);
}

typedef struct row {
    const char *name, *model;
    kiln_objective objective;
    double least, most; /* of the accuracy on points that it never saw */
} row;

static row rows[] = {
    {"xgboost_learns_by_rank", "xgboost", KILN_OBJECTIVE_RANK, 0.85, 1},
    {"xgboost_learns_by_regression", "xgboost", KILN_OBJECTIVE_REGRESSION, 0.85, 1},
    {"random_learns_nothing", "random", KILN_OBJECTIVE_RANK, 0.4, 0.6},
};

static void check_learning(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_cost_model m;
    const uint64_t seed = kiln_test_seed();
    const kiln_samples seen = samples_of(&a, &c6, 300, seed, false);
    const kiln_samples others = samples_of(&a, &c6, 200, seed + 1, false);
    const kiln_cost_model_options o = {.objective = r->objective, .seed = 7};
    kiln_cost_model_init(&m, kiln_cost_model_find(kiln_str_from(r->model)), &o);
    kiln_assert_status_ok(kiln_cost_model_fit(&m, &seen, &err), &err);
    const double got = accuracy(&m, &others);
    if (got < r->least || got > r->most)
        fail_msg("%.3f of the pairs are right, not %.2f to %.2f", got, r->least,
                 r->most);
    kiln_cost_model_fini(&m);
    kiln_arena_fini(&a);
}

/* What is learned of two convolutions helps with a third; margins are where a local
 * model starts. */
static void knowledge_carries_over(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_cost_model global, local;
    const uint64_t seed = kiln_test_seed();
    kiln_sample_set set;
    kiln_sample_set_init(&set, &a, true);
    const kiln_sim_shape *const shapes[] = {&c6, &c9};
    for (uint32_t g = 0; g < 2; g++) {
        const kiln_samples s = samples_of(&a, shapes[g], 300, seed + g, true);
        for (size_t i = 0; i < s.n * s.n_features; i++)
            kiln_vec_push(&a, &set.features, s.features[i]);
        for (size_t i = 0; i < s.n; i++) {
            kiln_vec_push(&a, &set.score, s.score[i]);
            kiln_vec_push(&a, &set.group, g);
        }
    }
    const kiln_samples both = kiln_sample_set_view(&set);
    kiln_samples few = samples_of(&a, &c2, 24, seed + 7, false);
    const kiln_samples others = samples_of(&a, &c2, 200, seed + 8, false);
    kiln_cost_model_init(&global, &kiln_cost_model_xgboost, NULL);
    kiln_assert_status_ok(kiln_cost_model_fit(&global, &both, &err), &err);
    assert_int_equal(global.n_features, kiln_n_relation_features());
    const double carried = accuracy(&global, &others);
    if (carried < 0.75)
        fail_msg("%.3f of the other convolution's pairs are right", carried);

    float base[200], out[200], alone[200];
    kiln_cost_model_init(&local, &kiln_cost_model_xgboost, NULL);
    kiln_assert_status_ok(kiln_cost_model_predict(&global, few.features, few.n_features,
                                                  few.n, NULL, base, &err),
                          &err);
    few.base = base;
    kiln_assert_status_ok(kiln_cost_model_fit(&local, &few, &err), &err);
    kiln_assert_status_ok(kiln_cost_model_predict(&global, others.features,
                                                  others.n_features, 200, NULL, base,
                                                  &err),
                          &err);
    kiln_assert_status_ok(kiln_cost_model_predict(&local, others.features,
                                                  others.n_features, 200, base, out,
                                                  &err),
                          &err);
    kiln_assert_status_ok(kiln_cost_model_predict(&local, others.features,
                                                  others.n_features, 200, NULL, alone,
                                                  &err),
                          &err);
    for (int i = 0; i < 200; i++)
        assert_true(out[i] == alone[i] + base[i]);
    assert_true(right_pairs(&others, out) > carried - 0.02);
    kiln_cost_model_fini(&global);
    kiln_cost_model_fini(&local);
    kiln_arena_fini(&a);
}

/* Central differences of the loss that rank.h states. */
static double loss_of(const kiln_samples *s, const float *f) {
    double sum = 0;
    for (size_t g = 0; g < s->n; g++)
        for (size_t i = 0; i < s->n; i++) {
            double n = 0;
            for (size_t k = 0; k < s->n; k++)
                n += s->group[k] == s->group[i];
            if (s->group[i] == s->group[g] && s->score[i] > s->score[g])
                sum += (double)(s->score[i] - s->score[g]) / n *
                       log(1 + exp((double)f[g] - (double)f[i]));
        }
    return sum;
}

static void gradient_is_the_loss_derivative(void **state) {
    (void)state;
    enum { N = 9 };
    const float score[N] = {1, 0.5F, 0.25F, 0.5F, 0, 1, 0.75F, 0, 1};
    const uint32_t group[N] = {0, 0, 0, 0, 0, 1, 1, 1, 2};
    float f[N] = {0.5F, -1, 2, 0.25F, 0, 3, 1, 1, 5}, gradient[N], hessian[N];
    const kiln_samples s = {.n = N, .score = score, .group = group};
    kiln_objective_gradient(kiln_test_arena(), KILN_OBJECTIVE_RANK, &s, f, gradient,
                            hessian);
    const float h = 0x1p-7F;
    for (int i = 0; i < N; i++) {
        const float at = f[i];
        const double here = loss_of(&s, f);
        f[i] = at + h;
        const double up = loss_of(&s, f);
        f[i] = at - h;
        const double down = loss_of(&s, f);
        f[i] = at;
        assert_true(fabs((up - down) / (2 * (double)h) - (double)gradient[i]) < 1e-4);
        assert_true(fabs((up - 2 * here + down) / ((double)h * (double)h) -
                         (double)hessian[i]) < 1e-4);
    }
    assert_true(gradient[8] == 0 && hessian[8] == 0); /* nothing to compare with */
    kiln_objective_gradient(kiln_test_arena(), KILN_OBJECTIVE_REGRESSION, &s, f,
                            gradient, hessian);
    assert_true(gradient[2] == 1.75F && hessian[2] == 1);
}

static void equal_samples_make_equal_trees(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_samples s = samples_of(&a, &c9, 100, 3, false);
    float out[2][100];
    for (int i = 0; i < 2; i++) {
        kiln_cost_model m;
        kiln_cost_model_init(&m, &kiln_cost_model_xgboost, NULL);
        kiln_assert_status_ok(kiln_cost_model_fit(&m, &s, &err), &err);
        kiln_assert_status_ok(kiln_cost_model_predict(&m, s.features, s.n_features, 100,
                                                      NULL, out[i], &err),
                              &err);
        kiln_cost_model_fini(&m);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    kiln_arena_fini(&a);
}

static void no_samples_are_refused(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_cost_model m;
    const kiln_samples none = {.n = 0};
    const float base[2] = {3, 4}, zero[2] = {0};
    float out[2];
    kiln_cost_model_init(&m, &kiln_cost_model_xgboost, NULL);
    kiln_assert_fails(kiln_cost_model_fit(&m, &none, &err), KILN_ERR_ARG, &err,
                      "cost model 'xgboost': no samples to learn from");
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    kiln_assert_fails(kiln_cost_model_save(&m, &b, &err), KILN_ERR_ARG, &err,
                      "nothing learned to save");
    kiln_assert_status_ok(kiln_cost_model_predict(&m, zero, 1, 2, base, out, &err),
                          &err);
    assert_true(out[0] == 3 && out[1] == 4);
    kiln_cost_model_fini(&m);
    kiln_cost_model_fini(&m);
}

/* ---- saved ----------------------------------------------------------------------- */

static kiln_buf saved(kiln_arena *a, const char *kind, const kiln_samples *s,
                      float *out) {
    kiln_err err = {0};
    kiln_cost_model m;
    kiln_buf b;
    const kiln_cost_model_options o = {.seed = 99};
    kiln_buf_init(&b, a);
    kiln_cost_model_init(&m, kiln_cost_model_find(kiln_str_from(kind)), &o);
    kiln_assert_status_ok(kiln_cost_model_fit(&m, s, &err), &err);
    kiln_assert_status_ok(
        kiln_cost_model_predict(&m, s->features, s->n_features, s->n, NULL, out, &err),
        &err);
    kiln_assert_status_ok(kiln_cost_model_save(&m, &b, &err), &err);
    kiln_cost_model_fini(&m);
    return b;
}

static void saved_models_say_the_same(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_samples s = samples_of(&a, &c6, 64, 5, true);
    float want[64], got[64];
    for (int i = 0; kiln_cost_model_at(i) != NULL; i++) {
        kiln_cost_model m;
        const kiln_buf b = saved(&a, kiln_cost_model_at(i)->name, &s, want);
        kiln_assert_status_ok(kiln_cost_model_load(&m, b.p, b.n, &err), &err);
        assert_ptr_equal(m.kind, kiln_cost_model_at(i));
        assert_int_equal(m.n_features, s.n_features);
        kiln_assert_status_ok(
            kiln_cost_model_predict(&m, s.features, s.n_features, 64, NULL, got, &err),
            &err);
        assert_memory_equal(got, want, sizeof want);
        kiln_cost_model_fini(&m);
    }
    kiln_arena_fini(&a);
}

typedef struct damage {
    const char *name;
    const char *from, *to; /* in the head; NULL: see cut */
    long cut;              /* bytes left; 0: all; negative: so many less */
    kiln_status want;
    const char *text;
} damage;

static damage damages[] = {
    {"refuses_what_is_no_model", "kiln cost", "some file", 0, KILN_ERR_PARSE,
     "this is no saved cost model"},
    {"refuses_nothing", NULL, NULL, 1, KILN_ERR_PARSE, "this is no saved cost model"},
    {"refuses_a_cut_head", NULL, NULL, 31, KILN_ERR_PARSE,
     "the line 'features' is missing"},
    {"refuses_a_cut_end", NULL, NULL, -1, KILN_ERR_PARSE, "it is damaged"},
    {"refuses_unknown_kinds", "xgboost", "xgbooze", 0, KILN_ERR_UNSUPPORTED,
     "its kind is not known here"},
    {"refuses_other_features", "features 1 ", "features 9 ", 0, KILN_ERR_UNSUPPORTED,
     "it reads features of version 9, these are of version 1; train it anew"},
    {"refuses_impossible_counts", "features 1 ", "features 1 9", 0, KILN_ERR_PARSE,
     "features; there are 1 to"},
    {"refuses_other_objectives", "objective rank", "objective tank", 0, KILN_ERR_PARSE,
     "'objective' must be rank or regression"},
    {"refuses_another_checksum", "sha256 ", "sha256 0", 0, KILN_ERR_PARSE,
     "it is damaged; its SHA-256 differs"},
};

static void check_damage(void **state) {
    const damage *d = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_cost_model m = {0};
    float out[32];
    const kiln_samples s = samples_of(&a, &c6, 32, 5, true);
    const kiln_buf whole = saved(&a, "xgboost", &s, out);
    kiln_buf b;
    kiln_buf_init(&b, &a);
    const char *at = d->from != NULL ? strstr(whole.p, d->from) : NULL;
    const size_t head = at != NULL ? (size_t)(at - whole.p) : 0;
    const size_t skip = at != NULL ? strlen(d->from) : 0;
    assert_true(d->from == NULL || at != NULL);
    kiln_buf_add(&b, whole.p, head);
    kiln_buf_puts(&b, d->to != NULL ? d->to : "");
    kiln_buf_add(&b, whole.p + head + skip, whole.n - head - skip);
    const size_t n = d->cut == 0  ? b.n
                     : d->cut > 0 ? (size_t)d->cut
                                  : b.n - (size_t)-d->cut;
    kiln_assert_fails(kiln_cost_model_load(&m, b.p, n, &err), d->want, &err, d->text);
    assert_null(m.kind);
    kiln_arena_fini(&a);
}

/* Bytes that XGBoost itself does not take, with a checksum that fits. */
static void library_errors_are_told(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_cost_model m = {0};
    kiln_buf b;
    char hex[KILN_SHA256_HEX];
    kiln_sha256_of("no trees", 8, hex);
    kiln_buf_init(&b, &a);
    kiln_buf_printf(&b,
                    "kiln cost model 1\nkind xgboost\nfeatures %d %zu\n"
                    "objective rank\nsha256 %s\n\nno trees",
                    (int)KILN_FEATURE_VERSION, kiln_n_relation_features(), hex);
    kiln_assert_fails(kiln_cost_model_load(&m, b.p, b.n, &err), KILN_ERR_LIB, &err,
                      "cost model 'xgboost': loading: ");
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check_learning, rows);
    kiln_test_add("knowledge_carries_over", knowledge_carries_over, NULL);
    kiln_test_add("gradient_is_the_loss_derivative", gradient_is_the_loss_derivative,
                  NULL);
    kiln_test_add("equal_samples_make_equal_trees", equal_samples_make_equal_trees,
                  NULL);
    kiln_test_add("no_samples_are_refused", no_samples_are_refused, NULL);
    kiln_test_add("saved_models_say_the_same", saved_models_say_the_same, NULL);
    kiln_test_add_rows(check_damage, damages);
    kiln_test_add("library_errors_are_told", library_errors_are_told, NULL);
    return kiln_test_run("cost_model");
}
