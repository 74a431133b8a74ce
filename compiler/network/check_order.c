/* Do queues wait for one another where they must? A second witness beside what made the
 * waits (waits.c): runs are gone through as they would go, some ways through branches
 * one after another, with a note on every 64 bytes of the host's memory of who wrote
 * and who read them last. A queue may touch what another one has touched only if it
 * knows that one to be done: by a wait of its own, or of one that it waited for. */
#include "compiler/network/executable_internal.h"
#include "compiler/network/network_place.h"

#include <string.h>

enum { N_WAYS = 6, NEVER = -1, N_QUEUES = KILN_NET_MAX_DEVICES };

/* A step that a queue was told in this run. */
typedef struct told {
    int step, queue;
    int known[N_QUEUES];
} told;

/* Who touched 64 bytes last: numbers of what was told. */
typedef struct line {
    int write, read[N_QUEUES];
} line;

typedef struct order {
    const kiln_net *n;
    kiln_err *err;
    kiln_arena arena;
    size_t *output_at, n_lines;
    line *line;
    int *last; /* by step: when it was told last */
    KILN_VEC(told) told;
    int known[N_QUEUES][N_QUEUES]; /* by queue: how far it knows each to be done */
    kiln_rng branches;
    int way;
} order;

/* ---- memory ---------------------------------------------------------------------- */

static size_t lines_of(int64_t bytes) {
    return ((size_t)bytes + KILN_NETWORK_ALIGN - 1) / KILN_NETWORK_ALIGN;
}

static void lay_out(order *o) {
    const kiln_net *n = o->n;
    size_t at = lines_of(n->device.v[0].arena_bytes);
    o->output_at = kiln_array(&o->arena, size_t, n->n_outputs);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        o->output_at[i] = at;
        at += lines_of(kiln_type_bytes(&n->port.v[n->n_inputs + i].value->type));
    }
    o->n_lines = at;
    o->line = kiln_array(&o->arena, line, at);
    o->last = kiln_array(&o->arena, int, n->step.n);
}

static kiln_status touch_line(const order *o, const line *l, int step, bool is_written,
                              kiln_err *err) {
    const int queue = o->n->step.v[step].device;
    int other = NEVER;
    if (l->write != NEVER && o->told.v[l->write].queue != queue &&
        o->known[queue][o->told.v[l->write].queue] < l->write)
        other = l->write;
    for (int q = 0; q < N_QUEUES && is_written; q++)
        if (q != queue && l->read[q] != NEVER && o->known[queue][q] < l->read[q])
            other = l->read[q];
    if (other == NEVER)
        return KILN_OK;
    const kiln_net_step *s = &o->n->step.v[step];
    const kiln_net_step *t = &o->n->step.v[o->told.v[other].step];
    return kiln_fail(err, KILN_ERR_BUG,
                     "step '%s' of '%s' does not wait for step '%s' of '%s', which "
                     "touches the same memory of the host",
                     s->name, o->n->device.v[s->device].kind, t->name,
                     o->n->device.v[t->device].kind);
}

/* now: the number of what is told. */
static kiln_status touch(order *o, int step, int k, int now) {
    const kiln_net_step *s = &o->n->step.v[step];
    const kiln_net_slot *slot = &o->n->slot.v[s->operand[k]];
    const bool is_output = slot->place == KILN_NET_OUTPUT, is_written = k >= s->n_read;
    if (!is_output && (slot->place != KILN_NET_ARENA || slot->device != 0))
        return KILN_OK;
    const size_t begin = (is_output ? o->output_at[slot->index] : 0) +
                         (size_t)slot->offset / KILN_NETWORK_ALIGN;
    for (size_t i = begin; i < begin + lines_of(slot->bytes) && i < o->n_lines; i++) {
        line *l = &o->line[i];
        KILN_TRY(touch_line(o, l, step, is_written, o->err));
        if (now != NEVER && is_written)
            l->write = now;
        else if (now != NEVER)
            l->read[s->device] = now;
    }
    return KILN_OK;
}

/* ---- a run ----------------------------------------------------------------------- */

static void wait(order *o, const kiln_net_step *s) {
    const int at = o->last[s->partner];
    if (at == NEVER)
        return; /* it was not told: there is nothing to wait for */
    const told *t = &o->told.v[at];
    int *known = o->known[s->device];
    known[t->queue] = at > known[t->queue] ? at : known[t->queue];
    for (int q = 0; q < N_QUEUES; q++)
        known[q] = t->known[q] > known[q] ? t->known[q] : known[q];
}

static kiln_status tell(order *o, int step) {
    const kiln_net_step *s = &o->n->step.v[step];
    told t = {.step = step, .queue = s->device};
    const int now = (int)o->told.n;
    memcpy(t.known, o->known[s->device], sizeof t.known);
    kiln_vec_push(&o->arena, &o->told, t);
    o->last[step] = now;
    for (int k = 0; k < s->n_operands; k++)
        KILN_TRY(touch(o, step, k, now));
    return KILN_OK;
}

/* All first ways, all other ones, then any. */
static bool goes_first(order *o) {
    return o->way < 2 ? o->way == 0 : kiln_rng_range(&o->branches, 0, 1) == 0;
}

static kiln_status run(order *o, int begin, int end) {
    enum { RUNS = 3 }; /* of a loop: what comes later is as what came before */
    for (int i = begin; i < end; i++) {
        const kiln_net_step *s = &o->n->step.v[i];
        if (s->kind == KILN_NET_IF) {
            const int other = s->partner, last = o->n->step.v[other].partner;
            KILN_TRY(touch(o, i, 0, NEVER));
            KILN_TRY(goes_first(o) ? run(o, i + 1, other) : run(o, other + 1, last));
            i = last;
        } else if (s->kind == KILN_NET_LOOP) {
            for (int64_t t = 0; t < s->count && t < RUNS; t++)
                KILN_TRY(run(o, i + 1, s->partner));
            i = s->partner;
        } else if (s->kind == KILN_NET_WAIT) {
            wait(o, s);
        } else {
            KILN_TRY(tell(o, i));
        }
    }
    return KILN_OK;
}

static void begin_run(order *o) {
    o->told.n = 0;
    memset(o->known, 0xFF, sizeof o->known); /* NEVER */
    if (o->n_lines > 0)
        memset(o->line, 0xFF, o->n_lines * sizeof *o->line);
    for (size_t i = 0; i < o->n->step.n; i++)
        o->last[i] = NEVER;
}

kiln_status kiln_net_check_order(const kiln_net *n, kiln_err *err) {
    order o = {.n = n, .err = err};
    kiln_status st = KILN_OK;
    bool has_branch = false;
    if (n->device.n < 2)
        return KILN_OK;
    lay_out(&o);
    kiln_rng_init(&o.branches, 1);
    for (size_t i = 0; i < n->step.n; i++)
        has_branch = has_branch || n->step.v[i].kind == KILN_NET_IF;
    for (o.way = 0; o.way < (has_branch ? N_WAYS : 1) && st == KILN_OK; o.way++) {
        begin_run(&o);
        st = run(&o, 0, (int)n->step.n);
    }
    kiln_arena_fini(&o.arena);
    return st;
}
