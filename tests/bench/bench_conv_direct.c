/* From a configuration to code, for the direct convolution's template: 200 random
 * points of the spaces of twelve convolutions of ResNet-18. Prints the median time to
 * the loop program that features are read from (apply and lower), to the program that
 * code is made of, and to a loaded kernel, in processor time; and what was refused. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "compiler/codegen/codegen.h"
#include "compiler/schedule/template.h"
#include "runtime/loader.h"
#include "tests/support/kiln_test.h"

enum { N_POINTS = 200 };

typedef struct shape {
    int64_t h, ic, oc, k, s;
} shape;

static const shape shapes[] = {
    {224, 3, 64, 7, 2},   {56, 64, 64, 3, 1},   {56, 64, 64, 1, 1},
    {56, 64, 128, 3, 2},  {56, 64, 128, 1, 2},  {28, 128, 128, 3, 1},
    {28, 128, 256, 3, 2}, {28, 128, 256, 1, 2}, {14, 256, 256, 3, 1},
    {14, 256, 512, 3, 2}, {14, 256, 512, 1, 2}, {7, 512, 512, 3, 1}};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

typedef struct times {
    double lowered_us[N_POINTS], program_us[N_POINTS], loaded_ms[N_POINTS];
    int n, n_refused;
} times;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return a < b ? -1 : a > b;
}

static void report(const char *what, const char *unit, double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    printf("  %-32s median %8.1f %s, 90%% %8.1f, most %8.1f\n", what, v[n / 2], unit,
           v[n * 9 / 10], v[n - 1]);
}

static kiln_graph *graph_of(kiln_arena *a, const shape *s) {
    kiln_graph *g = NULL;
    kiln_err err = {0};
    const long long h = s->h, k = s->k, p = s->k / 2;
    const char *text = kiln_format(
        a,
        "graph \"conv\" { input %%x : f32[1,%lld,%lld,%lld] "
        "input %%w : f32[%lld,%lld,%lld,%lld] input %%b : f32[%lld] "
        "%%y = conv(%%x, %%w, %%b) {strides=[%lld,%lld], pads=[%lld,%lld,%lld,%lld]} "
        "%%z = relu(%%y) output %%z }",
        (long long)s->ic, h, h, (long long)s->oc, (long long)s->ic, k, k,
        (long long)s->oc, (long long)s->s, (long long)s->s, p, p, p, p);
    kiln_assert_status_ok(kiln_graph_parse(a, kiln_str_from(text), "shape", &g, &err),
                          &err);
    return g;
}

/* One point; the arena is scratch, its blocks warm. */
static void measure_point(kiln_arena *a, const kiln_workload *w, const kiln_profile *p,
                          const kiln_space *s, const kiln_config *c, times *t) {
    kiln_err err = {0};
    kiln_scheduled x;
    kiln_program *program;
    kiln_object object;
    kiln_code *code = NULL;
    char text[KILN_LOAD_TEXT];
    const kiln_template *tmpl = &kiln_template_conv_direct;
    const double begin = now_us();
    kiln_status st = kiln_template_apply(a, tmpl, w, p, s, c, &x, &err);
    if (st == KILN_OK)
        st = kiln_lower(a, x.schedule, x.te.arg, x.te.n_args, x.te.n_inputs, "k",
                        &program, &err);
    const double lowered = now_us();
    if (st == KILN_OK)
        st = kiln_program_optimize(program, &x.loop, &err);
    const double optimised = now_us();
    if (st == KILN_ERR_ARG || st == KILN_ERR_LIMIT) {
        t->n_refused++;
        return;
    }
    kiln_assert_status_ok(st, &err);
    kiln_assert_status_ok(kiln_codegen(a, program, p, NULL, &object, NULL, &err), &err);
    if (kiln_code_open(object.bytes.p, object.bytes.n, &code, text) != KILN_LOAD_OK)
        fail_msg("%s", text);
    assert_non_null(kiln_code_kernel(code, "k"));
    const double loaded = now_us();
    kiln_code_close(code);
    t->lowered_us[t->n] = lowered - begin;
    t->program_us[t->n] = optimised - begin;
    t->loaded_ms[t->n++] = (loaded - begin) * 1e-3;
}

static void measure(void **state) {
    const char *name = *state;
    static times t;
    kiln_profile p;
    kiln_err err = {0};
    kiln_rng rng;
    t = (times){.n = 0};
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), name, &p, &err), &err);
    kiln_arena scratch = {0};
    for (int i = 0; i < N_POINTS; i++) {
        kiln_arena a = {0};
        kiln_workload w;
        kiln_space s;
        const kiln_graph *g = graph_of(&a, &shapes[i % N_SHAPES]);
        kiln_assert_status_ok(kiln_workload_of(g, &w, &err), &err);
        kiln_space_init(&s, &a);
        kiln_assert_status_ok(kiln_template_conv_direct.space(&w, &p, &s, &err), &err);
        const kiln_config c = kiln_config_random(&s, &rng);
        kiln_arena_reset(&scratch);
        measure_point(&scratch, &w, &p, &s, &c, &t);
        kiln_arena_fini(&a);
    }
    kiln_arena_fini(&scratch);
    printf("%s: %d configurations, %d refused\n", name, t.n, t.n_refused);
    report("to the lowered program", "us", t.lowered_us, t.n);
    report("to the program for code", "us", t.program_us, t.n);
    report("to the loaded kernel", "ms", t.loaded_ms, t.n);
}

int main(void) {
    static char avx512[] = "x86-avx512", avx2[] = "x86-avx2";
    kiln_test_add("avx512", measure, avx512);
    kiln_test_add("avx2", measure, avx2);
    return kiln_test_run("conv_direct");
}
