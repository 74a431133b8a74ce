/* The steps once more, each on its device: see network_place.h. */
#include "compiler/network/place_internal.h"

#include <string.h>

int kiln_place_at_random(void *user, const kiln_net *n, int step) {
    const kiln_place_seed *s = user;
    enum { RUNS = 4 }; /* lengths of runs: 1, 2, 4, 8 steps */
    kiln_rng rng;
    (void)n;
    kiln_rng_init(&rng, s->seed);
    const int64_t length = INT64_C(1) << kiln_rng_range(&rng, 0, RUNS - 1);
    const int64_t shift = kiln_rng_range(&rng, 0, length - 1);
    kiln_rng_init(&rng, s->seed * 1000003 + (uint64_t)((step + shift) / length) + 1);
    return (int)kiln_rng_range(&rng, 0, s->n_devices - 1);
}

int kiln_place_by_kernel(void *user, const kiln_net *n, int step) {
    const kiln_net_step *s = &n->step.v[step];
    (void)user;
    if (s->kind != KILN_NET_CALL)
        return 0;
    const bool is_away = n->kernel.v[s->kernel].profile != n->profile;
    KILN_LOG(DEBUG, "devices", "'%s' (%s) is done by the %s", s->name, s->op,
             is_away ? "device" : "host");
    return is_away;
}

static bool is_work(const kiln_net_step *s) {
    return s->kind == KILN_NET_CALL || s->kind == KILN_NET_COPY ||
           s->kind == KILN_NET_TAKE || s->kind == KILN_NET_PUT;
}

/* ---- before ---------------------------------------------------------------------- */

static kiln_status add_devices(kiln_net *n, const kiln_placement *o, kiln_err *err) {
    if (o->n_devices < 1 || o->n_devices > KILN_NET_MAX_DEVICES)
        return kiln_fail(err, KILN_ERR_ARG,
                         "a network must be for 1 to %d devices, is for %d",
                         KILN_NET_MAX_DEVICES, o->n_devices);
    for (int i = 0; i < o->n_devices; i++) {
        const kiln_net_device device = {.kind = o->kind[i]};
        if ((strcmp(o->kind[i], KILN_PLACE_HOST) == 0) != (i == 0))
            return kiln_fail(err, KILN_ERR_ARG,
                             "device 0 and no other must be '" KILN_PLACE_HOST
                             "', device %d is '%s'",
                             i, o->kind[i]);
        if (i > 0)
            kiln_vec_push(n->arena, &n->device, device);
    }
    return KILN_OK;
}

static kiln_status ask(kiln_placer *p, const kiln_placement *o, kiln_err *err) {
    for (size_t i = 0; i < p->n_from; i++) {
        if (!is_work(&p->from[i]))
            continue;
        p->device[i] = o->where(o->user, p->n, (int)i);
        if (p->device[i] < 0 || p->device[i] >= o->n_devices)
            return kiln_fail(err, KILN_ERR_ARG,
                             "step '%s' is placed on device %d, there are %d",
                             p->from[i].name, p->device[i], o->n_devices);
    }
    return KILN_OK;
}

/* Values live with the step that writes first of their memory. */
static void find_homes(kiln_placer *p) {
    kiln_net *n = p->n;
    bool *is_known = kiln_array(n->arena, bool, n->slot.n + 1);
    for (size_t i = 0; i < p->n_from; i++)
        for (int k = p->from[i].n_read; k < p->from[i].n_operands; k++) {
            const int root = kiln_net_root(n, p->from[i].operand[k]);
            if (!is_known[root] && n->slot.v[root].place == KILN_NET_ARENA)
                n->slot.v[root].device = p->device[i];
            is_known[root] = true;
        }
}

/* ---- steps ----------------------------------------------------------------------- */

static void add_step(kiln_placer *p, int i, const kiln_net_step *step) {
    p->at[i] = (int)p->n->step.n;
    kiln_vec_push(p->n->arena, &p->n->step, *step);
}

/* Those that it reads may be mirrors: a result may take the place of these as well. */
static const int *takeable_of(kiln_placer *p, const kiln_net_step *s,
                              const int *operand) {
    int *takeable = kiln_array(p->n->arena, int, s->n_takeable);
    for (int t = 0; t < s->n_takeable; t++)
        for (int k = 0; k < s->n_read; k++)
            if (s->operand[k] == s->takeable[t])
                takeable[t] = operand[k];
    return takeable;
}

