/* Convolutions, matrix products and SVDF of quantised tensors by integers: see quant.h.
 */
#include "compiler/frontend/tflite/quant.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { INT8 = 9, INT16 = 7, INT32 = 2, UINT8 = 3, DEPTHWISE = 4, FULLY_CONNECTED = 9 };

/* x, weights and bias as integers; the factors from sums to the result. */
typedef struct product {
    kiln_value *x, *w, *bias;
    kiln_tflite_target y;
    double *by;
    size_t n_by; /* 1, or one for each output channel */
} product;

static bool is_type(const kiln_tflite_tensor *t, int64_t type) {
    return t != NULL && t->type == type && kiln_tflite_is_quantized(t);
}

/* 8 bits times 8 bits to 8 bits, bias of 32. */
static bool has_integer_form(const kiln_tflite_cx *cx) {
    const kiln_tflite_tensor *const x = kiln_tflite_in_tensor(cx, 0);
    const kiln_tflite_tensor *const w = kiln_tflite_in_tensor(cx, 1);
    const kiln_tflite_tensor *const bias = kiln_tflite_in_tensor(cx, 2);
    const kiln_tflite_tensor *const y = kiln_tflite_out_tensor(cx, 0);
    if (bias != NULL && bias->type != INT32)
        return false;
    return (is_type(x, INT8) && is_type(w, INT8) && is_type(y, INT8)) ||
           (is_type(x, UINT8) && is_type(w, UINT8) && is_type(y, UINT8));
}

/* Weights have one scale, or one for each output channel (then no zero points). */
/* In floats as XNNPACK has it; the reference rounds the operands' product alone, of
 * convolutions of uint8. */
static double factor_of(const kiln_tflite_cx *cx, double x, double w, double y) {
    if (!kiln_tflite_as_reference(cx))
        return (double)((float)x * (float)w / (float)y);
    if (cx->row->code != FULLY_CONNECTED && kiln_tflite_in_tensor(cx, 1)->type == UINT8)
        return (double)((float)x * (float)w) / y;
    return x * w / y;
}

static kiln_status read_factors(kiln_tflite_cx *cx, int64_t channels, double x_scale,
                                product *p) {
    const kiln_tflite_tensor *const w = kiln_tflite_in_tensor(cx, 1);
    const kiln_tflite_quantization *const q = w->quantization;
    p->n_by = q->n_scale;
    if (p->n_by != 1 && (int64_t)p->n_by != channels)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "the weights must have 1 scale or %" PRId64
                                ", have %zu",
                                channels, p->n_by);
    p->by = kiln_array(&cx->common.scratch, double, p->n_by);
    for (size_t i = 0; i < p->n_by; i++) {
        if (!(q->scale[i] >= 0) || !(q->scale[i] < 1e30F))
            return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                    "the weights have a scale of %g; is the file "
                                    "damaged?",
                                    (double)q->scale[i]);
        p->by[i] = factor_of(cx, x_scale, (double)q->scale[i], p->y.q.scale);
        if (!isfinite(p->by[i]))
            return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                    "the weights' scale is %g, the result's %g: their "
                                    "ratio must be a number",
                                    (double)q->scale[i], p->y.q.scale);
    }
    return KILN_OK;
}

static kiln_status read_product(kiln_tflite_cx *cx, kiln_compose *c, product *p,
                                double *x_scale) {
    kiln_tflite_scale x, w = {1, 0};
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &p->x));
    KILN_TRY(kiln_tflite_need(cx, 1, "weights", &p->w));
    p->bias = kiln_tflite_in(cx, 2);
    KILN_TRY(kiln_tflite_target_of(cx, 0, cx->opt.activation, &p->y));
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 0), &x));
    if (kiln_tflite_in_tensor(cx, 1)->quantization->n_scale == 1)
        KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 1), &w));
    p->x = kiln_tflite_centered(c, p->x, &x);
    p->w = kiln_tflite_centered(c, p->w, &w);
    *x_scale = x.scale;
    return c->status;
}

