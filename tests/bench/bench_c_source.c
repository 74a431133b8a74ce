/* Networks as C source beside their packages, for this machine: both are built, the source
 * is compiled by GCC as docs/c-source.md says, what each gives is held against the bounds
 * of the package's self-test, and both are timed in turns on one thread. Prints medians and their
 * ratio; a warning of the compiler or a wrong element ends the program. KILN_NETWORKS=a,b
 * chooses among those below, or names others as `kiln build` does (zoo:resnet50, a file);
 * KILN_ROUNDS=number: so many turns. */
#include "packager/packager.h"
#include "pipeline/pipeline.h"
#include "runtime/kiln.h"
#include "tests/support/measuring/env_of_bench.h"
#include "tests/support/program/c_source.h"

#include "base/files/file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, WARM = 5, MAX_PORTS = 16 };

static const double sample_ms = 0.1;

typedef struct row {
    const char *name, *model;
} row;

#define FILES "../shared/models/files/"

static const row rows[] = {
    {"resnet18", "zoo:resnet18"},
    {"mobilenet_v1", "zoo:mobilenet_v1"},
    {"bert_mini", "zoo:bert_mini"},
    {"dqn", "zoo:dqn"},
    {"lstm_lm", "zoo:lstm_lm"},
    {"mobilenet_v1_025_quant",
     FILES "mobilenet_v1_025_quant_tflite/mobilenet_v1_0.25_128_quant.tflite"},
    {"micro_speech", FILES "micro_speech_int8_tflite/micro_speech_quantized.tflite"},
    {"keyword_svdf", FILES "keyword_svdf_tflite/keyword_scrambled.tflite"},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* Inputs, outputs, workspace. */
typedef void run_source(void *const *memory);

typedef struct subject {
    kiln_arena *a;
    size_t n_in, n_out;
    kiln_tensor in[MAX_PORTS], out[MAX_PORTS];
    kiln_wanted want[MAX_PORTS];
    kiln_session *session;
    run_source *run;
    void *memory[2 * MAX_PORTS + 1];
    int64_t compile_ms;
} subject;

/* ---- the package ----------------------------------------------------------------- */

static kiln_tensor tensor_of(kiln_arena *a, const kiln_package_port *p) {
    kiln_dtype dtype = KILN_F32;
    assert_true(kiln_dtype_parse(kiln_str_from(p->dtype), &dtype));
    const kiln_type t = kiln_type_make(dtype, p->rank, p->dim);
    return kiln_tensor_new(a, &t);
}

static void read_selftest(subject *s, const char *folder, const kiln_package_facts *f) {
    kiln_package_expected expected[MAX_PORTS];
    kiln_err err = {0};
    assert_true(f->n_inputs <= MAX_PORTS && f->n_outputs <= MAX_PORTS);
    kiln_assert_status_ok(
        kiln_package_selftest_read(s->a, folder, f, s->in, expected, &err), &err);
    s->n_in = f->n_inputs;
    s->n_out = f->n_outputs;
    for (size_t i = 0; i < s->n_out; i++) {
        s->want[i] = (kiln_wanted){f->output[i].name, expected[i].value, expected[i].at,
                                   expected[i].bound};
        s->out[i] = tensor_of(s->a, &f->output[i]);
        s->memory[s->n_in + i] = s->out[i].data;
    }
    for (size_t i = 0; i < s->n_in; i++)
        s->memory[i] = s->in[i].data;
}

static void open_package(subject *s, const char *dir, const char *model) {
    const char *archive = kiln_path_join(s->a, dir, "package");
    const char *folder = kiln_path_join(s->a, dir, "unpacked");
    const kiln_test_cli_row build = {
        "package",
        {"build", model, "--profile", "native", "-o", "@package"},
        0,
        NULL,
        NULL};
    kiln_package_facts f;
    kiln_err err = {0};
    char error[KILN_ERROR_TEXT];
    kiln_test_cli_check(s->a, dir, &build);
    kiln_assert_status_ok(kiln_package_unpack_for_now(s->a, archive, folder, &f, &err),
                          &err);
    read_selftest(s, folder, &f);
    const kiln_model *m = kiln_model_open(folder, NULL, error);
    if (m == NULL || (s->session = kiln_session_open(m, NULL, error)) == NULL)
        fail_msg("%s", error);
    for (size_t i = 0; i < s->n_in; i++)
        assert_int_equal(kiln_session_set_input(s->session, (int)i, s->in[i].data), 0);
}

/* ---- the source ------------------------------------------------------------------ */

/* Calls it with an array, whatever it takes. */
static void write_caller(const subject *s, const char *path) {
    const size_t n = s->n_in + s->n_out + 1;
    kiln_buf text;
    kiln_err err = {0};
    kiln_buf_init(&text, s->a);
    kiln_buf_puts(&text, "#include \"net.h\"\n"
                         "const size_t workspace_bytes = NET_WORKSPACE_BYTES;\n"
                         "void call(void *const *memory);\n"
                         "void call(void *const *memory) {\n    net_run(");
    for (size_t i = 0; i < n; i++)
        kiln_buf_printf(&text, "%smemory[%zu]", i > 0 ? ", " : "", i);
    kiln_buf_puts(&text, ");\n}\n");
    kiln_assert_status_ok(kiln_file_write(path, text.p, text.n, &err), &err);
}

/* A warning is an error: there must be none. */
static void compile(subject *s, const char *folder, const char *library) {
    const char *caller = kiln_path_join(s->a, folder, "caller.c");
    const char *const argv[] = {"gcc",
                                "-std=c99",
                                "-O3",
                                "-march=native",
                                "-Wall",
                                "-Wextra",
                                "-Wconversion",
                                "-Werror",
                                "-fPIC",
                                "-shared",
                                "-o",
                                library,
                                kiln_path_join(s->a, folder, "net.c"),
                                kiln_path_join(s->a, folder, "net_params.S"),
                                kiln_format(s->a, "-Wa,-I%s", folder),
                                caller,
                                NULL};
    const int64_t begin = kiln_now_ns();
    write_caller(s, caller);
    kiln_test_compile(s->a, argv);
    s->compile_ms = (kiln_now_ns() - begin) / 1000000;
}

/* POSIX: what dlsym returns is a function's address, too. */
_Static_assert(sizeof(void *) == sizeof(run_source *), "pointers to functions");

static void *find(void *library, const char *name) {
    void *found = dlsym(library, name);
    assert_non_null(found);
    return found;
}

static void open_source(subject *s, const char *dir, const char *model) {
    const kiln_test_network of = {"net", NULL, model, {"--params", "blob"}};
    const char *folder = kiln_test_write_network(s->a, dir, &of, "native", "c");
    const char *path = kiln_path_join(s->a, dir, "source.so");
    compile(s, folder, path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        fail_msg("%s", dlerror());
    void *call = find(library, "call");
    memcpy(&s->run, &call, sizeof call);
    const size_t *bytes = find(library, "workspace_bytes");
    const int64_t n_bytes = (int64_t)*bytes + 1;
    const kiln_type workspace = kiln_type_make(KILN_U8, 1, &n_bytes);
    s->memory[s->n_in + s->n_out] = kiln_tensor_new(s->a, &workspace).data;
}

/* ---- both ------------------------------------------------------------------------ */

static void run_package(const subject *s) {
    if (kiln_session_run(s->session) != 0)
        fail_msg("%s", kiln_session_error(s->session));
}

/* By the self-test's bounds; data: of each output. */
static void check(const subject *s, const char *who, void *const *data) {
    kiln_check c = {.name = who, .group = "", .reason = ""};
    kiln_err err = {0};
    for (size_t i = 0; i < s->n_out; i++) {
        const kiln_tensor got = {s->out[i].type, data[i]};
        kiln_assert_status_ok(kiln_check_wanted(s->a, &c, &got, &s->want[i],
                                                &kiln_tolerance_network, &err),
                              &err);
    }
    if (c.outcome != KILN_PASSED)
        fail_msg("%s: %s", who, c.reason);
}

static void check_both(const subject *s) {
    void *data[MAX_PORTS];
    run_package(s);
    for (size_t i = 0; i < s->n_out; i++) {
        const void *out = kiln_session_output(s->session, (int)i);
        memcpy(&data[i], &out, sizeof out);
    }
    check(s, "the package", data);
    s->run(s->memory);
    check(s, "the source", s->memory + s->n_in);
}

static void run(const subject *s, bool is_source, int times) {
    for (int i = 0; i < times; i++)
        if (is_source)
            s->run(s->memory);
        else
            run_package(s);
}

/* Of one run, by so many after one that nobody counts. */
static double time_ms(const subject *s, bool is_source, int times) {
    run(s, is_source, 1);
    const int64_t begin = kiln_now_ns();
    run(s, is_source, times);
    return (double)(kiln_now_ns() - begin) * 1e-6 / times;
}

/* How many of the package's runs take longer than clocks are wrong by. */
static int times_of(const subject *s) {
    const double ms = time_ms(s, false, WARM);
    return ms < sample_ms ? (int)(sample_ms / ms) + 1 : 1;
}

static int by_value(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void measure(const char *name, const char *model) {
    const int rounds = kiln_bench_number("KILN_ROUNDS", ROUNDS);
    kiln_arena a = {0};
    kiln_err err = {0};
    const char *dir = NULL;
    kiln_arena_init(&a);
    kiln_assert_status_ok(kiln_dir_temp(&a, &dir, &err), &err);
    subject s = {.a = &a};
    double *ms[2] = {kiln_array(&a, double, (size_t)rounds),
                     kiln_array(&a, double, (size_t)rounds)};
    open_package(&s, dir, model);
    open_source(&s, dir, model);
    check_both(&s);
    const int times = times_of(&s);
    for (int i = -WARM; i < rounds; i++)
        for (int side = 0; side < 2; side++) {
            const double took = time_ms(&s, side == 1, times);
            if (i >= 0)
                ms[side][i] = took;
        }
    for (int side = 0; side < 2; side++)
        qsort(ms[side], (size_t)rounds, sizeof(double), by_value);
    const double package = ms[0][rounds / 2], source = ms[1][rounds / 2];
    printf("%-24s %10.4f %10.4f %7.3f %10.4f %10.4f %9.1f\n", name, package, source,
           source / package, ms[0][0], ms[1][0], (double)s.compile_ms * 1e-3);
    fflush(stdout);
    kiln_session_close(s.session);
    kiln_arena_fini(&a);
}

static const char *model_of(const char *name) {
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].model;
    return name;
}

int main(void) {
    const char *chosen = getenv("KILN_NETWORKS");
    kiln_str rest = kiln_str_from(chosen != NULL ? chosen : ""), name;
    if (getenv("KILN") == NULL) {
        fprintf(stderr, "KILN must name the program: make bench TEST=bench_c_source\n");
        return 1;
    }
    printf("%-24s %10s %10s %7s %10s %10s %9s\n", "median of turns, ms", "package",
           "source", "ratio", "least", "least", "gcc, s");
    while (chosen != NULL && kiln_str_cut(&rest, ',', &name)) {
        const char *one = kiln_str_dupv(kiln_test_arena(), name);
        measure(one, model_of(one));
    }
    for (int i = 0; chosen == NULL && i < N_ROWS; i++) {
        if (strncmp(rows[i].model, "zoo:", 4) == 0 || kiln_file_exists(rows[i].model))
            measure(rows[i].name, rows[i].model);
        else
            printf("%-24s '%s' is not here\n", rows[i].name, rows[i].model);
    }
    return 0;
}
