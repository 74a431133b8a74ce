/* The loader against hostile objects: truncated, with every field that can lie lying,
 * with relocations that it does not know. The objects are built here, byte by byte, so
 * that the tests need no compiler. */
#include "runtime/arch.h"
#include "tests/support/package/elf_lies.h"

#include <string.h>

/* header, six section headers, then .text (16 bytes), .rela (one entry), symbols (null,
 * section, "k"), names. */
enum {
    SECTIONS = 64,
    N_SECTIONS = 6,
    TEXT = SECTIONS + N_SECTIONS * 64,
    RELA = TEXT + 16,
    SYMBOLS = RELA + 24,
    NAMES = SYMBOLS + 3 * 24,
    CONSTS = NAMES + 8,
    TOTAL = CONSTS + 64,
    TARGET_MACHINE = KILN_ELF_X86_64
};

typedef struct image {
    unsigned char b[TOTAL];
    size_t n;
} image;

static void section(image *o, int i, uint64_t type, uint64_t flags, uint64_t at,
                    uint64_t size, uint64_t link, uint64_t info) {
    unsigned char *p = o->b + SECTIONS + i * 64;
    kiln_elf_put(p + 4, type, 4);
    kiln_elf_put(p + 8, flags, 8);
    kiln_elf_put(p + 24, at, 8);
    kiln_elf_put(p + 32, size, 8);
    kiln_elf_put(p + 40, link, 4);
    kiln_elf_put(p + 44, info, 4);
    kiln_elf_put(p + 48, 16, 8);
}

/* mov eax, [rip + consts]; ret */
static image good(void) {
    static const unsigned char code[] = {0x8B, 0x05, 0, 0, 0, 0, 0xC3};
    image o = {.n = TOTAL};
    memcpy(o.b, "\177ELF\002\001\001", 7);
    kiln_elf_put(o.b + 16, 1, 2);
    kiln_elf_put(o.b + 18, TARGET_MACHINE, 2);
    kiln_elf_put(o.b + 40, SECTIONS, 8);
    kiln_elf_put(o.b + 58, 64, 2);
    kiln_elf_put(o.b + 60, N_SECTIONS, 2);
    section(&o, 1, 1, 2 | 4, TEXT, 16, 0, 0);
    section(&o, 2, 4, 0, RELA, 24, 3, 1);
    section(&o, 3, 2, 0, SYMBOLS, 3 * 24, 4, 2);
    section(&o, 4, 3, 0, NAMES, 8, 0, 0);
    section(&o, 5, 1, 2, CONSTS, 64, 0, 0);
    memcpy(o.b + TEXT, code, sizeof code);
    memcpy(o.b + NAMES, "\0k\0", 3);
    kiln_elf_put(o.b + RELA, 2, 8);
    kiln_elf_put(o.b + RELA + 8, (uint64_t)1 << 32 | 2, 8); /* symbol 1, PC32 */
    kiln_elf_put(o.b + RELA + 16, (uint64_t)-4, 8);
    o.b[SYMBOLS + 24 + 4] = 3; /* local, section */
    kiln_elf_put(o.b + SYMBOLS + 24 + 6, 5, 2);
    kiln_elf_put(o.b + SYMBOLS + 48, 1, 4);
    o.b[SYMBOLS + 48 + 4] = 1 << 4 | 2; /* global function */
    kiln_elf_put(o.b + SYMBOLS + 48 + 6, 1, 2);
    kiln_elf_put(o.b + CONSTS, 42, 4);
    return o;
}

static void runs_a_good_object(void **state) {
    const image o = good();
    kiln_code *c = NULL;
    char text[KILN_LOAD_TEXT] = "";
    (void)state;
#if !defined(__x86_64__)
    kiln_test_skip("the object is for x86-64");
#endif
    if (kiln_code_open(o.b, o.n, &c, text) != KILN_LOAD_OK)
        fail_msg("%s", text);
    kiln_kernel_fn *k = kiln_code_kernel(c, "k");
    assert_non_null(k);
    assert_null(kiln_code_kernel(c, "kk"));
    assert_int_equal(k(NULL, NULL), 42);
    kiln_code_close(c);
    kiln_code_close(NULL);
}

