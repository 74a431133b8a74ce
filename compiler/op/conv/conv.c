/* conv: convolution over 1 to 6 spatial axes, grouped, dilated, strided, padded with
 * zeros.
 *
 * y[b,o,p] = bias[o] + sum over c, t of x[b, g(o) * C/G + c, p * stride + t * dilation
 * - pads] * w[o,c,t] Source: ONNX Conv-22 (auto_pad is resolved by the importer); LeCun
 * et al., Proc. IEEE 86 (1998). Integers wrap in the dtype of x, so that quantised
 * forms compose out of casts and subtractions.
 */
#include <inttypes.h>
#include <math.h>

#include "compiler/op/conv/conv_parts.h"
#include "base/fault.h"
#include "compiler/op/op_conv_winograd.h"
#include "compiler/op/gemm_f64.h"
#include "compiler/op/op_compute.h"

enum { X, W, BIAS };
enum { GROUPS = KILN_WINDOW_N_ATTR, N_ATTR };

static const kiln_attr_def attrs[N_ATTR] = {
    KILN_WINDOW_ATTRS,
    {.name = "groups",
     .kind = KILN_ATTR_INT,
     .doc = "the channels are cut into this many groups, each with its own filters",
     .default_i = 1},
};

static kiln_status check_channels(const kiln_node *n, kiln_dtype sums, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type, *w = &n->in[W]->type;
    const int64_t groups = n->attr[GROUPS].i;
    if (x->rank < 3)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'x' must have shape [N, C, spatial...], has rank %d",
                         x->rank);
    KILN_TRY(kiln_check_rank(n, W, x->rank, err));
    if (groups < 1 || w->dim[0] % groups != 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "groups must be >= 1 and divide the %" PRId64
                         " output channels, is %" PRId64,
                         w->dim[0], groups);
    if (x->dim[1] % groups != 0 || x->dim[1] / groups != w->dim[1])
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'w' must have %" PRId64 "/%" PRId64
                         " input channels (those of 'x' by groups), has %" PRId64,
                         x->dim[1], groups, w->dim[1]);
    if (!kiln_has_in(n, BIAS))
        return KILN_OK;
    KILN_TRY(kiln_check_dtype(n, BIAS, KILN_DT(sums), err));
    KILN_TRY(kiln_check_rank(n, BIAS, 1, err));
    if (n->in[BIAS]->type.dim[0] != w->dim[0])
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input 'bias' must have %" PRId64 " elements, has %" PRId64,
                         w->dim[0], n->in[BIAS]->type.dim[0]);
    return KILN_OK;
}

kiln_status kiln_conv_window(const kiln_node *n, kiln_window *w, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    KILN_TRY(kiln_window_read(w, x->rank - 2, x->dim + 2, n->in[W]->type.dim + 2,
                              n->attr, err));
    return kiln_window_slide(w, false, err);
}

kiln_status kiln_conv_infer(const kiln_node *n, kiln_dtype sums, kiln_type *out,
                            kiln_err *err) {
    const kiln_type *x = &n->in[X]->type;
    kiln_window w;
    KILN_TRY(check_channels(n, sums, err));
    KILN_TRY(kiln_conv_window(n, &w, err));
    int64_t dim[KILN_MAX_RANK] = {x->dim[0], n->in[W]->type.dim[0]};
    for (int i = 0; i < w.n; i++)
        dim[2 + i] = w.out[i];
    out[0] = kiln_type_make(sums, x->rank, dim);
    return KILN_OK;
}

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    KILN_TRY(kiln_check_same_dtype(n, X, W, err));
    if (kiln_has_in(n, BIAS))
        KILN_TRY(kiln_check_same_dtype(n, X, BIAS, err));
    return kiln_conv_infer(n, n->in[X]->type.dtype, out, err);
}

