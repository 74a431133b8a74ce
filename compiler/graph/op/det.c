/* Determinant of square matrices in the last two axes (ONNX Det 22): Gaussian
 * elimination with partial pivoting (Golub, Van Loan, Matrix Computations, 4th
 * ed., 3.4). The determinant of a 0 x 0 matrix is 1. 4 ulp: no bound in f32 holds for
 * nearly singular matrices, so generated code eliminates in double too. */
#include "compiler/graph/op/op_common.h"

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
};
