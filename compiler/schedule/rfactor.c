/* rfactor: one reduction loop becomes a spatial axis of a partial result, which is
 * reduced afterwards. */
#include "compiler/schedule/schedule_internal.h"
#include "base/fault.h"

#include <string.h>

/* Offset of a root axis in terms of the loops that splits and fuses left (no region:
 * roots start at 0). */
static kiln_status root_values(kiln_arena *a, const kiln_stage *st,
                               kiln_lowered_stage *l) {
    memset(l, 0, sizeof *l);
    l->stage = st;
    l->te = st->te;
    l->root_extent = kiln_array(a, int64_t, st->root.n);
    for (size_t i = 0; i < st->root.n; i++)
        l->root_extent[i] = st->root.v[i]->extent;
    kiln_pass_down(a, l);
    return KILN_OK;
}

static const kiln_reduction *single_reduction(const kiln_te *te) {
    if (te->n_out < 1 || te->body[0]->kind != KILN_EXPR_REDUCE)
        return NULL;
    return te->body[0]->u.reduce;
}

/* Leaves of the factored stage: the spatial axes with x among them, then reduction
 * leaves but x. */
typedef struct factoring {
    kiln_arena *arena;
    kiln_stage *stage;
    kiln_iter *x;
    int at; /* x's place among the axes */
    const kiln_reduction *reduction;
    kiln_lowered_stage lowered;
    kiln_te *partial;
    kiln_subst map[4 * KILN_MAX_AXES];
    size_t n_map;
    const kiln_expr *guard;
} factoring;

/* Where an axis of the stage is among those of the partial stage. */
static int place_of(const factoring *f, int axis) {
    return axis < f->at ? axis : axis + 1;
}

static void map_to(factoring *f, const kiln_var *v, const kiln_expr *e) {
    f->map[f->n_map++] = (kiln_subst){v, e};
}

/* "c.rf", or "c.rf2" and so on where the stage is factored again. */
static const char *partial_name(kiln_arena *a, const kiln_stage *st) {
    const char *name = kiln_format(a, "%s.rf", st->te->name);
    for (int i = 2; kiln_schedule_find(st->schedule, name) != NULL; i++)
        name = kiln_format(a, "%s.rf%d", st->te->name, i);
    return name;
}

/* The partial stage's axes, and every old loop variable in terms of them. */
static kiln_status make_axes(factoring *f, kiln_err *err) {
    kiln_stage *st = f->stage;
    int64_t dim[KILN_MAX_AXES];
    if (st->te->rank + 1 > KILN_MAX_AXES)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "rfactor: stage '%s' would have more than %d axes",
                         st->te->name, KILN_MAX_AXES);
    size_t n_reduce = 0;
    for (size_t i = 0; i < st->leaf.n; i++)
        n_reduce += st->leaf.v[i]->kind == KILN_ITER_REDUCE;
    if (n_reduce > KILN_MAX_AXES)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "rfactor: stage '%s' has more than %d reduction loops",
                         st->te->name, KILN_MAX_AXES);
    dim[f->at] = f->x->extent;
    for (int i = 0; i < st->te->rank; i++)
        dim[place_of(f, i)] = kiln_te_dim(st->te, i);
    f->partial =
        kiln_te_begin(f->arena, partial_name(f->arena, st), st->te->rank + 1, dim);
    map_to(f, f->x->var, kiln_te_var(f->partial, f->at));
    for (int i = 0; i < st->te->rank; i++)
        map_to(f, st->te->axis[i]->var, kiln_te_var(f->partial, place_of(f, i)));
    for (size_t i = 0; i < st->leaf.n; i++) {
        const kiln_iter *leaf = st->leaf.v[i];
        if (leaf->kind != KILN_ITER_REDUCE || leaf == f->x)
            continue;
        const kiln_axis *axis =
            kiln_te_reduce_axis(f->partial, leaf->name, leaf->extent);
        map_to(f, leaf->var, kiln_axis_var(f->arena, axis));
    }
    return KILN_OK;
}

/* Reduction roots in terms of the new axes; where a split does not divide, what runs
 * over is guarded. */
static void map_roots(factoring *f) {
    kiln_arena *a = f->arena;
    const kiln_stage *st = f->stage;
    const size_t n_leaf_maps = f->n_map;
    for (int i = 0; i < st->te->n_reduce; i++) {
        const kiln_expr *offset = f->lowered.root[st->te->rank + i];
        map_to(f, st->te->reduce[i]->var,
               kiln_expr_substitute(a, offset, f->map, n_leaf_maps));
    }
    for (size_t i = 0; i < f->lowered.overhang.n; i++) {
        const kiln_overhang *o = &f->lowered.overhang.v[i];
        const kiln_expr *inside = kiln_x_binary(
            a, KILN_EXPR_LT, kiln_expr_substitute(a, o->value, f->map, n_leaf_maps),
            kiln_x_index(a, o->extent));
        f->guard = f->guard == NULL ? inside
                                    : kiln_x_binary(a, KILN_EXPR_AND, f->guard, inside);
    }
}

