/* Shared parts of layer_norm and rms_norm; see norm.h. */
#include "compiler/op/norm/norm.h"
#include "base/fault.h"

#include "compiler/op/op_window.h"

kiln_status kiln_norm_read(const kiln_node *n, kiln_norm_rows *r, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    *r = (kiln_norm_rows){.rows = 1, .n = 1};
    KILN_TRY(kiln_check_axis(n, KILN_NORM_AXIS, &r->axis, err));
    if (!(n->attr[KILN_NORM_EPSILON].f >= 0))
        return kiln_fail(err, KILN_ERR_SHAPE, "attribute 'epsilon' must be >= 0, is %g",
                         n->attr[KILN_NORM_EPSILON].f);
    for (int i = 0; i < x->rank; i++) {
        int64_t *count = i < r->axis ? &r->rows : &r->n;
        *count *= x->dim[i];
    }
    return KILN_OK;
}

kiln_status kiln_norm_check_factor(const kiln_node *n, int in, kiln_err *err) {
    if (!kiln_has_in(n, in))
        return KILN_OK;
    const kiln_type *x = &n->in[0]->type, *f = &n->in[in]->type;
    KILN_TRY(kiln_check_same_dtype(n, 0, in, err));
    bool fits = f->rank <= x->rank;
    for (int i = 0; fits && i < f->rank; i++) {
        const int64_t dim = f->dim[i];
        fits = dim == 1 || dim == x->dim[x->rank - f->rank + i];
    }
    if (fits)
        return KILN_OK;
    kiln_arena a = {0};
    const kiln_status st =
        kiln_fail(err, KILN_ERR_SHAPE, "input '%s' must stretch to %s, is %s",
                  kiln_in_name(n, in), kiln_shape_text(&a, x->rank, x->dim),
                  kiln_shape_text(&a, f->rank, f->dim));
    kiln_arena_fini(&a);
    return st;
}

void kiln_norm_affine_init(kiln_norm_affine *a, const kiln_node *n,
                           const kiln_eval_cx *cx) {
    *a = (kiln_norm_affine){0};
    /* An absent factor is walked as x is, and not read. */
    kiln_wide in[3] = {cx->in[0], cx->in[0], cx->in[0]};
    if (kiln_has_in(n, 1)) {
        a->scale = cx->in[1].f;
        in[1] = cx->in[1];
    }
    if (kiln_has_in(n, 2)) {
        a->bias = cx->in[2].f;
        in[2] = cx->in[2];
    }
    kiln_bcast_init(&a->bcast, &n->in[0]->type, in, 3);
}

double kiln_norm_affine_at(const kiln_norm_affine *a, int64_t index, double v) {
    int64_t at[KILN_BCAST_MAX_IN];
    kiln_bcast_at(&a->bcast, index, at);
    if (a->scale != NULL)
        v *= a->scale[at[1]];
    return a->bias != NULL ? v + a->bias[at[2]] : v;
}

void kiln_cost_norm(const kiln_node *n, kiln_cost *c) {
    c->flops = kiln_mul_sat(kiln_type_elems(&n->in[0]->type), 8);
}

kiln_bound kiln_bound_norm(int64_t group) {
    return (kiln_bound){
        .kind = KILN_BOUND_ULP, .c = 16.0, .floor = 64.0 + (double)group / 16.0};
}

/* ---- tensor expressions ---- */

static const kiln_expr *mean_of(kiln_arena *a, const kiln_expr *sum, int64_t n) {
    return kiln_x_div(
        a, sum, kiln_x_like(a, sum, (double)(n + (KILN_FAULT(norm_mean) ? 1 : 0))));
}

/* Stages: the sum over each group, and what `finish` makes of it. */
static kiln_status fold(kiln_compute_cx *cx, const kiln_norm_group *g,
                        const char *suffix, const kiln_te_value *mean, bool is_squared,
                        kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_axis *axis[KILN_MAX_RANK];
    kiln_te *te = kiln_compute_begin(cx, suffix, g->t, index);
    const int n = g->open(g, cx, te, index, at, axis);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, at));
    if (mean != NULL)
        x = kiln_x_sub(a, x, kiln_compute_read_value(cx, mean, index));
    if (is_squared)
        x = kiln_x_mul(a, x, x);
    return kiln_compute_inner(cx, te, g->t, kiln_te_sum(te, x, axis, n), out);
}

kiln_status kiln_compute_mean(kiln_compute_cx *cx, const kiln_norm_group *g,
                              kiln_te_value *out) {
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te_value sum;
    KILN_ASSERT(g->open != NULL && g->n >= 0, "the mean of a group of %lld",
                (long long)g->n);
    KILN_TRY(fold(cx, g, "sum", NULL, false, &sum));
    kiln_te *te = kiln_compute_begin(cx, "mean", g->t, index);
    const kiln_expr *v = kiln_compute_read_value(cx, &sum, index);
    return kiln_compute_inner(cx, te, g->t, mean_of(cx->arena, v, g->n), out);
}

kiln_status kiln_compute_inverse_deviation(kiln_compute_cx *cx,
                                           const kiln_norm_group *g,
                                           const kiln_te_value *mean, double epsilon,
                                           kiln_te_value *out) {
    KILN_ASSERT(epsilon >= 0, "a variance and %g", epsilon);
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te_value squares;
    KILN_TRY(fold(cx, g, "squares", mean, true, &squares));
    kiln_te *te = kiln_compute_begin(cx, "inverse", g->t, index);
    const kiln_expr *v = mean_of(a, kiln_compute_read_value(cx, &squares, index), g->n);
    v = kiln_x_fn(
        a, KILN_INTRIN_sqrt,
        kiln_x_add(a, v, kiln_x_like(a, v, KILN_FAULT(norm_epsilon) ? 0 : epsilon)));
    return kiln_compute_inner(cx, te, g->t, kiln_x_div(a, kiln_x_like(a, v, 1), v),
                              out);
}

static int open_rows(const kiln_norm_group *g, kiln_compute_cx *cx, kiln_te *te,
                     const kiln_expr *const *index, const kiln_expr **at,
                     const kiln_axis **axis) {
    const kiln_norm_rows *r = g->user;
    bool is_reduced[KILN_MAX_RANK];
    for (int i = 0; i < g->t->rank; i++)
        is_reduced[i] = i >= r->axis;
    return kiln_compute_reduce_axes(te, &cx->in[0].type, is_reduced, true, index, at,
                                    axis);
}

kiln_norm_group kiln_norm_group_of_rows(const kiln_compute_cx *cx,
                                        const kiln_norm_rows *r, kiln_type *t) {
    const kiln_type *x = &cx->in[0].type;
    *t = kiln_type_make(x->dtype, x->rank, x->dim);
    for (int i = r->axis; i < t->rank; i++)
        t->dim[i] = 1;
    return (kiln_norm_group){.t = t, .n = r->n, .open = open_rows, .user = r};
}

const kiln_expr *kiln_compute_affine(kiln_compute_cx *cx, const kiln_expr *v,
                                     const kiln_expr *const *index) {
    const int rank = cx->in[0].type.rank;
    for (int i = 1; i < 3; i++) {
        if (!kiln_has_in(cx->node, i))
            continue;
        const kiln_expr *f =
            kiln_compute_widened(cx, kiln_compute_read_broadcast(cx, i, rank, index));
        v = kiln_x_binary(cx->arena, i == 1 ? KILN_EXPR_MUL : KILN_EXPR_ADD, v, f);
    }
    return v;
}
