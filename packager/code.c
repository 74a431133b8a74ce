/* What an object is, apart from names: sections that are loaded, and their relocations
 * (System V ABI, chapter 4). Two kernels of one hash are the same code, whatever their
 * symbols are called and wherever the linker puts them. */
#include "packager/packager_internal.h"
#include "runtime/elf.h"

#include <inttypes.h>

enum { TYPE_RELA = 4, TYPE_NOBITS = 8, TYPE_REL = 9, FLAG_ALLOC = 2, FLAG_CODE = 4 };

static void add_number(kiln_sha256 *h, uint64_t v) {
    unsigned char byte[8];
    kiln_elf_put(byte, v, 8);
    kiln_sha256_add(h, byte, sizeof byte);
}

/* Where, how, and what to: a section and a place in it, never a name. */
static int add_relocations(kiln_sha256 *h, const kiln_elf *e,
                           const kiln_elf_section *s) {
    const int has_addend = s->type == TYPE_RELA;
    const uint64_t bytes = (uint64_t)(has_addend ? e->form->rela : e->form->rel);
    add_number(h, s->info);
    for (uint64_t at = 0; at + bytes <= s->size; at += bytes) {
        const kiln_elf_relocation r =
            kiln_elf_relocation_at(e, e->file + s->offset + at, has_addend);
        if (r.symbol >= e->n_symbols)
            return -1;
        const kiln_elf_symbol to = kiln_elf_symbol_at(e, r.symbol);
        add_number(h, r.at);
        add_number(h, r.type);
        add_number(h, r.addend);
        add_number(h, to.section);
        add_number(h, to.value);
    }
    return 0;
}

static int add_section(kiln_sha256 *h, const kiln_elf *e, const kiln_elf_section *s,
                       int64_t *code) {
    if ((s->type == TYPE_RELA || s->type == TYPE_REL) && s->info < e->n_sections &&
        (kiln_elf_section_at(e, s->info).flags & FLAG_ALLOC) != 0)
        return kiln_elf_holds(e, s->offset, s->size) ? add_relocations(h, e, s) : -1;
    if ((s->flags & FLAG_ALLOC) == 0)
        return 0;
    add_number(h, s->flags);
    add_number(h, s->align);
    add_number(h, s->size);
    if (s->type != TYPE_NOBITS)
        kiln_sha256_add(h, e->file + s->offset, (size_t)s->size);
    *code += (s->flags & FLAG_CODE) != 0 ? (int64_t)s->size : 0;
    return 0;
}

kiln_status kiln_package_code_of(kiln_arena *a, kiln_arch arch, kiln_str object,
                                 const char **sha256, int64_t *bytes, kiln_err *err) {
    char text[KILN_LOAD_TEXT] = "";
    char *hex = kiln_array(a, char, KILN_SHA256_HEX);
    kiln_elf e;
    kiln_sha256 h;
    int64_t code = 0;
    int bad = 0;
    if (kiln_elf_open(&e, object.p, object.n, kiln_package_machine(arch), text) !=
        KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_PARSE, "an object: %s", text);
    kiln_sha256_init(&h);
    for (uint64_t i = 1; i < e.n_sections && bad == 0; i++) {
        const kiln_elf_section s = kiln_elf_section_at(&e, i);
        bad = add_section(&h, &e, &s, &code);
    }
    kiln_sha256_hex(&h, hex);
    kiln_elf_fini(&e);
    if (bad != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "an object: a relocation leaves a table");
    *sha256 = hex;
    *bytes = code;
    return KILN_OK;
}
