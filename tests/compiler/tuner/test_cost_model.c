/* Cost models: do they learn, are they the same each time, what they save, what they
 * refuse to load. */
#include "compiler/tuner/tuner.h"

#include <math.h>
#include <string.h>

#include "compiler/tuner/features.h"
#include "compiler/tuner/model/rank.h"
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/sim_conv.h"

static kiln_samples samples_of(kiln_arena *a, const kiln_sim_shape *shape, size_t n,
                               uint64_t seed, bool carries_over) {
    return kiln_sim_shape_samples(a, shape, &kiln_cost_model_xgboost, n, seed,
                                  carries_over);
}

static const kiln_sim_shape c2 = {"c2", 56, 64, 64, 3, 1},
                            c6 = {"c6", 28, 128, 128, 3, 1},
                            c9 = {"c9", 14, 256, 256, 3, 1};

/* Of pairs whose scores differ by a twentieth, the part that is in the right order. */
static double right_pairs(const kiln_samples *s, const float *predicted) {
    double right = 0, all = 0;
    const size_t n = s->encoding.n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (s->score[i] > s->score[j] + 0.05F) {
                all++;
                right += predicted[i] > predicted[j] ? 1 : 0;
            }
    assert_true(all > 100);
    return right / all;
}

static void predict(const kiln_cost_model *m, const kiln_samples *s, const float *base,
                    float *out) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_cost_model_predict(m, &s->encoding, base, out, &err),
                          &err);
}

static double accuracy(const kiln_cost_model *m, const kiln_samples *s) {
    float *out = kiln_array(kiln_test_arena(), float, s->encoding.n);
    predict(m, s, NULL, out);
    return right_pairs(s, out);
}

static void make(kiln_cost_model *m, const char *kind, const char *own) {
    kiln_err err = {0};
    const kiln_cost_model_options o = {.seed = 99, .own = own};
    kiln_assert_status_ok(
        kiln_cost_model_init(m, kiln_cost_model_find(kiln_str_from(kind)), &o, &err),
        &err);
}

typedef struct row {
    const char *name, *model;
    kiln_objective objective;
    double least, most; /* of the accuracy on points that it never saw */
} row;

static row rows[] = {
    {"xgboost_learns_by_rank", "xgboost", KILN_OBJECTIVE_RANK, 0.85, 1},
    {"xgboost_learns_by_regression", "xgboost", KILN_OBJECTIVE_REGRESSION, 0.85, 1},
    {"bootstrap_learns_by_rank", "bootstrap", KILN_OBJECTIVE_RANK, 0.85, 1},
    {"bootstrap_learns_by_regression", "bootstrap", KILN_OBJECTIVE_REGRESSION, 0.85, 1},
    {"treegru_learns_by_rank", "treegru", KILN_OBJECTIVE_RANK, 0.85, 1},
    {"treegru_learns_by_regression", "treegru", KILN_OBJECTIVE_REGRESSION, 0.85, 1},
    {"knobs_learn_by_rank", "knobs", KILN_OBJECTIVE_RANK, 0.75, 1},
    {"random_learns_nothing", "random", KILN_OBJECTIVE_RANK, 0.4, 0.6},
};