/* ---- convolutions ------------------------------------------------------------------- */

static kiln_value *convolve(kiln_tflite_cx *cx, kiln_compose *c, product *p,
                            int64_t groups) {
    const kiln_tflite_options *const o = &cx->opt;
    const bool is_depthwise = cx->row->code == DEPTHWISE;
    kiln_spatial s;
    if (!kiln_window_over(
            c, p->x, p->w->type.dim + 1, (const int64_t[]){o->stride_h, o->stride_w},
            (const int64_t[]){o->dilation_h, o->dilation_w},
            o->padding == KILN_TFLITE_VALID ? KILN_PADDING_VALID : KILN_PADDING_SAME,
            &s))
        return p->x;
    p->w = kiln_turn_filter(c, p->w, is_depthwise ? KILN_FILTER_1SK : KILN_FILTER_OSI);
    kiln_value *const in[] = {kiln_channels_first(c, p->x), p->w, p->bias};
    return kiln_compose_conv(c, in, &s, groups);
}

kiln_status kiln_tflite_quant_conv(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    product p = {.n_by = 0};
    double x_scale;
    if (!has_integer_form(cx))
        return KILN_OK;
    KILN_TRY(read_product(cx, &c, &p, &x_scale));
    const bool is_depthwise = cx->row->code == DEPTHWISE;
    if (p.x->type.rank != 4 || p.w->type.rank != 4)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "input and filter must have rank 4, have %d and %d",
                                p.x->type.rank, p.w->type.rank);
    const int64_t channels = p.x->type.dim[3], own = p.w->type.dim[3];
    const int64_t outs = is_depthwise ? own : p.w->type.dim[0];
    if (channels < 1 || own < 1 ||
        (is_depthwise ? own % channels : channels % own) != 0)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "a filter of %" PRId64 " channels for an input of "
                                "%" PRId64,
                                own, channels);
    KILN_TRY(read_factors(cx, outs, x_scale, &p));
    kiln_value *y = convolve(cx, &c, &p, is_depthwise ? channels : channels / own);
    const int64_t dim[] = {1, outs, 1, 1};
    y = kiln_tflite_requantize(&c, y, p.by, p.n_by, p.n_by == 1 ? 0 : 4, dim, &p.y);
    y = kiln_channels_last(&c, y);
    *done = true;
    return kiln_tflite_end(cx, &c, y);
}

/* int8; XNNPACK has none of uint8, where only the reference is followed. */
static bool has_transposed_form(const kiln_tflite_cx *cx) {
    const kiln_tflite_tensor *const bias = kiln_tflite_in_tensor(cx, 3);
    const kiln_tflite_tensor *const x = kiln_tflite_in_tensor(cx, 2);
    const int64_t type =
        kiln_tflite_as_reference(cx) && is_type(x, UINT8) ? UINT8 : INT8;
    return is_type(x, type) && is_type(kiln_tflite_in_tensor(cx, 1), type) &&
           is_type(kiln_tflite_out_tensor(cx, 0), type) &&
           (bias == NULL || bias->type == INT32);
}

