/* The loader against hostile shared libraries: truncated, with every field that can lie
 * lying, with what would need a dynamic linker. The library is built here, byte by
 * byte; those that the linker makes run in tests/pipeline/devices. */
#include "tests/support/package/elf_lies.h"

#include <string.h>

/* Three segments of one page each: tables, code, data. In the file they are close. */
enum {
    PHDRS = 64,
    N_PHDRS = 4,
    HASH = PHDRS + N_PHDRS * 56, /* 288; also its address */
    SYMBOLS = HASH + 24,         /* null, "k", "slot" */
    NAMES = SYMBOLS + 3 * 24,
    NAMES_BYTES = 16,
    RELA = NAMES + NAMES_BYTES,
    N_RELA = 2,
    CONSTANT = RELA + N_RELA * 24,
    TABLES_END = CONSTANT + 8,
    CODE = TABLES_END,
    CODE_BYTES = 16,
    DATA = CODE + CODE_BYTES, /* two slots, then the dynamic section */
    DYNAMIC = DATA + 16,
    N_DYNAMIC = 9,
    TOTAL = DYNAMIC + N_DYNAMIC * 16,
    PAGE = 0x1000,
    TARGET_MACHINE = KILN_ELF_X86_64
};

typedef struct image {
    unsigned char b[TOTAL];
    size_t n;
} image;

static void segment(image *o, int i, uint64_t type, uint64_t flags, uint64_t offset,
                    uint64_t at, uint64_t bytes) {
    unsigned char *p = o->b + PHDRS + i * 56;
    kiln_elf_put(p, type, 4);
    kiln_elf_put(p + 4, flags, 4);
    kiln_elf_put(p + 8, offset, 8);
    kiln_elf_put(p + 16, at, 8);
    kiln_elf_put(p + 24, at, 8);
    kiln_elf_put(p + 32, bytes, 8);
    kiln_elf_put(p + 40, bytes, 8);
    kiln_elf_put(p + 48, PAGE, 8);
}

static void dynamic(image *o, int i, uint64_t tag, uint64_t value) {
    kiln_elf_put(o->b + DYNAMIC + i * 16, tag, 8);
    kiln_elf_put(o->b + DYNAMIC + i * 16 + 8, value, 8);
}

static void symbol(image *o, int i, uint64_t name, unsigned type, uint64_t value) {
    unsigned char *p = o->b + SYMBOLS + i * 24;
    kiln_elf_put(p, name, 4);
    p[4] = (unsigned char)(1 << 4 | type);
    kiln_elf_put(p + 6, 1, 2);
    kiln_elf_put(p + 8, value, 8);
}

static void relocation(image *o, int i, uint64_t at, uint64_t type, uint64_t sym,
                       uint64_t addend) {
    unsigned char *p = o->b + RELA + i * 24;
    kiln_elf_put(p, at, 8);
    kiln_elf_put(p + 8, sym << 32 | type, 8);
    kiln_elf_put(p + 16, addend, 8);
}

/* mov rax, [rip + second slot]; mov rax, [rax]; mov eax, [rax]; ret: the second slot
 * holds the address of the first, by symbol, the first that of the constant. */
static image good(void) {
    static const unsigned char code[] = {0x48, 0x8B, 0x05, 0x01, 0x10, 0x00, 0x00,
                                         0x48, 0x8B, 0x00, 0x8B, 0x00, 0xC3};
    image o = {.n = TOTAL};
    memcpy(o.b, "\177ELF\002\001\001", 7);
    kiln_elf_put(o.b + 16, 3, 2);
    kiln_elf_put(o.b + 18, TARGET_MACHINE, 2);
    kiln_elf_put(o.b + 32, PHDRS, 8);
    kiln_elf_put(o.b + 54, 56, 2);
    kiln_elf_put(o.b + 56, N_PHDRS, 2);
    segment(&o, 0, 1, 4, 0, 0, TABLES_END);
    segment(&o, 1, 1, 4 | 1, CODE, PAGE, CODE_BYTES);
    segment(&o, 2, 1, 4 | 2, DATA, 2 * PAGE, TOTAL - DATA);
    segment(&o, 3, 2, 4 | 2, DYNAMIC, 2 * PAGE + 16, N_DYNAMIC * 16);
    kiln_elf_put(o.b + HASH, 1, 4);
    kiln_elf_put(o.b + HASH + 4, 3, 4);
    symbol(&o, 1, 1, 2, PAGE);
    symbol(&o, 2, 3, 1, 2 * PAGE);
    memcpy(o.b + NAMES, "\0k\0slot\0", 8);
    relocation(&o, 0, 2 * PAGE, 8, 0, CONSTANT);
    relocation(&o, 1, 2 * PAGE + 8, 6, 2, 0);
    kiln_elf_put(o.b + CONSTANT, 42, 4);
    memcpy(o.b + CODE, code, sizeof code);
    dynamic(&o, 0, 4, HASH);
    dynamic(&o, 1, 5, NAMES);
    dynamic(&o, 2, 6, SYMBOLS);
    dynamic(&o, 3, 10, NAMES_BYTES);
    dynamic(&o, 4, 11, 24);
    dynamic(&o, 5, 7, RELA);
    dynamic(&o, 6, 8, N_RELA * 24);
    dynamic(&o, 7, 9, 24);
    return o;
}

