/* lp_pool: p-norm of the elements under each window, (sum |x|^p)^(1/p). Source: ONNX
 * LpPool-22. */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/op_compute.h"
#include "compiler/op/pool/pool.h"

enum { P = KILN_POOL_N_ATTR, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_POOL_ATTRS,
    {.name = "p", .kind = KILN_ATTR_INT, .doc = "order of the norm", .default_i = 2},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    if (n->attr[P].i < 1)
        return kiln_fail(err, KILN_ERR_SHAPE, "attribute 'p' must be >= 1, is %" PRId64,
                         n->attr[P].i);
    return kiln_infer_pool(n, out, err);
}

static double norm(const double *x, const int64_t *at, int64_t n, int64_t p) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double v = fabs(x[at[i]]);
        sum += p == 1 ? v : p == 2 ? v * v : pow(v, (double)p);
    }
    return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1.0 / (double)p);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    kiln_pool p;
    KILN_TRY(kiln_pool_read(n, &p, cx->err));
    int64_t *at = kiln_array(cx->scratch, int64_t, p.room);
    const int64_t count = kiln_pick_count(cx, p.planes * p.outs);
    for (int64_t j = 0; j < count; j++) {
        const int64_t index = kiln_pick_at(cx, j);
        const int64_t n_in = kiln_pool_gather(&p, index % p.outs, at, NULL);
        cx->out[0].f[j] =
            norm(cx->in[0].f + index / p.outs * p.ins, at, n_in, n->attr[P].i);
    }
    return KILN_OK;
}

static kiln_bound error_bound(const kiln_node *n) {
    /* All terms are positive: a relative error of taps roundings, and those of two
     * powers. */
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1.0, .k = kiln_pool_taps(n) + 16};
}

static const kiln_expr *power(kiln_arena *a, const kiln_expr *x, double p) {
    const kiln_expr *arg[2] = {x, kiln_x_like(a, x, p)};
    return kiln_x_call(a, KILN_INTRIN_pow, arg);
}

/* Stages: "pad" where there is padding, "sum", and the root. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *t = &cx->out[0].type;
    const int64_t order = n->attr[P].i;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_axis *axis[KILN_MAX_SPATIAL];
    kiln_te_value x, sum;
    kiln_pool p;
    KILN_TRY(kiln_pool_read(n, &p, cx->err));
    KILN_TRY(kiln_compute_pad(cx, &cx->in[0], &p.window,
                              kiln_x_number(a, cx->in[0].type.dtype, 0), &x));
    kiln_te *s = kiln_compute_begin(cx, "sum", t, index);
    s->tag = "pool";
    kiln_compute_taps(s, &p.window, index, at, axis);
    const kiln_expr *v = kiln_compute_widened(cx, kiln_compute_read_value(cx, &x, at));
    const kiln_expr *size = kiln_x_fn(a, KILN_INTRIN_abs, v);
    v = order == 1   ? size
        : order == 2 ? kiln_x_mul(a, v, v)
                     : power(a, size, (double)order);
    KILN_TRY(kiln_compute_inner(cx, s, t, kiln_te_sum(s, v, axis, p.window.n), &sum));
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    v = kiln_compute_read_value(cx, &sum, index);
    if (order == 2)
        v = kiln_x_fn(a, KILN_INTRIN_sqrt, v);
    else if (order > 2)
        v = power(a, v, 1.0 / (double)order);
    return kiln_compute_end(cx, 0, y, v);
}

const kiln_op_def kiln_op_lp_pool = {
    .name = "lp_pool",
    .doc = "p-norm of the elements under each window: (sum of |x|^p)^(1/p).",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = (const char *const[]){"x", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_REDUCTION,
    .layout = KILN_LAYOUT_TOLERANT,
    .can_pick = true,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = kiln_cost_pool,
    .error_bound = error_bound,
    .compute = compute,
};
