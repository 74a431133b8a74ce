/* Compiled equals interpreted: the same loop program, as lowered and after the loop
 * passes, through LLVM and the loader, and through the interpreter, for each profile
 * that runs here, other architectures in emulators. Outputs, workspace and scratch start
 * as NaN bytes, canaries stand around every buffer, no object imports anything. Programs with
 * a parallel loop run on one, two and three threads.
 * KILN_SCHEDULES=n draws n schedules of each expression.
 *
 * Tolerance: the only differences are contracted multiply-adds and functions such as
 * exp (4 ulp). With |x| <= 1 and at most k = 98 terms a sum is within k * 2^-24 *
 * sum|ab| <= 98 * 98 * 6e-8 = 6e-4; integers are exact. */
#include "compiler/codegen/codegen.h"
#include "compiler/schedule/schedule.h"
#include "runtime/elf.h"
#include "tests/support/kernel/code_run.h"
#include "tests/support/kiln_test.h"
#include "tests/support/random/random_schedule.h"
#include "tests/support/kernel/te_call.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCHEDULES_EACH = 2, SCHEDULES_SOAK = 18, PRIMITIVES = 14, MAX_PROFILES = 16 };

static double compile_ms;
static int n_compiled;
static int n_run[MAX_PROFILES], n_run_threads[4];

/* ---- arguments ------------------------------------------------------------------- */

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

static void find_parallel(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found =
        *found || (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_PARALLEL);
}

static bool is_parallel(const kiln_stmt *s) {
    bool found = false;
    kiln_stmt_visit(s, find_parallel, &found);
    return found;
}

static void run_compiled(kiln_arena *a, const kiln_program *p, int profile,
                         void *const *want) {
    const kiln_profile *prof = code_profile_at(profile);
    void *tensor[16];
    const char *what = kiln_format(a, "%s on %s", p->name, prof->name);
    const double begin = now_ms();
    code_kernel *k = code_compile(a, p, prof);
    compile_ms += now_ms() - begin;
    n_compiled++;
    n_run[profile]++;
    for (int i = 0; i < p->n_args; i++) {
        const kiln_type t = type_of(p->arg[i]);
        tensor[i] = i < p->n_inputs ? want[i] : kiln_tensor_new(a, &t).data;
    }
    for (int threads = 1; threads <= (is_parallel(p->body) ? 3 : 1); threads++) {
        code_call_threads(k, tensor, threads, what);
        n_run_threads[threads]++;
        for (int i = p->n_inputs; i < p->n_args; i++)
            compare(a, p->arg[i], tensor[i], want[i],
                    kiln_format(a, "%s, %d threads", what, threads));
    }
    code_close(k);
}

/* Where there is no emulator one sees at least that nothing is imported and every
 * relocation is known. */
static void link_for(kiln_arena *a, const kiln_program *p, const kiln_profile *prof) {
    kiln_err err = {0};
    kiln_object o;
    kiln_elf elf;
    char text[KILN_LOAD_TEXT] = "";
    kiln_assert_status_ok(kiln_codegen(a, p, prof, NULL, &o, NULL, &err), &err);
    const int machine = kiln_arch_of(prof->arch)->elf_machine;
    assert_int_equal(kiln_elf_open(&elf, o.bytes.p, o.bytes.n, machine, text),
                     KILN_LOAD_OK);
    /* Pages of 4096: what low bits of addresses mean must hold at the image. */
    const size_t bytes = elf.image_bytes;
    unsigned char *raw = kiln_arena_alloc(a, bytes + KILN_ELF_PAGE);
    const size_t skip = KILN_ELF_PAGE - (size_t)((uintptr_t)raw % KILN_ELF_PAGE);
    if (kiln_elf_link(&elf, raw + skip) != KILN_LOAD_OK)
        fail_msg("%s on %s: %s", p->name, prof->name, text);
    assert_true(kiln_elf_find(&elf, p->name) >= 0);
    kiln_elf_fini(&elf);
}

/* One profile of each architecture is enough. */
static void link_for_all(kiln_arena *a, const kiln_program *p) {
    for (int i = 0; kiln_profile_at(i) != NULL; i++)
        if (i == 0 || kiln_profile_at(i)->arch != kiln_profile_at(i - 1)->arch)
            link_for(a, p, kiln_profile_at(i));
}

