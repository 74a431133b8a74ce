/* Objects and shared libraries, linked in memory: without making them executable, so
 * that tests can link for any machine, and the packager can check libraries for any. */
#ifndef KILN_RUNTIME_ELF_H
#define KILN_RUNTIME_ELF_H

#include "runtime/loader.h"

enum { KILN_ELF_ARM = 40, KILN_ELF_X86_64 = 62, KILN_ELF_AARCH64 = 183 };

/* A stretch of the image under one protection: the sections of a kind, each kind
 * starting on a page of the largest size (objects), or a PT_LOAD (shared libraries). */
typedef struct kiln_elf_load {
    uint64_t at, bytes;          /* in the image */
    uint64_t offset, file_bytes; /* in the file (shared libraries); the rest is zero */
    int is_writable, is_executable;
} kiln_elf_load;
enum { KILN_ELF_MAX_LOADS = 16, KILN_ELF_PAGE = 65536 };

typedef struct kiln_elf_table {
    uint64_t offset, n;
} kiln_elf_table;

struct kiln_runtime_arch;

/* Bytes of what tables hold, by the file's class: ELF32 or ELF64. */
typedef struct kiln_elf_form {
    int word; /* of an address */
    int section, symbol, rela, rel, segment, dynamic;
} kiln_elf_form;

typedef struct kiln_elf {
    const kiln_elf_form *form;
    const unsigned char *file;
    size_t bytes;
    const struct kiln_runtime_arch *arch;   /* its machine's row */
    int is_shared;                          /* a shared library; else an object */
    uint64_t n_sections;                    /* objects */
    uint64_t sections;                      /* objects: where the table begins */
    uint64_t symbols, n_symbols;            /* offset, entries */
    uint64_t strings, n_strings;            /* offset, bytes */
    uint64_t *address;                      /* of each section in the image; owned */
    kiln_elf_table rela[2];                 /* shared libraries: .rela.dyn, .rela.plt */
    kiln_elf_load load[KILN_ELF_MAX_LOADS]; /* ascending */
    int n_loads;
    uint64_t image_bytes;
    char *text;
} kiln_elf;

/* Reads the tables and lays the sections out. Nothing to release but `address`, by
 * kiln_elf_fini. */
kiln_load_status kiln_elf_open(kiln_elf *e, const void *object, size_t bytes,
                               int machine, char text[KILN_LOAD_TEXT]);
/* Copies what is loaded into `image` (image_bytes zeroed bytes, at which it will run)
 * and applies relocations. */
kiln_load_status kiln_elf_link(const kiln_elf *e, unsigned char *image);
/* Offset in the image of a global function; -1: none. */
int64_t kiln_elf_find(const kiln_elf *e, const char *name);
void kiln_elf_fini(kiln_elf *e);

/* The same for shared libraries (elf_shared.c). */
kiln_load_status kiln_elf_shared_open(kiln_elf *e);
kiln_load_status kiln_elf_shared_link(const kiln_elf *e, unsigned char *image);

/* A symbol, as it stands in the file. */
typedef struct kiln_elf_symbol {
    uint64_t name, value;
    unsigned binding, type;
    uint64_t section; /* KILN_ELF_ABSOLUTE: the value is an address */
} kiln_elf_symbol;
enum { KILN_ELF_ABSOLUTE = 0xFFF1 };
kiln_elf_symbol kiln_elf_symbol_at(const kiln_elf *e, uint64_t i);
/* Every symbol has a name inside the table and is defined. */
kiln_load_status kiln_elf_check_symbols(const kiln_elf *e);
int kiln_elf_holds(const kiln_elf *e, uint64_t at, uint64_t n);
kiln_load_status kiln_elf_fail(const kiln_elf *e, kiln_load_status st,
                               const char *what);

/* A section of an object. */
typedef struct kiln_elf_section {
    uint64_t type, flags, offset, size, link, info, align;
} kiln_elf_section;
kiln_elf_section kiln_elf_section_at(const kiln_elf *e, uint64_t i);

/* A relocation, as it stands in the file. */
typedef struct kiln_elf_relocation {
    uint64_t at; /* in its section, or in the image */
    uint64_t symbol, addend;
    uint32_t type;
} kiln_elf_relocation;
/* The entry at p. Without an addend of its own: 0, it is where it is applied to. */
kiln_elf_relocation kiln_elf_relocation_at(const kiln_elf *e, const unsigned char *p,
                                           int has_addend);

/* A number of one of two places, by the class: offset in ELF64, in ELF32; an address. */
uint64_t kiln_elf_word(const kiln_elf *e, const unsigned char *p, int at64, int at32);
/* The same of 2 or 4 bytes in both. */
uint64_t kiln_elf_field(const kiln_elf *e, const unsigned char *p, int at64, int at32,
                        int bytes);

uint64_t kiln_elf_number(const unsigned char *p, int bytes);
void kiln_elf_put(unsigned char *p, uint64_t v, int bytes);

#endif
