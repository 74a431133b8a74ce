/* What a pair of transposes has between it: the nodes that could work on permuted
 * values, and which of them should. */
#ifndef KILN_COMPILER_PASS_TRANSPOSE_REGION_H
#define KILN_COMPILER_PASS_TRANSPOSE_REGION_H

#include "compiler/pass/permute.h"

/* How one node is rewritten. */
typedef struct kiln_permuted {
    const kiln_perm *in, *out; /* by input and output; NULL: it stays */
} kiln_permuted;

typedef struct kiln_users {
    const kiln_graph *g;
    const int *first;       /* by value id, n + 1 entries: where its users begin */
    const kiln_node **node; /* each once for each use */
    const bool *is_output;  /* by value id */
} kiln_users;
void kiln_users_of(kiln_arena *a, const kiln_graph *g, kiln_users *out);

/* Decides for all nodes of g at once (an entry per node). Returns how many are to be
 * rewritten. */
int kiln_transpose_choose(kiln_arena *scratch, const kiln_users *users,
                          kiln_permuted *choice);

#endif
