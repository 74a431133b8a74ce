/* ELF for the Arm Architecture, 2021Q1: the relocations that objects of position-
 * independent, freestanding code in Arm state hold; any other is refused. They have no
 * addends of their own. */
#include "runtime/arch.h"

enum {
    R_NONE = 0,
    R_ABS32 = 2,
    R_REL32 = 3,
    R_CALL = 28,
    R_JUMP24 = 29,
    R_PREL31 = 42,
    R_MOVW_PREL_NC = 45,
    R_MOVT_PREL = 46
};

static uint32_t word_at(const kiln_elf_fixup *f) {
    return (uint32_t)kiln_elf_number(f->p, 4);
}

static uint64_t extended(uint32_t v, int bits) {
    const uint64_t half = (uint64_t)1 << (bits - 1);
    return ((v & (2 * half - 1)) ^ half) - half;
}

/* movw and movt: four bits and twelve. */
static uint32_t half_of(uint32_t instruction) {
    return (instruction >> 4 & 0xF000) | (instruction & 0xFFF);
}

static kiln_load_status addend(const kiln_elf_fixup *f, uint64_t *out) {
    if (f->type == R_NONE) {
        *out = 0;
        return KILN_LOAD_OK;
    }
    if (f->room < 4)
        return kiln_fixup_bad(f, "a relocation leaves its section");
    switch (f->type) {
    case R_ABS32:
    case R_REL32:
        *out = extended(word_at(f), 32);
        return KILN_LOAD_OK;
    case R_PREL31:
        *out = extended(word_at(f), 31);
        return KILN_LOAD_OK;
    case R_CALL:
    case R_JUMP24:
        *out = extended(word_at(f) << 2, 26);
        return KILN_LOAD_OK;
    case R_MOVW_PREL_NC:
    case R_MOVT_PREL:
        *out = extended(half_of(word_at(f)), 16);
        return KILN_LOAD_OK;
    default:
        return kiln_fixup_unknown(f, "Arm");
    }
}

static void put(const kiln_elf_fixup *f, uint32_t mask, uint64_t v) {
    kiln_elf_put(f->p, (word_at(f) & ~mask) | ((uint32_t)v & mask), 4);
}

static kiln_load_status relocate(const kiln_elf_fixup *f) {
    const uint64_t distance = f->value - f->at;
    if (f->type == R_NONE) /* what unwinding would ask for */
        return KILN_LOAD_OK;
    if (f->room < 4)
        return kiln_fixup_bad(f, "a relocation leaves its section");
    switch (f->type) {
    case R_ABS32:
        put(f, 0xFFFFFFFF, f->value);
        return KILN_LOAD_OK;
    case R_REL32:
        put(f, 0xFFFFFFFF, distance);
        return KILN_LOAD_OK;
    case R_PREL31:
        put(f, 0x7FFFFFFF, distance);
        return KILN_LOAD_OK;
    case R_CALL:
    case R_JUMP24: /* everything is defined here, in Arm state: no veneer is needed */
        if ((distance & 3) != 0 || !kiln_fits_signed(distance, 26))
            return kiln_fixup_bad(f, "a branch leads too far");
        put(f, 0x00FFFFFF, distance >> 2);
        return KILN_LOAD_OK;
    case R_MOVW_PREL_NC:
        put(f, 0x000F0FFF, (distance & 0xF000) << 4 | (distance & 0xFFF));
        return KILN_LOAD_OK;
    case R_MOVT_PREL:
        put(f, 0x000F0FFF, (distance >> 16 & 0xF000) << 4 | (distance >> 16 & 0xFFF));
        return KILN_LOAD_OK;
    default:
        return kiln_fixup_unknown(f, "Arm");
    }
}

#if defined(__arm__)
static void wait_a_little(void) { __asm__ volatile("yield"); }
#endif

const kiln_runtime_arch kiln_runtime_arch_arm = {
    .name = "Arm",
    .machine = KILN_ELF_ARM,
    .is_32_bit = 1,
    .relative = 23,                /* R_ARM_RELATIVE */
    .symbolic = {R_ABS32, 21, 22}, /* GLOB_DAT, JUMP_SLOT */
    .relocate = relocate,
    .addend = addend,
#if defined(__arm__)
    .pause = wait_a_little,
#endif
};