static void check_program(kiln_arena *a, kiln_rng *rng, const kiln_program *p,
                          bool has_variants) {
    void *arg[16];
    kiln_err err = {0};
    for (int i = 0; i < p->n_args; i++) {
        const kiln_type t = type_of(p->arg[i]);
        arg[i] = kiln_tensor_new(a, &t).data;
        if (i < p->n_inputs)
            fill_random(a, rng, &t, arg[i]);
    }
    kiln_assert_status_ok(kiln_program_run(a, p, arg, NULL, &err), &err);
    for (int i = 0; code_profile_at(i) != NULL; i++)
        if (has_variants || !code_is_variant(code_profile_at(i)))
            run_compiled(a, p, i, arg);
    if (code_missing_at(0) != NULL)
        link_for_all(a, p);
}

static void compiled_is_interpreted(void **state) {
    const te_example_def *def = *state;
    int64_t n = getenv("KILN_SOAK") != NULL ? SCHEDULES_SOAK : SCHEDULES_EACH;
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
            random_cpu_schedule(&a, &rng, x.arg + x.n_inputs, x.n_args - x.n_inputs,
                                i == 0 ? 0 : PRIMITIVES, &log, &stats);
        if (i % 2 == 1) /* what may be refused: the draw decides */
            for (size_t k = 0; k < s->stage.n; k++)
                if (s->stage.v[k]->leaf.n > 0)
                    (void)kiln_parallel(s->stage.v[k], s->stage.v[k]->leaf.v[0], NULL);
        const kiln_status st =
            kiln_lower(&a, s, x.arg, x.n_args, x.n_inputs, def->name, &p, &err);
        if (st == KILN_OK) {
            /* As lowered, but for virtual threads, which no CPU has. */
            kiln_assert_status_ok(kiln_loop_pass_vthread.run(p, NULL, &err), &err);
            check_program(&a, &rng, p, n == SCHEDULES_SOAK);
            kiln_assert_status_ok(kiln_program_optimize(p, NULL, &err), &err);
            check_program(&a, &rng, p, i == 0 || n == SCHEDULES_SOAK);
        } else /* lowering may refuse a draw by name */
            assert_int_equal(st, KILN_ERR_ARG);
        kiln_arena_fini(&a);
    }
}

/* Lanes of every gather in the code, after LLVM's passes. */
static void check_gathers(kiln_arena *a, const kiln_program *p) {
    static const char word[] = "masked.gather.v";
    const kiln_codegen_options o = {.want_ir = true};
    kiln_codegen_text text = {.ir = {.n = 0}};
    kiln_object object;
    kiln_profile profile;
    kiln_err err = {0};
    int n_gathers = 0;
    kiln_assert_status_ok(kiln_profile_find(a, "x86-avx512", &profile, &err), &err);
    kiln_assert_status_ok(kiln_codegen(a, p, &profile, &o, &object, &text, &err), &err);
    for (const char *at = strstr(text.ir.p, word); at != NULL; at = strstr(at, word)) {
        at += sizeof word - 1;
        const long n = strtol(at, NULL, 10);
        assert_true(n > 0 && (n & (n - 1)) == 0);
        n_gathers++;
    }
    assert_true(n_gathers > 0);
}

/* Vectors that no register holds are widened by LLVM: 32 lanes of 19 have eight that
 * are nobody's, and a gather of those may be no instruction (seed 70000556 of the
 * random graphs). */
static void gathers_any_number_of_lanes(void **state) {
    static const int lanes[] = {3, 5, 7, 11, 19, 21, 33, 37};
    (void)state;
    for (size_t i = 0; i < sizeof lanes / sizeof lanes[0]; i++) {
        kiln_arena a = {0};
        kiln_rng rng;
        kiln_err err = {0};
        kiln_program *p = NULL;
        const int n = lanes[i];
        const char *text = kiln_format(
            &a,
            "program gathers(x: f32[120], m: f32[40], out y: f32[40]) {\n"
            "  for j in 0 .. +40 {\n    y[j] = 0f\n  }\n"
            "  y[ramp(0, 1, %d)] = x[ramp(1, 3, %d)] where (m[ramp(0, 1, %d)] < "
            "x%d(0f))\n}\n",
            n, n, n, n);
        kiln_rng_init(&rng, kiln_test_seed());
        kiln_assert_status_ok(
            kiln_program_parse(&a, kiln_str_from(text), "gathers", &p, &err), &err);
        check_program(&a, &rng, p, true);
        check_gathers(&a, p);
        kiln_arena_fini(&a);
    }
}

