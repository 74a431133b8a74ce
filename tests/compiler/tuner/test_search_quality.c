/* How many trials searches need, on the machine of sim_conv.h: no clock decides. */
#include "compiler/tuner/tuner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/kiln_test.h"
#include "tests/support/kernel/sim_conv.h"

enum { N_SHAPES = 5, N_SEEDS = 3, BATCH = 32, MAX_TRIALS = 768 };

static const kiln_sim_shape shapes[N_SHAPES] = {{"c2", 56, 64, 64, 3, 1},
                                                {"c4", 56, 64, 128, 3, 2},
                                                {"c6", 28, 128, 128, 3, 1},
                                                {"c9", 14, 256, 256, 3, 1},
                                                {"c12", 7, 512, 512, 3, 1}};

/* The best of many random points and of hill climbs from the best of them. */
static double best_known(const kiln_sim_conv *c, uint64_t seed) {
    enum { DRAWS = 20000, CLIMB = 20000 };
    kiln_rng rng;
    kiln_rng_init(&rng, seed);
    const kiln_space *s = &c->task.space;
    kiln_config best = kiln_config_random(s, &rng);
    double best_ns = kiln_sim_conv_ns(c, kiln_config_index(s, &best));
    for (int i = 0; i < DRAWS + CLIMB; i++) {
        const kiln_config x = i < DRAWS ? kiln_config_random(s, &rng)
                                        : kiln_config_neighbour(s, &best, &rng);
        const double ns = kiln_sim_conv_ns(c, kiln_config_index(s, &x));
        if (ns < best_ns) {
            best_ns = ns;
            best = x;
        }
    }
    return best_ns;
}

/* Trials until a cost is within 95% of the best known; MAX_TRIALS where none was. */
static int trials_to(const kiln_sim_conv *c, const kiln_search_kind *kind,
                     const kiln_search_options *o, double best_ns) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *s;
    int trials = 0;
    bool is_there = false;
    kiln_assert_status_ok(kiln_search_new(&a, kind, &c->task, o, &s, &err), &err);
    while (!is_there && trials < MAX_TRIALS) {
        uint64_t index[BATCH];
        size_t n;
        kiln_assert_status_ok(kiln_search_next(s, BATCH, index, &n, &err), &err);
        assert_int_equal(n, BATCH);
        for (size_t i = 0; i < n && !is_there; i++, trials++) {
            const kiln_trial t = {index[i], KILN_OUTCOME_MEASURED,
                                  kiln_sim_conv_ns(c, index[i])};
            kiln_assert_status_ok(kiln_search_report(s, &t, &err), &err);
            is_there = best_ns / t.cost_ns >= 0.95;
        }
    }
    kiln_arena_fini(&a);
    return trials;
}

/* Geometric mean over shapes and seeds of guided trials over random's. Annealing is
 * short and trees are few, so that debug builds take seconds. */
static void guided_needs_few(void **state) {
    (void)state;
    const uint64_t seed = kiln_test_seed();
    const int n_seeds = kiln_test_is_sanitized() ? 1 : N_SEEDS;
    double sum = 0;
    for (int i = 0; i < N_SHAPES; i++) {
        kiln_sim_conv *c = kiln_new(kiln_test_arena(), kiln_sim_conv);
        kiln_sim_conv_make(kiln_test_arena(), &shapes[i], c);
        assert_true(c->task.space.size >= 100000);
        const double best = best_known(c, seed);
        for (int k = 0; k < n_seeds; k++) {
            const kiln_search_options o = {.seed = seed + (uint64_t)k,
                                           .most_spills = -1, /* nothing is built */
                                           .n_chains = 16,
                                           .n_steps = 60,
                                           .model_options = {.own = "n_trees=30"},
                                           .without_guess = true};
            const int guided = trials_to(c, &kiln_search_annealing, &o, best);
            const int random = trials_to(c, &kiln_search_random, &o, best);
            printf("%-4s annealing %4d, random %4d\n", shapes[i].name, guided, random);
            sum += log((double)guided / random);
        }
    }
    const double ratio = exp(sum / (N_SHAPES * n_seeds));
    printf("annealing needs %.2f of random's trials\n", ratio);
    assert_true(ratio <= 0.6);
}

