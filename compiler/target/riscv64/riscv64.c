/* RISC-V, 64 bits (RISC-V ELF psABI; RISC-V "V" Vector Extension, 1.0). Vectors have a
 * length that the profile fixes: code is made for at least that (zvl128b, zvl256b, zvl512b) and
 * says with each instruction how many elements it takes, so it runs on longer ones too.
 * Without the extension a vector is as many scalar registers. */
#include "compiler/target/target_internal.h"

#if defined(__riscv)
#include <sys/auxv.h>
#endif

static bool is_branch(kiln_str op) {
    static const char *const words[] = {"j",    "beq",  "bne",  "blt",  "bge",  "bltu",
                                        "bgeu", "beqz", "bnez", "blez", "bgez", "bltz",
                                        "bgtz", "bgt",  "ble",  "bgtu", "bleu"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (kiln_str_is(op, words[i]))
            return true;
    return false;
}

/* vl1r.v, vs8r.v: whole registers, however long they are. Code for vectors of a given
 * length moves these to the stack and back only. */
static bool is_spill(kiln_str op) {
    return op.n > 3 && op.p[2] >= '1' && op.p[2] <= '8' && op.p[3] == 'r';
}

/* Of vectors, only loads and stores have an operand in parentheses. */
static unsigned asm_flags(kiln_str op, kiln_str operand) {
    static const char *const fma[] = {"vfmacc", "vfnmacc", "vfmsac", "vfnmsac",
                                      "vfmadd", "vfnmadd", "vfmsub", "vfnmsub"};
    const bool is_memory = kiln_asm_has(operand, "(");
    const bool is_load = is_memory && kiln_str_starts(op, "vl");
    const bool is_store = is_memory && kiln_str_starts(op, "vs");
    unsigned flags = 0;
    if (is_branch(op))
        flags |= KILN_ASM_BRANCH;
    for (size_t i = 0; i < sizeof fma / sizeof fma[0]; i++)
        if (kiln_str_starts(op, fma[i]))
            flags |= KILN_ASM_FMA;
    if (is_load)
        flags |= KILN_ASM_LOAD;
    if (is_store)
        flags |= KILN_ASM_STORE;
    if (kiln_asm_has(operand, "(sp)") || ((is_load || is_store) && is_spill(op)))
        flags |= KILN_ASM_STACK;
    return flags;
}

static int asm_register(kiln_str text, size_t i) {
    const bool starts_word = i == 0 || text.p[i - 1] == ' ' || text.p[i - 1] == '\t';
    return starts_word && text.p[i] == 'v' ? kiln_asm_number(text, i + 1) : -1;
}

#if defined(__riscv)
/* The system says which one-letter extensions there are, a bit each; the register vlenb
 * how long vectors are. */
static kiln_status detect(kiln_arena *a, kiln_profile *out, kiln_err *err) {
    const bool has_vectors = (getauxval(AT_HWCAP) >> ('v' - 'a') & 1) != 0;
    unsigned long vector_bytes = 0;
    if (has_vectors) /* without the extension there is no such register */
        __asm__ volatile("csrr %0, 0xC22" : "=r"(vector_bytes));
    const char *name = vector_bytes >= 64   ? "riscv64-v512"
                       : vector_bytes >= 32 ? "riscv64-v256"
                       : vector_bytes >= 16 ? "riscv64-v128"
                                            : "riscv64";
    kiln_profile p = kiln_profile_base(name);
    (void)a;
    (void)err;
    kiln_profile_detect_system(&p);
    *out = p;
    return KILN_OK;
}
#endif

static const kiln_need needs[] = {
    {"zvl128b", KILN_NEED_OF_LENGTH, "+zvl128b"},
    {"zvl256b", KILN_NEED_OF_LENGTH, "+zvl256b"},
    {"zvl512b", KILN_NEED_OF_LENGTH, "+zvl512b"},
    {NULL, 0, NULL},
};

const kiln_arch_def kiln_arch_riscv64 = {
    .name = "riscv64",
    .title = "RISC-V",
    .kind = KILN_TARGET_CPU,
    .memory = kiln_cpu_memory,
    .generator = "llvm_cpu",
    .elf_machine = 243, /* EM_RISCV */
    .linker_emulation = "elf64lriscv",
    .always_has_fma = true,
    .need = needs,
    .comment = "#",
    .code_step = 2,
    .asm_flags = asm_flags,
    .asm_register = asm_register,
#if defined(__riscv)
    .detect = detect,
#endif
};
