/* Bound inference: what part of each stage is needed where it is computed.
 *
 * Consumers come first. A stage at root computes all of its tensor. A stage attached
 * inside a loop of another computes what the reads inside that loop need: their indexes
 * are relaxed over the loops further in, and the loops around stand still (TVM thesis,
 * section 4.3; the same idea as Halide's bounds inference, PLDI'13). Extents are
 * constants: where the difference of the symbolic bounds is not one, its largest value
 * by intervals is taken.
 */
#include "compiler/schedule/schedule_internal.h"
#include "base/fault.h"

#include <inttypes.h>
#include <string.h>

/* ---- iterators of one stage ------------------------------------------------------ */

typedef struct pass {
    kiln_arena *arena;
    kiln_lowered_stage *l;
    KILN_VEC(kiln_extent) known; /* every iterator: extent on the way down */
} pass;

static int64_t extent_of(const pass *p, const kiln_iter *x) {
    for (size_t i = p->known.n; i-- > 0;)
        if (p->known.v[i].iter == x)
            return p->known.v[i].extent;
    KILN_ASSERT(false, "iterator '%s' has no extent", x->name);
    return 0;
}

static void set_extent(pass *p, const kiln_iter *x, int64_t extent) {
    const kiln_extent e = {.iter = x, .extent = extent};
    kiln_vec_push(p->arena, &p->known, e);
}

static bool is_known(const pass *p, const kiln_iter *x) {
    for (size_t i = 0; i < p->known.n; i++)
        if (p->known.v[i].iter == x)
            return true;
    return false;
}

/* Extents of what x was split or fused into. The region may be smaller than the whole
 * axis: a split's inner loop keeps its factor unless all of the axis is less. */
static void descend(pass *p, const kiln_iter *x) {
    const int64_t extent = extent_of(p, x);
    if (x->split_outer != NULL) {
        const int64_t inner = extent < x->split_factor ? extent : x->split_factor;
        const int64_t whole = inner > 0 ? inner : 1;
        set_extent(p, x->split_inner, whole);
        set_extent(p, x->split_outer,
                   extent / whole + (extent % whole != 0 && !KILN_FAULT(split_extent)));
        descend(p, x->split_outer);
        descend(p, x->split_inner);
    } else if (x->fused_into != NULL) {
        const kiln_iter *f = x->fused_into;
        if (is_known(p, f->fused_outer) && is_known(p, f->fused_inner) &&
            !is_known(p, f)) {
            set_extent(p, f,
                       extent_of(p, f->fused_outer) * extent_of(p, f->fused_inner));
            descend(p, f);
        }
    }
}

/* The value of x in terms of the leaves' variables, in [0, extent). */
static const kiln_expr *value_of(const pass *p, const kiln_iter *x) {
    kiln_arena *a = p->arena;
    if (x->split_outer != NULL)
        return kiln_x_add(a,
                          kiln_x_mul(a, value_of(p, x->split_outer),
                                     kiln_x_index(a, extent_of(p, x->split_inner))),
                          value_of(p, x->split_inner));
    if (x->fused_into != NULL) {
        const kiln_iter *f = x->fused_into;
        const kiln_expr *inner = kiln_x_index(a, extent_of(p, f->fused_inner));
        return kiln_x_binary(
            a, x == f->fused_outer ? KILN_EXPR_FLOORDIV : KILN_EXPR_FLOORMOD,
            value_of(p, f), inner);
    }
    if (extent_of(p, x) == 1)
        return kiln_x_index(a, 0);
    return kiln_x_ref(a, x->var);
}

static void find_overhangs(const pass *p) {
    for (size_t i = 0; i < p->known.n; i++) {
        const kiln_iter *x = p->known.v[i].iter;
        if (x->split_outer == NULL ||
            p->known.v[i].extent % extent_of(p, x->split_inner) == 0)
            continue;
        const kiln_overhang o = {value_of(p, x), p->known.v[i].extent,
                                 x->kind == KILN_ITER_REDUCE};
        kiln_vec_push(p->arena, &p->l->overhang, o);
    }
}

