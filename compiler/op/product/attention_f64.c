/* The reference of attention, and the magnitudes that its bound is made of: see
 * op_attention.c. */
#include "compiler/op/product/op_attention.h"

#include <math.h>

#include "compiler/op/gemm_f64.h"
#include "compiler/op/op_common.h"

/* The result as [..., m, e]. */
static kiln_attention_view result_of(const kiln_node *n) {
    kiln_attention_view v = {.dim = {0}};
    const kiln_type *t = &n->out[0]->type;
    int64_t stride[KILN_MAX_RANK];
    kiln_strides(t->rank, t->dim, stride);
    for (int i = 0; i < t->rank; i++) {
        const int axis = kiln_attention_axis(&n->attr[KILN_ATTENTION_PERM_Y], i);
        v.dim[axis] = t->dim[i];
        v.step[axis] = stride[i];
    }
    return v;
}

/* Element of [..., 0, 0] that the axes before lead to. */
static int64_t matrix_at(const kiln_attention *p, const kiln_attention_view *v,
                         const int64_t *coord) {
    int64_t at = 0;
    for (int i = 0; i < p->row; i++)
        at += coord[i] * v->step[i];
    return at;
}

/* Scores out of the products of one query, coord[row], with all keys. */
static void finish_scores(const kiln_attention *p, const kiln_eval_cx *cx,
                          const int64_t *coord, double *z) {
    const int64_t mask = matrix_at(p, &p->mask, coord);
    for (int64_t j = 0; j < p->s; j++) {
        z[j] *= p->scale;
        if (p->has_mask)
            z[j] += cx->in[KILN_ATTENTION_MASK]
                        .f[mask + coord[p->row] * p->mask.step[p->row] +
                           j * p->mask.step[p->col]];
    }
}

static double largest_of(const double *z, int64_t n) {
    double max = -HUGE_VAL;
    for (int64_t j = 0; j < n; j++)
        max = fmax(max, z[j]);
    return max;
}

static void softmax(double *z, int64_t n) {
    const double max = largest_of(z, n);
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += z[j] = exp(z[j] - max);
    for (int64_t j = 0; j < n; j++)
        z[j] /= sum;
}

static const double *query_at(const kiln_attention *p, const kiln_eval_cx *cx,
                              const int64_t *coord) {
    return cx->in[KILN_ATTENTION_Q].f + matrix_at(p, &p->q, coord) +
           coord[p->row] * p->q.step[p->row];
}

static const double *key_at(const kiln_attention *p, const kiln_eval_cx *cx,
                            const int64_t *coord, int64_t j) {
    return cx->in[KILN_ATTENTION_K].f + matrix_at(p, &p->k, coord) +
           j * p->k.step[p->row];
}

static void scores_of(const kiln_attention *p, const kiln_eval_cx *cx,
                      const int64_t *coord, double *z) {
    for (int64_t j = 0; j < p->s; j++)
        z[j] = kiln_dot_f64(p->d, query_at(p, cx, coord), p->q.step[p->col],
                            key_at(p, cx, coord, j), p->k.step[p->col]);
    finish_scores(p, cx, coord, z);
}

/* What op_attention.c calls a_j, of scores z. */
static void errors_of(const kiln_attention *p, const kiln_eval_cx *cx,
                      const int64_t *coord, const double *z, double *a) {
    const double *q = query_at(p, cx, coord), max = largest_of(z, p->s);
    const int64_t mask = matrix_at(p, &p->mask, coord);
    for (int64_t j = 0; j < p->s; j++) {
        const double *k = key_at(p, cx, coord, j);
        double sum = 0;
        for (int64_t i = 0; i < p->d; i++)
            sum += fabs(q[i * p->q.step[p->col]] * k[i * p->k.step[p->col]]);
        sum *= fabs(p->scale);
        if (p->has_mask)
            sum += fabs(cx->in[KILN_ATTENTION_MASK]
                            .f[mask + coord[p->row] * p->mask.step[p->row] +
                               j * p->mask.step[p->col]]);
        a[j] = (double)(p->d + 3) * sum + fabs(z[j] - max) + (double)(p->s + 20);
    }
}

/* What a query takes of the keys: weights, and where a bound is asked for errors. */
typedef struct taken {
    int64_t coord[KILN_MAX_RANK];
    bool is_known;
    double *weight, *error;
    double error_sum; /* weighted */
} taken;

static void take(const kiln_attention *p, const kiln_eval_cx *cx, const int64_t *coord,
                 taken *t) {
    bool same = t->is_known;
    for (int i = 0; i <= p->row; i++)
        same = same && t->coord[i] == coord[i];
    if (same)
        return;
    for (int i = 0; i <= p->row; i++)
        t->coord[i] = coord[i];
    t->is_known = true;
    scores_of(p, cx, coord, t->weight);
    if (cx->is_magnitude)
        errors_of(p, cx, coord, t->weight, t->error);
    softmax(t->weight, p->s);
    t->error_sum = 0;
    /* A key that is masked out has no part, whatever its score. */
    for (int64_t j = 0; cx->is_magnitude && j < p->s; j++)
        t->error_sum += t->weight[j] > 0 ? t->weight[j] * t->error[j] : 0;
}

