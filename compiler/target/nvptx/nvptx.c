/* PTX (NVIDIA, Parallel Thread Execution ISA): a text that the driver of a CUDA device
 * compiles for it. */
#include "compiler/target/target_internal.h"

/* How many registers a thread has, the driver's assembler decides: what PTX calls local is
 * what a function indexes, and so cannot be in one. */
static unsigned asm_flags(kiln_str op, kiln_str operand) {
    unsigned flags = 0;
    (void)operand;
    if (kiln_str_starts(op, "bra"))
        flags |= KILN_ASM_BRANCH;
    if (kiln_str_starts(op, "fma.") || kiln_str_starts(op, "mma.") ||
        kiln_str_starts(op, "dp4a."))
        flags |= KILN_ASM_FMA;
    if (kiln_str_starts(op, "ld."))
        flags |= KILN_ASM_LOAD;
    if (kiln_str_starts(op, "st."))
        flags |= KILN_ASM_STORE;
    if (kiln_str_starts(op, "ld.local") || kiln_str_starts(op, "st.local"))
        flags |= KILN_ASM_STACK;
    return flags;
}

const kiln_arch_def kiln_arch_nvptx = {
    .name = "nvptx",
    .title = "CUDA",
    .kind = KILN_TARGET_GPU,
    .memory = kiln_gpu_memory,
    .device = "cuda",
    .generator = "nvptx",
    .always_has_fma = true,
    .comment = "//",
    .code_step = 1,
    .asm_flags = asm_flags,
    .asm_register = kiln_asm_no_register,
};
