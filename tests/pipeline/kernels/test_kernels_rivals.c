/* Operators beside a library: absent, failed, wrong and measured are four words, and
 * kiln's own numbers are there whatever the library does. A shell script stands for it;
 * times are not looked at, but for those that the script makes up. */
#include "pipeline/kernels/kernels_internal.h"
#include "tests/support/measuring/described.h"
#include "tests/support/measuring/fake_baseline.h"
#include "tests/support/measuring/measure_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_ROUNDS = 7 };
#define LINE "matmul x m=4 k=8 n=16 bias=yes"

typedef struct row {
    const char *name;
    const char *script; /* @ is a file of outputs: right, or right but for one; NULL:
                           there is no such program */
    bool is_wrong;
    const char *line; /* NULL: LINE */
    kiln_rival_state want;
    const char *reason;
    size_t samples; /* at least */
} row;

static row rows[] = {
    {"measures_a_library", "case $line in *load*) give @;; *) sample;; esac", false,
     NULL, KILN_RIVAL_MEASURED, "", MIN_ROUNDS},
    {"says_absent", NULL, false, NULL, KILN_RIVAL_ABSENT, "kiln was built without it",
     0},
    {"says_wrong", "case $line in *load*) give @;; *) sample;; esac", true, NULL,
     KILN_RIVAL_WRONG, "output 'y' element 2 is ", 0},
    {"says_failed", "exit 7", false, NULL, KILN_RIVAL_FAILED,
     "the process 'kiln-onednn' ended with code 7", 0},
    {"says_failed_where_it_has_none", "echo '{\"problem\": \"no such operator\"}'",
     false, NULL, KILN_RIVAL_FAILED, "no such operator", 0},
    {"says_failed_where_there_are_no_words", "exit 7", false, "relu x in=f32[4,8]",
     KILN_RIVAL_FAILED, "libraries are not asked for 'relu'", 0},
    /* a load, two samples to warm up, two that count */
    {"says_failed_on_the_way",
     "n=$((n + 1)); case $line in *load*) give @;; *) test $n -lt 6 || exit 9; "
     "sample;; esac",
     false, NULL, KILN_RIVAL_FAILED, "the process 'kiln-onednn' ended with code 9", 2},
};

/* With the seed that the bench has: inputs are the same. */
static kiln_tensor right_output(const kiln_op_line *line) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_op_work work;
    kiln_expected want;
    kiln_assert_status_ok(kiln_op_work_make(a, line, &work, &err), &err);
    const kiln_graph *g = work.graph;
    kiln_tensor *plain = kiln_array(a, kiln_tensor, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.v[i]->data != NULL)
            plain[i] = (kiln_tensor){.type = g->values.v[i]->type,
                                     .data = (void *)(uintptr_t)g->values.v[i]->data};
    for (size_t i = 0; i < g->inputs.n; i++)
        plain[g->inputs.v[i]->id] = kiln_ref_random(a, &g->inputs.v[i]->type, 1 + i);
    kiln_assert_status_ok(
        kiln_expect(a, g, work.workload.anchor, plain, 1, 1, &want, &err), &err);
    kiln_tensor out = kiln_tensor_new(a, &g->outputs.v[0]->type);
    assert_null(want.pick);
    for (int64_t i = 0; i < want.n_elems; i++)
        ((float *)out.data)[i] = (float)want.value[i];
    return out;
}

static const char *with_output(const row *r, const kiln_op_line *line) {
    kiln_arena *a = kiln_test_arena();
    const char *at = r->script != NULL ? strchr(r->script, '@') : NULL;
    const char *file = kiln_path_join(a, kiln_test_dir(), "output.npy");
    kiln_err err = {.status = KILN_OK};
    if (at == NULL)
        return r->script;
    kiln_tensor t = right_output(line);
    if (r->is_wrong)
        ((float *)t.data)[2] += 1;
    kiln_assert_status_ok(kiln_tensor_write_npy(file, &t, &err), &err);
    return kiln_format(a, "%.*s%s%s", (int)(at - r->script), r->script, file, at + 1);
}

static const kiln_json *json_of(const kiln_bench *b) {
    kiln_buf text;
    const kiln_json *doc;
    kiln_err err = {.status = KILN_OK};
    kiln_buf_init(&text, kiln_test_arena());
    kiln_bench_json(&text, b);
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_buf_str(&text), "bench", &doc, &err),
        &err);
    return doc;
}

static bool has_number(const kiln_json *v, const char *member) {
    return kiln_json_is_number(kiln_json_get(v, member));
}

