/* Passes: rewriting a graph. The pipeline is one readable list of rows (passes.def). */
#ifndef KILN_COMPILER_PASS_PASS_H
#define KILN_COMPILER_PASS_PASS_H

#include "compiler/graph/graph.h"

/* What folding may still cost, for all passes and all regions of one model together. */
typedef struct kiln_fold_budget {
    int64_t const_bytes; /* of the constants that the model came with */
    int64_t made_bytes;  /* of the constants that may still be made */
    int64_t work;        /* operations, elements read and written counted too */
} kiln_fold_budget;

typedef struct kiln_pass_cx {
    kiln_arena *scratch; /* reset after each pass */
    kiln_err *err;
    kiln_fold_budget *budget; /* of the run */
    int64_t steps;            /* kiln_pass_options.recurrent_steps, at least 1 */
    bool changed;             /* set by a pass that rewrote anything */
} kiln_pass_cx;

typedef struct kiln_pass {
    const char *name; /* --print-after=NAME, log tag, folder in golden/ */
    const char *doc;
    unsigned needs, makes, keeps;
    bool is_exact; /* outputs keep their bits; else they may move as far as pass_check.c
                      says */
    /* Rewrites one graph; the driver runs it on the regions inside first. Never changes
     * the number or types of inputs and outputs. After a failure the graph is of no
     * further use. */
    kiln_status (*run)(kiln_graph *g, kiln_pass_cx *cx);
} kiln_pass;

#define KILN_PASS(name) extern const kiln_pass kiln_pass_##name;
#include "compiler/pass/passes.def"
#undef KILN_PASS

const kiln_pass *kiln_pass_at(int i); /* in order of passes.def; NULL past the end */
const kiln_pass *kiln_pass_find(kiln_str name);

typedef struct kiln_pass_options {
    const char *print_after; /* pass name, or "all"; NULL: none */
    /* Receives the text of print_after (cli/ prints it). */
    void (*print)(void *user, const char *pass_name, const kiln_graph *g);
    void *user;
    bool check; /* --check-passes: reference before and after on a random input */
    uint64_t check_seed;
    /* Recurrent cells of so many steps at most become as many steps; 0 counts as 1. */
    int64_t recurrent_steps;
    bool verify; /* kiln_graph_verify after each pass; always on in debug builds */
} kiln_pass_options;

/* Runs passes in the order of passes.def; the driver checks needs, drops every fact
 * that is not in keeps when the graph changed, adds makes. A failure names the pass. */
kiln_status kiln_graph_optimize(kiln_graph *g, const kiln_pass_options *o,
                                kiln_err *err);
/* Runs one pass by itself, with the same checks. `o` may be NULL in both. */
kiln_status kiln_pass_run(const kiln_pass *p, kiln_graph *g, const kiln_pass_options *o,
                          kiln_err *err);

#endif