static void runs_a_good_library(void **state) {
    const image o = good();
    kiln_code *c = NULL;
    char text[KILN_LOAD_TEXT] = "";
    (void)state;
#if !defined(__x86_64__)
    kiln_test_skip("the library is for x86-64");
#endif
    if (kiln_code_open(o.b, o.n, &c, text) != KILN_LOAD_OK)
        fail_msg("%s", text);
    kiln_kernel_fn *k = kiln_code_kernel(c, "k");
    assert_non_null(k);
    assert_null(kiln_code_kernel(c, "slot"));
    assert_null(kiln_code_kernel(c, ""));
    assert_int_equal(k(NULL, NULL), 42);
    kiln_code_close(c);
}

/* One number of the good library replaced. */
#define SEGMENT(i, field) (PHDRS + (i)*56 + (field))
#define TAG(i) (DYNAMIC + (i)*16)
#define REFUSED KILN_LOAD_UNSUPPORTED
#define BROKEN KILN_LOAD_FORMAT
static kiln_test_lie lies[] = {
    {"executable", 16, 2, 2, BROKEN, "this is no ELF64 object or shared library"},
    {"other_machine", 18, 2, 183, REFUSED, "the object is for machine 183"},
    {"segments_leave", 32, 8, TOTAL, BROKEN, "the segment table leaves the file"},
    {"segments_wrap", 32, 8, UINT64_MAX - 55, BROKEN,
     "the segment table leaves the file"},
    {"segment_size", 54, 2, 55, BROKEN, "the segment table leaves the file"},
    {"many_segments", 56, 2, 60000, BROKEN, "the segment table leaves the file"},
    {"no_segments", 56, 2, 0, BROKEN, "there is no dynamic section"},
    {"no_dynamic", SEGMENT(3, 0), 4, 4, BROKEN, "there is no dynamic section"},
    {"two_dynamics", SEGMENT(0, 0), 4, 2, BROKEN, "there are two dynamic sections"},
    {"interpreter", SEGMENT(0, 0), 4, 3, REFUSED, "it asks for an interpreter"},
    {"thread_local", SEGMENT(1, 0), 4, 7, REFUSED, "thread-local memory"},
    {"code_leaves", SEGMENT(1, 8), 8, TOTAL, BROKEN, "a segment leaves the file"},
    {"code_wraps", SEGMENT(1, 8), 8, UINT64_MAX, BROKEN, "a segment leaves the file"},
    {"more_in_file", SEGMENT(1, 40), 8, 4, BROKEN, "a segment leaves the file"},
    {"huge", SEGMENT(2, 40), 8, (uint64_t)1 << 40, BROKEN, "more than 256 MiB"},
    {"far", SEGMENT(2, 16), 8, (uint64_t)1 << 40, BROKEN, "more than 256 MiB"},
    {"far_wraps", SEGMENT(2, 16), 8, UINT64_MAX, BROKEN, "more than 256 MiB"},
    {"code_is_writable", SEGMENT(1, 4), 4, 7, REFUSED, "writable and executable"},
    {"overlap", SEGMENT(1, 16), 8, 16, BROKEN, "segments overlap"},
    {"dynamic_leaves", SEGMENT(3, 8), 8, TOTAL, BROKEN, "a segment leaves the file"},
    {"needs_a_library", TAG(0), 8, 1, REFUSED, "it needs another library"},
    {"initialiser", TAG(0), 8, 12, REFUSED, "it has an initialiser"},
    {"initialisers", TAG(0), 8, 25, REFUSED, "it has an initialiser"},
    {"rel_without_addends", TAG(5), 8, 17, REFUSED, "relocations without addends"},
    {"code_relocations", TAG(5), 8, 22, REFUSED, "relocations of code"},
    {"packed_relocations", TAG(5), 8, 36, REFUSED, "packed relocations"},
    {"no_hash", TAG(0), 8, 0x6ffffef5, REFUSED, "link with --hash-style=sysv"},
    {"hash_nowhere", TAG(0) + 8, 8, PAGE - 4, REFUSED, "link with --hash-style=sysv"},
    {"many_symbols", HASH + 4, 4, 0xFFFFFFFF, BROKEN, "the symbols leave the file"},
    {"symbols_nowhere", TAG(2) + 8, 8, UINT64_MAX, BROKEN,
     "the symbols leave the file"},
    {"symbol_size", TAG(4) + 8, 8, 16, BROKEN, "the symbols leave the file"},
    {"names_nowhere", TAG(1) + 8, 8, 3 * PAGE, BROKEN, "not terminated"},
    {"names_not_terminated", TAG(3) + 8, 8, 2, BROKEN, "not terminated"},
    {"symbol_name", SYMBOLS + 24, 4, NAMES_BYTES, BROKEN,
     "a symbol's name leaves the table"},
    {"import", SYMBOLS + 24 + 6, 2, 0, REFUSED, "the symbol 'k' is not defined"},
    {"relocations_nowhere", TAG(5) + 8, 8, TABLES_END, BROKEN,
     "the relocations leave the file"},
    {"half_a_relocation", TAG(6) + 8, 8, 30, BROKEN, "the relocations leave the file"},
    {"relocation_size", TAG(7) + 8, 8, 16, BROKEN, "the relocations leave the file"},
    {"relocation_unknown", RELA + 8, 4, 37, REFUSED, "relocation 37 is not known"},
    {"relocates_code", RELA, 8, PAGE, BROKEN,
     "a relocation leaves the writable segments"},
    {"relocation_half_leaves", RELA, 8, 2 * PAGE + TOTAL - DATA - 7, BROKEN,
     "a relocation leaves the writable segments"},
    {"relocation_wraps", RELA, 8, UINT64_MAX - 3, BROKEN,
     "a relocation leaves the writable segments"},
    {"relocation_of_no_symbol", RELA + 24 + 12, 4, 3, BROKEN,
     "a relocation names no symbol"},
};

