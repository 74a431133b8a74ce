/* A group as work. */
#include "compiler/network/network_work.h"

kiln_status kiln_op_work_of(kiln_arena *a, const char *name, kiln_graph *g,
                            kiln_op_work *out, kiln_err *err) {
    kiln_op_work w = {.name = name, .graph = g};
    KILN_TRY(kiln_workload_of(g, &w.workload, err));
    kiln_graph_cost(g, &w.cost);
    kiln_buf key;
    kiln_buf_init(&key, a);
    kiln_workload_key(&key, &w.workload, false);
    w.key = kiln_buf_str(&key);
    kiln_buf_init(&key, a);
    kiln_workload_key(&key, &w.workload, true);
    w.anchor = kiln_buf_str(&key);
    *out = w;
    return KILN_OK;
}
