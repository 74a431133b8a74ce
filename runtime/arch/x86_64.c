/* System V ABI, AMD64 supplement, 4.4: the few relocations that objects of
 * position-independent, freestanding code hold; any other is refused. */
#include "runtime/arch.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>
#endif

static kiln_load_status relocate(const kiln_elf_fixup *f) {
    enum { R_64 = 1, R_PC32 = 2, R_PLT32 = 4, R_32 = 10, R_32S = 11, R_PC64 = 24 };
    const uint32_t type = f->type;
    const int bytes = type == R_64 || type == R_PC64 ? 8 : 4;
    uint64_t value = f->value;
    switch (type) {
    case R_64:
    case R_32:
    case R_32S:
        break;
    case R_PC32:
    case R_PLT32: /* everything is defined here: no table is needed */
    case R_PC64:
        value -= f->at;
        break;
    default:
        return kiln_fixup_unknown(f, "x86-64");
    }
    if (f->room < (uint64_t)bytes)
        return kiln_fixup_bad(f, "a relocation leaves its section");
    if ((type == R_PC32 || type == R_PLT32 || type == R_32S) &&
        !kiln_fits_signed(value, 32))
        return kiln_fixup_bad(f, "a relocation's value does not fit 32 bits");
    if (type == R_32 && value >> 32 != 0)
        return kiln_fixup_bad(f, "a relocation's value does not fit 32 bits");
    kiln_elf_put(f->p, value, bytes);
    return KILN_LOAD_OK;
}

#if defined(__x86_64__)
static void wait_a_little(void) { __builtin_ia32_pause(); }

/* Intel SDM, volume 2, CPUID; levels of the System V ABI's supplement, 3.1.1. */
typedef struct cpuid_leaf {
    unsigned a, b, c, d;
} cpuid_leaf;

static cpuid_leaf cpuid(unsigned n, unsigned sub) {
    cpuid_leaf r = {0, 0, 0, 0};
    if (!__get_cpuid_count(n, sub, &r.a, &r.b, &r.c, &r.d))
        memset(&r, 0, sizeof r);
    return r;
}

/* All of these bits. */
static int has_bits(unsigned reg, unsigned bits) { return (reg & bits) == bits; }

/* Which vector registers the system saves on a switch: XCR0. */
static unsigned saved_state(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* AVX and what is beside it at level 3; AVX-512 F, DQ, CD, BW, VL at level 4. */
static int has_level(int level) {
    enum { XSAVE = 1 << 27, SAVED_AVX = 6, SAVED_AVX512 = 0xE6 };
    const unsigned c1 =
        1u << 28 | 1u << 12 | 1u << 29 | 1u << 22;   /* AVX FMA F16C MOVBE */
    const unsigned b7 = 1u << 5 | 1u << 3 | 1u << 8; /* AVX2 BMI BMI2 */
    const unsigned b7_4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
    const cpuid_leaf one = cpuid(1, 0), seven = cpuid(7, 0);
    const unsigned saved = has_bits(one.c, XSAVE) ? saved_state() : 0;
    const int has_3 = has_bits(saved, SAVED_AVX) && has_bits(one.c, c1) &&
                      has_bits(seven.b, b7) &&
                      has_bits(cpuid(0x80000001, 0).c, 1u << 5);
    return level == 3
               ? has_3
               : has_3 && has_bits(saved, SAVED_AVX512) && has_bits(seven.b, b7_4);
}

static int has(const char *feature) {
    if (strcmp(feature, "x86-64-v3") == 0)
        return has_level(3);
    if (strcmp(feature, "x86-64-v4") == 0)
        return has_level(4);
    if (strcmp(feature, "avx512vnni") == 0)
        return has_level(4) && has_bits(cpuid(7, 0).c, 1u << 11);
    if (strcmp(feature, "avxvnni") == 0)
        return has_level(3) && has_bits(cpuid(7, 1).a, 1u << 4);
    if (strcmp(feature, "avx512bf16") == 0)
        return has_level(4) && has_bits(cpuid(7, 1).a, 1u << 5);
    return 0;
}
#endif

const kiln_runtime_arch kiln_runtime_arch_x86_64 = {
    .name = "x86-64",
    .machine = KILN_ELF_X86_64,
    .relative = 8,         /* R_X86_64_RELATIVE */
    .symbolic = {1, 6, 7}, /* 64, GLOB_DAT, JUMP_SLOT */
    .relocate = relocate,
#if defined(__x86_64__)
    .pause = wait_a_little,
    .has = has,
#endif
};
