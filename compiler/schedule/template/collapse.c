/* Collapsing axes. An element-wise operator on [n, c, h, w] is one on [n*c*h*w]: loops
 * of 56 columns are no whole vectors, one of 3136 pixels is.
 *
 * Two neighbours of a stage become one axis when its bodies use them only as a pair of
 * plain indexes in reads, side by side and of the same extent, of tensors whose axes
 * there become one as well; and those do when nobody reads them otherwise. The largest
 * such set is found from above: all neighbours, less those that break a rule, until
 * none does. Tensors that extern stages read or write keep their shape. */
#include "compiler/schedule/template/collapse.h"

#include <string.h>

/* Axes of a stage that are kept (those of one element go), in order; joined[k]: k and
 * k + 1 become one. */
typedef struct axes {
    int n;
    int axis[KILN_MAX_AXES];
    bool joined[KILN_MAX_AXES];
    const kiln_expr *var[KILN_MAX_AXES]; /* new variable of the axis that k is part of;
                                            of its first one only */
} axes;

typedef struct plan {
    const kiln_te *te, *made;
    bool is_fixed;
    axes spatial, reduce;
} plan;

typedef struct collapse {
    kiln_arena *arena;
    plan *plan;
    size_t n;
    plan *at; /* the stage that is looked at or rewritten */
    bool changed;
} collapse;

static int64_t extent_of(const kiln_axis *axis) {
    int64_t v = 0;
    const bool is_const = kiln_x_is_int(axis->extent, &v);
    KILN_ASSERT(is_const, "axis '%s' has no constant extent", axis->name);
    return v;
}

static plan *plan_of(const collapse *c, const kiln_te *te) {
    for (size_t i = 0; i < c->n; i++)
        if (c->plan[i].te == te)
            return &c->plan[i];
    KILN_ASSERT(false, "'%s' is not in the graph", te->name);
    return NULL;
}

/* ---- what may become one --------------------------------------------------------- */

static void keep_axes(axes *x, const kiln_axis *const *axis, int n, bool is_fixed) {
    x->n = 0;
    for (int i = 0; i < n; i++)
        if (is_fixed || extent_of(axis[i]) != 1)
            x->axis[x->n++] = i;
    if (x->n == 0 && n > 0)
        x->axis[x->n++] = 0;
    for (int k = 0; k + 1 < x->n; k++)
        x->joined[k] = !is_fixed;
}

static const kiln_var *var_at(const kiln_axis *const *axis, const axes *x, int k) {
    return axis[x->axis[k]]->var;
}

static bool is_plain(const kiln_expr *e, const kiln_var *v) {
    return e->kind == KILN_EXPR_VAR && e->u.var == v;
}

static void part(collapse *c, axes *x, int k) {
    c->changed = c->changed || x->joined[k];
    x->joined[k] = false;
}

/* Position of neighbours (v, w), of w's extent, among the kept axes of what is read;
 * -1: none. */
static int find_pair(const plan *u, const kiln_expr *read, const kiln_var *v,
                     const kiln_var *w, int64_t extent) {
    for (int k = 0; k + 1 < u->spatial.n; k++)
        if (u->spatial.joined[k] && is_plain(read->arg[u->spatial.axis[k]], v) &&
            is_plain(read->arg[u->spatial.axis[k + 1]], w) &&
            extent_of(u->te->axis[u->spatial.axis[k + 1]]) == extent)
            return k;
    return -1;
}

/* Neighbours of the reader: in this read, side by side or not at all. */
static void check_neighbours(collapse *c, const plan *u, const kiln_expr *read, axes *x,
                             const kiln_axis *const *axis) {
    for (int k = 0; k + 1 < x->n; k++) {
        const kiln_var *v = var_at(axis, x, k), *w = var_at(axis, x, k + 1);
        if (!x->joined[k])
            continue;
        const int at = find_pair(u, read, v, w, extent_of(axis[x->axis[k + 1]]));
        for (int i = 0; i < read->n_arg; i++) {
            const bool is_pair =
                at >= 0 && (i == u->spatial.axis[at] || i == u->spatial.axis[at + 1]);
            if (!is_pair &&
                (kiln_expr_uses(read->arg[i], v) || kiln_expr_uses(read->arg[i], w)))
                part(c, x, k);
        }
    }
}

static bool is_joined_pair(const axes *x, const kiln_axis *const *axis,
                           const kiln_expr *e, const kiln_expr *f, int64_t extent) {
    for (int k = 0; k + 1 < x->n; k++)
        if (x->joined[k] && is_plain(e, var_at(axis, x, k)) &&
            is_plain(f, var_at(axis, x, k + 1)) &&
            extent_of(axis[x->axis[k + 1]]) == extent)
            return true;
    return false;
}

