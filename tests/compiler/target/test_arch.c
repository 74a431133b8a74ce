/* Architectures: rows are whole and agree with the runtime's, and nobody else chooses
 * between architectures by name. */
#include "compiler/target/target.h"
#include "compiler/tensor/buffer.h"
#include "runtime/arch.h"
#include "tests/support/kiln_test.h"

#include <string.h>

static void rows_are_whole(void **state) {
    (void)state;
    int n_here = 0;
    for (int i = 0; i < KILN_N_ARCHS; i++) {
        const kiln_arch_def *d = kiln_arch_of((kiln_arch)i);
        const kiln_runtime_arch *r = kiln_runtime_arch_of((uint64_t)d->elf_machine);
        kiln_arch found;
        for (int k = 0; k < i; k++)
            assert_string_not_equal(kiln_arch_name((kiln_arch)k), d->name);
        /* A GPU's code is a text, which its driver loads. */
        assert_int_equal(d->kind != KILN_TARGET_GPU, d->elf_machine != 0);
        if (d->kind == KILN_TARGET_GPU)
            continue;
        assert_true(d->name[0] != '\0' && d->linker_emulation[0] != '\0');
        assert_true(d->comment[0] != '\0' && d->code_step >= 1);
        assert_non_null(d->asm_flags);
        assert_non_null(d->asm_register);
        assert_true(kiln_arch_of_machine((uint64_t)d->elf_machine, &found));
        assert_int_equal(found, i);
        assert_non_null(strstr(kiln_arch_titles(kiln_test_arena()), d->title));
        n_here += d->detect != NULL;
        /* What is made is loaded, too. */
        assert_non_null(r);
        assert_string_equal(r->name, d->title);
        assert_non_null(r->relocate);
        assert_int_equal(r->pause != NULL, d->detect != NULL);
    }
    assert_int_equal(n_here, 1);
    assert_non_null(kiln_runtime_arch_here());
}

static void memories_are_found(void **state) {
    (void)state;
    static const kiln_memory memory[] = {{"global", KILN_SCOPE_GLOBAL, 0},
                                         {"shared", KILN_SCOPE_SHARED, 48 << 10},
                                         {NULL, 0, 0}};
    const kiln_arch_def made_up = {.name = "made up", .memory = memory},
                        none = {.name = "none"};
    assert_ptr_equal(kiln_memory_of(made_up.memory, KILN_SCOPE_SHARED), &memory[1]);
    assert_null(kiln_memory_of(made_up.memory, KILN_SCOPE_LOCAL));
    assert_null(kiln_memory_of(none.memory, KILN_SCOPE_GLOBAL));
    for (int i = 0; i < KILN_N_ARCHS; i++) {
        const kiln_arch_def *d = kiln_arch_of((kiln_arch)i);
        static const kiln_scope of_a_cpu[] = {KILN_SCOPE_GLOBAL, KILN_SCOPE_LOCAL,
                                              KILN_SCOPE_REGISTER};
        const kiln_memory *shared = kiln_memory_of(d->memory, KILN_SCOPE_SHARED);
        for (size_t k = 0; k < sizeof of_a_cpu / sizeof of_a_cpu[0]; k++)
            assert_non_null(kiln_memory_of(d->memory, (int)of_a_cpu[k]));
        assert_int_equal(shared != NULL, d->kind == KILN_TARGET_GPU);
        assert_null(kiln_memory_of(d->memory, KILN_SCOPE_TARGET));
    }
}

/* Not taken for another one. */
static void unknown_machines_are_refused(void **state) {
    (void)state;
    static const uint64_t machine[] = {0, 3, 8, 9999, (uint64_t)62 << 32};
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++) {
        kiln_arch arch;
        assert_false(kiln_arch_of_machine(machine[i], &arch));
        assert_null(kiln_runtime_arch_of(machine[i]));
    }
}

typedef struct line_row {
    const char *name;
    kiln_arch arch;
    const char *op, *operand;
    unsigned flags;
} line_row;

