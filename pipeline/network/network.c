/* The whole graph: ports, groups, places, plan. */
#include "pipeline/network/network_internal.h"

#include <string.h>

static void add_inputs(kiln_net *n) {
    for (size_t i = 0; i < n->g->inputs.n; i++) {
        const kiln_value *v = n->g->inputs.v[i];
        const kiln_net_slot slot = {.place = KILN_PLAN_INPUT,
                                    .index = (uint32_t)i,
                                    .bytes = kiln_type_bytes(&v->type),
                                    .view_of = -1,
                                    .value = v};
        n->slot_of[v->id] = kiln_net_add_slot(n, &slot);
        const kiln_net_port port = {v->name, v, n->slot_of[v->id]};
        kiln_vec_push(n->arena, &n->port, port);
    }
    n->n_inputs = (uint32_t)n->g->inputs.n;
}

static bool is_written_by_step(const kiln_net *n, int slot) {
    for (size_t i = 0; i < n->step.n; i++)
        for (int k = n->step.v[i].n_read; k < n->step.v[i].n_operands; k++)
            if (n->step.v[i].operand[k] == slot)
                return true;
    return false;
}

/* The caller's memory receives the value: directly where a kernel makes it plain, else
 * by a copy. */
static kiln_status add_output(kiln_net *n, uint32_t index, kiln_err *err) {
    const kiln_layout plain = {.n_order = 0};
    const kiln_value *v = n->g->outputs.v[index];
    int slot = 0;
    KILN_TRY(kiln_net_slot_as(n, v, &plain, &slot, err));
    kiln_net_slot *s = &n->slot.v[slot];
    kiln_net_port port = {n->g->output_names.v[index], v, slot};
    if (s->place == KILN_PLAN_ARENA && s->view_of < 0 && is_written_by_step(n, slot)) {
        s->place = KILN_PLAN_OUTPUT;
        s->index = index;
    } else {
        const kiln_net_slot own = {.place = KILN_PLAN_OUTPUT,
                                   .index = index,
                                   .bytes = s->bytes,
                                   .view_of = -1,
                                   .value = v};
        int *operand = kiln_array(n->arena, int, 2);
        operand[0] = slot;
        operand[1] = port.slot = kiln_net_add_slot(n, &own);
        const kiln_net_step step = {.kind = KILN_PLAN_COPY,
                                    .operand = operand,
                                    .n_operands = 2,
                                    .n_read = 1,
                                    .name = kiln_format(n->arena, "copy %s", port.name),
                                    .op = "copy"};
        kiln_vec_push(n->arena, &n->step, step);
    }
    kiln_vec_push(n->arena, &n->port, port);
    n->n_outputs++;
    return KILN_OK;
}

static void plan_memory(kiln_net *n) {
    kiln_slot *slot = kiln_array(n->arena, kiln_slot, n->slot.n);
    kiln_flow_step *step = kiln_array(n->arena, kiln_flow_step, n->step.n);
    for (size_t i = 0; i < n->slot.n; i++)
        slot[i] = (kiln_slot){n->slot.v[i].bytes, n->slot.v[i].place != KILN_PLAN_ARENA,
                              n->slot.v[i].view_of};
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *s = &n->step.v[i];
        step[i] = (kiln_flow_step){.read = s->operand,
                                   .write = s->operand + s->n_read,
                                   .n_read = s->n_read,
                                   .n_write = s->n_operands - s->n_read,
                                   .takeable = s->takeable,
                                   .n_takeable = s->n_takeable};
    }
    kiln_flow_plan m;
    kiln_plan_flow(n->arena, slot, (int)n->slot.n, step, (int)n->step.n,
                   KILN_PLAN_ALIGN, &m);
    for (size_t i = 0; i < n->slot.n; i++) {
        kiln_net_slot *s = &n->slot.v[i];
        const kiln_net_slot *root = &n->slot.v[m.root[i]];
        if (s->place != KILN_PLAN_ARENA)
            continue;
        s->place = root->place; /* a view of an input, a parameter, an output */
        s->index = root->index;
        s->offset = root->place == KILN_PLAN_ARENA && m.offset[i] >= 0
                        ? (uint64_t)m.offset[i]
                        : root->offset;
    }
    n->out->arena_bytes = m.peak;
    n->out->lower_bound = m.lower_bound;
    n->out->n_views = m.n_views;
    n->out->n_in_place = m.n_in_place;
}

static kiln_status build(kiln_net *n, kiln_err *err) {
    const kiln_fusion_options fusion = {.is_off = n->o != NULL && n->o->no_fusion};
    kiln_graph_fuse(n->arena, n->g, &fusion, &n->fusion);
    n->slot_of = kiln_array(n->arena, int, n->g->values.n);
    for (size_t i = 0; i < n->g->values.n; i++)
        n->slot_of[i] = -1;
    add_inputs(n);
    for (int i = 0; i < n->fusion.n; i++)
        KILN_TRY(kiln_net_add_group(n, &n->fusion.group[i], err));
    for (size_t i = 0; i < n->g->outputs.n; i++)
        KILN_TRY(add_output(n, (uint32_t)i, err));
    plan_memory(n);
    kiln_net_write(n);
    return KILN_OK;
}

kiln_status kiln_network_compile(kiln_arena *a, const kiln_graph *g,
                                 const kiln_profile *p, const kiln_network_options *o,
                                 kiln_network *out, kiln_err *err) {
    *out = (kiln_network){.name = g->name, .profile = p};
    kiln_net n = {.arena = a, .g = g, .profile = p, .o = o, .out = out};
    kiln_arena_init(&n.scratch);
    const kiln_status st = build(&n, err);
    if (st != KILN_OK)
        kiln_note(err, "compiling '%s' for profile '%s'", g->name, p->name);
    kiln_arena_fini(&n.scratch);
    return st;
}

/* ---- in this process
 * ----------------------------------------------------------------- */

typedef struct opened {
    const kiln_network *n;
    kiln_kernel_fn **fn;
} opened;

static kiln_kernel_fn *find(void *user, const char *symbol) {
    const opened *o = user;
    for (size_t i = 0; i < o->n->kernel.n; i++)
        if (strcmp(o->n->kernel.v[i].symbol, symbol) == 0)
            return o->fn[i];
    return NULL;
}

static void close_code(void *code) { kiln_code_close(code); }

kiln_status kiln_network_open(kiln_arena *a, const kiln_network *n, kiln_model **out,
                              kiln_err *err) {
    KILN_TRY(kiln_runs_here(n->profile, err));
    opened *o = kiln_new(a, opened);
    char text[KILN_ERROR_TEXT] = "";
    *o = (opened){n, kiln_array(a, kiln_kernel_fn *, n->kernel.n)};
    for (size_t i = 0; i < n->kernel.n; i++) {
        const kiln_network_kernel *k = &n->kernel.v[i];
        kiln_code *code = NULL;
        if (kiln_code_open(k->object.bytes.p, k->object.bytes.n, &code, text) !=
            KILN_LOAD_OK)
            return kiln_fail(err, KILN_ERR_LIB, "kernel '%s' cannot be loaded: %s",
                             k->symbol, text);
        kiln_arena_defer(a, close_code, code);
        o->fn[i] = kiln_code_kernel(code, k->symbol);
    }
    const kiln_model_parts parts = {n->plan.p,      n->plan.n, n->params,
                                    n->param_bytes, find,      o};
    *out = kiln_model_from_parts(&parts, NULL, text);
    return *out != NULL ? KILN_OK
                        : kiln_fail(err, KILN_ERR_LIB, "'%s' cannot be opened: %s",
                                    n->name, text);
}
