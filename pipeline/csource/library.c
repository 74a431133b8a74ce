/* The network as a library of machine code: the kernels that a package would hold, one
 * function that calls them in the order of the plan, and the parameters. It is called as
 * C source is, and asks for nothing: neither the runtime nor libc. */
#include "pipeline/csource/csource_internal.h"

#include "packager/packager.h"

static kiln_entry_place place_of(const kiln_csource_writer *w, int slot) {
    const kiln_net *n = w->n->net;
    const kiln_net_slot *s = &n->slot.v[slot];
    switch (s->place) {
    case KILN_NET_INPUT:
        return (kiln_entry_place){KILN_ENTRY_BASE_PORT, s->index, s->offset};
    case KILN_NET_OUTPUT:
        return (kiln_entry_place){KILN_ENTRY_BASE_PORT, n->n_inputs + s->index,
                                  s->offset};
    case KILN_NET_PARAM:
        return (kiln_entry_place){KILN_ENTRY_BASE_PARAMS, 0, s->offset};
    case KILN_NET_ARENA:
        return (kiln_entry_place){KILN_ENTRY_BASE_WORK, 0, s->offset};
    case KILN_NET_PACKED:
    case KILN_NET_N_PLACES:
        break;
    }
    KILN_ASSERT(false, "slot %d of '%s' is packed when a model is opened", slot,
                w->n->name);
    return (kiln_entry_place){KILN_ENTRY_BASE_WORK, 0, 0};
}

static kiln_entry_kind kind_of(const kiln_csource_writer *w, const kiln_net_step *s) {
    switch (s->kind) {
    case KILN_NET_CALL:
        return KILN_ENTRY_STEP_CALL;
    case KILN_NET_COPY:
        return KILN_ENTRY_STEP_COPY;
    case KILN_NET_TAKE:
        return KILN_ENTRY_STEP_TAKE;
    case KILN_NET_PUT:
        return KILN_ENTRY_STEP_PUT;
    case KILN_NET_IF:
        return KILN_ENTRY_STEP_IF;
    case KILN_NET_ELSE:
        return KILN_ENTRY_STEP_ELSE;
    case KILN_NET_LOOP:
        return KILN_ENTRY_STEP_LOOP;
    case KILN_NET_END:
        return KILN_ENTRY_STEP_END;
    case KILN_NET_WAIT:
    case KILN_NET_VIEW:
    case KILN_NET_JOIN:
    case KILN_NET_N_KINDS:
        break;
    }
    KILN_ASSERT(false, "'%s' has steps that one device has not", w->n->name);
    return KILN_ENTRY_STEP_END;
}

static kiln_entry_step step_of(const kiln_csource_writer *w, const kiln_net_step *s) {
    const kiln_net *n = w->n->net;
    kiln_entry_step out = {.kind = kind_of(w, s), .count = (uint64_t)s->count};
    kiln_entry_place *operand =
        kiln_array(w->arena, kiln_entry_place, (size_t)s->n_operands + 1);
    if (out.kind == KILN_ENTRY_STEP_ELSE || out.kind == KILN_ENTRY_STEP_LOOP ||
        out.kind == KILN_ENTRY_STEP_END)
        return out;
    for (int i = 0; i < s->n_operands; i++)
        operand[i] = place_of(w, s->operand[i]);
    out.operand = operand;
    out.n_operands = s->n_operands;
    if (out.kind == KILN_ENTRY_STEP_CALL)
        out.symbol = n->kernel.v[s->kernel].symbol;
    else if (out.kind != KILN_ENTRY_STEP_IF)
        out.bytes =
            (uint64_t)n->slot.v[s->operand[out.kind == KILN_ENTRY_STEP_TAKE ? 1 : 0]]
                .bytes;
    return out;
}

static kiln_status make_entry(const kiln_csource_writer *w, const char *name,
                              kiln_str *object, kiln_err *err) {
    const kiln_net *n = w->n->net;
    kiln_entry_step *step = kiln_array(w->arena, kiln_entry_step, n->step.n + 1);
    for (size_t i = 0; i < n->step.n; i++)
        step[i] = step_of(w, &n->step.v[i]);
    const kiln_entry e = {.name = name,
                          .n_ports = (int)n->port.n,
                          .params = {w->n->params, w->n->param_bytes},
                          .workspace_at = w->arena_bytes,
                          .scratch_at = w->scratch_at,
                          .step = step,
                          .n_steps = n->step.n};
    return kiln_codegen_entry(w->arena, &e, w->n->profile, object, err);
}

/* 64: kernels align whatever they have. */
void kiln_csource_size_library(kiln_csource_writer *w) {
    const kiln_net *n = w->n->net;
    KILN_ASSERT(w->arena_bytes % 64 == 0, "an arena of %llu bytes",
                (unsigned long long)w->arena_bytes);
    w->scratch_at = w->arena_bytes + (n->workspace_bytes + 63) / 64 * 64;
    w->workspace_bytes = w->scratch_at + (n->scratch_bytes + 63) / 64 * 64;
}

static kiln_status link_shared(const kiln_csource_writer *w,
                               const kiln_csource_object *object, size_t n,
                               kiln_str *out, kiln_err *err) {
    kiln_package_object *all = kiln_array(w->arena, kiln_package_object, n);
    for (size_t i = 0; i < n; i++) /* the first is what users call */
        all[i] =
            (kiln_package_object){i == 0 ? object[i].symbol : NULL, object[i].bytes};
    return kiln_package_link_as(w->arena, w->n->profile->arch,
                                kiln_format(w->arena, "lib%s.so", w->name), all, n, out,
                                err);
}

kiln_status kiln_csource_link(const kiln_csource_writer *w, bool is_shared,
                              kiln_str *out, kiln_err *err) {
    const kiln_net *n = w->n->net;
    kiln_csource_object *object =
        kiln_array(w->arena, kiln_csource_object, n->kernel.n + 1);
    object[0].symbol = kiln_format(w->arena, "%s_run", w->name);
    KILN_TRY(make_entry(w, object[0].symbol, &object[0].bytes, err));
    for (size_t i = 0; i < n->kernel.n; i++)
        object[i + 1] =
            (kiln_csource_object){n->kernel.v[i].symbol, n->kernel.v[i].object.bytes};
    if (is_shared)
        return link_shared(w, object, n->kernel.n + 1, out, err);
    *out = kiln_csource_archive(w->arena, object, n->kernel.n + 1);
    return KILN_OK;
}
