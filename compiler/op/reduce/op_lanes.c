/* Operators that work on lanes: the elements along one axis, with all other coordinates
 * fixed. */
#include "compiler/op/op_compute.h"
#include "base/fault.h"

#include <math.h>

const kiln_attr_def kiln_lanes_attrs[KILN_LANES_N_ATTR] = {
    [KILN_LANES_AXIS] = {.name = "axis",
                         .kind = KILN_ATTR_INT,
                         .doc = "axis to work along, negative from the last",
                         .default_i = -1},
};

kiln_lanes kiln_lanes_at(const kiln_type *t, int axis) {
    KILN_ASSERT(axis >= 0 && axis < t->rank, "lanes along axis %d of %d", axis,
                t->rank);
    kiln_lanes l = {.outer = 1, .n = t->dim[axis], .inner = 1};
    for (int i = 0; i < axis; i++)
        l.outer *= t->dim[i];
    for (int i = axis + 1; i < t->rank; i++)
        l.inner *= t->dim[i];
    return l;
}

kiln_status kiln_infer_lanes(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(kiln_check_dtype(n, 0, n->op->dtypes, err));
    int axis = 0;
    KILN_TRY(kiln_check_axis(n, KILN_LANES_AXIS, &axis, err));
    const kiln_type *x = &n->in[0]->type;
    *out = kiln_type_make(x->dtype, x->rank, x->dim);
    out->place = x->place;
    return KILN_OK;
}

const kiln_attr_def kiln_scan_attrs[KILN_SCAN_N_ATTR] = {
    [KILN_SCAN_AXIS] = {.name = "axis",
                        .kind = KILN_ATTR_INT,
                        .doc = "axis to run along, negative from the last",
                        .is_required = true},
    [KILN_SCAN_EXCLUSIVE] = {.name = "exclusive",
                             .kind = KILN_ATTR_BOOL,
                             .doc = "leave the element itself out"},
    [KILN_SCAN_REVERSE] = {.name = "reverse",
                           .kind = KILN_ATTR_BOOL,
                           .doc = "run from the last element to the first"},
};

const kiln_attr_def kiln_arg_attrs[KILN_ARG_N_ATTR] = {
    [KILN_ARG_AXIS] = {.name = "axis",
                       .kind = KILN_ATTR_INT,
                       .doc = "axis to search, negative from the last",
                       .is_required = true},
    [KILN_ARG_KEEPDIMS] = {.name = "keepdims",
                           .kind = KILN_ATTR_BOOL,
                           .doc = "keep the axis, with extent 1",
                           .default_i = 1},
    [KILN_ARG_SELECT_LAST] = {.name = "select_last_index",
                              .kind = KILN_ATTR_BOOL,
                              .doc = "of equal elements take the last, not the first"},
};

/* The axis is the first attribute of all families here. */
_Static_assert(KILN_LANES_AXIS == 0 && KILN_SCAN_AXIS == 0 && KILN_ARG_AXIS == 0,
               "lanes_of reads attribute 0");

static kiln_lanes lanes_of(const kiln_node *n) {
    int axis = 0;
    const kiln_status st = kiln_check_axis(n, KILN_LANES_AXIS, &axis, NULL);
    KILN_ASSERT(st == KILN_OK, "the axis was checked by infer");
    return kiln_lanes_at(&n->in[0]->type, axis);
}

int64_t kiln_lane_elems(const kiln_node *n) { return lanes_of(n).n; }

/* A whole lane for each element: the picked one is all that is kept. */
static void eval_picked(kiln_eval_cx *cx, const kiln_lanes *l, kiln_lane_fn lane) {
    const int64_t last = (l->n - 1) * l->inner;
    double *y = kiln_array(cx->scratch, double, last + 1);
    for (int64_t k = 0; k < cx->n_pick; k++) {
        const int64_t at = cx->pick[k], in_outer = at % (l->n * l->inner);
        const int64_t start = at - in_outer + in_outer % l->inner;
        lane(cx->in[0].f + start, y, l);
        cx->out[0].f[k] = y[at - start];
    }
}

