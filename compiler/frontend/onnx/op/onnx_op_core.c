/* Constant (versions 1, 9, 11 to 25), Identity (1 to 25), Shape (1, 13, 15 to 25), Size
 * (1, 13 to 25) and If (1, 11, 13 to 25) of ai.onnx. */
#include "compiler/frontend/onnx/import_core.h"

#include <string.h>

kiln_status kiln_onnx_import_identity(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    kiln_onnx_set(cx, n, 0, x);
    return KILN_OK;
}

/* ---- Constant -------------------------------------------------------------------- */

/* `data` lives as long as the graph: decoded arrays and attributes do. */
static kiln_status set_data(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_dtype dtype,
                            int rank, size_t count, const void *data) {
    const int64_t dim[1] = {(int64_t)count};
    const kiln_type type = kiln_type_make(dtype, rank, dim);
    if (count == 0)
        data = kiln_arena_alloc(cx->common.arena, 0);
    kiln_onnx_set(
        cx, n, 0,
        kiln_graph_add_const(cx->scope->g, kiln_onnx_out_name(cx, n, 0), &type, data));
    return KILN_OK;
}

kiln_status kiln_onnx_import_constant(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    const kiln_onnx_tensor *const t = kiln_onnx_attr_tensor(cx, n, "value");
    const kiln_onnx_attr *a;
    if (t != NULL) {
        kiln_value *v;
        KILN_TRY(kiln_onnx_make_const(cx, t, &v));
        kiln_onnx_set(cx, n, 0, v);
        return KILN_OK;
    }
    if ((a = kiln_onnx_find_attr(cx, n, "value_float")) != NULL)
        return set_data(cx, n, KILN_F32, 0, 1, &a->f);
    if ((a = kiln_onnx_find_attr(cx, n, "value_int")) != NULL)
        return set_data(cx, n, KILN_I64, 0, 1, &a->i);
    if ((a = kiln_onnx_find_attr(cx, n, "value_floats")) != NULL)
        return set_data(cx, n, KILN_F32, 1, a->n_floats, a->floats);
    if ((a = kiln_onnx_find_attr(cx, n, "value_ints")) != NULL)
        return set_data(cx, n, KILN_I64, 1, a->n_ints, a->ints);
    if (kiln_onnx_has_attr(n, "value_string") || kiln_onnx_has_attr(n, "value_strings"))
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "element type STRING is not read; kiln has tensors of "
                              "numbers and bool only");
    if (kiln_onnx_has_attr(n, "sparse_value"))
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "attribute 'sparse_value' is not read; export it dense");
    return kiln_onnx_fail(cx, KILN_ERR_PARSE, "attribute 'value' is missing");
}

/* ---- Shape, Size ----------------------------------------------------------------- */

/* What follows from static types is a constant at once. */
static kiln_status set_ints(kiln_onnx_cx *cx, const kiln_onnx_node *n, int rank,
                            const int64_t *v, size_t count) {
    return set_data(cx, n, KILN_I64, rank, count,
                    kiln_arena_dup(cx->common.arena, v, count * sizeof *v));
}

static int64_t clamp_axis(int64_t axis, int64_t rank) {
    axis = axis < 0 ? axis + rank : axis;
    return axis < 0 ? 0 : axis > rank ? rank : axis;
}

kiln_status kiln_onnx_import_shape(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    const int64_t rank = x->type.rank;
    int64_t start = 0, end = rank;
    if (cx->version >= 15) {
        start = clamp_axis(kiln_onnx_attr_i(cx, n, "start", 0), rank);
        end = clamp_axis(kiln_onnx_attr_i(cx, n, "end", rank), rank);
    }
    const int64_t count = end > start ? end - start : 0;
    return set_ints(cx, n, 1, x->type.dim + start, (size_t)count);
}

kiln_status kiln_onnx_import_size(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *x;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &x));
    const int64_t elems = kiln_type_elems(&x->type);
    return set_ints(cx, n, 0, &elems, 1);
}
