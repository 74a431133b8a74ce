/* Determinant of square matrices in the last two axes (ONNX Det 22): Gaussian
 * elimination with partial pivoting (Golub, Van Loan, Matrix Computations, 4th
 * ed., 3.4). The determinant of a 0 x 0 matrix is 1. 4 ulp: no bound in f32 holds for
 * nearly singular matrices, so generated code eliminates in double too. */
#include "compiler/op/op_extern.h"
#include "compiler/op/op_compute.h"

#include <math.h>
#include <string.h>

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(kiln_check_dtype(n, 0, n->op->dtypes, err));
    const kiln_type *x = &n->in[0]->type;
    if (x->rank < 2 || x->dim[x->rank - 1] != x->dim[x->rank - 2]) {
        kiln_arena scratch = {0};
        const kiln_status st =
            kiln_fail(err, KILN_ERR_SHAPE, "input 'x' must hold square matrices, is %s",
                      kiln_type_text(&scratch, x));
        kiln_arena_fini(&scratch);
        return st;
    }
    *out = kiln_type_make(x->dtype, x->rank - 2, x->dim);
    out->place = x->place;
    return KILN_OK;
}

static int64_t find_pivot(const double *a, int64_t m, int64_t column) {
    int64_t best = column;
    for (int64_t row = column + 1; row < m; row++)
        if (fabs(a[row * m + column]) > fabs(a[best * m + column]))
            best = row;
    return best;
}

/* Overwrites a, row-major [m,m]. */
static double determinant(double *a, int64_t m) {
    double det = 1;
    for (int64_t k = 0; k < m; k++) {
        const int64_t pivot = find_pivot(a, m, k);
        if (a[pivot * m + k] == 0)
            return 0;
        if (pivot != k)
            det = -det;
        for (int64_t j = k; j < m && pivot != k; j++) {
            const double t = a[k * m + j];
            a[k * m + j] = a[pivot * m + j];
            a[pivot * m + j] = t;
        }
        det *= a[k * m + k];
        for (int64_t i = k + 1; i < m; i++) {
            const double f = a[i * m + k] / a[k * m + k];
            for (int64_t j = k; j < m; j++)
                a[i * m + j] -= f * a[k * m + j];
        }
    }
    return det;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    (void)n;
    const kiln_type *x = &cx->in[0].type;
    const int64_t m = x->dim[x->rank - 1];
    const int64_t n_out =
        cx->pick != NULL ? cx->n_pick : kiln_type_elems(&cx->out[0].type);
    if (n_out == 0)
        return KILN_OK; /* the matrices that are not there may be large */
    double *a = kiln_array(cx->scratch, double, m *m);
    for (int64_t k = 0; k < n_out; k++) {
        const int64_t at = cx->pick != NULL ? cx->pick[k] : k;
        memcpy(a, cx->in[0].f + at * m * m, (size_t)(m * m) * sizeof *a);
        cx->out[0].f[k] = determinant(a, m);
    }
    return KILN_OK;
}

/* m^3 / 3 multiply-adds a matrix. */
static void cost(const kiln_node *n, kiln_cost *c) {
    const kiln_type *x = &n->in[0]->type;
    const int64_t m = x->dim[x->rank - 1];
    c->muladds = kiln_type_elems(x) * m / 3;
    c->flops = 2 * c->muladds;
}

/* ---- the extern stage: the same elimination, in f64 ---- */

typedef struct matrix {
    kiln_arena *a;
    int64_t m;
    const kiln_buffer *b; /* [m,m] */
    const kiln_buffer *det, *pivot;
    const kiln_expr *k; /* column */
} matrix;

static const kiln_expr *element(const matrix *x, const kiln_expr *row,
                                const kiln_expr *column) {
    const kiln_expr *at[2] = {row, column};
    return kiln_x_load(x->a, x->b, at, 2, NULL);
}

static const kiln_stmt *set(const matrix *x, const kiln_expr *row,
                            const kiln_expr *column, const kiln_expr *v) {
    const kiln_expr *at[2] = {row, column};
    return kiln_s_store(x->a, x->b, at, v, NULL);
}

static const kiln_expr *size_of(const matrix *x, const kiln_expr *row) {
    return kiln_x_fn(x->a, KILN_INTRIN_abs, element(x, row, x->k));
}

/* pivot = the row from k on whose element in column k is largest */
static const kiln_stmt *search(const matrix *x) {
    kiln_arena *a = x->a;
    kiln_var *rv = kiln_var_new(a, "row", KILN_I64);
    const kiln_expr *row = kiln_x_ref(a, rv);
    const kiln_expr *best = kiln_x_clamped(a, kiln_cell_get(a, x->pivot), x->m);
    const kiln_stmt *take =
        kiln_s_if(a, kiln_x_less(a, size_of(x, best), size_of(x, row)),
                  kiln_cell_set(a, x->pivot, row), NULL);
    return kiln_s_both(
        a, kiln_cell_set(a, x->pivot, x->k),
        kiln_s_times(a, rv, kiln_x_index(a, x->m),
                     kiln_s_if(a, kiln_x_less(a, x->k, row), take, NULL)));
}

static const kiln_stmt *swap_rows(const matrix *x) {
    kiln_arena *a = x->a;
    kiln_var *jv = kiln_var_new(a, "j", KILN_I64), *t = kiln_var_new(a, "t", KILN_F64);
    const kiln_expr *j = kiln_x_ref(a, jv), *det = kiln_cell_get(a, x->det);
    const kiln_expr *p = kiln_x_clamped(a, kiln_cell_get(a, x->pivot), x->m);
    const kiln_stmt *move = kiln_s_both(a, set(x, x->k, j, element(x, p, j)),
                                        set(x, p, j, kiln_x_ref(a, t)));
    move = kiln_s_let(a, t, element(x, x->k, j), move);
    const kiln_stmt *both =
        kiln_s_both(a, kiln_s_times(a, jv, kiln_x_index(a, x->m), move),
                    kiln_cell_set(a, x->det, kiln_x_neg(a, det)));
    return kiln_s_if(a, kiln_x_binary(a, KILN_EXPR_NE, p, x->k), both, NULL);
}

