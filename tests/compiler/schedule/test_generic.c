/* The generic template schedules any expression, and whatever its knobs say the result
 * stays: random configurations over the examples of tensor expressions and over every
 * operator's golden graph, lowered, optimised and interpreted, against kiln_te_eval and
 * the reference; a sample of them compiled.
 *
 * Tolerance: examples as in tests/support/kernel/te_call.h. Golden graphs are small: sums of
 * at most a few hundred terms in f32, functions within 4 ulp; 2^-13 of the value and
 * 2^-16 near zero leave room for both; f16 and bf16 round once more (2^-7). */
#include "compiler/codegen/codegen.h"
#include "compiler/reference/reference.h"
#include "compiler/schedule/template/collapse.h"
#include "compiler/schedule/template/template_rules.h"
#include "compiler/schedule/template.h"
#include "runtime/loader.h"
#include "tests/support/kiln_test.h"
#include "tests/support/kernel/te_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/compiler/op/golden"

enum { RANDOM_EACH = 6, COMPILED_EACH = 1 };
static kiln_profile machine;
static int n_no_compute, n_done, n_refused;

static int64_t draws(void) { return kiln_test_cases(RANDOM_EACH); }

/* ---- examples of tensor expressions ---------------------------------------------- */

static int draw(kiln_rng *rng, const int *value, int n) {
    return value[kiln_rng_range(rng, 0, n - 1)];
}

static kiln_rules random_rules(kiln_rng *rng) {
    static const int lanes[] = {0, 2, 4, 8, 16, 32}, some[] = {0, 1, 2, 3, 4, 7, 16};
    return (kiln_rules){.inlining = (kiln_rules_inline)kiln_rng_range(rng, 0, 2),
                        .keep_apart = kiln_rng_range(rng, 0, 3) == 0,
                        .parallel = kiln_rng_range(rng, 0, 1) == 0,
                        .nest = {.vector = (int)kiln_rng_range(rng, 0, 2),
                                 .lanes = draw(rng, lanes, 6),
                                 .vectors = draw(rng, some, 5),
                                 .rows = draw(rng, some, 7),
                                 .accumulators = draw(rng, some, 3),
                                 .unroll = draw(rng, some, 5),
                                 .rows_inside = kiln_rng_range(rng, 0, 1) != 0}};
}

static void show(const kiln_program *p, uint64_t seed) {
    kiln_buf text;
    kiln_buf_init(&text, kiln_test_arena());
    if (p != NULL)
        kiln_program_print(&text, p);
    fprintf(stderr, "seed %llu\n%.*s\n", (unsigned long long)seed, (int)text.n, text.p);
}

static void try_example(const te_example_def *def, uint64_t seed, bool by_rule,
                        int *n_made) {
    kiln_arena a;
    kiln_rng rng;
    kiln_err err = {0};
    te_example x = {.n_args = 0};
    te_call c = {.n_args = 0};
    kiln_wide in[8], want[8];
    kiln_program *p = NULL;
    kiln_arena_init(&a);
    kiln_rng_init(&rng, seed);
    def->make(&a, &x);
    te_call_prepare(&a, &rng, &x, &c, in);
    te_call_evaluate(&a, &x, in, want);
    if (by_rule || kiln_rng_range(&rng, 0, 1) == 0)
        kiln_assert_status_ok(kiln_te_collapse(&a, x.arg, x.n_args, x.n_inputs, &err),
                              &err);
    kiln_schedule *s = kiln_schedule_new(&a, x.arg + x.n_inputs, x.n_args - x.n_inputs);
    kiln_rules rules = {.parallel = true};
    if (!by_rule)
        rules = random_rules(&rng);
    kiln_status st = kiln_rules_apply(s, &machine, &rules, &err);
    if (st == KILN_OK)
        st = kiln_lower(&a, s, x.arg, x.n_args, x.n_inputs, def->name, &p, &err);
    const kiln_loop_options o = {.max_unroll = 1024, .keep_large_loops = true};
    if (st == KILN_OK)
        st = kiln_program_optimize(p, &o, &err);
    if (st == KILN_ERR_ARG && !by_rule && err.len > 0) {
        kiln_arena_fini(&a);
        return;
    }
    ++*n_made;
    const kiln_loop_run_options run = {.reverse_parallel = seed % 2 == 0};
    if (st == KILN_OK)
        st = kiln_program_run(&a, p, c.arg, &run, &err);
    bool bad = st != KILN_OK;
    for (int i = 0; i < c.n_out && !bad; i++)
        bad = te_call_differs(&a, &c.out[i], &want[i]);
    if (bad) {
        show(p, seed);
        fail_msg("%s: seed %llu: %s", def->name, (unsigned long long)seed, err.text);
    }
    kiln_arena_fini(&a);
}

