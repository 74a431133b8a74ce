/* Whole networks of the zoo, compiled with default configurations, at one thread and at
 * two: median time, GFLOP/s of their multiply-adds, share of the multiply-add peak, and
 * what takes longest. KILN_NETWORKS=a,b chooses; else the four that CI looks at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/network/network.h"
#include "tests/support/kiln_test.h"
#include "zoo/zoo.h"

enum { RUNS = 15, WORST = 8 };

static int by_value(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static double run_ms(kiln_session *s) {
    double ms[RUNS];
    for (int i = -3; i < RUNS; i++) {
        const int64_t begin = kiln_now_ns();
        assert_int_equal(kiln_session_run(s), 0);
        if (i >= 0)
            ms[i] = (double)(kiln_now_ns() - begin) * 1e-6;
    }
    qsort(ms, RUNS, sizeof ms[0], by_value);
    return ms[RUNS / 2];
}

static int slowest_first(const void *x, const void *y) {
    const kiln_step_info *a = x, *b = y;
    return a->nanoseconds > b->nanoseconds ? -1 : a->nanoseconds < b->nanoseconds;
}

static void print_worst(kiln_arena *a, kiln_session *s) {
    const int n = kiln_session_n_steps(s);
    kiln_step_info *step = kiln_array(a, kiln_step_info, n);
    kiln_session_profile(s, 1);
    for (int i = 0; i < RUNS; i++)
        assert_int_equal(kiln_session_run(s), 0);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        kiln_session_step(s, i, &step[i]);
        sum += (double)step[i].nanoseconds;
    }
    kiln_session_profile(s, 0);
    qsort(step, (size_t)n, sizeof *step, slowest_first);
    for (int i = 0; i < n && i < WORST; i++)
        printf("    %5.1f%%  %8.3f ms  %-10s %.90s\n",
               100 * (double)step[i].nanoseconds / sum,
               (double)step[i].nanoseconds * 1e-6 / RUNS, step[i].op, step[i].name);
}

static void measure(const char *name) {
    kiln_arena a;
    kiln_err err = {0};
    kiln_graph *g = NULL;
    kiln_profile p;
    kiln_network n;
    kiln_model *m = NULL;
    kiln_team team;
    kiln_meter meter;
    const kiln_zoo_network *z = NULL;
    kiln_arena_init(&a);
    kiln_assert_status_ok(kiln_zoo_find(name, &z, &err), &err);
    kiln_assert_status_ok(kiln_zoo_import(&a, z, 1, KILN_ZOO_FILLED, &g, &err), &err);
    kiln_assert_status_ok(kiln_graph_optimize(g, NULL, &err), &err);
    kiln_graph_renumber(g);
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    kiln_assert_status_ok(kiln_team_open(&a, 1, &team, &err), &err);
    kiln_assert_status_ok(kiln_meter_new(&a, &p, team, &meter, &err), &err);
    const int64_t begin = kiln_now_ns();
    kiln_assert_status_ok(kiln_network_compile(&a, g, &p, NULL, &n, &err), &err);
    printf("%s: compiled in %.1f s; %d steps, %zu kernels, %d conversions, %.2f MB of "
           "activations (bound %.2f)\n",
           name, (double)(kiln_now_ns() - begin) * 1e-9, n.n_steps, n.kernel.n,
           n.n_conversions, (double)n.arena_bytes * 1e-6, (double)n.lower_bound * 1e-6);
    kiln_assert_status_ok(kiln_network_open(&a, &n, &m, &err), &err);
    for (int threads = 1; threads <= 2; threads++) {
        char error[KILN_ERROR_TEXT];
        kiln_session *s =
            kiln_session_open(m, &(kiln_session_options){.n_threads = threads}, error);
        assert_non_null(s);
        for (size_t i = 0; i < g->inputs.n; i++)
            kiln_session_set_input(s, (int)i,
                                   kiln_ref_random(&a, &g->inputs.v[i]->type, i).data);
        const double before = kiln_meter_best(&meter, 5).gflops, ms = run_ms(s),
                     after = kiln_meter_best(&meter, 5).gflops;
        const double peak = before > after ? before : after;
        const double gflops = 2e-6 * (double)z->muladds / ms;
        printf("  %d threads: %.2f ms, %.1f GFLOP/s, %.1f%% of %d x %.1f\n", threads,
               ms, gflops, 100 * gflops / (peak * threads), threads, peak);
        if (threads == 1)
            print_worst(&a, s);
        kiln_session_close(s);
    }
    kiln_model_close(m);
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
