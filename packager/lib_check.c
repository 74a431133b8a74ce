/* lib.so (System V ABI, chapter 5): for the plan's machine, with all its kernels. */
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <string.h>

enum {
    EHDR = 64,
    SHDR = 64,
    SYM = 24,
    ET_DYN = 3,
    SHT_DYNSYM = 11,
    MAX_SECTIONS = 4096
};

typedef struct elf {
    kiln_str file;
    uint64_t sections, n_sections;
    uint64_t symbols, n_symbols;  /* offset, entries */
    uint64_t strings, string_end; /* offsets */
    kiln_err *err;
} elf;

static uint64_t number(const elf *e, uint64_t at, int bytes) {
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | (unsigned char)e->file.p[at + (uint64_t)i];
    return v;
}

static bool holds(const elf *e, uint64_t at, uint64_t n) {
    return at <= e->file.n && n <= e->file.n - at;
}

static kiln_status refuse(const elf *e, const char *what) {
    return kiln_fail(e->err, KILN_ERR_PARSE, KILN_ENTRY_LIB ": %s", what);
}

static kiln_status read_header(elf *e, int machine) {
    if (e->file.n < EHDR || memcmp(e->file.p, "\177ELF\002\001\001", 7) != 0 ||
        number(e, 16, 2) != ET_DYN)
        return refuse(e, "is no ELF64 shared library");
    if (number(e, 18, 2) != (uint64_t)machine)
        return kiln_fail(e->err, KILN_ERR_PARSE,
                         KILN_ENTRY_LIB " is for ELF machine %d, " KILN_ENTRY_PLAN
                                        " for %d",
                         (int)number(e, 18, 2), machine);
    e->sections = number(e, 40, 8);
    e->n_sections = number(e, 60, 2);
    if (number(e, 58, 2) != SHDR || e->n_sections == 0 ||
        e->n_sections > MAX_SECTIONS || !holds(e, e->sections, e->n_sections * SHDR))
        return refuse(e, "its section table leaves the file");
    return KILN_OK;
}

static kiln_status find_symbols(elf *e) {
    for (uint64_t i = 1; i < e->n_sections; i++) {
        const uint64_t at = e->sections + i * SHDR;
        if (number(e, at + 4, 4) != SHT_DYNSYM)
            continue;
        const uint64_t link = number(e, at + 40, 4);
        const uint64_t strings = e->sections + link * SHDR;
        e->symbols = number(e, at + 24, 8);
        e->n_symbols = number(e, at + 32, 8) / SYM;
        if (link == 0 || link >= e->n_sections ||
            !holds(e, e->symbols, number(e, at + 32, 8)))
            return refuse(e, "its symbol table leaves the file");
        e->strings = number(e, strings + 24, 8);
        const uint64_t n = number(e, strings + 32, 8);
        if (n == 0 || !holds(e, e->strings, n) || e->file.p[e->strings + n - 1] != '\0')
            return refuse(e, "its names leave the file");
        e->string_end = e->strings + n;
        return KILN_OK;
    }
    return refuse(e, "has no symbols");
}

/* All symbols by name; each must be defined here. */
static kiln_status read_symbols(elf *e, kiln_arena *a, kiln_map *out) {
    static char is_there;
    for (uint64_t i = 1; i < e->n_symbols; i++) {
        const uint64_t at = e->symbols + i * SYM;
        const uint64_t name = e->strings + number(e, at, 4);
        const uint64_t kind = number(e, at + 4, 1);
        if (name >= e->string_end)
            return refuse(e, "the name of a symbol leaves the table");
        const char *text = e->file.p + name;
        if (number(e, at + 6, 2) == 0)
            return kiln_fail(e->err, KILN_ERR_PARSE,
                             KILN_ENTRY_LIB ": imports '%s'; kernels import nothing",
                             kiln_str_printable(a, kiln_str_from(text), 64));
        if (kind >> 4 == 1 && (kind & 15) == 2) /* a global function */
            kiln_map_set(a, out, kiln_str_from(text), &is_there);
    }
    return KILN_OK;
}

kiln_status kiln_package_check_lib(kiln_arena *a, kiln_str lib, const kiln_plan *plan,
                                   kiln_err *err) {
    elf e = {.file = lib, .err = err};
    kiln_map symbols = {.slot = NULL};
    KILN_TRY(read_header(&e, (int)plan->header->arch));
    KILN_TRY(find_symbols(&e));
    KILN_TRY(read_symbols(&e, a, &symbols));
    for (uint32_t i = 0; i < plan->header->n_kernels; i++) {
        const char *name = kiln_plan_string(plan, plan->kernel[i].symbol);
        if (!kiln_map_has(&symbols, kiln_str_from(name)))
            return kiln_fail(err, KILN_ERR_PARSE, KILN_ENTRY_LIB ": has no kernel '%s'",
                             kiln_str_printable(a, kiln_str_from(name), 64));
    }
    return KILN_OK;
}
