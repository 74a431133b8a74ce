/* matmul: matrix product over the last two axes, the others broadcast.
 *
 * y[..., i, j] = sum over k of a[..., i, k] * b[..., k, j]; an operand of rank 1 is a
 * row (a) or a column (b) whose axis does not appear in y. Source: ONNX MatMul-13 =
 * numpy.matmul; trans_b, with which b is read as b[..., j, k], is that of Gemm-13 for
 * batches. Integers wrap in their dtype.
 */
#include <inttypes.h>

#include "compiler/op/gemm_f64.h"
#include "base/fault.h"
#include "compiler/op/op_compute.h"

enum { A, B };
enum { TRANS_B, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "trans_b",
     .kind = KILN_ATTR_BOOL,
     .doc = "matrices of b are [n, k] in place of [k, n]"},
};

/* One node's sizes, with rank-1 operands made matrices. */
typedef struct plan {
    int64_t m, n, k;
    int64_t b_row, b_col; /* steps of b along k, along n */
    int n_batch_axes;     /* of y */
    int64_t batch[KILN_MAX_RANK];
    int64_t a_step[KILN_MAX_RANK],
        b_step[KILN_MAX_RANK]; /* in matrices; 0: broadcast */
} plan;

/* Batch axes of an operand, aligned with y's: steps counted in matrices. */
static void batch_steps(const kiln_type *t, int n_axes, int64_t *step) {
    const int own = t->rank > 2 ? t->rank - 2 : 0;
    int64_t size = 1;
    for (int i = n_axes - 1; i >= 0; i--) {
        const int axis = i - (n_axes - own);
        const int64_t dim = axis < 0 ? 1 : t->dim[axis];
        step[i] = dim == 1 ? 0 : size;
        size *= dim;
    }
}

static kiln_status make_plan(const kiln_node *n, plan *p, kiln_err *err) {
    const kiln_type *a = &n->in[A]->type, *b = &n->in[B]->type;
    const bool is_turned = b->rank > 1 && n->attr[TRANS_B].i != 0;
    *p = (plan){.m = a->rank > 1 ? a->dim[a->rank - 2] : 1,
                .n = b->rank > 1 ? b->dim[b->rank - (is_turned ? 2 : 1)] : 1};
    if (a->rank < 1 || b->rank < 1)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "operands must have rank >= 1, have ranks %d and %d", a->rank,
                         b->rank);
    p->k = a->dim[a->rank - 1];
    p->b_row = is_turned ? 1 : p->n;
    p->b_col = is_turned ? p->k : 1;
    const int64_t kb = b->rank > 1 ? b->dim[b->rank - (is_turned ? 1 : 2)] : b->dim[0];
    if (p->k != kb)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "the last axis of 'a' must be as long as the %s of 'b', "
                         "is %" PRId64 " and %" PRId64,
                         is_turned ? "last" : "second last", p->k, kb);
    const kiln_type batch_a =
        kiln_type_make(a->dtype, a->rank > 2 ? a->rank - 2 : 0, a->dim);
    const kiln_type batch_b =
        kiln_type_make(b->dtype, b->rank > 2 ? b->rank - 2 : 0, b->dim);
    KILN_TRY(kiln_broadcast(&batch_a, &batch_b, &p->n_batch_axes, p->batch, err));
    batch_steps(a, p->n_batch_axes, p->a_step);
    batch_steps(b, p->n_batch_axes, p->b_step);
    return KILN_OK;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    plan p;
    KILN_TRY(kiln_check_same_dtype(n, A, B, err));
    KILN_TRY(make_plan(n, &p, err));
    int rank = p.n_batch_axes;
    int64_t dim[KILN_MAX_RANK + 2];
    for (int i = 0; i < rank; i++)
        dim[i] = p.batch[i];
    if (n->in[A]->type.rank > 1)
        dim[rank++] = p.m;
    if (n->in[B]->type.rank > 1)
        dim[rank++] = p.n;
    out[0] = kiln_type_make(n->in[A]->type.dtype, rank, dim);
    return KILN_OK;
}

