/* Hot loops as assembly shows them; and the promise that a register tile stays in
 * registers: a matrix product's accumulators never leave them. */
#include "compiler/codegen/codegen.h"
#include "compiler/schedule/schedule.h"
#include "tests/support/kiln_test.h"

#include <string.h>

typedef struct text_row {
    const char *name;
    kiln_arch arch;
    const char *text;
    size_t n;
    kiln_asm_loop first;
} text_row;

static text_row text_rows[] = {
    {"no_loop", KILN_ARCH_X86_64, "f:\n\tjmp .L1\n.L1:\n\tretq\n", 0, {0}},
    {"inner_of_two",
     KILN_ARCH_X86_64,
     "f:\n.LBB0_1:   # outer\n\txorl %eax, %eax\n.LBB0_2:\n"
     "\tvmovups (%rdi), %zmm0\n\tvfmadd231ps (%rsi), %zmm0, %zmm1\n"
     "\tvfmadd231ss (%rsi), %xmm0, %xmm1\n\tvmovaps %zmm2, 64(%rsp)\n"
     "\tjne\t.LBB0_2\n\tjne\t.LBB0_1\n\tretq\n",
     1,
     {4, 9, 5, 1, 3, 1, 1}},
    {"arm",
     KILN_ARCH_AARCH64,
     "f:\n.LBB0_1:\n\tldr\tq1, [x0], #16 // load\n\tfmla\tv0.4s, v1.4s, v2.4s\n"
     "\tstr\tq0, [sp, #16]\n\tb.ne\t.LBB0_1\n\tret\n",
     1,
     {2, 6, 4, 1, 1, 1, 1}},
    {"arrays_on_the_stack",
     KILN_ARCH_X86_64,
     "f:\n.LBB0_1:\n\tvmovaps 64(%rsp,%rax), %zmm0\n"
     "\tvmovaps %zmm0, (%rsp,%rax,8)\n\tmovq 8(%rsp), %rax\n\tjne\t.LBB0_1\n\tretq\n",
     1,
     {2, 6, 4, 0, 1, 1, 1}},
};

static void check_text(void **state) {
    const text_row *r = *state;
    kiln_asm_loop *l = NULL;
    size_t n = 0;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_asm_innermost_loops(kiln_test_arena(),
                                                   kiln_str_from(r->text), r->arch, &l,
                                                   &n, &err),
                          &err);
    assert_int_equal(n, r->n);
    if (n == 0)
        return;
    assert_int_equal(l->line_begin, r->first.line_begin);
    assert_int_equal(l->line_end, r->first.line_end);
    assert_int_equal(l->instructions, r->first.instructions);
    assert_int_equal(l->vector_fma, r->first.vector_fma);
    assert_int_equal(l->vector_loads, r->first.vector_loads);
    assert_int_equal(l->vector_stores, r->first.vector_stores);
    assert_int_equal(l->spills, r->first.spills);
}

/* ---- a register tile ------------------------------------------------------------- */

typedef struct tile_row {
    const char *name, *profile;
    int64_t rows, columns, lanes; /* of the tile */
} tile_row;

static tile_row tile_rows[] = {
    {"tile_6x64_on_avx512", "x86-avx512", 6, 64, 16},
    {"tile_6x16_on_avx2", "x86-avx2", 6, 16, 8},
    {"tile_6x16_on_aarch64", "aarch64", 6, 16, 4},
};

#define OK(call) kiln_assert_status_ok((call), &err)

