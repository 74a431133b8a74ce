/* Operators whose kernels crash, hang, write where they must not, are wrong or lie:
 * each is a row with the kind of its error and what was wrong, and those behind it are
 * measured. This program is also the builder that makes such kernels, for operators that
 * are called so:
 *
 *     test_failures --builder FOLDER     objects of failing_kernels.c are in FOLDER */
#include "pipeline/kernels/kernels_explain.h"
#include "pipeline/kernels/kernels.h"
#include "pipeline/measure/builder/builder.h"
#include "tests/support/kiln_test.h"
#include "tests/support/measuring/measure_run.h"

#include <stdlib.h>
#include <string.h>

typedef struct row {
    const char *name;    /* of the operator: FAULT_name of failing_kernels.c */
    bool is_object;      /* else the builder's own fault, or none */
    const char *failure; /* NULL: it is measured */
    const char *text;    /* of the refusal, or of the verdict's problem */
} row;

/* Good ones between: who crashed leaves nothing behind. */
static row rows[] = {
    {"good", false, NULL, NULL},
    {"CRASH", true, "crash", "signal 11 ("},
    {"LATER", true, "crash", "signal 11 ("},
    {"good_after_a_crash", false, NULL, NULL},
    {"HANG", true, "timeout", "ms of processor time"},
    {"BESIDE", true, "out-of-bounds", "byte 256 of an output was written, it has 256"},
    {"BEYOND", true, "out-of-bounds", "it touched byte 4096 of 'y', beside its memory"},
    {"WRONG", true, "wrong", "output 'y' element 7 is "},
    {"LIES", true, "wrong", "(in a slice)"},
    {"RETURN", true, "returned", "it returned 7"},
    {"build_crash", false, "build-crash", "signal 6 ("},
    {"good_at_last", false, NULL, NULL},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* ---- the builder ----------------------------------------------------------------- */

static const char *folder;

static kiln_status make_failing(kiln_arena *a, const kiln_op_work *w,
                                const kiln_choice *choice, const kiln_profile *p,
                                kiln_kernel *out, kiln_err *err) {
    if (strcmp(w->name, "build_crash") == 0)
        abort();
    KILN_TRY(kiln_kernel_make_listed(a, w, choice, p, out, err));
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].is_object && strcmp(w->name, rows[i].name) == 0)
            return kiln_file_map(a, kiln_format(a, "%s/%s.o", folder, w->name), 0,
                                 &out->object.bytes, err);
    return KILN_OK;
}

/* ---- the tests ------------------------------------------------------------------- */

static const char *self;

static void compile_failing(kiln_arena *a, const char *dir) {
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].is_object)
            kiln_test_compile_kernel(a, "tests/pipeline/kernels/failing_kernels.c",
                                     rows[i].name, dir);
}

static kiln_workers failing_workers(kiln_arena *a, int64_t run_ms) {
    const char *dir = kiln_test_dir();
    const char **argv = kiln_array(a, const char *, 4);
    compile_failing(a, dir);
    argv[0] = self;
    argv[1] = "--builder";
    argv[2] = dir;
    return (kiln_workers){.builder_argv = argv,
                          .runner_argv = kiln_test_worker(a, "kiln-runner"),
                          .build_limit_ms = KILN_TEST_PATIENCE_MS,
                          .run_limit_ms = run_ms};
}

static kiln_op_line line_of(kiln_arena *a, const char *name) {
    kiln_err err = {0};
    kiln_op_line line;
    kiln_assert_status_ok(
        kiln_op_line_of(a, kiln_format(a, "relu %s in=f32[64]", name), &line, &err),
        &err);
    return line;
}

static void check_row(const row *want, const kiln_bench_row *got) {
    assert_string_equal(got->name, want->name);
    if (want->failure == NULL) {
        if (got->refusal != NULL || !got->verdict.ok)
            fail_msg("%s: %s%s", got->name, got->refusal != NULL ? got->refusal : "",
                     got->verdict.problem);
        assert_null(got->failure);
        assert_true(got->timing.median_ms > 0 && got->timing.n_slices >= 7);
        assert_true(got->verdict.n_checked == 64 && got->verdict.n_elems == 64);
        assert_true(got->code_bytes > 0 && got->n_loops > 0);
        return;
    }
    assert_non_null(got->failure);
    assert_string_equal(got->failure, want->failure);
    const char *text = got->refusal != NULL ? got->refusal : got->verdict.problem;
    assert_int_equal(got->refusal == NULL, strcmp(want->failure, "wrong") == 0);
    if (strstr(text, want->text) == NULL)
        fail_msg("%s: '%s' does not hold '%s'", got->name, text, want->text);
    assert_int_equal(got->timing.n_slices, 0);
    assert_int_equal(got->sample.n, 0);
}

