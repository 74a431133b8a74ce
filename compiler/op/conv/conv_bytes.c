/* conv_bytes: convolution of bytes into sums of 32 bits, what quantised convolutions
 * are.
 *
 * y[b,o,p] = bias[o] + sum over c, t of x[b, g(o) * C/G + c, p * stride + t * dilation -
 * pads] * (w[o,c,t] - w_zero), where padding is `fill`. So nothing need be taken off x:
 * with its zero point z as `fill`, sum((x - z) (w - w_zero)) is the same but for z
 * times the sum of an output's weights, which is the bias's. Sums wrap in 32 bits.
 * Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient
 * Integer-Arithmetic-Only Inference", CVPR'18, section 2.3.
 */
#include <inttypes.h>

#include "compiler/op/conv/conv_parts.h"

enum { X, W, BIAS };
enum { GROUPS = KILN_WINDOW_N_ATTR, FILL, W_ZERO, N_ATTR };
enum { KILN_DT_BYTE = KILN_DT(KILN_I8) | KILN_DT(KILN_U8) };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_WINDOW_ATTRS,
    {.name = "groups",
     .kind = KILN_ATTR_INT,
     .doc = "the channels are cut into this many groups, each with its own filters",
     .default_i = 1},
    {.name = "fill", .kind = KILN_ATTR_INT, .doc = "what padding is, a value of x's"},
    {.name = "w_zero",
     .kind = KILN_ATTR_INT,
     .doc = "taken off each weight; 0 where there are several groups"},
};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    const int64_t fill = n->attr[FILL].i, zero = n->attr[W_ZERO].i;
    const kiln_dtype_info *x = kiln_dtype_get(n->in[X]->type.dtype);
    KILN_TRY(kiln_check_dtype(n, X, KILN_DT_BYTE, err));
    KILN_TRY(kiln_check_dtype(n, W, KILN_DT_BYTE | KILN_DT(KILN_I16), err));
    if (fill < x->min_i || fill > x->max_i)
        return kiln_fail(err, KILN_ERR_SHAPE, "fill must be a %s, is %" PRId64,
                         kiln_dtype_name(n->in[X]->type.dtype), fill);
    if (zero < INT16_MIN || zero > INT16_MAX || (zero != 0 && n->attr[GROUPS].i != 1))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "w_zero must have 16 bits, and be 0 with several groups, is "
                         "%" PRId64,
                         zero);
    return kiln_conv_infer(n, KILN_I32, out, err);
}

/* ---- reference ------------------------------------------------------------------- */

static int64_t *less(kiln_arena *a, const kiln_wide *v, int64_t by) {
    const int64_t n = kiln_type_elems(&v->type);
    int64_t *out = kiln_array(a, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = v->i[i] - by;
    return out;
}

/* Padding is zero once `fill` is taken off x; what that was comes back behind. */
static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    const int64_t fill = n->attr[FILL].i;
    kiln_conv cv;
    KILN_TRY(kiln_conv_plan(n, &cv, cx->err));
    const int64_t outs = kiln_type_elems(&n->out[0]->type);
    const int64_t channels = cv.n_groups * cv.o, terms = cv.c * cv.taps;
    int64_t *bias = kiln_array(cx->scratch, int64_t, channels);
    cv.xi = less(cx->scratch, &cx->in[X], fill);
    cv.wi = less(cx->scratch, &cx->in[W], n->attr[W_ZERO].i);
    cv.yi = cx->out[0].i;
    for (int64_t o = 0; o < channels && outs > 0; o++) {
        bias[o] = kiln_has_in(n, BIAS) ? cx->in[BIAS].i[o] : 0;
        for (int64_t k = 0; k < terms; k++)
            bias[o] += fill * cv.wi[o * terms + k];
    }
    const kiln_wide in[] = {cx->in[X], cx->in[W], {.i = bias}};
    kiln_eval_cx with_bias = *cx;
    with_bias.in = in;
    kiln_conv_eval_i(&cv, &with_bias);
    return KILN_OK;
}

