/* Element-wise operators, pools and changes of scale of quantised tensors by integers:
 * see quant.h. */
#include "compiler/frontend/tflite/quant.h"

#include <inttypes.h>
#include <string.h>

enum { SUB = 41 };

/* ---- the same scale everywhere ------------------------------------------------------- */

/* Operators that compare or move: integers of one scale are in the order of what they
 * stand for. */
kiln_status kiln_tflite_quant_same_scale(kiln_tflite_cx *cx, bool *done) {
    const kiln_tflite_quantization *first = NULL;
    const int n_in = kiln_tflite_n_in(cx), n = n_in + kiln_tflite_n_out(cx);
    for (int i = 0; i < n; i++) {
        const kiln_tflite_tensor *const t = i < n_in
                                                ? kiln_tflite_in_tensor(cx, i)
                                                : kiln_tflite_out_tensor(cx, i - n_in);
        if (t == NULL || !kiln_tflite_is_quantized(t))
            continue;
        const kiln_tflite_quantization *const q = t->quantization;
        if (q->n_scale != 1 || q->n_zero_point > 1 ||
            (first != NULL &&
             (q->scale[0] < first->scale[0] || q->scale[0] > first->scale[0] ||
              q->n_zero_point != first->n_zero_point ||
              (q->n_zero_point == 1 && q->zero_point[0] != first->zero_point[0]))))
            return KILN_OK;
        first = q;
    }
    if (cx->opt.activation != KILN_TFLITE_NONE)
        return KILN_OK;
    *done = true;
    return cx->row->import(cx);
}

/* Integers of another scale. */
kiln_status kiln_tflite_quant_quantize(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_tflite_scale q;
    kiln_tflite_target y;
    kiln_value *x;
    const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, 0);
    if (t == NULL || !kiln_tflite_is_quantized(t))
        return KILN_OK;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_scale_of(cx, t, &q));
    KILN_TRY(kiln_tflite_target_of(cx, 0, KILN_TFLITE_NONE, &y));
    const kiln_tflite_fixed by = kiln_tflite_fixed_of(q.scale / y.q.scale);
    x = kiln_tflite_multiply_fixed(&c, kiln_tflite_centered(&c, x, &q), &by, 1, 0,
                                   NULL);
    *done = true;
    return kiln_tflite_end(cx, &c, kiln_tflite_settle(&c, x, &y));
}

/* ---- arithmetic --------------------------------------------------------------------- */

/* Both in steps of a 2^20th of twice the larger scale. */
kiln_status kiln_tflite_quant_add(kiln_tflite_cx *cx, bool *done) {
    const double left = 0x1p20;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_tflite_scale q[2];
    kiln_tflite_target y;
    kiln_value *in[2];
    if (!kiln_tflite_is_8_bit(cx, 2))
        return KILN_OK;
    KILN_TRY(kiln_tflite_target_of(cx, 0, cx->opt.activation, &y));
    for (int i = 0; i < 2; i++) {
        KILN_TRY(kiln_tflite_need(cx, i, i == 0 ? "input1" : "input2", &in[i]));
        KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, i), &q[i]));
    }
    const double twice = 2 * (q[0].scale > q[1].scale ? q[0].scale : q[1].scale);
    for (int i = 0; i < 2; i++) {
        const kiln_tflite_fixed by = kiln_tflite_fixed_of(q[i].scale / twice);
        in[i] = kiln_tflite_centered(&c, in[i], &q[i]);
        in[i] = kiln_compose_scalar(&c, &kiln_op_mul, in[i], left);
        in[i] = kiln_tflite_multiply_fixed(&c, in[i], &by, 1, 0, NULL);
    }
    const kiln_tflite_fixed by = kiln_tflite_fixed_of(twice / (left * y.q.scale));
    kiln_value *sum = kiln_compose_2(
        &c, cx->row->code == SUB ? &kiln_op_sub : &kiln_op_add, in[0], in[1]);
    sum = kiln_tflite_multiply_fixed(&c, sum, &by, 1, 0, NULL);
    *done = true;
    return kiln_tflite_end(cx, &c, kiln_tflite_settle(&c, sum, &y));
}

/* The factor is computed in floats, as the interpreter does. */
kiln_status kiln_tflite_quant_mul(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_tflite_scale q[2];
    kiln_tflite_target y;
    kiln_value *in[2];
    if (!kiln_tflite_is_8_bit(cx, 2))
        return KILN_OK;
    KILN_TRY(kiln_tflite_target_of(cx, 0, cx->opt.activation, &y));
    for (int i = 0; i < 2; i++) {
        KILN_TRY(kiln_tflite_need(cx, i, i == 0 ? "input1" : "input2", &in[i]));
        KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, i), &q[i]));
        in[i] = kiln_tflite_centered(&c, in[i], &q[i]);
    }
    const float real = (float)q[0].scale * (float)q[1].scale / (float)y.q.scale;
    const kiln_tflite_fixed by = kiln_tflite_fixed_of((double)real);
    kiln_value *const product = kiln_compose_2(&c, &kiln_op_mul, in[0], in[1]);
    *done = true;
    return kiln_tflite_end(
        cx, &c,
        kiln_tflite_settle(&c, kiln_tflite_multiply_fixed(&c, product, &by, 1, 0, NULL),
                           &y));
}