static void check_json(const row *r, const kiln_bench *b) {
    const kiln_json *doc = json_of(b);
    const kiln_json *op = kiln_json_first(kiln_json_get(doc, "ops"));
    const kiln_json *v = kiln_json_first(kiln_json_get(op, "baselines"));
    const kiln_json *standing = kiln_json_first(kiln_json_get(doc, "baselines"));
    const bool is_measured = r->want == KILN_RIVAL_MEASURED;
    assert_string_equal(kiln_json_string(kiln_json_get(op, "line"), ""),
                        r->line != NULL ? r->line : LINE);
    assert_true(kiln_json_size(kiln_json_get(op, "samples_ms")) >= MIN_ROUNDS);
    assert_string_equal(kiln_json_string(kiln_json_get(v, "state"), ""),
                        kiln_rival_state_name(r->want));
    assert_int_equal(has_number(kiln_json_get(v, "ratio"), "estimate"), is_measured);
    assert_int_equal(has_number(v, "median_ms"), is_measured);
    assert_int_equal(kiln_json_number(kiln_json_get(standing, "measured"), -1),
                     is_measured);
    assert_int_equal(has_number(kiln_json_get(standing, "ratio"), "estimate"),
                     is_measured);
}

static void check_measured(const kiln_rival *v, const kiln_bench *b) {
    assert_int_equal(v->number.runs, 1); /* the script says 2 ms */
    kiln_assert_close_f64(&v->number.median_ms, (const double[]){2}, 1, 0, 0);
    assert_true(v->number.ratio.low <= v->number.ratio.estimate &&
                v->number.ratio.estimate <= v->number.ratio.high);
    /* The mean of one is e^ln(r): rounding ln r to half an ulp moves that by |ln r| / 2
     * ulps, whole ones of a number that lies just above a power of two. */
    const double ulps = 4 + fabs(log(v->number.ratio.estimate));
    kiln_assert_close_f64(&b->standing.v[0].ratio.estimate, &v->number.ratio.estimate,
                          1, ulps, 0);
}

static void check_row(void **state) {
    const row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_op_line line;
    kiln_op_lines lines = {.list = {.n = 0}};
    kiln_profile p;
    kiln_bench b;
    kiln_buf text;
    kiln_bench_options o = {
        .seed = 1,
        .baselines_limit_ms = KILN_TEST_PATIENCE_MS,
        .workers = {.builder_argv = kiln_test_worker(a, "kiln-builder"),
                    .runner_argv = kiln_test_worker(a, "kiln-runner"),
                    .build_limit_ms = KILN_TEST_PATIENCE_MS,
                    .run_limit_ms = KILN_TEST_PATIENCE_MS}};
    const char *old = getenv("KILN_LIBEXEC");
    old = old != NULL ? kiln_str_dup(a, old) : NULL;
    kiln_assert_status_ok(
        kiln_op_line_of(a, r->line != NULL ? r->line : LINE, &line, &err), &err);
    kiln_vec_push(a, &lines.list, line);
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(
        kiln_baselines_parse(a, "onednn", KILN_BASELINE_OPERATORS, &o.baseline, &err),
        &err);
    const char *dir = kiln_test_fake_program("kiln-onednn", with_output(r, &line));
    assert_int_equal(setenv("KILN_LIBEXEC", dir, 1), 0);
    const kiln_status st = kiln_bench_run(a, &lines, &p, &o, &b, &err);
    if (old != NULL)
        assert_int_equal(setenv("KILN_LIBEXEC", old, 1), 0);
    kiln_assert_status_ok(st, &err);
    kiln_buf_init(&text, a);
    kiln_bench_text(&text, &b);
    print_message("%s", text.p);
    const kiln_rival *v = &b.row.v[0].rival.v[0];
    assert_int_equal(v->state, r->want);
    if (strncmp(v->reason, r->reason, strlen(r->reason)) != 0)
        fail_msg("'%s' does not begin with '%s'", v->reason, r->reason);
    assert_true(r->want == KILN_RIVAL_MEASURED ? v->sample.n >= r->samples
                                               : v->sample.n == r->samples);
    assert_true(b.row.v[0].sample.n >= MIN_ROUNDS); /* kiln goes on */
    assert_true(b.row.v[0].timing.median_ms > 0);
    assert_int_equal(kiln_bench_is_compared(&b), r->want == KILN_RIVAL_MEASURED);
    check_json(r, &b);
    if (r->want == KILN_RIVAL_MEASURED)
        check_measured(v, &b);
}

int main(void) {
    kiln_test_add_rows(check_row, rows);
    return kiln_test_run("rivals");
}
