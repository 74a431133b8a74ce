/* Stages in terms of logical indexes: layouts, tail lanes, outputs. */
#include "compiler/tensor/tails.h"
#include "base/fault.h"

#include <string.h>

/* ---- layouts --------------------------------------------------------------------- */

static int order_at(const kiln_type *t, int i) {
    return t->layout.n_order == 0 ? i : t->layout.order[i];
}

int64_t kiln_type_blocked(const kiln_type *t, int axis) {
    KILN_ASSERT(axis >= 0 && axis < t->rank, "a type of rank %d has no axis %d",
                t->rank, axis);
    int64_t n = 1;
    for (int b = 0; b < t->layout.n_blocks; b++)
        if (t->layout.block[b].axis == axis)
            n *= t->layout.block[b].size;
    return n;
}

/* Elements of one step within block b: the later blocks of the same axis. */
static int64_t step_of(const kiln_type *t, int b) {
    int64_t n = 1;
    for (int later = b + 1; later < t->layout.n_blocks; later++)
        if (t->layout.block[later].axis == t->layout.block[b].axis)
            n *= t->layout.block[later].size;
    return n;
}

int kiln_type_physical(const kiln_type *t, int64_t dim[KILN_MAX_AXES]) {
    KILN_ASSERT(t->rank + t->layout.n_blocks <= KILN_MAX_AXES, "%d axes in %d blocks",
                t->rank, t->layout.n_blocks);
    for (int i = 0; i < t->rank; i++) {
        const int axis = order_at(t, i);
        const int64_t n = kiln_type_blocked(t, axis);
        dim[i] = (t->dim[axis] + n - 1) / n;
    }
    for (int b = 0; b < t->layout.n_blocks; b++)
        dim[t->rank + b] = t->layout.block[b].size;
    return t->rank + t->layout.n_blocks;
}

bool kiln_compute_has_zero_tails(const kiln_type *t) {
    return (t->facts & KILN_FACT_TAIL_ZERO) != 0 || !kiln_type_has_tails(t);
}

/* ---- division of indexes --------------------------------------------------------- */

enum { MAX_TERMS = 16 };

/* base + sum of factor * term. */
typedef struct linear {
    int64_t base;
    int n;
    const kiln_expr *term[MAX_TERMS];
    int64_t factor[MAX_TERMS];
} linear;

static bool collect(linear *l, const kiln_expr *e, int64_t factor) {
    int64_t v = 0;
    if (kiln_x_is_int(e, &v)) {
        l->base += v * factor;
        return true;
    }
    if (e->kind == KILN_EXPR_ADD || e->kind == KILN_EXPR_SUB)
        return collect(l, e->arg[0], factor) &&
               collect(l, e->arg[1], e->kind == KILN_EXPR_ADD ? factor : -factor);
    if (e->kind == KILN_EXPR_MUL && kiln_x_is_int(e->arg[1], &v))
        return collect(l, e->arg[0], factor * v);
    if (e->kind == KILN_EXPR_MUL && kiln_x_is_int(e->arg[0], &v))
        return collect(l, e->arg[1], factor * v);
    if (l->n == MAX_TERMS)
        return false;
    l->term[l->n] = e;
    l->factor[l->n++] = factor;
    return true;
}

/* The largest value of an axis of the stage, a quotient or a remainder of such: all
 * begin at 0. -1: not known. */
static int64_t largest(const kiln_te *stage, const kiln_expr *e) {
    int64_t v = 0;
    if (e->kind == KILN_EXPR_FLOORMOD && kiln_x_is_int(e->arg[1], &v) && v > 0)
        return v - 1;
    if (e->kind == KILN_EXPR_FLOORDIV && kiln_x_is_int(e->arg[1], &v) && v > 0) {
        linear l = {0};
        if (!collect(&l, e->arg[0], 1) || l.base < 0)
            return -1;
        int64_t max = l.base;
        for (int i = 0; i < l.n; i++) {
            const int64_t m = largest(stage, l.term[i]);
            if (m < 0 || l.factor[i] < 0)
                return -1;
            max += m * l.factor[i];
        }
        return max / v;
    }
    if (e->kind != KILN_EXPR_VAR || stage == NULL)
        return -1;
    for (int i = 0; i < stage->rank; i++)
        if (stage->axis[i]->var == e->u.var)
            return kiln_te_dim(stage, i) - 1;
    for (int i = 0; i < stage->n_reduce; i++)
        if (stage->reduce[i]->var == e->u.var &&
            kiln_x_is_int(stage->reduce[i]->extent, &v))
            return v - 1;
    return -1;
}

