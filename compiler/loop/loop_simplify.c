/* Simplification of index expressions with known ranges.
 *
 * i64 scalars are brought to linear form; (c*q + r) floordiv c is q + r floordiv c, and
 * the rest vanishes where its interval lies in [0, c). Comparisons, min and max are
 * decided by the interval of the difference. Other dtypes keep their value: only
 * conditions of selects and indexes inside loads change.
 */
#include "compiler/loop/loop.h"

#include "compiler/loop/loop_walk.h"

typedef struct simplifier {
    const kiln_ranges *ranges;
    kiln_arena *arena;
} simplifier;

static void drop_term(kiln_linear *l, int i) {
    for (int k = i; k + 1 < l->n; k++)
        l->term[k] = l->term[k + 1];
    l->n--;
}

/* The term x // c of factor f; -1: there is none. */
static int find_quotient(const kiln_linear *l, const kiln_expr *x, int64_t c,
                         int64_t f) {
    int64_t by = 0;
    for (int i = 0; i < l->n; i++) {
        const kiln_expr *e = l->term[i].expr;
        if (l->term[i].factor == f && e->kind == KILN_EXPR_FLOORDIV &&
            kiln_x_is_int(e->arg[1], &by) && by == c && kiln_expr_eq(e->arg[0], x))
            return i;
    }
    return -1;
}

/* f*c*(x // c) + f*(x % c) is f*x: what fusing loops and splitting them leaves. */
static void rejoin(kiln_linear *l) {
    const int64_t small = (int64_t)1 << 31;
    for (int i = 0; i < l->n; i++) {
        const kiln_expr *e = l->term[i].expr;
        const int64_t f = l->term[i].factor;
        int64_t c = 0;
        kiln_linear x, joined = *l;
        if (e->kind != KILN_EXPR_FLOORMOD || !kiln_x_is_int(e->arg[1], &c) || c <= 0 ||
            c >= small || f >= small || f <= -small)
            continue;
        const int q = find_quotient(l, e->arg[0], c, f * c);
        if (q < 0 || !kiln_linear_of(e->arg[0], &x))
            continue;
        drop_term(&joined, q > i ? q : i);
        drop_term(&joined, q > i ? i : q);
        if (!kiln_linear_add(&joined, &x, f))
            continue;
        *l = joined;
        i = -1; /* terms have moved, and one is gone */
    }
}

static const kiln_expr *normal(simplifier *s, const kiln_expr *e) {
    kiln_linear l;
    if (!kiln_linear_of(e, &l))
        return e;
    rejoin(&l);
    return kiln_linear_expr(s->arena, &l);
}

/* x = c * quotient + rest, with the rest's factors in [0, c): both as linear forms. */
static bool divide_linear(const kiln_expr *x, int64_t c, kiln_linear *quotient,
                          kiln_linear *rest) {
    kiln_linear l;
    if (!kiln_linear_of(x, &l))
        return false;
    quotient->n = 0;
    rest->n = 0;
    const int64_t q0 = l.constant / c - (l.constant % c < 0);
    quotient->constant = q0;
    rest->constant = l.constant - q0 * c;
    for (int i = 0; i < l.n; i++) {
        /* Whole multiples leave; anything else stays whole: splitting 5x into 4x + x
         * gains nothing. */
        const bool whole = l.term[i].factor % c == 0;
        kiln_linear *to = whole ? quotient : rest;
        to->term[to->n].expr = l.term[i].expr;
        to->term[to->n++].factor = whole ? l.term[i].factor / c : l.term[i].factor;
    }
    return true;
}

