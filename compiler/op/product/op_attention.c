/* attention: y = softmax(scale * q k^T + mask) v, for each matrix of a batch.
 *
 * q is [..., m, d], k is [..., s, d], v is [..., s, e], the mask stretches to
 * [..., m, s], y is [..., m, e]; softmax runs along s. perm_q, perm_k and perm_v are
 * taken first, perm_y last, as transpose takes them: heads are read and written where
 * they lie. Source: Vaswani et al., Attention is all you need (2017), section 3.2.1;
 * ONNX Attention-23.
 *
 * Error, of first order, with u the unit roundoff, p = softmax(z) and z the scores:
 * a score is off by (d + 3) u (|scale| sum |q| |k| + |mask|), what exp makes of it by
 * that and by u |z - max|, times itself; exp, the sums over s and the division add
 * s + 20 roundoffs. With a_j all of these for key j, y is off by at most
 *     u (sum_j p_j |v_j| a_j + (sum_j p_j a_j) (sum_j p_j |v_j|)),
 * errors of the weights and of their sum: the magnitude of its bound, which the
 * reference computes (attention_f64.c). */
#include "compiler/op/product/op_attention.h"
#include "base/fault.h"

#include <inttypes.h>

#include "compiler/op/op_compute.h"

static const kiln_attr_def attrs[KILN_ATTENTION_N_ATTR] = {
    {.name = "scale",
     .kind = KILN_ATTR_FLOAT,
     .doc = "factor on the products of queries and keys",
     .default_f = 1},
    {.name = "perm_q",
     .kind = KILN_ATTR_INTS,
     .doc = "for each axis of [..., m, d], the axis of q it is; empty: the same"},
    {.name = "perm_k",
     .kind = KILN_ATTR_INTS,
     .doc = "for each axis of [..., s, d], the axis of k it is; empty: the same"},
    {.name = "perm_v",
     .kind = KILN_ATTR_INTS,
     .doc = "for each axis of [..., s, e], the axis of v it is; empty: the same"},
    {.name = "perm_y",
     .kind = KILN_ATTR_INTS,
     .doc = "for each axis of y, the axis of [..., m, e] it is; empty: the same"},
};

int kiln_attention_axis(const kiln_attr *perm, int i) {
    KILN_ASSERT(i >= 0 && (perm->n == 0 || (size_t)i < perm->n), "axis %d of %zu", i,
                perm->n);
    return perm->n == 0 ? i : (int)perm->ints[i];
}

static kiln_status check_perm(const kiln_node *n, int attr, int rank, kiln_err *err) {
    const kiln_attr *perm = &n->attr[attr];
    unsigned seen = 0;
    if (perm->n == 0)
        return KILN_OK;
    for (size_t i = 0; i < perm->n; i++)
        if (perm->ints[i] >= 0 && perm->ints[i] < rank)
            seen |= 1u << perm->ints[i];
    if (perm->n != (size_t)rank || seen != (1u << rank) - 1)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "'%s' must be empty or name each of the %d axes once",
                         n->op->attr[attr].name, rank);
    return KILN_OK;
}

static kiln_status view_of(const kiln_node *n, int in, int attr,
                           kiln_attention_view *out, kiln_err *err) {
    const kiln_type *t = &n->in[in]->type;
    int64_t stride[KILN_MAX_RANK];
    KILN_TRY(kiln_check_rank(n, in, n->in[KILN_ATTENTION_Q]->type.rank, err));
    KILN_TRY(check_perm(n, attr, t->rank, err));
    kiln_strides(t->rank, t->dim, stride);
    for (int i = 0; i < t->rank; i++) {
        out->dim[i] = t->dim[kiln_attention_axis(&n->attr[attr], i)];
        out->step[i] = stride[kiln_attention_axis(&n->attr[attr], i)];
    }
    return KILN_OK;
}

