/* plan: each tensor gets its bytes. Constants lie one behind the other; what lies
 * between steps shares one arena, by lifetimes (compiler/graph/memory.h). */
#include "compiler/network/executable_internal.h"

static void plan_constants(kiln_net *n) {
    for (size_t i = 0; i < n->slot.n; i++) {
        kiln_net_slot *s = &n->slot.v[i];
        if (s->view_of >= 0 ||
            (s->place != KILN_NET_PARAM && s->place != KILN_NET_PACKED))
            continue;
        uint64_t *end = s->place == KILN_NET_PARAM ? &n->param_bytes : &n->packed_bytes;
        s->offset = *end;
        *end += ((uint64_t)s->bytes + KILN_NETWORK_ALIGN - 1) / KILN_NETWORK_ALIGN *
                KILN_NETWORK_ALIGN;
    }
}

static const kiln_slot *slots_of(const kiln_net *n) {
    kiln_slot *slot = kiln_array(n->arena, kiln_slot, n->slot.n);
    for (size_t i = 0; i < n->slot.n; i++)
        slot[i] = (kiln_slot){.bytes = n->slot.v[i].bytes,
                              .is_fixed = n->slot.v[i].place != KILN_NET_ARENA,
                              .view_of = n->slot.v[i].view_of,
                              .view_offset = n->slot.v[i].view_offset};
    return slot;
}

static const kiln_flow_step *steps_of(const kiln_net *n) {
    kiln_flow_step *step = kiln_array(n->arena, kiln_flow_step, n->step.n);
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *s = &n->step.v[i];
        step[i] =
            (kiln_flow_step){.read = s->operand,
                             .write = s->n_operands > 0 ? s->operand + s->n_read
                                                        : NULL, /* the end of a block */
                             .n_read = s->n_read,
                             .n_write = s->n_operands - s->n_read,
                             .takeable = s->takeable,
                             .n_takeable = s->n_takeable};
    }
    return step;
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    kiln_flow flow = {.slot = slots_of(n),
                      .step = steps_of(n),
                      .n_slots = (int)n->slot.n,
                      .n_steps = (int)n->step.n};
    kiln_flow_plan m;
    plan_constants(n);
    kiln_net_loops(n, &flow);
    kiln_plan_flow(n->arena, &flow, KILN_NETWORK_ALIGN, &m);
    for (size_t i = 0; i < n->slot.n; i++) {
        kiln_net_slot *s = &n->slot.v[i];
        const kiln_net_slot *root = &n->slot.v[m.root[i]];
        if (s->place != KILN_NET_ARENA)
            continue;
        s->place = root->place; /* a view of an input, a parameter, an output */
        s->index = root->index;
        s->offset = root->place == KILN_NET_ARENA && m.offset[i] >= 0
                        ? (uint64_t)m.offset[i]
                        : root->offset + (uint64_t)m.inside[i];
    }
    n->arena_bytes = m.peak;
    n->lower_bound = m.lower_bound;
    n->n_views = m.n_views;
    n->n_in_place = m.n_in_place;
    return kiln_interrupt_check(err);
}

const kiln_net_pass kiln_net_pass_plan = {
    .name = "plan",
    .doc = "tensors get their bytes of parameters and of the arena",
    .needs = KILN_NET_PLACED | KILN_NET_SHARED,
    .makes = KILN_NET_PLANNED,
    .run = run,
};