static const kiln_expr *simplify_division(simplifier *s, const kiln_expr *e) {
    kiln_arena *a = s->arena;
    int64_t c = 0;
    kiln_linear quotient, rest;
    if (!kiln_x_is_int(e->arg[1], &c) || c <= 0 ||
        !divide_linear(e->arg[0], c, &quotient, &rest))
        return e;
    const kiln_expr *r = kiln_linear_expr(a, &rest),
                    *q = kiln_linear_expr(a, &quotient);
    const kiln_interval in = kiln_linear_interval(s->ranges, &rest);
    const bool is_bounded = in.min != INT64_MIN && in.max != INT64_MAX;
    const int64_t lo = is_bounded ? in.min / c - (in.min % c < 0) : 0;
    if (is_bounded &&
        lo == in.max / c - (in.max % c < 0)) { /* the rest lies in one block */
        if (e->kind == KILN_EXPR_FLOORDIV)
            return normal(s, kiln_x_add(a, q, kiln_x_index(a, lo)));
        return normal(s, kiln_x_sub(a, r, kiln_x_index(a, lo * c)));
    }
    if (e->kind == KILN_EXPR_FLOORDIV)
        return normal(
            s, kiln_x_add(a, q, kiln_x_binary(a, KILN_EXPR_FLOORDIV, r, e->arg[1])));
    return kiln_x_binary(a, KILN_EXPR_FLOORMOD, r, e->arg[1]);
}

/* The interval of x - y. */
static kiln_interval difference(simplifier *s, const kiln_expr *x, const kiln_expr *y) {
    kiln_linear lx, ly;
    if (!kiln_linear_of(x, &lx) || !kiln_linear_of(y, &ly) ||
        !kiln_linear_add(&lx, &ly, -1))
        return (kiln_interval){INT64_MIN, INT64_MAX};
    return kiln_linear_interval(s->ranges, &lx);
}

static const kiln_expr *truth(simplifier *s, bool v) {
    return kiln_x_int(s->arena, KILN_BOOL, v);
}