static int64_t batch_offset(const plan *p, const int64_t *coord, const int64_t *step) {
    int64_t at = 0;
    for (int i = 0; i < p->n_batch_axes; i++)
        at += coord[i] * step[i];
    return at;
}

static void product_i(const plan *p, const int64_t *a, const int64_t *b, int64_t *y) {
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++)
            y[i * p->n + j] = 0;
        for (int64_t k = 0; k < p->k; k++) {
            const uint64_t f = (uint64_t)a[i * p->k + k];
            for (int64_t j = 0; j < p->n; j++)
                y[i * p->n + j] =
                    (int64_t)((uint64_t)y[i * p->n + j] +
                              f * (uint64_t)b[k * p->b_row + j * p->b_col]);
        }
    }
}

static void product_f(const plan *p, const double *a, const double *b, double *y,
                      kiln_arena *scratch) {
    const kiln_gemm_matrix right = {b, p->b_row, p->b_col};
    const kiln_gemm_f64 g = {.m = p->m,
                             .n = p->n,
                             .k = p->k,
                             .a = a,
                             .a_row = p->k,
                             .a_col = 1,
                             .pack_b = kiln_gemm_pack_matrix,
                             .user = &right,
                             .c = y,
                             .c_row = p->n};
    kiln_gemm_f64_run(&g, scratch);
}

static void eval_all(const plan *p, kiln_eval_cx *cx) {
    const kiln_wide *a = &cx->in[A], *b = &cx->in[B], *y = &cx->out[0];
    int64_t coord[KILN_MAX_RANK] = {0};
    int64_t at = 0;
    do {
        const int64_t ma = batch_offset(p, coord, p->a_step) * p->m * p->k;
        const int64_t mb = batch_offset(p, coord, p->b_step) * p->k * p->n;
        if (y->f != NULL)
            product_f(p, a->f + ma, b->f + mb, y->f + at, cx->scratch);
        else
            product_i(p, a->i + ma, b->i + mb, y->i + at);
        at += p->m * p->n;
    } while (kiln_next_coord(p->n_batch_axes, p->batch, coord));
}

/* Where the factors of an element begin: a row of a, a column of b. */
static void factors_of(const plan *p, int64_t index, int64_t *a, int64_t *b) {
    int64_t coord[KILN_MAX_RANK];
    kiln_unravel(index / (p->m * p->n), p->n_batch_axes, p->batch, coord);
    const int64_t row = index / p->n % p->m, col = index % p->n;
    *a = (batch_offset(p, coord, p->a_step) * p->m + row) * p->k;
    *b = batch_offset(p, coord, p->b_step) * p->k * p->n + col * p->b_col;
}

static void eval_at(const plan *p, kiln_eval_cx *cx, int64_t index, int64_t j) {
    const kiln_wide *a = &cx->in[A], *b = &cx->in[B];
    int64_t ra, cb;
    factors_of(p, index, &ra, &cb);
    if (a->f != NULL) {
        cx->out[0].f[j] = kiln_dot_f64(p->k, a->f + ra, 1, b->f + cb, p->b_row);
        return;
    }
    uint64_t sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum += (uint64_t)a->i[ra + k] * (uint64_t)b->i[cb + k * p->b_row];
    cx->out[0].i[j] = (int64_t)sum;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    plan p;
    KILN_TRY(make_plan(n, &p, cx->err));
    if (cx->pick != NULL) {
        for (int64_t j = 0; j < cx->n_pick; j++)
            eval_at(&p, cx, cx->pick[j], j);
    } else if (kiln_type_elems(&cx->out[0].type) > 0) {
        eval_all(&p, cx);
    }
    return KILN_OK;
}

