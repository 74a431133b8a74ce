/* What each slot holds at a point of the run: what was written into it, or what it
 * means by the graph. Views, parts and wholes are computed by the reference from what
 * they are made of, never read off the memory that they share. */
#include "pipeline/network/prove_internal.h"

#include <inttypes.h>
#include <string.h>

static const kiln_net_slot *net_slot(const kiln_prover *p, int slot) {
    return &p->net->slot.v[slot];
}

static kiln_type plain_of(const kiln_value *v) {
    return kiln_type_make(v->type.dtype, v->type.rank, v->type.dim);
}

/* ---- keeping --------------------------------------------------------------------- */

static void drop(kiln_prover_slot *s) {
    kiln_arena_fini(&s->arena);
    s->has_value = s->is_derived = false;
}

static void keep(kiln_prover *p, int slot, const void *data) {
    KILN_ASSERT(slot >= 0 && (size_t)slot < p->net->slot.n, "slot %d of %zu", slot,
                p->net->slot.n);
    kiln_prover_slot *s = &p->slot[slot];
    const kiln_type t = plain_of(net_slot(p, slot)->value);
    drop(s);
    s->value = kiln_tensor_new(&s->arena, &t);
    memcpy(s->value.data, data, (size_t)kiln_type_bytes(&t));
    s->has_value = true;
    s->is_lost = false;
    s->at = ++p->clock;
}

void kiln_prover_put(kiln_prover *p, int slot, const kiln_tensor *value) {
    keep(p, slot, value->data);
    /* What a branch makes in the place of the if's output is that output. */
    for (; net_slot(p, slot)->is_given; slot = net_slot(p, slot)->view_of)
        keep(p, net_slot(p, slot)->view_of, value->data);
}

void kiln_prover_put_element(kiln_prover *p, int slot, const kiln_tensor *value,
                             int64_t t) {
    kiln_prover_slot *s = &p->slot[slot];
    const kiln_type whole = plain_of(net_slot(p, slot)->value);
    const size_t bytes = (size_t)kiln_type_bytes(&value->type);
    KILN_ASSERT(t >= 0 && (int64_t)bytes * (t + 1) <= kiln_type_bytes(&whole),
                "element %" PRId64 " of %zu bytes leaves its sequence", t, bytes);
    if (!s->has_value) {
        drop(s);
        s->value = kiln_tensor_new(&s->arena, &whole);
        s->has_value = true;
    }
    memcpy((char *)s->value.data + (size_t)t * bytes, value->data, bytes);
    s->at = ++p->clock;
}

void kiln_prover_lose(kiln_prover *p, int begin, int end) {
    KILN_ASSERT(begin >= 0 && begin <= end && (size_t)end < p->net->step.n,
                "steps %d to %d of %zu", begin, end, p->net->step.n);
    for (int i = begin; i <= end; i++) {
        const kiln_net_step *s = &p->net->step.v[i];
        for (int k = s->n_read; k < s->n_operands; k++) {
            const int slot = s->operand[k];
            drop(&p->slot[slot]);
            p->slot[slot].is_lost = true;
            p->slot[slot].at = ++p->clock;
        }
    }
}

void kiln_prover_forget(kiln_prover *p, int step) {
    for (size_t i = 0; i < p->net->slot.n; i++)
        if (p->slot[i].has_value && p->slot[i].last < step)
            drop(&p->slot[i]);
}

/* ---- deriving -------------------------------------------------------------------- */

/* Regions have values of their own for what they take from outside. */
static bool is_other_layout(const kiln_net_slot *s, const kiln_net_slot *of) {
    return s->value == of->value ||
           (kiln_value_is_const(s->value) && s->value->data == of->value->data);
}

/* When what the slot means was last changed. */
static uint64_t changed_at(const kiln_prover *p, int slot) {
    const kiln_net_slot *s = net_slot(p, slot);
    uint64_t at = p->slot[slot].is_derived ? 0 : p->slot[slot].at;
    if (s->means != NULL) {
        for (int k = 0; k < s->means->n_in; k++)
            if (s->means_in[k] >= 0) {
                const uint64_t of = changed_at(p, s->means_in[k]);
                at = of > at ? of : at;
            }
    } else if (s->view_of >= 0 && is_other_layout(s, net_slot(p, s->view_of))) {
        const uint64_t of = changed_at(p, s->view_of);
        at = of > at ? of : at;
    }
    return at;
}

