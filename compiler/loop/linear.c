/* Linear forms: what makes indexes comparable. */
#include "compiler/loop/linear.h"

/* Far from overflow: sums and products of what passes stay inside int64_t. */
static const int64_t limit = (int64_t)1 << 62;

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

static bool product(int64_t x, int64_t y, int64_t *out) {
    const uint64_t ax = magnitude(x), ay = magnitude(y), most = (uint64_t)limit - 1;
    if (ax > most || ay > most || (ay != 0 && ax > most / ay))
        return false;
    *out = x * y;
    return true;
}

static bool add_constant(kiln_linear *l, int64_t v) {
    if (v >= limit || v <= -limit)
        return false;
    l->constant += v;
    return l->constant < limit && l->constant > -limit;
}

static bool add_term(kiln_linear *l, const kiln_expr *e, int64_t factor) {
    for (int i = 0; i < l->n; i++) {
        if (!kiln_expr_eq(l->term[i].expr, e))
            continue;
        const int64_t f = l->term[i].factor + factor; /* both below 2^62 */
        if (f >= limit || f <= -limit)
            return false;
        l->term[i].factor = f;
        if (f == 0) { /* cancelled: keep the order of the others */
            for (int k = i; k + 1 < l->n; k++)
                l->term[k] = l->term[k + 1];
            l->n--;
        }
        return true;
    }
    if (l->n == KILN_LINEAR_MAX)
        return false;
    l->term[l->n].expr = e;
    l->term[l->n++].factor = factor;
    return true;
}

static bool collect(kiln_linear *l, const kiln_expr *e, int64_t factor) {
    int64_t v = 0, f = 0;
    switch (e->kind) {
    case KILN_EXPR_INT:
        return product(e->u.i, factor, &v) && add_constant(l, v);
    case KILN_EXPR_ADD:
        return collect(l, e->arg[0], factor) && collect(l, e->arg[1], factor);
    case KILN_EXPR_SUB:
        return collect(l, e->arg[0], factor) && collect(l, e->arg[1], -factor);
    case KILN_EXPR_MUL:
        for (int i = 0; i < 2; i++)
            if (e->arg[i]->kind == KILN_EXPR_INT)
                return product(e->arg[i]->u.i, factor, &f) &&
                       (f == 0 || collect(l, e->arg[1 - i], f));
        return add_term(l, e, factor);
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_DIVIDING:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return add_term(l, e, factor);
}

bool kiln_linear_of(const kiln_expr *e, kiln_linear *out) {
    out->constant = 0;
    out->n = 0;
    return e->dtype == KILN_I64 && e->lanes == 1 && collect(out, e, 1);
}

bool kiln_linear_add(kiln_linear *x, const kiln_linear *y, int64_t factor) {
    KILN_ASSERT(x->n >= 0 && x->n <= KILN_LINEAR_MAX && y->n <= KILN_LINEAR_MAX,
                "sums of %d and %d terms", x->n, y->n);
    int64_t v = 0;
    if (!product(y->constant, factor, &v) || !add_constant(x, v))
        return false;
    for (int i = 0; i < y->n; i++)
        if (!product(y->term[i].factor, factor, &v) || !add_term(x, y->term[i].expr, v))
            return false;
    return true;
}

static const kiln_expr *multiple(kiln_arena *a, const kiln_expr *e, int64_t factor) {
    return factor == 1 ? e : kiln_x_mul(a, e, kiln_x_index(a, factor));
}

const kiln_expr *kiln_linear_expr(kiln_arena *a, const kiln_linear *l) {
    KILN_ASSERT(l->n >= 0 && l->n <= KILN_LINEAR_MAX, "a sum of %d terms", l->n);
    const kiln_expr *sum = NULL;
    for (int i = 0; i < l->n;
         i++) /* a positive term first, so that nothing starts with 0 - x */
        if (sum == NULL && l->term[i].factor > 0)
            sum = multiple(a, l->term[i].expr, l->term[i].factor);
    const bool has_first = sum != NULL;
    bool skipped = false;
    for (int i = 0; i < l->n; i++) {
        const int64_t f = l->term[i].factor;
        if (has_first && !skipped && f > 0) {
            skipped = true;
            continue;
        }
        if (sum == NULL)
            sum = multiple(a, l->term[i].expr, f);
        else if (f > 0)
            sum = kiln_x_add(a, sum, multiple(a, l->term[i].expr, f));
        else
            sum = kiln_x_sub(a, sum, multiple(a, l->term[i].expr, -f));
    }
    if (sum == NULL)
        return kiln_x_index(a, l->constant);
    if (l->constant < 0)
        return kiln_x_sub(a, sum, kiln_x_index(a, -l->constant));
    return kiln_x_add(a, sum, kiln_x_index(a, l->constant));
}
