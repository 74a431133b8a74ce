/* A graph as a target takes it: what has a loop for a processor alone becomes steps. */
#include "pipeline/network/network_internal.h"

#include "compiler/pass/pass.h"

/* Launches follow one another in a millionth of a second or two, in a CUDA graph; a loop
 * of the host's, with copies to and fro, takes longer than this many of them. Threads that
 * are loops of a processor gain nothing. */
enum { MOST_STEPS = 256 };

static bool has_loops(const kiln_graph *g) {
    for (size_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.v[i]->op == &kiln_op_lstm)
            return true;
    return false;
}

kiln_status kiln_network_graph_for(kiln_arena *a, const kiln_graph *g,
                                   const kiln_profile *p, const kiln_graph **out,
                                   kiln_err *err) {
    static const char *const passes[] = {"expand_recurrent", "merge_common",
                                         "eliminate_dead"};
    const kiln_pass_options o = {.recurrent_steps = MOST_STEPS};
    const kiln_profile *gpu = p->device != NULL ? p->device : p;
    *out = g;
    if (!kiln_profile_is_gpu(gpu) || gpu->gpu.warp <= 1 || !has_loops(g))
        return KILN_OK;
    kiln_graph *own = kiln_graph_clone(a, g);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
        KILN_TRY(kiln_pass_run(kiln_pass_find(kiln_str_from(passes[i])), own, &o, err));
    kiln_graph_renumber(own);
    *out = own;
    return KILN_OK;
}