static void place_call(kiln_placer *p, int i) {
    const kiln_net_step *s = &p->from[i];
    const int device = p->device[i];
    int *operand = kiln_array(p->n->arena, int, s->n_operands);
    kiln_net_step step = *s;
    for (int k = 0; k < s->n_operands; k++) {
        const int slot = s->operand[k];
        operand[k] = k < s->n_read ? kiln_placer_bring(p, slot, device)
                     : kiln_placer_home(p, slot) == device
                         ? slot
                         : kiln_placer_like(p, slot, device);
    }
    step.device = device;
    step.operand = operand;
    step.takeable = takeable_of(p, s, operand);
    add_step(p, i, &step);
    for (int k = s->n_read; k < s->n_operands; k++) {
        kiln_placer_forget(p, s->operand[k]);
        if (operand[k] != s->operand[k])
            kiln_placer_hand_on(p, operand[k], s->operand[k], device);
    }
}

/* Whoever reaches both ends does it. */
static void place_move(kiln_placer *p, int i) {
    const kiln_net_step *s = &p->from[i];
    const int to = s->operand[1], target = kiln_placer_home(p, to);
    const int there = kiln_placer_find(p, s->operand[0], target);
    int from = there >= 0 ? there : s->operand[0];
    if (target != 0 && kiln_placer_home(p, from) != target)
        from = kiln_placer_bring(p, from, 0);
    int *operand = kiln_array(p->n->arena, int, 2);
    kiln_net_step step = *s;
    operand[0] = from;
    operand[1] = to;
    step.operand = operand;
    step.device = target != 0 ? target : kiln_placer_home(p, from);
    add_step(p, i, &step);
    kiln_placer_forget(p, to);
}

/* ---- blocks ---------------------------------------------------------------------- */

typedef struct mirrors {
    kiln_mirror *v;
    size_t n;
} mirrors;

static mirrors save(const kiln_placer *p) {
    mirrors m = {kiln_array(p->n->arena, kiln_mirror, p->mirror.n + 1), p->mirror.n};
    if (m.n > 0)
        memcpy(m.v, p->mirror.v, m.n * sizeof *m.v);
    return m;
}

static void go_back(kiln_placer *p, const mirrors *m) {
    p->mirror.n = 0;
    for (size_t i = 0; i < m->n; i++)
        kiln_vec_push(p->n->arena, &p->mirror, m->v[i]);
}

/* What steps [begin, end) write. */
static void forget_written(kiln_placer *p, int begin, int end) {
    for (int i = begin; i < end; i++)
        for (int k = p->from[i].n_read; k < p->from[i].n_operands; k++)
            kiln_placer_forget(p, p->from[i].operand[k]);
}

static void place_steps(kiln_placer *p, int begin, int end);

/* A branch's mirrors are its own. */
static void place_if(kiln_placer *p, int i) {
    const kiln_net_step *s = &p->from[i];
    const int other = s->partner, end = p->from[other].partner;
    int *condition = kiln_array(p->n->arena, int, 1);
    kiln_net_step step = *s;
    condition[0] = kiln_placer_bring(p, s->operand[0], 0);
    step.operand = condition;
    add_step(p, i, &step);
    const mirrors before = save(p);
    place_steps(p, i + 1, other);
    go_back(p, &before);
    add_step(p, other, &p->from[other]);
    place_steps(p, other + 1, end);
    add_step(p, end, &p->from[end]);
    go_back(p, &before);
    forget_written(p, i, end);
}

static void bring_ahead(kiln_placer *p, int slot, int device, int begin, int end) {
    if (!kiln_net_is_param(p->n, slot) && kiln_placer_home(p, slot) != device &&
        !kiln_placer_is_written(p, slot, begin, end))
        kiln_placer_bring(p, slot, device);
}

