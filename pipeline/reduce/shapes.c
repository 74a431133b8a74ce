/* Moves that make shapes, attributes and constants smaller or plainer. Extents that are
 * equal often mean one thing, so they shrink together; what does not fit together then
 * has no types and is never asked for. */
#include "pipeline/reduce/reduce_internal.h"

#include <string.h>

/* ---- what numbers become --------------------------------------------------------- */

typedef struct change {
    int64_t from, to;
    bool scales; /* multiples of `from` too */
} change;

static int64_t changed(const change *c, int64_t v) {
    if (v == c->from)
        return c->to;
    return c->scales && v > 0 && v % c->from == 0 ? v / c->from * c->to : v;
}

/* Numbers that may be extents: of shapes, of split sizes, of indices. */
static bool holds_extents(const kiln_type *t) {
    return t->dtype == KILN_I64 || t->dtype == KILN_I32;
}

static const void *changed_data(kiln_arena *a, const kiln_value *v, const kiln_type *t,
                                const change *c) {
    const int64_t n = kiln_type_elems(t);
    const size_t size = kiln_dtype_bytes(t->dtype);
    char *data = kiln_arena_dup(a, kiln_edit_crop(a, v, t), (size_t)n * size);
    for (int64_t i = 0; i < n; i++) {
        int32_t narrow = 0;
        int64_t wide = 0;
        void *at = data + (size_t)i * size;
        if (t->dtype == KILN_I64) {
            memcpy(&wide, at, sizeof wide);
            wide = changed(c, wide);
            memcpy(at, &wide, sizeof wide);
        } else {
            memcpy(&narrow, at, sizeof narrow);
            narrow = (int32_t)changed(c, narrow);
            memcpy(at, &narrow, sizeof narrow);
        }
    }
    return data;
}

/* A leaf of another type: constants that are data are random, others are cut. */
static void retype(kiln_edit *e, const kiln_value *v, const kiln_type *t) {
    kiln_edit_value *f = &e->value[v->id];
    const bool is_data = !holds_extents(t) && t->dtype != KILN_BOOL;
    f->type = *t;
    if (v->data != NULL && is_data && !kiln_type_same_shape(t, &v->type))
        f->seed = (uint64_t)v->id % KILN_REDUCE_SEEDS + 1;
}

static void change_attrs(kiln_edit *e, const kiln_node *n, const change *c) {
    for (size_t k = 0; k < n->op->n_attr; k++) {
        const kiln_attr_kind kind = n->op->attr[k].kind;
        if (kind != KILN_ATTR_INT && kind != KILN_ATTR_INTS)
            continue;
        kiln_attr *attr = kiln_edit_attr(e, n);
        attr[k].i = kind == KILN_ATTR_INT ? changed(c, attr[k].i) : 0;
        int64_t *ints = kiln_array(e->arena, int64_t, attr[k].n);
        for (size_t i = 0; i < attr[k].n; i++)
            ints[i] = changed(c, n->attr[k].ints[i]);
        attr[k].ints = ints;
    }
}

static void change_leaves(kiln_edit *e, const change *c) {
    for (size_t i = 0; i < e->g->values.n; i++) {
        const kiln_value *v = e->g->values.v[i];
        if (v->def != NULL)
            continue;
        kiln_type t = v->type;
        for (int k = 0; k < t.rank; k++)
            t.dim[k] = changed(c, t.dim[k]);
        retype(e, v, &t);
    }
}

static void change_indices(kiln_edit *e, const change *c) {
    for (size_t i = 0; i < e->g->values.n; i++) {
        const kiln_value *v = e->g->values.v[i];
        if (v->data != NULL && holds_extents(&v->type))
            e->value[i].data = changed_data(e->arena, v, &e->value[i].type, c);
    }
}

/* ---- shapes ---------------------------------------------------------------------- */

enum { MOST_EXTENTS = 32, N_TARGETS = 8 };

/* Different extents of leaves above 1, the largest first. */
static size_t extents(const kiln_graph *g, int64_t out[MOST_EXTENTS]) {
    size_t n = 0;
    for (size_t i = 0; i < g->values.n; i++) {
        const kiln_value *v = g->values.v[i];
        for (int k = 0; k < v->type.rank && v->def == NULL; k++) {
            const int64_t d = v->type.dim[k];
            size_t at = 0;
            while (at < n && out[at] > d)
                at++;
            if (d < 2 || (at < n && out[at] == d) || at == MOST_EXTENTS)
                continue;
            n += n < MOST_EXTENTS;
            memmove(&out[at + 1], &out[at], (n - at - 1) * sizeof *out);
            out[at] = d;
        }
    }
    return n;
}