static kiln_status make_partial(factoring *f, kiln_err *err) {
    kiln_arena *a = f->arena;
    const kiln_reducer *r = f->reduction->reducer;
    const kiln_expr **source = kiln_array(a, const kiln_expr *, r->n);
    for (int i = 0; i < r->n; i++)
        source[i] = kiln_expr_substitute(a, f->reduction->source[i], f->map, f->n_map);
    const kiln_expr *cond =
        f->reduction->cond != NULL
            ? kiln_expr_substitute(a, f->reduction->cond, f->map, f->n_map)
            : NULL;
    if (f->guard != NULL)
        cond =
            cond == NULL ? f->guard : kiln_x_binary(a, KILN_EXPR_AND, cond, f->guard);
    const kiln_axis **axis = kiln_array(a, const kiln_axis *, KILN_MAX_AXES);
    for (int i = 0; i < f->partial->n_reduce; i++)
        axis[i] = f->partial->reduce[i];
    const kiln_expr *body[KILN_MAX_TE_OUTS];
    for (int i = 0; i < r->n; i++) {
        if (f->partial->n_reduce > 0)
            body[i] = kiln_x_reduce(a, r, source, axis, f->partial->n_reduce, cond, i);
        else
            body[i] = cond == NULL ? source[i]
                                   : kiln_x_select(a, cond, source[i], r->identity[i]);
    }
    return kiln_te_end(f->partial, r->n, body, err);
}

/* This stage: the same axes, reducing over the partial stage's first. */
static kiln_status make_final(factoring *f, kiln_err *err) {
    kiln_arena *a = f->arena;
    kiln_stage *st = f->stage;
    const kiln_reducer *r = f->reduction->reducer;
    int64_t dim[KILN_MAX_AXES];
    for (int i = 0; i < st->te->rank; i++)
        dim[i] = kiln_te_dim(st->te, i);
    kiln_te *te = kiln_te_begin(a, st->te->name, st->te->rank, dim);
    const kiln_axis *axis = kiln_te_reduce_axis(
        te, f->x->name, f->x->extent - (KILN_FAULT(rfactor_partial) ? 1 : 0));
    const kiln_expr *index[KILN_MAX_AXES];
    index[f->at] = kiln_axis_var(a, axis);
    for (int i = 0; i < te->rank; i++)
        index[place_of(f, i)] = kiln_te_var(te, i);
    const kiln_expr **source = kiln_array(a, const kiln_expr *, r->n);
    for (int i = 0; i < r->n; i++)
        source[i] = kiln_x_read(a, f->partial, i, index, te->rank + 1);
    const kiln_expr *body[KILN_MAX_TE_OUTS];
    for (int i = 0; i < st->te->n_out; i++)
        body[i] = kiln_x_reduce(a, r, source, &axis, 1, NULL,
                                st->te->body[i]->u.reduce->index);
    KILN_TRY(kiln_te_end(te, st->te->n_out, body, err));
    te->tag = st->te->tag;
    kiln_stage_set_te(st, te);
    return KILN_OK;
}

kiln_status kiln_rfactor(kiln_stage *st, kiln_iter *x, kiln_stage **out,
                         kiln_err *err) {
    return kiln_rfactor_axis(st, x, 0, out, err);
}

kiln_status kiln_rfactor_axis(kiln_stage *st, kiln_iter *x, int axis, kiln_stage **out,
                              kiln_err *err) {
    kiln_arena *a = st->schedule->arena;
    size_t at = 0;
    if (axis < 0 || axis > st->te->rank)
        return kiln_fail(err, KILN_ERR_ARG,
                         "rfactor: the partial stage of '%s' has axes 0 to %d, no %d",
                         st->te->name, st->te->rank, axis);
    KILN_TRY(kiln_check_leaf(st, x, "rfactor", &at, err));
    if (x->kind != KILN_ITER_REDUCE)
        return kiln_fail(err, KILN_ERR_ARG,
                         "rfactor: '%s' of stage '%s' is no reduction loop", x->name,
                         st->te->name);
    factoring *f = kiln_new(a, factoring);
    f->arena = a;
    f->stage = st;
    f->x = x;
    f->at = axis;
    f->reduction = single_reduction(st->te);
    if (f->reduction == NULL)
        return kiln_fail(err, KILN_ERR_ARG, "rfactor: stage '%s' is no reduction",
                         st->te->name);
    for (size_t i = 0; i < st->leaf.n; i++)
        if (st->leaf.v[i]->kind == KILN_ITER_SPATIAL &&
            (st->leaf.v[i]->split_parent != NULL || st->leaf.v[i]->fused_outer != NULL))
            return kiln_fail(
                err, KILN_ERR_ARG,
                "rfactor: spatial loops of stage '%s' must be untouched: they start "
                "again in both stages",
                st->te->name);
    KILN_TRY(root_values(a, st, &f->lowered));
    KILN_TRY(make_axes(f, err));
    map_roots(f);
    KILN_TRY(make_partial(f, err));
    const size_t position = kiln_stage_position(st);
    KILN_TRY(make_final(f, err));
    kiln_stage *made = kiln_stage_make(st->schedule, f->partial);
    kiln_schedule_insert(st->schedule, position, made);
    *out = made;
    return KILN_OK;
}
