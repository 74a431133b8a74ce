/* Arm, 32 bits (ELF for the Arm Architecture): ARMv7-A with NEON, in Arm state, and
 * Cortex-M for what is no package (C source, static libraries). NEON flushes subnormal
 * numbers to zero (Arm Architecture Reference Manual ARMv7-A, A2.7.4), and has neither
 * division nor rounding. */
#include "compiler/target/target_internal.h"

static unsigned asm_flags(kiln_str op, kiln_str operand) {
    const bool is_vector = kiln_asm_has(operand, "q") || kiln_asm_has(operand, "d");
    unsigned flags = 0;
    if (op.n > 0 && op.p[0] == 'b' && !kiln_str_starts(op, "bl") &&
        !kiln_str_starts(op, "bi") && !kiln_str_starts(op, "bf"))
        flags |= KILN_ASM_BRANCH;
    if (kiln_str_starts(op, "vmla") || kiln_str_starts(op, "vfma") ||
        kiln_str_starts(op, "vmls") || kiln_str_starts(op, "vfms"))
        flags |= KILN_ASM_FMA;
    if (kiln_str_starts(op, "vld1") || (is_vector && kiln_str_starts(op, "vldr")))
        flags |= KILN_ASM_LOAD;
    if (kiln_str_starts(op, "vst1") || (is_vector && kiln_str_starts(op, "vstr")))
        flags |= KILN_ASM_STORE;
    if (kiln_asm_has(operand, "[sp]") || kiln_asm_has(operand, "[sp, #") ||
        kiln_asm_has(operand, "[sp:"))
        flags |= KILN_ASM_STACK;
    return flags;
}

/* q3 is d6 and d7. */
static int asm_register(kiln_str text, size_t i) {
    const bool starts_word =
        i == 0 || text.p[i - 1] == ' ' || text.p[i - 1] == '\t' || text.p[i - 1] == '{';
    if (!starts_word || (text.p[i] != 'q' && text.p[i] != 'd'))
        return -1;
    const int n = kiln_asm_number(text, i + 1);
    return n >= 0 && text.p[i] == 'd' ? n / 2 : n;
}

#if defined(__arm__)
static kiln_status detect(kiln_arena *a, kiln_profile *out, kiln_err *err) {
    kiln_profile p = kiln_profile_base("armv7-neon");
    (void)a;
    (void)err;
    kiln_profile_detect_system(&p);
    *out = p;
    return KILN_OK;
}
#endif

const kiln_arch_def kiln_arch_arm = {
    .name = "arm",
    .title = "Arm",
    .kind = KILN_TARGET_CPU,
    .memory = kiln_cpu_memory,
    .generator = "llvm_cpu",
    .elf_machine = 40, /* EM_ARM */
    .linker_emulation = "armelf_linux_eabi",
    .no_rounding = true,
    .intrinsics = {.splits_saturated = true},
    .comment = "@",
    .code_step = 4,
    .asm_flags = asm_flags,
    .asm_register = asm_register,
#if defined(__arm__)
    .detect = detect,
#endif
};
