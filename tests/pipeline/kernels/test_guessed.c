/* Guesses for operators of the lists that ship: which template takes them, that the hot
 * loop of their kernel is multiply-adds in registers, and that threads can share it. */
#include "compiler/network/network_kernel.h"
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *profile, *list, *op, *tmpl;
    int fma; /* multiply-adds of the hot loop, at least */
} row;

static row rows[] = {
    {"m1_avx512", "x86-avx512", "gemm", "M1", "matmul", 24},
    {"m2_avx512", "x86-avx512", "gemm", "M2", "matmul", 8},
    {"m3_avx512", "x86-avx512", "gemm", "M3", "matmul", 24},
    {"m1_avx2", "x86-avx2", "gemm", "M1", "matmul", 12},
    {"m2_avx2", "x86-avx2", "gemm", "M2", "matmul", 6},
    {"m3_avx2", "x86-avx2", "gemm", "M3", "matmul", 12},
    {"c3_avx512", "x86-avx512", "resnet18", "C3", "conv_1x1", 16},
    {"c5_avx512", "x86-avx512", "resnet18", "C5", "conv_1x1", 28},
    {"c8_avx512", "x86-avx512", "resnet18", "C8", "conv_1x1", 28},
    {"c11_avx512", "x86-avx512", "resnet18", "C11", "conv_1x1", 28},
    {"c3_avx2", "x86-avx2", "resnet18", "C3", "conv_1x1", 12},
    {"c5_avx2", "x86-avx2", "resnet18", "C5", "conv_1x1", 12},
    {"c8_avx2", "x86-avx2", "resnet18", "C8", "conv_1x1", 12},
    {"c11_avx2", "x86-avx2", "resnet18", "C11", "conv_1x1", 12},
};

static const kiln_op_line *find(const kiln_op_lines *lines, const char *name) {
    for (size_t i = 0; i < lines->list.n; i++)
        if (strcmp(lines->list.v[i].name, name) == 0)
            return &lines->list.v[i];
    fail_msg("no operator '%s'", name);
    return NULL;
}

static void hot_loop_stays_in_registers(void **state) {
    const row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_op_lines lines;
    kiln_op_work work;
    kiln_choice c;
    kiln_kernel k;
    kiln_hot_loops loops;
    kiln_assert_status_ok(kiln_profile_find(&a, r->profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_op_lines_read(&a, r->list, &lines, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(&a, find(&lines, r->op), &work, &err),
                          &err);
    kiln_assert_status_ok(
        kiln_choose(&a, &work, &p, &(kiln_choose_options){.tmpl = NULL}, &c, &err),
        &err);
    assert_int_equal(c.origin, KILN_ORIGIN_GUESS);
    assert_string_equal(c.tmpl->name, r->tmpl);
    kiln_assert_status_ok(kiln_kernel_make(&a, &work, &c, &p, &k, &err), &err);
    kiln_assert_status_ok(kiln_kernel_loops(&a, &k, &p, &loops, &err), &err);
    assert_non_null(loops.hot);
    assert_int_equal(loops.hot->spills, 0);
    assert_int_equal(loops.hot->vector_stores, 0);
    assert_true(loops.hot->vector_fma >= r->fma);
    kiln_arena_fini(&a);
}

typedef struct shared_row {
    const char *name, *profile, *list;
} shared_row;

static shared_row shared_rows[] = {
    {"threads_share_resnet18_avx512", "x86-avx512", "resnet18"},
    {"threads_share_mobilenet_avx512", "x86-avx512", "mobilenet"},
    {"threads_share_gemm_avx512", "x86-avx512", "gemm"},
    {"threads_share_resnet18_avx2", "x86-avx2", "resnet18"},
    {"threads_share_mobilenet_avx2", "x86-avx2", "mobilenet"},
    {"threads_share_gemm_avx2", "x86-avx2", "gemm"},
};

static void two_threads_share_the_work(void **state) {
    /* Of 1 x 1 tiles of the smallest operators one may be left over. */
    static const double least_gain = 1.7;
    const shared_row *r = *state;
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_op_lines lines;
    kiln_assert_status_ok(kiln_profile_find(&a, r->profile, &p, &err), &err);
    kiln_assert_status_ok(kiln_op_lines_read(&a, r->list, &lines, &err), &err);
    for (size_t i = 0; i < lines.list.n; i++) {
        kiln_op_work work;
        kiln_choice c;
        kiln_scheduled s;
        kiln_program *program;
        kiln_assert_status_ok(kiln_op_work_make(&a, &lines.list.v[i], &work, &err),
                              &err);
        kiln_assert_status_ok(
            kiln_choose(&a, &work, &p, &(kiln_choose_options){.tmpl = NULL}, &c, &err),
            &err);
        kiln_assert_status_ok(kiln_template_apply(&a, c.tmpl, &work.workload, &p,
                                                  &c.space, &c.config, &s, &err),
                              &err);
        kiln_assert_status_ok(kiln_scheduled_program(&a, &s, "f", &program, &err),
                              &err);
        const kiln_spread spread = kiln_program_spread(&a, program, 2, p.vector_bytes);
        print_message("%s: %.2f\n", work.name, spread.work / spread.longest);
        assert_true(spread.work >= least_gain * spread.longest);
    }
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(two_threads_share_the_work, shared_rows);
    kiln_test_add_rows(hot_loop_stays_in_registers, rows);
    return kiln_test_run("guessed");
}
