/* Values on other devices than their own: mirrors, made by copies, for as long as what
 * they mirror stays as it is. */
#include "compiler/network/place_internal.h"
#include "base/fault.h"

#include <inttypes.h>

int kiln_placer_home(const kiln_placer *p, int slot) {
    KILN_ASSERT(slot >= 0 && (size_t)slot < p->n->slot.n, "slot %d of %zu has a home",
                slot, p->n->slot.n);
    return p->n->slot.v[kiln_net_root(p->n, slot)].device;
}

/* ---- parts of memory ------------------------------------------------------------- */

typedef struct part {
    int root;
    int64_t begin, end; /* bytes */
} part;

static part part_of(const kiln_net *n, int slot) {
    part r = {slot, 0, n->slot.v[slot].bytes};
    for (; n->slot.v[r.root].view_of >= 0; r.root = n->slot.v[r.root].view_of)
        r.begin += n->slot.v[r.root].view_offset;
    r.end += r.begin;
    KILN_ASSERT(r.end <= n->slot.v[r.root].bytes,
                "slot %d ends behind slot %d, of which it is a view", slot, r.root);
    return r;
}

static bool overlap(const kiln_net *n, int x, int y) {
    const part a = part_of(n, x), b = part_of(n, y);
    return a.root == b.root && a.begin < b.end && b.begin < a.end;
}

bool kiln_placer_is_written(const kiln_placer *p, int slot, int begin, int end) {
    KILN_ASSERT(0 <= begin && begin <= end && (size_t)end <= p->n_from,
                "steps %d to %d of %zu are asked for writes", begin, end, p->n_from);
    for (int i = begin; i < end; i++)
        for (int k = p->from[i].n_read; k < p->from[i].n_operands; k++)
            if (overlap(p->n, p->from[i].operand[k], slot))
                return true;
    return false;
}

void kiln_placer_forget(kiln_placer *p, int slot) {
    size_t n = 0;
    for (size_t i = 0; i < p->mirror.n; i++)
        if (!overlap(p->n, p->mirror.v[i].slot, slot))
            p->mirror.v[n++] = p->mirror.v[i];
    p->mirror.n = n;
}

/* ---- slots ----------------------------------------------------------------------- */

int kiln_placer_like(kiln_placer *p, int slot, int device) {
    const kiln_net_slot *s = &p->n->slot.v[slot];
    const kiln_net_slot like = {.place = KILN_NET_ARENA,
                                .device = device,
                                .bytes = s->bytes,
                                .view_of = -1,
                                .layout = s->layout,
                                .packing = s->packing,
                                .facts = s->facts,
                                .value = s->value};
    return kiln_net_add_slot(p->n, &like);
}

/* The same view of `of`, which holds what the slot is a view of. */
static int view_like(kiln_placer *p, int slot, int of) {
    kiln_net_slot view = p->n->slot.v[slot];
    view.place = KILN_NET_ARENA;
    view.view_of = of;
    view.is_given = false;
    return kiln_net_add_slot(p->n, &view);
}

/* The bytes of what it is a view of, and no step makes it: who has the one has the
 * other. */
static bool is_alias(const kiln_net *n, int slot) {
    const kiln_net_slot *s = &n->slot.v[slot];
    const kiln_net_slot *of = s->view_of >= 0 ? &n->slot.v[s->view_of] : NULL;
    return of != NULL && s->view_offset == 0 && s->bytes == of->bytes && !s->is_given &&
           (s->means != NULL || s->value == of->value);
}

static void keep(kiln_placer *p, int slot, int device, int at) {
    KILN_ASSERT(kiln_placer_home(p, at) == device,
                "slot %d mirrors slot %d on device %d, but lies on %d", at, slot,
                device, kiln_placer_home(p, at));
    const kiln_mirror m = {slot, device, at};
    kiln_vec_push(p->n->arena, &p->mirror, m);
}

int kiln_placer_find(const kiln_placer *p, int slot, int device) {
    for (size_t i = 0; i < p->mirror.n; i++)
        if (p->mirror.v[i].slot == slot && p->mirror.v[i].device == device)
            return p->mirror.v[i].at;
    return -1;
}

/* ---- copies ---------------------------------------------------------------------- */

