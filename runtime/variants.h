/* Several packages in one folder: the file `variants` says which there are and what each
 * needs of a machine (docs/package-format.md).
 *
 *     kiln variants 1
 *     v0 0 62 x86-64-v4 x86-avx512
 *     v1 0 62 x86-64-v4 x86-avx512
 *     v2 1 62 x86-64-v3 x86-avx2
 *
 * A line each: folder, group (those of one profile, the best group first), ELF machine,
 * what its code needs ("-": nothing), the profile's name. Untrusted.
 */
#ifndef KILN_RUNTIME_VARIANTS_H
#define KILN_RUNTIME_VARIANTS_H

#include <stddef.h>

#include "runtime/kiln.h"

enum {
    KILN_VARIANTS_MAX = 32,
    KILN_VARIANTS_TEXT =
        64, /* of a folder, a profile, and the needs, with their ends */
    KILN_VARIANTS_BYTES = 1 << 14 /* of the file */
};

typedef struct kiln_variant_row {
    char folder[KILN_VARIANTS_TEXT];
    unsigned group;
    unsigned machine;
    char needs[KILN_VARIANTS_TEXT];
    char profile[KILN_VARIANTS_TEXT];
} kiln_variant_row;

typedef struct kiln_variants {
    kiln_variant_row row[KILN_VARIANTS_MAX];
    int n;
} kiln_variants;

/* 0, or -1 with the reason. */
int kiln_variants_parse(const char *bytes, size_t n, kiln_variants *out,
                        char error[KILN_ERROR_TEXT]);

/* A machine, as far as variants ask: has it the feature of that name? */
typedef struct kiln_variants_machine {
    unsigned machine; /* ELF's */
    int (*has)(const char *feature);
} kiln_variants_machine;
/* This one. */
kiln_variants_machine kiln_variants_here(void);
/* The first variant of the best group that the machine runs; the others of the group
 * follow it. -1: it runs none, and the error names those that there are. */
int kiln_variants_choose(const kiln_variants *v, const kiln_variants_machine *m,
                         char error[KILN_ERROR_TEXT]);

#endif
