/* ELF64 relocatable files (System V ABI, chapter 4). What shared libraries need
 * besides is in elf_shared.c. */
#include "runtime/arch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EHDR = 64, SHDR = 64, SYM = 24, RELA = 24 };
enum { SHT_SYMTAB = 2, SHT_RELA = 4, SHT_NOBITS = 8, SHT_REL = 9 };
enum { SHF_WRITE = 1, SHF_ALLOC = 2, SHF_EXECINSTR = 4, SHF_TLS = 0x400 };
enum { SHN_LORESERVE = 0xFF00, MAX_SECTIONS = 4096 };
enum { ET_REL = 1, ET_DYN = 3, STB_GLOBAL = 1, STT_FUNC = 2 };
/* Kinds of sections, in the image's order. */
enum { CODE, CONSTANTS, DATA, KINDS };

uint64_t kiln_elf_number(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

void kiln_elf_put(unsigned char *p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

kiln_load_status kiln_elf_fail(const kiln_elf *e, kiln_load_status st,
                               const char *what) {
    snprintf(e->text, KILN_LOAD_TEXT, "%s", what);
    return st;
}

typedef struct section {
    uint64_t type, flags, offset, size, link, info, align;
} section;

static section section_at(const kiln_elf *e, uint64_t i) {
    const unsigned char *p = e->file + e->sections + i * SHDR;
    return (section){.type = kiln_elf_number(p + 4, 4),
                     .flags = kiln_elf_number(p + 8, 8),
                     .offset = kiln_elf_number(p + 24, 8),
                     .size = kiln_elf_number(p + 32, 8),
                     .link = kiln_elf_number(p + 40, 4),
                     .info = kiln_elf_number(p + 44, 4),
                     .align = kiln_elf_number(p + 48, 8)};
}

int kiln_elf_holds(const kiln_elf *e, uint64_t at, uint64_t n) {
    return at <= e->bytes && n <= e->bytes - at;
}

/* The kind of sections that are loaded; -1 for others. */
static int kind_of(const section *s) {
    if ((s->flags & SHF_ALLOC) == 0 || s->size == 0)
        return -1;
    if ((s->flags & SHF_EXECINSTR) != 0)
        return CODE;
    return (s->flags & SHF_WRITE) != 0 ? DATA : CONSTANTS;
}

static kiln_load_status check_section(kiln_elf *e, const section *s) {
    if (s->type != SHT_NOBITS && !kiln_elf_holds(e, s->offset, s->size))
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a section leaves the file");
    if (s->size > KILN_LOAD_MAX_BYTES)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a section is larger than 256 MiB");
    if (s->align > KILN_ELF_PAGE || (s->align & (s->align - 1)) != 0)
        return kiln_elf_fail(
            e, KILN_LOAD_FORMAT,
            "a section's alignment must be a power of two up to 65536");
    if (s->type == SHT_REL)
        return kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED, "relocations without addends");
    if ((s->flags & SHF_TLS) != 0)
        return kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED, "thread-local memory");
    if (kind_of(s) >= 0 && (s->flags & SHF_WRITE) != 0 &&
        (s->flags & SHF_EXECINSTR) != 0)
        return kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED,
                             "a section is writable and executable");
    if (s->type != SHT_SYMTAB)
        return KILN_LOAD_OK;
    if (e->symbols != 0)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "there are two symbol tables");
    if (s->link >= e->n_sections)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a symbol table has no names");
    const section names = section_at(e, s->link);
    if (!kiln_elf_holds(e, names.offset, names.size) || names.size == 0 ||
        e->file[names.offset + names.size - 1] != 0)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                             "the names of symbols are not terminated");
    e->symbols = s->offset;
    e->n_symbols = s->size / SYM;
    e->strings = names.offset;
    e->n_strings = names.size;
    return KILN_LOAD_OK;
}

kiln_elf_symbol kiln_elf_symbol_at(const kiln_elf *e, uint64_t i) {
    const unsigned char *p = e->file + e->symbols + i * SYM;
    return (kiln_elf_symbol){.name = kiln_elf_number(p, 4),
                             .value = kiln_elf_number(p + 8, 8),
                             .binding = p[4] >> 4,
                             .type = p[4] & 15,
                             .section = kiln_elf_number(p + 6, 2)};
}

/* Undefined symbols are imports, and objects have none. */
kiln_load_status kiln_elf_check_symbols(const kiln_elf *e) {
    for (uint64_t i = 1; i < e->n_symbols; i++) {
        const kiln_elf_symbol s = kiln_elf_symbol_at(e, i);
        if (s.name >= e->n_strings)
            return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                                 "a symbol's name leaves the table");
        if (s.section == 0 ||
            (s.section >= SHN_LORESERVE && s.section != KILN_ELF_ABSOLUTE)) {
            snprintf(e->text, KILN_LOAD_TEXT, "the symbol '%.100s' is not defined",
                     (const char *)e->file + e->strings + s.name);
            return KILN_LOAD_UNSUPPORTED;
        }
        if (!e->is_shared && s.section < SHN_LORESERVE && s.section >= e->n_sections)
            return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a symbol lies in no section");
    }
    return KILN_LOAD_OK;
}

