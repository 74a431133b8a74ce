/* Memory plan: a place in one arena for every intermediate value (MXNet's planning:
 * in place, sharing by liveness; Chen et al., arXiv 1512.01274, section 3.1).
 */
#ifndef KILN_COMPILER_GRAPH_GRAPH_MEMORY_H
#define KILN_COMPILER_GRAPH_GRAPH_MEMORY_H

#include "compiler/graph/graph_fusion.h"

/* ---- intervals: knows nothing of graphs ------------------------------------------ */

typedef struct kiln_lifetime {
    int64_t bytes;
    int first, last; /* steps, inclusive */
} kiln_lifetime;

typedef struct kiln_memory_plan {
    int64_t *offset;     /* of each lifetime; multiples of the alignment */
    int64_t peak;        /* bytes of the arena */
    int64_t lower_bound; /* the most that live at one step: no plan needs less */
} kiln_memory_plan;

/* Places every lifetime so that no two that live at one step overlap: largest first,
 * each at the smallest gap that takes it; and longest-lived first; then again with what
 * ended highest in front, for as long as that may help. The best of all.
 * align: a power of two. */
void kiln_plan_memory(kiln_arena *a, const kiln_lifetime *item, int n, int64_t align,
                      kiln_memory_plan *out);

/* ---- steps and slots ------------------------------------------------------------- */

/* A value in memory. */
typedef struct kiln_slot {
    int64_t bytes;
    bool is_fixed;       /* somebody else's memory: input, parameter, output */
    int view_of;         /* the slot whose bytes these are; -1: none */
    int64_t view_offset; /* where in them */
} kiln_slot;

/* What one step reads and writes. A slot is written by one step, or comes from outside;
 * in branches and loops also by several, in whole or in parts. What is only written
 * through its views is made of them. */
typedef struct kiln_flow_step {
    const int *read, *write;
    int n_read, n_write;
    /* Slots of `read` that write[0] may take the place of, because the step reads an
     * element only where it writes the same one. */
    const int *takeable;
    int n_takeable;
} kiln_flow_step;

/* Steps that run again, first and last included. Branches need no mention: steps of one
 * are steps that may not run. Loops nest. */
typedef struct kiln_flow_loop {
    int first, last;
} kiln_flow_loop;

typedef struct kiln_flow {
    const kiln_slot *slot;
    const kiln_flow_step *step;
    const kiln_flow_loop *loop;
    int n_slots, n_steps, n_loops;
} kiln_flow;

typedef struct kiln_flow_plan {
    int *root;       /* by slot: whose memory it has; itself, or another */
    int64_t *inside; /* by slot: bytes behind the beginning of its root */
    int64_t *offset; /* by slot: in the arena; -1: fixed, or never written */
    int64_t peak, lower_bound;
    int n_views, n_in_place;
} kiln_flow_plan;

/* Views live in their roots, results in place of an operand of equal size that is read
 * for the last time; the rest is placed. What a loop and the steps outside of it both
 * touch keeps its place through the whole loop. */
void kiln_plan_flow(kiln_arena *a, const kiln_flow *in, int64_t align,
                    kiln_flow_plan *out);

/* May the group's result take the place of v, which it reads? v's layout is the
 * result's. */
bool kiln_group_can_take(const kiln_group *group, const kiln_value *v);

#endif