/* ---- what other workloads teach -------------------------------------------------- */

/* A model that carries over, of drawn trials of every shape but one. */
static void teach(kiln_cost_model *m, int but, uint64_t seed) {
    enum { TRIALS = 48 };
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_sample_set set;
    kiln_rng rng;
    const kiln_cost_model_options o = {.own = "n_trees=30"};
    kiln_rng_init(&rng, seed);
    kiln_sample_set_init(&set, &a, true);
    for (int i = 0; i < N_SHAPES; i++) {
        kiln_trial trial[TRIALS];
        kiln_sim_conv *c = kiln_new(&a, kiln_sim_conv);
        if (i == but)
            continue;
        kiln_sim_conv_make(&a, &shapes[i], c);
        for (int k = 0; k < TRIALS; k++) {
            const kiln_config x = kiln_config_random(&c->task.space, &rng);
            const uint64_t index = kiln_config_index(&c->task.space, &x);
            trial[k] =
                (kiln_trial){index, KILN_OUTCOME_MEASURED, kiln_sim_conv_ns(c, index)};
        }
        kiln_sample_set_add(&set,
                            kiln_candidates_new(&a, &c->task, &kiln_cost_model_xgboost),
                            trial, TRIALS);
    }
    const kiln_samples samples = kiln_sample_set_view(&set);
    kiln_assert_status_ok(kiln_cost_model_init(m, &kiln_cost_model_xgboost, &o, &err),
                          &err);
    kiln_assert_status_ok(kiln_cost_model_fit(m, &samples, &err), &err);
    kiln_arena_fini(&a);
}

/* A search that begins with what the other shapes taught needs fewer trials than one
 * that knows nothing; one with a model that learned nothing needs as many. KILN_SOAK:
 * all shapes. */
static void others_teach(void **state) {
    (void)state;
    kiln_test_skip_repeat();
    static const int taught_shapes[] = {0, 2, 1, 3, 4};
    const int n = getenv("KILN_SOAK") != NULL ? N_SHAPES : 2;
    const uint64_t seed = kiln_test_seed();
    const kiln_cost_model untaught = {.kind = &kiln_cost_model_xgboost};
    double sum = 0;
    for (int i = 0; i < n; i++) {
        const int at = taught_shapes[i];
        kiln_cost_model global;
        kiln_sim_conv *c = kiln_new(kiln_test_arena(), kiln_sim_conv);
        kiln_sim_conv_make(kiln_test_arena(), &shapes[at], c);
        const double best = best_known(c, seed);
        teach(&global, at, seed);
        for (uint64_t k = 0; k < N_SEEDS; k++) {
            kiln_search_options o = {.seed = seed + k,
                                     .most_spills = -1,
                                     .n_chains = 16,
                                     .n_steps = 60,
                                     .model_options = {.own = "n_trees=30"},
                                     .without_guess = true};
            const int alone = trials_to(c, &kiln_search_annealing, &o, best);
            o.global = &untaught;
            if (k == 0)
                assert_int_equal(trials_to(c, &kiln_search_annealing, &o, best), alone);
            o.global = &global;
            const int taught = trials_to(c, &kiln_search_annealing, &o, best);
            printf("%-4s alone %4d, taught %4d\n", shapes[at].name, alone, taught);
            sum += log((double)taught / alone);
        }
        kiln_cost_model_fini(&global);
    }
    const double ratio = exp(sum / (n * N_SEEDS));
    printf("taught by others a search needs %.2f of its trials alone\n", ratio);
    assert_true(ratio <= 0.8);
}

int main(void) {
    kiln_test_add("guided_needs_few", guided_needs_few, NULL);
    kiln_test_add("others_teach", others_teach, NULL);
    return kiln_test_run("search_quality");
}
