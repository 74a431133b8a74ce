/* Placing lifetimes, and what of a graph needs a place. */
#include "compiler/graph/graph_memory.h"
#include "base/fault.h"

#include <stdlib.h>

/* ---- intervals ------------------------------------------------------------------- */

static int64_t rounded(int64_t bytes, int64_t align) {
    return (bytes + align - 1) / align * align;
}

static int64_t bound_of(kiln_arena *a, const kiln_lifetime *item, int n,
                        int64_t align) {
    int last = 0;
    for (int i = 0; i < n; i++)
        last = item[i].last > last ? item[i].last : last;
    int64_t *change = kiln_array(a, int64_t, last + 2), live = 0, most = 0;
    for (int i = 0; i < n; i++) {
        change[item[i].first] += rounded(item[i].bytes, align);
        change[item[i].last + 1] -= rounded(item[i].bytes, align);
    }
    for (int step = 0; step <= last; step++) {
        live += change[step];
        most = live > most ? live : most;
    }
    return most;
}

typedef struct ranked {
    const kiln_lifetime *item;
    int index;
    int64_t key[2];
} ranked;

static int by_key(const void *x, const void *y) {
    const ranked *a = x, *b = y;
    for (int i = 0; i < 2; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? 1 : -1;
    return a->index - b->index; /* one order for equal input: builds are repeatable */
}

static bool overlaps(const kiln_lifetime *x, const kiln_lifetime *y) {
    return KILN_FAULT(plan_overlap) ? x->first < y->last && y->first < x->last
                                    : x->first <= y->last && y->first <= x->last;
}

typedef struct placed {
    const kiln_lifetime *item;
    int64_t begin, end;
} placed;

/* The tightest gap among those placed already, sorted by where they begin. */
static int64_t best_gap(const placed *list, int n, const kiln_lifetime *item,
                        int64_t bytes) {
    int64_t at = 0, best = -1, best_size = 0;
    for (int i = 0; i < n; i++) {
        if (!overlaps(list[i].item, item))
            continue;
        const int64_t gap = list[i].begin - at;
        if (gap >= bytes && (best < 0 || gap < best_size)) {
            best = at;
            best_size = gap;
        }
        at = list[i].end > at ? list[i].end : at;
    }
    return best >= 0 ? best : at;
}

static int64_t place_in_order(kiln_arena *a, const ranked *order, int n, int64_t align,
                              int64_t *offset) {
    placed *list = kiln_array(a, placed, n);
    int64_t peak = 0;
    for (int i = 0; i < n; i++) {
        const kiln_lifetime *item = order[i].item;
        const int64_t bytes = rounded(item->bytes, align);
        const int64_t at = best_gap(list, i, item, bytes);
        int k = i;
        for (; k > 0 && list[k - 1].begin > at; k--)
            list[k] = list[k - 1];
        list[k] = (placed){item, at, at + bytes};
        offset[order[i].index] = at;
        peak = at + bytes > peak ? at + bytes : peak;
    }
    return peak;
}

/* What ends highest is placed first the next time. */
static void put_highest_first(ranked *order, int n, const int64_t *offset) {
    int at = 0;
    if (n == 0)
        return;
    for (int i = 1; i < n; i++)
        if (offset[order[i].index] + order[i].item->bytes >
            offset[order[at].index] + order[at].item->bytes)
            at = i;
    const ranked highest = order[at];
    for (; at > 0; at--)
        order[at] = order[at - 1];
    order[0] = highest;
}

void kiln_plan_memory(kiln_arena *a, const kiln_lifetime *item, int n, int64_t align,
                      kiln_memory_plan *out) {
    KILN_ASSERT(align > 0, "places at multiples of %lld", (long long)align);
    enum { WAYS = 2, MORE_TRIES = 40 };
    ranked *order = kiln_array(a, ranked, n);
    *out = (kiln_memory_plan){.offset = kiln_array(a, int64_t, n),
                              .peak = INT64_MAX,
                              .lower_bound = bound_of(a, item, n, align)};
    for (int way = 0; way < WAYS && out->peak > out->lower_bound; way++) {
        for (int i = 0; i < n; i++) {
            const int64_t length = item[i].last - item[i].first;
            order[i] = (ranked){&item[i], i, {item[i].bytes, length}};
            if (way == 1) {
                order[i].key[0] = length;
                order[i].key[1] = item[i].bytes;
            }
        }
        qsort(order, (size_t)n, sizeof *order, by_key);
        for (int i = 0; i <= MORE_TRIES && out->peak > out->lower_bound; i++) {
            int64_t *offset = kiln_array(a, int64_t, n);
            const int64_t peak = place_in_order(a, order, n, align, offset);
            put_highest_first(order, n, offset);
            if (peak >= out->peak)
                continue;
            out->peak = peak;
            out->offset = offset;
        }
    }
}

/* ---- steps and slots ------------------------------------------------------------- */

typedef struct flow {
    kiln_flow in;
    int *first, *last; /* by slot; -1: never written, never touched */
    kiln_flow_plan *plan;
} flow;

static int root_of(const flow *f, int slot) {
    while (f->plan->root[slot] != slot)
        slot = f->plan->root[slot];
    return slot;
}

static void read_lifetimes(flow *f) {
    for (int i = 0; i < f->in.n_slots; i++)
        f->first[i] = f->last[i] = -1;
    for (int k = 0; k < f->in.n_steps; k++) {
        const kiln_flow_step *step = &f->in.step[k];
        for (int i = 0; i < step->n_write; i++) {
            if (f->first[step->write[i]] < 0)
                f->first[step->write[i]] = k;
            f->last[step->write[i]] = k;
        }
        for (int i = 0; i < step->n_read; i++)
            f->last[step->read[i]] = KILN_FAULT(liveness_short) ? k - 1 : k;
    }
}

/* A root lives as long as its views, those included that are made before it is whole.
 */
static void join_views(flow *f) {
    for (int i = 0; i < f->in.n_slots; i++)
        f->plan->root[i] = f->in.slot[i].view_of >= 0 ? f->in.slot[i].view_of : i;
    for (int i = 0; i < f->in.n_slots; i++) {
        const int root = root_of(f, i);
        f->plan->n_views += root != i;
        for (int k = i; k != root; k = f->in.slot[k].view_of)
            f->plan->inside[i] +=
                KILN_FAULT(view_inside) ? 0 : f->in.slot[k].view_offset;
        if (f->last[root] < f->last[i])
            f->last[root] = f->last[i];
        if (f->first[i] >= 0 && (f->first[root] < 0 || f->first[root] > f->first[i]))
            f->first[root] = f->first[i];
    }
}

static void mark_touched(const flow *f, const int *slot, int n, bool *touched) {
    for (int i = 0; i < n; i++)
        touched[root_of(f, slot[i])] = true;
}

/* What comes from before a loop is read in each iteration, what goes behind it may be
 * written in the first: its place belongs to nobody else in between. */
static void stay_through_loops(kiln_arena *a, flow *f) {
    for (int l = 0; l < f->in.n_loops; l++) {
        const kiln_flow_loop *loop = &f->in.loop[l];
        bool *touched = kiln_array(a, bool, f->in.n_slots);
        for (int k = loop->first; k <= loop->last; k++) {
            const kiln_flow_step *step = &f->in.step[k];
            mark_touched(f, step->read, step->n_read, touched);
            mark_touched(f, step->write, step->n_write, touched);
        }
        for (int i = 0; i < f->in.n_slots; i++) {
            if (!touched[i] || f->first[i] < 0 ||
                (f->first[i] >= loop->first && f->last[i] <= loop->last))
                continue;
            f->first[i] = f->first[i] < loop->first ? f->first[i] : loop->first;
            f->last[i] = f->last[i] > loop->last ? f->last[i] : loop->last;
        }
    }
}

/* Is the root one operand of the step, and no more? Two operands may be one slot: a
 * region that captures a value twice reads it under two names. */
static bool is_read_once(const flow *f, const kiln_flow_step *step, int slot) {
    int n = 0;
    for (int i = 0; i < step->n_read; i++)
        n += root_of(f, step->read[i]) == root_of(f, slot);
    return n == 1;
}

static void take_places(flow *f) {
    for (int k = 0; k < f->in.n_steps; k++) {
        const kiln_flow_step *step = &f->in.step[k];
        const int result = step->n_write == 1 ? step->write[0] : -1;
        if (result < 0 || f->in.slot[result].is_fixed || f->first[result] != k ||
            root_of(f, result) != result)
            continue;
        for (int i = 0; i < step->n_takeable; i++) {
            const int root = root_of(f, step->takeable[i]);
            if (f->in.slot[root].is_fixed || f->first[root] < 0 ||
                (f->last[root] != k && !KILN_FAULT(in_place_early)) ||
                f->in.slot[root].bytes != f->in.slot[result].bytes ||
                f->in.slot[step->takeable[i]].bytes != f->in.slot[root].bytes ||
                !is_read_once(f, step, step->takeable[i]))
                continue;
            f->plan->root[result] = root;
            f->last[root] = f->last[result];
            f->plan->n_in_place++;
            break;
        }
    }
}

void kiln_plan_flow(kiln_arena *a, const kiln_flow *in, int64_t align,
                    kiln_flow_plan *out) {
    const int n_slots = in->n_slots;
    flow f = {.in = *in,
              .first = kiln_array(a, int, n_slots),
              .last = kiln_array(a, int, n_slots),
              .plan = out};
    *out = (kiln_flow_plan){.root = kiln_array(a, int, n_slots),
                            .inside = kiln_array(a, int64_t, n_slots),
                            .offset = kiln_array(a, int64_t, n_slots)};
    read_lifetimes(&f);
    join_views(&f);
    if (!KILN_FAULT(loop_liveness))
        stay_through_loops(a, &f);
    take_places(&f);
    kiln_lifetime *item = kiln_array(a, kiln_lifetime, n_slots);
    int *index = kiln_array(a, int, n_slots), n = 0;
    for (int i = 0; i < n_slots; i++) {
        index[i] = -1;
        if (root_of(&f, i) != i || in->slot[i].is_fixed || f.first[i] < 0)
            continue;
        index[i] = n;
        item[n++] = (kiln_lifetime){in->slot[i].bytes, f.first[i], f.last[i]};
    }
    kiln_memory_plan m = {.peak = 0};
    if (n > 0)
        kiln_plan_memory(a, item, n, align, &m);
    out->peak = m.peak;
    out->lower_bound = m.lower_bound;
    for (int i = 0; i < n_slots; i++) {
        out->root[i] = root_of(&f, i);
        out->offset[i] = index[out->root[i]] >= 0
                             ? m.offset[index[out->root[i]]] + out->inside[i]
                             : -1;
    }
}

bool kiln_group_can_take(const kiln_group *group, const kiln_value *v) {
    for (int i = 0; i < group->n; i++) {
        const kiln_node *n = group->node[i];
        const bool is_elementwise = kiln_is_elementwise(n);
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] == v &&
                (!is_elementwise || !kiln_type_same_shape(&v->type, &n->out[0]->type)))
                return false;
        /* What stands between v and the result must keep the place as well. */
        if (n != group->anchor && !is_elementwise)
            return false;
    }
    return kiln_type_same_shape(&v->type, &group->node[group->n - 1]->out[0]->type);
}
