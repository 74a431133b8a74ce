/* max_pool: largest element under each window, and where it lies.
 *
 * Padding does not take part; a window without elements gives the smallest value of the
 * dtype and index -1. NaN wins over every number, the first of equals gives the index.
 * Source: ONNX MaxPool-22.
 */
#include <math.h>

#include "compiler/op/op_compute.h"
#include "base/fault.h"
#include "compiler/op/pool/pool.h"

enum { COLUMN_MAJOR = KILN_POOL_N_ATTR, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_POOL_ATTRS,
    {.name = "column_major",
     .kind = KILN_ATTR_BOOL,
     .doc = "indices count the spatial axes with the first one fastest"},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(kiln_infer_pool(n, out, err));
    if (n->n_out == 2)
        out[1] = kiln_type_make(KILN_I64, out[0].rank, out[0].dim);
    return KILN_OK;
}

/* Position in `at` of the largest; n > 0. */
static int64_t largest_f(const double *x, const int64_t *at, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n && !isnan(x[at[best]]); i++) {
        if (x[at[i]] > x[at[best]] || isnan(x[at[i]]))
            best = i;
    }
    return best;
}

static int64_t largest_i(const int64_t *x, const int64_t *at, int64_t n,
                         uint64_t flip) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        if ((int64_t)((uint64_t)x[at[i]] ^ flip) >
            (int64_t)((uint64_t)x[at[best]] ^ flip))
            best = i;
    }
    return best;
}

static int64_t column_major(const kiln_window *w, int64_t index) {
    int64_t coord[KILN_MAX_SPATIAL], at = 0;
    kiln_unravel(index, w->n, w->in, coord);
    for (int i = w->n - 1; i >= 0; i--)
        at = at * w->in[i] + coord[i];
    return at;
}

static void eval_one(const kiln_node *n, kiln_eval_cx *cx, const kiln_pool *p,
                     int64_t index, int64_t j, int64_t *at) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    /* u64 is held in int64_t; with its top bit flipped it has the order of signed
     * numbers. */
    const uint64_t flip = dtype == KILN_U64 ? (uint64_t)1 << 63 : 0;
    const kiln_wide *x = &cx->in[0], *y = &cx->out[0];
    const int64_t plane = index / p->outs * p->ins;
    const int64_t count = kiln_pool_gather(p, index % p->outs, at, NULL);
    int64_t from = -1;
    if (y->f != NULL) {
        const int64_t i = count > 0 ? largest_f(x->f + plane, at, count) : 0;
        from = count > 0 ? at[i] : -1;
        y->f[j] = from < 0 ? -(double)INFINITY : x->f[plane + from];
    } else {
        const int64_t i = count > 0 ? largest_i(x->i + plane, at, count, flip) : 0;
        from = count > 0 ? at[i] : -1;
        y->i[j] = from < 0 ? kiln_dtype_get(dtype)->min_i : x->i[plane + from];
    }
    if (cx->pick != NULL || n->n_out < 2)
        return;
    if (from >= 0 && n->attr[COLUMN_MAJOR].i != 0)
        from = column_major(&p->window, from);
    cx->out[1].i[j] = from < 0 ? -1 : plane + from;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    kiln_pool p;
    KILN_TRY(kiln_pool_read(n, &p, cx->err));
    int64_t *at = kiln_array(cx->scratch, int64_t, p.room);
    const int64_t count = kiln_pick_count(cx, p.planes * p.outs);
    for (int64_t j = 0; j < count; j++)
        eval_one(n, cx, &p, kiln_pick_at(cx, j), j, at);
    return KILN_OK;
}

static const kiln_expr *lowest(kiln_arena *a, kiln_dtype dtype) {
    return kiln_dtype_is_float(dtype)
               ? kiln_x_float(a, dtype, -(double)INFINITY)
               : kiln_x_int(a, dtype, kiln_dtype_get(dtype)->min_i);
}

/* Row-major index in the plane of x of one tap; past every other in the padding. */
static const kiln_expr *position(kiln_compute_cx *cx, const kiln_window *w,
                                 const kiln_expr *const *at) {
    kiln_arena *a = cx->arena;
    const kiln_expr *flat = kiln_x_index(a, 0),
                    *is_inside = kiln_x_int(a, KILN_BOOL, 1);
    for (int i = 0; i < w->n; i++) {
        const kiln_expr *pos =
            kiln_x_sub(a, at[2 + i], kiln_x_index(a, w->pad_begin[i]));
        is_inside = kiln_x_binary(a, KILN_EXPR_AND, is_inside,
                                  kiln_compute_within(a, pos, 0, w->in[i]));
        flat = kiln_x_add(a, kiln_x_mul(a, flat, kiln_x_index(a, w->in[i])), pos);
    }
    return kiln_x_select(a, is_inside, flat, kiln_x_index(a, INT64_MAX));
}

