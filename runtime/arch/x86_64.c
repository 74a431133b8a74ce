/* System V ABI, AMD64 supplement, 4.4: the few relocations that objects of
 * position-independent, freestanding code hold; any other is refused. */
#include "runtime/arch.h"

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
#endif

const kiln_runtime_arch kiln_runtime_arch_x86_64 = {
    .name = "x86-64",
    .machine = KILN_ELF_X86_64,
    .relative = 8,         /* R_X86_64_RELATIVE */
    .symbolic = {1, 6, 7}, /* 64, GLOB_DAT, JUMP_SLOT */
    .relocate = relocate,
#if defined(__x86_64__)
    .pause = wait_a_little,
#endif
};
