/* Reductions over a set of axes: inference and evaluation (ONNX ReduceSum and its
 * family).
 *
 * Every output folds its group of inputs in row-major order. The fold of an empty group
 * is the operator's identity, as ONNX asks since opset 20. */
#include "compiler/op/op_compute.h"

#include <math.h>

const kiln_attr_def kiln_reduce_attrs[KILN_REDUCE_N_ATTR] = {
    [KILN_REDUCE_AXES] = {.name = "axes",
                          .kind = KILN_ATTR_INTS,
                          .doc = "axes to reduce, negative from the last; empty: all"},
    [KILN_REDUCE_KEEPDIMS] = {.name = "keepdims",
                              .kind = KILN_ATTR_BOOL,
                              .doc = "keep reduced axes, with extent 1",
                              .default_i = 1},
};

static kiln_status find_axes(const kiln_node *n, bool *is_reduced, kiln_err *err) {
    const kiln_attr *axes = &n->attr[KILN_REDUCE_AXES];
    const int rank = n->in[0]->type.rank;
    for (int i = 0; i < KILN_MAX_RANK; i++)
        is_reduced[i] = axes->n == 0;
    for (size_t i = 0; i < axes->n; i++) {
        int axis = 0;
        KILN_TRY(kiln_axis_normalize(axes->ints[i], rank, &axis, err));
        if (is_reduced[axis])
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "axes must differ, axis %d comes twice", axis);
        is_reduced[axis] = true;
    }
    return KILN_OK;
}

kiln_status kiln_infer_reduce(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(kiln_check_dtype(n, 0, n->op->dtypes, err));
    const kiln_type *x = &n->in[0]->type;
    bool is_reduced[KILN_MAX_RANK];
    KILN_TRY(find_axes(n, is_reduced, err));
    int64_t dim[KILN_MAX_RANK] = {0};
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (!is_reduced[i])
            dim[rank++] = x->dim[i];
        else if (n->attr[KILN_REDUCE_KEEPDIMS].i)
            dim[rank++] = 1;
    }
    *out = kiln_type_make(x->dtype, rank, dim);
    out->place = x->place;
    return KILN_OK;
}

/* Where the groups start (kept axes) and what one holds (reduced axes), as strides into
 * the input. */
typedef struct walk {
    int rank;
    int64_t dim[KILN_MAX_RANK], stride[KILN_MAX_RANK], n_elems;
} walk;

static void walk_add(walk *w, int64_t dim, int64_t stride) {
    w->n_elems *= dim;
    if (dim == 1)
        return;
    if (w->rank > 0 && w->stride[w->rank - 1] == stride * dim) {
        w->dim[w->rank - 1] *= dim;
        w->stride[w->rank - 1] = stride;
        return;
    }
    w->dim[w->rank] = dim;
    w->stride[w->rank++] = stride;
}

static int64_t walk_at(const walk *w, int64_t flat) {
    int64_t at = 0;
    for (int i = w->rank - 1; i >= 0; i--) {
        at += flat % w->dim[i] * w->stride[i];
        flat /= w->dim[i];
    }
    return at;
}

static void find_walks(const kiln_node *n, walk *kept, walk *group) {
    const kiln_type *x = &n->in[0]->type;
    bool is_reduced[KILN_MAX_RANK];
    const kiln_status st = find_axes(n, is_reduced, NULL);
    KILN_ASSERT(st == KILN_OK, "axes were checked by infer");
    int64_t stride[KILN_MAX_RANK];
    kiln_strides(x->rank, x->dim, stride);
    *kept = *group = (walk){.n_elems = 1};
    for (int i = 0; i < x->rank; i++)
        walk_add(is_reduced[i] ? group : kept, x->dim[i], stride[i]);
}

static double get(const kiln_wide *x, int64_t at) {
    return x->f != NULL ? x->f[at] : kiln_f64_from_i(x->i[at], x->type.dtype);
}

