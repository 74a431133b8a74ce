/* Tensors and steps: what passes add, and what is asked of them. */
#include "compiler/network/executable_internal.h"

const char *const kiln_net_fact_names[KILN_NET_N_FACTS] = {
    "fused",  "chosen",     "laid_out", "placed",
    "shared", "on_devices", "planned",  "compiled",
};

int kiln_net_add_slot(kiln_net *n, const kiln_net_slot *slot) {
    kiln_vec_push(n->arena, &n->slot, *slot);
    kiln_net_slot *added = &n->slot.v[n->slot.n - 1];
    if (added->path == NULL)
        added->path = n->walk != NULL ? n->walk->path : "";
    return (int)n->slot.n - 1;
}

int64_t kiln_net_bytes_as(const kiln_value *v, const kiln_layout *layout) {
    kiln_type t = v->type;
    t.layout = *layout;
    return kiln_type_bytes(&t);
}

kiln_type kiln_net_type_of(const kiln_net_slot *s) {
    kiln_type t = s->value->type;
    if (s->packing != NULL)
        (void)kiln_packed_type(s->packing, &s->value->type, &t, NULL);
    t.layout = s->layout;
    t.facts = s->facts;
    return t;
}

int kiln_net_root(const kiln_net *n, int slot) {
    while (n->slot.v[slot].view_of >= 0)
        slot = n->slot.v[slot].view_of;
    return slot;
}

bool kiln_net_is_param(const kiln_net *n, int slot) {
    const kiln_net_place place = n->slot.v[kiln_net_root(n, slot)].place;
    return place == KILN_NET_PARAM || place == KILN_NET_PACKED;
}

void kiln_net_add_copy(kiln_net *n, kiln_net_step_kind kind, int from, int to,
                       const char *name) {
    int *operand = kiln_array(n->arena, int, 2);
    operand[0] = from;
    operand[1] = to;
    const kiln_net_step step = {
        .kind = kind,
        .operand = operand,
        .n_operands = 2,
        .n_read = 1,
        .name = kiln_format(n->arena, "copy %s%s", n->walk != NULL ? n->walk->path : "",
                            name),
        .op = "copy"};
    kiln_vec_push(n->arena, &n->step, step);
}

void kiln_net_add_shared(kiln_net *n, kiln_net_step_kind kind,
                         const kiln_net_step *fused, const int *in) {
    const kiln_node *node = fused->group->node[0];
    int *operand = kiln_array(n->arena, int, node->n_in + node->n_out);
    kiln_net_step step = *fused;
    for (int k = 0; k < node->n_in; k++)
        operand[k] = in != NULL            ? in[k]
                     : node->in[k] != NULL ? n->walk->slot_of[node->in[k]->id]
                                           : -1;
    for (int k = 0; k < node->n_out; k++)
        operand[node->n_in + k] = n->walk->slot_of[node->out[k]->id];
    step.kind = kind;
    step.choice = NULL;
    step.operand = operand;
    step.n_read = node->n_in;
    step.n_operands = node->n_in + node->n_out;
    kiln_vec_push(n->arena, &n->step, step);
}

void kiln_net_loops(const kiln_net *n, kiln_flow *out) {
    kiln_flow_loop *loop = kiln_array(n->arena, kiln_flow_loop, n->step.n);
    out->n_loops = 0;
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *begin = &n->step.v[n->step.v[i].partner];
        if (n->step.v[i].kind == KILN_NET_END && begin->kind == KILN_NET_LOOP)
            loop[out->n_loops++] = (kiln_flow_loop){n->step.v[i].partner, (int)i};
    }
    out->loop = loop;
}
