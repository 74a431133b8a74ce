/* place: what leaves the network is made in the caller's memory. */
#include "base/fault.h"
#include "compiler/network/executable_internal.h"

/* As a whole or in parts. */
static bool is_written_by_step(const kiln_net *n, int root) {
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *s = &n->step.v[i];
        if (s->kind == KILN_NET_VIEW || s->kind == KILN_NET_JOIN)
            continue;
        for (int k = s->n_read; k < s->n_operands; k++)
            if (kiln_net_root(n, s->operand[k]) == root)
                return true;
    }
    return false;
}

/* The caller's memory receives the value: directly where kernels make it, or what it is
 * a view of from end to end; else by a copy. */
static void place_output(kiln_net *n, uint32_t index) {
    kiln_net_port *port = &n->port.v[n->n_inputs + index];
    const int slot = port->slot, at = kiln_net_root(n, slot);
    const kiln_net_slot *s = &n->slot.v[slot];
    kiln_net_slot *root = &n->slot.v[at];
    if (root->place == KILN_NET_ARENA && root->bytes == s->bytes &&
        is_written_by_step(n, at)) {
        root->place = KILN_NET_OUTPUT;
        root->index = index;
        return;
    }
    const kiln_net_slot own = {.place = KILN_NET_OUTPUT,
                               .index = index,
                               .bytes = s->bytes,
                               .view_of = -1,
                               .value = port->value};
    port->slot = kiln_net_add_slot(n, &own);
    if (!KILN_FAULT(output_copy))
        kiln_net_add_copy(n, KILN_NET_COPY, slot, port->slot, port->name);
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    for (uint32_t i = 0; i < n->n_outputs; i++)
        place_output(n, i);
    return kiln_interrupt_check(err);
}

const kiln_net_pass kiln_net_pass_place = {
    .name = "place",
    .doc = "what leaves the network is made in the caller's memory",
    .needs = KILN_NET_LAID_OUT,
    .makes = KILN_NET_PLACED,
    .run = run,
};
