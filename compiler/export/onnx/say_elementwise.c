/* Operators that ONNX has under the same meaning, and those made of a few such nodes:
 * arithmetic, activations, logic, conversions. */
#include "compiler/export/onnx/say_ops.h"

#include <math.h>

/* One node of the row's name with the node's inputs, outputs and attributes. */
kiln_status kiln_say_op_plain(kiln_say *s, const kiln_node *n) {
    kiln_say_begin(s, kiln_say_row_of(n->op)->onnx, KILN_SAY_BASE_OPSET);
    for (int i = 0; i < n->n_in; i++)
        kiln_say_take(s, kiln_say_in(s, i));
    for (int i = 0; i < n->n_out; i++)
        kiln_say_give(s, kiln_say_out(s, i));
    kiln_say_own_attrs(s);
    kiln_say_end(s);
    return KILN_OK;
}

/* What ONNX has for f32 only; f16 and bf16 are f32 rounded. */
kiln_status kiln_say_op_through_f32(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = kiln_say_in_type(s, 0)->dtype;
    if (dtype == KILN_F32)
        return kiln_say_op_plain(s, n);
    const char *const x = kiln_say_cast(s, kiln_say_in(s, 0), KILN_F32, NULL);
    const char *const y = kiln_say_temp(s, "f32");
    kiln_say_begin(s, kiln_say_row_of(n->op)->onnx, KILN_SAY_BASE_OPSET);
    kiln_say_take(s, x);
    kiln_say_give(s, y);
    kiln_say_own_attrs(s);
    kiln_say_end(s);
    kiln_say_cast(s, y, dtype, kiln_say_out(s, 0));
    return KILN_OK;
}

kiln_status kiln_say_op_bit_shift(kiln_say *s, const kiln_node *n) {
    (void)n;
    kiln_say_begin(s, "BitShift", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, kiln_say_in(s, 1));
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_text(s, "direction",
                  kiln_say_attr(s, "direction")->i == 0 ? "LEFT" : "RIGHT");
    kiln_say_end(s);
    return KILN_OK;
}

/* Cast and BitCast, which have one attribute. Floats become integers of 4 and 2 bits by
 * way of i32, which not all readers of ONNX take: so it is said. */
kiln_status kiln_say_op_cast(kiln_say *s, const kiln_node *n) {
    const kiln_dtype to = (kiln_dtype)kiln_say_attr(s, "to")->i;
    const char *x = kiln_say_in(s, 0);
    if (kiln_dtype_is_in(to, KILN_DT_LOW_INT) &&
        kiln_dtype_is_float(n->in[0]->type.dtype))
        x = kiln_say_cast(s, x, KILN_I32, NULL);
    kiln_say_begin(s, kiln_say_row_of(n->op)->onnx, kiln_say_dtype_opset(to));
    kiln_say_take(s, x);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_int(s, "to", kiln_say_dtype(to));
    kiln_say_end(s);
    return KILN_OK;
}

kiln_status kiln_say_op_cast_low(kiln_say *s, const kiln_node *n) {
    const kiln_dtype to = (kiln_dtype)kiln_say_attr(s, "to")->i;
    (void)n;
    kiln_say_begin(s, "Cast", kiln_say_dtype_opset(to));
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_int(s, "to", kiln_say_dtype(to));
    kiln_say_int(s, "saturate", kiln_say_attr(s, "saturate")->i);
    if (to == KILN_F8E8M0)
        kiln_say_text(s, "round_mode", kiln_say_word(s, "round"));
    kiln_say_end(s);
    return KILN_OK;
}

/* Bounds of integers are whole: rounded inwards, in the dtype's range. */
static double bound_of(kiln_dtype dtype, double v, bool is_min) {
    const kiln_dtype_info *info = kiln_dtype_get(dtype);
    if (info->is_float)
        return v;
    v = is_min ? ceil(v) : floor(v);
    return v < (double)info->min_i ? (double)info->min_i : v;
}

