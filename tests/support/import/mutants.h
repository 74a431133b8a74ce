/* Mutated files, for tests of importers: each is refused by an error that names the
 * file, or is still a model that verifies. */
#ifndef KILN_TESTS_SUPPORT_MUTANTS_H
#define KILN_TESTS_SUPPORT_MUTANTS_H

#include "compiler/graph/graph.h"

enum { KILN_TEST_MUTANTS = 300 }; /* of each format */

typedef struct kiln_test_mutants {
    const char *file; /* that errors name */
    kiln_str whole;   /* imports as it is */
    kiln_status (*import)(kiln_arena *a, kiln_str bytes, const void *user,
                          kiln_graph **g, kiln_err *err);
    const void *user;     /* import's */
    size_t n_kept;        /* bytes in front that stay */
    const char *alphabet; /* what changes put in; NULL: any bytes */
} kiln_test_mutants;

/* Imports `bytes`, and asserts that it ends as above. Was it refused? */
bool kiln_test_mutant_ends(const kiln_test_mutants *m, kiln_str bytes);

/* Imports the whole file and n mutants of it, by the test's seed: one to four bytes or
 * words changed, taken out or put in, or the end cut off. Asserts that each ends as
 * above, and that a quarter are refused. */
void kiln_test_mutants_end(const kiln_test_mutants *m, int n);

#endif
