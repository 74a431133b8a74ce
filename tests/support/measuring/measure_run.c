#include "tests/support/measuring/measure_run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/kiln_test.h"
#include "pipeline/kernels/op_line.h"

const char *const *kiln_test_worker(kiln_arena *a, const char *name) {
    const char *kiln = getenv("KILN");
    const char **argv = kiln_array(a, const char *, 2);
    if (kiln == NULL) {
        kiln_test_skip("KILN does not name the kiln program: 'make quick'");
        return argv;
    }
    argv[0] = kiln_path_join(a, kiln_path_dir(a, kiln), name);
    return argv;
}

void kiln_test_as_worker_environment(void) {
    assert_int_equal(setenv("ASAN_OPTIONS",
                            "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:"
                            "handle_sigill=0:handle_abort=0",
                            1),
                     0);
}

void kiln_test_native_of(kiln_arena *a, kiln_profile *out) {
    enum { MOST_L3 = 32 << 20 };
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_detect(a, out, &err), &err);
    if (out->l3_bytes > MOST_L3)
        out->l3_bytes = MOST_L3;
}

kiln_measure *kiln_test_measure_open(kiln_arena *a, kiln_measure_options *o) {
    kiln_err err = {0};
    kiln_measure *m = NULL;
    kiln_test_as_worker_environment();
    if (o->profile == NULL) {
        kiln_profile *p = kiln_new(a, kiln_profile);
        kiln_test_native_of(a, p);
        o->profile = p;
    }
    if (o->build_limit_ms == 0)
        o->build_limit_ms = KILN_TEST_PATIENCE_MS;
    if (o->run_limit_ms == 0)
        o->run_limit_ms = KILN_TEST_PATIENCE_MS;
    if (o->runner_argv == NULL)
        o->runner_argv = kiln_test_worker(a, "kiln-runner");
    if (o->builder_argv == NULL)
        o->builder_argv = kiln_test_worker(a, "kiln-builder");
    kiln_assert_status_ok(kiln_measure_open(a, o, &m, &err), &err);
    return m;
}

kiln_test_work kiln_test_measure_add(kiln_arena *a, kiln_measure *m,
                                     const kiln_profile *p, const char *line,
                                     bool weights_cold) {
    kiln_err err = {0};
    kiln_op_line op;
    kiln_test_work w = {.id = -1};
    kiln_assert_status_ok(kiln_op_line_of(a, line, &op, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(a, &op, &w.op, &err), &err);
    kiln_assert_status_ok(
        kiln_measure_add_work(m, w.op.graph, weights_cold, &w.id, &err), &err);
    w.tmpl = kiln_template_for(&w.op.workload, p);
    assert_non_null(w.tmpl);
    kiln_space_init(&w.space, a);
    kiln_assert_status_ok(w.tmpl->space(&w.op.workload, p, &w.space, &err), &err);
    return w;
}

uint64_t kiln_test_measure_guess(const kiln_test_work *w, const kiln_profile *p) {
    const kiln_config c = w->tmpl->guess(&w->op.workload, p, &w->space);
    return kiln_config_index(&w->space, &c);
}

void kiln_test_serve(kiln_arena *a, const char *address, kiln_test_server *out) {
    static const char begin[] = "kiln-runner listens on ";
    const char *const argv[] = {kiln_test_worker(a, "kiln-runner")[0], "--serve",
                                address, NULL};
    const kiln_cpus any = {.n = 0};
    kiln_err err = {0};
    char text[256] = "";
    size_t n = 0;
    kiln_assert_status_ok(kiln_child_start(argv, -1, &any, &out->child, &err), &err);
    for (int ms = 0; ms < KILN_TEST_PATIENCE_MS && strchr(text, '\n') == NULL; ms++) {
        const ssize_t got = read(out->child.out, text + n, sizeof text - 1 - n);
        assert_true(got != 0);
        n += got > 0 ? (size_t)got : 0;
        kiln_test_pause_ms(1);
    }
    assert_memory_equal(text, begin, sizeof begin - 1);
    *strchr(text, '\n') = '\0';
    out->address = kiln_str_dup(a, text + sizeof begin - 1);
}

void kiln_test_server_kill(kiln_test_server *s) {
    bool by_itself;
    int status;
    kiln_child_end(&s->child, &by_itself, &status);
}

void kiln_test_pause_ms(int64_t ms) {
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

void kiln_test_compile_bare(kiln_arena *a, const char *source, const char *to,
                            const char *const *more) {
    const char *cc = getenv("CC") != NULL ? getenv("CC") : "cc";
    const char *argv[24] = {cc,
                            "-O1",
                            "-w",
                            "-c",
                            "-I.",
                            "-ffreestanding",
                            "-fno-stack-protector",
                            "-fno-asynchronous-unwind-tables",
                            "-fcf-protection=none",
                            source,
                            "-o",
                            to};
    kiln_err err = {0};
    size_t n = 12;
    for (; *more != NULL; more++) {
        assert_true(n + 1 < sizeof argv / sizeof argv[0]);
        argv[n++] = *more;
    }
    kiln_process_result r;
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    if (r.code != 0)
        fail_msg("%s: %.*s", to, KILN_STR_ARG(r.err));
}

void kiln_test_compile_kernel_as(kiln_arena *a, const char *source, const char *name,
                                 const char *dir, const char *symbol,
                                 const char *more) {
    const char *const arguments[] = {kiln_format(a, "-DFAULT_%s", name),
                                     kiln_format(a, "-Dkiln_kernel=%s", symbol), more,
                                     NULL};
    kiln_test_compile_bare(a, source, kiln_format(a, "%s/%s.o", dir, name), arguments);
}

void kiln_test_compile_kernel(kiln_arena *a, const char *source, const char *name,
                              const char *dir) {
    kiln_test_compile_kernel_as(a, source, name, dir, "kiln_kernel", NULL);
}
