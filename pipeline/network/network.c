/* An executable graph as a network: compiled and written. */
#include "pipeline/network/network_internal.h"

/* What comes out must pass the check of whoever runs it. */
static kiln_status check_plan(const kiln_network *n, kiln_err *err) {
    kiln_plan plan;
    char text[KILN_PLAN_ERROR];
    return kiln_plan_check(n->plan.p, n->plan.n, &plan, text) == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_LIMIT, "%s", text);
}

kiln_status kiln_network_compile_by(kiln_arena *a, const kiln_graph *g,
                                    const kiln_profile *p,
                                    const kiln_network_options *o, kiln_packer *packer,
                                    kiln_network *out, kiln_err *err) {
    kiln_net *n = kiln_new(a, kiln_net);
    *out = (kiln_network){.name = g->name, .profile = p, .net = n};
    KILN_TRY(kiln_network_graph_for(a, g, p, &g, err));
    KILN_TRY(kiln_compile(a, g, p, o, n, err));
    kiln_status st = kiln_network_write(a, packer, out, err);
    if (st == KILN_OK)
        st = check_plan(out, err);
    if (st != KILN_OK)
        kiln_note(err, "compiling '%s' for profile '%s'", g->name, p->name);
    return st;
}

kiln_status kiln_network_compile(kiln_arena *a, const kiln_graph *g,
                                 const kiln_profile *p, const kiln_network_options *o,
                                 kiln_network *out, kiln_err *err) {
    kiln_arena own = {0};
    kiln_packer *packer = kiln_packer_new(&own, NULL);
    const kiln_status st = kiln_network_compile_by(a, g, p, o, packer, out, err);
    kiln_arena_fini(&own);
    return st;
}

kiln_status kiln_network_place(kiln_arena *a, const kiln_network *n,
                               const kiln_placement *o, kiln_network *out,
                               kiln_err *err) {
    kiln_net *net = kiln_new(a, kiln_net);
    *out = (kiln_network){.name = n->name, .profile = n->profile, .net = net};
    KILN_TRY(kiln_net_on_devices(a, n->net, o, net, err));
    kiln_arena own = {0};
    kiln_status st = kiln_network_write(a, kiln_packer_new(&own, NULL), out, err);
    kiln_arena_fini(&own);
    return st == KILN_OK ? check_plan(out, err) : st;
}
