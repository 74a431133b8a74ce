/* gemm: y = alpha * a' * b' + beta * c, where a' and b' are a and b or their
 * transposes.
 *
 * c is optional and stretches to [m, n]. Source: ONNX Gemm-13; BLAS level 3 (Dongarra
 * et al., 1990), but beta = 0 does not read as "c is ignored": 0 * inf is NaN as the
 * formula says. Integers wrap; their alpha and beta are whole numbers.
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/gemm_f64.h"
#include "base/fault.h"
#include "compiler/op/op_compute.h"
#include "compiler/op/op_window.h"

enum { A, B, C };
enum { ALPHA, BETA, TRANS_A, TRANS_B, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "alpha",
     .kind = KILN_ATTR_FLOAT,
     .doc = "factor of a * b",
     .default_f = 1.0},
    {.name = "beta", .kind = KILN_ATTR_FLOAT, .doc = "factor of c", .default_f = 1.0},
    {.name = "trans_a",
     .kind = KILN_ATTR_BOOL,
     .doc = "a is [k, m] in place of [m, k]"},
    {.name = "trans_b",
     .kind = KILN_ATTR_BOOL,
     .doc = "b is [n, k] in place of [k, n]"},
};

typedef struct plan {
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col; /* strides of a' and b' */
    int64_t c_row, c_col;               /* 0: stretched */
} plan;

static plan make_plan(const kiln_node *n) {
    const kiln_type *a = &n->in[A]->type, *b = &n->in[B]->type;
    const bool ta = n->attr[TRANS_A].i != 0, tb = n->attr[TRANS_B].i != 0;
    plan p = {.m = a->dim[ta],
              .n = b->dim[!tb],
              .k = a->dim[!ta],
              .a_row = ta ? 1 : a->dim[1],
              .a_col = ta ? a->dim[1] : 1,
              .b_row = tb ? 1 : b->dim[1],
              .b_col = tb ? b->dim[1] : 1};
    if (kiln_has_in(n, C)) {
        const kiln_type *c = &n->in[C]->type;
        const int64_t cols = c->rank > 0 ? c->dim[c->rank - 1] : 1;
        const int64_t rows = c->rank > 1 ? c->dim[0] : 1;
        p.c_col = cols == 1 ? 0 : 1;
        p.c_row = rows == 1 ? 0 : cols;
    }
    return p;
}

static kiln_status check_factor(const kiln_node *n, int attr, kiln_err *err) {
    const double v = n->attr[attr].f;
    if (kiln_dtype_is_float(n->in[A]->type.dtype) ||
        (v == rint(v) && fabs(v) <= (double)INT32_MAX))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_SHAPE,
                     "attribute '%s' must be a whole number for %s, is %g",
                     n->op->attr[attr].name, kiln_dtype_name(n->in[A]->type.dtype), v);
}

static kiln_status check_addend(const kiln_node *n, const plan *p, kiln_err *err) {
    if (!kiln_has_in(n, C))
        return KILN_OK;
    KILN_TRY(kiln_check_same_dtype(n, A, C, err));
    const kiln_type *c = &n->in[C]->type;
    const int64_t want[2] = {p->m, p->n};
    bool fits = c->rank <= 2;
    for (int i = 0; fits && i < c->rank; i++) {
        const int64_t dim = c->dim[i], to = want[2 - c->rank + i];
        fits = dim == to || dim == 1;
    }
    if (!fits) {
        kiln_arena a = {0};
        const kiln_status st =
            kiln_fail(err, KILN_ERR_SHAPE,
                      "input 'c' must stretch to [%" PRId64 ",%" PRId64 "], is %s",
                      p->m, p->n, kiln_shape_text(&a, c->rank, c->dim));
        kiln_arena_fini(&a);
        return st;
    }
    return KILN_OK;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(kiln_check_same_dtype(n, A, B, err));
    KILN_TRY(kiln_check_rank(n, A, 2, err));
    KILN_TRY(kiln_check_rank(n, B, 2, err));
    const plan p = make_plan(n);
    const int64_t kb = n->in[B]->type.dim[n->attr[TRANS_B].i != 0];
    if (p.k != kb)
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "'a' and 'b' must agree in the axis that is summed, have %" PRId64
            " and %" PRId64 " there",
            p.k, kb);
    KILN_TRY(check_addend(n, &p, err));
    KILN_TRY(check_factor(n, ALPHA, err));
    KILN_TRY(check_factor(n, BETA, err));
    out[0] = kiln_type_make(n->in[A]->type.dtype, 2, (int64_t[]){p.m, p.n});
    return KILN_OK;
}

