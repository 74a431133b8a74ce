#include "tests/support/measuring/faulty_builder.h"

#include "pipeline/measure/builder/builder.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

#include <stdlib.h>
#include <string.h>

const kiln_test_fault kiln_test_faults[KILN_TEST_N_FAULTS] = {
    {"GOOD", false, KILN_TRIAL_GOOD},
    {"HANG", true, KILN_TRIAL_TIMEOUT},
    {"CRASH", true, KILN_TRIAL_CRASH},
    {"GOOD", false, KILN_TRIAL_GOOD},
    {"MEMORY", true, KILN_TRIAL_FORBIDDEN},
    {"EXIT", true, KILN_TRIAL_EXIT},
    {"BEFORE", true, KILN_TRIAL_OUT_OF_BOUNDS},
    {"CANARY", true, KILN_TRIAL_OUT_OF_BOUNDS},
    {"GOOD", false, KILN_TRIAL_GOOD},
    {"INPUT", true, KILN_TRIAL_OUT_OF_BOUNDS},
    {"WRONG", true, KILN_TRIAL_WRONG},
    {"RETURN", true, KILN_TRIAL_RETURNED},
    {"STACK", true, KILN_TRIAL_CRASH},
    {"KILL", true, KILN_TRIAL_FORBIDDEN},
    {"workspace", false, KILN_TRIAL_MEMORY},
    {"machine", false, KILN_TRIAL_UNLOADABLE},
    {"refuse", false, KILN_TRIAL_REFUSED},
    {"crash", false, KILN_TRIAL_BUILD_CRASH},
    {"hang", false, KILN_TRIAL_BUILD_TIMEOUT},
    {"memory", false, KILN_TRIAL_BUILD_MEMORY},
    {"lazy", false, KILN_TRIAL_IMPLAUSIBLE}, /* has a test of its own */
};
int kiln_test_faults_drawn(void) {
    return kiln_test_is_sanitized() ? KILN_TEST_LAZY - 1 : KILN_TEST_LAZY;
}

kiln_trial_error kiln_test_fault_ends(const kiln_test_fault *f, bool is_confined) {
    if (f->want != KILN_TRIAL_FORBIDDEN || is_confined)
        return f->want;
    return strcmp(f->name, "KILL") == 0 ? KILN_TRIAL_LOST : KILN_TRIAL_MEMORY;
}

bool kiln_test_fault_is_dear(const kiln_test_fault *f, bool is_confined) {
    return f->want == KILN_TRIAL_BUILD_TIMEOUT || f->want == KILN_TRIAL_TIMEOUT ||
           kiln_test_fault_ends(f, is_confined) == KILN_TRIAL_MEMORY;
}

const kiln_test_fault *kiln_test_fault_in_turn(uint64_t index) {
    return &kiln_test_faults[index % KILN_TEST_N_FAULTS];
}

/* By a hash: of neighbours in a space many are the same program, and are tried once. */
const kiln_test_fault *kiln_test_fault_drawn(uint64_t index) {
    enum { DEAR_IN = 4 };
    const uint64_t n = (uint64_t)kiln_test_faults_drawn();
    const uint64_t draw = kiln_hash64(&index, sizeof index, 0);
    const kiln_test_fault *f = &kiln_test_faults[draw % n];
    const bool is_left_out =
        kiln_test_fault_is_dear(f, true) && draw / n % DEAR_IN != 0;
    return is_left_out ? &kiln_test_faults[0] : f;
}

void kiln_test_compile_faults(kiln_arena *a, const char *folder) {
    for (int i = 0; i < KILN_TEST_N_FAULTS; i++)
        if (kiln_test_faults[i].is_object)
            kiln_test_compile_kernel(a, "tests/pipeline/measure/fault_kernels.c",
                                     kiln_test_faults[i].name, folder);
}

/* ---- the builder ----------------------------------------------------------------- */

static const char *objects; /* their folder */
static kiln_test_fault_fn *fault_of;

static void take_all(kiln_arena *a) {
    enum { STEP = 1 << 20 };
    for (;;)
        memset(kiln_arena_alloc_raw(a, STEP), 1, STEP);
}