static uint64_t round_up(uint64_t v, uint64_t to) {
    return to == 0 ? v : (v + to - 1) / to * to;
}

static kiln_load_status lay_out(kiln_elf *e) {
    uint64_t at = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        const uint64_t begin = at;
        for (uint64_t i = 1; i < e->n_sections; i++) {
            const section s = section_at(e, i);
            if (kind_of(&s) != kind)
                continue;
            at = round_up(at, s.align);
            e->address[i] = at;
            at += s.size;
            if (at > KILN_LOAD_MAX_BYTES)
                return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                                     "the object needs more than 256 MiB");
        }
        at = round_up(at, KILN_ELF_PAGE);
        if (at != begin)
            e->load[e->n_loads++] = (kiln_elf_load){.at = begin,
                                                    .bytes = at - begin,
                                                    .is_writable = kind == DATA,
                                                    .is_executable = kind == CODE};
    }
    e->image_bytes = at;
    return KILN_LOAD_OK;
}

/* Section 0 means none: links and relocations say so by its number, and it is nowhere
 * in the image. */
static kiln_load_status check_none(const kiln_elf *e) {
    const section s = section_at(e, 0);
    return s.type == 0 && s.flags == 0 && s.size == 0
               ? KILN_LOAD_OK
               : kiln_elf_fail(e, KILN_LOAD_FORMAT, "section 0 is not empty");
}

static kiln_load_status open_object(kiln_elf *e) {
    e->sections = kiln_elf_number(e->file + 40, 8);
    e->n_sections = kiln_elf_number(e->file + 60, 2);
    if (kiln_elf_number(e->file + 58, 2) != SHDR || e->n_sections == 0 ||
        e->n_sections > MAX_SECTIONS ||
        !kiln_elf_holds(e, e->sections, e->n_sections * SHDR))
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "the section table leaves the file");
    kiln_load_status st = check_none(e);
    for (uint64_t i = 1; i < e->n_sections && st == KILN_LOAD_OK; i++) {
        const section s = section_at(e, i);
        st = check_section(e, &s);
    }
    if (st != KILN_LOAD_OK)
        return st;
    st = kiln_elf_check_symbols(e);
    if (st != KILN_LOAD_OK)
        return st;
    e->address = calloc(e->n_sections, sizeof *e->address);
    if (e->address == NULL)
        return kiln_elf_fail(e, KILN_LOAD_MEMORY, "out of memory");
    st = lay_out(e);
    if (st != KILN_LOAD_OK)
        kiln_elf_fini(e);
    return st;
}

kiln_load_status kiln_elf_open(kiln_elf *e, const void *object, size_t bytes,
                               int machine, char text[KILN_LOAD_TEXT]) {
    *e = (kiln_elf){.file = object, .bytes = bytes, .text = text};
    const uint64_t type = bytes < EHDR ? 0 : kiln_elf_number(e->file + 16, 2);
    if ((type != ET_REL && type != ET_DYN) ||
        memcmp(e->file, "\177ELF\002\001\001", 7) != 0)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                             "this is no ELF64 object or shared library");
    if (kiln_elf_number(e->file + 18, 2) != (uint64_t)machine) {
        snprintf(text, KILN_LOAD_TEXT, "the object is for machine %d, this is %d",
                 (int)kiln_elf_number(e->file + 18, 2), machine);
        return KILN_LOAD_UNSUPPORTED;
    }
    e->arch = kiln_runtime_arch_of((uint64_t)machine);
    if (e->arch == NULL) {
        snprintf(text, KILN_LOAD_TEXT, "objects for machine %d are not known", machine);
        return KILN_LOAD_UNSUPPORTED;
    }
    e->is_shared = type == ET_DYN;
    return e->is_shared ? kiln_elf_shared_open(e) : open_object(e);
}

void kiln_elf_fini(kiln_elf *e) {
    free(e->address);
    e->address = NULL;
}

/* ---- linking --------------------------------------------------------------------- */

/* Symbol plus addend of a relocation of an object. */
static kiln_load_status value_of(const kiln_elf *e, const unsigned char *image,
                                 const unsigned char *r, uint64_t *out) {
    const uint64_t symbol = kiln_elf_number(r + 8, 8) >> 32;
    uint64_t value = kiln_elf_number(r + 16, 8);
    if (symbol >= e->n_symbols)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a relocation names no symbol");
    if (symbol != 0) {
        const kiln_elf_symbol s = kiln_elf_symbol_at(e, symbol);
        value += s.value;
        if (s.section != KILN_ELF_ABSOLUTE) {
            const section in = section_at(e, s.section);
            if (kind_of(&in) < 0 && in.size > 0)
                return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                                     "a relocation leads to what is not loaded");
            value += (uint64_t)(uintptr_t)image + e->address[s.section];
        }
    }
    *out = value;
    return KILN_LOAD_OK;
}

