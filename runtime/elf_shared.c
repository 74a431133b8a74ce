/* Shared libraries (System V ABI, chapter 5) as the linker makes them of kiln's
 * objects: closed in themselves. Whatever would need a dynamic linker is refused by
 * name: other libraries, imports, thread-local memory, initialisers, relocations of
 * code. Tables are read from the file, never from the image, so that no relocation can
 * change them. */
#include "runtime/arch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PHDRS = 64 };
enum { PT_LOAD = 1, PT_DYNAMIC = 2, PT_INTERP = 3, PT_TLS = 7 };
enum { PF_X = 1, PF_W = 2 };
enum { DF_TEXTREL = 4 };

/* What the dynamic section says; addresses in the image, not yet checked. */
typedef struct dynamic {
    uint64_t hash, strings, n_strings, symbols, symbol_bytes;
    uint64_t rela, rela_bytes, entry_bytes, plt, plt_bytes;
} dynamic;

typedef struct tag_row {
    uint64_t tag;
    size_t at; /* in `dynamic`; unused where there is a refusal */
    const char *refusal;
} tag_row;

#define KEEP(tag, field)                                                               \
    { tag, offsetof(dynamic, field), NULL }
#define REFUSE(tag, why)                                                               \
    { tag, 0, why }
static const tag_row tags[] = {
    REFUSE(1, "it needs another library"),
    KEEP(2, plt_bytes),
    KEEP(4, hash),
    KEEP(5, strings),
    KEEP(6, symbols),
    KEEP(7, rela),
    KEEP(8, rela_bytes),
    KEEP(9, entry_bytes),
    KEEP(10, n_strings),
    KEEP(11, symbol_bytes),
    REFUSE(12, "it has an initialiser"),
    REFUSE(13, "it has an initialiser"),
    REFUSE(17, "relocations without addends"),
    REFUSE(22, "relocations of code"),
    KEEP(23, plt),
    REFUSE(25, "it has an initialiser"),
    REFUSE(26, "it has an initialiser"),
    REFUSE(32, "it has an initialiser"),
    REFUSE(36, "packed relocations"),
};

static kiln_load_status set(kiln_elf *e, dynamic *d, uint64_t tag, uint64_t value) {
    enum { DT_FLAGS = 30 };
    if (tag == DT_FLAGS && (value & DF_TEXTREL) != 0)
        return kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED, "relocations of code");
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (tags[i].tag != tag)
            continue;
        if (tags[i].refusal != NULL)
            return kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED, tags[i].refusal);
        memcpy((char *)d + tags[i].at, &value, sizeof value);
    }
    return KILN_LOAD_OK;
}

static kiln_load_status read_dynamic(kiln_elf *e, const unsigned char *header,
                                     dynamic *d) {
    const uint64_t at = kiln_elf_word(e, header, 8, 4),
                   bytes = kiln_elf_word(e, header, 32, 16),
                   entry = (uint64_t)e->form->dynamic;
    if (!kiln_elf_holds(e, at, bytes))
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a segment leaves the file");
    for (uint64_t i = 0; i < bytes / entry; i++) {
        const unsigned char *p = e->file + at + i * entry;
        const uint64_t tag = kiln_elf_word(e, p, 0, 0);
        if (tag == 0)
            break;
        const kiln_load_status st = set(e, d, tag, kiln_elf_word(e, p, 8, 4));
        if (st != KILN_LOAD_OK)
            return st;
    }
    return KILN_LOAD_OK;
}

