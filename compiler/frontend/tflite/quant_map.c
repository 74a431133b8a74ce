/* Element-wise operators, pools and changes of scale of quantised tensors by integers:
 * see quant.h. */
#include "compiler/frontend/tflite/quant.h"

#include <inttypes.h>
#include <math.h>
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

/* Scales of comparisons: below 1, in 8 bits. */
static bool is_compared_in_steps(const kiln_tflite_tensor *t) {
    enum { UINT8 = 3, INT8 = 9 };
    return t != NULL && kiln_tflite_is_quantized(t) && t->quantization->n_scale == 1 &&
           (t->type == UINT8 || t->type == INT8) && t->quantization->scale[0] < 1;
}

/* Both in 256ths, rounded twice, which may make neighbours equal where steps are small:
 * the interpreter has this kernel alone. */
kiln_status kiln_tflite_quant_compare(kiln_tflite_cx *cx, bool *done) {
    enum { BITS = 8 };
    kiln_compose c = kiln_tflite_compose(cx);
    if (!is_compared_in_steps(kiln_tflite_in_tensor(cx, 0)) ||
        !is_compared_in_steps(kiln_tflite_in_tensor(cx, 1)))
        return kiln_tflite_quant_same_scale(cx, done);
    for (int i = 0; i < 2; i++) {
        kiln_tflite_scale q;
        KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, i), &q));
        const kiln_tflite_fixed by = kiln_tflite_fixed_of(q.scale);
        kiln_value *const x = kiln_compose_scalar(
            &c, &kiln_op_mul, kiln_tflite_centered(&c, cx->in[i], &q), 1 << BITS);
        cx->in[i] = kiln_tflite_multiply_fixed(&c, x, &by, 1, 0, NULL);
    }
    KILN_TRY(c.status);
    *done = true;
    return cx->row->import(cx);
}

/* ---- shifts -------------------------------------------------------------------------- */

/* (x + half a step) / 2^shift towards minus infinity, then the target's zero point, range
 * and dtype. x is i32 between -2^30 and 2^30, shift 1 to 30: lifted by 2^30, which every
 * such shift divides, it fits u32 with the half. */
static kiln_value *shift_and_settle(kiln_compose *c, kiln_value *x, int shift,
                                    const kiln_tflite_target *y) {
    enum { LIFT = 30 };
    KILN_ASSERT(shift >= 1 && shift <= LIFT, "a shift by %d", shift);
    const kiln_attr_arg right = kiln_arg_word("direction", "right");
    x = kiln_compose_scalar(c, &kiln_op_add, x, ldexp(1, LIFT));
    x = kiln_compose_scalar(c, &kiln_op_add, kiln_compose_cast(c, x, KILN_U32),
                            ldexp(1, shift - 1));
    kiln_value *const in[] = {x, kiln_import_scalar(c->cx, KILN_U32, shift)};
    x = kiln_compose_op(c, &kiln_op_bit_shift, in, 2, &right, 1);
    x = kiln_compose_scalar(c, &kiln_op_add, kiln_compose_cast(c, x, KILN_I32),
                            (double)y->q.zero - ldexp(1, LIFT - shift));
    x = kiln_tflite_clip(c, x, (double)y->low, (double)y->high);
    return kiln_compose_cast(c, x, y->dtype);
}

/* Integers of another scale: of 8 bits by a multiplier of 256ths, as XNNPACK does, where
 * it takes them and is asked for. */
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
    enum { BITS = 8 };
    const float ratio = (float)q.scale / (float)y.q.scale;
    *done = true;
    x = kiln_tflite_centered(&c, x, &q);
    if (!kiln_tflite_as_reference(cx) && kiln_tflite_is_8_bit(cx, 1) &&
        ratio >= 0x1p-8F && ratio <= 0x1p7F) {
        x = kiln_compose_scalar(&c, &kiln_op_mul, x,
                                (double)rintf(ldexpf(ratio, BITS)));
        return kiln_tflite_end(cx, &c, shift_and_settle(&c, x, BITS, &y));
    }
    const kiln_tflite_fixed by = kiln_tflite_fixed_of(q.scale / y.q.scale);
    x = kiln_tflite_multiply_fixed(&c, x, &by, 1, 0, NULL);
    return kiln_tflite_end(cx, &c, kiln_tflite_settle(&c, x, &y));
}

/* ---- arithmetic --------------------------------------------------------------------- */

/* XNNPACK's: operands times 21-bit multipliers of one power of 2, the larger ratio's,
 * and one shift to the right that rounds half up. All of it is i32: the products are
 * below 2^29, and half a step is at most 2^29. */
static kiln_value *add_by_shift(kiln_tflite_cx *cx, kiln_compose *c,
                                kiln_value *const *in, const float *ratio,
                                const kiln_tflite_target *y) {
    enum { BITS = 20 };
    const float most = ratio[0] > ratio[1] ? ratio[0] : ratio[1];
    const int shift = BITS - ilogbf(most);
    kiln_value *part[2];
    for (int i = 0; i < 2; i++) {
        const float by = rintf(ldexpf(ratio[i], shift));
        part[i] = kiln_compose_scalar(c, &kiln_op_mul, in[i], (double)by);
    }
    kiln_value *x = kiln_compose_2(
        c, cx->row->code == SUB ? &kiln_op_sub : &kiln_op_add, part[0], part[1]);
    return shift_and_settle(c, x, shift, y);
}