static kiln_program *tiled_matmul(kiln_arena *a, const tile_row *r) {
    const int64_t m = 48, n = 128, k = 64;
    kiln_err err = {0};
    kiln_te *p = kiln_te_placeholder(a, "p", KILN_F32, 2, (int64_t[]){m, k});
    kiln_te *q = kiln_te_placeholder(a, "q", KILN_F32, 2, (int64_t[]){k, n});
    kiln_te *c = kiln_te_begin(a, "c", 2, (int64_t[]){m, n});
    const kiln_axis *axis = kiln_te_reduce_axis(c, "k", k);
    const kiln_expr *kk = kiln_axis_var(a, axis);
    const kiln_expr *x =
        kiln_te_read(a, p, (const kiln_expr *[]){kiln_te_var(c, 0), kk});
    const kiln_expr *y =
        kiln_te_read(a, q, (const kiln_expr *[]){kk, kiln_te_var(c, 1)});
    const kiln_expr *body = kiln_te_sum(c, kiln_x_mul(a, x, y), &axis, 1);
    OK(kiln_te_end(c, 1, &body, &err));
    const kiln_te *out = c, *args[3] = {p, q, c};
    kiln_schedule *s = kiln_schedule_new(a, &out, 1);
    kiln_stage *st = kiln_schedule_stage(s, c), *w = NULL;
    kiln_iter *t[4], *outer = NULL, *inner = NULL;
    OK(kiln_cache_write(st, KILN_SCOPE_REGISTER, &w, &err));
    OK(kiln_split(st, kiln_stage_axis(st, 0), r->rows, &t[0], &t[2], &err));
    OK(kiln_split(st, kiln_stage_axis(st, 1), r->columns, &t[1], &t[3], &err));
    OK(kiln_reorder(st, t, 4, &err));
    OK(kiln_split(st, t[3], r->lanes, &outer, &inner, &err));
    OK(kiln_unroll(st, t[2], &err));
    OK(kiln_unroll(st, outer, &err));
    OK(kiln_vectorize(st, inner, &err));
    OK(kiln_compute_at(w, st, t[1], &err));
    kiln_iter *i = kiln_stage_axis(w, 0);
    OK(kiln_split(w, kiln_stage_axis(w, 1), r->lanes, &outer, &inner, &err));
    OK(kiln_reorder(w, (kiln_iter *[]){kiln_stage_reduce(w, 0), i, outer, inner}, 4,
                    &err));
    OK(kiln_unroll(w, i, &err));
    OK(kiln_unroll(w, outer, &err));
    OK(kiln_vectorize(w, inner, &err));
    kiln_program *prog = NULL;
    OK(kiln_lower(a, s, args, 3, 2, "matmul", &prog, &err));
    OK(kiln_program_optimize(prog, NULL, &err));
    return prog;
}

static void accumulators_stay_in_registers(void **state) {
    const tile_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_codegen_options o = {.want_assembly = true, .want_ir = true};
    kiln_codegen_text text = {.ir = {NULL, 0}};
    kiln_object object;
    kiln_profile p;
    kiln_err err = {0};
    kiln_asm_loop *l = NULL;
    size_t n = 0;
    OK(kiln_profile_find(a, r->profile, &p, &err));
    OK(kiln_codegen(a, tiled_matmul(a, r), &p, &o, &object, &text, &err));
    assert_true(text.ir.n > 0 && object.scratch_bytes == 0);
    OK(kiln_asm_innermost_loops(a, text.assembly, p.arch, &l, &n, &err));
    const int want = (int)(r->rows * r->columns / r->lanes);
    for (size_t i = 0; i < n; i++) {
        if (l[i].vector_fma == 0 || l[i].vector_fma % want != 0)
            continue;
        assert_int_equal(l[i].spills, 0);
        assert_int_equal(l[i].vector_stores, 0);
        return;
    }
    fail_msg("no innermost loop has %d multiply-adds:\n%.*s", want,
             KILN_STR_ARG(text.assembly));
}

/* The object's listing has the loops of the assembly: what is counted agrees. */
static void listing_has_the_same_loops(void **state) {
    const tile_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_codegen_options o = {.want_assembly = true};
    kiln_codegen_text text = {.ir = {NULL, 0}};
    kiln_object object;
    kiln_profile p;
    kiln_err err = {0};
    kiln_str listing;
    kiln_asm_loop *want = NULL, *got = NULL;
    size_t n_want = 0, n_got = 0;
    OK(kiln_profile_find(a, r->profile, &p, &err));
    OK(kiln_codegen(a, tiled_matmul(a, r), &p, &o, &object, &text, &err));
    OK(kiln_object_listing(a, object.bytes, &p, &listing, &err));
    OK(kiln_asm_innermost_loops(a, text.assembly, p.arch, &want, &n_want, &err));
    OK(kiln_asm_innermost_loops(a, listing, p.arch, &got, &n_got, &err));
    if (n_got != n_want || n_got == 0)
        fail_msg("%zu loops, must be %zu:\n%.*s", n_got, n_want, KILN_STR_ARG(listing));
    for (size_t i = 0; i < n_got; i++) {
        assert_int_equal(got[i].instructions, want[i].instructions);
        assert_int_equal(got[i].vector_fma, want[i].vector_fma);
        assert_int_equal(got[i].vector_loads, want[i].vector_loads);
        assert_int_equal(got[i].vector_stores, want[i].vector_stores);
        assert_int_equal(got[i].spills, want[i].spills);
    }
    const kiln_str no_object = KILN_STR_LIT("no object");
    kiln_assert_fails(kiln_object_listing(a, no_object, &p, &listing, &err),
                      KILN_ERR_PARSE, &err, "no relocatable ELF file");
}

