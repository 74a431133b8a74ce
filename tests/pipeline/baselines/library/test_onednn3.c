/* A file where oneDNN 3's should be: kiln-onednn3 refuses what it cannot use, by name,
 * and nothing falls back to Debian's. The files are compiled here: libraries that have
 * the names of kiln's table, or all but one, and say what version they are. */
#include "tests/support/measuring/described.h"
#include "tests/support/measuring/fake_baseline.h"

#include <stdlib.h>
#include <string.h>

static const char *const symbols[] = {
#define KILN_ONEDNN3(result, name, parameters) "dnnl_" #name,
#include "pipeline/baselines/library/onednn3.def"
#undef KILN_ONEDNN3
};
enum { N_SYMBOLS = sizeof symbols / sizeof symbols[0], OPENMP = 2, SYCL = 256 };

static const kiln_baseline *onednn(void) {
    const kiln_baseline *const *list;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_baselines_parse(kiln_test_arena(), "onednn",
                                               KILN_BASELINE_OPERATORS, &list, &err),
                          &err);
    return list[0];
}

static void skip_where_it_is_not_built(void) {
    kiln_err err = {.status = KILN_OK};
    char *program;
    if (kiln_program_find(kiln_test_arena(), "kiln-onednn3", &program, &err) != KILN_OK)
        kiln_test_skip("no wheel of oneDNN 3 is for this machine: %s", err.text);
}

/* ---- libraries ------------------------------------------------------------------- */

typedef struct fake {
    int major, minor, patch, runtime;
    const char *without; /* a symbol that it lacks; NULL: none */
} fake;

static const char *source_of(kiln_arena *a, const fake *f) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_buf_printf(&text,
                    "typedef struct { int v[3]; const char *hash; unsigned cpu, gpu; } "
                    "version;\n"
                    "static const version own = {{%d, %d, %d}, \"\", %d, 0};\n",
                    f->major, f->minor, f->patch, f->runtime);
    for (int i = 0; i < N_SYMBOLS; i++) {
        if (f->without != NULL && strcmp(symbols[i], f->without) == 0)
            continue;
        if (strcmp(symbols[i], "dnnl_version") == 0)
            kiln_buf_puts(&text,
                          "const version *dnnl_version(void) { return &own; }\n");
        else
            kiln_buf_printf(&text, "int %s(void) { return 3; }\n", symbols[i]);
    }
    return text.p;
}

static void compile(kiln_arena *a, const char *source, const char *to) {
    const char *cc = getenv("CC") != NULL ? getenv("CC") : "cc";
    const char *argv[] = {cc, "-shared", "-fPIC", "-w", source, "-o", to, NULL};
    const kiln_process_options o = {.argv = argv,
                                    .time_limit_ms = KILN_TEST_PATIENCE_MS};
    kiln_process_result r;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
    if (r.end != KILN_PROCESS_EXITED || r.code != 0)
        fail_msg("%.*s", KILN_STR_ARG(r.err));
}

/* An environment with such a library; NULL: with a file that is none. */
static const char *environment_with(const fake *f) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    const char *dir;
    kiln_assert_status_ok(kiln_dir_temp(a, &dir, &err), &err);
    const char *lib = kiln_path_join(a, dir, "lib");
    const char *library = kiln_path_join(a, lib, "libdnnl.so.3");
    const char *source = kiln_path_join(a, dir, "fake.c");
    kiln_assert_status_ok(kiln_dir_make(lib, &err), &err);
    const kiln_str text =
        kiln_str_from(f != NULL ? source_of(a, f) : "this is no library\n");
    kiln_assert_status_ok(
        kiln_file_write(f != NULL ? source : library, text.p, text.n, &err), &err);
    if (f != NULL)
        compile(a, source, library);
    return dir;
}

/* ---- refused --------------------------------------------------------------------- */

typedef struct row {
    const char *name;
    fake library;
    const char *text[2]; /* both are in the message */
} row;

static row rows[] = {
    {"another_major_version",
     {2, 7, 1, OPENMP, NULL},
     {"/lib/libdnnl.so.3' is oneDNN 2.7.1; 3.x is needed",
      "without that file Debian's"}},
    {"a_later_major_version",
     {4, 0, 0, OPENMP, NULL},
     {"/lib/libdnnl.so.3' is oneDNN 4.0.0; 3.x is needed", "'onednn'"}},
    {"other_threads",
     {3, 9, 0, SYCL, NULL},
     {"/lib/libdnnl.so.3' has no threads by OpenMP (its runtime is 256)", "'onednn'"}},
    {"no_version",
     {3, 2, 0, OPENMP, "dnnl_version"},
     {"/lib/libdnnl.so.3' has no 'dnnl_version'", "'onednn'"}},
    {"a_missing_symbol",
     {3, 2, 0, OPENMP, "dnnl_softmax_forward_primitive_desc_create"},
     {"/lib/libdnnl.so.3' has no 'dnnl_softmax_forward_primitive_desc_create'",
      "'onednn'"}},
    {"the_last_symbol_missing",
     {3, 2, 0, OPENMP, "dnnl_primitive_destroy"},
     {"/lib/libdnnl.so.3' has no 'dnnl_primitive_destroy'", "'onednn'"}},
};