static void check_learning(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_cost_model m;
    const uint64_t seed = kiln_test_seed();
    const kiln_cost_model_kind *kind = kiln_cost_model_find(kiln_str_from(r->model));
    const kiln_samples seen = kiln_sim_shape_samples(&a, &c6, kind, 300, seed, false);
    const kiln_samples others =
        kiln_sim_shape_samples(&a, &c6, kind, 200, seed + 1, false);
    const kiln_cost_model_options o = {.objective = r->objective, .seed = 7};
    kiln_assert_status_ok(kiln_cost_model_init(&m, kind, &o, &err), &err);
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
        for (size_t i = 0; i < s.encoding.n; i++) {
            kiln_encoding_list_add(&a, &set.encoding,
                                   kiln_encodings_at(&s.encoding, i));
            kiln_vec_push(&a, &set.score, s.score[i]);
            kiln_vec_push(&a, &set.group, g);
        }
    }
    const kiln_samples both = kiln_sample_set_view(&set);
    kiln_samples few = samples_of(&a, &c2, 24, seed + 7, false);
    const kiln_samples others = samples_of(&a, &c2, 200, seed + 8, false);
    make(&global, "xgboost", NULL);
    kiln_assert_status_ok(kiln_cost_model_fit(&global, &both, &err), &err);
    const double carried = accuracy(&global, &others);
    if (carried < 0.75)
        fail_msg("%.3f of the other convolution's pairs are right", carried);

    float base[200], out[200], alone[200];
    make(&local, "xgboost", NULL);
    predict(&global, &few, NULL, base);
    few.base = base;
    kiln_assert_status_ok(kiln_cost_model_fit(&local, &few, &err), &err);
    predict(&global, &others, NULL, base);
    predict(&local, &others, base, out);
    predict(&local, &others, NULL, alone);
    for (int i = 0; i < 200; i++)
        assert_true(out[i] == alone[i] + base[i]);
    assert_true(right_pairs(&others, out) > carried - 0.02);
    kiln_cost_model_fini(&global);
    kiln_cost_model_fini(&local);
    kiln_arena_fini(&a);
}

/* What belongs to one workload alone, a model that is carried over does not read. */
static void what_carries_over_reads_no_context(void **state) {
    (void)state;
    enum { N = 100 };
    kiln_arena a = {0};
    kiln_err err = {0};
    const kiln_samples s = samples_of(&a, &c6, N, 5, true);
    const size_t bytes = kiln_n_features() * sizeof(float);
    const size_t first = kiln_n_relation_features() * sizeof(float);
    kiln_encoding_list other = {.begin = {0}};
    for (size_t i = 0; i < N; i++) {
        const kiln_str x = kiln_encodings_at(&s.encoding, i);
        char *copy = kiln_arena_dup(&a, x.p, x.n);
        memset(copy + first, 0, bytes - first);
        kiln_encoding_list_add(&a, &other, (kiln_str){copy, bytes});
    }
    kiln_samples blank = s;
    blank.encoding = kiln_encoding_list_view(&other);
    for (int carries = 0; carries < 2; carries++) {
        kiln_cost_model m;
        float want[N], got[N];
        kiln_samples seen = s;
        seen.carries_over = carries != 0;
        make(&m, "xgboost", NULL);
        kiln_assert_status_ok(kiln_cost_model_fit(&m, &seen, &err), &err);
        predict(&m, &s, NULL, want);
        predict(&m, &blank, NULL, got);
        if (carries != 0)
            assert_memory_equal(got, want, sizeof want);
        else
            assert_memory_not_equal(got, want, sizeof want);
        kiln_cost_model_fini(&m);
    }
    kiln_arena_fini(&a);
}

