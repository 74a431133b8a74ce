/* Relocatable files of ELF64 and ELF32 (System V ABI, chapter 4). What shared libraries need
 * besides is in elf_shared.c. */
#include "runtime/arch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kiln_elf_form elf64 = {8, 64, 24, 24, 16, 56, 16};
static const kiln_elf_form elf32 = {4, 40, 16, 12, 8, 32, 8};
enum { EHDR32 = 52, EHDR64 = 64 };
enum { SHT_SYMTAB = 2, SHT_RELA = 4, SHT_NOBITS = 8, SHT_REL = 9 };
enum { SHF_WRITE = 1, SHF_ALLOC = 2, SHF_EXECINSTR = 4, SHF_TLS = 0x400 };
enum { SHN_LORESERVE = 0xFF00, MAX_SECTIONS = 4096 };
enum { ET_REL = 1, ET_DYN = 3, STB_GLOBAL = 1, STT_FUNC = 2 };
/* Kinds of sections, in the image's order. */
enum { CODE, CONSTANTS, DATA, KINDS };

uint64_t kiln_elf_number(const unsigned char *p, int bytes) {
    assert(bytes >= 1 && bytes <= 8);
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

void kiln_elf_put(unsigned char *p, uint64_t v, int bytes) {
    assert(bytes >= 1 && bytes <= 8);
    for (int i = 0; i < bytes; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

kiln_load_status kiln_elf_fail(const kiln_elf *e, kiln_load_status st,
                               const char *what) {
    snprintf(e->text, KILN_LOAD_TEXT, "%s", what);
    return st;
}

uint64_t kiln_elf_word(const kiln_elf *e, const unsigned char *p, int at64, int at32) {
    return e->form->word == 8 ? kiln_elf_number(p + at64, 8)
                              : kiln_elf_number(p + at32, 4);
}

uint64_t kiln_elf_field(const kiln_elf *e, const unsigned char *p, int at64, int at32,
                        int bytes) {
    return kiln_elf_number(p + (e->form->word == 8 ? at64 : at32), bytes);
}

typedef kiln_elf_section section;

kiln_elf_section kiln_elf_section_at(const kiln_elf *e, uint64_t i) {
    assert(i < e->n_sections);
    const unsigned char *p = e->file + e->sections + i * (uint64_t)e->form->section;
    return (section){.type = kiln_elf_number(p + 4, 4),
                     .flags = kiln_elf_word(e, p, 8, 8),
                     .offset = kiln_elf_word(e, p, 24, 16),
                     .size = kiln_elf_word(e, p, 32, 20),
                     .link = kiln_elf_field(e, p, 40, 24, 4),
                     .info = kiln_elf_field(e, p, 44, 28, 4),
                     .align = kiln_elf_word(e, p, 48, 32)};
}

/* ELF32 keeps both in one word, the type in its lowest byte. An addend is signed. */
kiln_elf_relocation kiln_elf_relocation_at(const kiln_elf *e, const unsigned char *p,
                                           int has_addend) {
    const uint64_t info = kiln_elf_word(e, p, 8, 4);
    if (e->form->word == 8)
        return (kiln_elf_relocation){.at = kiln_elf_number(p, 8),
                                     .symbol = info >> 32,
                                     .type = (uint32_t)info,
                                     .addend =
                                         has_addend ? kiln_elf_number(p + 16, 8) : 0};
    const uint64_t addend = has_addend ? kiln_elf_number(p + 8, 4) : 0;
    return (kiln_elf_relocation){.at = kiln_elf_number(p, 4),
                                 .symbol = info >> 8,
                                 .type = (uint32_t)(info & 0xFF),
                                 .addend = (addend ^ 0x80000000u) - 0x80000000u};
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
    if (s->type == SHT_REL && e->arch->addend == NULL)
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
    const section names = kiln_elf_section_at(e, s->link);
    if (!kiln_elf_holds(e, names.offset, names.size) || names.size == 0 ||
        e->file[names.offset + names.size - 1] != 0)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                             "the names of symbols are not terminated");
    e->symbols = s->offset;
    e->n_symbols = s->size / (uint64_t)e->form->symbol;
    e->strings = names.offset;
    e->n_strings = names.size;
    return KILN_LOAD_OK;
}

kiln_elf_symbol kiln_elf_symbol_at(const kiln_elf *e, uint64_t i) {
    assert(i < e->n_symbols);
    const unsigned char *p = e->file + e->symbols + i * (uint64_t)e->form->symbol;
    const uint64_t info = kiln_elf_field(e, p, 4, 12, 1);
    return (kiln_elf_symbol){.name = kiln_elf_number(p, 4),
                             .value = kiln_elf_word(e, p, 8, 4),
                             .binding = (unsigned)(info >> 4),
                             .type = (unsigned)(info & 15),
                             .section = kiln_elf_field(e, p, 6, 14, 2)};
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
            const section s = kiln_elf_section_at(e, i);
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
    const section s = kiln_elf_section_at(e, 0);
    return s.type == 0 && s.flags == 0 && s.size == 0
               ? KILN_LOAD_OK
               : kiln_elf_fail(e, KILN_LOAD_FORMAT, "section 0 is not empty");
}

static kiln_load_status open_object(kiln_elf *e) {
    const uint64_t bytes = (uint64_t)e->form->section;
    e->sections = kiln_elf_word(e, e->file, 40, 32);
    e->n_sections = kiln_elf_field(e, e->file, 60, 48, 2);
    if (kiln_elf_field(e, e->file, 58, 46, 2) != bytes || e->n_sections == 0 ||
        e->n_sections > MAX_SECTIONS ||
        !kiln_elf_holds(e, e->sections, e->n_sections * bytes))
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "the section table leaves the file");
    kiln_load_status st = check_none(e);
    for (uint64_t i = 1; i < e->n_sections && st == KILN_LOAD_OK; i++) {
        const section s = kiln_elf_section_at(e, i);
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
    e->arch = kiln_runtime_arch_of((uint64_t)machine);
    const int is_small = e->arch != NULL && e->arch->is_32_bit;
    const char *const magic = is_small ? "\177ELF\001\001\001" : "\177ELF\002\001\001";
    e->form = is_small ? &elf32 : &elf64;
    const uint64_t type =
        bytes < (is_small ? EHDR32 : EHDR64) ? 0 : kiln_elf_number(e->file + 16, 2);
    if ((type != ET_REL && type != ET_DYN) || memcmp(e->file, magic, 7) != 0) {
        snprintf(text, KILN_LOAD_TEXT, "this is no ELF%d object or shared library",
                 is_small ? 32 : 64);
        return KILN_LOAD_FORMAT;
    }
    if (kiln_elf_number(e->file + 18, 2) != (uint64_t)machine) {
        snprintf(text, KILN_LOAD_TEXT, "the object is for machine %d, this is %d",
                 (int)kiln_elf_number(e->file + 18, 2), machine);
        return KILN_LOAD_UNSUPPORTED;
    }
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
                                 const kiln_elf_relocation *r, uint64_t *out) {
    uint64_t value = r->addend;
    if (r->symbol >= e->n_symbols)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a relocation names no symbol");
    if (r->symbol != 0) {
        const kiln_elf_symbol s = kiln_elf_symbol_at(e, r->symbol);
        value += s.value;
        if (s.section != KILN_ELF_ABSOLUTE) {
            const section in = kiln_elf_section_at(e, s.section);
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
    int has_addend;
} link_of;

static kiln_elf_relocation entry_of(const link_of *l, uint64_t i) {
    const kiln_elf_form *form = l->e->form;
    const int bytes = l->has_addend ? form->rela : form->rel;
    return kiln_elf_relocation_at(l->e, l->rela + i * (uint64_t)bytes, l->has_addend);
}

/* By halves: a hostile object must not make this slow. One whose relocations are in no
 * order has some that are not found. */
static int find_fixup(const void *link, uint64_t at, uint32_t type, uint64_t *value) {
    const link_of *l = link;
    const uint64_t offset = at - (uint64_t)(uintptr_t)l->image - l->target_at;
    uint64_t begin = 0, end = l->n;
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (entry_of(l, middle).at < offset)
            begin = middle + 1;
        else
            end = middle;
    }
    for (; begin < l->n; begin++) {
        const kiln_elf_relocation r = entry_of(l, begin);
        if (r.at != offset)
            break;
        if (r.type == type)
            return value_of(l->e, l->image, &r, value) == KILN_LOAD_OK;
    }
    return 0;
}

static kiln_load_status relocate(const link_of *l, unsigned char *image,
                                 const section *target, kiln_elf_relocation r) {
    if (r.at >= target->size)
        return kiln_elf_fail(l->e, KILN_LOAD_FORMAT, "a relocation leaves its section");
    unsigned char *p = image + l->target_at + r.at;
    kiln_elf_fixup f = {.type = r.type,
                        .p = p,
                        .room = target->size - r.at,
                        .at = (uint64_t)(uintptr_t)p,
                        .text = l->e->text,
                        .find = find_fixup,
                        .link = l};
    kiln_load_status st = KILN_LOAD_OK;
    if (!l->has_addend)
        st = l->e->arch->addend(&f, &r.addend);
    if (st == KILN_LOAD_OK)
        st = value_of(l->e, image, &r, &f.value);
    return st == KILN_LOAD_OK ? l->e->arch->relocate(&f) : st;
}

kiln_load_status kiln_elf_link(const kiln_elf *e, unsigned char *image) {
    if (e->is_shared)
        return kiln_elf_shared_link(e, image);
    for (uint64_t i = 1; i < e->n_sections; i++) {
        const section s = kiln_elf_section_at(e, i);
        if (kind_of(&s) >= 0 && s.type != SHT_NOBITS)
            memcpy(image + e->address[i], e->file + s.offset, s.size);
    }
    for (uint64_t i = 1; i < e->n_sections; i++) {
        const section s = kiln_elf_section_at(e, i);
        if (s.type != SHT_RELA && s.type != SHT_REL)
            continue;
        if (s.info >= e->n_sections)
            return kiln_elf_fail(e, KILN_LOAD_FORMAT, "relocations are for no section");
        const section target = kiln_elf_section_at(e, s.info);
        if (kind_of(&target) < 0) /* debugging information and the like */
            continue;
        if (target.type == SHT_NOBITS)
            return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                                 "relocations are for an empty section");
        const int has_addend = s.type == SHT_RELA;
        const link_of l = {e,
                           image,
                           e->address[s.info],
                           e->file + s.offset,
                           s.size /
                               (uint64_t)(has_addend ? e->form->rela : e->form->rel),
                           has_addend};
        for (uint64_t k = 0; k < l.n; k++) {
            const kiln_load_status st = relocate(&l, image, &target, entry_of(&l, k));
            if (st != KILN_LOAD_OK)
                return st;
        }
    }
    return KILN_LOAD_OK;
}

/* Where a function of an object or a library begins; -1: it is not code. */
static int64_t code_at(const kiln_elf *e, const kiln_elf_symbol *s) {
    if (!e->is_shared) {
        const section in = kiln_elf_section_at(e, s->section);
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
