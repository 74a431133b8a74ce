/* rms_norm: y = x / sqrt(mean(x^2) + epsilon) * scale over the last axes.
 *
 * Source: ONNX RMSNormalization-23; Zhang and Sennrich (arXiv:1910.07467).
 */
#include <math.h>

#include "compiler/op/norm/norm.h"

enum { X, SCALE };

static const kiln_attr_def attrs[KILN_NORM_N_ATTR] = {KILN_NORM_ATTRS};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    kiln_norm_rows r;
    KILN_TRY(kiln_norm_read(n, &r, err));
    KILN_TRY(kiln_norm_check_factor(n, SCALE, err));
    out[0] = kiln_type_make(x->dtype, x->rank, x->dim);
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    kiln_norm_rows r;
    kiln_norm_affine affine;
    KILN_TRY(kiln_norm_read(n, &r, cx->err));
    kiln_norm_affine_init(&affine, n, cx);
    for (int64_t row = 0; row < r.rows; row++) {
        const double *x = cx->in[X].f + row * r.n;
        double *y = cx->out[0].f + row * r.n;
        double squares = 0.0;
        for (int64_t i = 0; i < r.n; i++)
            squares += x[i] * x[i];
        const double inv =
            1.0 / sqrt(squares / (double)r.n + n->attr[KILN_NORM_EPSILON].f);
        for (int64_t i = 0; i < r.n; i++)
            y[i] = kiln_norm_affine_at(&affine, row * r.n + i, x[i] * inv);
    }
    return KILN_OK;
}

static kiln_bound error_bound(const kiln_node *n) {
    kiln_norm_rows r;
    return kiln_bound_norm(kiln_norm_read(n, &r, NULL) == KILN_OK ? r.n : 0);
}

/* Stages: squares, inverse, y. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *row[KILN_MAX_RANK];
    kiln_norm_rows r;
    kiln_type t;
    kiln_te_value inverse;
    KILN_TRY(kiln_norm_read(n, &r, cx->err));
    const kiln_norm_group g = kiln_norm_group_of_rows(cx, &r, &t);
    KILN_TRY(kiln_compute_inverse_deviation(cx, &g, NULL, n->attr[KILN_NORM_EPSILON].f,
                                            &inverse));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < t.rank; i++)
        row[i] = i < r.axis ? index[i] : kiln_x_index(a, 0);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, X, index));
    x = kiln_x_mul(a, x, kiln_compute_read_value(cx, &inverse, row));
    return kiln_compute_end(cx, 0, y, kiln_compute_affine(cx, x, index));
}

const kiln_op_def kiln_op_rms_norm = {
    KILN_ROW_NORM,
    .name = "rms_norm",
    .doc =
        "x / sqrt(mean(x^2) + epsilon) * scale, the mean over the axes from `axis` on.",
    .n_in_min = 1,
    .n_in_max = 2,
    .in_names = (const char *const[]){"x", "scale", NULL},
    .attr = attrs,
    .n_attr = KILN_NORM_N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .error_bound = error_bound,
    .compute = compute,
};