static void check_lie(void **state) {
    const image o = good();
    kiln_test_elf_lie(o.b, o.n, *state);
}

static void refuses_every_truncation(void **state) {
    const image o = good();
    (void)state;
    assert_int_equal(kiln_test_elf_cut(o.b, o.n), o.n);
}

static void survives_random_bytes(void **state) {
    const image o = good();
    (void)state;
    assert_true(kiln_test_elf_scramble(o.b, o.n) > 5000);
}

/* Bytes 0x1000 apart in the library may share a page of the system. */
static void segments_that_share_a_page_are_refused(void **state) {
    image o = good();
    kiln_code *c = NULL;
    char text[KILN_LOAD_TEXT] = "";
    (void)state;
#if !defined(__x86_64__)
    kiln_test_skip("the library is for x86-64");
#endif
    kiln_elf_put(o.b + SEGMENT(2, 16), PAGE + 64, 8);
    kiln_elf_put(o.b + RELA, PAGE + 64, 8);
    kiln_elf_put(o.b + RELA + 24, PAGE + 72, 8);
    assert_int_equal(kiln_code_open(o.b, o.n, &c, text), REFUSED);
    assert_non_null(strstr(text, "two segments share a page"));
    assert_null(c);
}

int main(void) {
    kiln_test_add("runs_a_good_library", runs_a_good_library, NULL);
    kiln_test_add_rows(check_lie, lies);
    kiln_test_add("refuses_every_truncation", refuses_every_truncation, NULL);
    kiln_test_add("survives_random_bytes", survives_random_bytes, NULL);
    kiln_test_add("segments_that_share_a_page_are_refused",
                  segments_that_share_a_page_are_refused, NULL);
    return kiln_test_run("loader of shared libraries");
}
