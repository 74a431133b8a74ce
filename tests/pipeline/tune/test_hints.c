/* Logs of other tuners: golden logs, written by hand after the formats' descriptions, to
 * configurations; what random damage does to them; and that a search begins with them. */
#include "pipeline/tune/hints.h"
#include "pipeline/tune/tune_internal.h"
#include "tests/support/kiln_test.h"

#include <stdio.h>
#include <string.h>

static const char *const lines[] = {"conv C2 h=56 ic=64 oc=64 k=3 act=relu",
                                    "conv C3 h=56 ic=64 oc=64 k=1",
                                    "matmul fc m=128 k=768 n=3072 bias=yes"};
enum { N_LINES = sizeof lines / sizeof lines[0] };

static kiln_tune_works works_of(void) {
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {0};
    kiln_op_lines all = {.list = {.n = 0}};
    kiln_tune_works works;
    for (int i = 0; i < N_LINES; i++) {
        kiln_op_line line;
        kiln_assert_status_ok(kiln_op_line_of(a, lines[i], &line, &err), &err);
        kiln_vec_push(a, &all.list, line);
    }
    kiln_assert_status_ok(kiln_tune_works_of_lines(a, &all, &works, &err), &err);
    return works;
}

static const kiln_profile *profile(void) {
    static kiln_profile p;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_profile_find(kiln_test_arena(), "x86-avx512", &p, &err),
                          &err);
    return &p;
}

/* Of every template that takes a work, which configurations the hints are. */
static void put_configs(kiln_buf *out, const kiln_tune_hints *h,
                        const kiln_op_work *w) {
    kiln_arena *a = kiln_test_arena();
    for (int i = 0; kiln_template_at(i) != NULL; i++) {
        uint64_t index[KILN_HINTS_EACH];
        kiln_tune_task t;
        if (!kiln_template_fits(kiln_template_at(i), &w->workload, profile()))
            continue;
        kiln_err err = {0};
        kiln_assert_status_ok(kiln_tune_task_make(a, &w->workload, profile(),
                                                  kiln_template_at(i), &t, &err),
                              &err);
        const size_t n = kiln_tune_hints_for(a, h, &t, KILN_HINTS_EACH, index);
        for (size_t k = 0; k < n; k++)
            kiln_buf_printf(out, "%s: %s\n", w->name,
                            kiln_tune_index_text(a, &t, index[k]));
    }
}

static void check_golden(void **state) {
    kiln_test_golden g;
    kiln_tune_hints h = {.arena = kiln_test_arena()};
    kiln_buf out;
    const kiln_tune_works works = works_of();
    kiln_test_golden_read(*state, &g);
    kiln_tune_hints_read(&h, g.input, "log");
    kiln_buf_init(&out, kiln_test_arena());
    kiln_tune_hints_text(&out, &h, &works);
    for (size_t i = 0; i < works.list.n; i++)
        put_configs(&out, &h, &works.list.v[i].op);
    kiln_test_golden_check(&g, kiln_buf_str(&out));
}

/* Bytes changed, dropped and doubled: whatever comes is counted once, and nothing ends
 * the reading. */
static void damaged_logs_are_counted(void **state) {
    kiln_test_golden g;
    kiln_rng rng;
    const kiln_tune_works works = works_of();
    kiln_rng_init(&rng, kiln_test_seed());
    kiln_test_golden_read(*state, &g);
    const int64_t cases = kiln_test_cases(300);
    for (int64_t i = 0; i < cases; i++) {
        kiln_arena a = {0};
        kiln_tune_hints h = {.arena = &a};
        kiln_buf out;
        char *text = kiln_arena_dup(&a, g.input.p, g.input.n);
        for (int64_t k = kiln_rng_range(&rng, 1, 20); k > 0; k--) {
            const size_t at = (size_t)kiln_rng_range(&rng, 0, (int64_t)g.input.n - 1);
            text[at] = kiln_rng_range(&rng, 0, 1) == 0
                           ? (char)kiln_rng_range(&rng, 1, 255)
                           : g.input.p[kiln_rng_range(&rng, 0, (int64_t)g.input.n - 1)];
        }
        const size_t n = (size_t)kiln_rng_range(&rng, 0, (int64_t)g.input.n);
        kiln_tune_hints_read(&h, (kiln_str){text, n}, "log");
        assert_true(h.n_failed + h.n_strange + h.n_bad <= h.n_records);
        assert_true((int64_t)h.list.n <=
                    2 * (h.n_records - h.n_failed - h.n_strange - h.n_bad));
        kiln_buf_init(&out, &a);
        kiln_tune_hints_text(&out, &h, &works);
        kiln_arena_fini(&a);
    }
}