static kiln_status check_dims(const kiln_attention *p, kiln_err *err) {
    for (int i = 0; i < p->row; i++)
        if (p->k.dim[i] != p->q.dim[i] || p->v.dim[i] != p->q.dim[i])
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "axis %d of q, k and v must be equally long, is %" PRId64
                             ", %" PRId64 " and %" PRId64,
                             i, p->q.dim[i], p->k.dim[i], p->v.dim[i]);
    if (p->k.dim[p->col] != p->d)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "queries and keys must have equally many terms, have %" PRId64
                         " and %" PRId64,
                         p->d, p->k.dim[p->col]);
    if (p->v.dim[p->row] != p->s || p->s < 1)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "there must be a row of v for each key, and one at least, "
                         "there are %" PRId64 " for %" PRId64,
                         p->v.dim[p->row], p->s);
    return KILN_OK;
}

/* Steps of 0 where the mask is stretched. */
static kiln_status view_mask(const kiln_node *n, kiln_attention *p, kiln_err *err) {
    p->has_mask = kiln_has_in(n, KILN_ATTENTION_MASK);
    if (!p->has_mask)
        return KILN_OK;
    const kiln_type *t = &n->in[KILN_ATTENTION_MASK]->type;
    int64_t stride[KILN_MAX_RANK];
    KILN_TRY(kiln_check_same_dtype(n, KILN_ATTENTION_Q, KILN_ATTENTION_MASK, err));
    kiln_strides(t->rank, t->dim, stride);
    for (int i = 0; i < p->rank; i++) {
        const int own = i - (p->rank - t->rank);
        const int64_t want = i == p->col ? p->s : p->q.dim[i];
        const int64_t dim = own < 0 ? 1 : t->dim[own];
        if (t->rank > p->rank || (dim != 1 && dim != want))
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "the mask must stretch to the scores: axis %d must be 1 "
                             "or %" PRId64 ", is %" PRId64,
                             i, want, dim);
        p->mask.step[i] = dim == 1 ? 0 : stride[own];
    }
    return KILN_OK;
}

kiln_status kiln_attention_read(const kiln_node *n, kiln_attention *p, kiln_err *err) {
    const int rank = n->in[KILN_ATTENTION_Q]->type.rank;
    *p = (kiln_attention){.rank = rank, .row = rank - 2, .col = rank - 1};
    if (rank < 2)
        return kiln_fail(err, KILN_ERR_SHAPE, "q must have rank >= 2, has rank %d",
                         rank);
    for (int in = KILN_ATTENTION_K; in <= KILN_ATTENTION_V; in++)
        KILN_TRY(kiln_check_same_dtype(n, KILN_ATTENTION_Q, in, err));
    KILN_TRY(view_of(n, KILN_ATTENTION_Q, KILN_ATTENTION_PERM_Q, &p->q, err));
    KILN_TRY(view_of(n, KILN_ATTENTION_K, KILN_ATTENTION_PERM_K, &p->k, err));
    KILN_TRY(view_of(n, KILN_ATTENTION_V, KILN_ATTENTION_PERM_V, &p->v, err));
    KILN_TRY(check_perm(n, KILN_ATTENTION_PERM_Y, rank, err));
    p->m = p->q.dim[p->row];
    p->d = p->q.dim[p->col];
    p->s = p->k.dim[p->row];
    p->e = p->v.dim[p->col];
    p->scale = n->attr[KILN_ATTENTION_SCALE].f;
    KILN_TRY(check_dims(p, err));
    return view_mask(n, p, err);
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    kiln_attention p;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(kiln_attention_read(n, &p, err));
    for (int i = 0; i < p.rank; i++) {
        const int axis = kiln_attention_axis(&n->attr[KILN_ATTENTION_PERM_Y], i);
        dim[i] = axis == p.col ? p.e : p.q.dim[axis];
    }
    out[0] = kiln_type_make(n->in[KILN_ATTENTION_Q]->type.dtype, p.rank, dim);
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    kiln_attention p;
    if (kiln_attention_read(n, &p, NULL) != KILN_OK || p.e == 0)
        return;
    const int64_t scores = kiln_mul_sat(kiln_type_elems(&n->out[0]->type) / p.e, p.s);
    c->muladds = kiln_mul_sat(scores, p.d + p.e);
    c->flops = kiln_mul_sat(scores, 2 * (p.d + p.e) + 5);
}