static int64_t addend_at(const plan *p, int64_t index) {
    return index / p->n * p->c_row + index % p->n * p->c_col;
}

static double finish_f(const kiln_node *n, const kiln_eval_cx *cx, const plan *p,
                       double sum, int64_t index) {
    const double alpha = n->attr[ALPHA].f, beta = n->attr[BETA].f;
    const double y = (cx->is_magnitude ? fabs(alpha) : alpha) * sum;
    if (!kiln_has_in(n, C))
        return y;
    return y +
           (cx->is_magnitude ? fabs(beta) : beta) * cx->in[C].f[addend_at(p, index)];
}

static void eval_f(const kiln_node *n, kiln_eval_cx *cx, const plan *p) {
    const double *a = cx->in[A].f, *b = cx->in[B].f;
    double *y = cx->out[0].f;
    if (cx->pick == NULL) {
        const kiln_gemm_matrix right = {b, p->b_row, p->b_col};
        const kiln_gemm_f64 g = {.m = p->m,
                                 .n = p->n,
                                 .k = p->k,
                                 .a = a,
                                 .a_row = p->a_row,
                                 .a_col = p->a_col,
                                 .pack_b = kiln_gemm_pack_matrix,
                                 .user = &right,
                                 .c = y,
                                 .c_row = p->n};
        kiln_gemm_f64_run(&g, cx->scratch);
    } else {
        for (int64_t j = 0; j < cx->n_pick; j++) {
            const int64_t row = cx->pick[j] / p->n, col = cx->pick[j] % p->n;
            y[j] = kiln_dot_f64(p->k, a + row * p->a_row, p->a_col, b + col * p->b_col,
                                p->b_row);
        }
    }
    const int64_t count = kiln_pick_count(cx, p->m * p->n);
    for (int64_t j = 0; j < count; j++)
        y[j] = finish_f(n, cx, p, y[j], kiln_pick_at(cx, j));
}

static int64_t element_i(const kiln_node *n, const kiln_eval_cx *cx, const plan *p,
                         int64_t index) {
    const int64_t row = index / p->n, col = index % p->n;
    const int64_t *a = cx->in[A].i + row * p->a_row;
    const int64_t *b = cx->in[B].i + col * p->b_col;
    uint64_t sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum += (uint64_t)a[k * p->a_col] * (uint64_t)b[k * p->b_row];
    sum *= (uint64_t)(int64_t)n->attr[ALPHA].f;
    if (kiln_has_in(n, C))
        sum += (uint64_t)(int64_t)n->attr[BETA].f *
               (uint64_t)cx->in[C].i[row * p->c_row + col * p->c_col];
    return (int64_t)sum;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const plan p = make_plan(n);
    if (cx->out[0].f != NULL) {
        eval_f(n, cx, &p);
        return KILN_OK;
    }
    const int64_t count = kiln_pick_count(cx, p.m * p.n);
    for (int64_t j = 0; j < count; j++)
        cx->out[0].i[j] = element_i(n, cx, &p, kiln_pick_at(cx, j));
    return KILN_OK;
}