void kiln_pass_down(kiln_arena *a, kiln_lowered_stage *l) {
    KILN_ASSERT(l->te != NULL && l->root_extent != NULL,
                "stage '%s' has no region to compute", l->stage->te->name);
    const kiln_stage *st = l->stage;
    pass p = {.arena = a, .l = l};
    for (size_t i = 0; i < st->root.n; i++)
        set_extent(&p, st->root.v[i], l->root_extent[i]);
    if (st->unit != NULL)
        set_extent(&p, st->unit, 1);
    for (size_t i = 0; i < st->root.n; i++)
        descend(&p, st->root.v[i]);
    if (st->unit != NULL)
        descend(&p, st->unit);
    l->root = kiln_array(a, const kiln_expr *, st->root.n);
    for (size_t i = 0; i < st->root.n; i++)
        l->root[i] = value_of(&p, st->root.v[i]);
    find_overhangs(&p);
    l->leaf = kiln_array(a, kiln_extent, st->leaf.n);
    for (size_t i = 0; i < st->leaf.n; i++) {
        const kiln_iter *x = st->leaf.v[i];
        l->leaf[i] = (kiln_extent){x, extent_of(&p, x), kiln_x_ref(a, x->var)};
    }
}

/* ---- symbolic bounds ------------------------------------------------------------- */

static const kiln_range *find_range(const kiln_ranges *r, const kiln_var *v) {
    for (size_t i = r->stack.n; i-- > 0;)
        if (r->stack.v[i].var == v)
            return &r->stack.v[i];
    return NULL;
}

typedef struct bounds {
    const kiln_expr *lo, *hi;
} bounds;

static bounds bounds_of(const kiln_ranges *r, kiln_arena *a, const kiln_expr *e);

static bounds bounds_linear(const kiln_ranges *r, kiln_arena *a, const kiln_expr *e) {
    const bounds x = bounds_of(r, a, e->arg[0]), y = bounds_of(r, a, e->arg[1]);
    const bool flip = e->kind == KILN_EXPR_SUB;
    const kiln_expr *ylo = flip ? y.hi : y.lo, *yhi = flip ? y.lo : y.hi;
    return (bounds){
        x.lo != NULL && ylo != NULL ? kiln_x_binary(a, e->kind, x.lo, ylo) : NULL,
        x.hi != NULL && yhi != NULL ? kiln_x_binary(a, e->kind, x.hi, yhi) : NULL};
}

static bounds bounds_scaled(const kiln_ranges *r, kiln_arena *a, const kiln_expr *e) {
    int64_t c = 0;
    const bool left = kiln_x_is_int(e->arg[0], &c);
    if (!left && !kiln_x_is_int(e->arg[1], &c))
        return (bounds){NULL, NULL};
    const bounds x = bounds_of(r, a, e->arg[left ? 1 : 0]);
    const kiln_expr *k = kiln_x_index(a, c);
    const kiln_expr *lo = x.lo != NULL ? kiln_x_mul(a, x.lo, k) : NULL;
    const kiln_expr *hi = x.hi != NULL ? kiln_x_mul(a, x.hi, k) : NULL;
    return c >= 0 ? (bounds){lo, hi} : (bounds){hi, lo};
}

static bounds bounds_divided(const kiln_ranges *r, kiln_arena *a, const kiln_expr *e) {
    int64_t c = 0;
    const bounds none = {NULL, NULL};
    if (!kiln_x_is_int(e->arg[1], &c) || c <= 0)
        return none;
    const bounds x = bounds_of(r, a, e->arg[0]);
    if (x.lo == NULL || x.hi == NULL)
        return e->kind == KILN_EXPR_FLOORMOD
                   ? (bounds){kiln_x_index(a, 0), kiln_x_index(a, c - 1)}
                   : none;
    const kiln_expr *k = e->arg[1];
    const kiln_expr *qlo = kiln_x_binary(a, KILN_EXPR_FLOORDIV, x.lo, k);
    const kiln_expr *qhi = kiln_x_binary(a, KILN_EXPR_FLOORDIV, x.hi, k);
    if (e->kind == KILN_EXPR_FLOORDIV)
        return (bounds){qlo, qhi};
    /* A remainder grows with its argument as long as the quotient stays the same. */
    const kiln_expr *same = kiln_simplify_expr(r, a, kiln_x_sub(a, qhi, qlo));
    int64_t difference = 1;
    if (kiln_x_is_int(same, &difference) && difference == 0)
        return (bounds){kiln_x_binary(a, KILN_EXPR_FLOORMOD, x.lo, k),
                        kiln_x_binary(a, KILN_EXPR_FLOORMOD, x.hi, k)};
    return (bounds){kiln_x_index(a, 0), kiln_x_index(a, c - 1)};
}

