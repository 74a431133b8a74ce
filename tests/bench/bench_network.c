/* Whole networks of the zoo, compiled with default configurations, at one thread and at
 * two: median time of each, their ratio, share of the multiply-add peak measured
 * between the runs, and step by step how the second thread helps
 * beside what the counted work allows (kiln_program_spread). KILN_NETWORKS=a,b chooses;
 * else the four that CI looks at. Runs at one and two threads alternate: on a machine
 * that others use too, look at the minima. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/remote/remote.h"
#include "tests/support/kiln_test.h"
#include "zoo/zoo.h"
#include "compiler/reference/reference.h"
#include "compiler/pass/pass.h"

enum { ROUNDS = 40, WARM = 3, WORST = 12, THREADS = 2 };

typedef struct side {
    int session;
    double ms[ROUNDS], gflops[ROUNDS]; /* of runs; of the peak, beside them */
    double *step_ms;                   /* least of the rounds, by step */
} side;

static int by_value(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double at_quantile(const double *v, double q) {
    double sorted[ROUNDS];
    memcpy(sorted, v, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof sorted[0], by_value);
    return sorted[(size_t)(q * (ROUNDS - 1))];
}

static void open_side(kiln_arena *a, kiln_remote *r, int threads, size_t n_steps,
                      side *out) {
    kiln_err err = {0};
    size_t bytes;
    kiln_assert_status_ok(kiln_remote_session(r, threads, &out->session, &bytes, &err),
                          &err);
    out->step_ms = kiln_array(a, double, n_steps);
    for (size_t i = 0; i < n_steps; i++)
        out->step_ms[i] = 1e9;
}

static kiln_remote_turn take(kiln_remote *r, const side *s, kiln_remote_order o) {
    kiln_err err = {0};
    kiln_remote_turn turn;
    kiln_assert_status_ok(kiln_remote_take_turn(r, s->session, &o, &turn, &err), &err);
    return turn;
}

/* A run ahead of each that is timed wakes the threads. */
static void run_rounds(kiln_remote *r, side *sides) {
    for (int i = -WARM; i < ROUNDS; i++)
        for (int t = 0; t < THREADS; t++) {
            side *s = &sides[t];
            const kiln_remote_turn turn =
                take(r, s, (kiln_remote_order){.n_peaks = 1, .n_ahead = 1, .runs = 1});
            if (i >= 0) {
                s->ms[i] = turn.ms;
                s->gflops[i] = turn.peak.gflops;
            }
        }
    for (int i = 0; i < ROUNDS; i++)
        for (int t = 0; t < THREADS; t++) {
            const kiln_remote_turn turn =
                take(r, &sides[t],
                     (kiln_remote_order){.n_ahead = 1, .runs = 1, .has_steps = true});
            for (size_t k = 0; k < turn.n_steps; k++) {
                const double ms = (double)turn.step_ns[k] * 1e-6;
                if (ms < sides[t].step_ms[k])
                    sides[t].step_ms[k] = ms;
            }
        }
}

/* ---- step by step ---------------------------------------------------------------- */

typedef struct step {
    const char *name;
    double ms[THREADS];
    kiln_spread spread;
    const char *tmpl;
} step;

/* What the second thread should have saved and did not. */
static double lost(const step *s) { return s->ms[1] - s->ms[0] / 2; }

static int most_lost_first(const void *x, const void *y) {
    return (lost(x) < lost(y)) - (lost(x) > lost(y));
}

static void print_steps(kiln_arena *a, const kiln_network *n, const side *sides) {
    const char *all = getenv("KILN_STEPS");
    const size_t n_steps = n->step.n;
    step *s = kiln_array(a, step, n_steps);
    double sum[THREADS] = {0}, work = 0, longest = 0;
    for (size_t i = 0; i < n_steps; i++) {
        s[i].name = n->step.v[i].name;
        for (int t = 0; t < THREADS; t++)
            sum[t] += s[i].ms[t] = sides[t].step_ms[i];
        if (n->step.v[i].kernel < 0)
            continue;
        const kiln_network_kernel *k = &n->kernel.v[n->step.v[i].kernel];
        s[i].spread = k->spread;
        s[i].tmpl = k->tmpl;
        work += k->spread.work;
        longest += k->spread.longest;
    }
    qsort(s, n_steps, sizeof *s, most_lost_first);
    printf("  steps, least times: %.3f and %.3f ms, %.2f times as fast (counted work "
           "allows %.2f); most time lost on two threads:\n",
           sum[0], sum[1], sum[0] / sum[1], work / longest);
    for (size_t i = 0; i < n_steps && (all != NULL || i < WORST); i++) {
        printf("    %8.4f %8.4f ms  %4.2f of %4.2f  %6lld x%lld  %-11s %.90s\n",
               s[i].ms[0], s[i].ms[1], s[i].ms[0] / s[i].ms[1],
               s[i].spread.longest > 0 ? s[i].spread.work / s[i].spread.longest : 1,
               (long long)s[i].spread.iterations, (long long)s[i].spread.forks,
               s[i].tmpl != NULL ? s[i].tmpl : "-", s[i].name);
    }
}

static void measure(const char *name) {
    kiln_arena a;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_profile p;
    kiln_network n;
    kiln_remote *r = NULL;
    side sides[THREADS];
    const kiln_zoo_network *z = NULL;
    kiln_arena_init(&a);
    kiln_assert_status_ok(kiln_zoo_find(name, &z, &err), &err);
    kiln_assert_status_ok(kiln_zoo_import(&a, z, 1, KILN_ZOO_FILLED, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    const int64_t begin = kiln_now_ns();
    kiln_assert_status_ok(kiln_network_compile(&a, g, &p, NULL, &n, &err), &err);
    printf("%s: compiled in %.1f s; %d steps, %zu kernels, %d conversions, %.2f MB of "
           "activations (bound %.2f)\n",
           name, (double)(kiln_now_ns() - begin) * 1e-9, n.n_steps, n.kernel.n,
           n.n_conversions, (double)n.arena_bytes * 1e-6, (double)n.lower_bound * 1e-6);
    kiln_tensor *in = kiln_array(&a, kiln_tensor, g->inputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = kiln_ref_random(&a, &g->inputs.v[i]->type, i);
    kiln_assert_status_ok(
        kiln_remote_of_network(&a, &n, in, g->inputs.n, NULL, &r, &err), &err);
    for (int t = 0; t < THREADS; t++)
        open_side(&a, r, t + 1, n.step.n, &sides[t]);
    run_rounds(r, sides);
    for (int t = 0; t < THREADS; t++) {
        const double ms = at_quantile(sides[t].ms, 0.5);
        const double least = at_quantile(sides[t].ms, 0);
        const double peak = at_quantile(sides[t].gflops, 0.5);
        const double gflops = 2e-6 * (double)z->muladds / ms;
        printf(
            "  %d threads: median %.2f ms, least %.2f; %.1f GFLOP/s, %.1f%% of %.1f\n",
            t + 1, ms, least, gflops, 100 * gflops / peak, peak);
    }
    printf("  two threads: %.2f times as fast by medians, %.2f by minima\n",
           at_quantile(sides[0].ms, 0.5) / at_quantile(sides[1].ms, 0.5),
           at_quantile(sides[0].ms, 0) / at_quantile(sides[1].ms, 0));
    print_steps(&a, &n, sides);
    kiln_arena_fini(&a);
}

int main(void) {
    const char *chosen = getenv("KILN_NETWORKS");
    kiln_str rest = kiln_str_from(
        chosen != NULL ? chosen : "resnet18,mobilenet_v1,mobilenet_v2,resnet50");
    kiln_str name;
    while (kiln_str_cut(&rest, ',', &name))
        measure(kiln_str_dupv(kiln_test_arena(), name));
    return 0;
}
