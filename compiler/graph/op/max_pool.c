/* max_pool: largest element under each window, and where it lies.
 *
 * Padding does not take part; a window without elements gives the smallest value of the
 * dtype and index -1. NaN wins over every number, the first of equals gives the index.
 * Source: ONNX MaxPool-22.
 */
#include <math.h>

#include "compiler/graph/op/op_common.h"
#include "compiler/graph/op/pool.h"

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
};
