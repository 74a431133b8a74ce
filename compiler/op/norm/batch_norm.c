/* batch_norm: y = (x - mean[c]) / sqrt(var[c] + epsilon) * scale[c] + bias[c], with
 * given moments.
 *
 * x is [N, C, ...]. Source: ONNX BatchNormalization-15 in inference; Ioffe and Szegedy
 * (arXiv:1502.03167).
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/op_compute.h"
#include "compiler/op/op_window.h"

enum { X, SCALE, BIAS, MEAN, VAR };
enum { EPSILON, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "epsilon",
     .kind = KILN_ATTR_FLOAT,
     .doc = "added to the variance before its root is taken",
     .default_f = 1e-5},
};

/* The moments may have a dtype of their own (BatchNormalization-15): the type of none
 * of them is x's business. */
static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    if (x->rank < 2)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have shape [N, C, ...], has rank %d", x->rank);
    if (!(n->attr[EPSILON].f >= 0))
        return kiln_fail(err, KILN_ERR_SHAPE, "attribute 'epsilon' must be >= 0, is %g",
                         n->attr[EPSILON].f);
    for (int i = SCALE; i <= VAR; i++) {
        KILN_TRY(kiln_check_dtype(n, i, KILN_DT_FLOAT, err));
        KILN_TRY(kiln_check_rank(n, i, 1, err));
        if (n->in[i]->type.dim[0] != x->dim[1])
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "input '%s' must have %" PRId64
                             " elements, one per channel, has %" PRId64,
                             kiln_in_name(n, i), x->dim[1], n->in[i]->type.dim[0]);
    }
    out[0] = kiln_type_make(x->dtype, x->rank, x->dim);
    return KILN_OK;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &n->in[X]->type;
    int64_t plane = 1;
    for (int i = 2; i < x->rank; i++)
        plane *= x->dim[i];
    const int64_t count = kiln_pick_count(cx, kiln_type_elems(x));
    for (int64_t j = 0; j < count; j++) {
        const int64_t index = kiln_pick_at(cx, j);
        const int64_t c = index / plane % x->dim[1];
        cx->out[0].f[j] = (cx->in[X].f[index] - cx->in[MEAN].f[c]) /
                              sqrt(cx->in[VAR].f[c] + n->attr[EPSILON].f) *
                              cx->in[SCALE].f[c] +
                          cx->in[BIAS].f[c];
    }
    return KILN_OK;
}

/* Published counts leave batch normalisation out: it is folded into weights. */
static void cost(const kiln_node *n, kiln_cost *c) {
    c->flops = kiln_mul_sat(kiln_type_elems(&n->in[X]->type), 4);
}

static kiln_bound error_bound(const kiln_node *n) {
    /* Four roundings of terms that may cancel; 64 roundoffs allow terms of a few units.
     */
    (void)n;
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 16.0, .floor = 64.0};
}

/* Stages: "factor", scale / sqrt(var + epsilon) of each channel, and the sum. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *t = &cx->out[0].type;
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_dtype dtype = t->dtype == KILN_F64 ? KILN_F64 : KILN_F32;
    kiln_te_value factor;
    const kiln_type per_channel = kiln_type_make(dtype, 1, &t->dim[1]);
    kiln_te *f = kiln_compute_begin(cx, "factor", &per_channel, index);
    const kiln_expr *var = kiln_x_cast(a, dtype, kiln_compute_read(cx, VAR, index));
    const kiln_expr *scale = kiln_x_cast(a, dtype, kiln_compute_read(cx, SCALE, index));
    var = kiln_x_add(a, var, kiln_x_like(a, var, n->attr[EPSILON].f));
    KILN_TRY(kiln_compute_inner(
        cx, f, &per_channel, kiln_x_div(a, scale, kiln_x_fn(a, KILN_INTRIN_sqrt, var)),
        &factor));
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    const kiln_expr *const *c = index + 1;
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, X, index));
    x = kiln_x_sub(a, x, kiln_x_cast(a, dtype, kiln_compute_read(cx, MEAN, c)));
    x = kiln_x_mul(a, x, kiln_compute_read_value(cx, &factor, c));
    return kiln_compute_end(
        cx, 0, y,
        kiln_x_add(a, x, kiln_x_cast(a, dtype, kiln_compute_read(cx, BIAS, c))));
}

const kiln_op_def kiln_op_batch_norm = {
    .name = "batch_norm",
    .doc = "(x - mean[c]) / sqrt(var[c] + epsilon) * scale[c] + bias[c].",
    .n_in_min = 5,
    .n_in_max = 5,
    .in_names = (const char *const[]){"x", "scale", "bias", "mean", "var", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_INJECTIVE,
    .layout = KILN_LAYOUT_TOLERANT,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = error_bound,
    .compute = compute,
};