kiln_status kiln_eval_lanes(const kiln_node *n, kiln_eval_cx *cx, kiln_lane_fn lane) {
    const kiln_lanes l = lanes_of(n);
    if (kiln_type_elems(&n->in[0]->type) == 0)
        return KILN_OK; /* the axes that are not empty may be long */
    if (cx->pick != NULL) {
        eval_picked(cx, &l, lane);
        return KILN_OK;
    }
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t i = 0; i < l.inner; i++) {
            const int64_t start = o * l.n * l.inner + i;
            lane(cx->in[0].f + start, cx->out[0].f + start, &l);
        }
    return KILN_OK;
}

void kiln_cost_softmax(const kiln_node *n, kiln_cost *c) {
    c->muladds = 0;
    c->flops = 5 * kiln_type_elems(&n->in[0]->type);
}

kiln_bound kiln_bound_lane_sum(const kiln_node *n) {
    const double k = (double)lanes_of(n).n;
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 16, .floor = k > 4 ? k : 4};
}

/* ---- running folds ---- */

static void scan_lane(const kiln_node *n, kiln_eval_cx *cx, const kiln_lanes *l,
                      int64_t start, int64_t init) {
    const kiln_wide *x = &cx->in[0], *y = &cx->out[0];
    const bool is_exclusive = n->attr[KILN_SCAN_EXCLUSIVE].i;
    const bool is_reverse = n->attr[KILN_SCAN_REVERSE].i;
    double acc = (double)init;
    int64_t acc_i = init;
    for (int64_t k = 0; k < l->n; k++) {
        const int64_t at = start + (is_reverse ? l->n - 1 - k : k) * l->inner;
        if (x->f != NULL) {
            const double next = n->op->f2(acc, x->f[at], n->attr);
            y->f[at] = is_exclusive ? acc : next;
            acc = next;
        } else {
            const int64_t next = n->op->i2(acc_i, x->i[at], n->attr, x->type.dtype);
            y->i[at] = is_exclusive ? acc_i : next;
            acc_i = next;
        }
    }
}

kiln_status kiln_eval_scan(const kiln_node *n, kiln_eval_cx *cx, int64_t init) {
    const kiln_lanes l = lanes_of(n);
    if (kiln_type_elems(&n->in[0]->type) == 0)
        return KILN_OK; /* the axes that are not empty may be long */
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t i = 0; i < l.inner; i++)
            scan_lane(n, cx, &l, o * l.n * l.inner + i, init);
    return KILN_OK;
}

/* ---- where the extreme is ---- */

kiln_status kiln_infer_arg(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(kiln_check_dtype(n, 0, n->op->dtypes, err));
    int axis = 0;
    KILN_TRY(kiln_check_axis(n, KILN_ARG_AXIS, &axis, err));
    const kiln_type *x = &n->in[0]->type;
    if (x->dim[axis] == 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "axis %d must have elements, has extent 0", axis);
    int64_t dim[KILN_MAX_RANK] = {0};
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            dim[rank++] = x->dim[i];
        else if (n->attr[KILN_ARG_KEEPDIMS].i)
            dim[rank++] = 1;
    }
    *out = kiln_type_make(KILN_I64, rank, dim);
    out->place = x->place;
    return KILN_OK;
}

/* Does element i beat element j? */
static bool beats(const kiln_wide *x, int64_t i, int64_t j, bool want_max) {
    if (x->f == NULL)
        return want_max ? kiln_less_i(x->i[j], x->i[i], x->type.dtype)
                        : kiln_less_i(x->i[i], x->i[j], x->type.dtype);
    if (isnan(x->f[i]) || isnan(x->f[j]))
        return isnan(x->f[i]) && !isnan(x->f[j]);
    return want_max ? x->f[i] > x->f[j] : x->f[i] < x->f[j];
}