/* Computes once for each input, keeps what it has computed, and copies that from then
 * on. No output is ever wrong. */
static const kiln_stmt *copy(kiln_arena *a, const kiln_buffer *from,
                             const kiln_buffer *to) {
    const kiln_var *i = kiln_var_new(a, "i", KILN_I64);
    const kiln_expr *const at = kiln_x_ref(a, i);
    const kiln_stmt *one =
        kiln_s_store(a, to, &at, kiln_x_load(a, from, &at, 1, NULL), NULL);
    return kiln_s_for(a, i, kiln_x_index(a, 0), kiln_x_index(a, kiln_buffer_elems(to)),
                      KILN_LOOP_SERIAL, NULL, one);
}

static kiln_status make_lazy(kiln_arena *a, const kiln_profile *p, kiln_kernel *k,
                             kiln_err *err) {
    kiln_program lazy = *k->program;
    const kiln_expr *const zero = kiln_x_int(a, KILN_I64, 0);
    const kiln_expr *const first = kiln_x_load(a, lazy.arg[0], &zero, 1, NULL);
    const kiln_buffer *memo = kiln_buffer_new(a, "memo", lazy.arg[0]->dtype, 1,
                                              (int64_t[]){1}, KILN_SCOPE_GLOBAL);
    const kiln_buffer *y = lazy.arg[lazy.n_args - 1];
    const int64_t n = kiln_buffer_elems(y);
    const kiln_buffer *kept =
        kiln_buffer_new(a, "kept", y->dtype, 1, &n, KILN_SCOPE_GLOBAL);
    const kiln_stmt *const work[] = {lazy.body, copy(a, y, kept),
                                     kiln_s_store(a, memo, &zero, first, NULL)};
    const kiln_expr *is_new =
        kiln_x_binary(a, KILN_EXPR_NE, kiln_x_load(a, memo, &zero, 1, NULL), first);
    lazy.body = kiln_s_alloc(
        a, memo,
        kiln_s_alloc(a, kept,
                     kiln_s_if(a, is_new, kiln_s_seq(a, work, 3), copy(a, kept, y))));
    const kiln_codegen_options o = {.want_assembly = false};
    kiln_codegen_text text;
    return kiln_codegen(a, &lazy, p, &o, &k->object, &text, err);
}

static kiln_status make_fault(kiln_arena *a, const kiln_op_work *w,
                              const kiln_choice *choice, const kiln_profile *p,
                              kiln_kernel *out, kiln_err *err) {
    const kiln_test_fault *f =
        fault_of(kiln_config_index(&choice->space, &choice->config));
    /* Whatever the index says, code is that of the guess: its layouts are known. */
    kiln_choice guess = *choice;
    guess.config = choice->tmpl->guess(&w->workload, p, &choice->space);
    if (strcmp(f->name, "crash") == 0)
        abort();
    for (volatile int i = 0; i == 0 && strcmp(f->name, "hang") == 0;)
        continue;
    if (strcmp(f->name, "memory") == 0)
        take_all(a);
    if (strcmp(f->name, "refuse") == 0)
        return kiln_fail(err, KILN_ERR_ARG, "no such thing");
    KILN_TRY(kiln_kernel_make_listed(a, w, &guess, p, out, err));
    if (strcmp(f->name, "lazy") == 0)
        return make_lazy(a, p, out, err);
    if (strcmp(f->name, "workspace") == 0)
        out->object.workspace_bytes = (size_t)1 << 40;
    if (strcmp(f->name, "machine") == 0) {
        enum { E_MACHINE = 18 };
        char *bytes = kiln_arena_dup(a, out->object.bytes.p, out->object.bytes.n);
        bytes[E_MACHINE] = 99;
        out->object.bytes.p = bytes;
    }
    if (!f->is_object)
        return KILN_OK;
    return kiln_file_map(a, kiln_format(a, "%s/%s.o", objects, f->name), 0,
                         &out->object.bytes, err);
}

int kiln_test_faulty_builder(const char *folder, kiln_test_fault_fn *of) {
    objects = folder;
    fault_of = of;
    return kiln_builder_main(make_fault);
}
