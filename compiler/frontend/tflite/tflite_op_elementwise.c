/* Importers of operators that work on each element: arithmetic with a fused activation,
 * activations, comparisons, choices. Source: TensorFlow Lite, reference kernels. */
#include "compiler/frontend/angles.h"
#include "compiler/frontend/fake_quant.h"
#include "compiler/frontend/tflite/tflite_internal.h"

kiln_status kiln_tflite_import_unary(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_end(cx, &c, kiln_compose_1(&c, cx->row->op, x));
}

static kiln_status two(kiln_tflite_cx *cx, kiln_value **x, kiln_value **y) {
    KILN_TRY(kiln_tflite_need(cx, 0, "input1", x));
    return kiln_tflite_need(cx, 1, "input2", y);
}

kiln_status kiln_tflite_import_binary(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(two(cx, &x, &y));
    x = kiln_compose_2(&c, cx->row->op, x, y);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, x, cx->opt.activation));
}

kiln_status kiln_tflite_import_add_n(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(kiln_tflite_need(cx, 0, "input 0", &x));
    for (int i = 1; i < kiln_tflite_n_in(cx); i++) {
        KILN_TRY(kiln_tflite_need(cx, i, "input", &y));
        x = kiln_compose_2(&c, &kiln_op_add, x, y);
    }
    return kiln_tflite_end(cx, &c, x);
}

kiln_status kiln_tflite_import_squared_difference(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(two(cx, &x, &y));
    x = kiln_compose_2(&c, &kiln_op_sub, x, y);
    return kiln_tflite_end(cx, &c, kiln_compose_2(&c, &kiln_op_mul, x, x));
}

kiln_status kiln_tflite_import_square(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "x", &x));
    return kiln_tflite_end(cx, &c, kiln_compose_2(&c, &kiln_op_mul, x, x));
}

kiln_status kiln_tflite_import_not_equal(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(two(cx, &x, &y));
    x = kiln_compose_2(&c, &kiln_op_equal, x, y);
    return kiln_tflite_end(cx, &c, kiln_compose_1(&c, &kiln_op_logical_not, x));
}

/* y, x */
kiln_status kiln_tflite_import_atan2(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(two(cx, &y, &x));
    return kiln_tflite_end(cx, &c, kiln_compose_atan2(&c, y, x));
}

/* Of signed ones the sign comes in: lifted above zero they are shifted as u64, and what
 * they were lifted by is taken away, shifted. The interpreter bounds the shift. */
kiln_status kiln_tflite_import_right_shift(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const kiln_attr_arg right = kiln_arg_word("direction", "right");
    kiln_value *x, *by;
    KILN_TRY(two(cx, &x, &by));
    const kiln_dtype dtype = x->type.dtype;
    const int64_t bits = 8 * (int64_t)kiln_dtype_bytes(dtype);
    if (!kiln_dtype_is_in(dtype, KILN_DT_INT) || bits > 32)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "integers of 8 to 32 bits are shifted, not %s",
                                kiln_dtype_name(dtype));
    by = kiln_compose_cast(&c, by, KILN_I64);
    by = kiln_compose_scalar(&c, &kiln_op_max, by, 0);
    by = kiln_compose_scalar(&c, &kiln_op_min, by, (double)(bits - 1));
    by = kiln_compose_cast(&c, by, KILN_U64);
    kiln_value *part[] = {kiln_compose_cast(&c, x, KILN_I64),
                          kiln_import_scalar(&cx->common, KILN_I64, 0x1p31)};
    part[0] = kiln_compose_2(&c, &kiln_op_add, part[0], part[1]);
    for (int i = 0; i < 2; i++) {
        kiln_value *const in[] = {kiln_compose_cast(&c, part[i], KILN_U64), by};
        part[i] = kiln_compose_cast(
            &c, kiln_compose_op(&c, &kiln_op_bit_shift, in, 2, &right, 1), KILN_I64);
    }
    x = kiln_compose_2(&c, &kiln_op_sub, part[0], part[1]);
    return kiln_tflite_end(cx, &c, kiln_compose_cast(&c, x, dtype));
}

/* ---- division ----------------------------------------------------------------------- */