static int64_t target(int64_t d, size_t i) {
    const int64_t to[N_TARGETS] = {1, 2, 3, 4, 8, 16, d / 2, d - 1};
    return to[i];
}

static kiln_move_answer make_shapes(kiln_edit *e, size_t i) {
    enum { SCALED, EVERYWHERE, LEAVES, N_WAYS };
    int64_t extent[MOST_EXTENTS];
    const size_t n = extents(e->g, extent), way = i % N_WAYS, at = i / N_WAYS;
    if (at / N_TARGETS >= n)
        return KILN_MOVE_END;
    const change c = {.from = extent[at / N_TARGETS],
                      .to = target(extent[at / N_TARGETS], at % N_TARGETS),
                      .scales = way == SCALED};
    if (c.to >= c.from || (at % N_TARGETS > 5 && c.to < 3))
        return KILN_MOVE_NOTHING;
    change_leaves(e, &c);
    for (size_t k = 0; k < e->g->nodes.n && way != LEAVES; k++)
        change_attrs(e, e->g->nodes.v[k], &c);
    if (way != LEAVES)
        change_indices(e, &c);
    return KILN_MOVE_EDIT;
}
const kiln_move kiln_move_shapes = {"shapes", make_shapes};

/* One axis of one input or constant. */
static kiln_move_answer make_axes(kiln_edit *e, size_t i) {
    enum { N = 3 };
    size_t at = i / N;
    for (size_t k = 0; k < e->g->values.n; k++) {
        const kiln_value *v = e->g->values.v[k];
        if (v->def != NULL)
            continue;
        if (at >= (size_t)v->type.rank) {
            at -= (size_t)v->type.rank;
            continue;
        }
        const int64_t d = v->type.dim[at], to = i % N == 0 ? 1 : i % N == 1 ? 2 : d / 2;
        kiln_type t = v->type;
        t.dim[at] = to;
        if (to >= d || to < 1)
            return KILN_MOVE_NOTHING;
        retype(e, v, &t);
        return KILN_MOVE_EDIT;
    }
    return KILN_MOVE_END;
}
const kiln_move kiln_move_axes = {"axes", make_axes};

/* ---- attributes ------------------------------------------------------------------ */

/* Way 0: as if not given; 1: all 1; 2: all 0. */
static bool plainer(kiln_edit *e, const kiln_attr_def *def, kiln_attr *attr,
                    size_t way) {
    switch (def->kind) {
    case KILN_ATTR_INTS: {
        int64_t *ints = kiln_array(e->arena, int64_t, attr->n);
        for (size_t i = 0; i < attr->n; i++)
            ints[i] = way == 1;
        *attr = (kiln_attr){.n = way == 0 ? 0 : attr->n, .ints = ints};
        return true;
    }
    case KILN_ATTR_INT:
        attr->i = way == 0 ? def->default_i : way == 1;
        return true;
    case KILN_ATTR_BOOL:
    case KILN_ATTR_WORD:
        attr->i = def->default_i;
        return way == 0;
    case KILN_ATTR_FLOAT:
        attr->f = def->default_f;
        return way == 0;
    case KILN_ATTR_DTYPE:
    case KILN_ATTR_FLOATS:
    case KILN_ATTR_WORDS:
    case KILN_ATTR_GRAPH:
        return false;
    }
    return false;
}

static kiln_move_answer make_attributes(kiln_edit *e, size_t i) {
    enum { N_WAYS = 3 };
    size_t at = i / N_WAYS;
    for (size_t k = 0; k < e->g->nodes.n; k++) {
        const kiln_node *n = e->g->nodes.v[k];
        if (at >= n->op->n_attr) {
            at -= n->op->n_attr;
            continue;
        }
        kiln_attr *attr = kiln_edit_attr(e, n);
        return plainer(e, &n->op->attr[at], &attr[at], i % N_WAYS) ? KILN_MOVE_EDIT
                                                                   : KILN_MOVE_NOTHING;
    }
    return KILN_MOVE_END;
}
const kiln_move kiln_move_attributes = {"attributes", make_attributes};

/* ---- constants ------------------------------------------------------------------- */

static kiln_move_answer make_values(kiln_edit *e, size_t i) {
    if (i >= e->g->values.n)
        return KILN_MOVE_END;
    const kiln_value *v = e->g->values.v[i];
    if (v->data == NULL || kiln_type_elems(&v->type) <= KILN_REDUCE_FEW_ELEMS)
        return KILN_MOVE_NOTHING;
    e->value[i].seed = (uint64_t)v->id % KILN_REDUCE_SEEDS + 1;
    return KILN_MOVE_EDIT;
}
const kiln_move kiln_move_values = {"values", make_values};
