/* Placing lifetimes, and what of a graph needs a place. */
#include "compiler/graph/memory.h"

#include <stdlib.h>

/* ---- intervals
 * ----------------------------------------------------------------------- */

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
    return x->first <= y->last && y->first <= x->last;
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

void kiln_plan_memory(kiln_arena *a, const kiln_lifetime *item, int n, int64_t align,
                      kiln_memory_plan *out) {
    ranked *order = kiln_array(a, ranked, n);
    *out = (kiln_memory_plan){.offset = kiln_array(a, int64_t, n),
                              .peak = INT64_MAX,
                              .lower_bound = bound_of(a, item, n, align)};
    for (int way = 0; way < 2; way++) {
        int64_t *offset = kiln_array(a, int64_t, n);
        for (int i = 0; i < n; i++) {
            const int64_t length = item[i].last - item[i].first;
            order[i] = (ranked){&item[i], i, {item[i].bytes, length}};
            if (way == 1) {
                order[i].key[0] = length;
                order[i].key[1] = item[i].bytes;
            }
        }
        qsort(order, (size_t)n, sizeof *order, by_key);
        const int64_t peak = place_in_order(a, order, n, align, offset);
        if (peak >= out->peak)
            continue;
        out->peak = peak;
        out->offset = offset;
    }
}

/* ---- graphs
 * -------------------------------------------------------------------------- */

typedef struct planning {
    kiln_arena *arena;
    const kiln_graph *g;
    const kiln_fusion *f;
    const kiln_layout *layout; /* by value id; NULL: as typed */
    kiln_value_plan *plan;
    bool *is_output; /* by value id */
    int *last;       /* by value id: last step that reads it; -1: none */
    int *first;
} planning;

static int64_t bytes_of(const planning *p, const kiln_value *v) {
    kiln_type t = v->type;
    if (p->layout != NULL)
        t.layout = p->layout[v->id];
    return kiln_type_bytes(&t);
}

static int step_of(const planning *p, const kiln_node *n) { return p->f->of[n->index]; }

/* Made in one group and read in another, or given out. */
static bool leaves_group(const planning *p, const kiln_value *v) {
    return p->is_output[v->id] || p->last[v->id] > p->first[v->id];
}

static void read_lifetimes(planning *p) {
    const kiln_graph *g = p->g;
    for (size_t i = 0; i < g->values.n; i++)
        p->first[i] = p->last[i] = -1;
    for (size_t i = 0; i < g->outputs.n; i++)
        p->is_output[g->outputs.v[i]->id] = true;
    for (size_t i = 0; i < g->nodes.n; i++) {
        const kiln_node *n = g->nodes.v[i];
        for (int k = 0; k < n->n_out; k++)
            p->first[n->out[k]->id] = step_of(p, n);
        for (int k = 0; k < n->n_in; k++)
            if (n->in[k] != NULL && p->last[n->in[k]->id] < step_of(p, n))
                p->last[n->in[k]->id] = step_of(p, n);
    }
}

/* Does the group read v only where it writes the same element? Then the result may take
 * v's place. */
static bool is_read_in_place(const kiln_group *group, const kiln_value *v) {
    for (int i = 0; i < group->n; i++) {
        const kiln_node *n = group->node[i];
        for (int k = 0; k < n->n_in; k++) {
            if (n->in[k] != v)
                continue;
            if (n->op->fuse != KILN_FUSE_INJECTIVE ||
                n->op->layout != KILN_LAYOUT_OBLIVIOUS || n->n_out != 1 ||
                !kiln_type_same_shape(&v->type, &n->out[0]->type))
                return false;
        }
        /* What stands between v and the result must keep the place as well. */
        if (n != group->anchor && (n->op->fuse != KILN_FUSE_INJECTIVE ||
                                   n->op->layout != KILN_LAYOUT_OBLIVIOUS))
            return false;
    }
    return true;
}

static const kiln_value *root_of(const planning *p, const kiln_value *v) {
    while (p->plan->storage[v->id].root != v)
        v = p->plan->storage[v->id].root;
    return v;
}

static bool has_layout_of(const planning *p, const kiln_value *x, const kiln_value *y) {
    return p->layout == NULL ? kiln_layout_eq(&x->type.layout, &y->type.layout)
                             : kiln_layout_eq(&p->layout[x->id], &p->layout[y->id]);
}

/* Does the group read the storage of v under another name too? */
static bool has_alias(const planning *p, const kiln_group *group, const kiln_value *v) {
    for (int i = 0; i < group->n; i++)
        for (int k = 0; k < group->node[i]->n_in; k++) {
            const kiln_value *in = group->node[i]->in[k];
            if (in != NULL && in != v && root_of(p, in) == root_of(p, v))
                return true;
        }
    return false;
}