static void check_read(collapse *c, const kiln_expr *read) {
    plan *r = c->at, *u = plan_of(c, read->u.read.te);
    for (int k = 0; k + 1 < u->spatial.n; k++) {
        const int i = u->spatial.axis[k], j = u->spatial.axis[k + 1];
        const int64_t extent = extent_of(u->te->axis[j]);
        if (u->spatial.joined[k] &&
            !is_joined_pair(&r->spatial, r->te->axis, read->arg[i], read->arg[j],
                            extent) &&
            !is_joined_pair(&r->reduce, r->te->reduce, read->arg[i], read->arg[j],
                            extent))
            part(c, &u->spatial, k);
    }
    check_neighbours(c, u, read, &r->spatial, r->te->axis);
    check_neighbours(c, u, read, &r->reduce, r->te->reduce);
}

/* A value of an index, not a place. */
static void check_use(collapse *c, const kiln_var *v, axes *x,
                      const kiln_axis *const *axis) {
    for (int k = 0; k + 1 < x->n; k++)
        if (var_at(axis, x, k) == v || var_at(axis, x, k + 1) == v)
            part(c, x, k);
}

static void check(collapse *c, const kiln_expr *e, bool in_index) {
    if (e->kind == KILN_EXPR_READ)
        check_read(c, e);
    if (e->kind == KILN_EXPR_VAR && !in_index) {
        check_use(c, e->u.var, &c->at->spatial, c->at->te->axis);
        check_use(c, e->u.var, &c->at->reduce, c->at->te->reduce);
    }
    for (int i = 0; i < e->n_arg; i++)
        check(c, e->arg[i], in_index || e->kind == KILN_EXPR_READ);
    if (e->kind != KILN_EXPR_REDUCE)
        return;
    const kiln_reduction *r = e->u.reduce;
    for (int i = 0; i < r->reducer->n; i++)
        check(c, r->source[i], false);
    if (r->cond != NULL)
        check(c, r->cond, false);
}

static void find_joins(collapse *c) {
    do {
        c->changed = false;
        for (size_t i = 0; i < c->n; i++) {
            c->at = &c->plan[i];
            const kiln_te *te = c->at->te;
            for (int k = 0; k < te->n_out && te->kind == KILN_TE_COMPUTE; k++)
                check(c, te->body[k], false);
        }
    } while (c->changed);
}

/* ---- the new expressions --------------------------------------------------------- */

static int64_t joined_extent(const axes *x, const kiln_axis *const *axis, int *k) {
    int64_t n = extent_of(axis[x->axis[*k]]);
    while (x->joined[*k]) {
        ++*k;
        n *= extent_of(axis[x->axis[*k]]);
    }
    return n;
}

static const kiln_expr *new_var(const plan *p, const kiln_var *v) {
    for (int k = 0; k < p->spatial.n; k++)
        if (var_at(p->te->axis, &p->spatial, k) == v)
            return p->spatial.var[k];
    for (int k = 0; k < p->reduce.n; k++)
        if (var_at(p->te->reduce, &p->reduce, k) == v)
            return p->reduce.var[k];
    return NULL; /* of an axis that is gone */
}

static const kiln_expr *rebuilt(void *user, kiln_arena *a, const kiln_expr *e);

static const kiln_expr *rebuilt_read(collapse *c, const kiln_expr *e) {
    const plan *u = plan_of(c, e->u.read.te);
    const kiln_expr *index[KILN_MAX_AXES];
    int n = 0;
    for (int k = 0; k < u->spatial.n; k++) {
        index[n++] = rebuilt(c, c->arena, e->arg[u->spatial.axis[k]]);
        while (u->spatial.joined[k])
            k++;
    }
    return kiln_x_read(c->arena, u->made, e->u.read.out, index, n);
}

static const kiln_expr *rebuilt_reduce(collapse *c, const kiln_expr *e) {
    kiln_arena *a = c->arena;
    const kiln_reduction *r = e->u.reduce;
    const kiln_te *made = c->at->made;
    const kiln_expr **source = kiln_array(a, const kiln_expr *, r->reducer->n);
    for (int i = 0; i < r->reducer->n; i++)
        source[i] = rebuilt(c, a, r->source[i]);
    const kiln_expr *cond = r->cond != NULL ? rebuilt(c, a, r->cond) : NULL;
    return kiln_x_reduce(a, r->reducer, source, made->reduce, made->n_reduce, cond,
                         r->index);
}