static bounds bounds_of(const kiln_ranges *r, kiln_arena *a, const kiln_expr *e) {
    const bounds none = {NULL, NULL};
    const kiln_range *range = NULL;
    bounds x, y;
    if (e->kind == KILN_EXPR_INT)
        return (bounds){e, e};
    switch (e->kind) {
    case KILN_EXPR_VAR:
        range = find_range(r, e->u.var);
        if (range == NULL)
            return (bounds){e, e};
        return (bounds){kiln_x_index(a, range->interval.min),
                        kiln_x_index(a, range->interval.max)};
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        return bounds_linear(r, a, e);
    case KILN_EXPR_MUL:
        return bounds_scaled(r, a, e);
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return bounds_divided(r, a, e);
    case KILN_EXPR_MIN:
    case KILN_EXPR_MAX:
        x = bounds_of(r, a, e->arg[0]);
        y = bounds_of(r, a, e->arg[1]);
        if (x.lo == NULL || x.hi == NULL || y.lo == NULL || y.hi == NULL)
            return none;
        return (bounds){kiln_x_binary(a, e->kind, x.lo, y.lo),
                        kiln_x_binary(a, e->kind, x.hi, y.hi)};
    case KILN_EXPR_SELECT:
        x = bounds_of(r, a, e->arg[1]);
        y = bounds_of(r, a, e->arg[2]);
        if (x.lo == NULL || x.hi == NULL || y.lo == NULL || y.hi == NULL)
            return none;
        return (bounds){kiln_x_binary(a, KILN_EXPR_MIN, x.lo, y.lo),
                        kiln_x_binary(a, KILN_EXPR_MAX, x.hi, y.hi)};
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_CALL:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_LOAD:
    case KILN_EXPRS_LANES:
    case KILN_EXPRS_SCOPED:
        break;
    }
    return none; /* reads, calls: data-dependent */
}

void kiln_symbolic_bounds(const kiln_ranges *relaxed, kiln_arena *a, const kiln_expr *e,
                          const kiln_expr **lo, const kiln_expr **hi) {
    const bounds b = bounds_of(relaxed, a, e);
    *lo = b.lo;
    *hi = b.hi;
}

/* ---- regions --------------------------------------------------------------------- */

/* The union of what reads need, per axis. */
typedef struct need {
    kiln_lowering *lo;
    const kiln_te *te; /* what is read */
    const kiln_ranges *relaxed;
    const kiln_subst *map; /* the reader's axes in terms of loops */
    size_t n_map;
    const kiln_expr *min[KILN_MAX_AXES], *max[KILN_MAX_AXES];
    const kiln_expr *last[KILN_MAX_AXES]; /* index, of the same reader; NULL: none */
    bool is_whole[KILN_MAX_AXES];
    bool is_read;
} need;