static double element(const kiln_attention *p, const kiln_eval_cx *cx,
                      const int64_t *coord, taken *t) {
    const double *v = cx->in[KILN_ATTENTION_V].f + matrix_at(p, &p->v, coord) +
                      coord[p->col] * p->v.step[p->col];
    double sum = 0;
    take(p, cx, coord, t);
    if (!cx->is_magnitude)
        return kiln_dot_f64(p->s, t->weight, 1, v, p->v.step[p->row]);
    for (int64_t j = 0; j < p->s; j++)
        if (t->weight[j] > 0)
            sum +=
                t->weight[j] * (t->error[j] + t->error_sum) * v[j * p->v.step[p->row]];
    return sum;
}

static void eval_chosen(const kiln_node *n, const kiln_attention *p, kiln_eval_cx *cx,
                        int64_t n_chosen) {
    const kiln_type *t = &n->out[0]->type;
    taken row = {.weight = kiln_array(cx->scratch, double, p->s),
                 .error = kiln_array(cx->scratch, double, p->s)};
    for (int64_t j = 0; j < n_chosen; j++) {
        int64_t at[KILN_MAX_RANK], coord[KILN_MAX_RANK];
        kiln_unravel(cx->pick != NULL ? cx->pick[j] : j, t->rank, t->dim, at);
        for (int i = 0; i < p->rank; i++)
            coord[kiln_attention_axis(&n->attr[KILN_ATTENTION_PERM_Y], i)] = at[i];
        cx->out[0].f[j] = element(p, cx, coord, &row);
    }
}

/* c = a b, matrices of any steps but for c's columns. */
static void product(int64_t m, int64_t n, int64_t k, const kiln_gemm_matrix *a,
                    const kiln_gemm_matrix *b, double *c, kiln_arena *scratch) {
    const kiln_gemm_f64 g = {.m = m,
                             .n = n,
                             .k = k,
                             .a = a->b,
                             .a_row = a->row,
                             .a_col = a->col,
                             .pack_b = kiln_gemm_pack_matrix,
                             .user = b,
                             .c = c,
                             .c_row = n};
    kiln_gemm_f64_run(&g, scratch);
}

static void eval_matrix(const kiln_attention *p, const kiln_attention_view *to,
                        kiln_eval_cx *cx, int64_t *coord, double *z, double *y) {
    const int row = p->row, col = p->col;
    const kiln_gemm_matrix q = {cx->in[KILN_ATTENTION_Q].f + matrix_at(p, &p->q, coord),
                                p->q.step[row], p->q.step[col]};
    const kiln_gemm_matrix k = {cx->in[KILN_ATTENTION_K].f + matrix_at(p, &p->k, coord),
                                p->k.step[col], p->k.step[row]};
    const kiln_gemm_matrix v = {cx->in[KILN_ATTENTION_V].f + matrix_at(p, &p->v, coord),
                                p->v.step[row], p->v.step[col]};
    double *out = cx->out[0].f + matrix_at(p, to, coord);
    product(p->m, p->s, p->d, &q, &k, z, cx->scratch);
    for (int64_t i = 0; i < p->m; i++) {
        coord[row] = i;
        finish_scores(p, cx, coord, z + i * p->s);
        softmax(z + i * p->s, p->s);
    }
    const kiln_gemm_matrix weights = {z, p->s, 1};
    product(p->m, p->e, p->s, &weights, &v, y, cx->scratch);
    for (int64_t i = 0; i < p->m * p->e; i++)
        out[i / p->e * to->step[row] + i % p->e * to->step[col]] = y[i];
}

kiln_status kiln_attention_eval(const kiln_node *n, kiln_eval_cx *cx) {
    kiln_attention p;
    int64_t coord[KILN_MAX_RANK] = {0};
    KILN_TRY(kiln_attention_read(n, &p, cx->err));
    const kiln_attention_view to = result_of(n);
    const int64_t n_elems = kiln_type_elems(&n->out[0]->type);
    if (cx->pick != NULL || cx->is_magnitude || n_elems == 0) {
        eval_chosen(n, &p, cx, cx->pick != NULL ? cx->n_pick : n_elems);
        return KILN_OK;
    }
    double *z = kiln_array(cx->scratch, double, p.m *p.s);
    double *y = kiln_array(cx->scratch, double, p.m *p.e);
    do {
        eval_matrix(&p, &to, cx, coord, z, y);
    } while (kiln_next_coord(p.row, p.q.dim, coord));
    return KILN_OK;
}