static line_row line_rows[] = {
    {"x86_jump", KILN_ARCH_X86_64, "jne", ".L1", KILN_ASM_BRANCH},
    {"x86_fma_of_memory", KILN_ARCH_X86_64, "vfmadd231ps", "(%rsi), %zmm0, %zmm1",
     KILN_ASM_FMA | KILN_ASM_LOAD},
    {"x86_scalar_fma", KILN_ARCH_X86_64, "vfmadd231ss", "%xmm2, %xmm0, %xmm1", 0},
    {"x86_dot_product", KILN_ARCH_X86_64, "vpdpbusd", "%zmm2, %zmm0, %zmm1",
     KILN_ASM_FMA},
    {"x86_spill", KILN_ARCH_X86_64, "vmovaps", "%zmm2, 64(%rsp)",
     KILN_ASM_STORE | KILN_ASM_STACK},
    {"x86_array_on_the_stack", KILN_ARCH_X86_64, "vmovaps", "64(%rsp,%rax), %zmm0",
     KILN_ASM_LOAD},
    {"arm_branch", KILN_ARCH_AARCH64, "b.ne", ".LBB0_1", KILN_ASM_BRANCH},
    {"arm_compare_and_branch", KILN_ARCH_AARCH64, "cbnz", "x0, .L1", KILN_ASM_BRANCH},
    {"arm_logic_is_no_branch", KILN_ARCH_AARCH64, "bic", "x0, x1, x2", 0},
    {"arm_fma", KILN_ARCH_AARCH64, "fmla", "v0.4s, v1.4s, v2.s[0]", KILN_ASM_FMA},
    {"arm_load", KILN_ARCH_AARCH64, "ldr", "q1, [x0], #16", KILN_ASM_LOAD},
    {"arm_spill", KILN_ARCH_AARCH64, "str", "q1, [sp, #32]",
     KILN_ASM_STORE | KILN_ASM_STACK},
    {"arm32_branch", KILN_ARCH_ARM, "bne", ".LBB0_1", KILN_ASM_BRANCH},
    {"arm32_call_is_no_branch", KILN_ARCH_ARM, "bl", "k0", 0},
    {"arm32_logic_is_no_branch", KILN_ARCH_ARM, "bic", "r0, r1, r2", 0},
    {"arm32_fma", KILN_ARCH_ARM, "vfma.f32", "q0, q1, q2", KILN_ASM_FMA},
    {"arm32_load", KILN_ARCH_ARM, "vld1.64", "{d16, d17}, [r0]!", KILN_ASM_LOAD},
    {"arm32_spill", KILN_ARCH_ARM, "vst1.64", "{d16, d17}, [sp:128]",
     KILN_ASM_STORE | KILN_ASM_STACK},
    {"riscv_branch", KILN_ARCH_RISCV64, "bltu", "a0, a1, .LBB0_1", KILN_ASM_BRANCH},
    {"riscv_jump", KILN_ARCH_RISCV64, "j", ".LBB0_1", KILN_ASM_BRANCH},
    {"riscv_call_is_no_branch", KILN_ARCH_RISCV64, "jalr", "a1", 0},
    {"riscv_bits_are_no_branch", KILN_ARCH_RISCV64, "bset", "a0, a1, a2", 0},
    {"riscv_fma", KILN_ARCH_RISCV64, "vfmacc.vf", "v8, fa0, v16", KILN_ASM_FMA},
    {"riscv_scalar_fma", KILN_ARCH_RISCV64, "fmadd.s", "fa0, fa1, fa2, fa0", 0},
    {"riscv_load", KILN_ARCH_RISCV64, "vle32.v", "v8, (a0)", KILN_ASM_LOAD},
    {"riscv_strided_load", KILN_ARCH_RISCV64, "vlse32.v", "v8, (a0), a1",
     KILN_ASM_LOAD},
    {"riscv_gather", KILN_ARCH_RISCV64, "vluxei64.v", "v8, (a0), v16", KILN_ASM_LOAD},
    {"riscv_store", KILN_ARCH_RISCV64, "vse32.v", "v8, (a0)", KILN_ASM_STORE},
    {"riscv_scatter", KILN_ARCH_RISCV64, "vsoxei32.v", "v8, (a0), v16", KILN_ASM_STORE},
    {"riscv_shift_is_no_store", KILN_ARCH_RISCV64, "vsll.vi", "v8, v8, 2", 0},
    {"riscv_length_is_no_store", KILN_ARCH_RISCV64, "vsetivli",
     "zero, 4, e32, m1, ta, ma", 0},
    {"riscv_sign_is_no_store", KILN_ARCH_RISCV64, "vsext.vf2", "v8, v9", 0},
    {"riscv_slide_is_no_store", KILN_ARCH_RISCV64, "vslidedown.vi", "v8, v9, 2", 0},
    {"riscv_spill", KILN_ARCH_RISCV64, "vs1r.v", "v8, (sp)",
     KILN_ASM_STORE | KILN_ASM_STACK},
    {"riscv_refill_of_four", KILN_ARCH_RISCV64, "vl4r.v", "v8, (a0)",
     KILN_ASM_LOAD | KILN_ASM_STACK},
    {"riscv_scalar_refill", KILN_ARCH_RISCV64, "fld", "fa0, 16(sp)", KILN_ASM_STACK},
};