/* What a loop reads and leaves as it is comes once, ahead of it. */
static void bring_all_ahead(kiln_placer *p, int begin, int end) {
    for (int i = begin; i < end; i++) {
        const kiln_net_step *s = &p->from[i];
        if (s->kind == KILN_NET_CALL || s->kind == KILN_NET_IF)
            for (int k = 0; k < s->n_read; k++)
                bring_ahead(p, s->operand[k], p->device[i], begin, end);
        else if (is_work(s) && kiln_placer_home(p, s->operand[1]) != 0 &&
                 kiln_placer_home(p, s->operand[0]) !=
                     kiln_placer_home(p, s->operand[1]))
            bring_ahead(p, s->operand[0], 0, begin, end);
    }
}

/* An iteration begins as the first one does, and as the one before it ended: with the
 * mirrors of what no iteration writes. */
static void place_loop(kiln_placer *p, int i) {
    const int end = p->from[i].partner;
    forget_written(p, i, end);
    bring_all_ahead(p, i, end);
    add_step(p, i, &p->from[i]);
    const mirrors before = save(p);
    place_steps(p, i + 1, end);
    add_step(p, end, &p->from[end]);
    go_back(p, &before);
}

static void place_steps(kiln_placer *p, int begin, int end) {
    for (int i = begin; i < end; i++) {
        p->now = i;
        switch (p->from[i].kind) {
        case KILN_NET_IF:
            place_if(p, i);
            i = p->from[p->from[i].partner].partner;
            break;
        case KILN_NET_LOOP:
            place_loop(p, i);
            i = p->from[i].partner;
            break;
        case KILN_NET_CALL:
            place_call(p, i);
            break;
        case KILN_NET_COPY:
        case KILN_NET_TAKE:
        case KILN_NET_PUT:
            place_move(p, i);
            break;
        case KILN_NET_ELSE:
        case KILN_NET_END:
        case KILN_NET_WAIT:
        case KILN_NET_VIEW:
        case KILN_NET_JOIN:
        case KILN_NET_N_KINDS:
            break;
        }
    }
}

/* ---- afterwards ------------------------------------------------------------------ */

static void find_partners(kiln_placer *p) {
    for (size_t i = 0; i < p->n_from; i++)
        if (!is_work(&p->from[i]))
            p->n->step.v[p->at[i]].partner = p->at[p->from[i].partner];
}

static void add_open(kiln_placer *p) {
    kiln_net *n = p->n;
    for (size_t d = 1; d < n->device.n; d++)
        for (size_t i = 0; i < p->open[d].n; i++)
            kiln_vec_push(n->arena, &n->open, p->open[d].v[i]);
}

/* Those that do nothing go; the others keep their order. */
static void drop_idle(kiln_net *n) {
    bool is_used[KILN_NET_MAX_DEVICES] = {true};
    int number[KILN_NET_MAX_DEVICES] = {0};
    size_t count = 0;
    for (size_t i = 0; i < n->step.n; i++)
        is_used[n->step.v[i].device] = true;
    for (size_t d = 0; d < n->device.n; d++) {
        number[d] = (int)count;
        if (is_used[d])
            n->device.v[count++] = n->device.v[d];
    }
    n->device.n = count;
    for (size_t i = 0; i < n->step.n; i++)
        n->step.v[i].device = number[n->step.v[i].device];
    for (size_t i = 0; i < n->open.n; i++)
        n->open.v[i].device = number[n->open.v[i].device];
    for (size_t i = 0; i < n->slot.n; i++)
        n->slot.v[i].device = number[n->slot.v[i].device];
}

kiln_status kiln_net_place_steps(kiln_net *n, const kiln_placement *o, kiln_err *err) {
    const kiln_net_device host = {.kind = KILN_PLACE_HOST};
    kiln_placer p = {.n = n, .from = n->step.v, .n_from = n->step.n};
    kiln_vec_push(n->arena, &n->device, host);
    if (o == NULL)
        return KILN_OK;
    KILN_TRY(add_devices(n, o, err));
    p.device = kiln_array(n->arena, int, n->step.n);
    p.at = kiln_array(n->arena, int, n->step.n);
    KILN_TRY(ask(&p, o, err));
    find_homes(&p);
    n->step.v = NULL;
    n->step.n = n->step.cap = 0;
    place_steps(&p, 0, (int)p.n_from);
    find_partners(&p);
    add_open(&p);
    drop_idle(n);
    return KILN_OK;
}