static kiln_load_status add_load(kiln_elf *e, const unsigned char *p) {
    const uint64_t flags = kiln_elf_field(e, p, 4, 24, 4);
    const kiln_elf_load l = {.at = kiln_elf_word(e, p, 16, 8),
                             .bytes = kiln_elf_word(e, p, 40, 20),
                             .offset = kiln_elf_word(e, p, 8, 4),
                             .file_bytes = kiln_elf_word(e, p, 32, 16),
                             .is_writable = (flags & PF_W) != 0,
                             .is_executable = (flags & PF_X) != 0};
    if (l.bytes == 0)
        return KILN_LOAD_OK;
    if (!kiln_elf_holds(e, l.offset, l.file_bytes) || l.file_bytes > l.bytes)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a segment leaves the file");
    if (l.at > KILN_LOAD_MAX_BYTES || l.bytes > KILN_LOAD_MAX_BYTES ||
        l.at + l.bytes > KILN_LOAD_MAX_BYTES)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                             "the library needs more than 256 MiB");
    if (l.is_writable && l.is_executable)
        return kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED,
                             "a segment is writable and executable");
    if (e->n_loads == KILN_ELF_MAX_LOADS)
        return kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED, "more than 16 segments");
    if (l.at < e->image_bytes)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                             "segments overlap, or are not in order");
    e->load[e->n_loads++] = l;
    e->image_bytes = l.at + l.bytes;
    return KILN_LOAD_OK;
}

static kiln_load_status read_segments(kiln_elf *e, dynamic *d) {
    const uint64_t at = kiln_elf_word(e, e->file, 32, 28),
                   n = kiln_elf_field(e, e->file, 56, 44, 2),
                   bytes = (uint64_t)e->form->segment;
    int n_dynamic = 0;
    if (kiln_elf_field(e, e->file, 54, 42, 2) != bytes || n > MAX_PHDRS ||
        !kiln_elf_holds(e, at, n * bytes))
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "the segment table leaves the file");
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *p = e->file + at + i * bytes;
        const uint64_t type = kiln_elf_number(p, 4);
        kiln_load_status st = KILN_LOAD_OK;
        if (type == PT_LOAD)
            st = add_load(e, p);
        else if (type == PT_DYNAMIC && n_dynamic++ > 0)
            st = kiln_elf_fail(e, KILN_LOAD_FORMAT, "there are two dynamic sections");
        else if (type == PT_DYNAMIC)
            st = read_dynamic(e, p, d);
        else if (type == PT_INTERP)
            st = kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED, "it asks for an interpreter");
        else if (type == PT_TLS)
            st = kiln_elf_fail(e, KILN_LOAD_UNSUPPORTED, "thread-local memory");
        if (st != KILN_LOAD_OK)
            return st;
    }
    return n_dynamic == 1
               ? KILN_LOAD_OK
               : kiln_elf_fail(e, KILN_LOAD_FORMAT, "there is no dynamic section");
}

/* Where n bytes of the image at `at` lie in the file; -1: not as a whole in a segment.
 */
static int64_t in_file(const kiln_elf *e, uint64_t at, uint64_t n) {
    for (int i = 0; i < e->n_loads; i++) {
        const kiln_elf_load *l = &e->load[i];
        if (at >= l->at && at - l->at <= l->file_bytes &&
            n <= l->file_bytes - (at - l->at))
            return (int64_t)(l->offset + (at - l->at));
    }
    return -1;
}

/* The symbol table has no length of its own: the hash table's chains are as many. */
static kiln_load_status find_symbols(kiln_elf *e, const dynamic *d) {
    const int64_t hash = d->hash == 0 ? -1 : in_file(e, d->hash, 8);
    if (hash < 0)
        return kiln_elf_fail(
            e, KILN_LOAD_UNSUPPORTED,
            "there is no DT_HASH; link with --hash-style=sysv or both");
    e->n_symbols = kiln_elf_number(e->file + hash + 4, 4);
    const int64_t symbols =
                      in_file(e, d->symbols, e->n_symbols * (uint64_t)e->form->symbol),
                  strings = in_file(e, d->strings, d->n_strings);
    if (symbols < 0 || d->symbol_bytes != (uint64_t)e->form->symbol)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "the symbols leave the file");
    if (strings < 0 || d->n_strings == 0 ||
        e->file[(uint64_t)strings + d->n_strings - 1] != 0)
        return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                             "the names of symbols are not terminated");
    e->symbols = (uint64_t)symbols;
    e->strings = (uint64_t)strings;
    e->n_strings = d->n_strings;
    return kiln_elf_check_symbols(e);
}

