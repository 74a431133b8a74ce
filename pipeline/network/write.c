/* plan.bin and the parameters. */
#include "pipeline/network/network_internal.h"
#include "base/fault.h"
#include "pipeline/kernels/pack.h"

#include <string.h>

/* The plan has the words of the executable graph: numbers go over as they are. */
#define SAME(word) _Static_assert((int)KILN_NET_##word == (int)KILN_PLAN_##word, #word)
SAME(INPUT);
SAME(OUTPUT);
SAME(PARAM);
SAME(ARENA);
SAME(PACKED);
_Static_assert((int)KILN_NET_CALL == (int)KILN_PLAN_LAUNCH, "a call is a launch");
SAME(COPY);
SAME(IF);
SAME(ELSE);
SAME(LOOP);
SAME(END);
SAME(TAKE);
SAME(PUT);
_Static_assert((int)KILN_NET_VIEW == (int)KILN_PLAN_WAIT,
               "one queue never waits; views and joins are no steps of a plan");
#undef SAME
_Static_assert((int)KILN_NETWORK_ALIGN == (int)KILN_PLAN_ALIGN &&
                   (int)KILN_NETWORK_MAX_RUNS == (int)KILN_PLAN_MAX_RUNS,
               "what the compiler lays out and repeats is what a plan may hold");

typedef struct writer {
    kiln_buf strings;
    kiln_map known; /* text -> offset + 1 */
    kiln_arena *arena;
} writer;

static uint32_t string(writer *w, const char *text) {
    const uintptr_t at = (uintptr_t)kiln_map_get(&w->known, kiln_str_from(text));
    if (at != 0)
        return (uint32_t)(at - 1);
    const uint32_t begin = (uint32_t)w->strings.n;
    kiln_buf_add(&w->strings, text, strlen(text) + 1);
    kiln_map_set(w->arena, &w->known, kiln_str_from(kiln_str_dup(w->arena, text)),
                 (void *)(uintptr_t)(begin + 1));
    return begin;
}

static kiln_status write_param(kiln_packer *packer, const kiln_net_slot *s, char *to,
                               kiln_err *err) {
    kiln_type t = s->value->type;
    if (s->offset > 0 && KILN_FAULT(param_stale))
        return KILN_OK;
    t.layout = s->layout;
    return kiln_packer_run(packer, &t, s->value->data, to + s->offset, err);
}

static kiln_status write_params(const kiln_net *n, kiln_network *out, kiln_err *err) {
    kiln_arena own = {0};
    kiln_packer *packer = kiln_packer_new(&own);
    kiln_status st = KILN_OK;
    out->param_bytes = (size_t)n->param_bytes;
    out->params = kiln_arena_alloc(n->arena, out->param_bytes + KILN_PLAN_ALIGN);
    for (size_t i = 0; i < n->slot.n && st == KILN_OK; i++)
        if (n->slot.v[i].place == KILN_NET_PARAM && n->slot.v[i].view_of < 0)
            st = write_param(packer, &n->slot.v[i], out->params, err);
    kiln_arena_fini(&own);
    return st;
}

static const char *in_region(const kiln_net *n, const char *path, const char *name) {
    return path == NULL || path[0] == '\0' ? name
                                           : kiln_format(n->arena, "%s%s", path, name);
}

static const char *layout_of(const kiln_net *n, int slot) {
    const kiln_net_slot *s = &n->slot.v[slot];
    return kiln_layout_name(n->arena, s->value->type.rank, &s->layout);
}

static kiln_network_step step_of(const kiln_net *n, const kiln_net_step *s) {
    const int n_nodes = s->group != NULL ? s->group->n : 0;
    kiln_network_step step = {
        .name = s->name,
        .op = s->op,
        .kernel = s->kind == KILN_NET_CALL ? s->kernel : -1,
        .n_nodes = n_nodes,
        .epilogue = s->group != NULL ? kiln_group_epilogue(n->arena, s->group) : ""};
    const char **node = kiln_array(n->arena, const char *, n_nodes);
    for (int k = 0; k < n_nodes; k++)
        node[k] = in_region(n, s->path, s->group->node[k]->name);
    step.node = node;
    for (int k = s->n_read; k-- > 0;)
        if (!kiln_net_is_param(n, s->operand[k]))
            step.layout_in = layout_of(n, s->operand[k]);
    if (s->n_operands > s->n_read)
        step.layout_out = layout_of(n, s->operand[s->n_read]);
    return step;
}

