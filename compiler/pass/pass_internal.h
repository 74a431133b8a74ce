/* Shared by the passes: forwarding of replaced values, folding a node, splicing a
 * region, checking. */
#ifndef KILN_COMPILER_PASS_PASS_INTERNAL_H
#define KILN_COMPILER_PASS_PASS_INTERNAL_H

#include "compiler/pass/meaning.h"

/* ---- rewriting in one sweep (pass_rewrite.c) ----
 *
 *     kiln_sweep s;
 *     for (kiln_sweep_begin(&s, g, cx); (n = kiln_sweep_next(&s)) != NULL;)
 *         ...
 *     kiln_sweep_end(&s);
 *
 * Nodes made inside the loop come before n. Then n is kept (kiln_sweep_keep), or its
 * outputs are replaced and it is dropped (kiln_sweep_replace, kiln_sweep_drop). Each
 * node is seen once, in topological order, with the inputs that earlier replacements
 * gave it, so any number of replacements costs one walk over the graph. */
typedef struct kiln_sweep {
    kiln_graph *g;
    kiln_pass_cx *cx;
    kiln_node **old; /* the nodes as they were */
    size_t n_old, at;
    KILN_VEC(kiln_value *) to; /* by value id: what replaces it; NULL: itself */
    /* By value id: uses by nodes not dropped and by graph outputs. */
    KILN_VEC(int) uses;
    KILN_VEC(bool)
    is_dead; /* by id of a node's first output: what it used is not used
                               by it any more */
} kiln_sweep;

void kiln_sweep_begin(kiln_sweep *s, kiln_graph *g, kiln_pass_cx *cx);
kiln_node *kiln_sweep_next(kiln_sweep *s); /* NULL at the end */
void kiln_sweep_keep(kiln_sweep *s, kiln_node *n);
/* Uses of `from` after this node become uses of `to`, which is made before it. */
void kiln_sweep_replace(kiln_sweep *s, const kiln_value *from, kiln_value *to);
/* n is neither kept nor used: what it used is used once less. */
void kiln_sweep_drop(kiln_sweep *s, const kiln_node *n);
int kiln_sweep_uses(const kiln_sweep *s, const kiln_value *v);
/* Gives a node that is not from s->old the inputs that replacements made, or counts
 * what it uses. */
void kiln_sweep_resolve(const kiln_sweep *s, kiln_node *n);
void kiln_sweep_count(kiln_sweep *s, const kiln_node *n);
/* Input k of a kept node becomes v; k == n->n_in appends one. */
void kiln_sweep_set_in(kiln_sweep *s, kiln_node *n, int k, kiln_value *v);
/* Input k of a kept node is gone; those behind it move up. */
void kiln_sweep_remove_in(kiln_sweep *s, kiln_node *n, int k);
/* Appends a node before the one at hand; `like` gives its name and that of its output.
 */
kiln_status kiln_sweep_add(kiln_sweep *s, const kiln_op_def *op, const kiln_node *like,
                           kiln_value *const *in, int n_in, const kiln_attr_arg *args,
                           size_t n_args, kiln_value **out);
void kiln_sweep_end(kiln_sweep *s);
/* A whole sweep by one rule: *same, where it is set, takes the place of n's first
 * output, and n goes; else n stays. */
typedef kiln_status kiln_sweep_rule(kiln_sweep *s, kiln_node *n, kiln_value **same);
kiln_status kiln_sweep_by(kiln_graph *g, kiln_pass_cx *cx, kiln_sweep_rule *rule);

/* Is v a constant that is one finite number of a float dtype, whatever its rank? */
bool kiln_pass_number(const kiln_value *v, double *out);

/* ---- folding (fold.c) ---- */

/* Are all inputs constants (or read for their types only)? */
bool kiln_fold_is_ready(const kiln_node *n);
/* Makes the outputs of a ready node constants, in place: they keep id and name, and the
 * node is no longer theirs. *done is false where the limits say no, or where the node
 * fails on these constants: it stays, and fails when it is run, if it ever is. */
void kiln_fold_node(kiln_graph *g, const kiln_node *n, kiln_fold_budget *budget,
                    bool *done);

/* ---- regions (splice.c, capture.c) ---- */

/* A copy of a region's values and nodes becomes part of s->g, its inputs replaced by
 * `in`; out receives the values that stand for its outputs. *nodes lists the copies in
 * order, for the caller to keep or to rewrite. */
void kiln_splice_region(kiln_sweep *s, const kiln_graph *region, kiln_value *const *in,
                        kiln_value **out, kiln_node ***nodes, size_t *n_nodes);
/* Constants that the region in attribute `attr` captures become constants of the
 * region. Were there any? */
bool kiln_capture_constants(kiln_sweep *s, kiln_node *n, size_t attr);

#endif