static void schedules_example(void **state) {
    const te_example_def *def = *state;
    int n_made = 0;
    const int64_t n = draws();
    try_example(def, kiln_test_seed(), true, &n_made);
    for (int64_t i = 0; i < n; i++)
        try_example(def, kiln_test_seed() * 1000003u + (uint64_t)i, false, &n_made);
    assert_true(n_made * 2 > n);
}

/* ---- operators ------------------------------------------------------------------- */

static void *aligned(kiln_arena *a, size_t bytes) {
    char *p = kiln_arena_alloc(a, bytes + 64);
    return p + (64 - (uintptr_t)p % 64) % 64;
}

/* Buffers of the kernel: constants as they are, outputs poisoned. */
static void arguments(kiln_arena *a, const kiln_scheduled *s, void **arg) {
    for (size_t i = 0; i < s->te.n_args; i++) {
        const size_t bytes = (size_t)kiln_type_bytes(&s->te.arg_type[i]);
        arg[i] = aligned(a, bytes);
        if (i < s->te.n_inputs)
            memcpy(arg[i], s->te.arg_value[i]->data, bytes);
        else
            memset(arg[i], 0xFF, bytes);
    }
}

static void compare(const kiln_scheduled *s, void *const *arg, const kiln_tensor *want,
                    const kiln_program *p, const char *what) {
    for (size_t i = s->te.n_inputs; i < s->te.n_args; i++) {
        kiln_err err = {0};
        kiln_diff d;
        const kiln_tensor *w = &want[i - s->te.n_inputs];
        const kiln_tensor got = {.type = w->type, .data = arg[i]};
        const bool half = w->type.dtype == KILN_F16 || w->type.dtype == KILN_BF16;
        const bool is_float = kiln_dtype_is_float(w->type.dtype);
        const double rtol = half ? 0x1p-7 : is_float ? 0x1p-13 : 0;
        const double atol = half ? 0x1p-8 : is_float ? 0x1p-16 : 0;
        kiln_assert_status_ok(kiln_ref_compare(&got, w, rtol, atol, &d, &err), &err);
        if (!d.ok) {
            show(p, kiln_test_seed());
            fail_msg("%s: output %zu element %lld is %.9g, must be %.9g", what,
                     i - s->te.n_inputs, (long long)d.worst_index, d.worst_got,
                     d.worst_want);
        }
    }
}

static void run_compiled(kiln_arena *a, const kiln_scheduled *s, const kiln_program *p,
                         const kiln_tensor *want, const char *what) {
    kiln_err err = {0};
    kiln_object o;
    char text[KILN_LOAD_TEXT];
    void *arg[64];
    kiln_code *code = NULL;
    kiln_assert_status_ok(kiln_codegen(a, p, &machine, NULL, &o, NULL, &err), &err);
    if (kiln_code_open(o.bytes.p, o.bytes.n, &code, text) != KILN_LOAD_OK)
        fail_msg("%s: %s", what, text);
    kiln_kernel_fn *fn = kiln_code_kernel(code, p->name);
    assert_non_null(fn);
    arguments(a, s, arg);
    const kiln_args args = {arg, aligned(a, o.workspace_bytes)};
    kiln_ctx ctx;
    kiln_ctx_init_serial(&ctx, aligned(a, o.scratch_bytes));
    assert_int_equal(fn(&args, &ctx), 0);
    compare(s, arg, want, p, what);
    kiln_code_close(code);
}

static void try_config(const kiln_workload *w, const kiln_space *space,
                       const kiln_config *c, const kiln_tensor *want, bool is_default,
                       bool compiled, const char *name) {
    kiln_arena a;
    kiln_err err = {0};
    kiln_scheduled s;
    kiln_program *p = NULL;
    void *arg[64];
    kiln_arena_init(&a);
    const char *what = kiln_format(&a, "%s, configuration %llu", name,
                                   (unsigned long long)kiln_config_index(space, c));
    kiln_status st = kiln_template_apply(&a, &kiln_template_generic, w, &machine, space,
                                         c, &s, &err);
    if (st == KILN_OK)
        st = kiln_scheduled_program(&a, &s, "kernel", &p, &err);
    if (st == KILN_ERR_ARG && !is_default && err.len > 0) {
        n_refused++;
        kiln_arena_fini(&a);
        return;
    }
    if (st != KILN_OK)
        fail_msg("%s: %s", what, err.text);
    assert_true(s.te.n_args <= 64);
    arguments(&a, &s, arg);
    st = kiln_program_run(&a, p, arg, NULL, &err);
    if (st != KILN_OK) {
        show(p, kiln_test_seed());
        fail_msg("%s: %s", what, err.text);
    }
    compare(&s, arg, want, p, what);
    if (compiled)
        run_compiled(&a, &s, p, want, what);
    n_done++;
    kiln_arena_fini(&a);
}