static int64_t find_extreme(const kiln_wide *x, const kiln_lanes *l, int64_t start,
                            bool want_max, bool want_last) {
    int64_t best = 0;
    for (int64_t k = 1; k < l->n; k++) {
        const int64_t at = start + k * l->inner, top = start + best * l->inner;
        if (beats(x, at, top, want_max) || (want_last && !beats(x, top, at, want_max)))
            best = k;
    }
    return best;
}

kiln_status kiln_eval_arg(const kiln_node *n, kiln_eval_cx *cx, bool want_max) {
    const kiln_lanes l = lanes_of(n);
    const bool want_last = n->attr[KILN_ARG_SELECT_LAST].i;
    const int64_t n_out = cx->pick != NULL ? cx->n_pick : l.outer * l.inner;
    for (int64_t k = 0; k < n_out; k++) {
        const int64_t at = cx->pick != NULL ? cx->pick[k] : k;
        const int64_t start = at / l.inner * l.n * l.inner + at % l.inner;
        cx->out[0].i[k] = find_extreme(&cx->in[0], &l, start, want_max, want_last);
    }
    return KILN_OK;
}

/* ---- tensor expressions ---- */

void kiln_compute_lane_index(const kiln_compute_cx *cx, int axis,
                             const kiln_expr *const *index, const kiln_expr **at) {
    for (int i = 0; i < cx->in[0].type.rank; i++)
        at[i] = i == axis ? kiln_x_index(cx->arena, 0) : index[i];
}

static kiln_type lane_type(const kiln_compute_cx *cx, int axis) {
    const kiln_type *x = &cx->in[0].type;
    kiln_type t = kiln_type_make(x->dtype, x->rank, x->dim);
    t.dim[axis] = 1;
    return t;
}

/* A stage of lane_type, the indexes of all elements of its lane, and their axis. */
static kiln_te *begin_lane(kiln_compute_cx *cx, const char *suffix, int axis,
                           const kiln_expr **at, const kiln_axis **reduced) {
    const kiln_expr *index[KILN_MAX_RANK];
    bool is_reduced[KILN_MAX_RANK] = {false};
    const kiln_type t = lane_type(cx, axis);
    kiln_te *te = kiln_compute_begin(cx, suffix, &t, index);
    is_reduced[axis] = true;
    kiln_compute_reduce_axes(te, &cx->in[0].type, is_reduced, true, index, at, reduced);
    return te;
}

static const kiln_expr *softmax_exp(kiln_compute_cx *cx, const kiln_softmax_stages *s,
                                    const kiln_expr *const *index) {
    const kiln_expr *at[KILN_MAX_RANK];
    kiln_compute_lane_index(cx, s->axis, index, at);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, index));
    const kiln_expr *max = kiln_compute_read_value(cx, &s->max, at);
    if (KILN_FAULT(softmax_max))
        max = kiln_x_like(cx->arena, max, 0);
    return kiln_x_fn(cx->arena, KILN_INTRIN_exp_low, kiln_x_sub(cx->arena, x, max));
}

kiln_status kiln_compute_softmax_stages(const kiln_node *n, kiln_compute_cx *cx,
                                        kiln_softmax_stages *s) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_axis *axis;
    KILN_TRY(kiln_check_axis(n, KILN_LANES_AXIS, &s->axis, cx->err));
    const kiln_type t = lane_type(cx, s->axis);
    kiln_te *max = begin_lane(cx, "max", s->axis, at, &axis);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, at));
    const kiln_expr *body =
        kiln_x_reduce(a, kiln_reducer_max(a, x->dtype), &x, &axis, 1, NULL, 0);
    KILN_TRY(kiln_compute_inner(cx, max, &t, body, &s->max));

    kiln_te *exp = kiln_compute_begin(cx, "exp", &cx->in[0].type, index);
    KILN_TRY(kiln_compute_inner(cx, exp, &cx->in[0].type, softmax_exp(cx, s, index),
                                &s->exp));

    kiln_te *sum = begin_lane(cx, "sum", s->axis, at, &axis);
    x = kiln_compute_read_value(cx, &s->exp, at);
    body =
        kiln_te_sum(sum, KILN_FAULT(softmax_sum) ? kiln_x_mul(a, x, x) : x, &axis, 1);
    return kiln_compute_inner(cx, sum, &t, body, &s->sum);
}

