#include "tests/support/kernel/template_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/codegen/codegen_gpu_module.h"
#include "compiler/reference/reference.h"
#include "tests/support/kernel/code_run.h"
#include "tests/support/kiln_test.h"
#include "tests/support/gpu/opencl_run.h"
#include "tests/support/package/packed.h"
#include "tests/support/gpu/ptxas.h"

enum { MAX_ARGS = 64, GPU_ORDERS = 3 };

static const char *text_of(kiln_arena *a, const template_check *t, const kiln_space *s,
                           const kiln_config *c) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_config_json(&b, t->tmpl, s, c);
    return kiln_str_dup(a, kiln_format(a, "%.*s", (int)b.n, b.p));
}

static bool is_refusal(kiln_status st, const kiln_err *err) {
    return (st == KILN_ERR_ARG || st == KILN_ERR_LIMIT) && err->text[0] != '\0';
}

/* ---- arguments ------------------------------------------------------------------- */

typedef struct arguments {
    kiln_tensor in[MAX_ARGS]; /* of the graph, in order: plain */
    size_t n_in;
    void *tensor[MAX_ARGS]; /* of the kernel: packed */
} arguments;

static void *poisoned(kiln_arena *a, const kiln_type *t) {
    const size_t bytes = (size_t)kiln_type_bytes(t);
    void *p = kiln_arena_alloc(a, (bytes + 63) / 64 * 64);
    memset(p, 0xFF, bytes);
    return p;
}

static void make_arguments(kiln_arena *a, const kiln_te_graph *te, uint64_t seed,
                           arguments *out) {
    assert_true(te->n_args <= MAX_ARGS);
    *out = (arguments){.n_in = 0};
    for (size_t i = 0; i < te->n_args; i++) {
        const kiln_value *v = te->arg_value[i];
        const kiln_type plain =
            kiln_type_make(v->type.dtype, v->type.rank, v->type.dim);
        out->tensor[i] = poisoned(a, &te->arg_type[i]);
        if (i >= te->n_inputs)
            continue;
        kiln_tensor x = {plain, NULL};
        if (v->data == NULL)
            x = out->in[out->n_in++] = kiln_ref_random(a, &plain, seed + i);
        const kiln_packing k = kiln_test_packing(te, i);
        kiln_test_pack(&k, v->data == NULL ? x.data : v->data, out->tensor[i]);
    }
}

/* `zeros` is what was unpacked and packed again: zeros in all tails. Readers take them
 * for granted where the type says so only; the sign of a zero is none of it. */
static bool are_tails_zero(const kiln_type *t, const void *got, const void *zeros) {
    const size_t size = kiln_dtype_bytes(t->dtype);
    const unsigned char *x = got, *y = zeros;
    for (size_t at = 0; at < (size_t)kiln_type_bytes(t); at += size) {
        unsigned char unsigned_zero[16] = {0};
        memcpy(unsigned_zero, x + at, size);
        if (kiln_dtype_is_float(t->dtype))
            unsigned_zero[size - 1] &= 0x7F;
        if (memcmp(x + at, y + at, size) != 0 &&
            memcmp(unsigned_zero, y + at, size) != 0)
            return false;
    }
    return true;
}

static void check_outputs(kiln_arena *a, const template_check *t,
                          const kiln_te_graph *te, void *const *tensor,
                          const kiln_tensor *want, const char *what) {
    for (size_t i = te->n_inputs; i < te->n_args; i++) {
        const kiln_type *type = &te->arg_type[i];
        const kiln_tensor *w = &want[i - te->n_inputs];
        kiln_diff d;
        kiln_err err = {0};
        kiln_tensor got = kiln_tensor_new(a, &w->type);
        void *again = poisoned(a, type);
        kiln_layout_unpack(type, tensor[i], got.data);
        kiln_assert_status_ok(kiln_ref_compare(&got, w, t->rtol, t->atol, &d, &err),
                              &err);
        if (!d.ok)
            fail_msg("%s: %" PRId64 " wrong elements, worst at %" PRId64
                     ": %.9g, want %.9g",
                     what, d.n_bad, d.worst_index, d.worst_got, d.worst_want);
        kiln_layout_pack(type, got.data, again);
        if (kiln_compute_has_zero_tails(type) &&
            !are_tails_zero(type, tensor[i], again))
            fail_msg("%s: tail lanes of the output are not zero", what);
    }
}

/* ---- running --------------------------------------------------------------------- */