kiln_status kiln_say_op_clip(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    const double min = bound_of(dtype, kiln_say_attr(s, "min")->f, true);
    const double max = bound_of(dtype, kiln_say_attr(s, "max")->f, false);
    const bool is_int = !kiln_dtype_is_float(dtype);
    const double most = is_int ? (double)kiln_dtype_get(dtype)->max_i : HUGE_VAL;
    /* Beyond 2^53 doubles leave integers out. */
    if (is_int && (isnan(min) || isnan(max) ||
                   (fabs(min) > 0x1p53 && min > (double)kiln_dtype_get(dtype)->min_i) ||
                   (max < most && fabs(max) > 0x1p53) || min > most))
        return kiln_say_refuse(s, "bounds %g and %g of %s are not held exactly", min,
                               max, kiln_dtype_name(dtype));
    const char *const lo = min == -HUGE_VAL ? "" : kiln_say_scalar(s, dtype, min);
    const char *const hi = max >= most ? "" : kiln_say_scalar(s, dtype, max);
    kiln_say_begin(s, "Clip", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, kiln_say_in(s, 0));
    kiln_say_take(s, lo);
    kiln_say_take(s, hi);
    kiln_say_give(s, kiln_say_out(s, 0));
    kiln_say_end(s);
    return KILN_OK;
}

/* Floats whose remainder has the sign of the divisor: ONNX has that of the dividend
 * only, which differs by y where the signs do. */
static void say_floor_mod(kiln_say *s, kiln_dtype dtype) {
    const char *const x = kiln_say_in(s, 0), *const y = kiln_say_in(s, 1);
    const char *const r = kiln_say_temp(s, "Mod");
    const char *const zero = kiln_say_scalar(s, dtype, 0);
    kiln_say_begin(s, "Mod", KILN_SAY_BASE_OPSET);
    kiln_say_take(s, x);
    kiln_say_take(s, y);
    kiln_say_int(s, "fmod", 1);
    kiln_say_give(s, r);
    kiln_say_end(s);
    const char *const is_less = kiln_say_2(s, "Less", r, zero, NULL);
    const char *const is_more = kiln_say_2(s, "Greater", r, zero, NULL);
    const char *const below = kiln_say_2(s, "Less", y, zero, NULL);
    const char *const above = kiln_say_2(s, "Greater", y, zero, NULL);
    const char *const wrong =
        kiln_say_2(s, "Or", kiln_say_2(s, "And", is_less, above, NULL),
                   kiln_say_2(s, "And", is_more, below, NULL), NULL);
    kiln_say_3(s, "Where", wrong, kiln_say_2(s, "Add", r, y, NULL), r,
               kiln_say_out(s, 0));
}

kiln_status kiln_say_op_mod(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    if (!kiln_dtype_is_float(dtype) || kiln_say_attr(s, "fmod")->i != 0)
        return kiln_say_op_plain(s, n);
    say_floor_mod(s, dtype);
    return KILN_OK;
}

/* ONNX negates what has a sign. */
kiln_status kiln_say_op_neg(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    if (kiln_dtype_is_in(dtype, KILN_SAY_SIGNED))
        return kiln_say_op_plain(s, n);
    kiln_say_2(s, "Sub", kiln_say_scalar(s, dtype, 0), kiln_say_in(s, 0),
               kiln_say_out(s, 0));
    return KILN_OK;
}

/* ONNX has bases of i32, i64 and floats; others wrap in i64 as they do by themselves. */
kiln_status kiln_say_op_pow(kiln_say *s, const kiln_node *n) {
    const kiln_dtype dtype = n->in[0]->type.dtype;
    if (kiln_dtype_is_float(dtype) || dtype == KILN_I32 || dtype == KILN_I64)
        return kiln_say_op_plain(s, n);
    const char *const x = kiln_say_cast(s, kiln_say_in(s, 0), KILN_I64, NULL);
    const char *const y = kiln_say_cast(s, kiln_say_in(s, 1), KILN_I64, NULL);
    kiln_say_cast(s, kiln_say_2(s, "Pow", x, y, NULL), dtype, kiln_say_out(s, 0));
    return KILN_OK;
}

kiln_status kiln_say_op_rsqrt(kiln_say *s, const kiln_node *n) {
    (void)n;
    kiln_say_1(s, "Reciprocal", kiln_say_1(s, "Sqrt", kiln_say_in(s, 0), NULL),
               kiln_say_out(s, 0));
    return KILN_OK;
}

/* Towards zero: up below it, down elsewhere. Keeps -0 and NaN. */
kiln_status kiln_say_op_trunc(kiln_say *s, const kiln_node *n) {
    const char *const x = kiln_say_in(s, 0);
    const char *const below =
        kiln_say_2(s, "Less", x, kiln_say_scalar(s, n->in[0]->type.dtype, 0), NULL);
    kiln_say_3(s, "Where", below, kiln_say_1(s, "Ceil", x, NULL),
               kiln_say_1(s, "Floor", x, NULL), kiln_say_out(s, 0));
    return KILN_OK;
}