kiln_status kiln_conv_plan(const kiln_node *n, kiln_conv *cv, kiln_err *err) {
    const kiln_type *x = &n->in[X]->type, *w = &n->in[W]->type;
    *cv = (kiln_conv){.n_batch = x->dim[0],
                      .n_groups = n->attr[GROUPS].i,
                      .c = w->dim[1],
                      .o = w->dim[0] / n->attr[GROUPS].i};
    KILN_TRY(kiln_conv_window(n, &cv->window, err));
    cv->taps = kiln_window_taps(&cv->window);
    cv->ins = kiln_window_ins(&cv->window);
    cv->outs = kiln_window_outs(&cv->window);
    return KILN_OK;
}

static void eval_f(const kiln_conv *cv, kiln_eval_cx *cx) {
    double *y = cx->out[0].f;
    const double *bias = cx->in[BIAS].f;
    const int64_t channels = cv->n_groups * cv->o;
    const int64_t n = kiln_pick_count(cx, cv->n_batch * channels * cv->outs);
    if (cx->pick == NULL) {
        kiln_conv_f64_run(cv, cx->scratch);
    } else {
        const bool is_direct = kiln_conv_f64_is_direct(cv);
        for (int64_t j = 0; j < n; j++)
            y[j] = kiln_conv_f64_at(cv, cx->pick[j], is_direct);
    }
    for (int64_t j = 0; bias != NULL && j < n; j++)
        y[j] += bias[kiln_pick_at(cx, j) / cv->outs % channels];
}

void kiln_conv_eval_i(const kiln_conv *cv, kiln_eval_cx *cx) {
    int64_t *y = cx->out[0].i;
    const int64_t *bias = cx->in[BIAS].i;
    const int64_t channels = cv->n_groups * cv->o;
    const int64_t n = kiln_pick_count(cx, cv->n_batch * channels * cv->outs);
    if (cx->pick == NULL) {
        kiln_conv_i64_run(cv);
    } else {
        for (int64_t j = 0; j < n; j++)
            y[j] = kiln_conv_i64_at(cv, cx->pick[j]);
    }
    for (int64_t j = 0; bias != NULL && j < n; j++) {
        const int64_t channel = kiln_pick_at(cx, j) / cv->outs % channels;
        y[j] = (int64_t)((uint64_t)y[j] + (uint64_t)bias[channel]);
    }
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    kiln_wide bias = {0};
    kiln_conv cv;
    KILN_TRY(kiln_conv_plan(n, &cv, cx->err));
    cv.x = cx->in[X].f;
    cv.w = cx->in[W].f;
    cv.y = cx->out[0].f;
    cv.xi = cx->in[X].i;
    cv.wi = cx->in[W].i;
    cv.yi = cx->out[0].i;
    const kiln_wide in[] = {cx->in[X], cx->in[W],
                            kiln_has_in(n, BIAS) ? cx->in[BIAS] : bias};
    kiln_eval_cx with_bias = *cx;
    with_bias.in = in;
    if (kiln_dtype_is_float(n->in[X]->type.dtype))
        eval_f(&cv, &with_bias);
    else
        kiln_conv_eval_i(&cv, &with_bias);
    return KILN_OK;
}

static kiln_status pick_f32(const kiln_node *n, const kiln_pick_cx *cx) {
    kiln_conv cv;
    KILN_TRY(kiln_conv_plan(n, &cv, cx->err));
    kiln_conv_f32_pick(&cv, cx->in[X], cx->in[W], cx->pick, cx->n_pick, cx->value,
                       cx->magnitude, cx->scratch);
    for (int64_t j = 0; kiln_has_in(n, BIAS) && j < cx->n_pick; j++) {
        const int64_t channel = cx->pick[j] / cv.outs % (cv.n_groups * cv.o);
        const double bias = kiln_f32_at(cx->in[BIAS], channel);
        cx->value[j] += bias;
        cx->magnitude[j] += fabs(bias);
    }
    return KILN_OK;
}

/* Terms summed into one element, without the bias. */
static int64_t n_terms(const kiln_node *n) {
    const kiln_type *w = &n->in[W]->type;
    int64_t k = w->dim[1];
    for (int i = 2; i < w->rank; i++)
        k = kiln_mul_sat(k, w->dim[i]);
    return k;
}

void kiln_conv_cost(const kiln_node *n, kiln_cost *c) {
    c->muladds = kiln_mul_sat(kiln_type_elems(&n->out[0]->type), n_terms(n));
    c->flops = kiln_mul_sat(c->muladds, 2);
}