static void check_line(void **state) {
    const line_row *r = *state;
    assert_int_equal(kiln_arch_of(r->arch)->asm_flags(kiln_str_from(r->op),
                                                      kiln_str_from(r->operand)),
                     r->flags);
}

typedef struct register_row {
    const char *name;
    kiln_arch arch;
    const char *text;
    int at, number;
} register_row;

static register_row register_rows[] = {
    {"x86_zmm", KILN_ARCH_X86_64, "%zmm31", 0, 31},
    {"x86_xmm_in_between", KILN_ARCH_X86_64, "vaddps %xmm1, %xmm2", 14, 2},
    {"x86_mask", KILN_ARCH_X86_64, "%kmm1", 0, -1},
    {"x86_integer", KILN_ARCH_X86_64, "%rax", 0, -1},
    {"x86_cut", KILN_ARCH_X86_64, "%zmm", 0, -1},
    {"arm_v", KILN_ARCH_AARCH64, "v17.4s", 0, 17},
    {"arm_q", KILN_ARCH_AARCH64, "ldr q3, [x0]", 4, 3},
    {"arm_inside_a_word", KILN_ARCH_AARCH64, "mov3", 2, -1},
    {"arm_mnemonic", KILN_ARCH_AARCH64, "q", 0, -1},
    {"riscv_v", KILN_ARCH_RISCV64, "vfadd.vv v8, v31, v0", 13, 31},
    {"riscv_mnemonic", KILN_ARCH_RISCV64, "vle32.v", 0, -1},
    {"riscv_mask", KILN_ARCH_RISCV64, "v8, v9, v0.t", 8, 0},
    {"riscv_inside_a_word", KILN_ARCH_RISCV64, "mv8", 1, -1},
};

static void check_register(void **state) {
    const register_row *r = *state;
    assert_int_equal(
        kiln_arch_of(r->arch)->asm_register(kiln_str_from(r->text), (size_t)r->at),
        r->number);
}

/* A choice between architectures outside of their rows would take the next one for one
 * of these. Allowed are: the folders; what is about the program's own machine, and has
 * an answer for one that is not listed; text that is printed for whichever compiler
 * reads it, which has one as well. */
static void nobody_else_names_architectures(void **state) {
    (void)state;
    static const char script[] =
        "grep -rnwE 'KILN_ARCH_[A-Z0-9_]+|__x86_64__|__aarch64__|__riscv|EM_X86_64' "
        "base "
        "bindings cli compiler history packager pipeline programs reports runtime sql "
        "tuning_db zoo --include='*.c' --include='*.h' --include='*.def' |"
        " grep -vE '^(compiler/target|runtime/arch)/'"
        " | grep -vE '^base/host/machine_linux.c:[0-9]+:#'"
        " | grep -vE '^(base/core/wide.h|compiler/op/gemm_f64.c):[0-9]+:#'"
        " | grep -vE "
        "'^compiler/codegen/c/(helpers|vector_text).c:[0-9]+:.*\".*__aarch64__'";
    const char *const argv[] = {"sh", "-c", script, NULL};
    const kiln_process_options o = {.argv = argv};
    kiln_process_result r;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_process_run(kiln_test_arena(), &o, &r, &err), &err);
    if (r.out.n > 0)
        fail_msg("ask the architecture's row instead (compiler/target/target.h):\n%.*s",
                 KILN_STR_ARG(r.out));
}

int main(void) {
    kiln_test_add("rows_are_whole", rows_are_whole, NULL);
    kiln_test_add("memories_are_found", memories_are_found, NULL);
    kiln_test_add("unknown_machines_are_refused", unknown_machines_are_refused, NULL);
    kiln_test_add_rows(check_line, line_rows);
    kiln_test_add_rows(check_register, register_rows);
    kiln_test_add("nobody_else_names_architectures", nobody_else_names_architectures,
                  NULL);
    return kiln_test_run("arch");
}
