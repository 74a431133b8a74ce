/* Queues that wait for one another. All queues see the host's memory: what one writes
 * there and another reads or writes, by what bytes they are once all have places, must
 * be in order. A device's own memory is its queue's alone.
 *
 * The steps are walked through as a run does: both ways of a branch, loops twice, since
 * what an iteration reads or writes over may be the work of the one before. On the way
 * each queue has a note on how far it knows every other one to be done: by its waits,
 * and by what those knew that it waited for. A wait that this tells to be needless is
 * left out. */
#include "compiler/network/executable_internal.h"
#include "base/fault.h"
#include "compiler/network/network_place.h"

#include <string.h>

/* One way of an if that the walk went through, and what is around it. */
typedef struct way {
    const struct way *around;
    int number; /* of the if, each time that it is met */
    bool is_other;
} way;

/* A step in one place of the walk. */
typedef struct visit {
    int step, queue;
    const way *way;
    int known[KILN_NET_MAX_DEVICES];
} visit;

typedef struct bytes {
    int memory; /* 0: the host's; 1 + i: output i */
    uint64_t begin, end;
} bytes;

/* A queue has waited for a step that may not have run. */
typedef struct fact {
    int queue, visit;
    int since; /* so many visits there were */
} fact;

typedef KILN_VEC(int) steps;

typedef struct waits {
    const kiln_net *n;
    kiln_arena arena;
    KILN_VEC(visit) visit; /* of those that touch what queues share */
    /* By queue: all visits of each other one up to this are done, as far as they were
     * made; and beyond it what steps say that may not have run. */
    int known[KILN_NET_MAX_DEVICES][KILN_NET_MAX_DEVICES];
    KILN_VEC(fact) also;
    steps *of; /* by step: for which ones it waits */
    const way *here;
    int n_ifs;
} waits;

/* ---- what is shared -------------------------------------------------------------- */

static bool bytes_of(const kiln_net *n, int slot, bytes *out) {
    const kiln_net_slot *s = &n->slot.v[slot];
    const bool is_hosts = s->place == KILN_NET_ARENA && s->device == 0;
    if ((!is_hosts && s->place != KILN_NET_OUTPUT) || s->bytes == 0)
        return false;
    *out = (bytes){is_hosts ? 0 : 1 + (int)s->index, s->offset,
                   s->offset + (uint64_t)s->bytes};
    return true;
}

static bool touches(const kiln_net *n, const kiln_net_step *s) {
    bytes b;
    for (int k = 0; k < s->n_operands; k++)
        if (bytes_of(n, s->operand[k], &b))
            return true;
    return false;
}

/* Does one of them write what the other touches? */
static bool conflict(const kiln_net *n, const kiln_net_step *x,
                     const kiln_net_step *y) {
    for (int i = 0; i < x->n_operands; i++)
        for (int k = 0; k < y->n_operands; k++) {
            bytes a, b;
            if ((i >= x->n_read || k >= y->n_read) && bytes_of(n, x->operand[i], &a) &&
                bytes_of(n, y->operand[k], &b) && a.memory == b.memory &&
                a.begin < b.end && b.begin < a.end)
                return true;
        }
    return false;
}

/* ---- ways ------------------------------------------------------------------------ */

/* Has whoever is here gone that way? */
static bool is_around(const way *w, const way *here) {
    for (; here != w && here != NULL; here = here->around)
        continue;
    return here == w;
}

/* Are they two ways of one if? */
static bool exclude(const way *x, const way *y) {
    for (; x != NULL; x = x->around)
        for (const way *z = y; z != NULL; z = z->around)
            if (x->number == z->number && x->is_other != z->is_other)
                return true;
    return false;
}

/* ---- knowledge ------------------------------------------------------------------- */

static int larger(int x, int y) { return x > y ? x : y; }

/* Whoever waited for `of` knows of it and all before it in its queue, and of what that
 * queue knew: of this one too, if `of` was told wherever this one was? */
static bool covers(const waits *w, int of, int at) {
    KILN_ASSERT((size_t)of < w->visit.n && (size_t)at < w->visit.n,
                "visits %d and %d of %zu", of, at, w->visit.n);
    const visit *v = &w->visit.v[of], *u = &w->visit.v[at];
    const int known = v->queue == u->queue ? of : v->known[u->queue];
    return known >= at && is_around(v->way, u->way);
}

static bool knows(const waits *w, int queue, int at) {
    if (w->known[queue][w->visit.v[at].queue] >= at)
        return true;
    for (size_t i = 0; i < w->also.n; i++)
        if (w->also.v[i].queue == queue && covers(w, w->also.v[i].visit, at))
            return true;
    return false;
}

static void learn_also(waits *w, int queue, int at) {
    const fact f = {queue, at, (int)w->visit.n};
    for (size_t i = 0; i < w->also.n; i++)
        if (w->also.v[i].queue == queue && w->also.v[i].visit == at)
            return;
    kiln_vec_push(&w->arena, &w->also, f);
}

/* The queue has waited for it: for all before it too, where it was made for certain. */
static void learn(waits *w, int queue, int at) {
    const visit *v = &w->visit.v[at];
    if (!is_around(v->way, w->here)) {
        learn_also(w, queue, at);
        return;
    }
    int *known = w->known[queue];
    known[v->queue] = larger(known[v->queue], at);
    for (int d = 0; d < KILN_NET_MAX_DEVICES; d++)
        known[d] = larger(known[d], v->known[d]);
    for (size_t i = 0, n = w->also.n; i < n; i++)
        if (w->also.v[i].queue == v->queue && w->also.v[i].since <= at)
            learn_also(w, queue, w->also.v[i].visit);
}