/* On this machine's OpenCL device; PTX is given to NVIDIA's assembler. False: nothing ran
 * it. */
static bool run_on_gpu(kiln_arena *a, const template_check *t, const kiln_program *p,
                       void *const *tensor, const char *what) {
    opencl_operand operand[MAX_ARGS];
    kiln_object o;
    kiln_gpu_module m;
    opencl_code *code = NULL;
    kiln_err err = {0};
    kiln_status st = kiln_codegen(a, p, t->profile, NULL, &o, NULL, &err);
    if (st == KILN_OK)
        st = kiln_gpu_object_open(a, o.bytes, &m, &err);
    if (st != KILN_OK)
        print_message("%s\n", what);
    kiln_assert_status_ok(st, &err);
    if (m.header->language == KILN_GPU_PTX) {
        if (ptxas_is_here())
            (void)ptxas_said(a, t->profile, m.code);
        return false;
    }
    if (opencl_missing() != NULL)
        return false;
    for (int i = 0; i < p->n_args; i++)
        operand[i] =
            (opencl_operand){tensor[i], (size_t)kiln_buffer_elems(p->arg[i]) *
                                            kiln_dtype_bytes(p->arg[i]->dtype)};
    st = opencl_open(a, &m, &code, &err);
    if (st == KILN_OK)
        st = opencl_run(code, p->name, operand, p->n_args, &err);
    if (st != KILN_OK)
        print_message("%s\n%s\n", what, m.code);
    kiln_assert_status_ok(st, &err);
    opencl_close(code);
    return true;
}

/* False: there is nothing to run it. */
static bool run_compiled(kiln_arena *a, const template_check *t, const kiln_program *p,
                         void *const *tensor, const char *what) {
    if (kiln_profile_is_gpu(t->profile))
        return run_on_gpu(a, t, p, tensor, what);
    code_kernel *k = code_compile(a, p, t->profile);
    code_call(k, tensor, what);
    code_close(k);
    return true;
}

/* A CPU's loops backwards; a GPU's threads in three orders that are drawn, which must not
 * matter. */
static void run_interpreted(kiln_arena *a, const template_check *t,
                            const kiln_program *p, const kiln_te_graph *te,
                            void **tensor, const kiln_tensor *want, const char *what) {
    const int n = t->tmpl->target == KILN_TARGET_GPU ? GPU_ORDERS : 1;
    for (int i = 0; i < n; i++) {
        kiln_err err = {0};
        const kiln_loop_run_options o = {.reverse_parallel = true,
                                         .seed = (uint64_t)i * (t->seed + 1)};
        for (size_t k = te->n_inputs; k < te->n_args; k++)
            tensor[k] = poisoned(a, &te->arg_type[k]);
        const kiln_status run = kiln_program_run(a, p, tensor, &o, &err);
        if (run != KILN_OK)
            print_message("%s\n", what);
        kiln_assert_status_ok(run, &err);
        check_outputs(a, t, te, tensor, want, what);
    }
}

/* What is not refused is within what a GPU has. */
static void check_limits(const template_check *t, const kiln_program *p,
                         const char *what) {
    kiln_err err = {0};
    kiln_arena scratch = {0};
    if (t->tmpl->target != KILN_TARGET_GPU)
        return;
    const kiln_launch_limits limits = kiln_launch_limits_of(&scratch, t->profile);
    const kiln_status st = kiln_program_check_limits(p, &limits, &err);
    if (st != KILN_OK)
        print_message("%s\n", what);
    kiln_assert_status_ok(st, &err);
    kiln_arena_fini(&scratch);
}

static kiln_status program_of(kiln_arena *a, const template_check *t,
                              const kiln_workload *w, const kiln_space *s,
                              const kiln_config *c, kiln_scheduled *x, kiln_program **p,
                              kiln_err *err) {
    KILN_TRY(kiln_template_apply(a, t->tmpl, w, t->profile, s, c, x, err));
    return kiln_scheduled_program(a, x, "k", p, err);
}

