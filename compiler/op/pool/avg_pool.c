/* avg_pool: mean of the elements under each window.
 *
 * The mean is over the elements inside the input, or with count_include_pad over those
 * inside the input and its padding (zeros); what a last window of ceil_mode covers
 * beyond the padding never counts. Source: ONNX AveragePool-22.
 */
#include "compiler/op/op_compute.h"
#include "base/fault.h"
#include "compiler/op/pool/pool.h"

enum { COUNT_INCLUDE_PAD = KILN_POOL_N_ATTR, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_POOL_ATTRS,
    {.name = "count_include_pad",
     .kind = KILN_ATTR_BOOL,
     .doc = "padding counts as elements of value 0"},
};

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    kiln_pool p;
    KILN_TRY(kiln_pool_read(n, &p, cx->err));
    const bool with_pad = n->attr[COUNT_INCLUDE_PAD].i != 0;
    int64_t *at = kiln_array(cx->scratch, int64_t, p.room);
    const int64_t count = kiln_pick_count(cx, p.planes * p.outs);
    for (int64_t j = 0; j < count; j++) {
        const int64_t index = kiln_pick_at(cx, j);
        const double *x = cx->in[0].f + index / p.outs * p.ins;
        int64_t n_padded;
        const int64_t n_in = kiln_pool_gather(&p, index % p.outs, at, &n_padded);
        double sum = 0.0;
        for (int64_t i = 0; i < n_in; i++)
            sum += x[at[i]];
        cx->out[0].f[j] = sum / (double)(with_pad ? n_padded : n_in);
    }
    return KILN_OK;
}

static kiln_bound error_bound(const kiln_node *n) {
    /* a sum of taps and one division */
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1.0, .k = kiln_pool_taps(n) + 1};
}

/* Taps along one axis that lie in [begin, end) of the input, for output position `out`:
 * see kiln_window_pos. */
static const kiln_expr *taps_inside(kiln_arena *a, const kiln_window *w, int axis,
                                    const kiln_expr *out, int64_t begin, int64_t end) {
    const kiln_expr *zero = kiln_x_index(a, 0),
                    *step = kiln_x_index(a, w->dilation[axis]);
    const kiln_expr *first =
        kiln_x_sub(a, kiln_x_mul(a, out, kiln_x_index(a, w->stride[axis])),
                   kiln_x_index(a, w->pad_begin[axis]));
    /* lo = ceil((begin - first) / step), hi = ceil((end - first) / step) */
    const kiln_expr *up[2];
    for (int i = 0; i < 2; i++) {
        const int64_t edge = (i == 0 ? begin : end) + w->dilation[axis] - 1;
        up[i] = kiln_x_binary(a, KILN_EXPR_FLOORDIV,
                              kiln_x_sub(a, kiln_x_index(a, edge), first), step);
    }
    const kiln_expr *lo = kiln_x_binary(a, KILN_EXPR_MAX, up[0], zero);
    const kiln_expr *hi =
        kiln_x_binary(a, KILN_EXPR_MIN, up[1], kiln_x_index(a, w->kernel[axis]));
    return kiln_x_binary(a, KILN_EXPR_MAX, kiln_x_sub(a, hi, lo), zero);
}

/* Has every window all its taps in [begin, end)? */
static bool is_whole(const kiln_window *w, int axis, int64_t begin, int64_t end) {
    const int64_t last =
        kiln_window_pos(w, axis, w->out[axis] - 1, w->kernel[axis] - 1);
    return kiln_window_pos(w, axis, 0, 0) >= begin && last < end;
}

/* Stages: "pad" where there is padding, "sum", and the quotient. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    kiln_arena *a = cx->arena;
    const kiln_type *t = &cx->out[0].type;
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_axis *axis[KILN_MAX_SPATIAL];
    const bool with_pad =
        n->attr[COUNT_INCLUDE_PAD].i != 0 || KILN_FAULT(avg_pool_count);
    kiln_te_value x, sum;
    kiln_pool p;
    KILN_TRY(kiln_pool_read(n, &p, cx->err));
    const kiln_window *w = &p.window;
    KILN_TRY(kiln_compute_pad(cx, &cx->in[0], w,
                              kiln_x_number(a, cx->in[0].type.dtype, 0), &x));
    kiln_te *s = kiln_compute_begin(cx, "sum", t, index);
    s->tag = "pool";
    kiln_compute_taps(s, w, index, at, axis);
    const kiln_expr *v = kiln_compute_widened(cx, kiln_compute_read_value(cx, &x, at));
    KILN_TRY(kiln_compute_inner(cx, s, t, kiln_te_sum(s, v, axis, w->n), &sum));
    kiln_te *y = kiln_compute_begin(cx, "", t, index);
    const kiln_expr *count = kiln_x_index(a, 1);
    for (int i = 0; i < w->n; i++) {
        const int64_t begin = with_pad ? -w->pad_begin[i] : 0;
        const int64_t end = w->in[i] + (with_pad ? w->pad_end[i] : 0);
        count = kiln_x_mul(a, count,
                           is_whole(w, i, begin, end)
                               ? kiln_x_index(a, w->kernel[i])
                               : taps_inside(a, w, i, index[2 + i], begin, end));
    }
    int64_t known = 0;
    v = kiln_compute_read_value(cx, &sum, index);
    if (kiln_x_is_int(count, &known))
        return kiln_compute_end(
            cx, 0, y, kiln_x_mul(a, v, kiln_x_like(a, v, 1.0 / (double)known)));
    return kiln_compute_end(cx, 0, y,
                            kiln_x_div(a, v, kiln_x_cast(a, v->dtype, count)));
}

const kiln_op_def kiln_op_avg_pool = {
    .name = "avg_pool",
    .doc = "Mean of the elements under each window.",
    .n_in_min = 1,
    .n_in_max = 1,
    .in_names = (const char *const[]){"x", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .dtypes = KILN_DT_FLOAT,
    .fuse = KILN_FUSE_REDUCTION,
    .layout = KILN_LAYOUT_TOLERANT,
    .can_pick = true,
    .infer = kiln_infer_pool,
    .eval_ref = eval_ref,
    .cost = kiln_cost_pool,
    .error_bound = error_bound,
    .compute = compute,
};
