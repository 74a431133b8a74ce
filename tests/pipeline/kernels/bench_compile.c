/* How long a configuration takes on its way to a loop program, to an object, to a
 * loaded kernel: medians over random configurations of convolutions, by the template
 * that fits first. Processor time of the thread: other programs do not count. */
#include "compiler/network/network_kernel.h"
#include "pipeline/kernels/op_line.h"
#include "runtime/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_CONFIGS = 200 };

static const char *const lines[] = {"conv C2 56 64 64 3 1", "conv C4 56 64 128 3 2",
                                    "conv C6 28 128 128 3 1", "conv C9 14 256 256 3 1",
                                    "conv C1 224 3 64 7 2"};
enum { N_LINES = sizeof lines / sizeof lines[0] };

static double now_ms(void) {
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int by_value(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void report(const char *what, double *v, size_t n) {
    qsort(v, n, sizeof *v, by_value);
    printf("%-28s median %8.3f ms, quartiles %8.3f %8.3f, worst %8.3f\n", what,
           v[n / 2], v[n / 4], v[n * 3 / 4], v[n - 1]);
}

/* A failure ends the program: nothing was measured. */
static void need(kiln_status st, const kiln_err *err) {
    if (st == KILN_OK)
        return;
    fprintf(stderr, "error: %s\n", err->text);
    exit(1);
}

int main(void) {
    static double apply_ms[N_CONFIGS], program_ms[N_CONFIGS], all_ms[N_CONFIGS];
    kiln_arena a = {0}, s = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_op_work work[N_LINES];
    kiln_rng rng;
    size_t n = 0;
    int n_refused = 0;
    double worst_ms = 0;
    kiln_buf worst;
    kiln_buf_init(&worst, &a);
    kiln_rng_init(&rng, 1);
    need(kiln_profile_detect(&a, &p, &err), &err);
    for (int i = 0; i < N_LINES; i++) {
        kiln_op_line line;
        need(kiln_op_line_of(&a, lines[i], &line, &err), &err);
        need(kiln_op_work_make(&a, &line, &work[i], &err), &err);
    }
    while (n < N_CONFIGS) {
        const kiln_op_work *w = &work[(n + (size_t)n_refused) % N_LINES];
        kiln_arena_reset(&s); /* as a search does: no memory from the system */
        kiln_choice c = {.tmpl = kiln_template_for(&w->workload, &p)};
        kiln_scheduled scheduled;
        kiln_space_init(&c.space, &s);
        need(c.tmpl->space(&w->workload, &p, &c.space, &err), &err);
        c.config = kiln_config_random(&c.space, &rng);
        const double begin = now_ms();
        kiln_program *program;
        kiln_object object;
        kiln_code *code = NULL;
        char text[KILN_LOAD_TEXT] = "";
        kiln_status st = kiln_template_apply(&s, c.tmpl, &w->workload, &p, &c.space,
                                             &c.config, &scheduled, &err);
        const double applied = now_ms();
        if (st == KILN_OK)
            st = kiln_scheduled_program(&s, &scheduled, "k", &program, &err);
        if (st == KILN_ERR_ARG || st == KILN_ERR_LIMIT) {
            kiln_err_clear(&err);
            n_refused++;
            continue;
        }
        need(st, &err);
        const double lowered = now_ms();
        need(kiln_codegen(&s, program, &p, NULL, &object, NULL, &err), &err);
        if (kiln_code_open(object.bytes.p, object.bytes.n, &code, text) != KILN_LOAD_OK)
            need(kiln_fail(&err, KILN_ERR_LIB, "%s", text), &err);
        apply_ms[n] = applied - begin;
        program_ms[n] = lowered - begin;
        all_ms[n] = now_ms() - begin;
        kiln_code_close(code);
        if (all_ms[n] > worst_ms) {
            worst_ms = all_ms[n];
            worst.n = 0;
            kiln_buf_printf(&worst, "%s ", w->name);
            kiln_config_json(&worst, c.tmpl, &c.space, &c.config);
        }
        n++;
    }
    printf("%d random configurations of %d convolutions, %d refused\n", N_CONFIGS,
           (int)N_LINES, n_refused);
    report("to a schedule", apply_ms, n);
    report("to a loop program", program_ms, n);
    report("to a loaded kernel", all_ms, n);
    printf("the slowest: %s\n", worst.p);
    kiln_arena_fini(&s);
    kiln_arena_fini(&a);
    return 0;
}
