/* Work: what one kernel computes, with its keys and what it costs. */
#ifndef KILN_COMPILER_NETWORK_NETWORK_WORK_H
#define KILN_COMPILER_NETWORK_NETWORK_WORK_H

#include "compiler/schedule/template.h"

typedef struct kiln_op_work {
    const char *name;
    kiln_graph *graph;
    kiln_workload workload;
    kiln_cost cost; /* of the whole graph */
    kiln_str key;   /* kiln_workload_key, whole and of the anchor alone */
    kiln_str anchor;
} kiln_op_work;
/* Of a graph (typed, one group); graph and name are borrowed, the keys are in `a`. */
kiln_status kiln_op_work_of(kiln_arena *a, const char *name, kiln_graph *g,
                            kiln_op_work *out, kiln_err *err);

#endif
