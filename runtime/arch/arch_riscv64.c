/* RISC-V ELF psABI, 8.4: the relocations that objects of position-independent,
 * freestanding code hold; any other is refused. Nothing is relaxed: what the linker may
 * shorten stays as it is. */
#include "runtime/arch.h"

#if defined(__riscv)
#include <string.h>
#include <sys/auxv.h>
#endif

enum {
    R_64 = 2,
    R_BRANCH = 16,
    R_JAL = 17,
    R_CALL = 18,
    R_CALL_PLT = 19,
    R_PCREL_HI20 = 23,
    R_PCREL_LO12_I = 24,
    R_PCREL_LO12_S = 25,
    R_ADD8 = 33,
    R_ADD16 = 34,
    R_ADD32 = 35,
    R_ADD64 = 36,
    R_SUB8 = 37,
    R_SUB16 = 38,
    R_SUB32 = 39,
    R_SUB64 = 40,
    R_ALIGN = 43,
    R_RVC_BRANCH = 44,
    R_RVC_JUMP = 45,
    R_RELAX = 51,
    R_32_PCREL = 57
};

/* `n` bits of v from bit `from` on, at bit `to`. */
static uint64_t bits(uint64_t v, int from, int n, int to) {
    return (v >> from & (((uint64_t)1 << n) - 1)) << to;
}

static void put_bits(const kiln_elf_fixup *f, int bytes, uint64_t mask, uint64_t v) {
    kiln_elf_put(f->p, (kiln_elf_number(f->p, bytes) & ~mask) | v, bytes);
}

static kiln_load_status branch(const kiln_elf_fixup *f, uint64_t v) {
    int reach = 13;
    switch (f->type) {
    case R_JAL:
        reach = 21;
        break;
    case R_RVC_BRANCH:
        reach = 9;
        break;
    case R_RVC_JUMP:
        reach = 12;
        break;
    default:
        break;
    }
    if ((v & 1) != 0 || !kiln_fits_signed(v, reach))
        return kiln_fixup_bad(f, "a branch leads too far");
    if (f->type == R_BRANCH)
        put_bits(f, 4, 0xFE000F80,
                 bits(v, 12, 1, 31) | bits(v, 5, 6, 25) | bits(v, 1, 4, 8) |
                     bits(v, 11, 1, 7));
    else if (f->type == R_JAL)
        put_bits(f, 4, 0xFFFFF000,
                 bits(v, 20, 1, 31) | bits(v, 1, 10, 21) | bits(v, 11, 1, 20) |
                     bits(v, 12, 8, 12));
    else if (f->type == R_RVC_BRANCH)
        put_bits(f, 2, 0x1C7C,
                 bits(v, 8, 1, 12) | bits(v, 3, 2, 10) | bits(v, 6, 2, 5) |
                     bits(v, 1, 2, 3) | bits(v, 5, 1, 2));
    else
        put_bits(f, 2, 0x1FFC,
                 bits(v, 11, 1, 12) | bits(v, 4, 1, 11) | bits(v, 8, 2, 9) |
                     bits(v, 10, 1, 8) | bits(v, 6, 1, 7) | bits(v, 7, 1, 6) |
                     bits(v, 1, 3, 3) | bits(v, 5, 1, 2));
    return KILN_LOAD_OK;
}

/* auipc takes the upper twenty bits, rounded so that the signed low twelve complete
 * them. */
static kiln_load_status high(const kiln_elf_fixup *f, uint64_t v) {
    if (!kiln_fits_signed(v + 0x800, 32))
        return kiln_fixup_bad(f, "a relocation's value does not fit 32 bits");
    put_bits(f, 4, 0xFFFFF000, (v + 0x800) & 0xFFFFF000);
    return KILN_LOAD_OK;
}

/* The symbol is the auipc, whose relocation knows the address. */
static kiln_load_status low(const kiln_elf_fixup *f) {
    uint64_t target = 0;
    if (f->find == NULL || !f->find(f->link, f->value, R_PCREL_HI20, &target))
        return kiln_fixup_bad(f, "half an address has no other half");
    const uint64_t v = target - f->value;
    if (f->type == R_PCREL_LO12_I)
        put_bits(f, 4, 0xFFF00000, bits(v, 0, 12, 20));
    else
        put_bits(f, 4, 0xFE000F80, bits(v, 5, 7, 25) | bits(v, 0, 5, 7));
    return KILN_LOAD_OK;
}