/* output_shape, filter [O, h, w, I], x, bias: the operands stand elsewhere. */
kiln_status kiln_tflite_quant_transpose_conv(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    const kiln_tflite_options *const o = &cx->opt;
    product p = {.bias = kiln_tflite_in(cx, 3)};
    kiln_tflite_scale q, weights = {1, 0};
    kiln_spatial s;
    const int64_t *shape;
    size_t n;
    if (!has_transposed_form(cx))
        return KILN_OK;
    KILN_TRY(kiln_tflite_need_ints(cx, 0, "output_shape", &shape, &n));
    KILN_TRY(kiln_tflite_need(cx, 1, "filter", &p.w));
    KILN_TRY(kiln_tflite_need(cx, 2, "input", &p.x));
    KILN_TRY(kiln_tflite_target_of(cx, 0, o->activation, &p.y));
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 2), &q));
    if (kiln_tflite_in_tensor(cx, 1)->type == UINT8)
        KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 1), &weights));
    if (n != 4 || p.x->type.rank != 4 || p.w->type.rank != 4 ||
        p.w->type.dim[3] != p.x->type.dim[3])
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "input and filter must have rank 4 and the same last "
                                "dimension, and 'output_shape' 4 values");
    const int64_t outs = p.w->type.dim[0], dim[] = {1, 1, 1, outs};
    KILN_TRY(read_factors(cx, outs, q.scale, &p));
    if (!kiln_window_over(&c, p.x, p.w->type.dim + 1,
                          (const int64_t[]){o->stride_h, o->stride_w}, NULL,
                          KILN_PADDING_GIVEN, &s))
        return c.status;
    p.w = kiln_turn_filter(&c, kiln_tflite_centered(&c, p.w, &weights),
                           KILN_FILTER_TRANSPOSED_OSI);
    kiln_value *const in[] = {kiln_tflite_centered(&c, p.x, &q), p.w, p.bias};
    kiln_value *y = kiln_channels_last_conv_transpose(
        &c, in, &s, shape + 1, o->padding == KILN_TFLITE_SAME, 1);
    y = kiln_tflite_requantize(&c, y, p.by, p.n_by, p.n_by == 1 ? 0 : 4, dim, &p.y);
    *done = true;
    return kiln_tflite_end(cx, &c, y);
}

/* ---- matrix products ---------------------------------------------------------------- */

kiln_status kiln_tflite_quant_fully_connected(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    product p = {.n_by = 0};
    int64_t dim[KILN_MAX_RANK];
    int rank;
    double x_scale;
    if (!has_integer_form(cx) || cx->opt.weights_format != 0)
        return KILN_OK;
    KILN_TRY(read_product(cx, &c, &p, &x_scale));
    KILN_TRY(kiln_tflite_flatten_rows(cx, &c, p.w, &p.x, dim, &rank));
    KILN_TRY(read_factors(cx, p.w->type.dim[0], x_scale, &p));
    kiln_value *const in[] = {p.x, p.w, p.bias};
    const kiln_attr_arg arg = kiln_arg_bool("trans_b", true);
    kiln_value *y = kiln_compose_op(&c, &kiln_op_gemm, in, 3, &arg, 1);
    const int64_t columns = p.w->type.dim[0];
    const int by_rank = p.n_by == 1 ? 0 : 1;
    y = kiln_tflite_as_reference(cx)
            ? kiln_tflite_requantize_once(&c, y, p.by, by_rank, &columns, &p.y)
            : kiln_tflite_requantize(&c, y, p.by, p.n_by, by_rank, &columns, &p.y);
    *done = true;
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, y, rank, dim));
}

/* ---- SVDF --------------------------------------------------------------------------- */

/* Whole numbers of 16 bits and what they stand for, there and back without a loss. */
static kiln_value *real_of(kiln_compose *c, kiln_value *x, double scale) {
    return kiln_compose_scalar(c, &kiln_op_mul, kiln_compose_cast(c, x, KILN_F32),
                               scale);
}

static kiln_value *whole_of(kiln_compose *c, kiln_value *x, double scale) {
    x = kiln_compose_scalar(c, &kiln_op_div, x, scale);
    x = kiln_compose_1(c, &kiln_op_round, x);
    return kiln_compose_cast(c, kiln_tflite_clip(c, x, INT16_MIN, INT16_MAX), KILN_I32);
}

/* x * w / y in floats, as the interpreter computes it. */
static kiln_tflite_fixed fixed_ratio(double x, double w, double y) {
    const float ratio = (float)x * (float)w / (float)y;
    return kiln_tflite_fixed_of((double)(isfinite(ratio) ? ratio : FLT_MAX));
}

/* Two rounding steps: features to the state's 16 bits, then their sums in time to 8. Sums
 * are of 32 bits and wrap, as the interpreter's do where weights and state are large.
 * As in tflite_op_recurrent.c, the state of earlier runs may be zeros. */