/* Is the remainder on the other side of zero than the divisor? */
static kiln_value *is_across(kiln_compose *c, kiln_value *rest, kiln_value *y) {
    kiln_value *const low = kiln_compose_scalar(c, &kiln_op_less, rest, 0);
    kiln_value *const high = kiln_compose_scalar(c, &kiln_op_greater, rest, 0);
    kiln_value *const y_low = kiln_compose_scalar(c, &kiln_op_less, y, 0);
    kiln_value *const y_high = kiln_compose_scalar(c, &kiln_op_greater, y, 0);
    return kiln_compose_2(c, &kiln_op_logical_or,
                          kiln_compose_2(c, &kiln_op_logical_and, low, y_high),
                          kiln_compose_2(c, &kiln_op_logical_and, high, y_low));
}

static kiln_value *remainder_of(kiln_compose *c, kiln_value *x, kiln_value *y) {
    kiln_value *const in[] = {x, y};
    const kiln_attr_arg fmod = kiln_arg_bool("fmod", true);
    return kiln_compose_op(c, &kiln_op_mod, in, 2, &fmod, 1);
}

kiln_status kiln_tflite_import_floor_mod(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(two(cx, &x, &y));
    kiln_value *const rest = remainder_of(&c, x, y);
    kiln_value *const more = kiln_compose_2(&c, &kiln_op_add, rest, y);
    return kiln_tflite_end(cx, &c,
                           kiln_compose_where(&c, is_across(&c, rest, y), more, rest));
}

kiln_status kiln_tflite_import_floor_div(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y;
    KILN_TRY(two(cx, &x, &y));
    kiln_value *q = kiln_compose_2(&c, &kiln_op_div, x, y);
    if (kiln_dtype_is_float(x->type.dtype))
        return kiln_tflite_end(cx, &c, kiln_compose_1(&c, &kiln_op_floor, q));
    kiln_value *const across = is_across(&c, remainder_of(&c, x, y), y);
    q = kiln_compose_2(&c, &kiln_op_sub, q,
                       kiln_compose_cast(&c, across, x->type.dtype));
    return kiln_tflite_end(cx, &c, q);
}

/* ---- activations -------------------------------------------------------------------- */

static kiln_status clipped(kiln_tflite_cx *cx, double low, double high) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_end(cx, &c, kiln_tflite_clip(&c, x, low, high));
}

kiln_status kiln_tflite_import_relu6(kiln_tflite_cx *cx) { return clipped(cx, 0, 6); }
kiln_status kiln_tflite_import_relu_n1(kiln_tflite_cx *cx) {
    return clipped(cx, -1, 1);
}
kiln_status kiln_tflite_import_relu_1(kiln_tflite_cx *cx) { return clipped(cx, 0, 1); }

kiln_status kiln_tflite_import_leaky_relu(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const kiln_attr_arg arg = kiln_arg_float("alpha", cx->opt.alpha);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_end(cx, &c,
                           kiln_compose_op(&c, &kiln_op_leaky_relu, &x, 1, &arg, 1));
}

kiln_status kiln_tflite_import_elu(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const kiln_attr_arg arg = kiln_arg_float("alpha", 1);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_end(cx, &c, kiln_compose_op(&c, &kiln_op_elu, &x, 1, &arg, 1));
}

kiln_status kiln_tflite_import_gelu(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const kiln_attr_arg arg =
        kiln_arg_word("approximate", cx->opt.approximate ? "tanh" : "none");
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_end(cx, &c, kiln_compose_op(&c, &kiln_op_gelu, &x, 1, &arg, 1));
}

kiln_status kiln_tflite_import_softmax(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (x->type.rank < 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE, "the input must have an axis");
    if (cx->row->op == &kiln_op_softmax && cx->opt.beta != 1)
        x = kiln_compose_scalar(&c, &kiln_op_mul, x, cx->opt.beta);
    return kiln_tflite_end(
        cx, &c, kiln_compose_axis(&c, cx->row->op, x, NULL, x->type.rank - 1));
}

