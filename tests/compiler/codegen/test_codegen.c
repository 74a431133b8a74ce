/* Compiled equals interpreted: the same loop program, as lowered and after the loop
 * passes, through LLVM and the loader, and through the interpreter, for each profile
 * that this machine runs. For AArch64, objects are made and linked, not run. Outputs
 * start as NaN bytes, canaries stand around every buffer, no object imports anything.
 *
 * Tolerance: the only differences are contracted multiply-adds and functions such as
 * exp (4 ulp). With |x| <= 1 and at most k = 98 terms a sum is within k * 2^-24 *
 * sum|ab| <= 98 * 98 * 6e-8 = 6e-4; integers are exact. */
#include "compiler/codegen/codegen.h"
#include "compiler/schedule/schedule.h"
#include "runtime/elf.h"
#include "runtime/loader.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random_schedule.h"
#include "tests/support/te_call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCHEDULES_EACH = 3, PRIMITIVES = 14, CANARY = 64, MAX_PROFILES = 8 };

static kiln_profile profiles[MAX_PROFILES];
static int n_profiles;
static double compile_ms;
static int n_compiled;

/* ---- arguments ------------------------------------------------------------------- */

typedef struct memory {
    unsigned char *whole, *data;
    size_t bytes;
} memory;

static memory guarded(kiln_arena *a, size_t bytes) {
    memory m = {.bytes = bytes};
    const size_t room = (bytes + 63) / 64 * 64;
    m.whole = kiln_arena_alloc(a, room + 2 * CANARY);
    m.data = m.whole + CANARY;
    memset(m.whole, 0xC3, room + 2 * CANARY);
    memset(m.data, 0xFF, bytes); /* NaN for floats */
    return m;
}

static void check_canaries(const memory *m, const char *what) {
    const size_t room = (m->bytes + 63) / 64 * 64;
    for (size_t i = 0; i < room + 2 * CANARY; i++)
        if ((i < CANARY || i >= CANARY + m->bytes) && m->whole[i] != 0xC3)
            fail_msg("%s: byte %lld beside the buffer was written", what,
                     (long long)i - CANARY);
}

static kiln_type type_of(const kiln_buffer *b) {
    int64_t dim[KILN_MAX_AXES];
    for (int i = 0; i < b->rank; i++)
        dim[i] = kiln_buffer_dim(b, i);
    return kiln_type_make(b->dtype, b->rank, dim);
}

static void fill_random(kiln_arena *a, kiln_rng *rng, const kiln_type *t, void *data) {
    kiln_wide w = kiln_wide_new(a, t);
    for (int64_t i = 0; i < kiln_type_elems(t); i++) {
        if (w.f != NULL)
            w.f[i] = 2 * kiln_rng_unit(rng) - 1;
        else
            w.i[i] = kiln_rng_range(rng, t->dtype == KILN_BOOL ? 0 : -7,
                                    t->dtype == KILN_BOOL ? 1 : 7);
    }
    kiln_narrow(&w, data);
}

static void compare(kiln_arena *a, const kiln_buffer *b, const void *got,
                    const void *want, const char *what) {
    const kiln_type t = type_of(b);
    kiln_wide x = kiln_wide_new(a, &t), y = kiln_wide_new(a, &t);
    kiln_widen(&t, got, &x);
    kiln_widen(&t, want, &y);
    for (int64_t i = 0; i < kiln_type_elems(&t); i++) {
        const double p = x.f != NULL ? x.f[i] : (double)x.i[i];
        const double q = x.f != NULL ? y.f[i] : (double)y.i[i];
        const bool ok = x.f == NULL ? x.i[i] == y.i[i]
                                    : (isnan(p) && isnan(q)) || p == q ||
                                          fabs(p - q) <= te_call_tolerance(t.dtype, q);
        if (!ok)
            fail_msg("%s: '%s' element %lld is %.9g, interpreted %.9g", what, b->name,
                     (long long)i, p, q);
    }
}

/* ---- one program ----------------------------------------------------------------- */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void run_compiled(kiln_arena *a, const kiln_program *p, const kiln_profile *prof,
                         void *const *want) {
    kiln_err err = {0};
    kiln_object o;
    char text[KILN_LOAD_TEXT];
    kiln_code *code = NULL;
    memory arg[16];
    void *tensor[16];
    const char *what = kiln_format(a, "%s on %s", p->name, prof->name);
    const double begin = now_ms();
    kiln_assert_status_ok(kiln_codegen_llvm(a, p, prof, NULL, &o, NULL, &err), &err);
    compile_ms += now_ms() - begin;
    n_compiled++;
    if (kiln_code_open(o.bytes.p, o.bytes.n, &code, text) != KILN_LOAD_OK)
        fail_msg("%s: %s", what, text);
    kiln_kernel_fn *fn = kiln_code_kernel(code, p->name);
    assert_non_null(fn);
    for (int i = 0; i < p->n_args; i++) {
        const kiln_type t = type_of(p->arg[i]);
        arg[i] = guarded(a, (size_t)kiln_type_bytes(&t));
        if (i < p->n_inputs)
            memcpy(arg[i].data, want[i], arg[i].bytes);
        tensor[i] = arg[i].data;
    }
    const memory workspace = guarded(a, o.workspace_bytes);
    const memory scratch = guarded(a, o.scratch_bytes);
    const kiln_args args = {tensor, workspace.data};
    kiln_ctx ctx;
    kiln_ctx_init_serial(&ctx, scratch.data);
    assert_int_equal(fn(&args, &ctx), 0);
    for (int i = 0; i < p->n_args; i++) {
        check_canaries(&arg[i], what);
        if (i >= p->n_inputs)
            compare(a, p->arg[i], arg[i].data, want[i], what);
        else
            assert_memory_equal(arg[i].data, want[i], arg[i].bytes);
    }
    check_canaries(&workspace, what);
    check_canaries(&scratch, what);
    kiln_code_close(code);
}

