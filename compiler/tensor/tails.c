/* "Tail lanes are zero" as a fact of values (DESIGN, section 4): who has it, who keeps
 * it.
 *
 * A body keeps it when it is zero for zeros: reads at the same place of operands that
 * have the fact become 0 and the builders fold the rest, so that max(x, 0), x + y and
 * x * c do without a mask and exp(x) or x + 1 do not. */
#include "compiler/tensor/tails.h"
#include "base/fault.h"

/* ---- what is read ---------------------------------------------------------------- */

typedef struct checking {
    const kiln_compute_cx *cx;
    const kiln_te *te;
    bool ok;
} checking;

static void visit(const kiln_expr *body, void (*fn)(void *user, const kiln_expr *e),
                  checking *c) {
    if (body->kind != KILN_EXPR_REDUCE) {
        kiln_expr_visit(body, fn, c);
        return;
    }
    const kiln_reduction *r = body->u.reduce;
    for (int i = 0; i < r->reducer->n; i++)
        kiln_expr_visit(r->source[i], fn, c);
}

static void check_read(void *user, const kiln_expr *e) {
    checking *c = user;
    if (e->kind != KILN_EXPR_READ)
        return;
    for (int i = 0; i < e->n_arg; i++) {
        int64_t lo = 0, hi = 0;
        c->ok = c->ok && kiln_index_bounds(c->te, e->arg[i], &lo, &hi) && lo >= 0 &&
                hi < kiln_te_dim(e->u.read.te, i);
    }
}

bool kiln_tails_exist(const kiln_te *te, const kiln_expr *body) {
    checking c = {.te = te, .ok = true};
    visit(body, check_read, &c);
    return c.ok;
}

/* The value that a stage's output is: an input of the node, or one of its stages'. */
static const kiln_type *type_of(const kiln_compute_cx *cx, const kiln_expr *read) {
    for (int i = 0; i < cx->node->n_in; i++)
        if (cx->in[i].te == read->u.read.te && cx->in[i].out == read->u.read.out)
            return &cx->in[i].type;
    for (size_t i = 0; i < cx->made.n; i++)
        if (cx->made.v[i].te == read->u.read.te &&
            cx->made.v[i].out == read->u.read.out)
            return &cx->made.v[i].type;
    return NULL;
}

static void check_fact(void *user, const kiln_expr *e) {
    checking *c = user;
    if (e->kind != KILN_EXPR_READ)
        return;
    const kiln_type *t = type_of(c->cx, e);
    c->ok = c->ok && t != NULL && kiln_compute_has_zero_tails(t);
}

bool kiln_tails_are_read_as_zero(const kiln_compute_cx *cx, const kiln_expr *body) {
    checking c = {.cx = cx, .ok = true};
    visit(body, check_fact, &c);
    return c.ok;
}

/* ---- what becomes of zeros ------------------------------------------------------- */

typedef struct zeroing {
    const kiln_compute_cx *cx;
    const kiln_te *te;
    const kiln_type *t;
} zeroing;

static bool is_own_axis(const zeroing *z, const kiln_expr *read, int physical) {
    const kiln_expr *e = read->arg[physical];
    return e->kind == KILN_EXPR_VAR && e->u.var == z->te->axis[physical]->var;
}

/* Is the read in a tail lane wherever the stage is? */
static bool is_same_place(const zeroing *z, const kiln_expr *read) {
    const kiln_type *t = z->t, *v = type_of(z->cx, read);
    if (v == NULL || (v->facts & KILN_FACT_TAIL_ZERO) == 0 || v->rank != t->rank ||
        !kiln_layout_eq(&v->layout, &t->layout))
        return false;
    for (int i = 0; i < t->rank; i++) {
        const int axis = t->layout.n_order == 0 ? i : t->layout.order[i];
        if (!kiln_type_has_tail(t, axis))
            continue;
        if (v->dim[axis] != t->dim[axis] || !is_own_axis(z, read, i))
            return false;
        for (int b = 0; b < t->layout.n_blocks; b++)
            if (t->layout.block[b].axis == axis && !is_own_axis(z, read, t->rank + b))
                return false;
    }
    return true;
}

static bool is_zero(const kiln_expr *e) {
    return (e->kind == KILN_EXPR_INT && e->u.i == 0) ||
           (e->kind == KILN_EXPR_FLOAT && e->u.f == 0);
}

static const kiln_expr *fold_call(kiln_arena *a, const kiln_expr *e) {
    double arg[3];
    if (!kiln_dtype_is_float(e->dtype) || e->n_arg > 3 ||
        !kiln_intrin_get(e->u.intrin)->is_pure)
        return e;
    for (int i = 0; i < e->n_arg; i++) {
        if (e->arg[i]->kind != KILN_EXPR_FLOAT)
            return e;
        arg[i] = e->arg[i]->u.f;
    }
    return kiln_x_float(a, e->dtype, kiln_intrin_eval(e->u.intrin, arg));
}

static const kiln_expr *with_zeros(void *user, kiln_arena *a, const kiln_expr *e) {
    const zeroing *z = user;
    if (e->kind == KILN_EXPR_READ && is_same_place(z, e))
        return kiln_x_number(a, e->dtype, 0);
    if (e->kind == KILN_EXPR_SELECT && is_zero(e->arg[1]) && is_zero(e->arg[2]))
        return e->arg[1];
    return e->kind == KILN_EXPR_CALL ? fold_call(a, e) : e;
}

/* What combining two numbers gives, if it is one. */
static const kiln_expr *combine(kiln_arena *a, const kiln_reducer *r,
                                const kiln_expr *x, const kiln_expr *y) {
    const kiln_subst s[2] = {{r->lhs[0], x}, {r->rhs[0], y}};
    return kiln_expr_substitute(a, r->result[0], s, 2);
}

/* The identity and one zero or more make zero. */
static bool reduces_zeros(kiln_arena *a, const kiln_reduction *r) {
    int64_t extent = 0;
    for (int i = 0; i < r->n_axes; i++)
        if (!kiln_x_is_int(r->axis[i]->extent, &extent) || extent < 1)
            return false;
    if (r->reducer->n != 1 || r->cond != NULL)
        return false;
    const kiln_expr *zero = kiln_x_number(a, r->source[0]->dtype, 0);
    return is_zero(combine(a, r->reducer, r->reducer->identity[0], zero)) &&
           is_zero(combine(a, r->reducer, zero, zero));
}

bool kiln_tails_stay_zero(const kiln_compute_cx *cx, const kiln_te *te,
                          const kiln_type *t, const kiln_expr *body) {
    zeroing z = {cx, te, t};
    if (!kiln_tails_exist(te, body))
        return false;
    const kiln_expr *e = body;
    if (body->kind == KILN_EXPR_REDUCE) {
        if (!reduces_zeros(cx->arena, body->u.reduce))
            return false;
        e = body->u.reduce->source[0];
    }
    return is_zero(kiln_expr_rewrite(cx->arena, e, with_zeros, &z)) ||
           KILN_FAULT(tail_guard);
}
