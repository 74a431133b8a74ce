/* A cost model that the compiler does not know: its encodings have as many bytes as it
 * likes, and everything that takes a model takes it. pipeline/tune/test_tune_made_up.c
 * tunes with it. */
#include "compiler/tuner/tuner.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/made_up/loop_model.h"
#include "tests/support/kernel/sim_conv.h"

static const kiln_sim_shape c2 = {"c2", 56, 64, 64, 3, 1},
                            c6 = {"c6", 28, 128, 128, 3, 1};

static kiln_sim_conv *conv_of(const kiln_sim_shape *shape) {
    kiln_sim_conv *c = kiln_new(kiln_test_arena(), kiln_sim_conv);
    kiln_sim_conv_make(kiln_test_arena(), shape, c);
    return c;
}

static kiln_samples samples_of(const kiln_sim_conv *c, size_t n, uint64_t seed) {
    return kiln_sim_conv_samples(kiln_test_arena(), c, &kiln_test_loop_model, n, seed,
                                 true);
}

static void fitted(kiln_cost_model *m, const kiln_samples *s) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_cost_model_init(m, &kiln_test_loop_model, NULL, &err),
                          &err);
    kiln_assert_status_ok(kiln_cost_model_fit(m, s, &err), &err);
}

static void encodings_have_their_own_lengths(void **state) {
    (void)state;
    const kiln_samples s = samples_of(conv_of(&c6), 200, kiln_test_seed());
    size_t least = SIZE_MAX, most = 0;
    assert_int_equal(s.encoding.n, 200);
    for (size_t i = 0; i < s.encoding.n; i++) {
        const size_t n = kiln_encodings_at(&s.encoding, i).n;
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    assert_true(least > 1 && least < most);
    const kiln_encodings tail = kiln_encodings_part(&s.encoding, 150, 50);
    for (size_t i = 0; i < 50; i++)
        assert_true(kiln_str_eq(kiln_encodings_at(&tail, i),
                                kiln_encodings_at(&s.encoding, 150 + i)));
}

/* Of pairs of another workload's points whose scores differ, more than half are in the
 * right order: it is a poor model, but it learns. */
static void it_learns(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    const kiln_samples seen = samples_of(conv_of(&c6), 300, seed);
    const kiln_samples other = samples_of(conv_of(&c2), 200, seed + 1);
    kiln_cost_model m;
    kiln_err err = {0};
    float out[200];
    double right = 0, all = 0;
    fitted(&m, &seen);
    kiln_assert_status_ok(kiln_cost_model_predict(&m, &other.encoding, NULL, out, &err),
                          &err);
    for (size_t i = 0; i < 200; i++)
        for (size_t k = 0; k < 200; k++)
            if (other.score[i] > other.score[k] + 0.05F) {
                all++;
                right += out[i] > out[k] ? 1 : 0;
            }
    printf("%.3f of %g pairs are right\n", right / all, all);
    assert_true(all > 100 && right / all > 0.55);
    kiln_cost_model_fini(&m);
}

static void it_is_saved(void **state) {
    (void)state;
    const kiln_samples s = samples_of(conv_of(&c6), 64, 5);
    kiln_cost_model m, again;
    kiln_err err = {0};
    kiln_buf b;
    float want[64], got[64];
    fitted(&m, &s);
    kiln_buf_init(&b, kiln_test_arena());
    kiln_assert_status_ok(kiln_cost_model_predict(&m, &s.encoding, NULL, want, &err),
                          &err);
    kiln_assert_status_ok(kiln_cost_model_save(&m, &b, &err), &err);
    assert_non_null(strstr(b.p, "kind loops\nencoding 7\n"));
    kiln_assert_status_ok(
        kiln_cost_model_load(&again, &kiln_test_loop_model, b.p, b.n, &err), &err);
    kiln_assert_status_ok(kiln_cost_model_predict(&again, &s.encoding, NULL, got, &err),
                          &err);
    assert_memory_equal(got, want, sizeof want);
    kiln_cost_model_fini(&again);
    kiln_assert_fails(
        kiln_cost_model_load(&again, &kiln_cost_model_xgboost, b.p, b.n, &err),
        KILN_ERR_UNSUPPORTED, &err, "it is no 'xgboost'");
    kiln_cost_model_fini(&m);
}

/* Annealing on it, led by what it learned of another workload: the same again for the
 * same seed, and nothing twice. */
static void it_leads_a_search(void **state) {
    (void)state;
    enum { BATCH = 16, ROUNDS = 4, N = BATCH * ROUNDS };
    const kiln_sim_conv *c = conv_of(&c2);
    const kiln_samples seen = samples_of(conv_of(&c6), 300, 3);
    kiln_cost_model global;
    kiln_err err = {0};
    uint64_t out[2][N];
    fitted(&global, &seen);
    const kiln_search_options o = {.seed = 11,
                                   .n_chains = 16,
                                   .n_steps = 20,
                                   .model = &kiln_test_loop_model,
                                   .model_options = {.own = "step=0.01"},
                                   .global = &global};
    for (int k = 0; k < 2; k++) {
        kiln_arena a = {0};
        kiln_search *s;
        kiln_assert_status_ok(
            kiln_search_new(&a, &kiln_search_annealing, &c->task, &o, &s, &err), &err);
        for (int at = 0; at < N; at += BATCH) {
            size_t n;
            kiln_assert_status_ok(kiln_search_next(s, BATCH, out[k] + at, &n, &err),
                                  &err);
            assert_int_equal(n, BATCH);
            for (int i = at; i < at + BATCH; i++) {
                const kiln_trial t = {out[k][i], KILN_OUTCOME_MEASURED,
                                      kiln_sim_conv_ns(c, out[k][i])};
                kiln_assert_status_ok(kiln_search_report(s, &t, &err), &err);
            }
        }
        kiln_arena_fini(&a);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i; k++)
            assert_true(out[0][i] != out[0][k]);
    kiln_cost_model_fini(&global);
}

int main(void) {
    kiln_test_add("encodings_have_their_own_lengths", encodings_have_their_own_lengths,
                  NULL);
    kiln_test_add("it_learns", it_learns, NULL);
    kiln_test_add("it_is_saved", it_is_saved, NULL);
    kiln_test_add("it_leads_a_search", it_leads_a_search, NULL);
    return kiln_test_run("made_up_model");
}
