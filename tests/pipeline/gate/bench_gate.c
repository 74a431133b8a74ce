/* The gate on a living machine: an archive against itself must never fail, and one
 * that is slower by about five percent must always. The slower one calls a step of its
 * plan twice: that step whose share of the time is nearest to KILN_GATE_SLOWER.
 *
 *   KILN_GATE_MODEL    zoo:mobilenet_v1     KILN_GATE_RUNS     of each kind, 10
 *   KILN_GATE_THREADS  1                    KILN_GATE_SECONDS  of each process, 0.1
 *   KILN_GATE_SLOWER   0.05                 KILN_GATE_ONLY     same or slower: one kind
 */
#include "pipeline/gate/gate.h"
#include "tests/support/kiln_test.h"
#include "tests/support/package/package_vary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROFILE_RUNS = 50, PROFILE_WARM_UP = 10 };

static kiln_arena *arena(void) { return kiln_test_arena(); }

static const char *setting(const char *name, const char *otherwise) {
    const char *v = getenv(name);
    return v != NULL ? v : otherwise;
}

static double number(const char *name, const char *otherwise) {
    double v = 0;
    assert_true(kiln_parse_f64(kiln_str_from(setting(name, otherwise)), &v));
    return v;
}

static void build(const char *model, int threads, const char *path) {
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_source s;
    kiln_expectation e;
    kiln_profile p;
    kiln_build b;
    const kiln_build_options o = {.path = path, .threads = threads, .seed = 1};
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    kiln_assert_status_ok(kiln_source_read(&a, model, NULL, &s, &err), &err);
    kiln_assert_status_ok(kiln_expectation_of(&a, &s, 1, &e, &err), &err);
    kiln_assert_status_ok(kiln_package_build(&a, &s, &e, &p, &o, &b, &err), &err);
    kiln_arena_fini(&a);
}

/* ---- the slower one -------------------------------------------------------------- */

