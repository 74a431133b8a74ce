/* What proposals cost the tuner: searches of C2, C6 and C9 of ResNet-18 by every template
 * that takes them, with costs that are made up, so that nothing is built or run. Prints,
 * of each, processor milliseconds for each trial (fits included), how many programs were
 * lowered for each, and the processor time of one lowering. A trial takes about 50 ms of
 * a quiet machine, of which proposals should take a tenth.
 *
 * KILN_TRIALS=128 of each search, KILN_OPS=C2,C9 to choose, KILN_FRESH=N programs that a
 * batch may make (-1: no limit, as it was before there was one). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pipeline/kernels/op_line.h"
#include "pipeline/tune/tune_internal.h"
#include "tests/support/measuring/env_of_bench.h"
#include "tests/support/kiln_test.h"

enum { TURN = 16 };
static const char *const ops[] = {"C2", "C6", "C9"};
enum { N_OPS = sizeof ops / sizeof *ops };

/* Smooth in the knobs, so that there is something to learn: each has an option that is
 * best, and the farther from it the slower. */
static double made_up_ns(const kiln_tune_task *t, uint64_t index) {
    const kiln_config c = kiln_config_at(&t->space, index);
    double ns = 1000;
    for (int k = 0; k < t->space.n; k++) {
        const int n = t->space.knob[k].n;
        const int best = (int)(kiln_hash64(&k, sizeof k, 3) % (uint64_t)n);
        ns *= 1 + 0.7 * abs(c.option[k] - best) / n;
    }
    return ns * (1 + 0.02 * (double)(kiln_hash64(&index, sizeof index, 5) % 100) / 100);
}

static double lowering_us(const kiln_tune_task *t) {
    enum { N = 200 };
    kiln_arena a = {0};
    kiln_rng rng;
    kiln_rng_init(&rng, 1);
    kiln_candidates *c = kiln_candidates_new(&a, t, &kiln_cost_model_xgboost);
    const double begin = kiln_bench_thread_s();
    for (int i = 0; i < N; i++) {
        const kiln_config x = kiln_config_random(&t->space, &rng);
        (void)kiln_candidates_encoding(c, kiln_config_index(&t->space, &x));
    }
    const double s = kiln_bench_thread_s() - begin;
    const double us = s * 1e6 / (double)kiln_candidates_count(c).lowered;
    kiln_arena_fini(&a);
    return us;
}

static void propose(const char *op, const kiln_tune_task *t, int n) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_search *s;
    int at = 0;
    double took = 0, best_ns = (double)INFINITY;
    const double us = lowering_us(t);
    const kiln_search_options o = {.seed = 1,
                                   .n_fresh = kiln_bench_number("KILN_FRESH", 0)};
    kiln_assert_status_ok(kiln_search_new(&a, &kiln_search_annealing, t, &o, &s, &err),
                          &err);
    while (at < n) {
        uint64_t index[TURN];
        size_t got, want = kiln_search_batch(s);
        want = want < TURN ? want : TURN;
        const double begin = kiln_bench_thread_s();
        kiln_assert_status_ok(kiln_search_next(s, want, index, &got, &err), &err);
        took += kiln_bench_thread_s() - begin;
        if (got == 0)
            break;
        for (size_t i = 0; i < got; i++, at++) {
            const kiln_trial x = {index[i], KILN_OUTCOME_MEASURED,
                                  made_up_ns(t, index[i])};
            best_ns = fmin(best_ns, x.cost_ns);
            kiln_assert_status_ok(kiln_search_report(s, &x, &err), &err);
        }
    }
    const kiln_candidates_stats c = kiln_candidates_count(kiln_search_candidates(s));
    printf("%-3s %-14s %.1e configurations: %6.2f ms a trial of %d, %5.1f programs "
           "lowered for each, %4.0f us one (%2.0f%% refused); best %.0f ns\n",
           op, t->tmpl->name, (double)t->space.size, took * 1e3 / at, at,
           (double)c.lowered / at, us, 100.0 * (double)c.refused / (double)c.lowered,
           best_ns);
    kiln_arena_fini(&a);
}

static void proposals(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_op_lines lines;
    kiln_profile profile;
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &profile, &err), &err);
    kiln_assert_status_ok(kiln_op_lines_read(a, "resnet18", &lines, &err), &err);
    for (size_t i = 0; i < lines.list.n; i++) {
        bool is_one = false;
        for (int k = 0; k < N_OPS; k++)
            is_one |= strcmp(ops[k], lines.list.v[i].name) == 0;
        if (!is_one || !kiln_bench_is_chosen(lines.list.v[i].name))
            continue;
        kiln_op_work *w = kiln_new(a, kiln_op_work);
        kiln_tune_templates all = {.n = 0};
        kiln_assert_status_ok(kiln_op_work_make(a, &lines.list.v[i], w, &err), &err);
        kiln_assert_status_ok(kiln_tune_templates_of(a, w, &profile, NULL, &all, &err),
                              &err);
        for (size_t k = 0; k < all.n; k++) {
            kiln_tune_task *t = kiln_new(a, kiln_tune_task);
            kiln_assert_status_ok(kiln_tune_space(a, w, &profile, all.v[k], t, &err),
                                  &err);
            propose(lines.list.v[i].name, t, kiln_bench_number("KILN_TRIALS", 128));
        }
    }
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    kiln_test_add("proposals", proposals, NULL);
    return kiln_test_run("propose");
}