static kiln_bound error_bound(const kiln_node *n) {
    (void)n;
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1, .k = 1};
}

/* ---- tensor expressions ---------------------------------------------------------- */

/* Element of q, k or v at [..., row, col]. */
static const kiln_expr *read_at(const kiln_compute_cx *cx, int in, int perm,
                                const kiln_expr *const *index, const kiln_expr *row,
                                const kiln_expr *col) {
    const int rank = cx->in[in].type.rank;
    const kiln_expr *at[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        at[kiln_attention_axis(&cx->node->attr[perm], i)] = i == rank - 2   ? row
                                                            : i == rank - 1 ? col
                                                                            : index[i];
    return kiln_compute_widened(cx, kiln_compute_read(cx, in, at));
}

static kiln_type type_of(const kiln_compute_cx *cx, const kiln_attention *p,
                         int64_t columns) {
    kiln_type t =
        kiln_type_make(cx->in[KILN_ATTENTION_Q].type.dtype, p->rank, p->q.dim);
    t.dim[p->col] = columns;
    return t;
}

/* Stages: products of queries and keys; scores. */
static kiln_status compute_scores(kiln_compute_cx *cx, const kiln_attention *p,
                                  kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_type t = type_of(cx, p, p->s);
    kiln_te_value products;
    kiln_te *te = kiln_compute_begin(cx, "products", &t, index);
    te->tag = "products";
    const kiln_axis *axis = kiln_te_reduce_axis(te, "k", p->d);
    const kiln_expr *k = kiln_axis_var(a, axis);
    const kiln_expr *body = kiln_x_mul(
        a,
        read_at(cx, KILN_ATTENTION_Q, KILN_ATTENTION_PERM_Q, index, index[p->row], k),
        read_at(cx, KILN_ATTENTION_K, KILN_ATTENTION_PERM_K, index, index[p->col], k));
    KILN_TRY(
        kiln_compute_inner(cx, te, &t, kiln_te_sum(te, body, &axis, 1), &products));
    te = kiln_compute_begin(cx, "scores", &t, index);
    te->tag = "scores";
    body = kiln_compute_read_value(cx, &products, index);
    if (p->scale != 1)
        body = kiln_x_mul(a, body, kiln_x_like(a, body, p->scale));
    if (p->has_mask)
        body = kiln_x_add(
            a, body,
            kiln_compute_widened(cx, kiln_compute_read_broadcast(
                                         cx, KILN_ATTENTION_MASK, p->rank, index)));
    return kiln_compute_inner(cx, te, &t, body, out);
}

/* The largest score of a query, or the sum of its weights. */
static kiln_status compute_fold(kiln_compute_cx *cx, const kiln_attention *p,
                                bool is_sum, const kiln_te_value *of,
                                kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_expr *at[KILN_MAX_RANK];
    const kiln_type t = type_of(cx, p, 1);
    kiln_te *te = kiln_compute_begin(cx, is_sum ? "sum" : "max", &t, at);
    te->tag = is_sum ? "sum" : "max";
    const kiln_axis *axis = kiln_te_reduce_axis(te, "j", p->s);
    at[p->col] = kiln_axis_var(a, axis);
    const kiln_expr *x = kiln_compute_read_value(cx, of, at);
    const kiln_expr *body =
        is_sum ? kiln_te_sum(te, x, &axis, 1)
               : kiln_x_reduce(a, kiln_reducer_max(a, x->dtype), &x, &axis, 1, NULL, 0);
    return kiln_compute_inner(cx, te, &t, body, out);
}

static kiln_status compute_weights(kiln_compute_cx *cx, const kiln_attention *p,
                                   const kiln_te_value *scores,
                                   const kiln_te_value *max, kiln_te_value *out) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_type t = type_of(cx, p, p->s);
    kiln_te *te = kiln_compute_begin(cx, "weights", &t, index);
    te->tag = "weights";
    for (int i = 0; i < p->rank; i++)
        at[i] = i == p->col ? kiln_x_index(a, 0) : index[i];
    const kiln_expr *x = kiln_compute_read_value(cx, scores, index);
    x = kiln_x_sub(a, x, kiln_compute_read_value(cx, max, at));
    return kiln_compute_inner(cx, te, &t, kiln_x_fn(a, KILN_INTRIN_exp_low, x), out);
}

