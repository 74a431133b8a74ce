/* Importers of MaxPool (1 to 22), AveragePool (1 to 22), LpPool (1 to 22) and the
 * global pools.
 *
 * Later versions add attributes (storage_order 8, ceil_mode and dilations 10, 18, 19)
 * whose absence means what the earlier ones did, so that one importer reads all.
 */
#include "compiler/frontend/onnx/spatial_attrs.h"

enum { N_MAX_POOL_ARGS = KILN_SPATIAL_ARGS + 3 };

kiln_status kiln_onnx_import_max_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y[2];
    kiln_spatial s;
    kiln_attr_arg args[N_MAX_POOL_ARGS];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_read_spatial(cx, n, x, NULL, &s));
    if (s.is_same)
        kiln_spatial_same_pads(&s);
    kiln_spatial_args(&s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_ints("kernel", s.kernel, (size_t)s.n);
    args[KILN_SPATIAL_ARGS + 1] =
        kiln_arg_bool("ceil_mode", kiln_onnx_attr_i(cx, n, "ceil_mode", 0) != 0);
    args[KILN_SPATIAL_ARGS + 2] =
        kiln_arg_bool("column_major", kiln_onnx_attr_i(cx, n, "storage_order", 0) != 0);
    const int n_out = kiln_onnx_wants(n, 1) ? 2 : 1;
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_max_pool, &x, 1, args, N_MAX_POOL_ARGS,
                            n_out, y));
    for (int i = 0; i < n_out; i++)
        kiln_onnx_set(cx, n, i, y[i]);
    return KILN_OK;
}

static kiln_status make_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const kiln_op_def *op, kiln_value *x,
                             const kiln_attr_arg *more, size_t n_more,
                             kiln_value **out) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_spatial s;
    KILN_TRY(kiln_onnx_read_spatial(cx, n, x, NULL, &s));
    const bool ceil_mode = kiln_onnx_attr_i(cx, n, "ceil_mode", 0) != 0;
    kiln_value *const y = kiln_compose_pool(&c, op, x, &s, ceil_mode, more, n_more);
    if (c.status == KILN_OK)
        *out = y;
    return c.status;
}

kiln_status kiln_onnx_emit_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                const kiln_op_def *op, kiln_value *x,
                                kiln_value **out) {
    if (op != &kiln_op_avg_pool)
        return make_pool(cx, n, op, x, NULL, 0, out);
    const kiln_attr_arg include = kiln_arg_bool(
        "count_include_pad", kiln_onnx_attr_i(cx, n, "count_include_pad", 0) != 0);
    return make_pool(cx, n, op, x, &include, 1, out);
}

kiln_status kiln_onnx_import_avg_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_emit_pool(cx, n, &kiln_op_avg_pool, x, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

kiln_status kiln_onnx_import_lp_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    const kiln_attr_arg p = kiln_arg_int("p", kiln_onnx_attr_i(cx, n, "p", 2));
    KILN_TRY(make_pool(cx, n, &kiln_op_lp_pool, x, &p, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* GlobalAveragePool, GlobalMaxPool: the row's reduction over all spatial axes. */
kiln_status kiln_onnx_import_global_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    const int n_axes = x->type.rank - 2;
    if (n_axes < 1)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "input 'X' must have shape [N, C, spatial...], has rank %d", x->type.rank);
    int64_t axes[KILN_MAX_SPATIAL];
    for (int i = 0; i < n_axes; i++)
        axes[i] = 2 + i;
    const kiln_attr_arg args[] = {kiln_arg_ints("axes", axes, (size_t)n_axes),
                                  kiln_arg_bool("keepdims", true)};
    KILN_TRY(kiln_onnx_emit1(cx, n, kiln_onnx_row(cx)->op, x, args, 2, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* One window over all spatial axes. */
kiln_status kiln_onnx_import_global_lp_pool(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    if (x->type.rank < 3)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "input 'X' must have shape [N, C, spatial...], has rank %d", x->type.rank);
    const kiln_attr_arg args[] = {
        kiln_arg_ints("kernel", x->type.dim + 2, (size_t)(x->type.rank - 2)),
        kiln_arg_int("p", kiln_onnx_attr_i(cx, n, "p", 2)),
    };
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_lp_pool, x, args, 2, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