/* What tools are told beside the plan. */
static void describe(const kiln_net *n, kiln_network *out) {
    for (size_t i = 0; i < n->slot.n; i++) {
        const kiln_net_slot *s = &n->slot.v[i];
        if (s->place != KILN_NET_PARAM || s->view_of >= 0)
            continue;
        kiln_network_param p = {in_region(n, s->path, s->value->name), s->value->type,
                                s->offset};
        p.type.layout = s->layout;
        kiln_vec_push(n->arena, &out->param, p);
    }
    for (size_t i = 0; i < n->kernel.n; i++)
        kiln_vec_push(n->arena, &out->kernel, n->kernel.v[i]);
    for (size_t i = 0; i < n->step.n; i++)
        kiln_vec_push(n->arena, &out->step, step_of(n, &n->step.v[i]));
    for (size_t i = 0; i < n->open.n; i++) {
        kiln_network_step step = step_of(n, &n->open.v[i]);
        step.layout_in = layout_of(n, n->open.v[i].operand[0]);
        kiln_vec_push(n->arena, &out->open, step);
    }
    out->n_steps = (int)n->step.n;
    out->n_conversions = n->n_conversions;
    out->n_views = n->n_views;
    out->n_in_place = n->n_in_place;
    out->arena_bytes = n->arena_bytes;
    out->lower_bound = n->lower_bound;
    out->workspace_bytes = (int64_t)n->workspace_bytes;
    out->scratch_bytes = (int64_t)n->scratch_bytes;
    out->packed_bytes = (int64_t)n->packed_bytes;
}

static void write_tensors(const kiln_net *n, kiln_buf *out) {
    for (size_t i = 0; i < n->slot.n; i++) {
        const kiln_net_slot *s = &n->slot.v[i];
        const bool is_late = s->place == KILN_NET_PARAM &&
                             s->offset >= KILN_PLAN_ALIGN && KILN_FAULT(param_offset);
        const bool is_port = s->place == KILN_NET_INPUT || s->place == KILN_NET_OUTPUT;
        const kiln_plan_tensor t = {(uint32_t)s->place, is_port ? s->index : 0,
                                    s->offset - (is_late ? KILN_PLAN_ALIGN : 0),
                                    (uint64_t)s->bytes};
        kiln_buf_add(out, &t, sizeof t);
    }
}

static void write_ports(const kiln_net *n, writer *w, kiln_buf *out) {
    for (size_t i = 0; i < n->port.n; i++) {
        const kiln_type *t = &n->port.v[i].value->type;
        kiln_plan_port p = {.name = string(w, n->port.v[i].name),
                            .tensor = (uint32_t)n->port.v[i].slot,
                            .dtype = string(w, kiln_dtype_name(t->dtype)),
                            .rank = (uint32_t)t->rank,
                            .bytes = (uint64_t)kiln_type_bytes(t)};
        for (int k = 0; k < t->rank; k++)
            p.dim[k] = (uint64_t)t->dim[k];
        kiln_buf_add(out, &p, sizeof p);
    }
}

static uint32_t write_kernels(const kiln_net *n, writer *w, kiln_buf *out,
                              kiln_buf *sizes) {
    uint32_t at = 0;
    for (size_t i = 0; i < n->kernel.n; i++) {
        const kiln_network_kernel *from = &n->kernel.v[i];
        const kiln_plan_kernel k = {
            .symbol = string(w, from->symbol),
            .n_operands = (uint32_t)from->n_operands,
            .n_written = (uint32_t)from->n_written,
            .first_size = at,
            .workspace_bytes = (uint64_t)from->object.workspace_bytes,
            .scratch_bytes = (uint64_t)from->object.scratch_bytes};
        kiln_buf_add(out, &k, sizeof k);
        for (int j = 0; j < from->n_operands; j++) {
            const uint64_t bytes = (uint64_t)kiln_type_bytes(&from->operand[j]);
            kiln_buf_add(sizes, &bytes, sizeof bytes);
        }
        at += k.n_operands;
    }
    return at;
}

/* Operands go behind those that are there. */
static void write_steps(const kiln_net_step *steps, size_t n, writer *w, kiln_buf *out,
                        kiln_buf *operands) {
    uint32_t at = (uint32_t)(operands->n / sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) {
        const kiln_net_step *s = &steps[i];
        const kiln_plan_step step = {.kind = (uint32_t)s->kind,
                                     .kernel = (uint32_t)s->kernel,
                                     .partner = (uint32_t)s->partner,
                                     .count = (uint32_t)s->count,
                                     .first_operand = at,
                                     .n_operands = (uint32_t)s->n_operands,
                                     .name = string(w, s->name),
                                     .op = string(w, s->op)};
        kiln_buf_add(out, &step, sizeof step);
        for (int k = 0; k < s->n_operands; k++) {
            const bool swaps = s->n_read > 1 && k < 2 && KILN_FAULT(operand_swapped);
            const uint32_t slot = (uint32_t)s->operand[swaps ? 1 - k : k];
            kiln_buf_add(operands, &slot, sizeof slot);
        }
        at += step.n_operands;
    }
}