/* One number of the good object replaced. */
#define SECTION(i, field) (SECTIONS + (i)*64 + (field))
static kiln_test_lie lies[] = {
    {"magic", 0, 1, 0, KILN_LOAD_FORMAT, "this is no ELF64 object or shared library"},
    {"32_bit", 4, 1, 1, KILN_LOAD_FORMAT, "this is no ELF64 object or shared library"},
    {"executable", 16, 2, 2, KILN_LOAD_FORMAT,
     "this is no ELF64 object or shared library"},
    {"other_machine", 18, 2, 8, KILN_LOAD_UNSUPPORTED, "the object is for machine 8"},
    {"sections_leave", 40, 8, TOTAL, KILN_LOAD_FORMAT, "the section table leaves"},
    {"sections_wrap", 40, 8, UINT64_MAX - 63, KILN_LOAD_FORMAT,
     "the section table leaves"},
    {"section_size", 58, 2, 63, KILN_LOAD_FORMAT, "the section table leaves"},
    {"no_sections", 60, 2, 0, KILN_LOAD_FORMAT, "the section table leaves"},
    {"many_sections", 60, 2, 60000, KILN_LOAD_FORMAT, "the section table leaves"},
    {"none_has_a_kind", SECTION(0, 4), 4, 1, KILN_LOAD_FORMAT,
     "section 0 is not empty"},
    {"none_is_loaded", SECTION(0, 8), 8, 3, KILN_LOAD_FORMAT, "section 0 is not empty"},
    {"none_has_bytes", SECTION(0, 32), 8, (uint64_t)1 << 40, KILN_LOAD_FORMAT,
     "section 0 is not empty"},
    {"text_leaves", SECTION(1, 32), 8, TOTAL, KILN_LOAD_FORMAT,
     "a section leaves the file"},
    {"text_wraps", SECTION(1, 24), 8, UINT64_MAX, KILN_LOAD_FORMAT,
     "a section leaves the file"},
    {"text_writable", SECTION(1, 8), 8, 7, KILN_LOAD_UNSUPPORTED,
     "writable and executable"},
    {"thread_local", SECTION(5, 8), 8, 0x403, KILN_LOAD_UNSUPPORTED,
     "thread-local memory"},
    {"alignment", SECTION(1, 48), 8, 3, KILN_LOAD_FORMAT, "a power of two"},
    {"alignment_huge", SECTION(1, 48), 8, (uint64_t)1 << 40, KILN_LOAD_FORMAT,
     "a power of two"},
    {"rel_without_addends", SECTION(2, 4), 4, 9, KILN_LOAD_UNSUPPORTED,
     "relocations without addends"},
    {"relocates_nothing", SECTION(2, 44), 4, 77, KILN_LOAD_FORMAT,
     "relocations are for no section"},
    {"names_nowhere", SECTION(3, 40), 4, 99, KILN_LOAD_FORMAT, "has no names"},
    {"names_not_terminated", SECTION(4, 32), 8, 2, KILN_LOAD_FORMAT, "not terminated"},
    {"symbol_undefined", SYMBOLS + 48 + 6, 2, 0, KILN_LOAD_UNSUPPORTED,
     "the symbol 'k' is not defined"},
    {"symbol_common", SYMBOLS + 48 + 6, 2, 0xFFF2, KILN_LOAD_UNSUPPORTED,
     "the symbol 'k' is not defined"},
    {"symbol_nowhere", SYMBOLS + 48 + 6, 2, 6, KILN_LOAD_FORMAT,
     "a symbol lies in no section"},
    {"symbol_name", SYMBOLS + 48, 4, 8, KILN_LOAD_FORMAT,
     "a symbol's name leaves the table"},
    {"relocation_leaves", RELA, 8, 16, KILN_LOAD_FORMAT,
     "a relocation leaves its section"},
    {"relocation_half_leaves", RELA, 8, 13, KILN_LOAD_FORMAT,
     "a relocation leaves its section"},
    {"relocation_of_no_symbol", RELA + 12, 4, 3, KILN_LOAD_FORMAT,
     "a relocation names no symbol"},
    {"relocation_unknown", RELA + 8, 4, 42, KILN_LOAD_UNSUPPORTED,
     "x86-64 relocation 42 is not known"},
    {"relocation_far", RELA + 16, 8, (uint64_t)1 << 40, KILN_LOAD_FORMAT,
     "does not fit 32 bits"},
    {"bss_is_relocated", SECTION(1, 4), 4, 8, KILN_LOAD_FORMAT,
     "relocations are for an empty section"},
    {"bss_too_large", SECTION(5, 32), 8, (uint64_t)1 << 40, KILN_LOAD_FORMAT,
     "a section"},
};