static kiln_status derive_node(kiln_prover *p, int slot, bool *is_known,
                               kiln_err *err) {
    const kiln_net_slot *s = net_slot(p, slot);
    const kiln_node *node = s->means;
    kiln_arena a = {0};
    kiln_tensor *in = kiln_array(&a, kiln_tensor, node->n_in);
    kiln_tensor *out = kiln_array(&a, kiln_tensor, node->n_out);
    kiln_status st = KILN_OK;
    *is_known = true;
    for (int k = 0; k < node->n_in && st == KILN_OK && *is_known; k++) {
        const kiln_value *v = node->in[k];
        if (v != NULL && kiln_value_is_const(v))
            in[k] = (kiln_tensor){v->type, (void *)(uintptr_t)v->data};
        else if (v != NULL)
            st = kiln_prover_value(p, s->means_in[k], &in[k], is_known, err);
        if (v != NULL)
            in[k].type = v->type;
    }
    if (st == KILN_OK && *is_known)
        st = kiln_ref_eval_node(&a, node, in, out, err);
    if (st == KILN_OK && *is_known) {
        keep(p, slot, out[s->means_out].data);
        p->slot[slot].is_derived = true;
    }
    kiln_arena_fini(&a);
    return st;
}

static kiln_status derive(kiln_prover *p, int slot, bool *is_known, kiln_err *err) {
    const kiln_net_slot *s = net_slot(p, slot);
    kiln_tensor of;
    if (s->means != NULL)
        return derive_node(p, slot, is_known, err);
    *is_known = false;
    if (s->view_of < 0 || !is_other_layout(s, net_slot(p, s->view_of)))
        return KILN_OK;
    KILN_TRY(kiln_prover_value(p, s->view_of, &of, is_known, err));
    if (*is_known) {
        keep(p, slot, of.data);
        p->slot[slot].is_derived = true;
    }
    return KILN_OK;
}

/* Does it have its value from other slots? Then it is for them to say that nobody made
 * them, or that they are lost. */
static bool is_made_of_others(const kiln_net_slot *s, const kiln_prover *p) {
    return s->means != NULL ||
           (s->view_of >= 0 && is_other_layout(s, net_slot(p, s->view_of)));
}

kiln_status kiln_prover_value(kiln_prover *p, int slot, kiln_tensor *out,
                              bool *is_known, kiln_err *err) {
    KILN_ASSERT(slot >= 0 && (size_t)slot < p->net->slot.n, "slot %d of %zu", slot,
                p->net->slot.n);
    kiln_prover_slot *s = &p->slot[slot];
    const kiln_value *v = net_slot(p, slot)->value;
    *is_known = true;
    if (kiln_value_is_const(v)) {
        *out = (kiln_tensor){plain_of(v), (void *)(uintptr_t)v->data};
        return KILN_OK;
    }
    const bool is_stale = s->is_derived && s->at < changed_at(p, slot);
    if (!s->has_value || is_stale)
        KILN_TRY(derive(p, slot, is_known, err));
    if (!*is_known && !s->is_lost && !is_made_of_others(net_slot(p, slot), p)) {
        kiln_prover_problem(p, kiln_format(p->arena,
                                           "step '%s' reads '%s', which nobody made",
                                           p->net->step.v[p->step].name, v->name));
        return KILN_OK;
    }
    if (*is_known)
        *out = s->value;
    return KILN_OK;
}

/* ---- moving ---------------------------------------------------------------------- */

kiln_tensor kiln_prover_element(kiln_prover *p, const void *data, int part, int64_t t) {
    const kiln_type type = plain_of(net_slot(p, part)->value);
    const kiln_tensor out = kiln_tensor_new(&p->scratch, &type);
    const size_t bytes = (size_t)kiln_type_bytes(&type);
    memcpy(out.data, (const char *)data + (size_t)t * bytes, bytes);
    return out;
}