static void schedules_operator(void **state) {
    const kiln_op_def *const op = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_test_golden golden;
    kiln_graph *g;
    kiln_rng rng;
    kiln_space space;
    const char *const path = kiln_format(a, FOLDER "/%s.txt", op->name);
    kiln_test_golden_read(path, &golden);
    kiln_assert_status_ok(kiln_graph_parse(a, golden.input, path, &g, &err), &err);
    kiln_tensor *const want = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_assert_status_ok(kiln_ref_run(a, g, NULL, 0, want, &err), &err);
    const kiln_workload w = {g, g->nodes.n > 0 ? g->nodes.v[g->nodes.n - 1] : NULL};
    if (!kiln_template_generic.fits(&w, &machine)) {
        n_no_compute++;
        return;
    }
    kiln_space_init(&space, a);
    kiln_assert_status_ok(kiln_template_generic.space(&w, &machine, &space, &err),
                          &err);
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_config c = kiln_template_generic.guess(&w, &machine, &space);
    try_config(&w, &space, &c, want, true, true, op->name);
    for (int64_t i = 0; i < draws(); i++) {
        c = kiln_config_random(&space, &rng);
        try_config(&w, &space, &c, want, false, i < COMPILED_EACH, op->name);
    }
}

/* ---- rows together --------------------------------------------------------------- */

typedef struct rows_row {
    const char *name, *graph, *stage; /* that several rows of are computed at once */
} rows_row;

/* Short rows, of which one is over before its sum is there. */
static const rows_row rows_rows[] = {
    {"rows_of_layer_norm_come_together",
     "graph \"g\" {\n  input %x : f32[128,48]\n"
     "  %y = layer_norm(%x) : f32[128,48] \"n\"\n  output %y \"y\"\n}\n",
     "n.inverse at i0.outer of n,"},
    {"rows_of_softmax_come_together",
     "graph \"g\" {\n  input %x : f32[64,21]\n"
     "  %y = softmax(%x) : f32[64,21] \"n\"\n  output %y \"y\"\n}\n",
     "n.sum at i0.outer of n,"},
    {"rows_of_argmax_come_together",
     "graph \"g\" {\n  input %x : f32[4,64,21]\n"
     "  %y = argmax(%x) {axis=2} : i64[4,64,1] \"n\"\n  output %y \"y\"\n}\n",
     "n.best at i0.outer of n,"},
};

static void rows_come_together(void **state) {
    const rows_row *r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_graph *g;
    kiln_rng rng;
    kiln_space space;
    kiln_scheduled s;
    kiln_buf text;
    kiln_assert_status_ok(
        kiln_graph_parse(a, kiln_str_from(r->graph), r->name, &g, &err), &err);
    kiln_value *x = g->inputs.v[0];
    const int64_t n = kiln_type_elems(&x->type);
    kiln_tensor in = {.type = x->type, .data = kiln_array(a, float, n)};
    kiln_rng_init(&rng, kiln_test_seed());
    for (int64_t i = 0; i < n; i++)
        ((float *)in.data)[i] = (float)(4 * kiln_rng_unit(&rng) - 2);
    x->data = in.data;
    kiln_tensor *const want = kiln_array(a, kiln_tensor, g->outputs.n);
    kiln_assert_status_ok(kiln_ref_run(a, g, &in, 1, want, &err), &err);
    const kiln_workload w = {g, g->nodes.v[0]};
    kiln_space_init(&space, a);
    kiln_assert_status_ok(kiln_template_generic.space(&w, &machine, &space, &err),
                          &err);
    const kiln_config c = {.n = space.n};
    kiln_assert_status_ok(kiln_template_apply(a, &kiln_template_generic, &w, &machine,
                                              &space, &c, &s, &err),
                          &err);
    kiln_buf_init(&text, a);
    kiln_schedule_print(&text, s.schedule);
    if (strstr(text.p, r->stage) == NULL)
        fail_msg("no stage '%s' in\n%s", r->stage, text.p);
    try_config(&w, &space, &c, want, true, true, r->name);
}

static void counts(void **state) {
    (void)state;
    print_message("%d configurations, %d refused, %d operators without compute\n",
                  n_done, n_refused, n_no_compute);
    assert_true(n_done > 0);
}

int main(void) {
    kiln_err err = {0};
    if (kiln_profile_detect(kiln_test_arena(), &machine, &err) != KILN_OK)
        return 1;
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, schedules_example,
                      (void *)(uintptr_t)&te_examples[i]);
    for (int i = 0; i < (int)KILN_N_OPS; i++)
        kiln_test_add(kiln_op_at(i)->name, schedules_operator,
                      (void *)(uintptr_t)kiln_op_at(i));
    for (size_t i = 0; i < sizeof rows_rows / sizeof rows_rows[0]; i++)
        kiln_test_add(rows_rows[i].name, rows_come_together,
                      (void *)(uintptr_t)&rows_rows[i]);
    kiln_test_add("counts", counts, NULL);
    return kiln_test_run("generic");
}