static kiln_status pick_f32(const kiln_node *n, const kiln_pick_cx *cx) {
    const plan p = make_plan(n);
    const double alpha = n->attr[ALPHA].f, beta = n->attr[BETA].f;
    kiln_dot_f32 *dot = kiln_array(cx->scratch, kiln_dot_f32, cx->n_pick);
    for (int64_t j = 0; j < cx->n_pick; j++) {
        const int64_t row = cx->pick[j] / p.n, col = cx->pick[j] % p.n;
        dot[j] = (kiln_dot_f32){kiln_f32_from(cx->in[A], row * p.a_row),
                                kiln_f32_from(cx->in[B], col * p.b_col)};
    }
    kiln_dots_f32(p.k, dot, cx->n_pick, p.a_col, p.b_row, cx->value, cx->magnitude);
    for (int64_t j = 0; j < cx->n_pick; j++) {
        cx->value[j] *= alpha;
        cx->magnitude[j] *= fabs(alpha);
        if (!kiln_has_in(n, C))
            continue;
        const double c = kiln_f32_at(cx->in[C], addend_at(&p, cx->pick[j]));
        cx->value[j] += beta * c;
        cx->magnitude[j] += fabs(beta) * fabs(c);
    }
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    c->muladds = kiln_mul_sat(kiln_type_elems(&n->out[0]->type), make_plan(n).k);
    c->flops = kiln_mul_sat(c->muladds, 2);
}

static kiln_bound error_bound(const kiln_node *n) {
    if (!kiln_dtype_is_float(n->in[A]->type.dtype))
        return kiln_bound_exact(n);
    /* Higham 3.1: k terms in any order; two scalings, one addition, the final rounding.
     */
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1.0, .k = make_plan(n).k + 4};
}

/* Stages: the product, tagged "matmul", and the rest where there is some. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *t = &cx->out[0].type;
    const double alpha = n->attr[ALPHA].f, beta = n->attr[BETA].f;
    const bool has_c = kiln_has_in(n, C), is_plain = alpha == 1 && !has_c;
    const bool ta = n->attr[TRANS_A].i != 0 && !KILN_FAULT(gemm_transpose);
    const bool tb = n->attr[TRANS_B].i != 0;
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te_value product;
    kiln_te *y = kiln_compute_begin(cx, is_plain ? "" : "matmul", t, index);
    y->tag = "matmul";
    const kiln_axis *axis = kiln_te_reduce_axis(y, "k", make_plan(n).k);
    const kiln_expr *k = kiln_axis_var(a, axis);
    const kiln_expr *at_a[2] = {ta ? k : index[0], ta ? index[0] : k};
    const kiln_expr *at_b[2] = {tb ? index[1] : k, tb ? k : index[1]};
    const kiln_expr *v =
        kiln_x_mul(a, kiln_compute_widened(cx, kiln_compute_read(cx, A, at_a)),
                   kiln_compute_widened(cx, kiln_compute_read(cx, B, at_b)));
    v = kiln_te_sum(y, v, &axis, 1);
    if (is_plain)
        return kiln_compute_end(cx, 0, y, v);
    KILN_TRY(kiln_compute_inner(cx, y, t, v, &product));
    y = kiln_compute_begin(cx, "", t, index);
    v = kiln_compute_read_value(cx, &product, index);
    if (alpha != 1)
        v = kiln_x_mul(a, v, kiln_x_like(a, v, alpha));
    if (has_c) {
        const kiln_expr *c =
            kiln_compute_widened(cx, kiln_compute_read_broadcast(cx, C, 2, index));
        if (beta != 1 && !KILN_FAULT(gemm_beta))
            c = kiln_x_mul(a, c, kiln_x_like(a, c, beta));
        v = kiln_x_add(a, v, c);
    }
    return kiln_compute_end(cx, 0, y, v);
}

const kiln_op_def kiln_op_gemm = {
    KILN_ROW_CONTRACTION,
    .name = "gemm",
    .doc = "y = alpha * a * b + beta * c, with a or b transposed where asked for.",
    .n_in_min = 2,
    .n_in_max = 3,
    .in_names = (const char *const[]){"a", "b", "c", NULL},
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
