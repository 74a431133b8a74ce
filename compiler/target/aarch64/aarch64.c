/* AArch64 (ELF for the Arm 64-bit architecture). Assembly is as LLVM writes it.
 *
 * Vectors longer than NEON's 16 bytes are SVE's (Arm Architecture Reference Manual, A1.4).
 * Code is made for at least the profile's length, and says with each instruction which
 * lanes it takes, so it runs on longer ones too. */
#include "compiler/target/target_internal.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

static unsigned asm_flags(kiln_str op, kiln_str operand) {
    const bool is_q = operand.n > 0 && operand.p[0] == 'q';
    const bool is_z = operand.n > 0 && operand.p[0] == 'z';
    unsigned flags = 0;
    if (kiln_str_is(op, "b") || kiln_str_starts(op, "b.") ||
        kiln_str_starts(op, "cb") || kiln_str_starts(op, "tb"))
        flags |= KILN_ASM_BRANCH;
    if (kiln_str_starts(op, "fmla") || kiln_str_starts(op, "fmls") ||
        kiln_str_starts(op, "fmad") || kiln_str_starts(op, "fmsb") ||
        kiln_str_starts(op, "sdot") || kiln_str_starts(op, "udot"))
        flags |= KILN_ASM_FMA;
    if (kiln_str_starts(op, "ld1") || ((is_q || is_z) && op.p[0] == 'l'))
        flags |= KILN_ASM_LOAD;
    if (kiln_str_starts(op, "st1") || (is_q && op.p[0] == 's') ||
        (is_z && kiln_str_starts(op, "str")))
        flags |= KILN_ASM_STORE;
    if (kiln_asm_has(operand, "[sp]") || kiln_asm_has(operand, "[sp, #"))
        flags |= KILN_ASM_STACK;
    return flags;
}

/* v3.4s, q3 and z3.s are one. */
static int asm_register(kiln_str text, size_t i) {
    const bool starts_word =
        i == 0 || text.p[i - 1] == ' ' || text.p[i - 1] == '\t' || text.p[i - 1] == '{';
    if (!starts_word || (text.p[i] != 'v' && text.p[i] != 'q' && text.p[i] != 'z'))
        return -1;
    return kiln_asm_number(text, i + 1);
}

#if defined(__aarch64__)
/* What the system says in its words of bits (Linux, arm64/elf_hwcaps), as the runtime asks
 * (runtime/arch/arch_aarch64.c); SVE's rdvl, how long its vectors are. */
static int scalable_bytes(void) {
    unsigned long bytes = 0;
    if ((getauxval(AT_HWCAP) >> 22 & 1) != 0) /* without SVE it is no instruction */
        __asm__ volatile(".inst 0x04bf5020\n\tmov %0, x0" : "=r"(bytes) : : "x0");
    return (int)bytes;
}

static kiln_status detect(kiln_arena *a, kiln_profile *out, kiln_err *err) {
    const bool has_dotprod = (getauxval(AT_HWCAP) >> 20 & 1) != 0;
    const unsigned long more = getauxval(AT_HWCAP2);
    const bool has_i8mm = (more >> 13 & 1) != 0, has_bf16 = (more >> 14 & 1) != 0;
    /* Two units of 256 bits do no more than the four of 128 that such cores have, and what
     * shuffles costs more: those are for profiles that ask by name. */
    const bool is_long = scalable_bytes() >= 64;
    kiln_profile p = kiln_profile_base(is_long       ? "aarch64-sve256"
                                       : has_dotprod ? "aarch64-dotprod"
                                                     : "aarch64");
    (void)err;
    p.features = kiln_format(a, "+neon%s%s%s%s", has_dotprod ? ",+dotprod" : "",
                             has_i8mm ? ",+i8mm" : "", has_bf16 ? ",+bf16" : "",
                             is_long ? ",+sve" : "");
    if (is_long) /* longer ones than these no code here asks for */
        p.vector_bytes = 64;
    p.has_dotprod = has_dotprod;
    p.has_bf16 = has_bf16;
    kiln_profile_detect_system(&p);
    *out = p;
    return KILN_OK;
}
#endif

static const kiln_need needs[] = {
    {"dotprod", 0, "+dotprod"}, {"bf16", 0, "+bf16"},   {"i8mm", 0, "+i8mm"},
    {"sve256", 32, "+sve"},     {"sve512", 64, "+sve"}, {NULL, 0, NULL},
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
                   .dot_u8 = "llvm.aarch64.neon.udot",
                   .scalable_dot_s8 = "llvm.aarch64.sve.sdot",
                   .scalable_dot_u8 = "llvm.aarch64.sve.udot"},
    .scalable_bytes = 16,
    .need = needs,
    .comment = "//",
    .code_step = 4,
    .asm_flags = asm_flags,
    .asm_register = asm_register,
#if defined(__aarch64__)
    .detect = detect,
#endif
};
