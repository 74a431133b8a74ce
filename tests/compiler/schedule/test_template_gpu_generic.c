/* gpu_generic takes every operator that says what it computes without hand-made loops,
 * and whatever its knobs say, launches interpreted under three orders of blocks and
 * threads give what the reference does; the same rules over the examples of tensor
 * expressions, against kiln_te_eval.
 *
 * Tolerance: as in test_generic.c. */
#include "compiler/schedule/template/collapse.h"
#include "compiler/schedule/template/gpu/gpu.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_leaks.h"
#include "tests/support/kernel/te_call.h"
#include "tests/support/kernel/template_check.h"

#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/compiler/op/golden"

enum { RANDOM_EACH = 4, ORDERS = 3, COMPILED = 8 };
static int n_done, n_refused, n_not_taken;

/* ---- operators ------------------------------------------------------------------- */

static double tolerance(const kiln_graph *g, double f32, double half) {
    double tol = 0;
    for (size_t i = 0; i < g->outputs.n; i++) {
        const kiln_dtype d = g->outputs.v[i]->type.dtype;
        const double own = d == KILN_F16 || d == KILN_BF16 ? half
                           : kiln_dtype_is_float(d)        ? f32
                                                           : 0;
        tol = own > tol ? own : tol;
    }
    return tol;
}

static void schedules_operator(void **state) {
    const kiln_op_def *const op = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_test_golden golden;
    kiln_graph *g;
    kiln_rng rng;
    const char *const path = kiln_format(a, FOLDER "/%s.txt", op->name);
    kiln_test_golden_read(path, &golden);
    kiln_assert_status_ok(kiln_graph_parse(a, golden.input, path, &g, &err), &err);
    const kiln_workload w = {g, g->nodes.n > 0 ? g->nodes.v[g->nodes.n - 1] : NULL};
    kiln_rng_init(&rng, kiln_test_seed());
    template_check t = {.tmpl = &kiln_template_gpu_generic,
                        .rtol = tolerance(g, 0x1p-13, 0x1p-7),
                        .atol = tolerance(g, 0x1p-16, 0x1p-8)};
    const int64_t n = kiln_test_cases(RANDOM_EACH);
    static int number;
    number++;
    for (int64_t i = 0; i < n; i++) {
        kiln_arena own = {0};
        kiln_space space;
        t.profile = kiln_gpu_profile_at((int)kiln_rng_range(&rng, 0, 5));
        if (!kiln_template_fits(t.tmpl, &w, t.profile)) {
            n_not_taken += i == 0;
            print_message("%s is not taken\n", op->name);
            return;
        }
        assert_non_null(kiln_template_for(&w, t.profile));
        kiln_space_init(&space, &own);
        kiln_assert_status_ok(t.tmpl->space(&w, t.profile, &space, &err), &err);
        kiln_config c = t.tmpl->guess(&w, t.profile, &space);
        if (i > 0)
            c = kiln_config_random(&space, &rng);
        /* A driver takes its time: every operator is run where somebody has it. */
        t.compiled = i == 0 && (number % COMPILED == 0 || getenv("KILN_SOAK") != NULL);
        const bool ok = template_check_run(&own, &t, &w, &space, &c, &err);
        n_done += ok;
        n_refused += !ok;
        assert_true(ok || i > 0);
        kiln_arena_fini(&own);
    }
}

/* ---- examples of tensor expressions ---------------------------------------------- */

static void try_example(kiln_arena *a, const te_example_def *def, uint64_t seed) {
    kiln_rng rng;
    kiln_err err = {0};
    te_example x = {.n_args = 0};
    te_call c = {.n_args = 0};
    kiln_wide in[8], want[8];
    kiln_program *p = NULL;
    kiln_rng_init(&rng, seed);
    def->make(a, &x);
    te_call_prepare(a, &rng, &x, &c, in);
    te_call_evaluate(a, &x, in, want);
    if (kiln_rng_range(&rng, 0, 1) == 0)
        kiln_assert_status_ok(kiln_te_collapse(a, x.arg, x.n_args, x.n_inputs, &err),
                              &err);
    kiln_schedule *s = kiln_schedule_new(a, x.arg + x.n_inputs, x.n_args - x.n_inputs);
    const kiln_gpu_rules rules = {
        .keep_apart = kiln_rng_range(&rng, 0, 2) == 0,
        .share = {.threads = (int64_t)1 << kiln_rng_range(&rng, 0, 5),
                  .each = kiln_rng_range(&rng, 1, 3),
                  .lanes = (int64_t)1 << kiln_rng_range(&rng, 0, 2)}};
    kiln_assert_status_ok(
        kiln_rules_inlined(s, (kiln_rules_inline)kiln_rng_range(&rng, 0, 2), &err),
        &err);
    kiln_assert_status_ok(kiln_gpu_rules_apply(s, &rules, &err), &err);
    kiln_assert_status_ok(
        kiln_lower(a, s, x.arg, x.n_args, x.n_inputs, def->name, &p, &err), &err);
    const kiln_loop_options o = {.max_unroll = 1024, .keep_large_loops = true};
    kiln_assert_status_ok(kiln_program_optimize(p, &o, &err), &err);
    for (uint64_t i = 0; i < ORDERS; i++) {
        const kiln_loop_run_options run = {.seed = i * (seed + 1)};
        kiln_assert_status_ok(kiln_program_run(a, p, c.arg, &run, &err), &err);
        for (int k = 0; k < c.n_out; k++)
            assert_false(te_call_differs(a, &c.out[k], &want[k]));
    }
    n_done++;
}

static bool has_extern(const te_example_def *def) {
    kiln_arena a = {0};
    te_example x = {.n_args = 0};
    size_t n = 0;
    bool found = false;
    def->make(&a, &x);
    const kiln_te **all =
        kiln_te_topo(&a, x.arg + x.n_inputs, (size_t)(x.n_args - x.n_inputs), &n);
    for (size_t i = 0; i < n; i++)
        found = found || all[i]->kind == KILN_TE_EXTERN;
    kiln_arena_fini(&a);
    return found;
}

static void schedules_example(void **state) {
    const te_example_def *def = *state;
    const int64_t n = kiln_test_cases(RANDOM_EACH);
    if (has_extern(def))
        return;
    for (int64_t i = 0; i < n; i++) {
        kiln_arena a = {0};
        try_example(&a, def, kiln_test_seed() * 1000003u + (uint64_t)i);
        kiln_arena_fini(&a);
    }
}

static void counts(void **state) {
    (void)state;
    print_message("%d configurations, %d refused, %d operators not taken\n", n_done,
                  n_refused, n_not_taken);
    assert_true(n_done > 0);
}

OPENCL_LEAKS_ARE_THE_DRIVERS

int main(void) {
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, schedules_example,
                      (void *)(uintptr_t)&te_examples[i]);
    for (int i = 0; i < (int)KILN_N_OPS; i++)
        kiln_test_add(kiln_op_at(i)->name, schedules_operator,
                      (void *)(uintptr_t)kiln_op_at(i));
    kiln_test_add("counts", counts, NULL);
    return kiln_test_run("gpu_generic");
}
