/* Importers of com.microsoft's operators on quantised tensors, element by element and
 * in windows: QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax,
 * QLinearConcat, QLinearWhere, QLinearAveragePool, QLinearGlobalAveragePool,
 * QLinearReduceMean. Composed of float operators in the order of ONNX Runtime's kernels
 * for x86, so that results differ in ties at most. */
#include <inttypes.h>

#include "compiler/frontend/onnx/ms.h"
#include "compiler/frontend/onnx/spatial_attrs.h"

/* ---- two operands: A, its scale and zero point, B likewise, scale and zero of C -- */

static kiln_value *floats(kiln_compose *c, const kiln_ms_quant *q) {
    return kiln_compose_cast(c, kiln_ms_center(c, q), KILN_F32);
}

static kiln_status read_operands(kiln_compose *c, kiln_ms_quant *a, kiln_ms_quant *b,
                                 kiln_ms_quant *y) {
    KILN_TRY(kiln_ms_read_quant(c, 0, "A", a));
    KILN_TRY(kiln_ms_read_quant(c, 3, "B", b));
    KILN_TRY(kiln_ms_read_scale(c, 6, "C", y));
    KILN_TRY(kiln_ms_check_single(c, "A", a));
    KILN_TRY(kiln_ms_check_single(c, "B", b));
    return kiln_ms_check_single(c, "C", y);
}

/* round(a sa / sc + b sb / sc + zero). */
kiln_status kiln_onnx_import_ms_qlinear_add(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant a, b, y;
    KILN_TRY(read_operands(&c, &a, &b, &y));
    kiln_value *const by_a = kiln_compose_2(&c, &kiln_op_div, a.scale, y.scale);
    kiln_value *const by_b = kiln_compose_2(&c, &kiln_op_div, b.scale, y.scale);
    kiln_value *const sum = kiln_compose_2(
        &c, &kiln_op_add, kiln_compose_2(&c, &kiln_op_mul, floats(&c, &a), by_a),
        kiln_compose_2(&c, &kiln_op_mul, floats(&c, &b), by_b));
    kiln_onnx_set(cx, n, 0, kiln_ms_round(&c, sum, &y, a.x->type.dtype));
    return c.status;
}

/* round(a b (sa sb / sc) + zero). */
kiln_status kiln_onnx_import_ms_qlinear_mul(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant a, b, y;
    KILN_TRY(read_operands(&c, &a, &b, &y));
    kiln_value *const by = kiln_compose_2(
        &c, &kiln_op_div, kiln_compose_2(&c, &kiln_op_mul, a.scale, b.scale), y.scale);
    kiln_value *product = kiln_compose_2(&c, &kiln_op_mul, kiln_ms_center(&c, &a),
                                         kiln_ms_center(&c, &b));
    product = kiln_compose_cast(&c, product, KILN_F32);
    product = kiln_compose_2(&c, &kiln_op_mul, product, by);
    kiln_onnx_set(cx, n, 0, kiln_ms_round(&c, product, &y, a.x->type.dtype));
    return c.status;
}

/* ---- one operand: X, its scale and zero point, scale and zero point of Y ---- */

static kiln_status read_one(kiln_compose *c, kiln_ms_quant *x, kiln_ms_quant *y) {
    KILN_TRY(kiln_ms_read_quant(c, 0, "X", x));
    KILN_TRY(kiln_ms_read_scale(c, 3, "Y", y));
    KILN_TRY(kiln_ms_check_single(c, "X", x));
    return kiln_ms_check_single(c, "Y", y);
}

