/* ONNX Softmax and its kin, and normalisations that are compositions of reductions. */
#include "compiler/frontend/onnx/onnx_internal.h"

static kiln_status emit_along(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                              int64_t axis, kiln_value **out) {
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return kiln_onnx_emit1(cx, n, kiln_onnx_row(cx)->op, x, &arg, 1, out);
}

/* Since 13: along one axis. */
kiln_status kiln_onnx_import_softmax(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(emit_along(cx, n, x, kiln_onnx_attr_i(cx, n, "axis", -1), &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* Before 13: over all axes from `axis` on, as rows of a matrix. */
kiln_status kiln_onnx_import_softmax_flat(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const kiln_type t = x->type;
    int axis = 0;
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", 1), t.rank, &axis,
                                 kiln_onnx_err(cx)));
    int64_t matrix[2] = {1, 1};
    for (int i = 0; i < t.rank; i++)
        matrix[i >= axis] *= t.dim[i];
    if (matrix[1] == t.dim[axis]) {
        KILN_TRY(emit_along(cx, n, x, axis, &y));
    } else {
        KILN_TRY(kiln_onnx_reshape(cx, n, x, 2, matrix, &y));
        KILN_TRY(emit_along(cx, n, y, 1, &y));
        KILN_TRY(kiln_onnx_reshape(cx, n, y, t.rank, t.dim, &y));
    }
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

static kiln_status emit_reduce(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               const kiln_op_def *op, kiln_value *x,
                               const int64_t *axes, size_t n_axes, kiln_value **out) {
    const kiln_attr_arg args[] = {kiln_arg_ints("axes", axes, n_axes),
                                  kiln_arg_bool("keepdims", true)};
    return kiln_onnx_emit1(cx, n, op, x, args, 2, out);
}

/* (x - mean) / (sqrt(mean((x - mean)^2)) + 1e-9), the function body of opset 13. */
kiln_status kiln_onnx_import_mean_variance_norm(kiln_onnx_cx *cx,
                                                const kiln_onnx_node *n) {
    static const int64_t default_axes[] = {0, 2, 3};
    kiln_value *x = NULL, *mean = NULL, *centred = NULL, *square = NULL, *y = NULL;
    const int64_t *axes = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    size_t n_axes = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    if (!kiln_onnx_has_attr(n, "axes")) {
        axes = default_axes;
        n_axes = sizeof default_axes / sizeof default_axes[0];
    }
    KILN_TRY(emit_reduce(cx, n, &kiln_op_reduce_mean, x, axes, n_axes, &mean));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_sub, x, mean, &centred));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_mul, centred, centred, &square));
    KILN_TRY(emit_reduce(cx, n, &kiln_op_reduce_mean, square, axes, n_axes, &y));
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_sqrt, y, NULL, 0, &y));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_add, y,
                             kiln_onnx_scalar(cx, y->type.dtype, 1e-9), &y));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_div, centred, y, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* x / |x|_p along one axis; lanes of length 0 stay 0 (LpNormalization 22). */
kiln_status kiln_onnx_import_lp_norm(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x = NULL, *size = NULL, *is_zero = NULL, *y = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    const int64_t axis = kiln_onnx_attr_i(cx, n, "axis", -1);
    const int64_t p = kiln_onnx_attr_i(cx, n, "p", 2);
    if (p != 1 && p != 2)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'p' must be 1 or 2, is %lld", (long long)p);
    const kiln_op_def *op = p == 1 ? &kiln_op_reduce_l1 : &kiln_op_reduce_l2;
    const kiln_dtype dtype = x->type.dtype;
    KILN_TRY(emit_reduce(cx, n, op, x, &axis, 1, &size));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_equal, size,
                             kiln_onnx_scalar(cx, dtype, 0), &is_zero));
    kiln_value *const choice[] = {is_zero, kiln_onnx_scalar(cx, dtype, 1), size};
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_where, choice, 3, NULL, 0, 1, &size));
    KILN_TRY(kiln_onnx_emit2(cx, n, &kiln_op_div, x, size, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