/* From the index in the plane to that in x, in the order asked for. */
static const kiln_expr *place(const kiln_node *n, kiln_compute_cx *cx,
                              const kiln_pool *p, const kiln_expr *found,
                              const kiln_expr *const *index) {
    kiln_arena *a = cx->arena;
    const kiln_window *w = &p->window;
    const kiln_expr *at = found, *rest = found;
    if (n->attr[COLUMN_MAJOR].i != 0) {
        int64_t step = p->ins;
        at = kiln_x_index(a, 0);
        for (int i = w->n - 1; i >= 0; i--) { /* the last axis is the slowest */
            step /= w->in[i];
            const kiln_expr *extent = kiln_x_index(a, w->in[i]);
            const kiln_expr *coord = kiln_x_binary(a, KILN_EXPR_FLOORMOD, rest, extent);
            rest = kiln_x_binary(a, KILN_EXPR_FLOORDIV, rest, extent);
            at = kiln_x_add(a, at, kiln_x_mul(a, coord, kiln_x_index(a, step)));
        }
    }
    const kiln_expr *channels = kiln_x_index(a, n->in[0]->type.dim[1]);
    const kiln_expr *plane = kiln_x_add(a, kiln_x_mul(a, index[0], channels), index[1]);
    at = kiln_x_add(a, kiln_x_mul(a, plane, kiln_x_index(a, p->ins)), at);
    const kiln_expr *none =
        kiln_x_binary(a, KILN_EXPR_EQ, found, kiln_x_index(a, INT64_MAX));
    return kiln_x_select(a, none, kiln_x_index(a, -1), at);
}

/* With the second output: a reduction of pairs, and a stage for each output. */
static kiln_status compute_both(const kiln_node *n, kiln_compute_cx *cx,
                                const kiln_pool *p, const kiln_te_value *x) {
    kiln_arena *a = cx->arena;
    const kiln_window *w = &p->window;
    const kiln_type t = kiln_type_make(cx->out[0].type.dtype, cx->out[0].type.rank,
                                       cx->out[0].type.dim);
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK], *body[2];
    const kiln_axis *axis[KILN_MAX_SPATIAL];
    kiln_te_value pair[2];
    kiln_te *best = kiln_compute_begin(cx, "best", &t, index);
    kiln_compute_taps(best, w, index, at, axis);
    const kiln_expr *source[2] = {
        position(cx, w, at),
        kiln_compute_widened(cx, kiln_compute_read_value(cx, x, at))};
    const kiln_reducer *r = kiln_reducer_argmax(a, source[1]->dtype);
    for (int k = 0; k < 2; k++)
        body[k] = kiln_x_reduce(a, r, source, axis, w->n, NULL, k);
    KILN_TRY(kiln_compute_inner_tuple(cx, best, &t, 2, body, pair));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    KILN_TRY(kiln_compute_end(cx, 0, y, kiln_compute_read_value(cx, &pair[1], index)));
    kiln_te *where = kiln_compute_begin(cx, "index", &cx->out[1].type, index);
    const kiln_expr *found = kiln_compute_read_value(cx, &pair[0], index);
    return kiln_compute_end(cx, 1, where, place(n, cx, p, found, index));
}

/* Stages: "pad" where there is padding, and the reduction, tagged "pool". */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_axis *axis[KILN_MAX_SPATIAL];
    kiln_te_value x;
    kiln_pool p;
    KILN_TRY(kiln_pool_read(n, &p, cx->err));
    KILN_TRY(kiln_compute_pad(cx, &cx->in[0], &p.window,
                              KILN_FAULT(max_pool_padding)
                                  ? kiln_x_number(a, cx->in[0].type.dtype, 0)
                                  : lowest(a, cx->in[0].type.dtype),
                              &x));
    if (n->n_out == 2)
        return compute_both(n, cx, &p, &x);
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    y->tag = "pool";
    kiln_compute_taps(y, &p.window, index, at, axis);
    /* Rounding keeps order: half floats need no wider type here. */
    const kiln_expr *v = kiln_compute_read_value(cx, &x, at);
    return kiln_compute_end(
        cx, 0, y,
        kiln_x_reduce(a, kiln_reducer_max(a, v->dtype), &v, axis, p.window.n, NULL, 0));
}

const kiln_op_def kiln_op_max_pool = {
    .name = "max_pool",
    .doc = "Largest element under each window; the second output is its index in x.",
    .n_in_min = 1,
    .n_in_max = 1,
    .n_out_min = 1,
    .n_out_max = 2,
    .in_names = (const char *const[]){"x", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_NUMBER,
    .fuse = KILN_FUSE_REDUCTION,
    .layout = KILN_LAYOUT_TOLERANT,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = kiln_cost_pool,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
