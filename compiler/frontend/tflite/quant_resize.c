/* RESIZE_BILINEAR of quantised tensors: see quant.h. */
#include "compiler/frontend/tflite/quant.h"

#include <math.h>

/* ---- integers ------------------------------------------------------------------------ */

enum { BITS = 10, ONE = 1 << BITS };

/* Where the results along one axis lie between what they are made of. */
typedef struct places {
    int64_t n, *low, *high;    /* of the input */
    int64_t *of_low, *of_high; /* how much of each, of 2^BITS */
} places;

/* Steps of the input from one result to the next, in 2^-BITS: half rounded up. */
static int64_t step_of(int64_t in, int64_t out, bool aligned) {
    return aligned && out > 1 ? (ONE * (in - 1) + (out - 1) / 2) / (out - 1)
                              : (ONE * in + out / 2) / out;
}

static places places_of(kiln_tflite_cx *cx, int64_t in, int64_t out) {
    places p = {.n = out, .low = kiln_array(&cx->common.scratch, int64_t, 4 * out)};
    const int64_t step = step_of(in, out, cx->opt.align_corners != 0);
    p.high = p.low + out;
    p.of_low = p.high + out;
    p.of_high = p.of_low + out;
    for (int64_t i = 0; i < out; i++) {
        const int64_t at =
            i * step + (cx->opt.half_pixel != 0 ? step / 2 - ONE / 2 : 0);
        const int64_t low = at > 0 ? at / ONE : 0, high = (at + ONE - 1) / ONE;
        p.low[i] = low < in ? low : in - 1;
        p.high[i] = high < in ? high : in - 1;
        p.of_high[i] = at - ONE * low;
        p.of_low[i] = ONE - p.of_high[i];
    }
    return p;
}

static kiln_value *taken(kiln_compose *c, kiln_value *x, int axis, int64_t n,
                         const int64_t *at, const int64_t *by) {
    int64_t dim[KILN_MAX_RANK] = {1, 1, 1, 1};
    dim[axis] = n;
    x = kiln_compose_axis(c, &kiln_op_gather, x, kiln_compose_ints(c, 1, &n, at), axis);
    kiln_value *const factor =
        kiln_compose_cast(c, kiln_compose_ints(c, 4, dim, by), KILN_I32);
    return kiln_compose_2(c, &kiln_op_mul, x, factor);
}

static kiln_value *along(kiln_compose *c, kiln_value *x, int axis, const places *p) {
    return kiln_compose_2(c, &kiln_op_add, taken(c, x, axis, p->n, p->low, p->of_low),
                          taken(c, x, axis, p->n, p->high, p->of_high));
}

/* The reference's for int8: positions in 2^BITS, one rounding at the end, half away from
 * zero. Two parts of 1.5 * 2^BITS each leave 8 bits below 2^31. */
static kiln_value *by_integers(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                               const int64_t *size) {
    const double half = ldexp(1, 2 * BITS - 1);
    const places rows = places_of(cx, x->type.dim[1], size[0]);
    const places columns = places_of(cx, x->type.dim[2], size[1]);
    x = kiln_compose_cast(c, x, KILN_I32);
    x = along(c, along(c, x, 1, &rows), 2, &columns);
    x = kiln_compose_where(c, kiln_compose_scalar(c, &kiln_op_greater, x, 0),
                           kiln_compose_scalar(c, &kiln_op_add, x, half),
                           kiln_compose_scalar(c, &kiln_op_sub, x, half));
    x = kiln_compose_2(c, &kiln_op_div, x,
                       kiln_import_scalar(c->cx, KILN_I32, 2 * half));
    return kiln_compose_cast(c, x, KILN_I8);
}

/* ---- floats -------------------------------------------------------------------------- */

static kiln_value *by_floats(kiln_tflite_cx *cx, kiln_compose *c, kiln_value *x,
                             const int64_t *size) {
    const kiln_dtype dtype = x->type.dtype;
    x = kiln_compose_cast(c, x, KILN_F32);
    x = kiln_channels_last_resize(c, x, size, false, cx->opt.align_corners != 0,
                                  cx->opt.half_pixel != 0);
    kiln_value *half = kiln_import_scalar(c->cx, KILN_F32, 0.5);
    if (dtype == KILN_I8)
        half =
            kiln_compose_2(c, &kiln_op_mul, kiln_compose_1(c, &kiln_op_sign, x), half);
    return kiln_compose_cast(c, kiln_compose_2(c, &kiln_op_add, x, half), dtype);
}

/* Of one scale the integers themselves are interpolated, in floats, and half rounded away
 * from zero, as the reference kernel does; the one for int8 also holds positions in
 * integers of 10 bits, and is asked for by as_reference. What has the size already stays
 * as it is. Other scales go through real numbers. */
kiln_status kiln_tflite_quant_resize_bilinear(kiln_tflite_cx *cx, bool *done) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    const int64_t *size;
    kiln_tflite_scale from, to;
    if (!kiln_tflite_is_8_bit(cx, 1))
        return KILN_OK;
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_in_tensor(cx, 0), &from));
    KILN_TRY(kiln_tflite_scale_of(cx, kiln_tflite_out_tensor(cx, 0), &to));
    if (from.scale != to.scale || from.zero != to.zero)
        return KILN_OK;
    KILN_TRY(kiln_tflite_read_images(cx, &x, &size));
    const bool is_in_ints = kiln_tflite_as_reference(cx) && x->type.dtype == KILN_I8 &&
                            size[0] > 0 && size[1] > 0 && kiln_type_elems(&x->type) > 0;
    *done = true;
    if (size[0] == x->type.dim[1] && size[1] == x->type.dim[2])
        return kiln_tflite_end(cx, &c, x);
    if (!is_in_ints)
        return kiln_tflite_end(cx, &c, by_floats(cx, &c, x, size));
    KILN_TRY(kiln_import_spend(&cx->common, 32 * (size[0] + size[1])));
    return kiln_tflite_end(cx, &c, by_integers(cx, &c, x, size));
}