/* auipc and jalr, eight bytes. */
static kiln_load_status call(const kiln_elf_fixup *f, uint64_t v) {
    const kiln_load_status st = high(f, v);
    kiln_elf_fixup second = *f;
    second.p += 4;
    if (st == KILN_LOAD_OK)
        put_bits(&second, 4, 0xFFF00000, bits(v, 0, 12, 20));
    return st;
}

/* Bytes that a relocation writes; 0: none. */
static int bytes_of(uint32_t type) {
    switch (type) {
    case R_64:
    case R_ADD64:
    case R_SUB64:
    case R_CALL:
    case R_CALL_PLT:
        return 8;
    case R_ADD8:
    case R_SUB8:
        return 1;
    case R_ADD16:
    case R_SUB16:
    case R_RVC_BRANCH:
    case R_RVC_JUMP:
        return 2;
    case 0:
    case R_ALIGN:
    case R_RELAX:
        return 0;
    default:
        return 4;
    }
}

static kiln_load_status relocate(const kiln_elf_fixup *f) {
    const int n = bytes_of(f->type);
    const uint64_t distance = f->value - f->at;
    if (f->room < (uint64_t)n)
        return kiln_fixup_bad(f, "a relocation leaves its section");
    switch (f->type) {
    case 0:
    case R_RELAX:
        return KILN_LOAD_OK;
    case R_ALIGN: /* no-operations that only a linker that moves code may drop */
        return KILN_LOAD_OK;
    case R_64:
        kiln_elf_put(f->p, f->value, 8);
        return KILN_LOAD_OK;
    case R_32_PCREL:
        if (!kiln_fits_signed(distance, 32))
            return kiln_fixup_bad(f, "a relocation's value does not fit 32 bits");
        kiln_elf_put(f->p, distance, 4);
        return KILN_LOAD_OK;
    case R_ADD8:
    case R_ADD16:
    case R_ADD32:
    case R_ADD64:
        kiln_elf_put(f->p, kiln_elf_number(f->p, n) + f->value, n);
        return KILN_LOAD_OK;
    case R_SUB8:
    case R_SUB16:
    case R_SUB32:
    case R_SUB64:
        kiln_elf_put(f->p, kiln_elf_number(f->p, n) - f->value, n);
        return KILN_LOAD_OK;
    case R_BRANCH:
    case R_JAL:
    case R_RVC_BRANCH:
    case R_RVC_JUMP:
        return branch(f, distance);
    case R_CALL:
    case R_CALL_PLT: /* everything is defined here: no table is needed */
        return call(f, distance);
    case R_PCREL_HI20:
        return high(f, distance);
    case R_PCREL_LO12_I:
    case R_PCREL_LO12_S:
        return low(f);
    default:
        return kiln_fixup_unknown(f, "RISC-V");
    }
}

#if defined(__riscv)
/* "pause" of Zihintpause, which others read as a fence without effect. */
static void wait_a_little(void) { __asm__ volatile(".4byte 0x0100000F"); }

/* Vectors of at least so many bits: "zvl256b". */
static int has(const char *feature) {
    unsigned long bytes = 0;
    if ((getauxval(AT_HWCAP) >> ('v' - 'a') & 1) == 0)
        return 0;
    __asm__ volatile("csrr %0, 0xC22" : "=r"(bytes)); /* vlenb */
    return (strcmp(feature, "zvl128b") == 0 && bytes >= 16) ||
           (strcmp(feature, "zvl256b") == 0 && bytes >= 32) ||
           (strcmp(feature, "zvl512b") == 0 && bytes >= 64);
}
#endif

const kiln_runtime_arch kiln_runtime_arch_riscv64 = {
    .name = "RISC-V",
    .machine = 243,           /* EM_RISCV */
    .relative = 3,            /* R_RISCV_RELATIVE */
    .symbolic = {R_64, 5, 5}, /* JUMP_SLOT */
    .relocate = relocate,
#if defined(__riscv)
    .pause = wait_a_little,
    .has = has,
#endif
};