/* Central differences of the loss that rank.h states. */
static double loss_of(const kiln_samples *s, const float *f) {
    double sum = 0;
    const size_t all = s->encoding.n;
    for (size_t g = 0; g < all; g++)
        for (size_t i = 0; i < all; i++) {
            double n = 0;
            for (size_t k = 0; k < all; k++)
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
    const kiln_samples s = {.encoding = {.n = N}, .score = score, .group = group};
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
    float out[3][100];
    static const char *const own[] = {NULL, NULL, "n_trees=7 max_depth=3"};
    for (int i = 0; i < 3; i++) {
        kiln_cost_model m;
        make(&m, "xgboost", own[i]);
        kiln_assert_status_ok(kiln_cost_model_fit(&m, &s, &err), &err);
        predict(&m, &s, NULL, out[i]);
        kiln_cost_model_fini(&m);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    assert_memory_not_equal(out[0], out[2], sizeof out[0]);
    kiln_arena_fini(&a);
}

typedef struct bad_option {
    const char *name, *kind, *own, *text;
} bad_option;

static bad_option bad_options[] = {
    {"refuses_unknown_options", "xgboost", "n_trees=5 n_bees=3",
     "cost model 'xgboost': there is no option n_bees=3; there are n_trees (1 to "
     "10000)"},
    {"refuses_no_trees", "xgboost", "n_trees=0", "there is no option n_trees=0"},
    {"refuses_parts_of_levels", "xgboost", "max_depth=1.5",
     "there is no option max_depth=1.5"},
    {"refuses_steps_that_overshoot", "xgboost", "learning_rate=2",
     "there is no option learning_rate=2"},
    {"refuses_parts_of_epochs", "treegru", "n_epochs=1.5",
     "cost model 'treegru': there is no option n_epochs=1.5; there are n_epochs (1 to "
     "10000) and learning_rate (above 0, at most 1)"},
    {"refuses_to_stand_still", "treegru", "n_epochs=2 learning_rate=0",
     "there is no option learning_rate=0"},
    {"refuses_words", "xgboost", "n_trees", "an option is NAME=NUMBER, not 'n_trees'"},
    {"refuses_no_numbers", "xgboost", " n_trees=many",
     "an option is NAME=NUMBER, not 'n_trees=many'"},
    {"refuses_options_of_what_has_none", "random", "n_trees=5",
     "cost model 'random': it has no options; there is no n_trees=5"},
};

static void check_bad_option(void **state) {
    const bad_option *b = *state;
    kiln_err err = {0};
    kiln_cost_model m;
    const kiln_cost_model_options o = {.own = b->own};
    kiln_assert_fails(kiln_cost_model_init(
                          &m, kiln_cost_model_find(kiln_str_from(b->kind)), &o, &err),
                      KILN_ERR_ARG, &err, b->text);
    assert_null(m.kind);
}

static void no_samples_are_refused(void **state) {
    (void)state;
    kiln_err err = {0};
    kiln_cost_model m;
    const kiln_samples none = {.encoding = {.n = 0}};
    const size_t begin[3] = {0, 4, 8};
    const kiln_samples two = {.encoding = {2, "12345678", begin}};
    const float base[2] = {3, 4};
    float out[2];
    make(&m, "xgboost", NULL);
    kiln_assert_fails(kiln_cost_model_fit(&m, &none, &err), KILN_ERR_ARG, &err,
                      "cost model 'xgboost': no samples to learn from");
    kiln_buf b;
    kiln_buf_init(&b, kiln_test_arena());
    kiln_assert_fails(kiln_cost_model_save(&m, &b, &err), KILN_ERR_ARG, &err,
                      "nothing learned to save");
    predict(&m, &two, base, out);
    assert_true(out[0] == 3 && out[1] == 4);
    predict(&m, &two, NULL, out);
    assert_true(out[0] == 0 && out[1] == 0);
    kiln_cost_model_fini(&m);
    kiln_cost_model_fini(&m);
}

/* ---- saved ----------------------------------------------------------------------- */

static kiln_buf saved(kiln_arena *a, const char *kind, const kiln_samples *s,
                      float *out) {
    kiln_err err = {0};
    kiln_cost_model m;
    kiln_buf b;
    kiln_buf_init(&b, a);
    make(&m, kind, NULL);
    kiln_assert_status_ok(kiln_cost_model_fit(&m, s, &err), &err);
    predict(&m, s, NULL, out);
    kiln_assert_status_ok(kiln_cost_model_save(&m, &b, &err), &err);
    kiln_cost_model_fini(&m);
    return b;
}

static void saved_models_say_the_same(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    float want[64], got[64];
    for (int i = 0; kiln_cost_model_at(i) != NULL; i++) {
        kiln_cost_model m;
        const kiln_cost_model_kind *kind = kiln_cost_model_at(i);
        const kiln_samples s = kiln_sim_shape_samples(&a, &c6, kind, 64, 5, true);
        const kiln_buf b = saved(&a, kind->name, &s, want);
        kiln_assert_status_ok(kiln_cost_model_load(&m, kind, b.p, b.n, &err), &err);
        assert_ptr_equal(m.kind, kind);
        predict(&m, &s, NULL, got);
        assert_memory_equal(got, want, sizeof want);
        kiln_cost_model_fini(&m);
    }
    kiln_arena_fini(&a);
}

/* Databases hold models of the first version, whose head counted features, and of the
 * second, which did not say what they were fitted to. */
static void models_of_older_versions_are_read(void **state) {
    const bool is_first = *state == NULL;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_cost_model m;
    float want[64], got[64];
    const kiln_samples s = samples_of(&a, &c6, 64, 5, true);
    const kiln_buf now = saved(&a, "xgboost", &s, want);
    kiln_str rest = kiln_buf_str(&now), line;
    kiln_buf old;
    kiln_buf_init(&old, &a);
    if (is_first)
        kiln_buf_printf(&old, "kiln cost model 1\nkind xgboost\nfeatures %d %zu\n",
                        (int)KILN_FEATURE_VERSION, kiln_n_relation_features());
    else
        kiln_buf_printf(&old, "kiln cost model 2\nkind xgboost\nencoding %d\n",
                        (int)KILN_FEATURE_VERSION);
    kiln_buf_puts(&old, "objective rank\n");
    for (int i = 0; i < 6; i++)
        assert_true(kiln_str_cut(&rest, '\n', &line));
    assert_true(kiln_str_starts(line, "held_out "));
    kiln_buf_add(&old, rest.p, rest.n);
    kiln_assert_status_ok(
        kiln_cost_model_load(&m, &kiln_cost_model_xgboost, old.p, old.n, &err), &err);
    predict(&m, &s, NULL, got);
    assert_memory_equal(got, want, sizeof want);
    assert_true(m.origin.held_out < 0 && m.origin.samples[0] == '\0');
    kiln_cost_model_fini(&m);
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
     "the line 'encoding' is missing"},
    {"refuses_a_cut_end", NULL, NULL, -1, KILN_ERR_PARSE, "it is damaged"},
    {"refuses_other_kinds", "xgboost", "xgbooze", 0, KILN_ERR_UNSUPPORTED,
     "it is no 'xgboost'; train it anew"},
    {"refuses_other_encodings", "encoding 1\n", "encoding 9\n", 0, KILN_ERR_UNSUPPORTED,
     "it reads encodings of version 9, these are of version 1; train it anew"},
    {"refuses_no_versions", "encoding 1\n", "encoding x\n", 0, KILN_ERR_PARSE,
     "its encoding must be a number"},
    {"refuses_other_objectives", "objective rank", "objective tank", 0, KILN_ERR_PARSE,
     "'objective' must be rank or regression"},
    {"refuses_no_samples", "samples 32 ", "samples ", 0, KILN_ERR_PARSE,
     "it does not say what it was fitted to"},
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
    kiln_assert_fails(kiln_cost_model_load(&m, &kiln_cost_model_xgboost, b.p, n, &err),
                      d->want, &err, d->text);
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
                    "kiln cost model 2\nkind xgboost\nencoding %d\n"
                    "objective rank\nsha256 %s\n\nno trees",
                    (int)KILN_FEATURE_VERSION, hex);
    kiln_assert_fails(
        kiln_cost_model_load(&m, &kiln_cost_model_xgboost, b.p, b.n, &err),
        KILN_ERR_LIB, &err, "cost model 'xgboost': loading: ");
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(check_learning, rows);
    kiln_test_add("knowledge_carries_over", knowledge_carries_over, NULL);
    kiln_test_add("gradient_is_the_loss_derivative", gradient_is_the_loss_derivative,
                  NULL);
    kiln_test_add("equal_samples_make_equal_trees", equal_samples_make_equal_trees,
                  NULL);
    kiln_test_add("what_carries_over_reads_no_context",
                  what_carries_over_reads_no_context, NULL);
    kiln_test_add_rows(check_bad_option, bad_options);
    kiln_test_add("no_samples_are_refused", no_samples_are_refused, NULL);
    kiln_test_add("saved_models_say_the_same", saved_models_say_the_same, NULL);
    kiln_test_add("models_of_the_first_version_are_read",
                  models_of_older_versions_are_read, NULL);
    kiln_test_add("models_of_the_second_version_are_read",
                  models_of_older_versions_are_read, &(int){2});
    kiln_test_add_rows(check_damage, damages);
    kiln_test_add("library_errors_are_told", library_errors_are_told, NULL);
    return kiln_test_run("cost_model");
}
