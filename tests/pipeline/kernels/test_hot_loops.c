/* Speed that no clock is needed for: the hot loops of the kernels that kiln is judged
 * by, read off the assembly. Accumulators stay in registers, nothing is spilled, and
 * most instructions multiply and add. */
#include "compiler/network/network_kernel.h"
#include "pipeline/kernels/op_line.h"
#include "tests/support/kiln_test.h"

static const char *const profiles[] = {"x86-avx512", "x86-avx2"};
enum { N_PROFILES = sizeof profiles / sizeof profiles[0] };

typedef struct row {
    const char *name, *line;
    /* Multiply-adds among the instructions of the hot loop, at least, in percent. A
     * core issues twice as many instructions as multiply-adds, so half would do. By
     * profile. */
    int fma_percent[N_PROFILES];
    bool stores; /* all taps are in one body, which then writes its outputs */
} row;

static row rows[] = {
    {"C1", "conv C1 224 3 64 7 2", {50, 50}, false},
    {"C2", "conv C2 56 64 64 3 1", {50, 50}, false},
    {"C3", "conv C3 56 64 64 1 1", {50, 50}, false},
    /* Tiles of one vector on 16 registers: a broadcast for each multiply-add, and an
     * instruction that fetches weights. */
    {"C6", "conv C6 28 128 128 3 1", {50, 41}, false},
    {"C9", "conv C9 14 256 256 3 1", {50, 43}, false},
    {"C12", "conv C12 7 512 512 3 1", {40, 40}, false},
    {"D1", "dw D1 112 32 32 3 1", {50, 50}, true},
    {"M1", "mm M1 1024 1024 1024", {50, 50}, false},
};

static void check_loops(const row *r, int profile) {
    const char *name = profiles[profile];
    const int percent = r->fma_percent[profile];
    kiln_arena a = {0};
    kiln_err err = {0};
    kiln_profile p;
    kiln_op_line line;
    kiln_op_work work;
    kiln_choice choice;
    kiln_kernel k;
    kiln_hot_loops h;
    const kiln_choose_options o = {.tmpl = NULL};
    kiln_assert_status_ok(kiln_profile_find(&a, name, &p, &err), &err);
    kiln_assert_status_ok(kiln_op_line_of(&a, r->line, &line, &err), &err);
    kiln_assert_status_ok(kiln_op_work_make(&a, &line, &work, &err), &err);
    kiln_assert_status_ok(kiln_choose(&a, &work, &p, &o, &choice, &err), &err);
    kiln_assert_status_ok(kiln_kernel_make(&a, &work, &choice, &p, &k, &err), &err);
    kiln_assert_status_ok(kiln_object_check(k.object.bytes, &err), &err);
    kiln_assert_status_ok(kiln_kernel_loops(&a, &k, &p, &h, &err), &err);
    assert_non_null(h.hot);
    if (h.hot->spills != 0 || (!r->stores && h.hot->vector_stores != 0))
        fail_msg("%s: %d spills and %d vector stores in the hot loop", name,
                 h.hot->spills, h.hot->vector_stores);
    if (h.hot->vector_fma * 100 < h.hot->instructions * percent)
        fail_msg("%s: %d multiply-adds in %d instructions", name, h.hot->vector_fma,
                 h.hot->instructions);
    kiln_arena_fini(&a);
}

static void hot_loops_are_tight(void **state) {
    for (int p = 0; p < N_PROFILES; p++)
        check_loops(*state, p);
}

int main(void) {
    kiln_test_add_rows(hot_loops_are_tight, rows);
    return kiln_test_run("hot_loops");
}