/* Takes multiples of row k off those below; nothing where the pivot is 0. */
static const kiln_stmt *eliminate(const matrix *x) {
    kiln_arena *a = x->a;
    kiln_var *iv = kiln_var_new(a, "i", KILN_I64), *jv = kiln_var_new(a, "j", KILN_I64);
    kiln_var *fv = kiln_var_new(a, "f", KILN_F64);
    const kiln_expr *i = kiln_x_ref(a, iv), *j = kiln_x_ref(a, jv);
    const kiln_expr *top = element(x, x->k, x->k);
    const kiln_expr *rest = kiln_x_sub(
        a, element(x, i, j), kiln_x_mul(a, kiln_x_ref(a, fv), element(x, x->k, j)));
    const kiln_stmt *row =
        kiln_s_times(a, jv, kiln_x_index(a, x->m),
                     kiln_s_if(a, kiln_x_binary(a, KILN_EXPR_LE, x->k, j),
                               set(x, i, j, rest), NULL));
    row = kiln_s_let(a, fv, kiln_x_div(a, element(x, i, x->k), top), row);
    const kiln_stmt *below = kiln_s_times(
        a, iv, kiln_x_index(a, x->m), kiln_s_if(a, kiln_x_less(a, x->k, i), row, NULL));
    const kiln_expr *is_zero =
        kiln_x_binary(a, KILN_EXPR_EQ, top, kiln_x_like(a, top, 0));
    const kiln_expr *det = kiln_cell_get(a, x->det);
    /* The first zero decides: what follows must not make NaN of it. */
    const kiln_expr *was_zero =
        kiln_x_binary(a, KILN_EXPR_EQ, det, kiln_x_like(a, det, 0));
    const kiln_stmt *step = kiln_s_if(
        a, is_zero, kiln_cell_set(a, x->det, kiln_x_like(a, det, 0)),
        kiln_s_both(a, kiln_cell_set(a, x->det, kiln_x_mul(a, det, top)), below));
    return kiln_s_if(a, was_zero, kiln_s_nothing(a), step);
}

static const kiln_stmt *build(kiln_arena *a, const kiln_te *te,
                              const kiln_buffer *const *in,
                              const kiln_buffer *const *out) {
    const int64_t m = kiln_buffer_dim(in[0], te->rank), size[2] = {m, m};
    int64_t extent[KILN_MAX_AXES];
    const kiln_expr *from[KILN_MAX_AXES];
    for (int i = 0; i < te->rank; i++)
        extent[i] = kiln_te_dim(te, i);
    const kiln_nest_loops l = kiln_loops_new(a, te->rank, extent);
    kiln_var *kv = kiln_var_new(a, "k", KILN_I64);
    kiln_buffer *b = kiln_buffer_new(a, kiln_format(a, "%s.work", te->name), KILN_F64,
                                     2, size, KILN_SCOPE_LOCAL);
    b->arg = -1;
    const matrix x = {.a = a,
                      .m = m,
                      .b = b,
                      .det = kiln_cell_new(a, te, "det", KILN_F64),
                      .pivot = kiln_cell_new(a, te, "pivot", KILN_I64),
                      .k = kiln_x_ref(a, kv)};
    const kiln_nest_loops fill = kiln_loops_new(a, 2, size);
    for (int i = 0; i < te->rank; i++)
        from[i] = l.index[i];
    from[te->rank] = fill.index[0];
    from[te->rank + 1] = fill.index[1];
    const kiln_stmt *start = kiln_s_both(
        a, kiln_cell_set(a, x.det, kiln_x_number(a, KILN_F64, 1)),
        kiln_loops_around(&fill, set(&x, fill.index[0], fill.index[1],
                                     kiln_x_load(a, in[0], from, te->rank + 2, NULL))));
    const kiln_stmt *column =
        kiln_s_both(a, search(&x), kiln_s_both(a, swap_rows(&x), eliminate(&x)));
    const kiln_stmt *put =
        kiln_s_store(a, out[0], l.index, kiln_cell_get(a, x.det), NULL);
    const kiln_stmt *body = kiln_s_both(
        a, start, kiln_s_both(a, kiln_s_times(a, kv, kiln_x_index(a, m), column), put));
    body = kiln_s_alloc(a, x.det, kiln_s_alloc(a, x.pivot, kiln_s_alloc(a, b, body)));
    return kiln_loops_around(&l, body);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    (void)n;
    const kiln_type *t = &cx->out[0].type;
    const kiln_dtype dtype = KILN_F64;
    kiln_te_value x, y;
    KILN_TRY(kiln_compute_plain(cx, "x", &cx->in[0], dtype, &x));
    const kiln_extern_spec spec = {.name = "det",
                                   .build = build,
                                   .in = &x,
                                   .n_in = 1,
                                   .n_out = 1,
                                   .rank = t->rank,
                                   .dim = t->dim,
                                   .dtype = &dtype};
    kiln_compute_extern(cx, "eliminate", &spec, &y);
    return kiln_compute_give(cx, 0, "", &y);
}

const kiln_op_def kiln_op_det = {
    .name = "det",
    .doc = "determinant of the square matrices in the last two axes",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = kiln_names_x,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = kiln_bound_ulp_4,
    .compute = compute,
};