/* ---- lanes near each other ------------------------------------------------------- */

/* An index of n lanes beside a loop's variable, and how far its lanes reach. */
static const char *draw_pattern(kiln_arena *a, kiln_rng *rng, int n, int64_t *high) {
    const int64_t c = 1 + (int64_t)kiln_rng_range(rng, 0, 4);
    const int64_t first = (int64_t)kiln_rng_range(rng, 0, 6);
    switch (kiln_rng_range(rng, 0, 3)) {
    case 0: /* forwards */
        *high = first + (n - 1) * c;
        return kiln_format(a, "ramp(i*3 + %d, %d, %d)", (int)first, (int)c, n);
    case 1: /* backwards */
        *high = first + (n - 1) * c;
        return kiln_format(a, "x%d(i*3 + %d) - ramp(0, 1, %d)*x%d(%d)", n, (int)*high,
                           n, n, (int)c);
    case 2: /* each several times */
        *high = first + (n - 1) / c;
        return kiln_format(a, "x%d(i*3 + %d) + ramp(0, 1, %d) // x%d(%d)", n,
                           (int)first, n, n, (int)c);
    default: /* over and over */
        *high = first + (n - 1 < c - 1 ? n - 1 : c - 1);
        return kiln_format(a, "x%d(i*3) + (ramp(%d, 1, %d) %% x%d(%d) + x%d(%d))", n,
                           (int)(c * first), n, n, (int)c, n, (int)first);
    }
}

/* What is read is no larger than it must be: whoever reads behind it is seen. */
static void lanes_near_each_other(void **state) {
    static const int lanes[] = {3, 4, 6, 8, 12, 16, 19, 32, 64};
    static const char *const dtypes[] = {"f32", "f64", "i8", "i32"};
    (void)state;
    for (int i = 0; i < 40; i++) {
        kiln_arena a = {0};
        kiln_rng rng;
        kiln_err err = {0};
        kiln_program *p = NULL;
        int64_t high = 0;
        kiln_rng_init(&rng, kiln_test_seed() * 7919u + (uint64_t)i);
        const int n = lanes[kiln_rng_range(&rng, 0, 8)];
        const char *dtype = dtypes[i % 4];
        const char *index = draw_pattern(&a, &rng, n, &high);
        const char *text = kiln_format(
            &a,
            "program near(x: %s[%d], out y: %s[%d]) {\n"
            "  for i in 0 .. +3 {\n    y[ramp(i*%d, 1, %d)] = x[%s]\n  }\n}\n",
            dtype, (int)(high + 7), dtype, 3 * n, n, n, index);
        kiln_assert_status_ok(
            kiln_program_parse(&a, kiln_str_from(text), "near", &p, &err), &err);
        check_program(&a, &rng, p, true);
        kiln_arena_fini(&a);
    }
}

/* Anywhere in a window that is as long as the clamp lets it be, and no longer. */
static void lanes_in_a_window(void **state) {
    static const int lanes[] = {2, 4, 8, 16, 32};
    static const char *const dtypes[] = {"f32", "i32", "f64"};
    (void)state;
    for (int i = 0; i < 40; i++) {
        kiln_arena a = {0};
        kiln_rng rng;
        kiln_err err = {0};
        kiln_program *p = NULL;
        kiln_rng_init(&rng, kiln_test_seed() * 6007u + (uint64_t)i);
        const int n = lanes[kiln_rng_range(&rng, 0, 4)];
        const int low = (int)kiln_rng_range(&rng, 0, 3);
        const int high = low + (int)kiln_rng_range(&rng, 0, i % 2 == 0 ? 20 : 100);
        const char *dtype = dtypes[i % 3 == 2 ? 2 : i % 2];
        const char *place = kiln_format(&a, "i64(at[ramp(i*%d, 1, %d)])", n, n);
        const char *clamped = i % 3 == 0
                                  ? kiln_format(&a, "min(max(%s, x%d(%d)), x%d(%d))",
                                                place, n, low, n, high)
                                  : kiln_format(&a, "max(min(%s, x%d(%d)), x%d(%d))",
                                                place, n, high, n, low);
        const char *text = kiln_format(
            &a,
            "program window(x: %s[%d], at: i32[%d], out y: %s[%d]) {\n"
            "  for i in 0 .. +3 {\n    y[ramp(i*%d, 1, %d)] = x[x%d(i*3) + %s]\n"
            "  }\n}\n",
            dtype, high + 7, 3 * n, dtype, 3 * n, n, n, n, clamped);
        kiln_assert_status_ok(
            kiln_program_parse(&a, kiln_str_from(text), "window", &p, &err), &err);
        check_program(&a, &rng, p, true);
        kiln_arena_fini(&a);
    }
}