/* All of it on the host. */
static void write_devices(const kiln_net *n, writer *w, kiln_buf *devices,
                          kiln_buf *spaces, kiln_buf *queues, kiln_buf *modules) {
    const kiln_plan_device device = {string(w, "host")};
    const kiln_plan_space space = {.arena_bytes = (uint64_t)n->arena_bytes,
                                   .packed_bytes = n->packed_bytes};
    const kiln_plan_queue queue = {.device = 0};
    const kiln_plan_module module = {.device = 0, .file = string(w, "lib.so")};
    kiln_buf_add(devices, &device, sizeof device);
    kiln_buf_add(spaces, &space, sizeof space);
    kiln_buf_add(queues, &queue, sizeof queue);
    kiln_buf_add(modules, &module, sizeof module);
}

/* A table behind what is there, 8-byte aligned; where it begins. */
static uint64_t append(kiln_buf *out, const kiln_buf *table) {
    static const char zeros[8] = {0};
    kiln_buf_add(out, zeros, (8 - out->n % 8) % 8);
    const uint64_t at = out->n;
    if (table->n > 0)
        kiln_buf_add(out, table->p, table->n);
    return at;
}

kiln_status kiln_network_write(kiln_arena *a, kiln_network *out, kiln_err *err) {
    const kiln_net *n = out->net;
    writer w = {.arena = a};
    kiln_buf tensors, ports, kernels, sizes, steps, open, operands, all;
    kiln_buf devices, spaces, queues, modules;
    kiln_buf *const buf[] = {&tensors, &ports,     &kernels, &sizes,  &steps,
                             &open,    &operands,  &devices, &spaces, &queues,
                             &modules, &w.strings, &all};
    for (size_t i = 0; i < sizeof buf / sizeof buf[0]; i++)
        kiln_buf_init(buf[i], a);
    KILN_TRY(write_params(n, out, err));
    write_tensors(n, &tensors);
    write_ports(n, &w, &ports);
    write_steps(n->step.v, n->step.n, &w, &steps, &operands);
    write_steps(n->open.v, n->open.n, &w, &open, &operands);
    write_devices(n, &w, &devices, &spaces, &queues, &modules);
    kiln_plan_header h = {.version = KILN_PLAN_VERSION,
                          .header_bytes = sizeof h,
                          .model = string(&w, n->g->name),
                          .profile = string(&w, n->profile->name),
                          .arch = (uint32_t)kiln_arch_of(n->profile->arch)->elf_machine,
                          .n_tensors = (uint32_t)n->slot.n,
                          .n_inputs = n->n_inputs,
                          .n_outputs = n->n_outputs,
                          .n_kernels = (uint32_t)n->kernel.n,
                          .n_sizes = write_kernels(n, &w, &kernels, &sizes),
                          .n_steps = (uint32_t)n->step.n,
                          .n_operands = (uint32_t)(operands.n / sizeof(uint32_t)),
                          .param_bytes = n->param_bytes,
                          .workspace_bytes = n->workspace_bytes,
                          .scratch_bytes = n->scratch_bytes,
                          .open = {.n = n->open.n},
                          .devices = {.n = devices.n / sizeof(kiln_plan_device)},
                          .spaces = {.n = spaces.n / sizeof(kiln_plan_space)},
                          .queues = {.n = queues.n / sizeof(kiln_plan_queue)},
                          .modules = {.n = modules.n / sizeof(kiln_plan_module)}};
    memcpy(h.magic, KILN_PLAN_MAGIC, sizeof h.magic);
    kiln_buf_add(&all, &h, sizeof h);
    h.tensors = append(&all, &tensors);
    h.ports = append(&all, &ports);
    h.kernels = append(&all, &kernels);
    h.sizes = append(&all, &sizes);
    h.devices.at = append(&all, &devices);
    h.spaces.at = append(&all, &spaces);
    h.queues.at = append(&all, &queues);
    h.modules.at = append(&all, &modules);
    h.steps = append(&all, &steps);
    h.open.at = append(&all, &open);
    h.operands = append(&all, &operands);
    h.strings = append(&all, &w.strings);
    h.string_bytes = w.strings.n;
    h.total_bytes = all.n;
    memcpy(all.p, &h, sizeof h);
    out->plan = (kiln_str){kiln_arena_dup(a, all.p, all.n), all.n};
    describe(n, out);
    return KILN_OK;
}