/* Winograd's algorithm: errors of F(4, 3) reached 1.7 of what a direct convolution's do
 * at most, by the spread of its lanes (16 to 128 channels, images of 8 to 56); those of
 * other taps are no larger. */
static double other_error(const kiln_node *n) {
    const kiln_type *w = &n->in[W]->type;
    kiln_winograd_pair by;
    kiln_window x;
    if (w->rank != 4 || w->dtype != KILN_F32 ||
        kiln_conv_window(n, &x, NULL) != KILN_OK)
        return 1;
    const bool is_3x3 = w->dim[2] == 3 && w->dim[3] == 3;
    const bool can_be = n->attr[GROUPS].i == 1 && x.stride[0] == x.stride[1] &&
                        kiln_winograd_pair_of(2, w->dim + 2, x.stride[0], &by);
    return is_3x3 || can_be ? 3 : 1;
}

static kiln_bound error_bound(const kiln_node *n) {
    if (!kiln_dtype_is_float(n->in[X]->type.dtype))
        return kiln_bound_exact(n);
    /* Higham 3.1: k terms in any order; the bias is one more, the final rounding
     * another. */
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1.0, .k = n_terms(n) + 2};
}

/* Channels of x that are summed over, on into the tail of the last block. */
static int64_t reduced_channels(const kiln_compute_cx *cx) {
    return kiln_compute_common_extent(&cx->in[X].type, 1, &cx->in[W].type, 1);
}

/* Of a plain sum no tail that is a quarter of a block or more: the last block's loop is
 * one by itself then, and shorter. 24 channels to 144 in blocks of 16 took 0.77 of the
 * time so (56 x 56 pixels, Emerald Rapids), 40 to 240 0.86. Instructions that add up
 * bytes want them all. */
static int64_t summed_channels(const kiln_compute_cx *cx) {
    const int64_t n = cx->in[W].type.dim[1], all = reduced_channels(cx);
    const int64_t block = kiln_type_blocked(&cx->in[X].type, 1);
    const bool is_float = kiln_dtype_is_float(cx->in[X].type.dtype);
    return is_float && n > block && (all - n) * 4 % block == 0 ? n : all;
}

/* As it is multiplied: half floats in f32, bytes as what they are summed up in. */
static const kiln_expr *factor(const kiln_compute_cx *cx, const kiln_expr *e) {
    const kiln_dtype sums = cx->out[0].type.dtype;
    return sums == KILN_I32 && e->dtype != KILN_I32 ? kiln_x_cast(cx->arena, sums, e)
                                                    : kiln_compute_widened(cx, e);
}

/* Reduction axes: channel within the group, then the taps. */
const kiln_expr *kiln_conv_contraction(kiln_compute_cx *cx, kiln_te *y,
                                       const kiln_window *w, const kiln_te_value *x,
                                       const kiln_expr *const *index) {
    kiln_arena *a = cx->arena;
    const kiln_type *wt = &cx->in[W].type;
    const int64_t groups = cx->node->attr[GROUPS].i;
    static const char *const name[] = {"k0", "k1", "k2", "k3", "k4", "k5"};
    const kiln_axis *axis[1 + KILN_MAX_SPATIAL];
    const kiln_expr *xi[KILN_MAX_RANK] = {index[0]}, *wi[KILN_MAX_RANK] = {index[1]};
    axis[0] = kiln_te_reduce_axis(y, "ic", summed_channels(cx));
    wi[1] = xi[1] = kiln_axis_var(a, axis[0]);
    if (groups > 1 && !KILN_FAULT(conv_group)) {
        const kiln_expr *g = kiln_compute_div(cx, index[1], wt->dim[0] / groups);
        xi[1] = kiln_x_add(a, kiln_x_mul(a, g, kiln_x_index(a, wt->dim[1])), xi[1]);
    }
    for (int i = 0; i < w->n; i++) {
        axis[1 + i] = kiln_te_reduce_axis(y, name[i], w->kernel[i]);
        wi[2 + i] = kiln_axis_var(a, axis[1 + i]);
        xi[2 + i] = kiln_x_add(
            a,
            kiln_x_mul(a, index[2 + i],
                       kiln_x_index(a, KILN_FAULT(conv_stride) ? 1 : w->stride[i])),
            kiln_x_mul(
                a, wi[2 + i],
                kiln_x_index(a, KILN_FAULT(conv_dilation) ? 1 : w->dilation[i])));
    }
    const kiln_expr *product =
        kiln_x_mul(a, factor(cx, kiln_compute_read_value(cx, x, xi)),
                   factor(cx, kiln_compute_read(cx, W, wi)));
    return kiln_te_sum(y, product, axis, 1 + w->n);
}