static const kiln_expr *sum_of(kiln_arena *a, const linear *l) {
    const kiln_expr *e = NULL;
    for (int i = 0; i < l->n; i++) {
        const kiln_expr *x = kiln_x_mul(a, l->term[i], kiln_x_index(a, l->factor[i]));
        e = e == NULL ? x : kiln_x_add(a, e, x);
    }
    if (e == NULL)
        return kiln_x_index(a, l->base);
    return l->base == 0 ? e : kiln_x_add(a, e, kiln_x_index(a, l->base));
}

static int64_t floor_div(int64_t x, int64_t d) { return x / d - (x % d < 0 ? 1 : 0); }

/* e = d * quotient + rest with rest in [0, d), where ranges show it. */
static bool divide(const kiln_compute_cx *cx, const kiln_expr *e, int64_t d,
                   const kiln_expr **quotient, const kiln_expr **rest) {
    linear l = {0}, q = {0}, r = {0};
    if (!collect(&l, e, 1))
        return false;
    q.base = floor_div(l.base, d);
    r.base = l.base - q.base * d;
    int64_t max = r.base;
    for (int i = 0; i < l.n; i++) {
        linear *part = l.factor[i] % d == 0 ? &q : &r;
        part->term[part->n] = l.term[i];
        part->factor[part->n++] = part == &q ? l.factor[i] / d : l.factor[i];
        if (part == &q)
            continue;
        const int64_t m = largest(cx->stage, l.term[i]);
        if (m < 0 || l.factor[i] < 0)
            return false;
        max += m * l.factor[i];
    }
    if (max >= d)
        return false;
    *quotient = sum_of(cx->arena, &q);
    *rest = sum_of(cx->arena, &r);
    return true;
}

const kiln_expr *kiln_compute_div(const kiln_compute_cx *cx, const kiln_expr *e,
                                  int64_t d) {
    KILN_ASSERT(d > 0, "an index of '%s' is divided by %lld", cx->node->name,
                (long long)d);
    const kiln_expr *q = NULL, *r = NULL;
    if (d == 1)
        return e;
    if (divide(cx, e, d, &q, &r))
        return q;
    return kiln_x_binary(cx->arena, KILN_EXPR_FLOORDIV, e, kiln_x_index(cx->arena, d));
}

const kiln_expr *kiln_compute_mod(const kiln_compute_cx *cx, const kiln_expr *e,
                                  int64_t d) {
    KILN_ASSERT(d > 0, "an index of '%s' is divided by %lld", cx->node->name,
                (long long)d);
    const kiln_expr *q = NULL, *r = NULL;
    if (d == 1)
        return kiln_x_index(cx->arena, 0);
    if (divide(cx, e, d, &q, &r))
        return r;
    return kiln_x_binary(cx->arena, KILN_EXPR_FLOORMOD, e, kiln_x_index(cx->arena, d));
}

/* ---- reading --------------------------------------------------------------------- */

const kiln_expr *kiln_compute_read_value(const kiln_compute_cx *cx,
                                         const kiln_te_value *v,
                                         const kiln_expr *const *index) {
    KILN_ASSERT(v->te != NULL, "'%s' reads a value that no stage computes",
                cx->node->name);
    const kiln_type *t = &v->type;
    const kiln_expr *at[KILN_MAX_AXES];
    for (int i = 0; i < t->rank; i++) {
        const int axis = order_at(t, i);
        at[i] = kiln_compute_div(cx, index[axis], kiln_type_blocked(t, axis));
    }
    for (int b = 0; b < t->layout.n_blocks; b++) {
        const kiln_block *block = &t->layout.block[b];
        const int64_t step = step_of(t, b);
        const kiln_expr *e = kiln_compute_div(cx, index[block->axis], step);
        /* The outermost block of an axis with one block only is never wrapped. */
        at[t->rank + b] = kiln_compute_mod(cx, e, block->size);
    }
    return kiln_x_read(cx->arena, v->te, v->out, at, t->rank + t->layout.n_blocks);
}

