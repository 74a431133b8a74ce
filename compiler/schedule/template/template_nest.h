/* Loops for one stage by rule: which axis becomes vectors, which are tiled, where a
 * reduction keeps its accumulators. Inside compiler/schedule/template. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_TEMPLATE_NEST_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_TEMPLATE_NEST_H

#include "compiler/schedule/template/access.h"
#include "compiler/target/target.h"

/* What a configuration decides for all stages alike. 0: by rule, for each stage. */
typedef struct kiln_nest_choice {
    int vector;       /* which axis: 0 the cheapest, 1 the next, 2 none */
    int lanes;        /* elements of one vector */
    int vectors;      /* of a tile, along the vectorised axis */
    int rows;         /* of a tile, along the axis that shares most loads */
    int accumulators; /* vectors of partial results, where lanes meet in one element */
    int unroll;       /* iterations of the innermost reduction loop side by side */
    bool rows_inside; /* tiles along rows run inside those along vectors */
} kiln_nest_choice;

typedef struct kiln_nester {
    kiln_arena *arena;
    const kiln_profile *profile;
    kiln_nest_choice choice;
    kiln_err *err;
} kiln_nester;

/* The loops around a stage's tiles, outermost first: what may be fused and run in
 * parallel; stages that it reads may be computed inside the last one. */
typedef struct kiln_nest_outer {
    kiln_iter *loop[2 * KILN_MAX_AXES];
    int n;
} kiln_nest_outer;

/* How a stage is to be vectorised. */
typedef struct kiln_nest_plan {
    int axis; /* as kiln_accesses counts; -1: scalar code */
    int rows; /* axis of the tile's rows; -1: none */
    int lanes, n_vectors, n_rows;
    bool is_turned; /* tiles are squares that are turned in registers: rows of a vector,
                       not vectors of a row, come next to each other */
    uint64_t first; /* bit i: the loop of spatial axis i goes outermost */
} kiln_nest_plan;

/* `extent`: of the region that the stage computes at its place (NULL: all of it).
 * `allowed`: bit i for axis i that may become vectors. */
kiln_nest_plan kiln_nest_plan_of(const kiln_nester *n, const kiln_accesses *x,
                                 const int64_t *extent, uint64_t allowed);
/* Loops of a stage: splits, order, annotations; its accumulators become a stage of
 * their own inside. `x` is what it will compute (after inlining). */
kiln_status kiln_nest_apply(kiln_nester *n, kiln_stage *st, const kiln_accesses *x,
                            const int64_t *extent, const kiln_nest_plan *plan,
                            kiln_nest_outer *outer);
/* A reduction across rows of memory far apart, each row long: a tile would touch a
 * little of every row, which no prefetcher follows. True: kiln_nest_across goes through
 * a few whole rows at a time instead, with the results in the first cache. The stage
 * must be at root. */
bool kiln_nest_wants_across(const kiln_nester *n, const kiln_accesses *x,
                            const kiln_nest_plan *plan);
kiln_status kiln_nest_across(kiln_nester *n, kiln_stage *st, const kiln_accesses *x,
                             const kiln_nest_plan *plan, kiln_nest_outer *outer);
/* `st`, injective, in tiles, and the reduction that it reads computed tile by tile in
 * registers: axis i of the reduction is axis map[i] of st. */
kiln_status kiln_nest_fused(kiln_nester *n, kiln_stage *st, kiln_stage *reduction,
                            const kiln_accesses *x, const int *map,
                            const kiln_nest_plan *plan, kiln_nest_outer *outer);

/* ---- shared by template_nest.c and nest_plan.c ---- */

/* Of axis i: as the region has it. */
static inline int64_t kiln_nest_extent(const kiln_accesses *x, const int64_t *extent,
                                       int i) {
    return extent != NULL ? extent[i] : x->extent[i];
}
/* The largest power of two that is at most n and `most`; at least 1. */
static inline int kiln_power_below(int64_t n, int most) {
    int p = 1;
    while (p <= n / 2 && p <= most / 2)
        p *= 2;
    return p;
}
/* Vectors of a tile, at most. */
static inline int64_t kiln_nest_most_vectors(const kiln_nester *n) {
    return 2 * (int64_t)n->profile->vector_registers;
}
/* A transposition writes a few lines of a row before it goes on to other rows, and comes
 * back for what lies beside what it has read: so pages that it touches are touched again
 * soon on both sides. So many lines, and so many times that before it turns back. */
enum { KILN_LINES_OF_ROW = 4 };
static inline bool kiln_accesses_reduce(const kiln_accesses *x) {
    return x->n_axes > x->n_spatial;
}

#endif