/* ---- one program, several times -------------------------------------------------- */

enum { N_COMPILERS = 3, N_TIMES = 4 };

typedef struct compiler {
    const te_example_def *def;
    kiln_arena arena;
    bool failed;
    kiln_str bytes[N_TIMES];
} compiler;

/* Each on another profile than the one before, so that what LLVM keeps is shared out.
 */
static void *compile_all(void *user) {
    static const char *const name[2] = {"x86-avx512", "x86-baseline"};
    compiler *c = user;
    kiln_arena *a = &c->arena;
    kiln_arena_init(a);
    for (int i = 0; i < N_TIMES; i++) {
        te_example x = {.n_args = 0};
        kiln_program *p = NULL;
        kiln_object o;
        kiln_err err = {0};
        kiln_profile prof;
        c->def->make(a, &x);
        kiln_schedule *s =
            kiln_schedule_new(a, x.arg + x.n_inputs, x.n_args - x.n_inputs);
        if (kiln_profile_find(a, name[i % 2], &prof, &err) != KILN_OK ||
            kiln_lower(a, s, x.arg, x.n_args, x.n_inputs, "f", &p, &err) != KILN_OK ||
            kiln_program_optimize(p, NULL, &err) != KILN_OK ||
            kiln_codegen(a, p, &prof, NULL, &o, NULL, &err) != KILN_OK)
            c->failed = true;
        else
            c->bytes[i] = o.bytes;
    }
    return NULL;
}

static void same_bytes_in_every_thread(void **state) {
    static compiler c[N_COMPILERS];
    pthread_t t[N_COMPILERS];
    (void)state;
    for (int i = 0; i < N_COMPILERS; i++) {
        c[i].def = &te_examples[0];
        assert_int_equal(pthread_create(&t[i], NULL, compile_all, &c[i]), 0);
    }
    for (int i = 0; i < N_COMPILERS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < N_COMPILERS; i++) {
        assert_false(c[i].failed);
        for (int k = 0; k < N_TIMES; k++)
            assert_true(kiln_str_eq(c[i].bytes[k], c[0].bytes[k % 2]));
    }
    assert_false(kiln_str_eq(c[0].bytes[0], c[0].bytes[1]));
    for (int i = 0; i < N_COMPILERS; i++)
        kiln_arena_fini(&c[i].arena);
}

static void reports_time(void **state) {
    (void)state;
    print_message("%d objects, %.1f ms each\n", n_compiled, compile_ms / n_compiled);
}

/* What does not run here is said by name, not passed over. */
static void every_profile_ran(void **state) {
    (void)state;
    for (int i = 0; code_profile_at(i) != NULL; i++) {
        print_message("%d kernels ran for %s\n", n_run[i], code_profile_at(i)->name);
        assert_true(n_run[i] > 0);
    }
    for (int threads = 1; threads < 4; threads++) {
        print_message("%d calls on %d threads\n", n_run_threads[threads], threads);
        assert_true(n_run_threads[threads] > 0);
    }
    if (code_missing_at(0) == NULL)
        return;
    for (int i = 0; code_missing_at(i) != NULL; i++)
        print_message("skipped: %s\n", code_missing_at(i));
    skip();
}

int main(void) {
    for (size_t i = 0; i < n_te_examples; i++)
        kiln_test_add(te_examples[i].name, compiled_is_interpreted,
                      (void *)(uintptr_t)&te_examples[i]);
    kiln_test_add("gathers_any_number_of_lanes", gathers_any_number_of_lanes, NULL);
    kiln_test_add("lanes_near_each_other", lanes_near_each_other, NULL);
    kiln_test_add("lanes_in_a_window", lanes_in_a_window, NULL);
    kiln_test_add("same_bytes_in_every_thread", same_bytes_in_every_thread, NULL);
    kiln_test_add("reports_time", reports_time, NULL);
    kiln_test_add("every_profile_ran", every_profile_ran, NULL);
    return kiln_test_run("codegen");
}