/* A section's relocations, while they are applied. */
typedef struct link_of {
    const kiln_elf *e;
    const unsigned char *image;
    uint64_t target_at;        /* where the section lies in the image */
    const unsigned char *rela; /* by offset, as LLVM writes them */
    uint64_t n;
} link_of;

/* By halves: a hostile object must not make this slow. One whose relocations are in no
 * order has some that are not found. */
static int find_fixup(const void *link, uint64_t at, uint32_t type, uint64_t *value) {
    const link_of *l = link;
    const uint64_t offset = at - (uint64_t)(uintptr_t)l->image - l->target_at;
    uint64_t begin = 0, end = l->n;
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (kiln_elf_number(l->rela + middle * RELA, 8) < offset)
            begin = middle + 1;
        else
            end = middle;
    }
    for (; begin < l->n; begin++) {
        const unsigned char *r = l->rela + begin * RELA;
        if (kiln_elf_number(r, 8) != offset)
            break;
        if ((uint32_t)kiln_elf_number(r + 8, 8) == type)
            return value_of(l->e, l->image, r, value) == KILN_LOAD_OK;
    }
    return 0;
}

static kiln_load_status relocate(const link_of *l, unsigned char *image,
                                 const section *target, const unsigned char *r) {
    const uint64_t offset = kiln_elf_number(r, 8);
    if (offset >= target->size)
        return kiln_elf_fail(l->e, KILN_LOAD_FORMAT, "a relocation leaves its section");
    unsigned char *p = image + l->target_at + offset;
    kiln_elf_fixup f = {.type = (uint32_t)kiln_elf_number(r + 8, 8),
                        .p = p,
                        .room = target->size - offset,
                        .at = (uint64_t)(uintptr_t)p,
                        .text = l->e->text,
                        .find = find_fixup,
                        .link = l};
    const kiln_load_status st = value_of(l->e, image, r, &f.value);
    return st == KILN_LOAD_OK ? l->e->arch->relocate(&f) : st;
}

kiln_load_status kiln_elf_link(const kiln_elf *e, unsigned char *image) {
    if (e->is_shared)
        return kiln_elf_shared_link(e, image);
    for (uint64_t i = 1; i < e->n_sections; i++) {
        const section s = section_at(e, i);
        if (kind_of(&s) >= 0 && s.type != SHT_NOBITS)
            memcpy(image + e->address[i], e->file + s.offset, s.size);
    }
    for (uint64_t i = 1; i < e->n_sections; i++) {
        const section s = section_at(e, i);
        if (s.type != SHT_RELA)
            continue;
        if (s.info >= e->n_sections)
            return kiln_elf_fail(e, KILN_LOAD_FORMAT, "relocations are for no section");
        const section target = section_at(e, s.info);
        if (kind_of(&target) < 0) /* debugging information and the like */
            continue;
        if (target.type == SHT_NOBITS)
            return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                                 "relocations are for an empty section");
        const link_of l = {e, image, e->address[s.info], e->file + s.offset,
                           s.size / RELA};
        for (uint64_t k = 0; k < l.n; k++) {
            const kiln_load_status st = relocate(&l, image, &target, l.rela + k * RELA);
            if (st != KILN_LOAD_OK)
                return st;
        }
    }
    return KILN_LOAD_OK;
}

/* Where a function of an object or a library begins; -1: it is not code. */
static int64_t code_at(const kiln_elf *e, const kiln_elf_symbol *s) {
    if (!e->is_shared) {
        const section in = section_at(e, s->section);
        const int is_code = kind_of(&in) == CODE && s->value < in.size;
        return is_code ? (int64_t)(e->address[s->section] + s->value) : -1;
    }
    for (int i = 0; i < e->n_loads; i++) {
        const kiln_elf_load *l = &e->load[i];
        if (l->is_executable && s->value >= l->at && s->value - l->at < l->bytes)
            return (int64_t)s->value;
    }
    return -1;
}

int64_t kiln_elf_find(const kiln_elf *e, const char *name) {
    for (uint64_t i = 1; i < e->n_symbols; i++) {
        const kiln_elf_symbol s = kiln_elf_symbol_at(e, i);
        if (s.binding != STB_GLOBAL || s.type != STT_FUNC ||
            s.section == KILN_ELF_ABSOLUTE ||
            strcmp((const char *)e->file + e->strings + s.name, name) != 0)
            continue;
        const int64_t at = code_at(e, &s);
        if (at >= 0)
            return at;
    }
    return -1;
}
