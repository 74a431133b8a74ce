/* Simplification of index expressions with known ranges.
 *
 * i64 scalars are brought to linear form; (c*q + r) floordiv c is q + r floordiv c, and
 * the rest vanishes where its interval lies in [0, c). Comparisons, min and max are
 * decided by the interval of the difference. Other dtypes keep their value: only
 * conditions of selects and indexes inside loads change.
 */
#include "compiler/loop/loop.h"

#include "compiler/loop/linear.h"

typedef struct simplifier {
    const kiln_ranges *ranges;
    kiln_arena *arena;
} simplifier;

static const kiln_expr *normal(simplifier *s, const kiln_expr *e) {
    kiln_linear l;
    return kiln_linear_of(e, &l) ? kiln_linear_expr(s->arena, &l) : e;
}

/* x = c * quotient + rest, with the rest's factors in [0, c): both as linear forms. */
static bool divide_linear(const kiln_expr *x, int64_t c, kiln_linear *quotient,
                          kiln_linear *rest) {
    kiln_linear l;
    if (!kiln_linear_of(x, &l))
        return false;
    *quotient = (kiln_linear){.constant = 0};
    *rest = (kiln_linear){.constant = 0};
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
    const kiln_interval in = kiln_interval_of(s->ranges, r);
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
    return kiln_interval_of(s->ranges, kiln_linear_expr(s->arena, &lx));
}

static const kiln_expr *truth(simplifier *s, bool v) {
    return kiln_x_int(s->arena, KILN_BOOL, v);
}

static const kiln_expr *simplify_comparison(simplifier *s, const kiln_expr *e) {
    if (e->arg[0]->dtype != KILN_I64 || e->lanes != 1)
        return e;
    const kiln_interval d = difference(s, e->arg[0], e->arg[1]);
    switch ((int)e->kind) {
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
    default:
        return e;
    }
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

static const kiln_expr *simplify(void *user, kiln_arena *a, const kiln_expr *e) {
    (void)a;
    simplifier *s = user;
    switch ((int)e->kind) {
    case KILN_EXPR_VAR:
        return simplify_var(s, e);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
        return normal(s, e);
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return e->dtype == KILN_I64 && e->lanes == 1 ? simplify_division(s, e) : e;
    case KILN_EXPR_MIN:
    case KILN_EXPR_MAX:
        return simplify_extreme(s, e);
    case KILN_EXPR_EQ:
    case KILN_EXPR_NE:
    case KILN_EXPR_LT:
    case KILN_EXPR_LE:
        return simplify_comparison(s, e);
    default:
        return e;
    }
}

const kiln_expr *kiln_simplify_expr(const kiln_ranges *r, kiln_arena *a,
                                    const kiln_expr *e) {
    simplifier s = {r, a};
    return kiln_expr_rewrite(a, e, simplify, &s);
}
