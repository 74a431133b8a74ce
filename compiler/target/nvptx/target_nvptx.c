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
        kiln_str_starts(op, "wgmma.mma") || kiln_str_starts(op, "dp4a."))
        flags |= KILN_ASM_FMA;
    if (kiln_str_starts(op, "ld."))
        flags |= KILN_ASM_LOAD;
    if (kiln_str_starts(op, "st."))
        flags |= KILN_ASM_STORE;
    if (kiln_str_starts(op, "ld.local") || kiln_str_starts(op, "st.local"))
        flags |= KILN_ASM_STACK;
    return flags;
}

/* Of "sm_80": 80. */
static uint64_t generation(const kiln_profile *p) {
    kiln_str rest = kiln_str_from(p->cpu);
    uint64_t n = 0;
    return kiln_text_skip(&rest, "sm_") && kiln_text_u64(&rest, &n) ? n : 0;
}

/* CUDA C++ Programming Guide, 12.6, table 21: most shared memory of a thread block. */
static int64_t shared_most(const kiln_profile *p) {
    static const struct {
        uint64_t generation;
        int kib;
    } row[] = {{70, 96}, {75, 64}, {80, 163}, {86, 99}, {87, 163}, {89, 99}, {90, 227}};
    int64_t most = 0;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        if (row[i].generation == generation(p))
            most = (int64_t)row[i].kib * 1024;
    return most;
}

/* mma.sync.m16n8k16 and cp.async (PTX ISA 8.5, 9.7.14.5.14 and 9.7.9.25.3). */
static bool has_mma(const kiln_profile *p) { return generation(p) >= 80; }

/* wgmma.mma_async (9.7.14.7): sm_90a has it, and none before or behind. */
static bool has_wgmma(const kiln_profile *p) { return generation(p) == 90; }

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
    .shared_most = shared_most,
    .has_mma = has_mma,
    .has_wgmma = has_wgmma,
};