const kiln_expr *kiln_compute_read(const kiln_compute_cx *cx, int i,
                                   const kiln_expr *const *index) {
    KILN_ASSERT(i >= 0 && i < cx->node->n_in && cx->node->in[i] != NULL,
                "'%s' has no input %d", cx->node->name, i);
    return kiln_compute_read_value(cx, &cx->in[i], index);
}

const kiln_expr *kiln_compute_read_broadcast(const kiln_compute_cx *cx, int i, int rank,
                                             const kiln_expr *const *index) {
    const kiln_type *t = &cx->in[i].type;
    KILN_ASSERT(rank >= t->rank, "'%s' stretches %d axes to %d", cx->node->name,
                t->rank, rank);
    const kiln_expr *at[KILN_MAX_RANK];
    for (int axis = 0; axis < t->rank; axis++)
        at[axis] =
            t->dim[axis] == 1
                ? kiln_x_index(cx->arena, 0)
                : index[KILN_FAULT(broadcast_axis) ? axis : rank - t->rank + axis];
    return kiln_compute_read(cx, i, at);
}

const kiln_expr *kiln_compute_widened(const kiln_compute_cx *cx, const kiln_expr *x) {
    return (x->dtype == KILN_F16 || x->dtype == KILN_BF16) &&
                   !KILN_FAULT(half_accumulator)
               ? kiln_x_cast(cx->arena, KILN_F32, x)
               : x;
}

/* ---- making stages --------------------------------------------------------------- */

static const char *stage_name(const kiln_compute_cx *cx, const char *suffix) {
    const char *node = cx->node->name;
    return suffix[0] == '\0' ? node : kiln_format(cx->arena, "%s.%s", node, suffix);
}

kiln_te *kiln_compute_begin(kiln_compute_cx *cx, const char *suffix, const kiln_type *t,
                            const kiln_expr **index) {
    kiln_arena *a = cx->arena;
    int64_t dim[KILN_MAX_AXES];
    const int rank = kiln_type_physical(t, dim);
    kiln_te *te = kiln_te_begin(a, stage_name(cx, suffix), rank, dim);
    for (int i = 0; i < t->rank; i++) {
        const int axis = order_at(t, i);
        index[axis] = kiln_x_mul(a, kiln_te_var(te, i),
                                 kiln_x_index(a, kiln_type_blocked(t, axis)));
    }
    for (int b = 0; b < t->layout.n_blocks; b++) {
        const int axis = t->layout.block[b].axis;
        index[axis] = kiln_x_add(a, index[axis],
                                 kiln_x_mul(a, kiln_te_var(te, t->rank + b),
                                            kiln_x_index(a, step_of(t, b))));
    }
    cx->stage = te;
    return te;
}

/* Are the logical indexes of a physical position inside the shape? NULL: always. */
static const kiln_expr *inside(const kiln_compute_cx *cx, const kiln_te *te,
                               const kiln_type *t) {
    kiln_arena *a = cx->arena;
    const kiln_expr *all = NULL;
    for (int i = 0; i < t->rank; i++) {
        const int axis = order_at(t, i);
        if (!kiln_type_has_tail(t, axis))
            continue;
        const kiln_expr *e = kiln_x_mul(a, kiln_te_var(te, i),
                                        kiln_x_index(a, kiln_type_blocked(t, axis)));
        for (int b = 0; b < t->layout.n_blocks; b++)
            if (t->layout.block[b].axis == axis)
                e = kiln_x_add(a, e,
                               kiln_x_mul(a, kiln_te_var(te, t->rank + b),
                                          kiln_x_index(a, step_of(t, b))));
        const kiln_expr *lt =
            kiln_x_binary(a, KILN_EXPR_LT, e, kiln_x_index(a, t->dim[axis]));
        all = all == NULL ? lt : kiln_x_binary(a, KILN_EXPR_AND, all, lt);
    }
    return all;
}