static tile_row listing_rows[] = {
    {"lists_avx512", "x86-avx512", 6, 64, 16},
    {"lists_spills_on_avx2", "x86-avx2", 12, 32, 8},
    {"lists_aarch64", "aarch64", 6, 16, 4},
};

/* ---- conversions ----------------------------------------------------------------- */

typedef struct cast_row {
    const char *name, *profile;
    kiln_dtype dtype;
    int most; /* instructions of the loop, for one vector */
} cast_row;

static cast_row cast_rows[] = {
    {"to_i8_on_avx512", "x86-avx512", KILN_I8, 12},
    {"to_u8_on_avx512", "x86-avx512", KILN_U8, 12},
    {"to_i16_on_avx512", "x86-avx512", KILN_I16, 12},
    {"to_i32_on_avx512", "x86-avx512", KILN_I32, 14},
    {"to_i8_on_avx2", "x86-avx2", KILN_I8, 16},
    {"to_i32_on_avx2", "x86-avx2", KILN_I32, 16},
};

static void floats_become_integers_by_vectors(void **state) {
    const cast_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    const kiln_codegen_options o = {.want_assembly = true};
    kiln_codegen_text text = {.ir = {NULL, 0}};
    kiln_object object;
    kiln_profile p;
    kiln_program *prog = NULL;
    kiln_err err = {0};
    kiln_asm_loop *l = NULL;
    size_t n = 0;
    const int64_t size = 1 << 16, lanes = strstr(r->profile, "512") != NULL ? 16 : 8;
    kiln_te *x = kiln_te_placeholder(a, "x", KILN_F32, 1, &size);
    kiln_te *y = kiln_te_begin(a, "y", 1, &size);
    const kiln_expr *body = kiln_x_cast(
        a, r->dtype, kiln_te_read(a, x, (const kiln_expr *[]){kiln_te_var(y, 0)}));
    OK(kiln_te_end(y, 1, &body, &err));
    const kiln_te *out = y, *args[2] = {x, y};
    kiln_schedule *s = kiln_schedule_new(a, &out, 1);
    kiln_stage *st = kiln_schedule_stage(s, y);
    kiln_iter *outer = NULL, *inner = NULL;
    OK(kiln_split(st, kiln_stage_axis(st, 0), lanes, &outer, &inner, &err));
    OK(kiln_vectorize(st, inner, &err));
    OK(kiln_lower(a, s, args, 2, 1, "cast", &prog, &err));
    OK(kiln_program_optimize(prog, NULL, &err));
    OK(kiln_profile_find(a, r->profile, &p, &err));
    OK(kiln_codegen(a, prog, &p, &o, &object, &text, &err));
    OK(kiln_asm_innermost_loops(a, text.assembly, p.arch, &l, &n, &err));
    assert_int_equal(n, 1);
    /* unrolled by LLVM: as often as it stores */
    const int times = l[0].vector_stores > 0 ? l[0].vector_stores : 1;
    if (l[0].instructions > r->most * times)
        fail_msg("a vector takes %d instructions (%d times), at most %d:\n%.*s",
                 l[0].instructions, times, r->most, KILN_STR_ARG(text.assembly));
}

int main(void) {
    kiln_test_add_rows(check_text, text_rows);
    kiln_test_add_rows(listing_has_the_same_loops, listing_rows);
    kiln_test_add_rows(accumulators_stay_in_registers, tile_rows);
    kiln_test_add_rows(floats_become_integers_by_vectors, cast_rows);
    return kiln_test_run("assembly");
}