static kiln_net_step copy_of(const kiln_placer *p, int from, int to) {
    kiln_net *n = p->n;
    const int source = kiln_placer_home(p, from), target = kiln_placer_home(p, to);
    const char *path = p->from[p->now].path != NULL ? p->from[p->now].path : "";
    int *operand = kiln_array(n->arena, int, 2);
    KILN_ASSERT(n->slot.v[from].bytes == n->slot.v[to].bytes,
                "slot %d of %" PRId64 " bytes is copied to slot %d of %" PRId64, from,
                n->slot.v[from].bytes, to, n->slot.v[to].bytes);
    operand[0] = from;
    operand[1] = to;
    KILN_ASSERT(source == 0 || target == 0 || source == target,
                "no queue reaches from device %d to %d", source, target);
    return (kiln_net_step){.kind = KILN_NET_COPY,
                           .device = target != 0 ? target : source,
                           .operand = operand,
                           .n_operands = 2,
                           .n_read = 1,
                           .name = kiln_format(n->arena, "copy %s%s to %s", path,
                                               n->slot.v[to].value->name,
                                               n->device.v[target].kind),
                           .op = "copy"};
}

void kiln_placer_copy(kiln_placer *p, int from, int to) {
    const kiln_net_step copy = copy_of(p, from, to);
    kiln_vec_push(p->n->arena, &p->n->step, copy);
}

void kiln_placer_hand_on(kiln_placer *p, int made, int slot, int device) {
    keep(p, slot, device, made);
    if (device != 0 && kiln_placer_home(p, slot) != 0) {
        const int between = kiln_placer_like(p, slot, 0);
        kiln_placer_copy(p, made, between);
        keep(p, slot, 0, between);
        made = between;
    }
    kiln_placer_copy(p, made, slot);
}

/* ---- constants ------------------------------------------------------------------- */

static int find_param(const kiln_placer *p, int slot, int device) {
    for (size_t i = 0; i < p->param.n; i++)
        if (p->param.v[i].slot == slot && p->param.v[i].device == device)
            return p->param.v[i].at;
    return -1;
}

/* All of a constant in packed memory of the device, by a step that a model makes when
 * it is opened. One of no bytes has nothing to copy. */
static int copy_param(kiln_placer *p, int slot, int device) {
    kiln_net *n = p->n;
    const int at = kiln_placer_like(p, slot, device);
    kiln_net_slot *s = &n->slot.v[at];
    if (s->bytes == 0)
        return at;
    s->place = KILN_NET_PACKED;
    const kiln_net_step copy = copy_of(p, slot, at);
    kiln_vec_push(n->arena, &p->open[device], copy);
    return at;
}

static int param_on(kiln_placer *p, int slot, int device) {
    const int of = p->n->slot.v[slot].view_of;
    int at = find_param(p, slot, device);
    if (at >= 0)
        return at;
    at = of >= 0 ? view_like(p, slot, param_on(p, of, device))
                 : copy_param(p, slot, device);
    const kiln_mirror m = {slot, device, at};
    kiln_vec_push(p->n->arena, &p->param, m);
    return at;
}

/* ---- values ---------------------------------------------------------------------- */

int kiln_placer_bring(kiln_placer *p, int slot, int device) {
    KILN_ASSERT(device >= 0 && (size_t)device < p->n->device.n,
                "slot %d is brought to device %d of %zu", slot, device, p->n->device.n);
    const int home = kiln_placer_home(p, slot);
    if (home == device)
        return slot;
    if (kiln_net_is_param(p->n, slot))
        return param_on(p, slot, device);
    int at = kiln_placer_find(p, slot, device);
    if (at >= 0)
        return at;
    if (is_alias(p->n, slot)) {
        const int of = kiln_placer_bring(p, p->n->slot.v[slot].view_of, device);
        at = view_like(p, slot, of);
    } else {
        const int from =
            home == 0 || device == 0 ? slot : kiln_placer_bring(p, slot, 0);
        at = kiln_placer_like(p, slot, device);
        if (!KILN_FAULT(device_copy))
            kiln_placer_copy(p, from, at);
    }
    keep(p, slot, device, at);
    return at;
}