static void check_lie(void **state) {
    const image o = good();
    kiln_test_elf_lie(o.b, o.n, *state);
}

/* Relocations "for" section 0, made to look as if it were loaded: each would write
 * where the object says, outside of its image. */
static void writes_nothing_through_section_0(void **state) {
    static const kiln_test_lie to_none = {
        "", SECTION(2, 44), 4, 0, KILN_LOAD_FORMAT, "section 0 is not empty"};
    image o = good();
    (void)state;
    section(&o, 0, 1, 3, TEXT, (uint64_t)1 << 40, 0, 0);
    kiln_elf_put(o.b + RELA, (uint64_t)1 << 32, 8);
    kiln_test_elf_lie(o.b, o.n, &to_none);
}

/* What lies behind the sections may be cut off. */
static void survives_every_truncation(void **state) {
    const image o = good();
    (void)state;
    assert_true(kiln_test_elf_cut(o.b, o.n) >= CONSTS);
}

static void survives_random_bytes(void **state) {
    const image o = good();
    (void)state;
    assert_true(kiln_test_elf_scramble(o.b, o.n) > 1000);
}

/* Relocations of AArch64 by the numbers of its ELF supplement: instruction before and
 * after. */
typedef struct fixup_row {
    const char *name;
    uint32_t type;
    uint64_t at, value, before, after;
    int bytes;
    kiln_load_status want;
} fixup_row;

static fixup_row arm_rows[] = {
    {"abs64", 257, 0x1000, 0x123456789ABCDEF0, 0, 0x123456789ABCDEF0, 8, KILN_LOAD_OK},
    {"prel32", 261, 0x1000, 0xFF0, 0, 0xFFFFFFF0, 4, KILN_LOAD_OK},
    /* adrp x0, two pages on; and one page back */
    {"adrp_forward", 275, 0x10FFC, 0x12008, 0x90000000, 0xD0000000, 4, KILN_LOAD_OK},
    {"adrp_back", 275, 0x10004, 0xF008, 0x90000000, 0xF0FFFFE0, 4, KILN_LOAD_OK},
    {"adrp_too_far", 275, 0x1000, (uint64_t)1 << 40, 0x90000000, 0, 4,
     KILN_LOAD_FORMAT},
    {"add_low12", 277, 0, 0x12345, 0x91000000, 0x910D1400, 4, KILN_LOAD_OK},
    {"ldr_q", 299, 0, 0x12340, 0x3DC00000, 0x3DC0D000, 4, KILN_LOAD_OK},
    {"ldr_q_not_aligned", 299, 0, 0x12348, 0x3DC00000, 0, 4, KILN_LOAD_FORMAT},
    {"call_back", 283, 0x2000, 0x1000, 0x94000000, 0x97FFFC00, 4, KILN_LOAD_OK},
    {"call_too_far", 283, 0, (uint64_t)1 << 28, 0x94000000, 0, 4, KILN_LOAD_FORMAT},
    {"unknown", 311, 0, 0, 0, 0, 4, KILN_LOAD_UNSUPPORTED},
};

static void check_arm(void **state) {
    const fixup_row *r = *state;
    unsigned char p[8];
    char text[KILN_LOAD_TEXT] = "";
    kiln_elf_put(p, r->before, 8);
    const kiln_elf_fixup f = {.type = r->type,
                              .p = p,
                              .room = sizeof p,
                              .at = r->at,
                              .value = r->value,
                              .text = text};
    assert_int_equal(kiln_runtime_arch_of(KILN_ELF_AARCH64)->relocate(&f), r->want);
    if (r->want == KILN_LOAD_OK)
        assert_int_equal(kiln_elf_number(p, r->bytes), r->after);
}

