/* Rehearsals: lay_out on a copy, to see what choices come to. Only the choices stay. */
#include "compiler/network/executable_internal.h"

kiln_status kiln_net_rehearse(kiln_net *n, const kiln_net_choice *const *given,
                              kiln_net_rehearsal *out, kiln_err *err) {
    kiln_net_rehearsal r = {.net = *n};
    r.choice = kiln_array(n->arena, const kiln_net_choice *, n->step.n);
    for (size_t i = 0; i < n->step.n && given != NULL; i++)
        r.choice[i] = given[i];
    r.net.arena = &r.arena;
    const kiln_status st = kiln_net_lay_out(&r.net, r.choice, n->arena, err);
    for (size_t i = 0; i < r.net.kernel.n; i++)
        kiln_net_made(&r.net.kernel.v[i]);
    r.net.arena = NULL; /* it is finished, and has moved */
    *out = r;
    if (st != KILN_OK)
        kiln_net_rehearsed(out);
    return st;
}

void kiln_net_rehearsed(kiln_net_rehearsal *r) { kiln_arena_fini(&r->arena); }