static bool overlap(const kiln_plan_tensor *x, const kiln_plan_tensor *y) {
    return x->place == y->place && x->index == y->index &&
           x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

/* Can it be called again: does it write to nothing that it reads? */
static bool is_repeatable(const kiln_plan *p, const kiln_plan_step *s) {
    if (s->kind != KILN_PLAN_LAUNCH)
        return false;
    const uint32_t *operand = p->operand + s->first_operand;
    const uint32_t n = s->n_operands, n_in = n - p->kernel[s->kernel].n_written;
    for (uint32_t i = 0; i < n_in; i++)
        for (uint32_t k = n_in; k < n; k++)
            if (overlap(&p->tensor[operand[i]], &p->tensor[operand[k]]))
                return false;
    return true;
}

static size_t choose_step(const char *path, int threads, double share) {
    kiln_err err = {0};
    kiln_opened o;
    kiln_str bytes;
    kiln_plan plan;
    char text[KILN_PLAN_ERROR];
    const kiln_device_job job = {.n_threads = threads,
                                 .n_rounds = PROFILE_RUNS,
                                 .n_warm_up = PROFILE_WARM_UP,
                                 .wants_profile = true};
    kiln_device_result r = {.n_runs = 0};
    kiln_assert_status_ok(kiln_package_open(arena(), path, &o, &err), &err);
    kiln_tensor *in = kiln_array(arena(), kiln_tensor, o.package.n_inputs);
    for (size_t i = 0; i < o.package.n_inputs; i++)
        in[i] = kiln_ref_random(arena(), &o.package.input[i].type, i);
    kiln_assert_status_ok(kiln_device_run(arena(), o.device, &o.package, &job, in,
                                          o.package.n_inputs, NULL, &r, &err),
                          &err);
    kiln_assert_status_ok(kiln_file_map(arena(),
                                        kiln_path_join(arena(), o.folder, "plan.bin"),
                                        0, &bytes, &err),
                          &err);
    assert_int_equal(kiln_plan_check(bytes.p, bytes.n, &plan, text), 0);
    double sum = 0, nearest = 1;
    size_t best = 0;
    for (size_t i = 0; i < r.n_steps; i++)
        sum += (double)r.step[i].time_ns;
    for (size_t i = 0; i < r.n_steps; i++) {
        const double off = fabs((double)r.step[i].time_ns / sum - share);
        if (off < nearest && is_repeatable(&plan, &plan.step[i])) {
            nearest = off;
            best = i;
        }
    }
    printf("slower: step '%s' is called twice, %.2f%% of the time\n", r.step[best].name,
           100 * (double)r.step[best].time_ns / sum);
    return best;
}

/* ---- gates ----------------------------------------------------------------------- */

static void print_run(int i, const kiln_gate_result *g) {
    const kiln_gate_series *s = &g->timing.first;
    printf("  %2d %-12s %+6.2f%% (%+.2f%% to %+.2f%%) after %2d pairs; itself %+.2f%% "
           "(%+.2f%% to %+.2f%%); %d taken again%s%s\n",
           i, kiln_gate_outcome_name(g->outcome), 100 * s->look.slowdown.estimate,
           100 * s->look.slowdown.low, 100 * s->look.slowdown.high, s->pairs,
           100 * s->itself.slowdown.estimate, 100 * s->itself.slowdown.low,
           100 * s->itself.slowdown.high, s->n_retaken,
           g->moved.n > 0 ? "; most: " : "", g->moved.n > 0 ? g->moved.v[0].name : "");
    if (g->outcome == KILN_GATED_INVALID)
        printf("     %s\n", g->reason);
    fflush(stdout);
}

/* How many had this verdict. */
static int gates(const char *path, const char *against, int runs, int threads,
                 kiln_gate_outcome counted) {
    int n = 0;
    double seconds = 0;
    for (int i = 0; i < runs; i++) {
        kiln_arena a = {0};
        kiln_err err = {0};
        kiln_gate_report r;
        const kiln_gate_options o = {.against = against,
                                     .threads = threads,
                                     .seconds = number("KILN_GATE_SECONDS", "0.1"),
                                     .seed = (uint64_t)i + 1,
                                     .times_equal = true};
        const int64_t begin = kiln_now_ns();
        kiln_assert_status_ok(kiln_gate_run(&a, &path, 1, &o, &r, &err), &err);
        seconds += (double)(kiln_now_ns() - begin) * 1e-9;
        print_run(i + 1, &r.result.v[0]);
        n += r.outcome == counted;
        kiln_arena_fini(&a);
    }
    printf("  %s: %d of %d; %.1f s each\n", kiln_gate_outcome_name(counted), n, runs,
           seconds / runs);
    return n;
}

int main(void) {
    const char *dir = kiln_test_dir();
    const char *model = setting("KILN_GATE_MODEL", "zoo:mobilenet_v1");
    const char *only = setting("KILN_GATE_ONLY", "");
    const char *path = kiln_path_join(arena(), dir, "as_it_is.kiln.tar.zst");
    const char *slower = kiln_path_join(arena(), dir, "slower.kiln.tar.zst");
    const int runs = (int)number("KILN_GATE_RUNS", "10");
    const int threads = (int)number("KILN_GATE_THREADS", "1");
    int n_bad = 0;
    build(model, threads, path);
    printf("%s, %d threads\n", model, threads);
    if (strcmp(only, "slower") != 0) {
        printf("the same archive twice:\n");
        n_bad += gates(path, path, runs, threads, KILN_GATED_FAIL);
    }
    if (strcmp(only, "same") != 0) {
        package_repeat(path,
                       choose_step(path, threads, number("KILN_GATE_SLOWER", "0.05")),
                       slower);
        n_bad += runs - gates(slower, path, runs, threads, KILN_GATED_FAIL);
    }
    printf("%s: %d verdicts of %d were wrong\n", model, n_bad,
           only[0] != '\0' ? runs : 2 * runs);
    return n_bad > 0;
}
