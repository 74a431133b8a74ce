/* plan.bin and the parameters. */
#include "compiler/codegen/codegen_gpu_module.h"
#include "pipeline/network/network_internal.h"
#include "base/fault.h"
#include "base/numbers.h"

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
SAME(WAIT);
_Static_assert((int)KILN_NET_VIEW == (int)KILN_PLAN_WAIT + 1,
               "views and joins are no steps of a plan");
#undef SAME
_Static_assert((int)KILN_NETWORK_ALIGN == (int)KILN_PLAN_ALIGN &&
                   (int)KILN_NETWORK_MAX_RUNS == (int)KILN_PLAN_MAX_RUNS,
               "what the compiler lays out and repeats is what a plan may hold");

typedef struct writer {
    kiln_buf strings;
    kiln_numbers known; /* text -> offset + 1 */
    kiln_arena *arena;
    uint32_t *kernel; /* by kernel and device: its number in the plan */
} writer;

static uint32_t string(writer *w, const char *text) {
    const size_t at = kiln_numbers_get(&w->known, kiln_str_from(text));
    if (at != 0)
        return (uint32_t)(at - 1);
    const uint32_t begin = (uint32_t)w->strings.n;
    kiln_buf_add(&w->strings, text, strlen(text) + 1);
    kiln_numbers_set(w->arena, &w->known, kiln_str_from(text), (size_t)begin + 1);
    return begin;
}

/* A step that reads the slot; NULL: none does. */
static const char *reader_of(const kiln_net *n, int slot) {
    for (size_t i = 0; i < n->step.n; i++)
        for (int k = 0; k < n->step.v[i].n_read; k++)
            if (n->step.v[i].operand[k] == slot)
                return n->step.v[i].name;
    return NULL;
}

static kiln_status write_param(kiln_packer *packer, const kiln_net *n, int slot,
                               char *to, kiln_err *err) {
    const kiln_net_slot *s = &n->slot.v[slot];
    const kiln_type t = kiln_net_type_of(s);
    const kiln_packing k = kiln_packing_of(&s->value->type, s->packing, &t);
    if (s->offset > 0 && KILN_FAULT(param_stale))
        return KILN_OK;
    return kiln_packer_add(packer, &k, s->value->name,
                           s->packing != NULL ? reader_of(n, slot) : NULL,
                           s->value->data, to + s->offset, err);
}

