/* lrn: local response normalisation across channels.
 *
 * y[n,c,p] = x[n,c,p] / (bias + alpha / size * sum over j of x[n,j,p]^2)^beta, where j
 * runs over the channels from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2)
 * that exist. Source: ONNX LRN-13; Krizhevsky, Sutskever, Hinton (NIPS 2012),
 * section 3.3.
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/op_compute.h"
#include "compiler/op/op_window.h"

enum { SIZE, ALPHA, BETA, BIAS, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    {.name = "size",
     .kind = KILN_ATTR_INT,
     .doc = "channels that are summed",
     .is_required = true},
    {.name = "alpha",
     .kind = KILN_ATTR_FLOAT,
     .doc = "factor of the mean of squares",
     .default_f = 1e-4},
    {.name = "beta", .kind = KILN_ATTR_FLOAT, .doc = "exponent", .default_f = 0.75},
    {.name = "bias",
     .kind = KILN_ATTR_FLOAT,
     .doc = "added to the mean of squares",
     .default_f = 1.0},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type;
    if (x->rank < 2)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have shape [N, C, ...], has rank %d", x->rank);
    if (n->attr[SIZE].i < 1 || n->attr[SIZE].i > INT32_MAX)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "attribute 'size' must be in [1, %d], is %" PRId64, INT32_MAX,
                         n->attr[SIZE].i);
    out[0] = kiln_type_make(x->dtype, x->rank, x->dim);
    return KILN_OK;
}

static double element(const kiln_node *n, const double *x, int64_t index,
                      int64_t plane) {
    const int64_t channels = n->in[0]->type.dim[1], size = n->attr[SIZE].i;
    const int64_t c = index / plane % channels;
    int64_t lo = c - (size - 1) / 2, hi = c + size / 2;
    lo = lo < 0 ? 0 : lo;
    hi = hi >= channels ? channels - 1 : hi;
    double sum = 0.0;
    for (int64_t j = lo; j <= hi; j++) {
        const double v = x[index + (j - c) * plane];
        sum += v * v;
    }
    const double mean = n->attr[ALPHA].f / (double)size * sum;
    return x[index] / pow(n->attr[BIAS].f + mean, n->attr[BETA].f);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const kiln_type *x = &n->in[0]->type;
    int64_t plane = 1;
    for (int i = 2; i < x->rank; i++)
        plane *= x->dim[i];
    const int64_t count = kiln_pick_count(cx, kiln_type_elems(x));
    for (int64_t j = 0; j < count; j++)
        cx->out[0].f[j] = element(n, cx->in[0].f, kiln_pick_at(cx, j), plane);
    return KILN_OK;
}

static void cost(const kiln_node *n, kiln_cost *c) {
    const int64_t per_element = 2 * n->attr[SIZE].i + 4;
    c->flops = kiln_mul_sat(kiln_type_elems(&n->in[0]->type), per_element);
}

/* Stages: "sum" of squares, and y. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *t = &cx->out[0].type;
    const int64_t size = n->attr[SIZE].i;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    kiln_te_value sum;
    kiln_te *s = kiln_compute_begin(cx, "sum", t, index);
    const kiln_axis *axis = kiln_te_reduce_axis(s, "c", size);
    for (int i = 0; i < t->rank; i++)
        at[i] = index[i];
    at[1] = kiln_x_sub(a, kiln_x_add(a, index[1], kiln_axis_var(a, axis)),
                       kiln_x_index(a, (size - 1) / 2));
    const kiln_expr *x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, at));
    const kiln_expr *square =
        kiln_x_select(a, kiln_compute_within(a, at[1], 0, t->dim[1]),
                      kiln_x_mul(a, x, x), kiln_x_like(a, x, 0));
    KILN_TRY(kiln_compute_inner(cx, s, t, kiln_te_sum(s, square, &axis, 1), &sum));
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    const kiln_expr *v = kiln_compute_read_value(cx, &sum, index);
    v = kiln_x_mul(a, v, kiln_x_like(a, v, n->attr[ALPHA].f / (double)size));
    const kiln_expr *power[2] = {kiln_x_add(a, v, kiln_x_like(a, v, n->attr[BIAS].f)),
                                 kiln_x_like(a, v, n->attr[BETA].f)};
    x = kiln_compute_widened(cx, kiln_compute_read(cx, 0, index));
    return kiln_compute_end(cx, 0, y,
                            kiln_x_div(a, x, kiln_x_call(a, KILN_INTRIN_pow, power)));
}

const kiln_op_def kiln_op_lrn = {
    .name = "lrn",
    .doc = "x / (bias + alpha / size * sum of x^2 over `size` channels around)^beta.",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = (const char *const[]){"x", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_OPAQUE,
    .layout = KILN_LAYOUT_DEPENDENT,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = cost,
    .error_bound = kiln_bound_ulp_16,
    .compute = compute,
};