bool template_check_run(kiln_arena *a, const template_check *t, const kiln_workload *w,
                        const kiln_space *s, const kiln_config *c, kiln_err *err) {
    kiln_scheduled x;
    kiln_program *p;
    arguments arg;
    kiln_tensor want[MAX_ARGS];
    const char *what = text_of(a, t, s, c);
    *err = (kiln_err){0};
    const kiln_status st = program_of(a, t, w, s, c, &x, &p, err);
    if (is_refusal(st, err))
        return false;
    if (st != KILN_OK)
        print_message("%s\n", what);
    kiln_assert_status_ok(st, err);
    make_arguments(a, &x.te, t->seed, &arg);
    kiln_assert_status_ok(kiln_ref_run(a, w->graph, arg.in, arg.n_in, want, err), err);
    check_limits(t, p, what);
    run_interpreted(a, t, p, &x.te, arg.tensor, want, what);
    if (!t->compiled)
        return true;
    for (size_t i = x.te.n_inputs; i < x.te.n_args; i++)
        arg.tensor[i] = poisoned(a, &x.te.arg_type[i]);
    if (!run_compiled(a, t, p, arg.tensor, what))
        return true;
    check_outputs(a, t, &x.te, arg.tensor, want, kiln_format(a, "compiled: %s", what));
    return true;
}

const char *template_guess_program(kiln_arena *a, const template_check *t,
                                   const kiln_graph *g) {
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_scheduled x;
    kiln_program *p;
    kiln_buf text;
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    kiln_space_init(&s, a);
    kiln_assert_status_ok(t->tmpl->space(&w, t->profile, &s, &err), &err);
    kiln_config c = t->tmpl->guess(&w, t->profile, &s);
    for (const template_knob *k = t->knobs; k != NULL && k->name != NULL; k++)
        if (k->word != NULL)
            template_set_word(&s, &c, k->name, k->word);
        else
            template_set(&s, &c, k->name, k->value);
    assert_true(template_check_run(a, t, &w, &s, &c, &err));
    kiln_assert_status_ok(program_of(a, t, &w, &s, &c, &x, &p, &err), &err);
    kiln_buf_init(&text, a);
    kiln_program_print(&text, p);
    return text.p;
}

template_check template_check_on(const kiln_template *tmpl, const char *profile,
                                 kiln_profile *p, double atol) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_profile machine;
    char missing[128];
    kiln_assert_status_ok(kiln_profile_find(a, profile, p, &err), &err);
    kiln_assert_status_ok(kiln_profile_detect(a, &machine, &err), &err);
    return (template_check){.tmpl = tmpl,
                            .profile = p,
                            .compiled = kiln_profile_runs_on(p, &machine, missing),
                            .rtol = 1e-5,
                            .atol = atol};
}

void template_check_fetch(const template_check *t, const kiln_graph *g,
                          const char *want) {
    static const char call[] = "prefetch(";
    const char *text = template_guess_program(kiln_test_arena(), t, g);
    const char *found = strstr(text, call);
    print_message("%.160s\n", found != NULL ? found : "nothing");
    assert_int_equal(found != NULL, want != NULL);
    if (found != NULL)
        assert_memory_equal(found + strlen(call), want, strlen(want));
}

kiln_str template_assembly(kiln_arena *a, const template_check *t,
                           const kiln_workload *w, const kiln_space *s,
                           const kiln_config *c, kiln_err *err) {
    kiln_scheduled x;
    kiln_program *p;
    kiln_object o;
    kiln_codegen_text text = {.assembly = {NULL, 0}};
    *err = (kiln_err){0};
    const kiln_status st = program_of(a, t, w, s, c, &x, &p, err);
    if (is_refusal(st, err))
        return (kiln_str){NULL, 0};
    kiln_assert_status_ok(st, err);
    kiln_assert_status_ok(kiln_codegen(a, p, t->profile,
                                       &(kiln_codegen_options){.want_assembly = true},
                                       &o, &text, err),
                          err);
    return text.assembly;
}

/* ---- many runs ------------------------------------------------------------------- */

static const kiln_profile *random_profile(kiln_rng *rng) {
    static const kiln_profile *runs_here[16];
    static int n;
    kiln_profile machine;
    kiln_err err = {0};
    char missing[128];
    if (n == 0) {
        kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &machine, &err),
                              &err);
        for (int i = 0; kiln_profile_at(i) != NULL && n < 16; i++)
            if (kiln_profile_runs_on(kiln_profile_at(i), &machine, missing))
                runs_here[n++] = kiln_profile_at(i);
    }
    assert_true(n > 0);
    return runs_here[kiln_rng_range(rng, 0, n - 1)];
}

static const kiln_profile *random_gpu(kiln_rng *rng) {
    int n = 0;
    while (kiln_gpu_profile_at(n) != NULL)
        n++;
    return kiln_gpu_profile_at((int)kiln_rng_range(rng, 0, n - 1));
}

