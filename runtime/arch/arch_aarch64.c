/* ELF for the Arm 64-bit architecture, 5.7: the few relocations that objects of
 * position-independent, freestanding code hold; any other is refused. */
#include "runtime/arch.h"

#if defined(__aarch64__)
#include <string.h>
#include <sys/auxv.h>
#endif

enum {
    A_ABS64 = 257,
    A_PREL64 = 260,
    A_PREL32 = 261,
    A_LDST8 = 278,
    A_ADR_PREL_LO21 = 274,
    A_ADR_PREL_PG_HI21 = 275,
    A_ADD_LO12 = 277,
    A_JUMP26 = 282,
    A_CALL26 = 283,
    A_LDST16 = 284,
    A_LDST32 = 285,
    A_LDST64 = 286,
    A_LDST128 = 299
};

/* The twelve low bits of an address, in units of the access. */
static kiln_load_status low12(const kiln_elf_fixup *f, int shift) {
    if ((f->value & (((uint64_t)1 << shift) - 1)) != 0)
        return kiln_fixup_bad(f, "an access is not aligned");
    const uint64_t imm = (f->value & 0xFFF) >> shift;
    const uint64_t old = kiln_elf_number(f->p, 4) & ~((uint64_t)0xFFF << 10);
    kiln_elf_put(f->p, old | imm << 10, 4);
    return KILN_LOAD_OK;
}

static kiln_load_status adr(const kiln_elf_fixup *f, uint64_t v) {
    if (!kiln_fits_signed(v, 21))
        return kiln_fixup_bad(f, "a relocation's value does not fit 21 bits");
    const uint64_t mask = (uint64_t)3 << 29 | (uint64_t)0x7FFFF << 5;
    const uint64_t imm = (v & 3) << 29 | (v >> 2 & 0x7FFFF) << 5;
    kiln_elf_put(f->p, (kiln_elf_number(f->p, 4) & ~mask) | imm, 4);
    return KILN_LOAD_OK;
}

static kiln_load_status branch(const kiln_elf_fixup *f, uint64_t v) {
    if ((v & 3) != 0 || !kiln_fits_signed(v, 28))
        return kiln_fixup_bad(f, "a branch's distance does not fit 28 bits");
    const uint64_t old = kiln_elf_number(f->p, 4) & ~(uint64_t)0x3FFFFFF;
    kiln_elf_put(f->p, old | (v >> 2 & 0x3FFFFFF), 4);
    return KILN_LOAD_OK;
}

static kiln_load_status relocate(const kiln_elf_fixup *f) {
    const uint64_t at = f->at, value = f->value;
    const uint64_t page = ~(uint64_t)0xFFF;
    if (f->room < (f->type == A_ABS64 || f->type == A_PREL64 ? 8u : 4u))
        return kiln_fixup_bad(f, "a relocation leaves its section");
    switch (f->type) {
    case 0:
        return KILN_LOAD_OK;
    case A_ABS64:
        kiln_elf_put(f->p, value, 8);
        return KILN_LOAD_OK;
    case A_PREL64:
        kiln_elf_put(f->p, value - at, 8);
        return KILN_LOAD_OK;
    case A_PREL32:
        if (!kiln_fits_signed(value - at, 32))
            return kiln_fixup_bad(f, "a relocation's value does not fit 32 bits");
        kiln_elf_put(f->p, value - at, 4);
        return KILN_LOAD_OK;
    case A_ADR_PREL_LO21:
        return adr(f, value - at);
    case A_ADR_PREL_PG_HI21: { /* pages, signed */
        const uint64_t d = (value & page) - (at & page);
        return adr(f, d >> 12 | ((d >> 63) != 0 ? (uint64_t)0xFFF << 52 : 0));
    }
    case A_ADD_LO12:
    case A_LDST8:
        return low12(f, 0);
    case A_LDST16:
        return low12(f, 1);
    case A_LDST32:
        return low12(f, 2);
    case A_LDST64:
        return low12(f, 3);
    case A_LDST128:
        return low12(f, 4);
    case A_JUMP26:
    case A_CALL26:
        return branch(f, value - at);
    default:
        return kiln_fixup_unknown(f, "AArch64");
    }
}

#if defined(__aarch64__)
static void wait_a_little(void) { __asm__ volatile("yield"); }

/* SVE's rdvl: bytes of a vector (Arm Architecture Reference Manual). */
static unsigned long scalable_bytes(void) {
    unsigned long bytes;
    __asm__ volatile(".inst 0x04bf5020\n\tmov %0, x0" : "=r"(bytes) : : "x0");
    return bytes;
}

/* The kernel's numbers of what a CPU has (Linux, arm64/elf_hwcaps). */
static int has(const char *feature) {
    const unsigned long base = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
    if (strcmp(feature, "dotprod") == 0)
        return (base >> 20 & 1) != 0;
    if (strcmp(feature, "i8mm") == 0)
        return (more >> 13 & 1) != 0;
    if (strcmp(feature, "bf16") == 0)
        return (more >> 14 & 1) != 0;
    if (strcmp(feature, "sve256") == 0)
        return (base >> 22 & 1) != 0 && scalable_bytes() >= 32;
    if (strcmp(feature, "sve512") == 0)
        return (base >> 22 & 1) != 0 && scalable_bytes() >= 64;
    return 0;
}
#endif

const kiln_runtime_arch kiln_runtime_arch_aarch64 = {
    .name = "AArch64",
    .machine = KILN_ELF_AARCH64,
    .relative = 1027,                  /* R_AARCH64_RELATIVE */
    .symbolic = {A_ABS64, 1025, 1026}, /* GLOB_DAT, JUMP_SLOT */
    .relocate = relocate,
#if defined(__aarch64__)
    .pause = wait_a_little,
    .has = has,
#endif
};
