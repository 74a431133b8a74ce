/* The Arm Compute Library under an emulator: ResNet-18's convolutions and MobileNet's
 * depthwise ones as the reference has them (KILN_SOAK=1: all; else C9), what a bench says
 * of it, and what is said where it is absent. */
#include "pipeline/kernels/kernels_internal.h"
#include "tests/support/measuring/described.h"
#include "tests/support/measuring/measure_run.h"

#include <stdlib.h>
#include <string.h>

static const kiln_baseline *const *armcl(void) {
    const kiln_baseline *const *list;
    kiln_err err = {.status = KILN_OK};
    kiln_assert_status_ok(kiln_baselines_parse(kiln_test_arena(), "armcl",
                                               KILN_BASELINE_OPERATORS, &list, &err),
                          &err);
    return list;
}

static void find(kiln_baseline_here *here) {
    kiln_err err = {.status = KILN_OK};
    const kiln_baseline *b = armcl()[0];
    kiln_assert_status_ok(b->find(b, kiln_test_arena(), "", here, &err), &err);
}

static void skip_where_absent(void) {
    kiln_baseline_here here;
    find(&here);
    if (!here.is_here)
        kiln_test_skip("armcl is absent: %s", here.remedy);
    assert_true(strstr(here.version, here.is_emulated ? " (emulated)" : ".") != NULL);
}

/* ---- convolutions ---------------------------------------------------------------- */

static void check_line(const char *line) {
    const kiln_baseline *b = armcl()[0];
    kiln_arena a = {0};
    kiln_err err = {.status = KILN_OK};
    kiln_test_described d;
    kiln_baseline_session s;
    kiln_expected want;
    kiln_verdict v = {.ok = true, .problem = ""};
    kiln_assert_status_ok(kiln_test_describe(line, &d, &err), &err);
    const kiln_baseline_op_job job = {.dir = "", .op = &d.op, .threads = 1};
    kiln_assert_status_ok(b->open_op(b, &a, &job, &s, &err), &err);
    kiln_assert_status_ok(kiln_expect(&a, d.work.graph, d.work.workload.anchor, d.plain,
                                      1, kiln_test_seed(), &want, &err),
                          &err);
    kiln_expected_compare(&a, &want, &s.out[0], "y", &v);
    print_message("%s: %s, largest error %.3g of its bound %.3g\n", line,
                  s.implementation, v.max_abs, v.worst);
    if (!v.ok)
        fail_msg("%s: %s", line, v.problem);
    assert_true(v.n_checked > 0); /* of large outputs some */
    kiln_arena_fini(&a);
}

/* Those of a list whose names begin so. */
static void check_list(const char *source, char letter) {
    kiln_op_lines lines;
    kiln_err err = {.status = KILN_OK};
    const bool all = getenv("KILN_SOAK") != NULL;
    kiln_assert_status_ok(kiln_op_lines_read(kiln_test_arena(), source, &lines, &err),
                          &err);
    for (size_t i = 0; i < lines.list.n; i++) {
        const char *name = lines.list.v[i].name;
        if (name[0] == letter && (all || name[1] == '9'))
            check_line(lines.list.v[i].text);
    }
}

static void agrees_on_resnet18(void **state) {
    (void)state;
    skip_where_absent();
    check_list("resnet18", 'C');
}

static void agrees_on_mobilenet(void **state) {
    (void)state;
    skip_where_absent();
    check_list("mobilenet", 'D');
}

/* ---- a bench --------------------------------------------------------------------- */

/* Compared, never timed: neither a sample nor a place in the ranking. */
static void is_compared_and_not_timed(void **state) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_op_line line;
    kiln_op_lines lines = {.list = {.n = 0}};
    kiln_profile p;
    kiln_bench b;
    kiln_buf text;
    kiln_baseline_here here;
    const kiln_bench_options o = {
        .seed = 1,
        .baseline = armcl(),
        .baselines_limit_ms = KILN_TEST_PATIENCE_MS,
        .workers = {.builder_argv = kiln_test_worker(a, "kiln-builder"),
                    .runner_argv = kiln_test_worker(a, "kiln-runner"),
                    .build_limit_ms = KILN_TEST_PATIENCE_MS,
                    .run_limit_ms = KILN_TEST_PATIENCE_MS}};
    (void)state;
    skip_where_absent();
    find(&here);
    if (!here.is_emulated)
        kiln_test_skip("this machine runs the library itself");
    kiln_assert_status_ok(kiln_op_line_of(a, "conv x 6 8 8 3 1", &line, &err), &err);
    kiln_vec_push(a, &lines.list, line);
    kiln_assert_status_ok(kiln_profile_detect(a, &p, &err), &err);
    kiln_assert_status_ok(kiln_bench_run(a, &lines, &p, &o, &b, &err), &err);
    const kiln_rival *v = &b.row.v[0].rival.v[0];
    assert_int_equal(v->state, KILN_RIVAL_EMULATED);
    assert_int_equal(v->sample.n, 0);
    assert_true(v->error > 0 && v->error < 1); /* of what is allowed */
    assert_int_equal(b.standing.v[0].n_measured, 0);
    assert_true(kiln_bench_is_compared(&b));
    kiln_buf_init(&text, a);
    kiln_bench_text(&text, &b);
    assert_non_null(strstr(text.p, "emulated: its outputs are right"));
}

/* ---- absent ---------------------------------------------------------------------- */

static void says_how_to_get_it(void **state) {
    const char *old = getenv("KILN_LIBEXEC");
    kiln_baseline_here here;
    (void)state;
    old = old != NULL ? kiln_str_dup(kiln_test_arena(), old) : NULL;
    assert_int_equal(setenv("KILN_LIBEXEC", kiln_test_dir(), 1), 0);
    find(&here);
    if (old != NULL)
        assert_int_equal(setenv("KILN_LIBEXEC", old, 1), 0);
    else
        assert_int_equal(unsetenv("KILN_LIBEXEC"), 0);
    assert_false(here.is_here);
    assert_non_null(
        strstr(here.remedy, "'make deps' gets Debian's libarm-compute-dev"));
}

static void says_what_emulates(void **state) {
    const char *old = kiln_str_dup(kiln_test_arena(), getenv("PATH"));
    kiln_baseline_here here;
    (void)state;
    skip_where_absent();
    find(&here);
    if (!here.is_emulated)
        kiln_test_skip("this machine runs the library itself");
    assert_int_equal(setenv("PATH", kiln_test_dir(), 1), 0);
    find(&here);
    assert_int_equal(setenv("PATH", old, 1), 0);
    assert_false(here.is_here);
    assert_non_null(strstr(here.remedy, "install the package qemu-user"));
}

int main(void) {
    kiln_test_add("agrees_on_resnet18", agrees_on_resnet18, NULL);
    kiln_test_add("agrees_on_mobilenet", agrees_on_mobilenet, NULL);
    kiln_test_add("is_compared_and_not_timed", is_compared_and_not_timed, NULL);
    kiln_test_add("says_how_to_get_it", says_how_to_get_it, NULL);
    kiln_test_add("says_what_emulates", says_what_emulates, NULL);
    return kiln_test_run("armcl");
}
