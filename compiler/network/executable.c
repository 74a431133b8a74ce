/* The whole graph: ports, groups, places. */
#include "compiler/network/executable_internal.h"
#include "base/fault.h"
#include "compiler/network/place.h"

static int add_input(kiln_net *n, uint32_t index) {
    const kiln_value *v = n->g->inputs.v[index];
    const kiln_net_slot slot = {.place = KILN_NET_INPUT,
                                .index = index,
                                .bytes = kiln_type_bytes(&v->type),
                                .view_of = -1,
                                .value = v};
    const kiln_net_port port = {v->name, v, kiln_net_add_slot(n, &slot)};
    kiln_vec_push(n->arena, &n->port, port);
    n->n_inputs++;
    return port.slot;
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

/* As a whole or in parts. */
static bool is_written_by_step(const kiln_net *n, int root) {
    for (size_t i = 0; i < n->step.n; i++)
        for (int k = n->step.v[i].n_read; k < n->step.v[i].n_operands; k++)
            if (kiln_net_root(n, n->step.v[i].operand[k]) == root)
                return true;
    return false;
}

/* The caller's memory receives the value: directly where kernels make it, or what it is
 * a view of from end to end; else by a copy. */
static void add_output(kiln_net *n, uint32_t index, int slot) {
    const kiln_value *v = n->g->outputs.v[index];
    const int at = kiln_net_root(n, slot);
    const kiln_net_slot *s = &n->slot.v[slot];
    kiln_net_slot *root = &n->slot.v[at];
    kiln_net_port port = {n->g->output_names.v[index], v, slot};
    if (root->place == KILN_NET_ARENA && root->bytes == s->bytes &&
        is_written_by_step(n, at)) {
        root->place = KILN_NET_OUTPUT;
        root->index = index;
    } else {
        const kiln_net_slot own = {.place = KILN_NET_OUTPUT,
                                   .index = index,
                                   .bytes = s->bytes,
                                   .view_of = -1,
                                   .value = v};
        port.slot = kiln_net_add_slot(n, &own);
        if (!KILN_FAULT(output_copy))
            kiln_net_add_copy(n, KILN_NET_COPY, slot, port.slot, port.name);
    }
    kiln_vec_push(n->arena, &n->port, port);
    n->n_outputs++;
}

/* Each device's memory by itself: to the others its slots are somebody else's. */
static void plan_device(kiln_net *n, int device, kiln_flow *flow, kiln_flow_plan *m) {
    kiln_slot *slot = kiln_array(n->arena, kiln_slot, n->slot.n);
    for (size_t i = 0; i < n->slot.n; i++) {
        const kiln_net_slot *root = &n->slot.v[kiln_net_root(n, (int)i)];
        slot[i] = (kiln_slot){.bytes = n->slot.v[i].bytes,
                              .is_fixed = n->slot.v[i].place != KILN_NET_ARENA ||
                                          root->device != device,
                              .view_of = n->slot.v[i].view_of,
                              .view_offset = n->slot.v[i].view_offset};
    }
    flow->slot = slot;
    kiln_plan_flow(n->arena, flow, KILN_NETWORK_ALIGN, m);
    n->device.v[device].arena_bytes = m->peak;
    n->device.v[device].lower_bound = m->lower_bound;
    n->arena_bytes += m->peak;
    n->lower_bound += m->lower_bound;
    n->n_views = m->n_views;
    n->n_in_place += m->n_in_place;
}

static void plan_memory(kiln_net *n) {
    kiln_flow_step *step = kiln_array(n->arena, kiln_flow_step, n->step.n);
    kiln_flow_plan m[KILN_NET_MAX_DEVICES];
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
    kiln_flow flow = {
        .step = step, .n_slots = (int)n->slot.n, .n_steps = (int)n->step.n};
    kiln_net_loops(n, &flow);
    for (size_t d = 0; d < n->device.n; d++)
        plan_device(n, (int)d, &flow, &m[d]);
    for (size_t i = 0; i < n->slot.n; i++) {
        kiln_net_slot *s = &n->slot.v[i];
        const int device = n->slot.v[kiln_net_root(n, (int)i)].device;
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

kiln_status kiln_net_add_graph(kiln_net *n, const kiln_graph *g, const char *path,
                               const int *in, const kiln_layout *layout, int *out,
                               kiln_err *err) {
    const kiln_layout plain = {.n_order = 0};
    const kiln_net around = *n;
    kiln_fusion *fusion = kiln_new(n->arena, kiln_fusion);
    kiln_status st = KILN_OK;
    kiln_network_fuse(n->arena, g, n->o != NULL && n->o->no_fusion, fusion);
    n->g = g;
    n->path = path;
    n->slot_of = kiln_array(n->arena, int, g->values.n);
    for (size_t i = 0; i < g->values.n; i++)
        n->slot_of[i] = -1;
    for (size_t i = 0; i < g->inputs.n; i++)
        n->slot_of[g->inputs.v[i]->id] = in[i];
    for (int i = 0; i < fusion->n && st == KILN_OK; i++) {
        if (around.g == g) /* regions are a part of one of its steps */
            kiln_progress_step("compiling", "groups", i, fusion->n,
                               fusion->group[i].node[0]->name);
        st = kiln_net_add_group(n, &fusion->group[i], err);
    }
    for (size_t i = 0; i < g->outputs.n && st == KILN_OK; i++) {
        const kiln_value *v = g->outputs.v[i];
        out[i] = n->slot_of[v->id];
        if (layout != NULL || out[i] < 0)
            st = kiln_net_slot_as(n, v, layout != NULL ? &layout[i] : &plain, &out[i],
                                  err);
    }
    n->g = around.g;
    n->path = around.path;
    n->slot_of = around.slot_of;
    return st;
}

/* Devices, places in memory, waits. */
static kiln_status finish(kiln_net *n, const kiln_placement *o, kiln_err *err) {
    KILN_TRY(kiln_net_place_steps(n, o, err));
    plan_memory(n);
    kiln_net_add_waits(n);
    return kiln_net_check(n, err);
}

#define COPY_OF(a, vec)                                                                \
    ((vec).v = kiln_arena_dup((a), (vec).v, (vec).n * sizeof *(vec).v),                \
     (vec).cap = (vec).n)

/* What the host does alone is as it was before it was placed, but for offsets. */
kiln_status kiln_net_on_devices(kiln_arena *a, const kiln_net *n,
                                const kiln_placement *o, kiln_net *out, kiln_err *err) {
    KILN_ASSERT(n->device.n == 1, "'%s' is placed on %zu devices already", n->g->name,
                n->device.n);
    *out = *n;
    out->arena = a;
    COPY_OF(a, out->slot);
    COPY_OF(a, out->step);
    COPY_OF(a, out->open);
    out->device.v = NULL;
    out->device.n = out->device.cap = 0;
    out->arena_bytes = out->lower_bound = 0;
    out->n_in_place = 0;
    const kiln_status st = finish(out, o, err);
    if (st != KILN_OK)
        kiln_note(err, "placing '%s' on %d devices", n->g->name, o->n_devices);
    return st;
}

static kiln_status build(kiln_net *n, kiln_err *err) {
    int *in = kiln_array(n->arena, int, n->g->inputs.n);
    int *out = kiln_array(n->arena, int, n->g->outputs.n);
    const kiln_layout *plain = kiln_array(n->arena, kiln_layout, n->g->outputs.n);
    for (size_t i = 0; i < n->g->inputs.n; i++)
        in[i] = add_input(n, (uint32_t)i);
    KILN_TRY(kiln_net_add_graph(n, n->g, "", in, plain, out, err));
    for (size_t i = 0; i < n->g->outputs.n; i++)
        add_output(n, (uint32_t)i, out[i]);
    return finish(n, n->o != NULL ? n->o->placement : NULL, err);
}

kiln_status kiln_compile(kiln_arena *a, const kiln_graph *g, const kiln_profile *p,
                         const kiln_network_options *o, kiln_net *out, kiln_err *err) {
    *out = (kiln_net){.arena = a, .g = g, .profile = p, .o = o};
    kiln_arena_init(&out->scratch);
    const kiln_status st = build(out, err);
    if (st != KILN_OK)
        kiln_note(err, "compiling '%s' for profile '%s'", g->name, p->name);
    kiln_arena_fini(&out->scratch);
    return st;
}