static kiln_load_status find_relocations(kiln_elf *e, const dynamic *d) {
    const uint64_t entry = (uint64_t)e->form->rela;
    const uint64_t at[2] = {d->rela, d->plt}, bytes[2] = {d->rela_bytes, d->plt_bytes};
    for (int i = 0; i < 2; i++) {
        const int64_t offset = bytes[i] == 0 ? 0 : in_file(e, at[i], bytes[i]);
        if (offset < 0 || bytes[i] % entry != 0 ||
            (d->entry_bytes != entry && d->rela_bytes != 0))
            return kiln_elf_fail(e, KILN_LOAD_FORMAT, "the relocations leave the file");
        e->rela[i] = (kiln_elf_table){(uint64_t)offset, bytes[i] / entry};
    }
    return KILN_LOAD_OK;
}

kiln_load_status kiln_elf_shared_open(kiln_elf *e) {
    dynamic d = {0};
    kiln_load_status st = read_segments(e, &d);
    if (st == KILN_LOAD_OK)
        st = find_symbols(e, &d);
    if (st == KILN_LOAD_OK)
        st = find_relocations(e, &d);
    return st;
}

/* ---- linking --------------------------------------------------------------------- */

static int is_known(const kiln_elf *e, uint32_t type, int *is_relative) {
    const kiln_runtime_arch *a = e->arch;
    *is_relative = type == a->relative;
    return *is_relative || type == a->symbolic[0] || type == a->symbolic[1] ||
           type == a->symbolic[2];
}

static int is_writable(const kiln_elf *e, uint64_t at) {
    const uint64_t word = (uint64_t)e->form->word;
    for (int i = 0; i < e->n_loads; i++) {
        const kiln_elf_load *l = &e->load[i];
        if (l->is_writable && at >= l->at && l->bytes >= word &&
            at - l->at <= l->bytes - word)
            return 1;
    }
    return 0;
}

static kiln_load_status relocate(const kiln_elf *e, unsigned char *image,
                                 const unsigned char *r) {
    const kiln_elf_relocation is = kiln_elf_relocation_at(e, r, 1);
    const uint64_t at = is.at, symbol = is.symbol, base = (uint64_t)(uintptr_t)image;
    uint64_t value = is.addend;
    int is_relative;
    if (!is_known(e, is.type, &is_relative)) {
        snprintf(e->text, KILN_LOAD_TEXT, "relocation %" PRIu32 " is not known",
                 is.type);
        return KILN_LOAD_UNSUPPORTED;
    }
    if (!is_writable(e, at))
        return kiln_elf_fail(e, KILN_LOAD_FORMAT,
                             "a relocation leaves the writable segments");
    if (is_relative) {
        value += base;
    } else if (symbol == 0 || symbol >= e->n_symbols) {
        return kiln_elf_fail(e, KILN_LOAD_FORMAT, "a relocation names no symbol");
    } else {
        const kiln_elf_symbol s = kiln_elf_symbol_at(e, symbol);
        value += s.value + (s.section == KILN_ELF_ABSOLUTE ? 0 : base);
    }
    kiln_elf_put(image + at, value, e->form->word);
    return KILN_LOAD_OK;
}

kiln_load_status kiln_elf_shared_link(const kiln_elf *e, unsigned char *image) {
    for (int i = 0; i < e->n_loads; i++)
        memcpy(image + e->load[i].at, e->file + e->load[i].offset,
               e->load[i].file_bytes);
    for (int i = 0; i < 2; i++)
        for (uint64_t k = 0; k < e->rela[i].n; k++) {
            const kiln_load_status st = relocate(
                e, image, e->file + e->rela[i].offset + k * (uint64_t)e->form->rela);
            if (st != KILN_LOAD_OK)
                return st;
        }
    return KILN_LOAD_OK;
}