/* The same of 32-bit Arm's, which keep their addends where they write to. */
static fixup_row arm32_rows[] = {
    {"arm_abs32", 2, 0x1000, 0x2000, 0x10, 0x2010, 4, KILN_LOAD_OK},
    {"arm_rel32_back", 3, 0x1000, 0xFF0, 0xFFFFFFF8, 0xFFFFFFE8, 4, KILN_LOAD_OK},
    {"arm_call_forward", 28, 0x1000, 0x2000, 0xEBFFFFFE, 0xEB0003FE, 4, KILN_LOAD_OK},
    {"arm_jump_back", 29, 0x2000, 0x1000, 0xEAFFFFFE, 0xEAFFFBFE, 4, KILN_LOAD_OK},
    {"arm_call_too_far", 28, 0, 0x4000000, 0xEBFFFFFE, 0, 4, KILN_LOAD_FORMAT},
    {"arm_call_to_thumb", 28, 0, 0x1002, 0xEBFFFFFE, 0, 4, KILN_LOAD_FORMAT},
    {"arm_prel31_keeps_a_bit", 42, 0x1000, 0x800, 0x80000000, 0xFFFFF800, 4,
     KILN_LOAD_OK},
    {"arm_movw", 45, 0x1000, 0x13345, 0xE3000000, 0xE3020345, 4, KILN_LOAD_OK},
    {"arm_movt", 46, 0x1000, 0x12346000, 0xE3400000, 0xE3410234, 4, KILN_LOAD_OK},
    {"arm_none", 0, 0x1000, 0x2000, 0x1234, 0x1234, 4, KILN_LOAD_OK},
    {"arm_unknown", 10, 0, 0, 0, 0, 4, KILN_LOAD_UNSUPPORTED},
};

static void check_arm32(void **state) {
    const fixup_row *r = *state;
    unsigned char p[8];
    char text[KILN_LOAD_TEXT] = "";
    uint64_t addend = 0;
    const kiln_runtime_arch *arch = kiln_runtime_arch_of(KILN_ELF_ARM);
    kiln_elf_put(p, r->before, 8);
    kiln_elf_fixup f = {
        .type = r->type, .p = p, .room = sizeof p, .at = r->at, .text = text};
    kiln_load_status st = arch->addend(&f, &addend);
    f.value = r->value + addend;
    if (st == KILN_LOAD_OK)
        st = arch->relocate(&f);
    assert_int_equal(st, r->want);
    if (r->want == KILN_LOAD_OK)
        assert_int_equal(kiln_elf_number(p, r->bytes), r->after);
    f.room = 3;
    if (r->want == KILN_LOAD_OK && r->type != 0) {
        assert_int_equal(arch->addend(&f, &addend), KILN_LOAD_FORMAT);
        assert_int_equal(arch->relocate(&f), KILN_LOAD_FORMAT);
    }
}

/* The same of RISC-V's. The instruction that holds the upper half of HALF's address is
 * at FIRST. */
enum { FIRST = 0x4000, HALF = 0x16FFF, R_PCREL_HI20 = 23 };

static int find_first(const void *link, uint64_t at, uint32_t type, uint64_t *value) {
    (void)link;
    *value = HALF;
    return at == FIRST && type == R_PCREL_HI20;
}