static void assert_says(const char *message, const char *text) {
    if (strstr(message, text) == NULL)
        fail_msg("'%s' is not in: %s", text, message);
}

/* Opens a small operator there; the status. */
static kiln_status open_at(kiln_arena *a, const char *dir, kiln_err *err) {
    kiln_test_described d;
    kiln_baseline_session s;
    kiln_assert_status_ok(
        kiln_test_describe("max_pool x in=f32[1,1,2,2] kernel=2,2", &d, err), err);
    const kiln_baseline_op_job job = {
        .dir = dir, .op = &d.op, .threads = 1, .limit_ms = KILN_TEST_PATIENCE_MS};
    return onednn()->open_op(onednn(), a, &job, &s, err);
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK}, open_err = {.status = KILN_OK};
    kiln_baseline_here here;
    skip_where_it_is_not_built();
    const char *dir = environment_with(&r->library);
    kiln_assert_fails(onednn()->find(onednn(), &a, dir, &here, &err), KILN_ERR_LIB,
                      &err, r->text[0]);
    assert_says(err.text, r->text[1]);
    kiln_assert_fails(open_at(&a, dir, &open_err), KILN_ERR_LIB, &open_err,
                      "the process 'kiln-onednn3' ended with code 1; it said last:\n");
    assert_says(open_err.text, r->text[0]);
    kiln_arena_fini(&a);
}

static void what_is_no_library(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    skip_where_it_is_not_built();
    const char *dir = environment_with(NULL);
    kiln_assert_fails(onednn()->find(onednn(), &a, dir, &here, &err), KILN_ERR_LIB,
                      &err, "/lib/libdnnl.so.3' cannot be opened: ");
    kiln_arena_fini(&a);
}

/* ---- taken ----------------------------------------------------------------------- */

static void one_with_all_symbols(void **state) {
    static const fake whole = {3, 2, 1, OPENMP, NULL};
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_baseline_here here;
    skip_where_it_is_not_built();
    const char *dir = environment_with(&whole);
    kiln_assert_status_ok(onednn()->find(onednn(), &a, dir, &here, &err), &err);
    assert_true(here.is_here);
    assert_string_equal(here.version, "3.2.1 (of 2023)");
    assert_says(here.hint, "onednn2 has Winograd's convolutions");
    /* All that it does is to say that it has nothing. */
    kiln_assert_fails(open_at(&a, dir, &err), KILN_ERR_LIB, &err,
                      "no such operator in oneDNN (opening the processor)");
    kiln_arena_fini(&a);
}

/* The wheel without the program that opens it: no falling back to Debian's. */
static void a_missing_program(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK}, open_err = {.status = KILN_OK};
    kiln_baseline_here here;
    const char *dir = environment_with(NULL), *old = getenv("KILN_LIBEXEC");
    old = old != NULL ? kiln_str_dup(a, old) : NULL;
    assert_int_equal(
        setenv("KILN_LIBEXEC", kiln_test_fake_program("kiln-onednn", "exit"), 1), 0);
    const kiln_status found = onednn()->find(onednn(), a, dir, &here, &err);
    const kiln_status opened = open_at(a, dir, &open_err);
    if (old != NULL)
        assert_int_equal(setenv("KILN_LIBEXEC", old, 1), 0);
    else
        assert_int_equal(unsetenv("KILN_LIBEXEC"), 0);
    kiln_assert_fails(found, KILN_ERR_IO, &err, "program 'kiln-onednn3' is not in '");
    assert_says(err.text, "/lib/libdnnl.so.3'; without that file Debian's is used");
    kiln_assert_fails(opened, KILN_ERR_IO, &open_err,
                      "program 'kiln-onednn3' is not in '");
}

static void says_how_it_is_called(void **state) {
    (void)state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    char *program;
    kiln_process_result r;
    skip_where_it_is_not_built();
    kiln_assert_status_ok(kiln_program_find(a, "kiln-onednn3", &program, &err), &err);
    const char *const wrong[][4] = {{NULL},
                                    {"--library", NULL},
                                    {"--library", "x", NULL},
                                    {"--version", NULL},
                                    {"--threads", "1", "--version", NULL},
                                    {"--library", "x", "--threads", NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const char *argv[] = {program, wrong[i][0], wrong[i][1], wrong[i][2], NULL};
        const kiln_process_options o = {.argv = argv,
                                        .time_limit_ms = KILN_TEST_PATIENCE_MS};
        kiln_assert_status_ok(kiln_process_run(a, &o, &r, &err), &err);
        assert_int_equal(r.code, 2);
        assert_says(kiln_str_dupv(a, r.err),
                    "usage: kiln-onednn3 --library FILE --version | --threads N");
    }
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    kiln_test_add("what_is_no_library", what_is_no_library, NULL);
    kiln_test_add("one_with_all_symbols", one_with_all_symbols, NULL);
    kiln_test_add("a_missing_program", a_missing_program, NULL);
    kiln_test_add("says_how_it_is_called", says_how_it_is_called, NULL);
    return kiln_test_run("onednn3");
}