/* An input of the group that ends here and is as large as the result. */
static const kiln_value *place_to_take(const planning *p, int step,
                                       const kiln_value *result) {
    const kiln_group *group = &p->f->group[step];
    for (int i = 0; i < group->n; i++)
        for (int k = 0; k < group->node[i]->n_in; k++) {
            const kiln_value *v = group->node[i]->in[k];
            if (v == NULL || v == result || v->def == NULL ||
                step_of(p, v->def) == step)
                continue;
            const kiln_value *root = root_of(p, v);
            if (p->plan->storage[root->id].kind == KILN_STORAGE_ARENA &&
                p->last[root->id] == step && bytes_of(p, v) == bytes_of(p, result) &&
                bytes_of(p, root) == bytes_of(p, result) &&
                kiln_type_same_shape(&v->type, &result->type) &&
                has_layout_of(p, v, result) && !has_alias(p, group, v) &&
                is_read_in_place(group, v))
                return root;
        }
    return NULL;
}

/* The storage of `result` is that of `root`, which now lives as long. */
static void share(planning *p, const kiln_value *result, const kiln_value *root) {
    kiln_storage *s = &p->plan->storage[result->id];
    s->root = root;
    s->kind = p->plan->storage[root->id].kind;
    if (p->last[root->id] < p->last[result->id])
        p->last[root->id] = p->last[result->id];
}

/* Views of the caller's memory or of parameters need no place; an output must be in the
 * caller's, so its view is copied there by the executor. */
static void choose_storage(planning *p, int step, const kiln_value *v) {
    const kiln_group *group = &p->f->group[step];
    kiln_storage *s = &p->plan->storage[v->id];
    s->root = v;
    if (p->is_output[v->id]) {
        s->kind = KILN_STORAGE_OUTPUT;
        return;
    }
    if (!leaves_group(p, v))
        return;
    s->kind = KILN_STORAGE_ARENA;
    if (group->is_view && group->node[0]->in[0] != NULL) {
        share(p, v, root_of(p, group->node[0]->in[0]));
        p->plan->n_views++;
        return;
    }
    const kiln_value *taken = place_to_take(p, step, v);
    if (taken == NULL)
        return;
    share(p, v, taken);
    p->plan->n_in_place++;
}

/* A view lives on in its root: known before any place is taken. */
static void extend_roots(planning *p) {
    for (int step = p->f->n; step-- > 0;) {
        const kiln_group *group = &p->f->group[step];
        if (!group->is_view || group->node[0]->in[0] == NULL)
            continue;
        const kiln_value *v = group->node[0]->out[0], *in = group->node[0]->in[0];
        if (p->last[in->id] < p->last[v->id])
            p->last[in->id] = p->last[v->id];
    }
}

static void place_all(planning *p, int64_t align) {
    const kiln_graph *g = p->g;
    kiln_lifetime *item = kiln_array(p->arena, kiln_lifetime, g->values.n);
    int *index = kiln_array(p->arena, int, g->values.n);
    int n = 0;
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_storage *s = &p->plan->storage[i];
        if (s->kind != KILN_STORAGE_ARENA || s->root != g->values.v[i])
            continue;
        index[i] = n;
        item[n++] =
            (kiln_lifetime){bytes_of(p, g->values.v[i]), p->first[i], p->last[i]};
    }
    kiln_memory_plan m;
    kiln_plan_memory(p->arena, item, n, align, &m);
    p->plan->peak = n > 0 ? m.peak : 0;
    p->plan->lower_bound = m.lower_bound;
    for (size_t i = 0; i < g->values.n; i++) {
        kiln_storage *s = &p->plan->storage[i];
        if (s->kind != KILN_STORAGE_ARENA)
            continue;
        s->root = root_of(p, g->values.v[i]);
        s->offset = m.offset[index[s->root->id]];
    }
}

void kiln_graph_plan_memory(kiln_arena *a, const kiln_graph *g, const kiln_fusion *f,
                            const kiln_layout *layout, int64_t align,
                            kiln_value_plan *out) {
    planning p = {.arena = a,
                  .g = g,
                  .f = f,
                  .layout = layout,
                  .plan = out,
                  .is_output = kiln_array(a, bool, g->values.n),
                  .last = kiln_array(a, int, g->values.n),
                  .first = kiln_array(a, int, g->values.n)};
    *out = (kiln_value_plan){.storage = kiln_array(a, kiln_storage, g->values.n)};
    for (size_t i = 0; i < g->values.n; i++)
        out->storage[i].root = g->values.v[i];
    for (size_t i = 0; i < g->values.n; i++)
        if (kiln_value_is_const(g->values.v[i]))
            out->storage[i].kind = KILN_STORAGE_CONST;
    for (size_t i = 0; i < g->inputs.n; i++)
        out->storage[g->inputs.v[i]->id].kind = KILN_STORAGE_INPUT;
    read_lifetimes(&p);
    extend_roots(&p);
    for (int step = 0; step < f->n; step++)
        for (int i = 0; i < f->group[step].n; i++)
            for (int k = 0; k < f->group[step].node[i]->n_out; k++)
                choose_storage(&p, step, f->group[step].node[i]->out[k]);
    place_all(&p, align);
}
