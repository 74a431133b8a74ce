/* What is in an object: is it freestanding, its code as text. Reads ELF64 (System V ABI, chapter 4; little-endian) with
 * every offset held against the file. */
#include "compiler/codegen/gpu_module.h"

#include <string.h>

enum { EHDR = 64, SHDR = 64, SYM = 24, ET_REL = 1, SHN_UNDEF = 0 };
enum { SHT_PROGBITS = 1, SHT_SYMTAB = 2, SHF_EXECINSTR = 4 };
enum { SHN_COMMON = 0xFFF2 };

static uint64_t number(const char *p, int bytes) {
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

static bool is_inside(kiln_str bytes, uint64_t at, uint64_t n) {
    return at <= bytes.n && n <= bytes.n - at;
}

static kiln_status broken(kiln_err *err, const char *what) {
    return kiln_fail(err, KILN_ERR_PARSE, "object: %s leaves the file", what);
}

static kiln_status check_symbols(kiln_str bytes, const char *section,
                                 const char *strings, kiln_err *err) {
    const uint64_t at = number(section + 24, 8), size = number(section + 32, 8);
    const uint64_t names = number(strings + 24, 8), n_names = number(strings + 32, 8);
    if (!is_inside(bytes, at, size) || !is_inside(bytes, names, n_names))
        return broken(err, "a symbol table");
    for (uint64_t i = 1; i < size / SYM; i++) {
        const char *s = bytes.p + at + i * SYM;
        const uint64_t name = number(s, 4), shndx = number(s + 6, 2);
        if (shndx != SHN_UNDEF && shndx != SHN_COMMON)
            continue;
        if (name >= n_names ||
            memchr(bytes.p + names + name, '\0', n_names - name) == NULL)
            return broken(err, "a symbol's name");
        return kiln_fail(err, KILN_ERR_LIB, "object: the symbol '%s' is not defined",
                         bytes.p + names + name);
    }
    return KILN_OK;
}

static kiln_status check_module(kiln_str bytes, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_gpu_module m;
    const kiln_status st = kiln_gpu_object_open(&scratch, bytes, &m, err);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_object_check(kiln_str bytes, kiln_err *err) {
    if (kiln_gpu_is_module(bytes))
        return check_module(bytes, err);
    if (bytes.n < EHDR || memcmp(bytes.p, "\177ELF\002\001\001", 7) != 0 ||
        number(bytes.p + 16, 2) != ET_REL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "object: this is no relocatable ELF64 file");
    const uint64_t at = number(bytes.p + 40, 8), n = number(bytes.p + 60, 2);
    if (number(bytes.p + 58, 2) != SHDR || !is_inside(bytes, at, n * SHDR))
        return broken(err, "the section table");
    for (uint64_t i = 0; i < n; i++) {
        const char *s = bytes.p + at + i * SHDR;
        const uint64_t link = number(s + 40, 4);
        if (number(s + 4, 4) != SHT_SYMTAB)
            continue;
        if (link >= n)
            return broken(err, "a link between sections");
        KILN_TRY(check_symbols(bytes, s, bytes.p + at + link * SHDR, err));
    }
    return KILN_OK;
}

kiln_status kiln_object_listing(kiln_arena *a, kiln_str object, const kiln_profile *p,
                                kiln_str *out, kiln_err *err) {
    kiln_buf text;
    KILN_TRY(kiln_object_check(object, err));
    if (kiln_gpu_is_module(object)) {
        kiln_gpu_module m;
        KILN_TRY(kiln_gpu_object_open(a, object, &m, err));
        return kiln_code_listing(a, kiln_str_from(m.code), p, out, err);
    }
    kiln_buf_init(&text, a);
    kiln_buf_puts(&text, "");
    const uint64_t at = number(object.p + 40, 8), n = number(object.p + 60, 2);
    for (uint64_t i = 0; i < n; i++) {
        const char *s = object.p + at + i * SHDR;
        const uint64_t begin = number(s + 24, 8), size = number(s + 32, 8);
        if (number(s + 4, 4) != SHT_PROGBITS || (number(s + 8, 8) & SHF_EXECINSTR) == 0)
            continue;
        if (!is_inside(object, begin, size))
            return broken(err, "a section");
        kiln_str code;
        KILN_TRY(kiln_code_listing(a, (kiln_str){object.p + begin, (size_t)size}, p,
                                   &code, err));
        kiln_buf_add(&text, code.p, code.n);
    }
    *out = kiln_buf_str(&text);
    return KILN_OK;
}
