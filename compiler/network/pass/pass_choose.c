/* choose: each step that needs one gets its choice, layouts included, of whoever was
 * asked for. */
#include "compiler/network/executable_internal.h"

static const kiln_net_chooser *const choosers[] = {
#define KILN_NET_CHOOSER(name) &kiln_net_chooser_##name,
#include "compiler/network/net_choosers.def"
#undef KILN_NET_CHOOSER
};
enum { N_CHOOSERS = sizeof choosers / sizeof choosers[0] };

const kiln_net_chooser *kiln_net_chooser_at(int i) {
    return i >= 0 && i < N_CHOOSERS ? choosers[i] : NULL;
}

const kiln_net_chooser *kiln_net_chooser_find(kiln_str name) {
    for (int i = 0; i < N_CHOOSERS; i++)
        if (kiln_str_is(name, choosers[i]->name))
            return choosers[i];
    return NULL;
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    if (n->o != NULL && n->o->n_given > 0)
        return kiln_net_choose_given(n, err);
    const kiln_net_chooser *c =
        n->o != NULL && n->o->chooser != NULL ? n->o->chooser : kiln_net_chooser_at(0);
    return c->choose(n, err);
}

const kiln_net_pass kiln_net_pass_choose = {
    .name = "choose",
    .doc = "each call gets its template, configuration and layouts",
    .needs = KILN_NET_FUSED,
    .makes = KILN_NET_CHOSEN,
    .run = run,
};