/* ---- expression ------------------------------------------------------------------ */

/* What each output's window of x adds up to, once for each lane of a block of y's
 * channels: a vector that the sums of every block are corrected by. */
static kiln_status sum_of_x(kiln_compute_cx *cx, const kiln_window *w,
                            const kiln_te_value *x, kiln_te_value *out) {
    const kiln_expr *index[KILN_MAX_RANK], *at[KILN_MAX_RANK];
    const kiln_axis *axis[1 + KILN_MAX_SPATIAL];
    kiln_type t = cx->out[0].type;
    t.dim[1] = kiln_type_blocked(&t, 1);
    kiln_te *te = kiln_compute_begin(cx, "x_sum", &t, index);
    te->tag = "x_sum";
    axis[0] = kiln_te_reduce_axis(
        te, "ic", kiln_compute_common_extent(&cx->in[X].type, 1, &cx->in[W].type, 1));
    kiln_compute_taps(te, w, index, at, axis + 1);
    at[1] = kiln_axis_var(cx->arena, axis[0]);
    const kiln_expr *e =
        kiln_x_cast(cx->arena, KILN_I32, kiln_compute_read_value(cx, x, at));
    return kiln_compute_inner(cx, te, &t, kiln_te_sum(te, e, axis, 1 + w->n), out);
}

/* Stages: "pad" where there is padding, "conv"; "x_sum" where weights have a zero
 * point, and "bias" behind them. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK];
    const kiln_type *t = &cx->out[0].type;
    const int64_t zero = n->attr[W_ZERO].i;
    kiln_arena *a = cx->arena;
    kiln_te_value x, sum, of_x = {.te = NULL};
    kiln_window w;
    const bool ends = !kiln_has_in(n, BIAS) && zero == 0;
    KILN_TRY(kiln_conv_window(n, &w, cx->err));
    KILN_TRY(kiln_compute_pad(
        cx, &cx->in[X], &w,
        kiln_x_number(a, cx->in[X].type.dtype, (double)n->attr[FILL].i), &x));
    if (zero != 0)
        KILN_TRY(sum_of_x(cx, &w, &x, &of_x));
    kiln_te *y = kiln_compute_begin(cx, ends ? "" : "conv", t, index);
    y->tag = "conv";
    const kiln_expr *body = kiln_conv_contraction(cx, y, &w, &x, index);
    if (ends)
        return kiln_compute_end(cx, 0, y, body);
    KILN_TRY(kiln_compute_inner(cx, y, t, body, &sum));
    kiln_te *z = kiln_compute_begin(cx, "", t, index);
    z->tag = "bias";
    body = kiln_compute_read_value(cx, &sum, index);
    const kiln_expr *channel = index[1];
    if (kiln_has_in(n, BIAS))
        body = kiln_x_add(a, body, kiln_compute_read(cx, BIAS, &channel));
    index[1] = kiln_compute_mod(cx, channel, kiln_type_blocked(t, 1));
    if (zero != 0)
        body = kiln_x_sub(a, body,
                          kiln_x_mul(a, kiln_compute_read_value(cx, &of_x, index),
                                     kiln_x_int(a, KILN_I32, zero)));
    return kiln_compute_end(cx, 0, z, body);
}

const kiln_op_def kiln_op_conv_bytes = {
    .dtypes = KILN_DT_BYTE,
    .fuse = KILN_FUSE_OUT_FUSABLE,
    .can_pick = true,
    .name = "conv_bytes",
    .doc = "Convolution of bytes (weights: or of 16 bits) into i32: y[b,o,p] = bias[o] "
           "+ sum over c and t of x[b,c,p*stride+t*dilation-pads] * (w[o,c,t] - "
           "w_zero).",
    .n_in_min = 2,
    .n_in_max = 3,
    .in_names = (const char *const[]){"x", "w", "bias", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .layout = KILN_LAYOUT_TOLERANT,
    .infer = infer,
    .eval_ref = eval_ref,
    .cost = kiln_conv_cost,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