static void check_document(kiln_arena *a, const kiln_bench *b) {
    kiln_buf text;
    const kiln_json *doc;
    kiln_err err = {0};
    kiln_buf_init(&text, a);
    kiln_bench_json(&text, b);
    kiln_assert_status_ok(kiln_json_parse(a, kiln_buf_str(&text), "bench", &doc, &err),
                          &err);
    int i = 0;
    for (const kiln_json *op = kiln_json_first(kiln_json_get(doc, "ops")); op != NULL;
         op = kiln_json_next(op), i++) {
        const char *failure = kiln_json_string(kiln_json_get(op, "failure"), NULL);
        assert_int_equal(failure == NULL, rows[i].failure == NULL);
        assert_true(failure == NULL || strcmp(failure, rows[i].failure) == 0);
        assert_int_equal(kiln_json_is_number(kiln_json_get(op, "median_ms")),
                         rows[i].failure == NULL);
    }
    assert_int_equal(i, N_ROWS);
    assert_true(kiln_json_number(kiln_json_get(doc, "failed"), -1) == 7);
    assert_true(kiln_json_number(kiln_json_get(doc, "wrong"), -1) == 2);
    assert_true(kiln_json_number(kiln_json_get(doc, "refused"), -1) == 0);
}

/* Something else than what hangs was ended for its time. */
static bool was_hurried(const kiln_bench *b) {
    for (size_t i = 0; i < b->row.n; i++) {
        const char *failure = b->row.v[i].failure;
        if (failure != NULL && strcmp(failure, "timeout") == 0 &&
            strcmp(b->row.v[i].name, "HANG") != 0)
            return true;
    }
    return false;
}

static void failures_are_rows(void **state) {
    enum { FIRST_MS = 2000, TIMES = 4 };
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_bench b;
    kiln_buf text;
    kiln_op_lines lines = {.list = {.n = 0}};
    kiln_bench_options o = {.seed = 1, .workers = failing_workers(&a, FIRST_MS)};
    kiln_test_as_worker_environment();
    for (int i = 0; i < N_ROWS; i++) {
        const kiln_op_line line = line_of(&a, rows[i].name);
        kiln_vec_push(&a, &lines.list, line);
    }
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    kiln_assert_status_ok(kiln_bench_run(&a, &lines, &p, &o, &b, &err), &err);
    while (was_hurried(&b) && o.workers.run_limit_ms < KILN_TEST_PATIENCE_MS) {
        o.workers.run_limit_ms *= TIMES;
        kiln_assert_status_ok(kiln_bench_run(&a, &lines, &p, &o, &b, &err), &err);
    }
    kiln_buf_init(&text, &a);
    kiln_bench_text(&text, &b);
    assert_int_equal(b.row.n, N_ROWS);
    for (int i = 0; i < N_ROWS; i++)
        check_row(&rows[i], &b.row.v[i]);
    assert_int_equal(b.n_failed, 7);
    assert_int_equal(b.n_wrong, 2);
    assert_int_equal(b.n_refused, 0);
    assert_non_null(strstr(text.p, "FAILED: crash: signal 11"));
    assert_non_null(strstr(text.p, "2 wrong, 0 refused, 7 failed\n"));
    check_document(&a, &b);
    kiln_arena_fini(&a);
}

typedef struct explained {
    const char *name, *text;
    bool is_wrong;
} explained;

static explained explanations[] = {
    {"good", "output: right (64 of 64 elements compared", false},
    {"CRASH", "FAILED: crash: signal 11", true},
    {"WRONG", "output: WRONG: output 'y' element 7 is ", true},
};

static void explains_failures(void **state) {
    (void)state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    const kiln_workers workers = failing_workers(&a, KILN_TEST_PATIENCE_MS);
    const kiln_choose_options choose = {.tmpl = NULL};
    kiln_test_as_worker_environment();
    kiln_assert_status_ok(kiln_profile_detect(&a, &p, &err), &err);
    for (size_t i = 0; i < sizeof explanations / sizeof *explanations; i++) {
        const explained *e = &explanations[i];
        const kiln_op_line line = line_of(&a, e->name);
        kiln_buf text, json;
        kiln_json_writer w;
        bool is_wrong = !e->is_wrong;
        kiln_buf_init(&text, &a);
        kiln_buf_init(&json, &a);
        kiln_json_writer_init(&w, &json);
        kiln_json_begin_object(&w);
        kiln_assert_status_ok(kiln_explain(&a, &line, &p, &choose, NULL, &workers,
                                           1U << KILN_EXPLAIN_SUMMARY, &text, &w,
                                           &is_wrong, &err),
                              &err);
        kiln_json_end_object(&w);
        if (strstr(text.p, e->text) == NULL)
            fail_msg("%s: no '%s' in\n%s", e->name, e->text, text.p);
        assert_int_equal(is_wrong, e->is_wrong);
    }
    kiln_arena_fini(&a);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--builder") == 0) {
        folder = argv[2];
        return kiln_builder_main(make_failing);
    }
    self = argv[0];
    kiln_test_add("failures_are_rows", failures_are_rows, NULL);
    kiln_test_add("explains_failures", explains_failures, NULL);
    return kiln_test_run("failures");
}