bool kiln_index_bounds(const kiln_te *te, const kiln_expr *e, int64_t *lo,
                       int64_t *hi) {
    int64_t l[2], h[2], d = 0;
    if (kiln_x_is_int(e, lo)) {
        *hi = *lo;
        return true;
    }
    if (e->kind == KILN_EXPR_VAR) {
        *lo = 0;
        *hi = largest(te, e);
        return *hi >= 0;
    }
    if (e->n_arg != 2 || !kiln_index_bounds(te, e->arg[0], &l[0], &h[0]) ||
        !kiln_index_bounds(te, e->arg[1], &l[1], &h[1]))
        return false;
    const bool by_const = kiln_x_is_int(e->arg[1], &d) && d > 0;
    switch (e->kind) {
    case KILN_EXPR_ADD:
        *lo = l[0] + l[1];
        *hi = h[0] + h[1];
        return true;
    case KILN_EXPR_SUB:
        *lo = l[0] - h[1];
        *hi = h[0] - l[1];
        return true;
    case KILN_EXPR_MUL:
        *lo = l[0] * d;
        *hi = h[0] * d;
        return by_const;
    case KILN_EXPR_FLOORDIV:
        *lo = by_const ? floor_div(l[0], d) : 0;
        *hi = by_const ? floor_div(h[0], d) : 0;
        return by_const;
    case KILN_EXPR_FLOORMOD:
        *lo = 0;
        *hi = d - 1;
        return by_const;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return false;
}

static const kiln_expr *guarded_reduction(kiln_arena *a, const kiln_expr *body,
                                          const kiln_expr *cond) {
    const kiln_reduction *r = body->u.reduce;
    if (r->cond != NULL)
        cond = kiln_x_binary(a, KILN_EXPR_AND, cond, r->cond);
    return kiln_x_reduce(a, r->reducer, r->source, r->axis, r->n_axes, cond, r->index);
}

/* Is a tail of every axis a tail of a factor, which is zero there? Not where
 * convolutions slide over what lies behind the end of a spatial axis, and where a
 * matrix product may stretch both factors along an axis of 1. */
static bool has_zero_tails(const kiln_te *te, const kiln_type *t) {
    const bool is_conv =
        strcmp(te->tag, "conv") == 0 || strcmp(te->tag, "conv_transpose") == 0;
    if (!is_conv && strcmp(te->tag, "matmul") != 0)
        return false;
    for (int axis = 0; axis < t->rank; axis++)
        if (kiln_type_has_tail(t, axis) && (is_conv ? axis >= 2 : t->dim[axis] == 1))
            return false;
    return true;
}

static bool is_zero(const kiln_expr *e) {
    return (e->kind == KILN_EXPR_INT && e->u.i == 0) ||
           (e->kind == KILN_EXPR_FLOAT && e->u.f == 0);
}

/* May the stage do without a guard? Then it runs over tail lanes as over elements. */
static bool runs_over_tails(const kiln_compute_cx *cx, const kiln_te *te,
                            const kiln_type *t, const kiln_expr *body) {
    if (kiln_tails_stay_zero(cx, te, t, body))
        return true;
    /* Products of zeros; and copies for windows, whose reader has a guard. */
    const bool is_product = body->kind == KILN_EXPR_REDUCE && has_zero_tails(te, t);
    return (is_product || strcmp(te->tag, "pad") == 0) && kiln_tails_exist(te, body) &&
           kiln_tails_are_read_as_zero(cx, body);
}

/* What a guarded reduction leaves there. */
static bool leaves_zero(const kiln_expr *body) {
    const kiln_reduction *r = body->kind == KILN_EXPR_REDUCE ? body->u.reduce : NULL;
    return r == NULL || is_zero(r->reducer->identity[r->index]);
}

/* The bodies as a stage: tail lanes of injective ones become zero, those of reductions
 * the identity. *facts: what holds of the outputs. */
static kiln_status seal(kiln_compute_cx *cx, kiln_te *te, const kiln_type *t, int n_out,
                        const kiln_expr *const *given, unsigned *facts) {
    const kiln_expr *body[KILN_MAX_TE_OUTS];
    const kiln_expr *cond = inside(cx, te, t);
    bool is_zero_there = true;
    KILN_ASSERT(n_out <= KILN_MAX_TE_OUTS, "'%s' has %d outputs", te->name, n_out);
    for (int k = 0; k < n_out; k++) {
        body[k] = given[k];
        if (cond == NULL)
            continue;
        if (n_out == 1 && runs_over_tails(cx, te, t, body[k])) {
            is_zero_there =
                kiln_tails_stay_zero(cx, te, t, body[k]) || strcmp(te->tag, "pad") != 0;
            continue;
        }
        is_zero_there = is_zero_there && leaves_zero(given[k]);
        body[k] = given[k]->kind == KILN_EXPR_REDUCE
                      ? guarded_reduction(cx->arena, body[k], cond)
                      : kiln_x_select(cx->arena, cond, body[k],
                                      kiln_x_number(cx->arena, body[k]->dtype, 0));
    }
    if (te->tag[0] == '\0')
        te->tag = given[0]->kind == KILN_EXPR_REDUCE ? "reduce" : "injective";
    *facts = cond != NULL && is_zero_there ? KILN_FACT_TAIL_ZERO : 0;
    return kiln_te_end(te, n_out, body, cx->err);
}

kiln_status kiln_compute_inner_tuple(kiln_compute_cx *cx, kiln_te *te,
                                     const kiln_type *t, int n_out,
                                     const kiln_expr *const *body, kiln_te_value *out) {
    unsigned facts = 0;
    KILN_TRY(seal(cx, te, t, n_out, body, &facts));
    for (int k = 0; k < n_out; k++) {
        out[k] = (kiln_te_value){.te = te, .out = k, .type = *t};
        out[k].type.dtype = body[k]->dtype;
        out[k].type.facts = facts;
        kiln_vec_push(cx->arena, &cx->made, out[k]);
    }
    return KILN_OK;
}

kiln_status kiln_compute_inner(kiln_compute_cx *cx, kiln_te *te, const kiln_type *t,
                               const kiln_expr *body, kiln_te_value *out) {
    return kiln_compute_inner_tuple(cx, te, t, 1, &body, out);
}

/* A guarded reduction leaves its identity in tail lanes: an output must have zeros
 * there. */
static bool breaks_tail(const kiln_compute_cx *cx, const kiln_te *te,
                        const kiln_type *t, const kiln_expr *body) {
    return kiln_type_has_tails(t) && !leaves_zero(body) &&
           !runs_over_tails(cx, te, t, body);
}

kiln_status kiln_compute_end(kiln_compute_cx *cx, int k, kiln_te *te,
                             const kiln_expr *body) {
    KILN_ASSERT(k >= 0 && k < cx->node->n_out && cx->out[k].te == NULL,
                "'%s' gives output %d twice, or has none", cx->node->name, k);
    kiln_te_value *out = &cx->out[k];
    const kiln_dtype dtype = kiln_dtype_stored(out->type.dtype);
    const bool is_reduce = body->kind == KILN_EXPR_REDUCE;
    out->out = 0;
    if (!is_reduce ||
        (body->dtype == dtype && !breaks_tail(cx, te, &out->type, body))) {
        body = kiln_x_cast(cx->arena, dtype, body);
        KILN_TRY(seal(cx, te, &out->type, 1, &body, &out->type.facts));
        out->te = te;
        kiln_vec_push(cx->arena, &cx->made, *out);
        return KILN_OK;
    }
    kiln_te_value wide;
    const kiln_expr *index[KILN_MAX_RANK];
    te->name = kiln_format(cx->arena, "%s.acc", te->name);
    KILN_TRY(kiln_compute_inner(cx, te, &out->type, body, &wide));
    kiln_te *narrow = kiln_compute_begin(cx, "", &out->type, index);
    body = kiln_x_cast(cx->arena, dtype, kiln_compute_read_value(cx, &wide, index));
    KILN_TRY(seal(cx, narrow, &out->type, 1, &body, &out->type.facts));
    out->te = narrow;
    kiln_vec_push(cx->arena, &cx->made, *out);
    return KILN_OK;
}

void kiln_compute_forward(kiln_compute_cx *cx, int k, int i) {
    KILN_ASSERT(cx->in[i].te != NULL, "'%s' passes on what no stage computes",
                cx->node->name);
    kiln_type type = cx->out[k].type;
    type.facts = cx->in[i].type.facts;
    cx->out[k] = cx->in[i];
    cx->out[k].type = type;
}