/* x / max(norm along the last axis, 1e-6) */
kiln_status kiln_tflite_import_l2_norm(kiln_tflite_cx *cx) {
    const double least = 1e-6;
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (x->type.rank < 1)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE, "the input must have an axis");
    const int64_t axis = x->type.rank - 1;
    kiln_value *norm = kiln_compose_reduce(&c, &kiln_op_reduce_l2, x, &axis, 1, true);
    norm = kiln_compose_scalar(&c, &kiln_op_max, norm, least);
    x = kiln_compose_2(&c, &kiln_op_div, x, norm);
    return kiln_tflite_end(cx, &c, kiln_tflite_activate(&c, x, cx->opt.activation));
}

/* Over 2 * radius + 1 channels around; alpha is of each of them. */
kiln_status kiln_tflite_import_local_response(kiln_tflite_cx *cx) {
    enum { MAX_RADIUS = 1 << 20 };
    kiln_compose c = kiln_tflite_compose(cx);
    const int64_t size = 2 * cx->opt.radius + 1;
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (cx->opt.radius < 0 || cx->opt.radius > MAX_RADIUS || x->type.rank != 4)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "the radius must be 0 to %d and the input's rank 4",
                                MAX_RADIUS);
    const kiln_attr_arg args[] = {kiln_arg_int("size", size),
                                  kiln_arg_float("alpha", cx->opt.alpha * (double)size),
                                  kiln_arg_float("beta", cx->opt.beta),
                                  kiln_arg_float("bias", cx->opt.bias)};
    x = kiln_channels_first(&c, x);
    x = kiln_compose_op(&c, &kiln_op_lrn, &x, 1, args, 4);
    return kiln_tflite_end(cx, &c, kiln_channels_last(&c, x));
}

/* ---- others ------------------------------------------------------------------------- */

kiln_status kiln_tflite_import_cast(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const kiln_tflite_tensor *const t = kiln_tflite_out_tensor(cx, 0);
    kiln_value *x;
    kiln_dtype dtype;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (t == NULL)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "output 0 is missing");
    KILN_TRY(kiln_tflite_dtype(t->type, &dtype, cx->common.err));
    return kiln_tflite_end(cx, &c, kiln_compose_cast(&c, x, dtype));
}

/* Of halves or integers: real numbers. Constants stay as they are and become a cast,
 * which the passes fold. */
kiln_status kiln_tflite_import_dequantize(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    const kiln_tflite_tensor *const t = kiln_tflite_in_tensor(cx, 0);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (kiln_dtype_is_float(x->type.dtype))
        return kiln_tflite_end(cx, &c, kiln_compose_cast(&c, x, KILN_F32));
    if (!kiln_tflite_is_quantized(t))
        return kiln_tflite_fail(cx, KILN_ERR_PARSE, "the input has no scale");
    return kiln_tflite_end(cx, &c, kiln_tflite_dequantize(&c, x, t));
}

/* What the rows call `same` in the file: the value itself. */
kiln_status kiln_tflite_import_identity(kiln_tflite_cx *cx) {
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    return kiln_tflite_set(cx, 0, x);
}

/* SELECT's condition may have the first axis alone; SELECT_V2's stretches. */
kiln_status kiln_tflite_import_select(kiln_tflite_cx *cx) {
    enum { SELECT = 64 };
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *cond, *x, *y;
    KILN_TRY(kiln_tflite_need(cx, 0, "condition", &cond));
    KILN_TRY(kiln_tflite_need(cx, 1, "x", &x));
    KILN_TRY(kiln_tflite_need(cx, 2, "y", &y));
    if (cx->row->code == SELECT && cond->type.rank == 1 && x->type.rank > 1) {
        int64_t dim[KILN_MAX_RANK] = {cond->type.dim[0]};
        for (int i = 1; i < x->type.rank; i++)
            dim[i] = 1;
        cond = kiln_compose_reshape(&c, cond, x->type.rank, dim);
    }
    return kiln_tflite_end(cx, &c, kiln_compose_where(&c, cond, x, y));
}

/* The interpreter's kernel, too, knows no narrow range. */
kiln_status kiln_tflite_import_fake_quant(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    if (cx->opt.is_narrow != 0)
        return kiln_tflite_fail(cx, KILN_ERR_UNSUPPORTED,
                                "narrow_range is for weights: fold it into them");
    x = kiln_compose_fake_quant(&c, x, &cx->opt.min, &cx->opt.max, 1, cx->opt.bits,
                                false);
    return kiln_tflite_end(cx, &c, x);
}
