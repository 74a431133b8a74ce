/* Importers of QuantizeLinear (10 to 25), DequantizeLinear (10 to 25) and
 * DynamicQuantizeLinear (11). Versions added attributes and dtypes: axis (13), saturate
 * and floats of 8 bits (19), integers of 4 bits, blocks and output_dtype (21;
 * DequantizeLinear: 23), precision and floats of 4 bits (23), scales of f8e8m0 (24),
 * integers of 2 bits (25); what an older file lacks has the default that means the
 * older behaviour.
 */
#include "compiler/frontend/onnx/onnx_internal.h"

static bool is_single(const kiln_value *v) {
    return v->type.rank <= 1 && kiln_type_elems(&v->type) == 1;
}

/* Scale and optional zero point; one of either may be a scalar, the other a list of
 * one. */
static kiln_status read_scale(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const char *scale_name, kiln_value **scale,
                              kiln_value **zero) {
    KILN_TRY(kiln_onnx_need(cx, n, 1, scale_name, scale));
    *zero = kiln_onnx_in(cx, n, 2);
    if (*zero != NULL && is_single(*zero) && is_single(*scale))
        KILN_TRY(kiln_onnx_reshape(cx, n, *zero, (*scale)->type.rank,
                                   (*scale)->type.dim, zero));
    return KILN_OK;
}

/* Attribute `name` as a dtype; 0 and absent: otherwise. */
static kiln_status read_dtype(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const char *name, kiln_dtype otherwise, kiln_dtype *out) {
    const int64_t type = kiln_onnx_attr_i(cx, n, name, 0);
    *out = otherwise;
    return type == 0 ? KILN_OK : kiln_onnx_dtype(type, out, kiln_onnx_err(cx));
}

/* Floats of 8 and 4 bits are x / scale + zero, rounded once more. The zero point is
 * given for its dtype mostly: of one that is 0 there is nothing to add, which would
 * lose the sign of -0. */
static kiln_status low_zero(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_dtype dtype,
                            kiln_dtype precision, kiln_value **zero) {
    if (dtype == KILN_F8E8M0)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "f8e8m0 holds scales: nothing is quantised to it; use "
                              "Cast");
    if (*zero == NULL)
        return KILN_OK;
    const int64_t n_elems = kiln_type_elems(&(*zero)->type);
    const unsigned char *data = (*zero)->data;
    bool is_zero = kiln_value_is_const(*zero);
    for (int64_t i = 0; is_zero && i < n_elems; i++)
        is_zero = data[i] == 0;
    if (is_zero)
        *zero = NULL;
    else
        KILN_TRY(kiln_onnx_cast(cx, n, *zero, precision, zero));
    return KILN_OK;
}

kiln_status kiln_onnx_import_quantize_linear(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    kiln_value *in[3], *y;
    kiln_dtype dtype, precision;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "x", &in[0]));
    KILN_TRY(read_scale(cx, n, "y_scale", &in[1], &in[2]));
    const kiln_dtype zero = in[2] != NULL ? in[2]->type.dtype : KILN_U8;
    KILN_TRY(read_dtype(cx, n, "output_dtype", zero, &dtype));
    if (in[2] != NULL && dtype != zero)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "attribute 'output_dtype' must be that of 'y_zero_point', %s, is %s",
            kiln_dtype_name(zero), kiln_dtype_name(dtype));
    const kiln_dtype of_scale = in[1]->type.dtype;
    KILN_TRY(read_dtype(cx, n, "precision",
                        of_scale == KILN_F8E8M0 ? KILN_F32 : of_scale, &precision));
    const bool saturate = kiln_onnx_attr_i(cx, n, "saturate", 1) != 0;
    const bool is_low = kiln_dtype_is_in(dtype, KILN_DT_LOW_FLOAT);
    if (is_low)
        KILN_TRY(low_zero(cx, n, dtype, precision, &in[2]));
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", kiln_onnx_attr_i(cx, n, "axis", 1)),
        kiln_arg_int("block", kiln_onnx_attr_i(cx, n, "block_size", 0)),
        kiln_arg_dtype("dtype", is_low ? precision : dtype),
        kiln_arg_dtype("precision", precision)};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_quantize_linear, in, 3, args, 4, 1, &y));
    if (is_low)
        KILN_TRY(kiln_onnx_cast_low(cx, n, y, dtype, saturate, "up", &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_dequantize_linear(kiln_onnx_cx *cx,
                                               const kiln_onnx_node *n) {
    kiln_value *in[3], *y;
    kiln_dtype dtype;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "x", &in[0]));
    KILN_TRY(read_scale(cx, n, "x_scale", &in[1], &in[2]));
    KILN_TRY(read_dtype(cx, n, "output_dtype", in[1]->type.dtype, &dtype));
    if (dtype == KILN_F8E8M0)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "attribute 'output_dtype' must say what scales of f8e8m0 "
                              "make: FLOAT, FLOAT16 or BFLOAT16");
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", kiln_onnx_attr_i(cx, n, "axis", 1)),
        kiln_arg_int("block", kiln_onnx_attr_i(cx, n, "block_size", 0)),
        kiln_arg_dtype("dtype", dtype)};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_dequantize_linear, in, 3, args, 3, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- DynamicQuantizeLinear ---- */

/* The extreme element of x, or 0 where that is more extreme. */
static kiln_status bound_of(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                            const kiln_op_def *reduce, const kiln_op_def *extreme,
                            kiln_value **out) {
    const kiln_attr_arg args[] = {kiln_arg_bool("keepdims", false)};
    KILN_TRY(kiln_onnx_emit1(cx, n, reduce, x, args, 1, out));
    return kiln_onnx_emit2(cx, n, extreme, *out, kiln_onnx_scalar(cx, KILN_F32, 0),
                           out);
}

/* scale = (max(x, 0) - min(x, 0)) / 255; zero = round(clip(0 - min / scale, 0, 255)).
 */
kiln_status kiln_onnx_import_dynamic_quantize_linear(kiln_onnx_cx *cx,
                                                     const kiln_onnx_node *n) {
    const double max_u8 = (double)kiln_dtype_get(KILN_U8)->max_i;
    kiln_value *x, *lo, *hi, *scale, *zero, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "x", &x));
    if (x->type.dtype != KILN_F32)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "input 'x' must be f32, is %s",
                              kiln_dtype_name(x->type.dtype));
    KILN_TRY(bound_of(cx, n, x, &kiln_op_reduce_min, &kiln_op_min, &lo));
    KILN_TRY(bound_of(cx, n, x, &kiln_op_reduce_max, &kiln_op_max, &hi));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_sub, hi, lo, &scale));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_div, scale,
                             kiln_onnx_scalar(cx, KILN_F32, max_u8), &scale));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_div, lo, scale, &zero));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_sub, kiln_onnx_scalar(cx, KILN_F32, 0),
                             zero, &zero));
    const kiln_attr_arg range[] = {kiln_arg_float("min", 0),
                                   kiln_arg_float("max", max_u8)};
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_clip, zero, range, 2, &zero));
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_round, zero, NULL, 0, &zero));
    KILN_TRY(kiln_onnx_cast(cx, n, zero, KILN_U8, &zero));
    const kiln_attr_arg args[] = {kiln_arg_dtype("dtype", KILN_U8)};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_quantize_linear,
                            (kiln_value *[]){x, scale, zero}, 3, args, 1, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    kiln_onnx_set(cx, n, 1, scale);
    kiln_onnx_set(cx, n, 2, zero);
    return KILN_OK;
}
