/* Shared inside pipeline/reduce. */
#ifndef KILN_PIPELINE_REDUCE_INTERNAL_H
#define KILN_PIPELINE_REDUCE_INTERNAL_H

#include "pipeline/reduce/reduce.h"

enum {
    KILN_REDUCE_SEEDS = 32,    /* of random constants: 1 to this */
    KILN_REDUCE_FEW_ELEMS = 4, /* constants of so many are read better than a seed */
};

/* ---- edits (edit.c) -------------------------------------------------------------- */

/* What becomes of a value in the candidate. */
typedef struct kiln_edit_value {
    enum { KILN_EDIT_KEEP, KILN_EDIT_INPUT, KILN_EDIT_CONST, KILN_EDIT_OTHER } fate;
    const kiln_value *other; /* OTHER: this one is used in its place */
    kiln_type type;          /* of an input or a constant: as it is to be */
    uint64_t seed;           /* of a constant: its elements are random(seed); 0: kept */
    const void *data;        /* of a constant: these elements; NULL: its own */
} kiln_edit_value;

/* A candidate in terms of the graph that it is made of. Whatever the outputs do not
 * depend on is not built. */
typedef struct kiln_edit {
    kiln_arena *arena; /* the candidate's */
    const kiln_graph *g;
    kiln_edit_value *value; /* by id */
    kiln_attr **attr;       /* by node, n_attr each; NULL: its own */
    KILN_VEC(const kiln_value *) out;
    KILN_VEC(const char *) out_name;
} kiln_edit;

/* Changes nothing yet. */
void kiln_edit_init(kiln_edit *e, kiln_arena *a, const kiln_graph *g);
/* The node's attributes, to be written to. */
kiln_attr *kiln_edit_attr(kiln_edit *e, const kiln_node *n);
/* The candidate, its types inferred again; NULL where they cannot be. */
kiln_graph *kiln_edit_apply(const kiln_edit *e);
/* A constant's elements, or those of its front corner in a smaller shape. */
const void *kiln_edit_crop(kiln_arena *a, const kiln_value *v, const kiln_type *to);

/* ---- moves ----------------------------------------------------------------------- */

/* Edits of one kind, numbered: false past the last one, KILN_EDIT_VOID never asked. */
typedef enum kiln_move_answer {
    KILN_MOVE_END,
    KILN_MOVE_NOTHING, /* there is none of this number */
    KILN_MOVE_EDIT
} kiln_move_answer;
typedef struct kiln_move {
    const char *name;
    kiln_move_answer (*make)(kiln_edit *e, size_t i);
} kiln_move;

/* In the order in which they are tried; the last one is NULL. */
extern const kiln_move *const kiln_moves[];
/* moves.c: nodes, outputs, inputs */
extern const kiln_move kiln_move_regions, kiln_move_outputs, kiln_move_chunks,
    kiln_move_constants, kiln_move_bypass, kiln_move_merge;
/* shapes.c */
extern const kiln_move kiln_move_shapes, kiln_move_axes, kiln_move_attributes,
    kiln_move_values;

/* ---- asking (reduce_ask.c) ------------------------------------------------------- */

typedef struct kiln_asker {
    kiln_arena *arena;
    const kiln_reduce_options *o;
    const char *program, *dir;
    const char *kind; /* what a failure's stderr must hold; NULL: not known yet */
    int signal;       /* that ends it; 0: none */
    const char *message;
    kiln_map known; /* texts that were asked for */
    int n_asked;
    int64_t begin_ns;
} kiln_asker;

kiln_status kiln_asker_init(kiln_asker *q, kiln_arena *a, const kiln_reduce_options *o,
                            kiln_err *err);
bool kiln_asker_is_over(const kiln_asker *q);
/* Does the build of this text fail in the way of the first failure (which this one is,
 * where there was none)? False for one that was asked before. */
kiln_status kiln_ask(kiln_asker *q, kiln_str text, bool *fails, kiln_err *err);
/* The graph after the passes, by a process of its own; NULL where that fails. */
kiln_status kiln_ask_passes(kiln_asker *q, kiln_arena *a, kiln_str text,
                            kiln_graph **out, kiln_err *err);

#endif
