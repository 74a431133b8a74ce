/* greedy: each call by itself, in the order of the steps. It gets what is cheapest in
 * the layouts of its template's own rule (kiln_choose), where nobody knows anything that
 * rule; it takes its inputs as they were made, and what it makes follows. What a
 * conversion costs has no part in it. */
#include "compiler/network/executable_internal.h"

static kiln_status choose(kiln_net *n, kiln_err *err) {
    kiln_net_rehearsal r;
    KILN_TRY(kiln_net_rehearse(n, NULL, &r, err));
    for (size_t i = 0; i < n->step.n; i++)
        n->step.v[i].choice = r.choice[i];
    kiln_net_rehearsed(&r);
    return KILN_OK;
}

const kiln_net_chooser kiln_net_chooser_greedy = {
    .name = "greedy",
    .doc = "each call by itself, its inputs as they were made",
    .choose = choose,
};
