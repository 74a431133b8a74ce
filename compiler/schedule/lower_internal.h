/* Shared by the files that make loop nests of stages. */
#ifndef KILN_COMPILER_SCHEDULE_LOWER_INTERNAL_H
#define KILN_COMPILER_SCHEDULE_LOWER_INTERNAL_H

#include "compiler/schedule/schedule_internal.h"

typedef struct kiln_bound_input {
    const kiln_te *te;
    const kiln_buffer *buffer;
} kiln_bound_input;

/* One stage's nest in the making. */
typedef struct kiln_nest {
    kiln_lowering *lo;
    const kiln_lowered_stage *l;
    KILN_VEC(kiln_bound_input) inputs; /* the placeholders that are arguments */
    kiln_subst *map;                   /* the stage's axes in terms of loops */
    size_t n_map;
    const kiln_te *unbound; /* a placeholder that is read but no argument */
    /* The latest read within the expression, and what its indexes became: taps of one
     * axis read the others at the same places. */
    const kiln_te *read;
    const kiln_expr *at[KILN_MAX_AXES], *index[KILN_MAX_AXES];
} kiln_nest;

kiln_status kiln_nest_make(kiln_nest *n, const kiln_stmt **out, kiln_err *err);
/* An expression of the stage's body, over loops, with loads in place of reads. */
const kiln_expr *kiln_nest_value(kiln_nest *n, const kiln_expr *e);
/* The reduction that the stage computes; NULL when it is none. */
const kiln_reduction *kiln_te_reduction(const kiln_te *te);

#endif
