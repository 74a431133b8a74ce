/* Memory plan: a place in one arena for every intermediate value (MXNet's planning:
 * in place, sharing by liveness; Chen et al., arXiv 1512.01274, section 3.1).
 *
 * Steps are the groups of a fusion, in order. A value lives from the step that makes it
 * to the last that reads it; outputs of the graph live in the caller's memory and have
 * no place here, nor have inputs and constants.
 */
#ifndef KILN_COMPILER_GRAPH_MEMORY_H
#define KILN_COMPILER_GRAPH_MEMORY_H

#include "compiler/graph/fusion.h"

/* ---- intervals: knows nothing of graphs --------------------------------------------
 */

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
 * each at the smallest gap that takes it; and longest-lived first; the better of both.
 * align: a power of two. */
void kiln_plan_memory(kiln_arena *a, const kiln_lifetime *item, int n, int64_t align,
                      kiln_memory_plan *out);

/* ---- graphs -------------------------------------------------------------------------
 */

typedef enum kiln_storage_kind {
    KILN_STORAGE_NONE,   /* never in memory: inside a kernel, or not used */
    KILN_STORAGE_INPUT,  /* the caller's */
    KILN_STORAGE_CONST,  /* parameters */
    KILN_STORAGE_OUTPUT, /* the caller's */
    KILN_STORAGE_ARENA
} kiln_storage_kind;

typedef struct kiln_storage {
    kiln_storage_kind kind;
    /* A view, or made in place of: the value whose storage this is; itself otherwise.
     */
    const kiln_value *root;
    int64_t offset; /* ARENA: of the root */
} kiln_storage;

typedef struct kiln_value_plan {
    kiln_storage *storage; /* by value id */
    int64_t peak, lower_bound;
    int n_views, n_in_place;
} kiln_value_plan;

/* `layout` (by value id; NULL: as typed) is what was chosen for each value; only values
 * of one layout take each other's place. */
void kiln_graph_plan_memory(kiln_arena *a, const kiln_graph *g, const kiln_fusion *f,
                            const kiln_layout *layout, int64_t align,
                            kiln_value_plan *out);

#endif