/* Of very many records a few of each work stay, the fastest. */
static void long_logs_are_thinned_out(void **state) {
    (void)state;
    enum { N = 9000 };
    kiln_arena a = {0};
    kiln_tune_hints h = {.arena = &a};
    kiln_buf text;
    kiln_buf_init(&text, &a);
    for (int i = 0; i < N; i++)
        kiln_buf_printf(
            &text,
            "{\"input\": [\"llvm\", \"dense_pack.x86\", [[\"TENSOR\", [%d, 64], "
            "\"float32\"], [\"TENSOR\", [64, 64], \"float32\"], null, \"float32\"], "
            "{}], \"config\": {\"entity\": [[\"tile_y\", \"sp\", [-1, %d]]]}, "
            "\"result\": [[%d], 0, 1, 1], \"version\": 0.2}\n",
            8 + i % 2, 1 + i / 2, N - i);
    kiln_tune_hints_read(&h, kiln_buf_str(&text), "long");
    assert_int_equal(h.n_records, N);
    assert_int_equal(h.n_bad + h.n_strange + h.n_failed, 0);
    assert_int_equal(h.list.n, 2 * KILN_HINTS_EACH);
    for (size_t i = 0; i < h.list.n; i++) {
        const kiln_tune_hint *x = &h.list.v[i];
        assert_int_equal(x->extent[KILN_HINT_M], i < KILN_HINTS_EACH ? 8 : 9);
        assert_true(x->seconds <= 2 * KILN_HINTS_EACH);
        assert_true(i % KILN_HINTS_EACH == 0 || h.list.v[i - 1].seconds < x->seconds);
    }
    kiln_arena_fini(&a);
}

static void work_of_other_types_is_not_meant(void **state) {
    kiln_test_golden g;
    kiln_arena *a = kiln_test_arena();
    kiln_tune_hints h = {.arena = a};
    kiln_err err = {0};
    static const char *const others[] = {
        "conv half h=56 ic=64 oc=64 k=3 dtype=f16",
        "conv groups h=56 ic=64 oc=64 k=3 groups=2",
        "conv stride h=56 ic=64 oc=64 k=3 s=2",
        "matmul many batch=2 m=64 k=768 n=3072 b=input"};
    kiln_test_golden_read(*state, &g);
    kiln_tune_hints_read(&h, g.input, "log");
    assert_true(h.list.n >= 4);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        kiln_op_line line;
        kiln_op_work w;
        kiln_assert_status_ok(kiln_op_line_of(a, others[i], &line, &err), &err);
        kiln_assert_status_ok(kiln_op_work_make(a, &line, &w, &err), &err);
        for (size_t k = 0; k < h.list.n; k++)
            assert_false(kiln_hint_is_for(&h.list.v[k], &w.workload));
    }
}

int main(void) {
    static char autotvm[] = "tests/pipeline/tune/golden/hints/autotvm.txt",
                ansor[] = "tests/pipeline/tune/golden/hints/ansor.txt";
    kiln_test_add_golden("tests/pipeline/tune/golden/hints", check_golden);
    kiln_test_add("damaged_logs_are_counted", damaged_logs_are_counted, autotvm);
    kiln_test_add("damaged_ansor_logs_are_counted", damaged_logs_are_counted, ansor);
    kiln_test_add("long_logs_are_thinned_out", long_logs_are_thinned_out, NULL);
    kiln_test_add("work_of_other_types_is_not_meant", work_of_other_types_is_not_meant,
                  autotvm);
    return kiln_test_run("hints");
}