kiln_status kiln_prover_moved(kiln_prover *p, const kiln_net_step *s, int64_t iteration,
                              kiln_tensor *out, kiln_err *err) {
    bool is_known = false;
    kiln_tensor from;
    KILN_TRY(kiln_prover_value(p, s->operand[0], &from, &is_known, err));
    KILN_ASSERT(is_known || p->proof->problem[0] != '\0',
                "'%s' was read and is unknown", s->name);
    if (!is_known) {
        const kiln_type t = plain_of(net_slot(p, s->operand[0])->value);
        from = kiln_tensor_new(&p->scratch, &t);
    }
    *out = s->kind == KILN_NET_TAKE
               ? kiln_prover_element(p, from.data, s->operand[1], iteration)
               : from;
    return KILN_OK;
}

/* ---- lifetimes ------------------------------------------------------------------- */

static void ask_until(kiln_prover *p, int slot, int step) {
    const kiln_net_slot *s = net_slot(p, slot);
    if (p->slot[slot].last >= step)
        return;
    p->slot[slot].last = step;
    for (int k = 0; s->means != NULL && k < s->means->n_in; k++)
        if (s->means_in[k] >= 0)
            ask_until(p, s->means_in[k], step);
    if (s->view_of >= 0)
        ask_until(p, s->view_of, step);
}

/* In a loop: until its end. */
static void find_lasts(kiln_prover *p) {
    const kiln_net *n = p->net;
    int end = -1;
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_step *s = &n->step.v[i];
        if (s->kind == KILN_NET_LOOP && s->partner > end)
            end = s->partner;
        const int until = end > (int)i ? end : (int)i;
        for (int k = 0; k < s->n_operands; k++)
            ask_until(p, s->operand[k], until);
    }
}

void kiln_prover_begin(kiln_prover *p, const kiln_tensor *in) {
    p->slot = kiln_array(p->arena, kiln_prover_slot, p->net->slot.n + 1);
    for (size_t i = 0; i < p->net->slot.n; i++)
        p->slot[i].last = -1;
    find_lasts(p);
    for (uint32_t i = 0; i < p->net->n_inputs; i++)
        keep(p, p->net->port.v[i].slot, in[i].data);
}

void kiln_prover_release(kiln_prover *p) {
    for (size_t i = 0; i < p->net->slot.n; i++)
        drop(&p->slot[i]);
}

/* ---- sizes ----------------------------------------------------------------------- */

static uint64_t step_bytes(const kiln_net *n, const kiln_net_step *s) {
    uint64_t bytes = 0;
    for (int k = 0; k < s->n_operands; k++) {
        const int slot = s->operand[k];
        if (!kiln_net_is_param(n, slot))
            bytes += (uint64_t)n->slot.v[slot].bytes;
    }
    return bytes;
}

uint64_t kiln_network_trace_bytes(const kiln_network *network, int begin, int *end,
                                  uint64_t limit) {
    enum { SEEN = 3 }; /* iterations of a loop; of loops in loops, of each */
    const kiln_net *n = network->net;
    uint64_t all = 0, block = 0, runs = 1;
    int depth = 0, good = begin;
    KILN_ASSERT(begin >= 0 && begin <= *end && (size_t)*end <= n->step.n,
                "steps %d to %d of %zu", begin, *end, n->step.n);
    for (int i = begin; i < *end; i++) {
        const kiln_net_step *s = &n->step.v[i];
        const uint64_t times = s->kind == KILN_NET_LOOP
                                   ? (uint64_t)(s->count < SEEN ? s->count : SEEN)
                                   : 1;
        depth += s->kind == KILN_NET_IF || s->kind == KILN_NET_LOOP;
        runs *= times > 0 ? times : 1;
        block += runs * step_bytes(n, s);
        if (s->kind == KILN_NET_END) {
            const kiln_net_step *l = &n->step.v[s->partner];
            const uint64_t seen = l->kind != KILN_NET_LOOP || l->count < 1 ? 1
                                  : l->count < SEEN ? (uint64_t)l->count
                                                    : SEEN;
            runs /= seen;
            depth--;
        }
        if (depth > 0)
            continue;
        if (good > begin && all + block > limit)
            break;
        all += block;
        block = 0;
        good = i + 1;
    }
    *end = good;
    return all;
}