/* The extreme element, and then the least index of those that are it: two reductions of
 * one number each, which become vectors, where one of pairs would be scalar code. A lane
 * with NaN has NaN for its extreme, and its first NaN is where that is. For the last of
 * equals, indexes count from the end. They have 32 bits where these do: as many lanes as
 * most elements. */
kiln_status kiln_compute_best(kiln_compute_cx *cx, int axis, bool want_max,
                              bool want_last, kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_expr *at[KILN_MAX_RANK], *one[KILN_MAX_RANK];
    const kiln_axis *lane;
    kiln_te_value extreme;
    kiln_type t = lane_type(cx, axis);
    const int64_t n = cx->in[0].type.dim[axis];
    kiln_te *te = begin_lane(cx, "extreme", axis, at, &lane);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, at));
    const kiln_reducer *r =
        want_max ? kiln_reducer_max(a, x->dtype) : kiln_reducer_min(a, x->dtype);
    KILN_TRY(kiln_compute_inner(cx, te, &t, kiln_x_reduce(a, r, &x, &lane, 1, NULL, 0),
                                &extreme));

    te = begin_lane(cx, "best", axis, at, &lane);
    kiln_compute_lane_index(cx, axis, at, one);
    x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, at));
    const kiln_expr *top = kiln_compute_read_value(cx, &extreme, one);
    const kiln_expr *is_it = kiln_x_binary(a, KILN_EXPR_EQ, x, top);
    if (kiln_dtype_is_float(x->dtype))
        is_it =
            kiln_x_binary(a, KILN_EXPR_OR, is_it, kiln_x_binary(a, KILN_EXPR_NE, x, x));
    t.dtype = n <= INT32_MAX ? KILN_I32 : KILN_I64;
    const kiln_expr *k = at[axis];
    if (want_last)
        k = kiln_x_sub(a, kiln_x_index(a, n - 1), k);
    k = kiln_x_select(a, is_it, kiln_x_cast(a, t.dtype, k),
                      kiln_x_int(a, t.dtype, n - 1));
    r = kiln_reducer_min(a, t.dtype);
    return kiln_compute_inner(cx, te, &t, kiln_x_reduce(a, r, &k, &lane, 1, NULL, 0),
                              out);
}

kiln_status kiln_compute_arg(const kiln_node *n, kiln_compute_cx *cx, bool want_max) {
    kiln_arena *a = cx->arena;
    const kiln_type *x = &cx->in[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const bool is_last = KILN_FAULT(argmax_tie) ? !n->attr[KILN_ARG_SELECT_LAST].i
                                                : n->attr[KILN_ARG_SELECT_LAST].i;
    kiln_te_value best;
    int axis = 0, from = 0;
    KILN_TRY(kiln_check_axis(n, KILN_ARG_AXIS, &axis, cx->err));
    KILN_TRY(kiln_compute_best(cx, axis, want_max, is_last, &best));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < x->rank; i++) {
        if (i != axis || n->attr[KILN_ARG_KEEPDIMS].i)
            at[i] = index[from++];
        else
            at[i] = kiln_x_index(a, 0);
    }
    const kiln_expr *found =
        kiln_x_cast(a, KILN_I64, kiln_compute_read_value(cx, &best, at));
    if (is_last)
        found = kiln_x_sub(a, kiln_x_index(a, x->dim[axis] - 1), found);
    return kiln_compute_end(cx, 0, y, found);
}
