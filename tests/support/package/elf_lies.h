/* Hostile ELF files for the loader: a good one, with one number replaced, cut, or with
 * random bytes. Linked for x86-64 on any machine. */
#ifndef KILN_TESTS_SUPPORT_PACKAGE_ELF_LIES_H
#define KILN_TESTS_SUPPORT_PACKAGE_ELF_LIES_H

#include "runtime/elf.h"
#include "tests/support/kiln_test.h"

typedef struct kiln_test_lie {
    const char *name;
    int at, bytes;
    uint64_t value;
    kiln_load_status want;
    const char *text; /* of the message */
} kiln_test_lie;

/* A good file of n bytes; these work on copies. */
void kiln_test_elf_lie(const unsigned char *good, size_t n, const kiln_test_lie *l);
/* How many of its n beginnings are refused. */
size_t kiln_test_elf_cut(const unsigned char *good, size_t n);
/* The same of 20000 with up to four random bytes. */
size_t kiln_test_elf_scramble(const unsigned char *good, size_t n);

#endif