static kiln_status write_params(const kiln_net *n, kiln_packer *packer,
                                kiln_network *out, kiln_err *err) {
    kiln_status st = KILN_OK;
    out->param_bytes = (size_t)n->param_bytes;
    out->params = kiln_arena_alloc(n->arena, out->param_bytes + KILN_PLAN_ALIGN);
    for (size_t i = 0; i < n->slot.n && st == KILN_OK; i++)
        if (n->slot.v[i].place == KILN_NET_PARAM && n->slot.v[i].view_of < 0)
            st = write_param(packer, n, (int)i, out->params, err);
    if (st == KILN_OK)
        st = kiln_packer_finish(packer, err);
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

/* Types of what its slots hold, as a step reads or writes them. */
static const char *const *types_of(const kiln_net *n, const int *slot, int n_slots) {
    const char **text = kiln_array(n->arena, const char *, n_slots);
    for (int k = 0; k < n_slots; k++) {
        const kiln_type t = kiln_net_type_of(&n->slot.v[slot[k]]);
        text[k] = kiln_type_text(n->arena, &t);
    }
    return text;
}

static kiln_network_step step_of(const kiln_net *n, const kiln_net_step *s) {
    const int n_nodes = s->group != NULL ? s->group->n : 0;
    kiln_network_step step = {
        .name = s->name,
        .op = s->op,
        .kernel = s->kind == KILN_NET_CALL ? s->kernel : -1,
        .device = n->device.v[s->device].kind,
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
    step.n_in = s->n_read;
    step.n_out = s->n_operands - s->n_read;
    step.in = types_of(n, s->operand, step.n_in);
    if (step.n_out > 0) /* branches have no operands */
        step.out = types_of(n, s->operand + s->n_read, step.n_out);
    return step;
}

/* What tools are told beside the plan. */
static void describe(const kiln_net *n, kiln_network *out) {
    for (size_t i = 0; i < n->slot.n; i++) {
        const kiln_net_slot *s = &n->slot.v[i];
        if (s->place != KILN_NET_PARAM || s->view_of >= 0)
            continue;
        kiln_network_param p = {in_region(n, s->path, s->value->name),
                                kiln_net_type_of(s), s->offset};
        p.type.facts = s->value->type.facts;
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
        const kiln_plan_tensor t = {
            (uint32_t)s->place, is_port ? s->index : (uint32_t)s->device,
            s->offset - (is_late ? KILN_PLAN_ALIGN : 0), (uint64_t)s->bytes};
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

static void write_kernel(const kiln_network_kernel *from, uint32_t module, writer *w,
                         kiln_buf *out, kiln_buf *sizes) {
    const kiln_plan_kernel k = {.symbol = string(w, from->symbol),
                                .module = module,
                                .n_operands = (uint32_t)from->n_operands,
                                .n_written = (uint32_t)from->n_written,
                                .first_size = (uint32_t)(sizes->n / sizeof(uint64_t)),
                                .workspace_bytes =
                                    (uint64_t)from->object.workspace_bytes,
                                .scratch_bytes = (uint64_t)from->object.scratch_bytes};
    kiln_buf_add(out, &k, sizeof k);
    for (int j = 0; j < from->n_operands; j++) {
        const uint64_t bytes = (uint64_t)kiln_type_bytes(&from->operand[j]);
        kiln_buf_add(sizes, &bytes, sizeof bytes);
    }
}

/* Once for each device that calls it, in the order of the network's. Returns how many
 * sizes there are. */
static uint32_t write_kernels(const kiln_network *net, writer *w, kiln_buf *out,
                              kiln_buf *sizes) {
    for (size_t i = 0; i < net->net->kernel.n; i++)
        for (size_t m = 0; m < net->module.n; m++)
            if (net->module.v[m].is_called[i])
                write_kernel(&net->net->kernel.v[i], (uint32_t)m, w, out, sizes);
    return (uint32_t)(sizes->n / sizeof(uint64_t));
}

static uint32_t number_kernels(const kiln_network *net, writer *w) {
    const size_t n_modules = net->module.n;
    uint32_t n = 0;
    w->kernel = kiln_array(w->arena, uint32_t, net->net->kernel.n * n_modules + 1);
    for (size_t i = 0; i < net->net->kernel.n; i++)
        for (size_t m = 0; m < n_modules; m++)
            if (net->module.v[m].is_called[i])
                w->kernel[i * n_modules + m] = n++;
    return n;
}

/* Operands go behind those that are there. */
static void write_steps(const kiln_net *net, const kiln_net_step *steps, size_t n,
                        writer *w, kiln_buf *out, kiln_buf *operands) {
    uint32_t at = (uint32_t)(operands->n / sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) {
        const kiln_net_step *s = &steps[i];
        const uint32_t kernel =
            s->kind != KILN_NET_CALL
                ? 0
                : w->kernel[(size_t)s->kernel * net->device.n + (size_t)s->device];
        const kiln_plan_step step = {.kind = (uint32_t)s->kind,
                                     .kernel = kernel,
                                     .partner = (uint32_t)s->partner,
                                     .count = (uint32_t)s->count,
                                     .first_operand = at,
                                     .n_operands = (uint32_t)s->n_operands,
                                     .name = string(w, s->name),
                                     .op = string(w, s->op),
                                     .queue = (uint32_t)s->device};
        kiln_buf_add(out, &step, sizeof step);
        for (int k = 0; k < s->n_operands; k++) {
            const bool swaps = s->n_read > 1 && k < 2 && KILN_FAULT(operand_swapped);
            const uint32_t slot = (uint32_t)s->operand[swaps ? 1 - k : k];
            kiln_buf_add(operands, &slot, sizeof slot);
        }
        at += step.n_operands;
    }
}

/* A device has a space, a queue and a module of its own number. */
static void write_devices(const kiln_network *net, writer *w, kiln_buf *devices,
                          kiln_buf *spaces, kiln_buf *queues, kiln_buf *modules) {
    const kiln_net *n = net->net;
    for (uint32_t i = 0; i < n->device.n; i++) {
        const kiln_net_device *d = &n->device.v[i];
        const kiln_plan_device device = {string(w, d->kind)};
        const kiln_plan_space space = {.device = i,
                                       .arena_bytes = (uint64_t)d->arena_bytes,
                                       .packed_bytes = d->packed_bytes};
        const kiln_plan_queue queue = {.device = i};
        const kiln_plan_module module = {.device = i,
                                         .file = string(w, net->module.v[i].file)};
        kiln_buf_add(devices, &device, sizeof device);
        kiln_buf_add(spaces, &space, sizeof space);
        kiln_buf_add(queues, &queue, sizeof queue);
        kiln_buf_add(modules, &module, sizeof module);
    }
}

/* ---- modules --------------------------------------------------------------------- */

static void mark_called(const kiln_net_step *step, size_t n, int device,
                        bool *is_called) {
    for (size_t i = 0; i < n; i++)
        if (step[i].kind == KILN_NET_CALL && step[i].device == device)
            is_called[step[i].kernel] = true;
}

/* A GPU's kernels in one module. */
static kiln_status join_code(const kiln_net *n, kiln_network_module *m, kiln_err *err) {
    kiln_str *object = kiln_array(n->arena, kiln_str, n->kernel.n + 1);
    size_t n_objects = 0;
    for (size_t i = 0; i < n->kernel.n; i++)
        if (m->is_called[i])
            object[n_objects++] = n->kernel.v[i].object.bytes;
    return kiln_gpu_module_link(n->arena, object, n_objects, &m->code, err);
}

static kiln_status join_modules(const kiln_net *n, kiln_network *out, kiln_err *err) {
    for (size_t d = 1; d < out->module.n && n->profile->device != NULL; d++)
        KILN_TRY(join_code(n, &out->module.v[d], err));
    return KILN_OK;
}

/* What nobody calls is the host's. */
static void list_modules(const kiln_net *n, kiln_network *out) {
    for (size_t d = 0; d < n->device.n; d++) {
        bool *is_called = kiln_array(n->arena, bool, n->kernel.n + 1);
        const bool is_gpu = d > 0 && n->profile->device != NULL;
        const kiln_network_module m = {
            .device = n->device.v[d].kind,
            .profile = is_gpu ? n->profile->device : n->profile,
            .file = d == 0
                        ? "lib.so"
                        : kiln_format(n->arena, "lib%zu.%s", d, is_gpu ? "gpu" : "so"),
            .is_called = is_called};
        mark_called(n->step.v, n->step.n, (int)d, is_called);
        mark_called(n->open.v, n->open.n, (int)d, is_called);
        kiln_vec_push(n->arena, &out->module, m);
    }
    for (size_t i = 0; i < n->kernel.n; i++) {
        bool is_called = false;
        for (size_t d = 0; d < out->module.n; d++)
            is_called = is_called || out->module.v[d].is_called[i];
        out->module.v[0].is_called[i] = out->module.v[0].is_called[i] || !is_called;
    }
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

kiln_status kiln_network_write(kiln_arena *a, kiln_packer *packer, kiln_network *out,
                               kiln_err *err) {
    const kiln_net *n = out->net;
    writer w = {.arena = a};
    kiln_buf tensors, ports, kernels, sizes, steps, open, operands, all;
    kiln_buf devices, spaces, queues, modules;
    kiln_buf *const buf[] = {&tensors, &ports,     &kernels, &sizes,  &steps,
                             &open,    &operands,  &devices, &spaces, &queues,
                             &modules, &w.strings, &all};
    for (size_t i = 0; i < sizeof buf / sizeof buf[0]; i++)
        kiln_buf_init(buf[i], a);
    KILN_TRY(write_params(n, packer, out, err));
    list_modules(n, out);
    KILN_TRY(join_modules(n, out, err));
    const uint32_t n_kernels = number_kernels(out, &w);
    write_tensors(n, &tensors);
    write_ports(n, &w, &ports);
    write_steps(n, n->step.v, n->step.n, &w, &steps, &operands);
    write_steps(n, n->open.v, n->open.n, &w, &open, &operands);
    write_devices(out, &w, &devices, &spaces, &queues, &modules);
    kiln_plan_header h = {.version = KILN_PLAN_VERSION,
                          .header_bytes = sizeof h,
                          .model = string(&w, n->g->name),
                          .profile = string(&w, n->profile->name),
                          .arch = (uint32_t)kiln_arch_of(n->profile->arch)->elf_machine,
                          .n_tensors = (uint32_t)n->slot.n,
                          .n_inputs = n->n_inputs,
                          .n_outputs = n->n_outputs,
                          .n_kernels = n_kernels,
                          .n_sizes = write_kernels(out, &w, &kernels, &sizes),
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