static void add_read(void *user, const kiln_expr *e) {
    need *n = user;
    if (e->kind != KILN_EXPR_READ || e->u.read.te != n->te)
        return;
    kiln_arena *a = n->lo->arena;
    for (int i = 0; i < n->te->rank; i++) {
        /* Taps of one axis read the others at the same places. */
        if (n->last[i] != NULL && kiln_expr_eq(n->last[i], e->arg[i]))
            continue;
        n->last[i] = e->arg[i];
        const kiln_expr *index = kiln_expr_substitute(a, e->arg[i], n->map, n->n_map);
        const kiln_expr *lo, *hi;
        kiln_symbolic_bounds(n->relaxed, a, index, &lo, &hi);
        if (lo == NULL || hi == NULL) {
            n->is_whole[i] = true;
            continue;
        }
        lo = kiln_simplify_expr(&n->lo->ranges, a, lo);
        hi = kiln_simplify_expr(&n->lo->ranges, a, hi);
        n->min[i] = !n->is_read || n->min[i] == NULL
                        ? lo
                        : kiln_x_binary(a, KILN_EXPR_MIN, n->min[i], lo);
        n->max[i] = !n->is_read || n->max[i] == NULL
                        ? hi
                        : kiln_x_binary(a, KILN_EXPR_MAX, n->max[i], hi);
    }
    n->is_read = true;
}

/* Is `st` computed within the body of loop `x` of `consumer` (or is it the consumer
 * itself)? */
static bool is_within(const kiln_stage *st, const kiln_stage *consumer) {
    while (st != consumer && st->attach == KILN_ATTACH_AT)
        st = st->at_stage;
    return st == consumer;
}

/* Is it computed in the body of the consumer's loop x: attached there or further in? */
static bool is_inside_loop(const kiln_stage *st, const kiln_stage *consumer,
                           const kiln_iter *x) {
    const kiln_iter *at = NULL;
    while (st != consumer && st->attach == KILN_ATTACH_AT) {
        at = st->at_iter;
        st = st->at_stage;
    }
    if (st != consumer || at == NULL)
        return st == consumer;
    bool inside = false;
    for (size_t i = 0; i < consumer->leaf.n; i++) {
        inside = inside || consumer->leaf.v[i] == x;
        if (consumer->leaf.v[i] == at)
            return inside;
    }
    return false;
}

/* Loops further in than the attachment run over their ranges: the consumer's own leaves
 * behind x, and all loops of stages that are attached inside. */
static void relax_inner(kiln_lowering *lo, const kiln_stage *consumer,
                        const kiln_iter *x, kiln_ranges *relaxed) {
    for (size_t s = 0; s < lo->schedule->stage.n; s++) {
        const kiln_lowered_stage *l = &lo->stage[s];
        if (l->leaf == NULL || !is_within(l->stage, consumer))
            continue;
        bool inside = l->stage != consumer;
        for (size_t i = 0; i < l->stage->leaf.n; i++) {
            if (inside)
                kiln_ranges_push(relaxed, l->leaf[i].iter->var, 0,
                                 l->leaf[i].extent - 1);
            inside = inside || l->leaf[i].iter == x;
        }
    }
}

static size_t axes_of(const kiln_lowered_stage *l, kiln_arena *a, kiln_subst *map) {
    const kiln_te *te = l->te;
    size_t n = 0;
    for (int i = 0; i < te->rank; i++)
        map[n++] =
            (kiln_subst){te->axis[i]->var, kiln_x_add(a, l->region.min[i], l->root[i])};
    for (int i = 0; i < te->n_reduce; i++)
        map[n++] = (kiln_subst){te->reduce[i]->var, l->root[te->rank + i]};
    return n;
}

static void whole_region(kiln_arena *a, const kiln_te *te, kiln_region *r) {
    for (int i = 0; i < te->rank; i++) {
        r->min[i] = kiln_x_index(a, 0);
        r->extent[i] = kiln_te_dim(te, i);
    }
}

static void finish_region(kiln_lowering *lo, need *n, kiln_region *r) {
    kiln_arena *a = lo->arena;
    for (int i = 0; i < n->te->rank; i++) {
        const int64_t dim = kiln_te_dim(n->te, i);
        r->min[i] = kiln_x_index(a, 0);
        r->extent[i] = dim;
        if (n->is_whole[i] || n->min[i] == NULL)
            continue;
        const kiln_expr *min = kiln_simplify_expr(&lo->ranges, a, n->min[i]);
        const kiln_expr *size = kiln_simplify_expr(
            &lo->ranges, a,
            kiln_x_add(a, kiln_x_sub(a, n->max[i], min), kiln_x_index(a, 1)));
        int64_t extent = 0;
        if (!kiln_x_is_int(size, &extent))
            extent = kiln_interval_of(&lo->ranges, size).max;
        if (extent >= dim)
            continue; /* all of it, and simpler so */
        r->min[i] = min;
        r->extent[i] = extent > 0 ? extent : 1;
        r->extent[i] -= r->extent[i] > 1 && KILN_FAULT(region_short);
    }
}