/* Is such an addition XNNPACK's? */
static bool is_added_by_shift(const kiln_tflite_cx *cx, const float *ratio) {
    return !kiln_tflite_as_reference(cx) && ratio[0] >= 0x1p-10F && ratio[0] < 0x1p8F &&
           ratio[1] >= 0x1p-10F && ratio[1] < 0x1p8F;
}

/* Else both in steps of a 2^20th of twice the larger scale; of a difference the second
 * is taken as its negative before it is rounded. */
kiln_status kiln_tflite_quant_add(kiln_tflite_cx *cx, bool *done) {
    const double left = 0x1p20;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_tflite_scale q[2];
    kiln_tflite_target y;
    kiln_value *in[2];
    float ratio[2];
    if (!kiln_tflite_is_8_bit(cx, 2))
        return KILN_OK;
    KILN_TRY(kiln_tflite_target_of(cx, 0, cx->opt.activation, &y));
    for (int i = 0; i < 2; i++) {
        KILN_TRY(kiln_tflite_need(cx, i, i == 0 ? "input1" : "input2", &in[i]));
        KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, i), &q[i]));
        ratio[i] = (float)q[i].scale / (float)y.q.scale;
    }
    *done = true;
    if (is_added_by_shift(cx, ratio)) {
        for (int i = 0; i < 2; i++)
            in[i] = kiln_tflite_centered(&c, in[i], &q[i]);
        return kiln_tflite_end(cx, &c, add_by_shift(cx, &c, in, ratio, &y));
    }
    const double twice = 2 * (q[0].scale > q[1].scale ? q[0].scale : q[1].scale);
    for (int i = 0; i < 2; i++) {
        const kiln_tflite_fixed by = kiln_tflite_fixed_of(q[i].scale / twice);
        in[i] = kiln_tflite_centered(&c, in[i], &q[i]);
        in[i] = kiln_compose_scalar(&c, &kiln_op_mul, in[i],
                                    i == 1 && cx->row->code == SUB ? -left : left);
        in[i] = kiln_tflite_multiply_fixed(&c, in[i], &by, 1, 0, NULL);
    }
    const kiln_tflite_fixed by = kiln_tflite_fixed_of(twice / (left * y.q.scale));
    kiln_value *sum = kiln_compose_2(&c, &kiln_op_add, in[0], in[1]);
    sum = kiln_tflite_multiply_fixed(&c, sum, &by, 1, 0, NULL);
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
    if (!isfinite((float)q[0].scale * (float)q[1].scale / (float)y.q.scale))
        return KILN_OK;
    const double real =
        (double)((float)q[0].scale * (float)q[1].scale / (float)y.q.scale);
    kiln_value *const product = kiln_compose_2(&c, &kiln_op_mul, in[0], in[1]);
    *done = true;
    return kiln_tflite_end(cx, &c,
                           kiln_tflite_requantize(&c, product, &real, 1, 0, NULL, &y));
}

/* The reference's: a factor on each side of the zero point. */
static kiln_value *leak_twice(kiln_compose *c, kiln_value *x, float above, float below,
                              const kiln_tflite_target *y) {
    const kiln_tflite_fixed by[] = {kiln_tflite_fixed_of((double)above),
                                    kiln_tflite_fixed_of((double)below)};
    x = kiln_compose_where(c, kiln_compose_scalar(c, &kiln_op_less, x, 0),
                           kiln_tflite_multiply_fixed(c, x, &by[1], 1, 0, NULL),
                           kiln_tflite_multiply_fixed(c, x, &by[0], 1, 0, NULL));
    return kiln_tflite_settle(c, x, y);
}

/* XNNPACK's: a multiplier of 256ths on each side. */
kiln_status kiln_tflite_quant_leaky_relu(kiln_tflite_cx *cx, bool *done) {
    enum { BITS = 8 };
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_tflite_scale q;
    kiln_tflite_target y;
    kiln_value *x;
    if (!kiln_tflite_is_8_bit(cx, 1))
        return KILN_OK;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 0), &q));
    KILN_TRY(kiln_tflite_target_of(cx, 0, KILN_TFLITE_NONE, &y));
    const float above = (float)q.scale / (float)y.q.scale;
    const float below = above * (float)cx->opt.alpha;
    const float slope = (float)q.scale * (float)cx->opt.alpha / (float)y.q.scale;
    if (kiln_tflite_as_reference(cx) && isfinite(above) && isfinite(slope)) {
        *done = true;
        x = kiln_tflite_centered(&c, x, &q);
        return kiln_tflite_end(cx, &c, leak_twice(&c, x, above, slope, &y));
    }
    if (!(above >= 0x1p-8F && above <= 0x1p7F && fabsf(below) >= 0x1p-8F &&
          fabsf(below) <= 0x1p7F))
        return KILN_OK;
    x = kiln_tflite_centered(&c, x, &q);
    kiln_value *const by = kiln_compose_where(
        &c, kiln_compose_scalar(&c, &kiln_op_less, x, 0),
        kiln_import_scalar(c.cx, KILN_I32, (double)rintf(ldexpf(below, BITS))),
        kiln_import_scalar(c.cx, KILN_I32, (double)rintf(ldexpf(above, BITS))));
    x = kiln_compose_2(&c, &kiln_op_mul, x, by);
    *done = true;
    return kiln_tflite_end(cx, &c, shift_and_settle(&c, x, BITS, &y));
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
