/* ONNX reductions, ArgMax, ArgMin, CumSum, CumProd.
 *
 * ReduceSum takes its axes as an operand since opset 13, the others since 18. */
#include "compiler/frontend/onnx/onnx_internal.h"

static bool read_keepdims(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    return kiln_onnx_attr_i(cx, n, "keepdims", 1) != 0;
}

static kiln_status emit_reduce(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                               const int64_t *axes, size_t n_axes, bool keepdims) {
    const kiln_attr_arg args[] = {
        kiln_arg_ints("axes", axes, n_axes),
        kiln_arg_bool("keepdims", keepdims),
    };
    kiln_value *y = NULL;
    KILN_TRY(kiln_onnx_emit1(cx, n, kiln_onnx_row(cx)->op, x, args, 2, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* No axis at all: groups of one element, on which sums are the identity but squares and
 * logarithms are not (ONNX 1.19, noop_with_empty_axes). */
static kiln_status reduce_nothing(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                  kiln_value *x) {
    static const kiln_op_def *const identity[] = {
        &kiln_op_reduce_sum, &kiln_op_reduce_mean, &kiln_op_reduce_prod,
        &kiln_op_reduce_max, &kiln_op_reduce_min,
    };
    const kiln_op_def *op = kiln_onnx_row(cx)->op;
    for (size_t i = 0; i < sizeof identity / sizeof identity[0]; i++)
        if (op == identity[i]) {
            kiln_onnx_set(cx, n, 0, x);
            return KILN_OK;
        }
    const int64_t column[2] = {kiln_type_elems(&x->type), 1}, axis = 1;
    const kiln_attr_arg args[] = {kiln_arg_ints("axes", &axis, 1),
                                  kiln_arg_bool("keepdims", false)};
    const kiln_type t = x->type;
    kiln_value *y = NULL;
    KILN_TRY(kiln_onnx_reshape(cx, n, x, 2, column, &y));
    KILN_TRY(kiln_onnx_emit1(cx, n, op, y, args, 2, &y));
    KILN_TRY(kiln_onnx_reshape(cx, n, y, t.rank, t.dim, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* Axes as an attribute. */
kiln_status kiln_onnx_import_reduce_attr(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL;
    const int64_t *axes = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    const size_t n_axes = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    return emit_reduce(cx, n, x, axes, n_axes, read_keepdims(cx, n));
}

/* Axes as an operand. */
kiln_status kiln_onnx_import_reduce(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *operand = kiln_onnx_in(cx, n, 1);
    const int64_t *axes = NULL;
    size_t n_axes = 0;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    if (operand != NULL)
        KILN_TRY(kiln_onnx_const_ints(cx, operand, "axes", &axes, &n_axes));
    const bool is_noop = kiln_onnx_attr_i(cx, n, "noop_with_empty_axes", 0) != 0;
    const bool keepdims = read_keepdims(cx, n);
    if (n_axes == 0 && is_noop)
        return reduce_nothing(cx, n, x);
    return emit_reduce(cx, n, x, axes, n_axes, keepdims);
}

kiln_status kiln_onnx_import_arg(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", kiln_onnx_attr_i(cx, n, "axis", 0)),
        kiln_arg_bool("keepdims", read_keepdims(cx, n)),
        kiln_arg_bool("select_last_index",
                      kiln_onnx_attr_i(cx, n, "select_last_index", 0) != 0),
    };
    KILN_TRY(kiln_onnx_emit1(cx, n, kiln_onnx_row(cx)->op, x, args, 3, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_scan_axis(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *operand = NULL, *y = NULL;
    const int64_t *axis = NULL;
    size_t n_axes = 0;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "x", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "axis", &operand));
    KILN_TRY(kiln_onnx_const_ints(cx, operand, "axis", &axis, &n_axes));
    if (n_axes != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'axis' must be a scalar, has %zu elements",
                              n_axes);
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", axis[0]),
        kiln_arg_bool("exclusive", kiln_onnx_attr_i(cx, n, "exclusive", 0) != 0),
        kiln_arg_bool("reverse", kiln_onnx_attr_i(cx, n, "reverse", 0) != 0),
    };
    KILN_TRY(kiln_onnx_emit1(cx, n, kiln_onnx_row(cx)->op, x, args, 3, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