/* No emulator is needed to see that nothing is imported and every relocation is known.
 */
static void link_for_aarch64(kiln_arena *a, const kiln_program *p) {
    kiln_profile prof;
    kiln_err err = {0};
    kiln_object o;
    kiln_elf elf;
    char text[KILN_LOAD_TEXT] = "";
    kiln_assert_status_ok(kiln_profile_find(a, "aarch64", &prof, &err), &err);
    kiln_assert_status_ok(kiln_codegen_llvm(a, p, &prof, NULL, &o, NULL, &err), &err);
    assert_int_equal(kiln_elf_open(&elf, o.bytes.p, o.bytes.n, KILN_ELF_AARCH64, text),
                     KILN_LOAD_OK);
    /* Pages of 4096: what low bits of addresses mean must hold at the image. */
    const size_t bytes = elf.part[KILN_ELF_PARTS];
    unsigned char *raw = kiln_arena_alloc(a, bytes + KILN_ELF_PAGE);
    const size_t skip = KILN_ELF_PAGE - (size_t)((uintptr_t)raw % KILN_ELF_PAGE);
    if (kiln_elf_link(&elf, raw + skip) != KILN_LOAD_OK)
        fail_msg("%s on aarch64: %s", p->name, text);
    assert_true(kiln_elf_find(&elf, p->name) >= 0);
    kiln_elf_fini(&elf);
}

static void check_program(kiln_arena *a, kiln_rng *rng, const kiln_program *p) {
    void *arg[16];
    kiln_err err = {0};
    for (int i = 0; i < p->n_args; i++) {
        const kiln_type t = type_of(p->arg[i]);
        arg[i] = guarded(a, (size_t)kiln_type_bytes(&t)).data;
        if (i < p->n_inputs)
            fill_random(a, rng, &t, arg[i]);
    }
    kiln_assert_status_ok(kiln_program_run(a, p, arg, NULL, &err), &err);
    for (int i = 0; i < n_profiles; i++)
        run_compiled(a, p, &profiles[i], arg);
    link_for_aarch64(a, p);
}

static void compiled_is_interpreted(void **state) {
    const te_example_def *def = *state;
    int64_t n = SCHEDULES_EACH; /* soaks ask for more */
    if (getenv("KILN_SCHEDULES") != NULL)
        assert_true(kiln_parse_i64(kiln_str_from(getenv("KILN_SCHEDULES")), &n));
    for (int64_t i = 0; i <= n; i++) {
        kiln_arena a;
        kiln_rng rng;
        kiln_buf log;
        kiln_err err = {0};
        te_example x = {.n_args = 0};
        random_schedule_stats stats = {0, 0};
        kiln_program *p = NULL;
        kiln_arena_init(&a);
        kiln_rng_init(&rng, kiln_test_seed() * 1000003u + (uint64_t)i);
        kiln_buf_init(&log, &a);
        def->make(&a, &x);
        kiln_schedule *s =
            random_schedule(&a, &rng, x.arg + x.n_inputs, x.n_args - x.n_inputs,
                            i == 0 ? 0 : PRIMITIVES, &log, &stats);
        const kiln_status st =
            kiln_lower(&a, s, x.arg, x.n_args, x.n_inputs, def->name, &p, &err);
        if (st == KILN_OK) {
            check_program(&a, &rng, p);
            kiln_assert_status_ok(kiln_program_optimize(p, NULL, &err), &err);
            check_program(&a, &rng, p);
        } else /* lowering may refuse a draw by name */
            assert_int_equal(st, KILN_ERR_ARG);
        kiln_arena_fini(&a);
    }
}

static void find_profiles(void) {
    kiln_profile machine;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_detect(kiln_test_arena(), &machine, &err), &err);
    for (int i = 0; kiln_profile_at(i) != NULL && n_profiles < MAX_PROFILES; i++) {
        char missing[128];
        if (kiln_profile_runs_on(kiln_profile_at(i), &machine, missing))
            profiles[n_profiles++] = *kiln_profile_at(i);
        else
            print_message("not run here: %s\n", missing);
    }
    for (int i = 0; i < n_profiles; i++)
        print_message("runs here: %s\n", profiles[i].name);
}

static void reports_time(void **state) {
    (void)state;
    print_message("%d objects, %.1f ms each\n", n_compiled, compile_ms / n_compiled);
}

int main(void) {
    find_profiles();
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, compiled_is_interpreted,
                      (void *)(uintptr_t)&te_examples[i]);
    kiln_test_add("reports_time", reports_time, NULL);
    return kiln_test_run("codegen");
}