static kiln_status svdf_steps(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *time,
                              product *p, double x_scale, kiln_value **out) {
    kiln_tflite_scale features, weights, state;
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 1), &features));
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 2), &weights));
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 4), &state));
    const kiln_tflite_fixed first = fixed_ratio(x_scale, features.scale, state.scale);
    const kiln_tflite_fixed second =
        fixed_ratio(state.scale, weights.scale, p->y.q.scale);
    const int64_t filters = time->type.dim[0], axis = 2;
    kiln_value *const in[] = {p->x, p->w};
    const kiln_attr_arg trans = kiln_arg_bool("trans_b", true);
    kiln_value *y = kiln_compose_op(c, &kiln_op_gemm, in, 2, &trans, 1);
    y = kiln_tflite_multiply_fixed(c, y, &first, 1, 0, NULL);
    y = kiln_compose_cast(c, kiln_tflite_clip(c, y, INT16_MIN, INT16_MAX), KILN_I32);
    KILN_TRY(c->status);
    const int64_t columns = time->type.dim[1];
    time = kiln_compose_cast(c, time, KILN_I32);
    if (kiln_tflite_keeps(cx, KILN_SVDF_STATE)) {
        y = kiln_tflite_svdf_memory(cx, c, real_of(c, y, state.scale), columns);
        y = kiln_compose_2(c, &kiln_op_mul, whole_of(c, y, state.scale), time);
        y = kiln_compose_reduce(c, &kiln_op_reduce_sum, y, &axis, 1, false);
    } else {
        time = kiln_compose_slice(c, time, 1, columns - 1, 1, 1);
        time = kiln_compose_reshape(c, time, 1, &filters);
        y = kiln_compose_2(c, &kiln_op_mul, y, time);
    }
    const int64_t apart[] = {p->x->type.dim[0], filters / cx->opt.rank, cx->opt.rank};
    y = kiln_compose_reshape(c, y, 3, apart);
    y = kiln_compose_reduce(c, &kiln_op_reduce_sum, y, &axis, 1, false);
    if (p->bias != NULL)
        y = kiln_compose_2(c, &kiln_op_add, y, kiln_compose_cast(c, p->bias, KILN_I32));
    y = kiln_tflite_multiply_fixed(c, y, &second, 1, 0, NULL);
    *out = kiln_tflite_settle(c, y, &p->y);
    return c->status;
}

kiln_status kiln_tflite_quant_svdf(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    product p = {.n_by = 0};
    kiln_tflite_scale x;
    kiln_value *time, *y;
    if (!is_type(kiln_tflite_in_tensor(cx, 0), INT8) ||
        !is_type(kiln_tflite_in_tensor(cx, 1), INT8) ||
        !is_type(kiln_tflite_in_tensor(cx, 2), INT16) ||
        !is_type(kiln_tflite_in_tensor(cx, 4), INT16) ||
        !is_type(kiln_tflite_out_tensor(cx, 0), INT8))
        return KILN_OK;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &p.x));
    KILN_TRY(kiln_tflite_need(cx, 1, "weights_feature", &p.w));
    KILN_TRY(kiln_tflite_need(cx, 2, "weights_time", &time));
    p.bias = kiln_tflite_in(cx, 3);
    KILN_TRY(kiln_tflite_target_of(cx, 0, KILN_TFLITE_NONE, &p.y));
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 0), &x));
    if (p.x->type.rank != 2 || p.w->type.rank != 2 || time->type.rank != 2 ||
        time->type.dim[1] < 1 || cx->opt.rank < 1 ||
        time->type.dim[0] % cx->opt.rank != 0 || p.w->type.dim[0] != time->type.dim[0])
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "input, features and time must have rank 2, and 'rank' "
                                "divide their filters");
    p.x = kiln_tflite_centered(&c, p.x, &x);
    p.w = kiln_compose_cast(&c, p.w, KILN_I32);
    KILN_TRY(svdf_steps(cx, &c, time, &p, x.scale, &y));
    *done = true;
    return kiln_tflite_end(cx, &c, y);
}