/* The row's operator in floats; leaky_relu has alpha. */
kiln_status kiln_onnx_import_ms_qlinear_unary(kiln_onnx_cx *cx,
                                              const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    const kiln_op_def *const op = kiln_onnx_row(cx)->op;
    kiln_attr_arg args[1];
    size_t n_args = 0;
    kiln_ms_quant x, y;
    KILN_TRY(read_one(&c, &x, &y));
    if (op == &kiln_op_leaky_relu)
        args[n_args++] =
            kiln_arg_float("alpha", kiln_onnx_attr_f(cx, n, "alpha", (double)0.01F));
    kiln_value *v = kiln_ms_dequantize(&c, &x, 0);
    v = kiln_compose_op(&c, op, &v, 1, args, n_args);
    kiln_onnx_set(cx, n, 0, kiln_ms_quantize(&c, v, &y, x.x->type.dtype));
    return c.status;
}

/* softmax(x sx) * floor(1 / sy), rounded: ONNX Runtime takes the whole part of the
 * inverse scale. Before opset 13 (attribute 'opset') over all axes from 'axis' on.
 * Where its i8 result would pass 127 it wraps; here it saturates. */
kiln_status kiln_onnx_import_ms_qlinear_softmax(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant x, y;
    int axis = 0;
    KILN_TRY(read_one(&c, &x, &y));
    const bool is_flat = kiln_onnx_attr_i(cx, n, "opset", 13) < 13;
    const kiln_type type = x.x->type;
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", is_flat ? 1 : -1),
                                 type.rank, &axis, kiln_onnx_err(cx)));
    int64_t flat[2] = {1, 1};
    for (int i = 0; i < type.rank; i++)
        flat[i >= axis] *= type.dim[i];
    kiln_value *v = kiln_ms_dequantize(&c, &x, 0);
    if (is_flat)
        v = kiln_compose_reshape(&c, v, 2, flat);
    v = kiln_compose_axis(&c, &kiln_op_softmax, v, NULL, is_flat ? 1 : axis);
    v = kiln_compose_reshape(&c, v, type.rank, type.dim);
    kiln_value *steps = kiln_compose_1(&c, &kiln_op_reciprocal, y.scale);
    steps = kiln_compose_1(&c, &kiln_op_floor, steps);
    v = kiln_compose_2(&c, &kiln_op_mul, v, steps);
    kiln_onnx_set(cx, n, 0, kiln_ms_steps(&c, v, &y, type.dtype));
    return c.status;
}

/* Inputs: scale and zero point of Y, then elements, scale and zero point of each part.
 */
kiln_status kiln_onnx_import_ms_qlinear_concat(kiln_onnx_cx *cx,
                                               const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant y;
    const int parts = (kiln_onnx_n_in(n) - 2) / 3;
    KILN_TRY(kiln_ms_read_scale(&c, 0, "Y", &y));
    if (parts < 1 || kiln_onnx_n_in(n) != 2 + 3 * parts)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "the inputs must be scale and zero point of 'Y', then "
                              "three for each part, are %d",
                              kiln_onnx_n_in(n));
    kiln_value **const in = kiln_array(kiln_onnx_arena(cx), kiln_value *, parts);
    for (int i = 0; i < parts; i++) {
        kiln_ms_quant x;
        KILN_TRY(kiln_ms_read_quant(&c, 2 + 3 * i, "X", &x));
        KILN_TRY(kiln_ms_check_single(&c, "X", &x));
        in[i] =
            kiln_ms_quantize(&c, kiln_ms_dequantize(&c, &x, 0), &y, x.x->type.dtype);
    }
    const kiln_attr_arg axis = kiln_arg_int("axis", kiln_onnx_attr_i(cx, n, "axis", 0));
    kiln_onnx_set(cx, n, 0, kiln_compose_op(&c, &kiln_op_concat, in, parts, &axis, 1));
    return c.status;
}

kiln_status kiln_onnx_import_ms_qlinear_where(kiln_onnx_cx *cx,
                                              const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *condition, *side[2];
    kiln_ms_quant x[2], z;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "condition", &condition));
    KILN_TRY(kiln_ms_read_quant(&c, 1, "X", &x[0]));
    KILN_TRY(kiln_ms_read_quant(&c, 4, "Y", &x[1]));
    KILN_TRY(kiln_ms_read_scale(&c, 7, "Z", &z));
    KILN_TRY(kiln_ms_check_single(&c, "X", &x[0]));
    KILN_TRY(kiln_ms_check_single(&c, "Y", &x[1]));
    for (int i = 0; i < 2; i++)
        side[i] = kiln_ms_quantize(&c, kiln_ms_dequantize(&c, &x[i], 0), &z,
                                   x[i].x->type.dtype);
    kiln_onnx_set(cx, n, 0, kiln_compose_where(&c, condition, side[0], side[1]));
    return c.status;
}

