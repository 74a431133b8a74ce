/* What is in an object: is it freestanding, its code as text. Reads ELF64 and ELF32 (System V ABI, chapter 4; little-endian) with
 * every offset held against the file. */
#include "compiler/codegen/codegen_gpu_module.h"

#include <string.h>

enum { EHDR = 52, ET_REL = 1, SHN_UNDEF = 0 };
enum { SHT_PROGBITS = 1, SHT_SYMTAB = 2, SHF_EXECINSTR = 4 };
enum { SHN_COMMON = 0xFFF2 };

static uint64_t number(const char *p, int bytes) {
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

/* ELF64 has words of eight bytes, and most fields elsewhere. */
static bool is_64(kiln_str bytes) { return bytes.p[4] == 2; }

static uint64_t word(kiln_str bytes, const char *p, int at64, int at32) {
    return is_64(bytes) ? number(p + at64, 8) : number(p + at32, 4);
}

static uint64_t field(kiln_str bytes, const char *p, int at64, int at32, int n) {
    return number(p + (is_64(bytes) ? at64 : at32), n);
}

static uint64_t section_bytes(kiln_str bytes) { return is_64(bytes) ? 64 : 40; }

static bool is_inside(kiln_str bytes, uint64_t at, uint64_t n) {
    return at <= bytes.n && n <= bytes.n - at;
}

static kiln_status broken(kiln_err *err, const char *what) {
    return kiln_fail(err, KILN_ERR_PARSE, "object: %s leaves the file", what);
}

static kiln_status check_symbols(kiln_str bytes, const char *section,
                                 const char *strings, kiln_err *err) {
    const uint64_t at = word(bytes, section, 24, 16),
                   size = word(bytes, section, 32, 20);
    const uint64_t names = word(bytes, strings, 24, 16),
                   n_names = word(bytes, strings, 32, 20);
    const uint64_t sym = is_64(bytes) ? 24 : 16;
    if (!is_inside(bytes, at, size) || !is_inside(bytes, names, n_names))
        return broken(err, "a symbol table");
    for (uint64_t i = 1; i < size / sym; i++) {
        const char *s = bytes.p + at + i * sym;
        const uint64_t name = number(s, 4), shndx = field(bytes, s, 6, 14, 2);
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

static bool is_object(kiln_str bytes) {
    enum { EHDR64 = 64 };
    const bool is_elf =
        bytes.n >= EHDR &&
        (memcmp(bytes.p, "\177ELF\001\001\001", 7) == 0 ||
         (bytes.n >= EHDR64 && memcmp(bytes.p, "\177ELF\002\001\001", 7) == 0));
    return is_elf && number(bytes.p + 16, 2) == ET_REL;
}

kiln_status kiln_object_check(kiln_str bytes, kiln_err *err) {
    if (kiln_gpu_is_module(bytes))
        return check_module(bytes, err);
    if (!is_object(bytes))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "object: this is no relocatable ELF file");
    const uint64_t at = word(bytes, bytes.p, 40, 32),
                   n = field(bytes, bytes.p, 60, 48, 2), shdr = section_bytes(bytes);
    if (field(bytes, bytes.p, 58, 46, 2) != shdr || !is_inside(bytes, at, n * shdr))
        return broken(err, "the section table");
    for (uint64_t i = 0; i < n; i++) {
        const char *s = bytes.p + at + i * shdr;
        const uint64_t link = field(bytes, s, 40, 24, 4);
        if (number(s + 4, 4) != SHT_SYMTAB)
            continue;
        if (link >= n)
            return broken(err, "a link between sections");
        KILN_TRY(check_symbols(bytes, s, bytes.p + at + link * shdr, err));
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
    const uint64_t at = word(object, object.p, 40, 32),
                   n = field(object, object.p, 60, 48, 2);
    for (uint64_t i = 0; i < n; i++) {
        const char *s = object.p + at + i * section_bytes(object);
        const uint64_t begin = word(object, s, 24, 16), size = word(object, s, 32, 20);
        if (number(s + 4, 4) != SHT_PROGBITS ||
            (word(object, s, 8, 8) & SHF_EXECINSTR) == 0)
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