/* ---- pools -------------------------------------------------------------------------- */

static bool window(kiln_tflite_cx *cx, kiln_compose *c, const kiln_value *x,
                   kiln_spatial *s) {
    const kiln_tflite_options *const o = &cx->opt;
    return kiln_window_over(
        c, x, (const int64_t[]){o->filter_h, o->filter_w},
        (const int64_t[]){o->stride_h, o->stride_w}, NULL,
        o->padding == KILN_TFLITE_VALID ? KILN_PADDING_VALID : KILN_PADDING_SAME, s);
}

/* Scale and zero point stay, whatever the result's are said to be. */
kiln_status kiln_tflite_quant_max_pool(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_tflite_target y;
    kiln_value *x;
    kiln_spatial s;
    if (!kiln_tflite_is_8_bit(cx, 1))
        return KILN_OK;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_target_of(cx, 0, cx->opt.activation, &y));
    if (!window(cx, &c, x, &s))
        return c.status;
    x = kiln_channels_last_pool(&c, &kiln_op_max_pool, x, &s);
    if (cx->opt.activation != KILN_TFLITE_NONE)
        x = kiln_tflite_clip(&c, x, (double)y.low, (double)y.high);
    *done = true;
    return kiln_tflite_end(cx, &c, x);
}

/* How many elements of x lie under each window, [1, 1, out...]. */
static kiln_value *window_counts(kiln_compose *c, const kiln_spatial *s,
                                 const int64_t *out) {
    int64_t n = 1, dim[KILN_MAX_RANK] = {1, 1};
    for (int i = 0; i < s->n; i++) {
        dim[2 + i] = out[i];
        n *= out[i];
    }
    if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_import_spend(c->cx, 8 * n));
    if (c->status != KILN_OK)
        return kiln_import_scalar(c->cx, KILN_I64, 1);
    int64_t *const v = kiln_array(&c->cx->scratch, int64_t, n);
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k;
        v[k] = 1;
        for (int i = s->n - 1; i >= 0; i--) {
            const int64_t from = rest % out[i] * s->strides[i] - s->pads[i];
            const int64_t to = from + s->kernel[i];
            v[k] *= (to < s->in[i] ? to : s->in[i]) - (from > 0 ? from : 0);
            rest /= out[i];
        }
        v[k] = v[k] > 0 ? v[k] : 1;
    }
    return kiln_compose_cast(c, kiln_compose_ints(c, s->n + 2, dim, v), KILN_I32);
}

/* Sums under each window: of the whole plane, or by filters of ones. */
static kiln_value *window_sums(kiln_compose *c, kiln_value *x, kiln_spatial *s) {
    const int64_t axes[] = {2, 3}, channels = x->type.dim[1];
    bool is_whole = true;
    for (int i = 0; i < s->n; i++)
        is_whole = is_whole && s->kernel[i] == s->in[i] && s->pads[i] == 0 &&
                   s->pads[s->n + i] == 0;
    if (is_whole)
        return kiln_compose_reduce(c, &kiln_op_reduce_sum, x, axes, 2, true);
    const int64_t dim[] = {channels, 1, s->kernel[0], s->kernel[1]};
    kiln_value *const ones =
        kiln_compose_expand(c, kiln_import_scalar(c->cx, KILN_I32, 1), 4, dim);
    return kiln_compose_conv(c, (kiln_value *[]){x, ones, NULL}, s, channels);
}

/* The mean of the integers, half rounded away from zero. */
kiln_status kiln_tflite_quant_average_pool(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_tflite_target y;
    kiln_value *x;
    kiln_spatial s;
    if (!kiln_tflite_is_8_bit(cx, 1))
        return KILN_OK;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_target_of(cx, 0, cx->opt.activation, &y));
    if (x->type.rank != 4)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the input must have rank 4, has %d", x->type.rank);
    if (!window(cx, &c, x, &s))
        return c.status;
    x = kiln_compose_cast(&c, kiln_channels_first(&c, x), KILN_I32);
    x = window_sums(&c, x, &s);
    KILN_TRY(c.status);
    kiln_value *const n = window_counts(&c, &s, x->type.dim + 2);
    kiln_value *const half =
        kiln_compose_2(&c, &kiln_op_div, n, kiln_import_scalar(c.cx, KILN_I32, 2));
    kiln_value *const up = kiln_compose_2(&c, &kiln_op_add, x, half);
    kiln_value *const down = kiln_compose_2(&c, &kiln_op_sub, x, half);
    kiln_value *const above = kiln_compose_scalar(&c, &kiln_op_greater, x, 0);
    x = kiln_compose_2(&c, &kiln_op_div, kiln_compose_where(&c, above, up, down), n);
    x = kiln_tflite_clip(&c, x, (double)y.low, (double)y.high);
    x = kiln_channels_last(&c, kiln_compose_cast(&c, x, y.dtype));
    *done = true;
    return kiln_tflite_end(cx, &c, x);
}
