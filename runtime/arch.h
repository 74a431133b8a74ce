/* What the runtime knows of architectures: one row of archs.def and one file of arch/
 * each. The compiler has rows of its own (compiler/target): nothing of it ships to a
 * device. */
#ifndef KILN_RUNTIME_ARCH_H
#define KILN_RUNTIME_ARCH_H

#include "runtime/elf.h"

/* One relocation of an object. */
typedef struct kiln_elf_fixup {
    uint32_t type;
    unsigned char *p;   /* what is written to */
    uint64_t room;      /* bytes from there to the section's end */
    uint64_t at, value; /* the address that p runs at; symbol plus addend */
    char *text;         /* says what was wrong */
    /* Where an address is split over two instructions, the second one's relocation may
     * lead to the first: the value that the relocation at that address has. 0: there is
     * none of this type. */
    int (*find)(const void *link, uint64_t at, uint32_t type, uint64_t *value);
    const void *link; /* find's */
} kiln_elf_fixup;

typedef struct kiln_runtime_arch {
    const char *name; /* in messages: "x86-64" */
    int machine;      /* that ELF files and plans name: 62 */
    int is_32_bit;    /* its ELF files are, and its addresses */
    /* Types of relocations that a shared library has. All write an address: base plus
     * addend; or symbol plus addend, of which there are several. */
    uint32_t relative, symbolic[3];
    kiln_load_status (*relocate)(const kiln_elf_fixup *f);
    /* What a relocation without an addend of its own finds where it writes to. NULL: the
     * machine's objects have no such ones. */
    kiln_load_status (*addend)(const kiln_elf_fixup *f, uint64_t *out);
    /* For whoever waits in a loop; NULL where the runtime was made for another one. */
    void (*pause)(void);
    /* Has this machine what code may need beside the base (runtime/variants.h)? NULL
     * where the runtime was made for another one. */
    int (*has)(const char *feature);
} kiln_runtime_arch;

/* NULL: none is known. */
const kiln_runtime_arch *kiln_runtime_arch_of(uint64_t machine);
/* That this was made for; NULL: none that is known, and then no package runs. */
const kiln_runtime_arch *kiln_runtime_arch_here(void);

/* For arch/: failures, and a check. */
kiln_load_status kiln_fixup_unknown(const kiln_elf_fixup *f, const char *machine);
kiln_load_status kiln_fixup_bad(const kiln_elf_fixup *f, const char *what);
int kiln_fits_signed(uint64_t v, int bits);

#endif