static const kiln_expr *rebuilt(void *user, kiln_arena *a, const kiln_expr *e) {
    collapse *c = user;
    const kiln_expr *v = NULL;
    switch (e->kind) {
    case KILN_EXPR_VAR:
        v = new_var(c->at, e->u.var);
        return v != NULL ? v : kiln_x_index(a, 0);
    case KILN_EXPR_READ:
        return rebuilt_read(c, e);
    case KILN_EXPR_REDUCE:
        return rebuilt_reduce(c, e);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_SELECT:
    case KILN_EXPR_CALL:
    case KILN_EXPR_LOAD:
    case KILN_EXPRS_LANES:
    case KILN_EXPRS_SCOPED:
        break;
    }
    return kiln_expr_map(a, e, rebuilt, c);
}

static int new_shape(const plan *p, int64_t dim[KILN_MAX_AXES]) {
    int n = 0;
    for (int k = 0; k < p->spatial.n; k++)
        dim[n++] = joined_extent(&p->spatial, p->te->axis, &k);
    return n;
}

static kiln_status make_compute(collapse *c, plan *p, kiln_err *err) {
    const kiln_te *te = p->te;
    int64_t dim[KILN_MAX_AXES];
    const kiln_expr *body[KILN_MAX_TE_OUTS];
    kiln_te *made = kiln_te_begin(c->arena, te->name, new_shape(p, dim), dim);
    int n = 0;
    made->tag = te->tag;
    p->made = made;
    for (int k = 0; k < p->spatial.n; k++) {
        p->spatial.var[k] = kiln_te_var(made, n++);
        (void)joined_extent(&p->spatial, te->axis, &k);
    }
    for (int k = 0; k < p->reduce.n; k++) {
        const int first = k;
        const char *name = te->reduce[p->reduce.axis[k]]->name;
        const int64_t extent = joined_extent(&p->reduce, te->reduce, &k);
        p->reduce.var[first] =
            kiln_axis_var(c->arena, kiln_te_reduce_axis(made, name, extent));
    }
    c->at = p;
    for (int k = 0; k < te->n_out; k++)
        body[k] = rebuilt(c, c->arena, te->body[k]);
    return kiln_te_end(made, te->n_out, body, err);
}

static void make_extern(collapse *c, plan *p) {
    kiln_te *made = kiln_new(c->arena, kiln_te);
    *made = *p->te;
    const kiln_te **in = kiln_array(c->arena, const kiln_te *, made->n_in);
    for (int i = 0; i < made->n_in; i++)
        in[i] = plan_of(c, made->in[i])->made;
    made->in = in;
    p->made = made;
}

static void fix_shapes(collapse *c) {
    for (size_t i = 0; i < c->n; i++) {
        const kiln_te *te = c->plan[i].te;
        c->plan[i].is_fixed = c->plan[i].is_fixed || te->kind == KILN_TE_EXTERN;
        for (int k = 0; k < te->n_in && te->kind == KILN_TE_EXTERN; k++)
            plan_of(c, te->in[k])->is_fixed = true;
    }
    for (size_t i = 0; i < c->n; i++) {
        plan *p = &c->plan[i];
        keep_axes(&p->spatial, p->te->axis, p->te->rank, p->is_fixed);
        keep_axes(&p->reduce, p->te->reduce, p->te->n_reduce, p->is_fixed);
    }
}

kiln_status kiln_te_collapse(kiln_arena *a, const kiln_te **args, size_t n_args,
                             size_t n_inputs, kiln_err *err) {
    collapse c = {.arena = a};
    const kiln_te **te = kiln_te_topo(a, args + n_inputs, n_args - n_inputs, &c.n);
    c.plan = kiln_array(a, plan, c.n);
    for (size_t i = 0; i < c.n; i++)
        c.plan[i].te = te[i];
    fix_shapes(&c);
    find_joins(&c);
    for (size_t i = 0; i < c.n; i++) {
        plan *p = &c.plan[i];
        int64_t dim[KILN_MAX_AXES];
        if (p->te->kind == KILN_TE_COMPUTE)
            KILN_TRY(make_compute(&c, p, err));
        else if (p->te->kind == KILN_TE_EXTERN)
            make_extern(&c, p);
        else
            p->made = kiln_te_placeholder(a, p->te->name, p->te->dtype[0],
                                          new_shape(p, dim), dim);
    }
    for (size_t i = 0; i < n_args; i++)
        for (size_t k = 0; k < c.n; k++)
            if (c.plan[k].te == args[i]) {
                args[i] = c.plan[k].made;
                break;
            }
    return KILN_OK;
}