/* The sum of products of one output, and the stages that it reads; *y: the stage that
 * it is the body of, begun last. */
static kiln_status sum_of(kiln_compute_cx *cx, const kiln_window *w, const char *name,
                          const kiln_expr **index, kiln_te **y,
                          const kiln_expr **body) {
    const kiln_type *t = &cx->out[0].type;
    kiln_winograd_pair by;
    const bool is_winograd = kiln_conv_is_winograd(cx, w, W, &by);
    kiln_te_value x;
    if (is_winograd)
        KILN_TRY(
            kiln_conv_winograd(cx, w, &by, &cx->in[X], W, reduced_channels(cx), &x));
    else
        KILN_TRY(kiln_compute_pad(
            cx, &cx->in[X], w, kiln_x_number(cx->arena, cx->in[X].type.dtype, 0), &x));
    *y = kiln_compute_begin(cx, name, t, index);
    (*y)->tag = "conv";
    *body = is_winograd ? kiln_conv_winograd_at(cx, &by, &x, index)
                        : kiln_conv_contraction(cx, *y, w, &x, index);
    return KILN_OK;
}

/* Stages: "pad" where there is padding, "conv", and "bias" where there is one; those of
 * Winograd's algorithm (op_conv_winograd.h) where the weights are packed for it. */
static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    const kiln_expr *index[KILN_MAX_RANK], *body = NULL;
    const kiln_type *t = &cx->out[0].type;
    kiln_te_value sum;
    kiln_window w;
    kiln_te *y = NULL;
    const bool has_bias = kiln_has_in(n, BIAS);
    KILN_TRY(kiln_conv_window(n, &w, cx->err));
    KILN_TRY(sum_of(cx, &w, has_bias ? "conv" : "", index, &y, &body));
    if (!has_bias)
        return kiln_compute_end(cx, 0, y, body);
    KILN_TRY(kiln_compute_inner(cx, y, t, body, &sum));
    kiln_te *z = kiln_compute_begin(cx, "", t, index);
    z->tag = "bias";
    const kiln_expr *channel = index[1];
    if (KILN_FAULT(conv_bias))
        channel =
            kiln_x_binary(cx->arena, KILN_EXPR_MAX,
                          kiln_x_sub(cx->arena, channel, kiln_x_index(cx->arena, 1)),
                          kiln_x_index(cx->arena, 0));
    const kiln_expr *bias =
        kiln_compute_widened(cx, kiln_compute_read(cx, BIAS, &channel));
    return kiln_compute_end(
        cx, 0, z,
        kiln_x_add(cx->arena, kiln_compute_read_value(cx, &sum, index), bias));
}

const kiln_op_def kiln_op_conv = {
    KILN_ROW_CONTRACTION,
    .name = "conv",
    .doc = "Convolution: y[b,o,p] = bias[o] + sum over c and t of "
           "x[b,c,p*stride+t*dilation-pads] * w[o,c,t].",
    .n_in_min = 2,
    .n_in_max = 3,
    .in_names = (const char *const[]){"x", "w", "bias", NULL},
    .attr = attrs,
    .n_attr = N_ATTR,
    .layout = KILN_LAYOUT_TOLERANT,
    .infer = infer,
    .eval_ref = eval_ref,
    .pick_f32 = pick_f32,
    .cost = kiln_conv_cost,
    .error_bound = error_bound,
    .other_error = other_error,
    .compute = compute,
};
