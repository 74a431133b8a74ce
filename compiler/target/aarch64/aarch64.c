/* AArch64 (ELF for the Arm 64-bit architecture). Assembly is as LLVM writes it. */
#include "compiler/target/target_internal.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

static unsigned asm_flags(kiln_str op, kiln_str operand) {
    const bool is_q = operand.n > 0 && operand.p[0] == 'q';
    unsigned flags = 0;
    if (kiln_str_is(op, "b") || kiln_str_starts(op, "b.") ||
        kiln_str_starts(op, "cb") || kiln_str_starts(op, "tb"))
        flags |= KILN_ASM_BRANCH;
    if (kiln_str_starts(op, "fmla") || kiln_str_starts(op, "fmls") ||
        kiln_str_starts(op, "sdot") || kiln_str_starts(op, "udot"))
        flags |= KILN_ASM_FMA;
    if (kiln_str_starts(op, "ld1") || (is_q && op.p[0] == 'l'))
        flags |= KILN_ASM_LOAD;
    if (kiln_str_starts(op, "st1") || (is_q && op.p[0] == 's'))
        flags |= KILN_ASM_STORE;
    if (kiln_asm_has(operand, "[sp]") || kiln_asm_has(operand, "[sp, #"))
        flags |= KILN_ASM_STACK;
    return flags;
}

/* v3.4s and q3 are one. */
static int asm_register(kiln_str text, size_t i) {
    const bool starts_word =
        i == 0 || text.p[i - 1] == ' ' || text.p[i - 1] == '\t' || text.p[i - 1] == '{';
    if (!starts_word || (text.p[i] != 'v' && text.p[i] != 'q'))
        return -1;
    return kiln_asm_number(text, i + 1);
}

#if defined(__aarch64__)
/* What the system says in its words of bits (Linux, arm64/elf_hwcaps), as the runtime asks
 * (runtime/arch/arch_aarch64.c). Vectors that grow with the machine are not looked for. */
static kiln_status detect(kiln_arena *a, kiln_profile *out, kiln_err *err) {
    const bool has_dotprod = (getauxval(AT_HWCAP) >> 20 & 1) != 0;
    const unsigned long more = getauxval(AT_HWCAP2);
    const bool has_i8mm = (more >> 13 & 1) != 0, has_bf16 = (more >> 14 & 1) != 0;
    kiln_profile p = kiln_profile_base(has_dotprod ? "aarch64-dotprod" : "aarch64");
    (void)err;
    p.features = kiln_format(a, "%s%s%s", p.features, has_i8mm ? ",+i8mm" : "",
                             has_bf16 ? ",+bf16" : "");
    p.has_bf16 = has_bf16;
    kiln_profile_detect_system(&p);
    *out = p;
    return KILN_OK;
}
#endif

static const kiln_need needs[] = {
    {"dotprod", 0, "+dotprod"},
    {"bf16", 0, "+bf16"},
    {"i8mm", 0, "+i8mm"},
    {NULL, 0, NULL},
};

const kiln_arch_def kiln_arch_aarch64 = {
    .name = "aarch64",
    .title = "AArch64",
    .kind = KILN_TARGET_CPU,
    .memory = kiln_cpu_memory,
    .generator = "llvm_cpu",
    .elf_machine = 183, /* EM_AARCH64 */
    .linker_emulation = "aarch64elf",
    .always_has_fma = true,
    .intrinsics = {.has_nan_min_max = true,
                   .dot_s8 = "llvm.aarch64.neon.sdot",
                   .dot_u8 = "llvm.aarch64.neon.udot"},
    .need = needs,
    .comment = "//",
    .code_step = 4,
    .asm_flags = asm_flags,
    .asm_register = asm_register,
#if defined(__aarch64__)
    .detect = detect,
#endif
};