bool template_runs_next(template_runs *r, int64_t i) {
    if (r->arena != NULL)
        kiln_arena_fini(r->arena);
    if (i == 0)
        r->n = kiln_test_cases(r->n);
    if (i == r->n) {
        print_message("%d checked, %d refused\n", r->n_checked, r->n_refused);
        assert_true(r->n_checked > 0);
        return false;
    }
    r->i = i;
    r->arena = &r->own;
    kiln_arena_init(r->arena);
    kiln_rng_init(&r->rng, kiln_test_seed() * 1000003u + (uint64_t)i);
    return true;
}

bool template_runs_check(template_runs *r, const template_check *t,
                         const kiln_graph *g) {
    enum { TRIES = 6 };
    const bool is_guess = r->i % 4 == 0;
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    template_check x = *t;
    const bool is_gpu = t->tmpl->target == KILN_TARGET_GPU;
    x.profile = is_gpu ? random_gpu(&r->rng) : random_profile(&r->rng);
    x.compiled = kiln_rng_range(&r->rng, 0, 7) == 0;
    x.seed = (uint64_t)r->i;
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    if (!x.tmpl->fits(&w, x.profile))
        return false;
    kiln_space_init(&s, r->arena);
    kiln_assert_status_ok(x.tmpl->space(&w, x.profile, &s, &err), &err);
    kiln_config c = x.tmpl->guess(&w, x.profile, &s);
    for (int k = 0; k < TRIES; k++) {
        if (!is_guess)
            c = kiln_config_random(&s, &r->rng);
        if (template_check_run(r->arena, &x, &w, &s, &c, &err)) {
            r->n_checked++;
            return true;
        }
        if (is_guess)
            fail_msg("what is guessed was refused: %s", err.text);
        r->n_refused++;
    }
    return true;
}

int template_property_check(const template_property *p, const kiln_template *tmpl,
                            template_make_graph *make) {
    const template_check t = {.tmpl = tmpl, .rtol = p->rtol, .atol = p->atol};
    template_runs runs = {.n = p->runs};
    for (int64_t i = 0; template_runs_next(&runs, i); i++)
        assert_true(template_runs_check(&runs, &t, make(runs.arena, &runs.rng, p)));
    return runs.n_refused;
}

size_t template_guess_loops(const template_check *t, const kiln_graph *g,
                            const char *profile, kiln_asm_loop **out) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_workload w;
    kiln_space s;
    kiln_profile p;
    size_t n = 0;
    template_check x = *t;
    kiln_assert_status_ok(kiln_profile_find(a, profile, &p, &err), &err);
    x.profile = &p;
    kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
    assert_true(x.tmpl->fits(&w, &p));
    kiln_space_init(&s, a);
    kiln_assert_status_ok(x.tmpl->space(&w, &p, &s, &err), &err);
    const kiln_config c = x.tmpl->guess(&w, &p, &s);
    const kiln_str text = template_assembly(a, &x, &w, &s, &c, &err);
    assert_true(text.n > 0);
    kiln_assert_status_ok(kiln_asm_innermost_loops(a, text, p.arch, out, &n, &err),
                          &err);
    return n;
}

void template_check_hot_loop(const template_check *t, const kiln_graph *g,
                             const char *profile, const template_hot_loop *want) {
    kiln_asm_loop *loop, hot = {.vector_fma = 0};
    const size_t n = template_guess_loops(t, g, profile, &loop);
    for (size_t i = 0; i < n; i++)
        if (loop[i].vector_fma > hot.vector_fma)
            hot = loop[i];
    print_message("%d multiply-adds of %d instructions\n", hot.vector_fma,
                  hot.instructions);
    assert_int_equal(hot.spills, 0);
    assert_int_equal(hot.vector_stores, 0);
    assert_true(hot.vector_fma >= want->fma);
    assert_true(hot.instructions <= want->instructions);
}

/* ---- choosing -------------------------------------------------------------------- */

static int knob_of(const kiln_space *s, const char *name) {
    for (int k = 0; k < s->n; k++)
        if (strcmp(s->knob[k].name, name) == 0)
            return k;
    fail_msg("no knob '%s'", name);
    return 0;
}

void template_set(const kiln_space *s, kiln_config *c, const char *knob,
                  int64_t value) {
    const int k = knob_of(s, knob);
    kiln_config_set(s, c, k, &value);
    assert_int_equal(kiln_config_int(s, c, k, 0), value);
}

void template_set_word(const kiln_space *s, kiln_config *c, const char *knob,
                       const char *word) {
    kiln_config_set_word(s, c, knob_of(s, knob), word);
}
