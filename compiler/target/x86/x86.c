/* x86-64 (System V ABI, AMD64 supplement). */
#include "compiler/target/target_internal.h"
#include "compiler/target/x86/x86.h"

static const kiln_need needs[] = {
    {"x86-64-v3", 32, NULL},          {"x86-64-v4", 64, NULL},
    {"avx512vnni", 0, "+avx512vnni"}, {"avxvnni", 0, "+avxvnni"},
    {"avx512bf16", 0, "+avx512bf16"}, {NULL, 0, NULL},
};

const kiln_arch_def kiln_arch_x86_64 = {
    .name = "x86_64",
    .title = "x86-64",
    .kind = KILN_TARGET_CPU,
    .memory = kiln_cpu_memory,
    .generator = "llvm_cpu",
    .elf_machine = 62, /* EM_X86_64 */
    .linker_emulation = "elf_x86_64",
    .intrinsics = {.splits_saturated = true,
                   .min = {{"llvm.x86.sse.min.ps", "llvm.x86.avx.min.ps.256",
                            "llvm.x86.avx512.min.ps.512"},
                           {"llvm.x86.sse2.min.pd", "llvm.x86.avx.min.pd.256",
                            "llvm.x86.avx512.min.pd.512"}},
                   .max = {{"llvm.x86.sse.max.ps", "llvm.x86.avx.max.ps.256",
                            "llvm.x86.avx512.max.ps.512"},
                           {"llvm.x86.sse2.max.pd", "llvm.x86.avx.max.pd.256",
                            "llvm.x86.avx512.max.pd.512"}},
                   .permute = {NULL, "llvm.x86.avx2.permps",
                               "llvm.x86.avx512.permvar.sf.512"},
                   .permute2 = {NULL, NULL, "llvm.x86.avx512.vpermi2var.ps.512"},
                   .madd_i16 = {"llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
                                "llvm.x86.avx512.pmaddw.d.512"},
                   .dot_u8_s8 = {"llvm.x86.avx512.vpdpbusd.128",
                                 "llvm.x86.avx512.vpdpbusd.256",
                                 "llvm.x86.avx512.vpdpbusd.512"}},
    .need = needs,
    .comment = "#",
    .code_step = 1,
    .asm_flags = kiln_x86_asm_flags,
    .asm_register = kiln_x86_asm_register,
#if defined(__x86_64__)
    .detect = kiln_x86_detect,
#endif
};