static const kiln_expr *simplify_comparison(simplifier *s, const kiln_expr *e) {
    if (e->arg[0]->dtype != KILN_I64 || e->lanes != 1)
        return e;
    const kiln_interval d = difference(s, e->arg[0], e->arg[1]);
    switch (e->kind) {
    case KILN_EXPR_LT:
        return d.max < 0 ? truth(s, true) : (d.min >= 0 ? truth(s, false) : e);
    case KILN_EXPR_LE:
        return d.max <= 0 ? truth(s, true) : (d.min > 0 ? truth(s, false) : e);
    case KILN_EXPR_EQ:
        if (d.min == 0 && d.max == 0)
            return truth(s, true);
        return d.min > 0 || d.max < 0 ? truth(s, false) : e;
    case KILN_EXPR_NE:
        if (d.min == 0 && d.max == 0)
            return truth(s, false);
        return d.min > 0 || d.max < 0 ? truth(s, true) : e;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_BITWISE:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return e;
}

static const kiln_expr *simplify_extreme(simplifier *s, const kiln_expr *e) {
    if (e->dtype != KILN_I64 || e->lanes != 1)
        return e;
    const kiln_interval d = difference(s, e->arg[0], e->arg[1]);
    const bool is_min = e->kind == KILN_EXPR_MIN;
    if (d.max <= 0)
        return e->arg[is_min ? 0 : 1];
    if (d.min >= 0)
        return e->arg[is_min ? 1 : 0];
    return e;
}

/* A variable of one value: loops of one iteration, copies of unrolled loops. */
static const kiln_expr *simplify_var(simplifier *s, const kiln_expr *e) {
    if (e->dtype != KILN_I64)
        return e;
    const kiln_interval in = kiln_interval_of(s->ranges, e);
    return in.min == in.max ? kiln_x_index(s->arena, in.min) : e;
}

/* A mask that is the same in all lanes. */
static const kiln_expr *simplify_load(simplifier *s, const kiln_expr *e) {
    int64_t v = 0;
    if (e->u.load.mask == NULL || !kiln_x_is_int(e->u.load.mask, &v))
        return e;
    const kiln_expr *to =
        v != 0 ? kiln_x_load(s->arena, e->u.load.buffer, e->arg, e->n_arg, NULL)
               : kiln_x_number(s->arena, e->dtype, 0);
    return kiln_x_broadcast(s->arena, to, e->lanes);
}

static const kiln_expr *simplify(void *user, kiln_arena *a, const kiln_expr *e);

/* factor * x * y, where one of them has become a constant or not. */
static bool gather_product(simplifier *s, const kiln_expr *e, int64_t factor,
                           kiln_linear *l) {
    const kiln_expr *arg[2];
    kiln_linear part;
    for (int i = 0; i < 2; i++)
        arg[i] = simplify(s, s->arena, e->arg[i]);
    return kiln_linear_of(arg[0] == e->arg[0] && arg[1] == e->arg[1]
                              ? e
                              : kiln_x_mul(s->arena, arg[0], arg[1]),
                          &part) &&
           kiln_linear_add(l, &part, factor);
}

/* l += factor * e, simplified: one pass over a sum, whatever its shape. */
static bool gather(simplifier *s, const kiln_expr *e, int64_t factor, kiln_linear *l) {
    const int64_t small = (int64_t)1 << 31;
    kiln_linear part;
    switch (e->kind) {
    case KILN_EXPR_ADD:
        return gather(s, e->arg[0], factor, l) && gather(s, e->arg[1], factor, l);
    case KILN_EXPR_SUB:
        return gather(s, e->arg[0], factor, l) && gather(s, e->arg[1], -factor, l);
    case KILN_EXPR_MUL:
        for (int i = 0; i < 2; i++) {
            const kiln_expr *c = e->arg[i];
            if (c->kind == KILN_EXPR_INT && c->u.i != 0 && c->u.i < small &&
                c->u.i > -small && factor < small && factor > -small)
                return gather(s, e->arg[1 - i], factor * c->u.i, l);
        }
        return gather_product(s, e, factor, l);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_DIVIDING:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return kiln_linear_of(simplify(s, s->arena, e), &part) &&
           kiln_linear_add(l, &part, factor);
}

static const kiln_expr *simplify_sum(simplifier *s, const kiln_expr *e) {
    kiln_linear l;
    l.n = 0;
    l.constant = 0;
    if (!gather(s, e, 1, &l))
        return kiln_expr_map(s->arena, e, simplify, s);
    rejoin(&l);
    const kiln_expr *sum = kiln_linear_expr(s->arena, &l);
    return kiln_expr_eq(sum, e) ? e : sum;
}

static bool is_index(const kiln_expr *e) {
    return e->dtype == KILN_I64 && e->lanes == 1;
}

static const kiln_expr *simplify_vector(simplifier *s, const kiln_expr *e) {
    if (e->n_arg != 2 || e->arg[0]->dtype != KILN_I64)
        return e;
    const kiln_expr *x =
        kiln_vector_binary(s->ranges, s->arena, e->kind, e->arg[0], e->arg[1]);
    if (x->lanes == 1)
        return kiln_x_broadcast(s->arena, x, e->lanes);
    return kiln_expr_eq(x, e) ? e : x;
}

static const kiln_expr *simplify(void *user, kiln_arena *a, const kiln_expr *e) {
    simplifier *s = user;
    const bool is_arithmetic = e->kind == KILN_EXPR_ADD || e->kind == KILN_EXPR_SUB ||
                               e->kind == KILN_EXPR_MUL;
    if (is_arithmetic && is_index(e))
        return simplify_sum(s, e);
    e = e->n_arg > 0 || e->kind == KILN_EXPR_REDUCE ? kiln_expr_map(a, e, simplify, s)
                                                    : e;
    switch (e->kind) {
    case KILN_EXPR_VAR:
        return simplify_var(s, e);
    case KILN_EXPR_LOAD:
        return simplify_load(s, e);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
        return e->lanes > 1 ? simplify_vector(s, e) : e;
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        if (e->lanes > 1)
            return simplify_vector(s, e);
        return is_index(e) ? simplify_division(s, e) : e;
    case KILN_EXPR_MIN:
    case KILN_EXPR_MAX:
        return simplify_extreme(s, e);
    case KILN_EXPR_EQ:
    case KILN_EXPR_NE:
    case KILN_EXPR_LT:
    case KILN_EXPR_LE:
        return e->lanes > 1 ? simplify_vector(s, e) : simplify_comparison(s, e);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_BITWISE:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_SELECT:
    case KILN_EXPR_CALL:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPRS_LANES:
    case KILN_EXPRS_SCOPED:
        break;
    }
    return e;
}

const kiln_expr *kiln_simplify_expr(const kiln_ranges *r, kiln_arena *a,
                                    const kiln_expr *e) {
    simplifier s = {r, a};
    return simplify(&s, a, e);
}
