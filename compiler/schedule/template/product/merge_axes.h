/* Adjacent axes of an anchor's output as one: pixels of an image, rows of a batch. A
 * workload that treats them alike is the same work with fewer axes; its arguments keep
 * their bytes. */
#ifndef KILN_COMPILER_SCHEDULE_TEMPLATE_PRODUCT_MERGE_AXES_H
#define KILN_COMPILER_SCHEDULE_TEMPLATE_PRODUCT_MERGE_AXES_H

#include "compiler/schedule/template.h"

typedef struct kiln_merge {
    const kiln_workload *w;
    int first, n;           /* axes of the anchor's output */
    const kiln_value *kept; /* an operand of the anchor that has none of them */
} kiln_merge;

/* Does every operand, aligned with the output at its last axis, have all of the axes as
 * they are or none of them (1, or absent)? The anchor's inputs but for `kept` must be
 * so too, and only the anchor may read `kept` and inputs behind its second. */
bool kiln_merges(const kiln_merge *c);
/* A copy of the graph, values with the same ids, in which the axes are one. Types of
 * values are set; attributes that count axes are the caller's, then
 * kiln_merge_check. */
kiln_graph *kiln_merge_graph(kiln_arena *a, const kiln_merge *c);
/* Infers everything again: KILN_ERR_SHAPE where it does not agree. */
kiln_status kiln_merge_check(kiln_graph *g, kiln_err *err);
/* Arguments as the workload knows them: its values, in its shapes. */
void kiln_merge_restore(const kiln_merge *c, kiln_te_graph *te);

#endif
