/* Relocations (System V ABI, AMD64 supplement, 4.4; ELF for the Arm 64-bit
 * architecture, 5.7). The few that objects of position-independent, freestanding code
 * hold; any other is refused. */
#include "runtime/elf.h"

#include <inttypes.h>
#include <stdio.h>

static kiln_load_status unknown(char *text, const char *machine, uint32_t type) {
    snprintf(text, KILN_LOAD_TEXT, "%s relocation %" PRIu32 " is not known", machine,
             type);
    return KILN_LOAD_UNSUPPORTED;
}

static kiln_load_status bad(char *text, const char *what) {
    snprintf(text, KILN_LOAD_TEXT, "%s", what);
    return KILN_LOAD_FORMAT;
}

static int fits_signed(uint64_t v, int bits) {
    const uint64_t half = (uint64_t)1 << (bits - 1);
    return v + half < half * 2;
}

kiln_load_status kiln_elf_relocate_x86_64(uint32_t type, unsigned char *p,
                                          uint64_t room, uint64_t at, uint64_t value,
                                          char *text) {
    enum { R_64 = 1, R_PC32 = 2, R_PLT32 = 4, R_32 = 10, R_32S = 11, R_PC64 = 24 };
    const int bytes = type == R_64 || type == R_PC64 ? 8 : 4;
    switch (type) {
    case R_64:
    case R_32:
    case R_32S:
        break;
    case R_PC32:
    case R_PLT32: /* everything is defined here: no table is needed */
    case R_PC64:
        value -= at;
        break;
    default:
        return unknown(text, "x86-64", type);
    }
    if (room < (uint64_t)bytes)
        return bad(text, "a relocation leaves its section");
    if ((type == R_PC32 || type == R_PLT32 || type == R_32S) && !fits_signed(value, 32))
        return bad(text, "a relocation's value does not fit 32 bits");
    if (type == R_32 && value >> 32 != 0)
        return bad(text, "a relocation's value does not fit 32 bits");
    kiln_elf_put(p, value, bytes);
    return KILN_LOAD_OK;
}

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
static kiln_load_status low12(unsigned char *p, uint64_t value, int shift, char *text) {
    if ((value & (((uint64_t)1 << shift) - 1)) != 0)
        return bad(text, "an access is not aligned");
    const uint64_t imm = (value & 0xFFF) >> shift;
    const uint64_t old = kiln_elf_number(p, 4) & ~((uint64_t)0xFFF << 10);
    kiln_elf_put(p, old | imm << 10, 4);
    return KILN_LOAD_OK;
}

static kiln_load_status adr(unsigned char *p, uint64_t v, char *text) {
    if (!fits_signed(v, 21))
        return bad(text, "a relocation's value does not fit 21 bits");
    const uint64_t mask = (uint64_t)3 << 29 | (uint64_t)0x7FFFF << 5;
    const uint64_t imm = (v & 3) << 29 | (v >> 2 & 0x7FFFF) << 5;
    kiln_elf_put(p, (kiln_elf_number(p, 4) & ~mask) | imm, 4);
    return KILN_LOAD_OK;
}

static kiln_load_status branch(unsigned char *p, uint64_t v, char *text) {
    if ((v & 3) != 0 || !fits_signed(v, 28))
        return bad(text, "a branch's distance does not fit 28 bits");
    const uint64_t old = kiln_elf_number(p, 4) & ~(uint64_t)0x3FFFFFF;
    kiln_elf_put(p, old | (v >> 2 & 0x3FFFFFF), 4);
    return KILN_LOAD_OK;
}

kiln_load_status kiln_elf_relocate_aarch64(uint32_t type, unsigned char *p,
                                           uint64_t room, uint64_t at, uint64_t value,
                                           char *text) {
    const uint64_t page = ~(uint64_t)0xFFF;
    if (room < (type == A_ABS64 || type == A_PREL64 ? 8u : 4u))
        return bad(text, "a relocation leaves its section");
    switch (type) {
    case 0:
        return KILN_LOAD_OK;
    case A_ABS64:
        kiln_elf_put(p, value, 8);
        return KILN_LOAD_OK;
    case A_PREL64:
        kiln_elf_put(p, value - at, 8);
        return KILN_LOAD_OK;
    case A_PREL32:
        if (!fits_signed(value - at, 32))
            return bad(text, "a relocation's value does not fit 32 bits");
        kiln_elf_put(p, value - at, 4);
        return KILN_LOAD_OK;
    case A_ADR_PREL_LO21:
        return adr(p, value - at, text);
    case A_ADR_PREL_PG_HI21: { /* pages, signed */
        const uint64_t d = (value & page) - (at & page);
        return adr(p, d >> 12 | ((d >> 63) != 0 ? (uint64_t)0xFFF << 52 : 0), text);
    }
    case A_ADD_LO12:
    case A_LDST8:
        return low12(p, value, 0, text);
    case A_LDST16:
        return low12(p, value, 1, text);
    case A_LDST32:
        return low12(p, value, 2, text);
    case A_LDST64:
        return low12(p, value, 3, text);
    case A_LDST128:
        return low12(p, value, 4, text);
    case A_JUMP26:
    case A_CALL26:
        return branch(p, value - at, text);
    default:
        return unknown(text, "AArch64", type);
    }
}