static kiln_status region_at(kiln_lowering *lo, size_t position, kiln_err *err) {
    kiln_arena *a = lo->arena;
    kiln_lowered_stage *l = &lo->stage[position];
    const kiln_stage *st = l->stage;
    kiln_ranges relaxed = {.arena = a};
    relax_inner(lo, st->at_stage, st->at_iter, &relaxed);
    kiln_relax_threads(lo, st, &relaxed);
    need n = {.lo = lo, .te = st->origin, .relaxed = &relaxed};
    for (size_t c = position + 1; c < lo->schedule->stage.n; c++) {
        const kiln_lowered_stage *reader = &lo->stage[c];
        if (reader->leaf == NULL || !kiln_te_reads(reader->te, st->origin))
            continue;
        if (!is_inside_loop(reader->stage, st->at_stage, st->at_iter))
            return kiln_fail(
                err, KILN_ERR_ARG,
                "compute_at: '%s' is computed inside '%s', but '%s' reads it outside",
                st->te->name, st->at_stage->te->name, reader->te->name);
        if (reader->te->kind != KILN_TE_COMPUTE) {
            for (int i = 0; i < st->te->rank; i++)
                n.is_whole[i] = true;
            n.is_read = true;
            continue;
        }
        kiln_subst map[2 * KILN_MAX_AXES];
        n.map = map;
        n.n_map = axes_of(reader, a, map);
        memset(n.last, 0, sizeof n.last);
        for (int i = 0; i < reader->te->n_out; i++)
            kiln_expr_visit(reader->te->body[i], add_read, &n);
    }
    if (!n.is_read)
        return kiln_fail(err, KILN_ERR_ARG,
                         "compute_at: nothing inside '%s' reads '%s'",
                         st->at_stage->te->name, st->te->name);
    n.te = st->te; /* the same shape; axes of what the stage computes now */
    finish_region(lo, &n, &l->region);
    return KILN_OK;
}

static bool is_attached_loop(const kiln_stage *st) {
    for (size_t i = 0; i < st->at_stage->leaf.n; i++)
        if (st->at_stage->leaf.v[i] == st->at_iter)
            return true;
    return false;
}

kiln_status kiln_infer_bounds(kiln_lowering *lo, kiln_err *err) {
    kiln_arena *a = lo->arena;
    const kiln_schedule *s = lo->schedule;
    KILN_TRY(kiln_check_threads(lo, err));
    for (size_t i = s->stage.n; i-- > 0;) {
        kiln_lowered_stage *l = &lo->stage[i];
        if (l->te == NULL)
            continue;
        if (l->stage->attach == KILN_ATTACH_AT) {
            if (!is_attached_loop(l->stage))
                return kiln_fail(err, KILN_ERR_ARG,
                                 "compute_at: '%s' is attached to loop '%s' of '%s', "
                                 "which was split "
                                 "or fused since; attach it to a loop that exists",
                                 l->te->name, l->stage->at_iter->name,
                                 l->stage->at_stage->te->name);
            KILN_TRY(region_at(lo, i, err));
        } else {
            whole_region(a, l->te, &l->region);
        }
        const size_t n_root = l->stage->root.n;
        l->root_extent = kiln_array(a, int64_t, n_root);
        for (size_t k = 0; k < n_root; k++)
            l->root_extent[k] = k < (size_t)l->te->rank ? l->region.extent[k]
                                                        : l->stage->root.v[k]->extent;
        kiln_pass_down(a, l);
        KILN_TRY(kiln_check_widths(lo, l, err));
        for (size_t k = 0; k < l->stage->leaf.n; k++)
            kiln_ranges_push(&lo->ranges, l->leaf[k].iter->var, 0,
                             l->leaf[k].extent - 1);
    }
    return KILN_OK;
}
