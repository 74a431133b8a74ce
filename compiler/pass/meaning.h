/* What the pass driver uses of this folder: checking that a pass keeps the meaning of a
 * graph. The rows are declared in compiler/pass/pass.h. */
#ifndef KILN_COMPILER_PASS_MEANING_H
#define KILN_COMPILER_PASS_MEANING_H

#include "compiler/pass/pass.h"

/* A graph's outputs on seeded random inputs. */
typedef struct kiln_meaning {
    kiln_arena arena;
    kiln_tensor *out;
    size_t n_out;
    bool is_known; /* false: the graph cannot be run on these inputs (an index out of
                      range, say) */
} kiln_meaning;

void kiln_meaning_of(const kiln_graph *g, uint64_t seed, kiln_meaning *out);
kiln_status kiln_meaning_compare(const kiln_pass *p, const kiln_graph *g,
                                 const kiln_meaning *before, const kiln_meaning *after,
                                 kiln_err *err);
void kiln_meaning_fini(kiln_meaning *m); /* accepts a zeroed struct */

/* What folding may make of this model, its regions included (fold.c). */
void kiln_fold_budget_init(kiln_fold_budget *b, const kiln_graph *g);

#endif