static kiln_status pick_f32(const kiln_node *n, const kiln_pick_cx *cx) {
    plan p;
    KILN_TRY(make_plan(n, &p, cx->err));
    kiln_dot_f32 *dot = kiln_array(cx->scratch, kiln_dot_f32, cx->n_pick);
    for (int64_t j = 0; j < cx->n_pick; j++) {
        int64_t a, b;
        factors_of(&p, cx->pick[j], &a, &b);
        dot[j] =
            (kiln_dot_f32){kiln_f32_from(cx->in[A], a), kiln_f32_from(cx->in[B], b)};
    }
    kiln_dots_f32(p.k, dot, cx->n_pick, 1, p.b_row, cx->value, cx->magnitude);
    return KILN_OK;
}

static int64_t n_terms(const kiln_node *n) {
    const kiln_type *a = &n->in[A]->type;
    return a->dim[a->rank - 1];
}

static void cost(const kiln_node *n, kiln_cost *c) {
    c->muladds = kiln_mul_sat(kiln_type_elems(&n->out[0]->type), n_terms(n));
    c->flops = kiln_mul_sat(c->muladds, 2);
}

static kiln_bound error_bound(const kiln_node *n) {
    if (!kiln_dtype_is_float(n->in[A]->type.dtype))
        return kiln_bound_exact(n);
    /* Higham 3.1: k terms in any order, and the final rounding. */
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1.0, .k = n_terms(n) + 1};
}

/* An operand's indexes: y's batch indexes where it is not stretched, then its own two.
 */
static const kiln_expr *operand(const kiln_compute_cx *cx, int i, int n_batch,
                                const kiln_expr *const *batch, const kiln_expr *row,
                                const kiln_expr *col) {
    const kiln_type *t = &cx->in[i].type;
    const kiln_expr *at[KILN_MAX_RANK];
    const int own = t->rank - 2;
    for (int axis = 0; axis < own; axis++)
        at[axis] = t->dim[axis] == 1 || KILN_FAULT(matmul_batch)
                       ? kiln_x_index(cx->arena, 0)
                       : batch[n_batch - own + axis];
    if (own >= 0) {
        at[own] = row;
        at[own + 1] = col;
    } else {
        at[0] = row == NULL ? col : row;
    }
    return kiln_compute_widened(cx, kiln_compute_read(cx, i, at));
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK];
    plan p;
    KILN_TRY(make_plan(n, &p, cx->err));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    y->tag = "matmul";
    const kiln_axis *axis =
        kiln_te_reduce_axis(y, "k", p.k - (KILN_FAULT(matmul_last_term) ? 1 : 0));
    const kiln_expr *k = kiln_axis_var(cx->arena, axis);
    const bool has_row = n->in[A]->type.rank > 1, has_col = n->in[B]->type.rank > 1;
    const int at = p.n_batch_axes;
    const kiln_expr *row = has_row ? index[at] : NULL;
    const kiln_expr *col = has_col ? index[at + (has_row ? 1 : 0)] : NULL;
    const bool is_turned = has_col && n->attr[TRANS_B].i != 0;
    const kiln_expr *b =
        is_turned ? operand(cx, B, at, index, col, k)
                  : operand(cx, B, at, index, has_col ? k : NULL, has_col ? col : k);
    const kiln_expr *product =
        kiln_x_mul(cx->arena, operand(cx, A, at, index, row, k), b);
    return kiln_compute_end(cx, 0, y, kiln_te_sum(y, product, &axis, 1));
}

const kiln_op_def kiln_op_matmul = {
    KILN_ROW_CONTRACTION,
    .name = "matmul",
    .doc = "Matrix product over the last two axes, batch axes broadcast: y[i,j] = sum "
           "over "
           "k of a[i,k] * b[k,j], or b[j,k].",
    .n_in_min = 2,
    .n_in_max = 2,
    .in_names = (const char *const[]){"a", "b", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .layout = KILN_LAYOUT_DEPENDENT,
    .infer = infer,
    .eval_ref = eval_ref,
    .pick_f32 = pick_f32,
    .cost = cost,
    .error_bound = error_bound,
    .compute = compute,
};
