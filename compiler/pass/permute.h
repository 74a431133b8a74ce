/* How a permutation of axes goes through a node. */
#ifndef KILN_COMPILER_PASS_PERMUTE_H
#define KILN_COMPILER_PASS_PERMUTE_H

#include "compiler/graph/graph.h"

/* A value v stands for transpose(u, axis): its axis i is axis[i] of u, the permuted
 * value. rank 0: v stays what it is. */
typedef struct kiln_perm {
    int rank;
    int64_t axis[KILN_MAX_RANK];
} kiln_perm;

kiln_perm kiln_perm_of(const kiln_node *transpose); /* of its output, u its input */
bool kiln_perm_eq(const kiln_perm *a, const kiln_perm *b);
bool kiln_perm_is_identity(const kiln_perm *p);
kiln_perm kiln_perm_inverse(const kiln_perm *p);
/* v = transpose(transpose(u, first), second) */
kiln_perm kiln_perm_then(const kiln_perm *first, const kiln_perm *second);
/* Does making v, of that type, move no element, as only axes of length 1 change place?
 */
bool kiln_perm_is_view(const kiln_perm *p, const kiln_type *v);

/* Can n compute permuted results of permuted operands, when the value at `at` is (n's
 * input at, or its output at - n->n_in)? Fills in the permutation of each input and
 * output. An input of lower rank than its permutation is broadcast and has to get
 * leading axes of 1 before. */
bool kiln_permute_node(const kiln_node *n, int at, const kiln_perm *known,
                       kiln_perm *in, kiln_perm *out);
/* All attributes of n, as the node on permuted values has them: n->op->n_attr entries.
 * `in`, `out`: the permutations of input 0 and output 0, as above. */
kiln_attr_arg *kiln_permute_attrs(kiln_arena *a, const kiln_node *n,
                                  const kiln_perm *in, const kiln_perm *out);

#endif
