/* Configurations that ship (configs.def): each is found by the operator of the lists
 * that it was made for, and the hot loop of its kernel is multiply-adds in registers.
 */
#include "pipeline/kernels/kernels.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct row {
    const char *name, *profile, *list, *op, *tmpl;
    int fma; /* multiply-adds of the hot loop */
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
    assert_int_equal(c.origin, KILN_ORIGIN_TABLE);
    assert_string_equal(c.tmpl->name, r->tmpl);
    kiln_assert_status_ok(kiln_kernel_make(&a, &work, &c, &p, &k, &err), &err);
    kiln_assert_status_ok(kiln_kernel_loops(&a, &k, &p, &loops, &err), &err);
    assert_non_null(loops.hot);
    assert_int_equal(loops.hot->spills, 0);
    assert_int_equal(loops.hot->vector_stores, 0);
    assert_int_equal(loops.hot->vector_fma, r->fma);
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_add_rows(hot_loop_stays_in_registers, rows);
    return kiln_test_run("shipped");
}
