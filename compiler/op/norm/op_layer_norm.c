/* layer_norm: y = (x - mean) / sqrt(var + epsilon) * scale + bias over the last axes.
 *
 * mean and var (of the population) are of the group that the axes from `axis` on form.
 * Further outputs: the means and 1 / sqrt(var + epsilon), with those axes of size 1.
 * Source: ONNX LayerNormalization-17; Ba, Kiros, Hinton (arXiv:1607.06450).
 */
#include <math.h>

#include "compiler/op/norm/norm.h"

enum { X, SCALE, BIAS };
enum { STASH = KILN_NORM_N_ATTR, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_NORM_ATTRS,
    {.name = "stash",
     .kind = KILN_ATTR_DTYPE,
     .doc = "dtype of the second and third outputs",
     .default_i = KILN_F32},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    const kiln_dtype stash = (kiln_dtype)n->attr[STASH].i;
    kiln_norm_rows r;
    KILN_TRY(kiln_norm_read(n, &r, err));
    KILN_TRY(kiln_norm_check_factor(n, SCALE, err));
    KILN_TRY(kiln_norm_check_factor(n, BIAS, err));
    if (!kiln_dtype_is_float(stash))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "attribute 'stash' must be a float dtype, is %s",
                         kiln_dtype_name(stash));
    out[0] = kiln_type_make(x->dtype, x->rank, x->dim);
    int64_t dim[KILN_MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        dim[i] = i < r.axis ? x->dim[i] : 1;
    for (int i = 1; i < n->n_out; i++)
        out[i] = kiln_type_make(stash, x->rank, dim);
    return KILN_OK;
}

static void moments(const double *x, int64_t n, double epsilon, double *mean,
                    double *inv) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inv = 1.0 / sqrt(squares / (double)n + epsilon);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    kiln_norm_rows r;
    kiln_norm_affine affine;
    KILN_TRY(kiln_norm_read(n, &r, cx->err));
    kiln_norm_affine_init(&affine, n, cx);
    for (int64_t row = 0; row < r.rows; row++) {
        const double *x = cx->in[X].f + row * r.n;
        double *y = cx->out[0].f + row * r.n;
        double mean, inv;
        moments(x, r.n, n->attr[KILN_NORM_EPSILON].f, &mean, &inv);
        for (int64_t i = 0; i < r.n; i++)
            y[i] = kiln_norm_affine_at(&affine, row * r.n + i, (x[i] - mean) * inv);
        if (n->n_out > 1)
            cx->out[1].f[row] = mean;
        if (n->n_out > 2)
            cx->out[2].f[row] = inv;
    }
    return KILN_OK;
}

static kiln_bound error_bound(const kiln_node *n) {
    kiln_norm_rows r;
    return kiln_bound_norm(kiln_norm_read(n, &r, NULL) == KILN_OK ? r.n : 0);
}

static kiln_status compute_stash(kiln_compute_cx *cx, int k, const kiln_te_value *v,
                                 const char *suffix) {
    const kiln_expr *index[KILN_MAX_RANK];
    kiln_te *te = kiln_compute_begin(cx, suffix, &cx->out[k].type, index);
    return kiln_compute_end(cx, k, te, kiln_compute_read_value(cx, v, index));
}

/* Stages: sum, mean, squares (about the mean), inverse, y. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_expr *index[KILN_MAX_RANK], *row[KILN_MAX_RANK];
    kiln_norm_rows r;
    kiln_type t;
    kiln_te_value mean, inverse;
    KILN_TRY(kiln_norm_read(n, &r, cx->err));
    const kiln_norm_group g = kiln_norm_group_of_rows(cx, &r, &t);
    KILN_TRY(kiln_compute_mean(cx, &g, &mean));
    KILN_TRY(kiln_compute_inverse_deviation(cx, &g, &mean, n->attr[KILN_NORM_EPSILON].f,
                                            &inverse));
    kiln_te *y = kiln_compute_begin(cx, "", &cx->out[0].type, index);
    for (int i = 0; i < t.rank; i++)
        row[i] = i < r.axis ? index[i] : kiln_x_index(a, 0);
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, X, index));
    x = kiln_x_sub(a, x, kiln_compute_read_value(cx, &mean, row));
    x = kiln_x_mul(a, x, kiln_compute_read_value(cx, &inverse, row));
    KILN_TRY(kiln_compute_end(cx, 0, y, kiln_compute_affine(cx, x, index)));
    if (n->n_out > 1)
        KILN_TRY(compute_stash(cx, 1, &mean, "mean.out"));
    return n->n_out > 2 ? compute_stash(cx, 2, &inverse, "inverse.out") : KILN_OK;
}

const kiln_op_def kiln_op_layer_norm = {
    KILN_ROW_NORM,
    .name = "layer_norm",
    .doc =
        "(x - mean) / sqrt(var + epsilon) * scale + bias, moments over the axes from "
        "`axis` on.",
    .n_in_min = 1,
    .n_in_max = 3,
    .n_out_min = 1,
    .n_out_max = 3,
    .in_names = (const char *const[]){"x", "scale", "bias", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .infer = infer,
    .eval_ref = eval_ref,
    .error_bound = error_bound,
    .compute = compute,
};