/* A wait is for what the step was told last. */
static void follow(waits *w, int queue, int step) {
    for (size_t i = w->visit.n; i-- > 0;)
        if (w->visit.v[i].step == step && !exclude(w->visit.v[i].way, w->here)) {
            learn(w, queue, (int)i);
            return;
        }
}

/* ---- the walk -------------------------------------------------------------------- */

static void look_back(waits *w, int at) {
    const kiln_net_step *step = w->n->step.v;
    const int queue = step[at].device;
    for (int i = (int)w->visit.n; i-- > 0;) {
        const visit *v = &w->visit.v[i];
        if (v->queue == queue || knows(w, queue, i) || exclude(v->way, w->here) ||
            !conflict(w->n, &step[at], &step[v->step]))
            continue;
        kiln_vec_push(&w->arena, &w->of[at], v->step);
        learn(w, queue, i);
    }
}

static void take(waits *w, int at) {
    const kiln_net_step *s = &w->n->step.v[at];
    for (size_t i = 0; i < w->of[at].n; i++)
        follow(w, s->device, w->of[at].v[i]);
    if (!touches(w->n, s))
        return;
    look_back(w, at);
    if (s->kind == KILN_NET_IF)
        return; /* the host decides before it tells anybody more */
    visit v = {.step = at, .queue = s->device, .way = w->here};
    memcpy(v.known, w->known[s->device], sizeof v.known);
    kiln_vec_push(&w->arena, &w->visit, v);
}

static void walk(waits *w, int begin, int end);

static void walk_way(waits *w, int number, bool is_other, int begin, int end) {
    way *in = kiln_new(&w->arena, way);
    const size_t n_also = w->also.n;
    *in = (way){w->here, number, is_other};
    w->here = in;
    walk(w, begin, end);
    w->here = in->around;
    w->also.n = n_also;
}

/* Behind it a queue knows what it knows either way. */
static void walk_if(waits *w, int at) {
    const int other = w->n->step.v[at].partner, end = w->n->step.v[other].partner;
    KILN_ASSERT(at < other && other < end,
                "the if at step %d goes on at %d and ends at %d", at, other, end);
    const int number = ++w->n_ifs;
    int before[KILN_NET_MAX_DEVICES][KILN_NET_MAX_DEVICES];
    int after[KILN_NET_MAX_DEVICES][KILN_NET_MAX_DEVICES];
    take(w, at);
    memcpy(before, w->known, sizeof before);
    walk_way(w, number, false, at + 1, other);
    memcpy(after, w->known, sizeof after);
    memcpy(w->known, before, sizeof before);
    walk_way(w, number, true, other + 1, end);
    for (int i = 0; i < KILN_NET_MAX_DEVICES; i++)
        for (int k = 0; k < KILN_NET_MAX_DEVICES; k++)
            if (after[i][k] < w->known[i][k])
                w->known[i][k] = after[i][k];
}

static void walk(waits *w, int begin, int end) {
    for (int i = begin; i < end; i++) {
        const kiln_net_step *s = &w->n->step.v[i];
        if (s->kind == KILN_NET_IF) {
            walk_if(w, i);
            i = w->n->step.v[s->partner].partner;
        } else if (s->kind == KILN_NET_LOOP) {
            for (int64_t t = 0; t < s->count && t < 2; t++)
                walk(w, i + 1, s->partner);
            i = s->partner;
        } else {
            take(w, i);
        }
    }
}

/* ---- steps ----------------------------------------------------------------------- */

static bool is_block(const kiln_net_step *s) {
    return s->kind >= KILN_NET_IF && s->kind <= KILN_NET_END;
}

/* Each wait right before the step that it is for. */
static void insert(kiln_net *n, const waits *w) {
    const kiln_net_step *from = n->step.v;
    const size_t n_from = n->step.n;
    int *at = kiln_array(n->arena, int, n_from + 1);
    for (size_t i = 0, all = 0; i < n_from; i++) {
        all += w->of[i].n;
        at[i] = (int)(i + all);
    }
    n->step.v = NULL;
    n->step.n = n->step.cap = 0;
    for (size_t i = 0; i < n_from; i++) {
        kiln_net_step step = from[i];
        for (size_t k = 0; k < w->of[i].n; k++) {
            const int other = w->of[i].v[k];
            const kiln_net_step wait = {
                .kind = KILN_NET_WAIT,
                .device = step.device,
                .partner = at[other],
                .name = kiln_format(n->arena, "wait for %s", from[other].name),
                .op = "wait"};
            kiln_vec_push(n->arena, &n->step, wait);
        }
        if (is_block(&step))
            step.partner = at[step.partner];
        kiln_vec_push(n->arena, &n->step, step);
    }
}

void kiln_net_add_waits(kiln_net *n) {
    waits w = {.n = n};
    if (n->device.n < 2 || KILN_FAULT(device_wait))
        return;
    w.of = kiln_array(&w.arena, steps, n->step.n + 1);
    for (int i = 0; i < KILN_NET_MAX_DEVICES; i++)
        for (int k = 0; k < KILN_NET_MAX_DEVICES; k++)
            w.known[i][k] = -1;
    walk(&w, 0, (int)n->step.n);
    insert(n, &w);
    kiln_arena_fini(&w.arena);
}
