/* plan: each tensor gets its bytes. Constants lie one behind the other; what lies
 * between steps shares one arena of each device, by lifetimes
 * (compiler/graph/graph_memory.h). Then all that queues share is known, and so is where they
 * wait for one another. */
#include "compiler/network/executable_internal.h"
#include "compiler/network/network_place.h"

static void plan_constants(kiln_net *n) {
    n->param_bytes = n->packed_bytes = 0;
    for (size_t d = 0; d < n->device.n; d++)
        n->device.v[d].packed_bytes = 0;
    for (size_t i = 0; i < n->slot.n; i++) {
        kiln_net_slot *s = &n->slot.v[i];
        if (s->view_of >= 0 ||
            (s->place != KILN_NET_PARAM && s->place != KILN_NET_PACKED))
            continue;
        uint64_t *end = s->place == KILN_NET_PARAM
                            ? &n->param_bytes
                            : &n->device.v[s->device].packed_bytes;
        s->offset = *end;
        *end += ((uint64_t)s->bytes + KILN_NETWORK_ALIGN - 1) / KILN_NETWORK_ALIGN *
                KILN_NETWORK_ALIGN;
    }
    for (size_t d = 0; d < n->device.n; d++)
        n->packed_bytes += n->device.v[d].packed_bytes;
}

static int device_of(const kiln_net *n, size_t slot) {
    return n->slot.v[kiln_net_root(n, (int)slot)].device;
}

/* To the others a device's slots are somebody else's. */
static const kiln_slot *slots_of(const kiln_net *n, int device) {
    kiln_slot *slot = kiln_array(n->arena, kiln_slot, n->slot.n);
    for (size_t i = 0; i < n->slot.n; i++)
        slot[i] = (kiln_slot){.bytes = n->slot.v[i].bytes,
                              .is_fixed = n->slot.v[i].place != KILN_NET_ARENA ||
                                          device_of(n, i) != device,
                              .view_of = n->slot.v[i].view_of,
                              .view_offset = n->slot.v[i].view_offset};
    return slot;
}

static const kiln_flow_step *steps_of(const kiln_net *n) {
    kiln_flow_step *step = kiln_array(n->arena, kiln_flow_step, n->step.n);
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *s = &n->step.v[i];
        KILN_ASSERT(s->n_read >= 0 && s->n_read <= s->n_operands,
                    "step %zu reads %d of %d operands", i, s->n_read, s->n_operands);
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

/* Each device's memory by itself. */
static void plan_device(kiln_net *n, int device, kiln_flow *flow, kiln_flow_plan *m) {
    flow->slot = slots_of(n, device);
    kiln_plan_flow(n->arena, flow, KILN_NETWORK_ALIGN, m);
    n->device.v[device].arena_bytes = m->peak;
    n->device.v[device].lower_bound = m->lower_bound;
    n->arena_bytes += m->peak;
    n->lower_bound += m->lower_bound;
    n->n_views = m->n_views;
    n->n_in_place += m->n_in_place;
}

static void plan_arenas(kiln_net *n) {
    kiln_flow flow = {
        .step = steps_of(n), .n_slots = (int)n->slot.n, .n_steps = (int)n->step.n};
    kiln_flow_plan m[KILN_NET_MAX_DEVICES];
    kiln_net_loops(n, &flow);
    n->arena_bytes = n->lower_bound = 0;
    n->n_in_place = 0;
    for (size_t d = 0; d < n->device.n; d++)
        plan_device(n, (int)d, &flow, &m[d]);
    for (size_t i = 0; i < n->slot.n; i++) {
        kiln_net_slot *s = &n->slot.v[i];
        const int device = device_of(n, i);
        const kiln_flow_plan *of = &m[device];
        const kiln_net_slot *root = &n->slot.v[of->root[i]];
        if (s->place != KILN_NET_ARENA)
            continue;
        s->place = root->place; /* a view of an input, a parameter, an output */
        s->index = root->index;
        s->device = device;
        s->offset = root->place == KILN_NET_ARENA && of->offset[i] >= 0
                        ? (uint64_t)of->offset[i]
                        : root->offset + (uint64_t)of->inside[i];
    }
}

static kiln_status run(kiln_net *n, kiln_err *err) {
    KILN_ASSERT(n->device.n >= 1 && n->device.n <= KILN_NET_MAX_DEVICES,
                "'%s' runs on %zu devices", n->g->name, n->device.n);
    plan_constants(n);
    plan_arenas(n);
    kiln_net_add_waits(n);
    return kiln_interrupt_check(err);
}

const kiln_net_pass kiln_net_pass_plan = {
    .name = "plan",
    .doc =
        "tensors get their bytes of parameters and arenas, queues wait for one another",
    .needs = KILN_NET_PLACED | KILN_NET_SHARED | KILN_NET_ON_DEVICES,
    .makes = KILN_NET_PLANNED,
    .run = run,
};