/* Stages of y's shape: weights times v, and that through the sum of the weights, which
 * is at least 1. */
static kiln_status compute_result(kiln_compute_cx *cx, const kiln_attention *p,
                                  const kiln_te_value *weights,
                                  const kiln_te_value *sum) {
    kiln_arena *a = cx->arena;
    const kiln_attr *perm = &cx->node->attr[KILN_ATTENTION_PERM_Y];
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_type *y = &cx->out[0].type;
    const kiln_type t = kiln_type_make(y->dtype, y->rank, y->dim);
    kiln_te_value mixed;
    kiln_te *te = kiln_compute_begin(cx, "mixed", &t, index);
    te->tag = "mixed";
    const kiln_axis *axis = kiln_te_reduce_axis(te, "j", p->s);
    const kiln_expr *j = kiln_axis_var(a, axis);
    for (int i = 0; i < p->rank; i++)
        at[kiln_attention_axis(perm, i)] = index[i];
    const kiln_expr *column = at[p->col];
    at[p->col] = j;
    const kiln_expr *body =
        kiln_x_mul(a, kiln_compute_read_value(cx, weights, at),
                   read_at(cx, KILN_ATTENTION_V, KILN_ATTENTION_PERM_V, at, j, column));
    KILN_TRY(kiln_compute_inner(cx, te, &t, kiln_te_sum(te, body, &axis, 1), &mixed));
    te = kiln_compute_begin(cx, "", y, index);
    for (int i = 0; i < p->rank; i++)
        at[kiln_attention_axis(perm, i)] = index[i];
    at[p->col] = kiln_x_index(a, 0);
    const kiln_expr *whole = kiln_compute_read_value(cx, sum, at);
    body = kiln_compute_read_value(cx, &mixed, index);
    if (!KILN_FAULT(softmax_sum))
        body = kiln_x_mul(a, body, kiln_x_div(a, kiln_x_like(a, whole, 1), whole));
    return kiln_compute_end(cx, 0, te, body);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_attention p;
    kiln_te_value scores, max, weights, sum;
    KILN_TRY(kiln_attention_read(n, &p, cx->err));
    KILN_TRY(compute_scores(cx, &p, &scores));
    KILN_TRY(compute_fold(cx, &p, false, &scores, &max));
    KILN_TRY(compute_weights(cx, &p, &scores, &max, &weights));
    KILN_TRY(compute_fold(cx, &p, true, &weights, &sum));
    return compute_result(cx, &p, &weights, &sum);
}

const kiln_op_def kiln_op_attention = {
    .name = "attention",
    .doc =
        "softmax(scale * q k^T + mask) v for each matrix of a batch, with axes of q, "
        "k, v and of the result permuted.",
    .n_in_min = 3,
    .n_in_max = 4,
    .in_names = (const char *const[]){"q", "k", "v", "mask", NULL},
    .attr = attrs,
    .n_attr = KILN_ATTENTION_N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .can_pick = true,
    .keeps_sign =
        1u << KILN_ATTENTION_Q | 1u << KILN_ATTENTION_K | 1u << KILN_ATTENTION_MASK,
    .infer = infer,
    .eval_ref = kiln_attention_eval,
    .cost = cost,
    .error_bound = error_bound,
    .compute = compute,
};
