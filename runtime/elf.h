/* Objects, linked in memory: without making them executable, so that tests can link for
 * any machine. Private to runtime/. */
#ifndef KILN_RUNTIME_ELF_H
#define KILN_RUNTIME_ELF_H

#include "runtime/loader.h"

enum { KILN_ELF_X86_64 = 62, KILN_ELF_AARCH64 = 183 };

/* Sections of three kinds, each starting on a page. */
typedef enum kiln_elf_part {
    KILN_ELF_CODE,
    KILN_ELF_CONST,
    KILN_ELF_DATA
} kiln_elf_part;
enum { KILN_ELF_PARTS = 3, KILN_ELF_PAGE = 65536 };

typedef struct kiln_elf {
    const unsigned char *file;
    size_t bytes;
    uint64_t n_sections, sections; /* the table: entries, offset */
    uint64_t symbols, n_symbols;   /* offset, entries */
    uint64_t strings, n_strings;   /* offset, bytes */
    uint64_t *address;             /* of each section in the image; owned */
    uint64_t
        part[KILN_ELF_PARTS + 1]; /* where each part starts in the image; the end */
    char *text;
} kiln_elf;

/* Reads the tables and lays the sections out. Nothing to release but `address`, by
 * kiln_elf_fini. */
kiln_load_status kiln_elf_open(kiln_elf *e, const void *object, size_t bytes,
                               int machine, char text[KILN_LOAD_TEXT]);
/* Copies sections into `image` (part[KILN_ELF_PARTS] zeroed bytes, at which they will
 * run) and applies relocations. */
kiln_load_status kiln_elf_link(const kiln_elf *e, unsigned char *image);
/* Offset in the image of a global function; -1: none. */
int64_t kiln_elf_find(const kiln_elf *e, const char *name);
void kiln_elf_fini(kiln_elf *e);

/* One relocation of `machine` at p, which runs at address `at`: value is symbol plus
 * addend. */
kiln_load_status kiln_elf_relocate_x86_64(uint32_t type, unsigned char *p,
                                          uint64_t room, uint64_t at, uint64_t value,
                                          char *text);
kiln_load_status kiln_elf_relocate_aarch64(uint32_t type, unsigned char *p,
                                           uint64_t room, uint64_t at, uint64_t value,
                                           char *text);
uint64_t kiln_elf_number(const unsigned char *p, int bytes);
void kiln_elf_put(unsigned char *p, uint64_t v, int bytes);

#endif