static double group_max(const kiln_wide *x, const walk *group, int64_t base) {
    double max = -HUGE_VAL;
    for (int64_t k = 0; k < group->n_elems; k++)
        max = fmax(max, get(x, base + walk_at(group, k)));
    return isfinite(max) ? max : 0;
}

/* `acc` after one evenly spaced run of the group. */
static double fold_row(const kiln_wide *x, int64_t at, int64_t stride, int64_t n_elems,
                       const kiln_reduce_fn *fn, double shift, double acc) {
    for (int64_t k = 0; k < n_elems; k++, at += stride) {
        double v = get(x, at);
        if (fn->map != NULL)
            v = fn->map(v, shift);
        acc = fn->fold != NULL ? fn->fold(acc, v) : acc + v;
    }
    return acc;
}

static double fold_group(const kiln_wide *x, const walk *group, int64_t base,
                         const kiln_reduce_fn *fn) {
    const double shift = fn->needs_max ? group_max(x, group, base) : 0;
    const int64_t row = group->rank == 0 ? 1 : group->dim[group->rank - 1];
    const int64_t stride = group->rank == 0 ? 0 : group->stride[group->rank - 1];
    double acc = fn->init;
    for (int64_t k = 0; k < group->n_elems; k += row)
        acc = fold_row(x, base + walk_at(group, k), stride, row, fn, shift, acc);
    return fn->finish != NULL ? fn->finish(acc, shift, group->n_elems) : acc;
}

static int64_t fold_group_i(const kiln_wide *x, const walk *group, int64_t base,
                            const kiln_reduce_fn *fn) {
    const kiln_dtype dtype = x->type.dtype;
    int64_t acc = fn->init_i;
    for (int64_t k = 0; k < group->n_elems; k++)
        acc = fn->fold_i(acc, x->i[base + walk_at(group, k)], dtype);
    return fn->finish_i != NULL ? fn->finish_i(acc, group->n_elems, dtype) : acc;
}

kiln_status kiln_eval_reduce(const kiln_node *n, kiln_eval_cx *cx,
                             const kiln_reduce_fn *fn) {
    const kiln_wide *x = &cx->in[0], *y = &cx->out[0];
    walk kept, group;
    find_walks(n, &kept, &group);
    const int64_t n_out = cx->pick != NULL ? cx->n_pick : kiln_type_elems(&y->type);
    for (int64_t k = 0; k < n_out; k++) {
        const int64_t base = walk_at(&kept, cx->pick != NULL ? cx->pick[k] : k);
        if (y->f != NULL)
            y->f[k] = fold_group(x, &group, base, fn);
        else if (fn->fold_i != NULL)
            y->i[k] = fold_group_i(x, &group, base, fn);
        else
            y->i[k] = kiln_i_from_f64(fold_group(x, &group, base, fn), y->type.dtype);
    }
    return KILN_OK;
}

void kiln_cost_reduce(const kiln_node *n, kiln_cost *c) {
    c->muladds = 0;
    c->flops = kiln_type_elems(&n->in[0]->type);
}

static int64_t elems_per_group(const kiln_node *n) {
    const int64_t n_out = kiln_type_elems(&n->out[0]->type);
    return n_out > 0 ? kiln_type_elems(&n->in[0]->type) / n_out : 0;
}

kiln_bound kiln_bound_reduce(const kiln_node *n) {
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1, .k = elems_per_group(n)};
}

kiln_bound kiln_bound_log_sum(const kiln_node *n) {
    const double k = (double)elems_per_group(n);
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 16, .floor = k > 4 ? k : 4};
}

/* ---- tensor expressions ---- */

typedef struct reduction {
    kiln_compute_cx *cx;
    const kiln_reduce_expr *r;
    bool is_reduced[KILN_MAX_RANK], keepdims;
    int64_t count;
} reduction;