static fixup_row riscv_rows[] = {
    {"riscv_64", 2, 0, 0x123456789ABCDEF0, 0, 0x123456789ABCDEF0, 8, KILN_LOAD_OK},
    {"beq_forward", 16, 0x1000, 0x1ABC, 0x00B50063, 0x2AB50EE3, 4, KILN_LOAD_OK},
    {"beq_back", 16, 0x2000, 0x1000, 0x00B50063, 0x80B50063, 4, KILN_LOAD_OK},
    {"beq_too_far", 16, 0x1000, 0x2000, 0x00B50063, 0, 4, KILN_LOAD_FORMAT},
    {"beq_to_half_an_instruction", 16, 0x1000, 0x1001, 0x00B50063, 0, 4,
     KILN_LOAD_FORMAT},
    {"jal_forward", 17, 0x1000, 0xACCDE, 0x000000EF, 0x4DFAB0EF, 4, KILN_LOAD_OK},
    {"jal_back", 17, 0x100000, 0, 0x000000EF, 0x800000EF, 4, KILN_LOAD_OK},
    {"jal_too_far", 17, 0, 0x100000, 0x000000EF, 0, 4, KILN_LOAD_FORMAT},
    {"c_beqz_forward", 44, 0x1000, 0x10AA, 0xC101, 0xC54D, 2, KILN_LOAD_OK},
    {"c_beqz_back", 44, 0x1000, 0xF00, 0xC101, 0xD101, 2, KILN_LOAD_OK},
    {"c_beqz_too_far", 44, 0x1000, 0x1100, 0xC101, 0, 2, KILN_LOAD_FORMAT},
    {"c_j_forward", 45, 0x1000, 0x15AA, 0xA001, 0xA36D, 2, KILN_LOAD_OK},
    {"c_j_back", 45, 0x1000, 0x800, 0xA001, 0xB001, 2, KILN_LOAD_OK},
    {"c_j_too_far", 45, 0x1000, 0x1800, 0xA001, 0, 2, KILN_LOAD_FORMAT},
    {"call_of_two_instructions", 19, 0x2000, 0x1234, 0x000080E700000097,
     0x234080E7FFFFF097, 8, KILN_LOAD_OK},
    {"auipc_is_rounded", 23, FIRST, HALF, 0x00000517, 0x00013517, 4, KILN_LOAD_OK},
    {"auipc_reaches_far", 23, 0, 0x7FFFF7FF, 0x00000517, 0x7FFFF517, 4, KILN_LOAD_OK},
    {"auipc_too_far", 23, 0, 0x7FFFF800, 0x00000517, 0, 4, KILN_LOAD_FORMAT},
    {"load_of_the_other_half", 24, 0, FIRST, 0x00052583, 0xFFF52583, 4, KILN_LOAD_OK},
    {"store_to_the_other_half", 25, 0, FIRST, 0x00B52023, 0xFEB52FA3, 4, KILN_LOAD_OK},
    {"no_other_half", 24, 0, FIRST + 4, 0x00052583, 0, 4, KILN_LOAD_FORMAT},
    {"add32", 35, 0, 0x30, 0xFFFFFFF0, 0x20, 4, KILN_LOAD_OK},
    {"sub32", 39, 0, 0x30, 0x20, 0xFFFFFFF0, 4, KILN_LOAD_OK},
    {"sub8_leaves_its_neighbours", 37, 0, 1, 0x1200, 0x12FF, 8, KILN_LOAD_OK},
    {"pcrel32", 57, 0x1000, 0xFF0, 0, 0xFFFFFFF0, 4, KILN_LOAD_OK},
    {"pcrel32_too_far", 57, 0, (uint64_t)1 << 31, 0, 0, 4, KILN_LOAD_FORMAT},
    {"room_for_relaxing_stays", 43, 0, 6, 0x00000013, 0x00000013, 4, KILN_LOAD_OK},
    {"riscv_unknown", 20, 0, 0, 0, 0, 4, KILN_LOAD_UNSUPPORTED},
};

static void check_riscv(void **state) {
    const fixup_row *r = *state;
    unsigned char p[8];
    char text[KILN_LOAD_TEXT] = "";
    const kiln_runtime_arch *arch = kiln_runtime_arch_of(243);
    kiln_elf_put(p, r->before, 8);
    kiln_elf_fixup f = {.type = r->type,
                        .p = p,
                        .room = sizeof p,
                        .at = r->at,
                        .value = r->value,
                        .text = text,
                        .find = find_first};
    assert_int_equal(arch->relocate(&f), r->want);
    assert_int_equal(text[0] == '\0', r->want == KILN_LOAD_OK);
    if (r->want == KILN_LOAD_OK)
        assert_int_equal(kiln_elf_number(p, r->bytes), r->after);
    if (r->want == KILN_LOAD_OK && r->before != r->after) {
        f.room = 0;
        assert_int_equal(arch->relocate(&f), KILN_LOAD_FORMAT);
    }
}

int main(void) {
    kiln_test_add("runs_a_good_object", runs_a_good_object, NULL);
    kiln_test_add_rows(check_lie, lies);
    kiln_test_add("writes_nothing_through_section_0", writes_nothing_through_section_0,
                  NULL);
    kiln_test_add("survives_every_truncation", survives_every_truncation, NULL);
    kiln_test_add("survives_random_bytes", survives_random_bytes, NULL);
    kiln_test_add_rows(check_arm, arm_rows);
    kiln_test_add_rows(check_arm32, arm32_rows);
    kiln_test_add_rows(check_riscv, riscv_rows);
    return kiln_test_run("loader");
}
