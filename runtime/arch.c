/* The table of architectures. */
#include "runtime/arch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define KILN_RUNTIME_ARCH(row) extern const kiln_runtime_arch kiln_runtime_arch_##row;
#include "runtime/archs.def"
#undef KILN_RUNTIME_ARCH

static const kiln_runtime_arch *const table[] = {
#define KILN_RUNTIME_ARCH(row) &kiln_runtime_arch_##row,
#include "runtime/archs.def"
#undef KILN_RUNTIME_ARCH
};
enum { N_ARCHS = sizeof table / sizeof table[0] };

const kiln_runtime_arch *kiln_runtime_arch_of(uint64_t machine) {
    for (int i = 0; i < N_ARCHS; i++)
        if ((uint64_t)table[i]->machine == machine)
            return table[i];
    return NULL;
}

const kiln_runtime_arch *kiln_runtime_arch_here(void) {
    for (int i = 0; i < N_ARCHS; i++)
        if (table[i]->pause != NULL)
            return table[i];
    return NULL;
}

kiln_load_status kiln_fixup_unknown(const kiln_elf_fixup *f, const char *machine) {
    snprintf(f->text, KILN_LOAD_TEXT, "%s relocation %" PRIu32 " is not known", machine,
             f->type);
    return KILN_LOAD_UNSUPPORTED;
}

kiln_load_status kiln_fixup_bad(const kiln_elf_fixup *f, const char *what) {
    snprintf(f->text, KILN_LOAD_TEXT, "%s", what);
    return KILN_LOAD_FORMAT;
}

int kiln_fits_signed(uint64_t v, int bits) {
    assert(bits > 0 && bits < 64);
    const uint64_t half = (uint64_t)1 << (bits - 1);
    return v + half < half * 2;
}