static const kiln_expr *operand(const reduction *d, const kiln_expr *x) {
    kiln_arena *a = d->cx->arena;
    if (x->dtype == KILN_BOOL)
        return kiln_x_cast(a, KILN_U8, x);
    if (kiln_dtype_is_float(x->dtype))
        return kiln_compute_widened(d->cx, x);
    switch (d->r->ints) {
    case KILN_REDUCE_INTS_WRAP:
        break;
    case KILN_REDUCE_INTS_WIDE:
        return kiln_x_cast(
            a, kiln_dtype_is_in(x->dtype, KILN_DT_SIGNED) ? KILN_I64 : KILN_U64, x);
    case KILN_REDUCE_INTS_DOUBLE:
        return kiln_x_cast(a, KILN_F64, x);
    }
    return x;
}

/* One reduction over the groups, as the stage's body. */
static const kiln_expr *
reduced(const reduction *d, kiln_te *te, const kiln_expr *const *index,
        const kiln_reducer *(*reducer)(kiln_arena *a, kiln_dtype dtype),
        const kiln_expr *shift, bool is_mapped) {
    kiln_arena *a = d->cx->arena;
    const kiln_expr *at[KILN_MAX_RANK];
    const kiln_axis *axis[KILN_MAX_RANK];
    const int n = kiln_compute_reduce_axes(te, &d->cx->in[0].type, d->is_reduced,
                                           d->keepdims, index, at, axis);
    const kiln_expr *x = operand(d, kiln_compute_read(d->cx, 0, at));
    if (is_mapped && d->r->map != NULL)
        x = d->r->map(a, x, shift);
    return kiln_x_reduce(a, reducer(a, x->dtype), &x, axis, n, NULL, 0);
}

static const kiln_expr *shift_at(const reduction *d, const kiln_te_value *max,
                                 const kiln_expr *const *index) {
    kiln_arena *a = d->cx->arena;
    const kiln_expr *m = kiln_compute_read_value(d->cx, max, index);
    const kiln_expr *finite = kiln_x_less(a, kiln_x_fn(a, KILN_INTRIN_abs, m),
                                          kiln_x_like(a, m, (double)INFINITY));
    return kiln_x_select(a, finite, m, kiln_x_like(a, m, 0));
}

kiln_status kiln_compute_reduce(const kiln_node *n, kiln_compute_cx *cx,
                                const kiln_reduce_expr *r) {
    reduction d = {
        .cx = cx, .r = r, .keepdims = n->attr[KILN_REDUCE_KEEPDIMS].i, .count = 1};
    const kiln_type *x = &cx->in[0].type, *t = &cx->out[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *shift = NULL;
    kiln_te_value max, acc;
    KILN_TRY(find_axes(n, d.is_reduced, cx->err));
    for (int i = 0; i < x->rank; i++)
        d.count *= d.is_reduced[i] ? x->dim[i] : 1;
    if (r->needs_max) {
        kiln_te *m = kiln_compute_begin(cx, "max", t, index);
        const kiln_expr *body = reduced(&d, m, index, kiln_reducer_max, NULL, false);
        KILN_TRY(kiln_compute_inner(cx, m, t, body, &max));
    }
    kiln_te *y = kiln_compute_begin(cx, r->finish != NULL ? "fold" : "", t, index);
    if (r->needs_max)
        shift = shift_at(&d, &max, index);
    const kiln_expr *body = reduced(
        &d, y, index, r->reducer != NULL ? r->reducer : kiln_reducer_sum, shift, true);
    if (r->finish == NULL)
        return kiln_compute_end(cx, 0, y, body);
    KILN_TRY(kiln_compute_inner(cx, y, t, body, &acc));
    y = kiln_compute_begin(cx, "", t, index);
    if (r->needs_max)
        shift = shift_at(&d, &max, index);
    body = kiln_compute_read_value(cx, &acc, index);
    return kiln_compute_end(cx, 0, y, r->finish(cx->arena, body, shift, d.count));
}