/* ---- windows ---- */

static kiln_status first_channels(kiln_compose *c, kiln_ms_quant *x, bool *is_last) {
    *is_last = kiln_onnx_attr_i(kiln_onnx_of(c->cx), c->site, "channels_last", 0) != 0;
    if (*is_last)
        x->x = kiln_ms_channels_first(c, x->x);
    return c->status;
}

/* round(mean / sy + zero). */
kiln_status kiln_onnx_import_ms_qlinear_avg_pool(kiln_onnx_cx *cx,
                                                 const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant x, y;
    bool is_last;
    kiln_value *v;
    KILN_TRY(read_one(&c, &x, &y));
    KILN_TRY(first_channels(&c, &x, &is_last));
    v = kiln_ms_dequantize(&c, &x, 0);
    KILN_TRY(c.status);
    KILN_TRY(kiln_onnx_emit_pool(cx, n, &kiln_op_avg_pool, v, &v));
    v = kiln_compose_2(&c, &kiln_op_div, v, y.scale);
    v = kiln_ms_round(&c, v, &y, x.x->type.dtype);
    kiln_onnx_set(cx, n, 0, is_last ? kiln_ms_channels_last(&c, v) : v);
    return c.status;
}

/* round(sum * (sx / (sy * count))) + zero, the sum exact. */
kiln_status kiln_onnx_import_ms_qlinear_global_pool(kiln_onnx_cx *cx,
                                                    const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant x, y;
    bool is_last;
    int64_t axes[KILN_MAX_RANK] = {0};
    double count = 1;
    KILN_TRY(read_one(&c, &x, &y));
    KILN_TRY(first_channels(&c, &x, &is_last));
    const int rank = x.x->type.rank;
    if (rank < 3)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'X' must have shape [N, C, spatial...], has rank "
                              "%d",
                              rank);
    for (int i = 2; i < rank; i++) {
        axes[i - 2] = i;
        count *= (double)x.x->type.dim[i];
    }
    kiln_value *v = kiln_ms_center(&c, &x);
    v = kiln_compose_reduce(&c, &kiln_op_reduce_sum, v, axes, (size_t)rank - 2, true);
    v = kiln_compose_cast(&c, v, KILN_F32);
    kiln_value *const by =
        kiln_compose_2(&c, &kiln_op_div, x.scale,
                       kiln_compose_scalar(&c, &kiln_op_mul, y.scale, count));
    v = kiln_compose_2(&c, &kiln_op_mul, v, by);
    v = kiln_ms_steps(&c, v, &y, x.x->type.dtype);
    kiln_onnx_set(cx, n, 0, is_last ? kiln_ms_channels_last(&c, v) : v);
    return c.status;
}

/* Inputs: data, its scale and zero point, scale and zero point of the result. */
kiln_status kiln_onnx_import_ms_qlinear_reduce_mean(kiln_onnx_cx *cx,
                                                    const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_ms_quant x, y;
    const int64_t *axes;
    KILN_TRY(read_one(&c, &x, &y));
    const size_t n_axes = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    const bool keepdims = kiln_onnx_attr_i(cx, n, "keepdims", 1) != 0;
    kiln_value *v = kiln_ms_dequantize(&c, &x, 0);
    v = kiln_compose_reduce(&c, &kiln_op_reduce_mean, v, axes, n_axes, keepdims);
    kiln_onnx_set(cx, n, 0, kiln_ms_quantize(&c, v, &y, x.x->type.dtype));
    return c.status;
}
