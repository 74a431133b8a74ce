/* Importers of Pad and CenterCropPad.
 * Source: the ONNX operator specification; versions are in onnx_ops.def. */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>

/* Pads of all axes from pads of the axes that input 3 names (opset 18 on). */
static kiln_status place_pads(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                              const kiln_value *x, const int64_t *given, size_t count,
                              int64_t *pads) {
    const int rank = x->type.rank;
    kiln_value *v = kiln_onnx_in(cx, n, 3);
    const int64_t *axes = NULL;
    size_t n_axes = (size_t)rank;
    if (v != NULL)
        KILN_TRY(kiln_onnx_const_ints(cx, v, "axes", &axes, &n_axes));
    if (count != 2 * n_axes)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'pads' must have two entries per axis (%zu), has %zu",
                              2 * n_axes, count);
    bool seen[KILN_MAX_RANK] = {false};
    for (size_t k = 0; k < n_axes; k++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes != NULL ? axes[k] : (int64_t)k, rank, &axis,
                                     kiln_onnx_err(cx)));
        if (seen[axis])
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'axes' names axis %d twice",
                                  axis);
        seen[axis] = true;
        pads[axis] = given[k];
        pads[rank + axis] = given[n_axes + k];
    }
    return KILN_OK;
}

/* The margin's value as a scalar: input 2, or up to opset 10 the attribute. NULL: zero.
 */
static kiln_status pad_value(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                             double given, kiln_value **out) {
    *out = NULL;
    if (kiln_onnx_version(cx) < 11) {
        if (given != 0)
            *out = kiln_onnx_scalar(cx, x->type.dtype, given);
        return KILN_OK;
    }
    kiln_value *v = kiln_onnx_in(cx, n, 2);
    if (v == NULL || kiln_type_elems(&v->type) == 0)
        return KILN_OK;
    if (kiln_type_elems(&v->type) != 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'constant_value' must have 1 element, has %" PRId64,
                              kiln_type_elems(&v->type));
    return kiln_onnx_reshape(cx, n, v, 0, NULL, out);
}

kiln_status kiln_onnx_import_pad(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    kiln_value *in[2] = {NULL, NULL}, *v, *y;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "data", &in[0]));
    const kiln_str name = kiln_onnx_attr_s(cx, n, "mode", "constant");
    const char *mode = NULL;
    for (int i = 0; i < (kiln_onnx_version(cx) >= 19 ? 4 : 3); i++)
        if (kiln_str_is(name, modes[i]))
            mode = modes[i];
    if (mode == NULL)
        return kiln_onnx_fail(
            cx, KILN_ERR_UNSUPPORTED,
            "mode must be constant, reflect, edge or, from opset 19 on, "
            "wrap; is '%s'",
            kiln_str_printable(kiln_onnx_arena(cx), name, 32));
    const int64_t *given = NULL;
    size_t count = 0;
    double value = 0; /* means something in mode constant only, but may stand there */
    if (kiln_onnx_version(cx) < 11) {
        count = kiln_onnx_attr_ints(cx, n, "pads", &given);
        value = kiln_onnx_attr_f(cx, n, "value", 0);
    } else {
        KILN_TRY(kiln_onnx_need(cx, n, 1, "pads", &v));
        KILN_TRY(kiln_onnx_const_ints(cx, v, "pads", &given, &count));
    }
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    KILN_TRY(place_pads(cx, n, in[0], given, count, pads));
    if (mode == modes[0])
        KILN_TRY(pad_value(cx, n, in[0], value, &in[1]));
    const kiln_attr_arg args[] = {
        kiln_arg_word("mode", mode),
        kiln_arg_ints("pads", pads, 2 * (size_t)in[0]->type.rank)};
    KILN_TRY(
        kiln_onnx_emit(cx, n, &kiln_op_pad, in, in[1] != NULL ? 2 : 1, args, 2, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* ---- CenterCropPad ---- */

kiln_status kiln_onnx_import_center_crop_pad(kiln_onnx_cx *cx,
                                             const kiln_onnx_node *n) {
    kiln_value *x, *v, *y;
    const int64_t *shape, *axes = NULL;
    size_t n_shape;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input_data", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "shape", &v));
    KILN_TRY(kiln_onnx_const_ints(cx, v, "shape", &shape, &n_shape));
    const int rank = x->type.rank;
    size_t n_axes = kiln_onnx_attr_ints(cx, n, "axes", &axes);
    if (!kiln_onnx_has_attr(n, "axes"))
        n_axes = (size_t)rank;
    if (n_shape != n_axes)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'shape' must have one entry per axis (%zu), has %zu",
                              n_axes, n_shape);
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    for (size_t k = 0; k < n_axes; k++) {
        int axis;
        KILN_TRY(kiln_axis_normalize(axes != NULL ? axes[k] : (int64_t)k, rank, &axis,
                                     kiln_onnx_err(cx)));
        if (shape[k] < 0 || shape[k] > KILN_MAX_ELEMS)
            return kiln_onnx_fail(
                cx, KILN_ERR_SHAPE,
                "entry %zu of 'shape' must be in [0, 2^40], is %" PRId64, k, shape[k]);
        /* The odd element goes behind when padding, and stays in front when cropping.
         */
        const int64_t have = x->type.dim[axis], more = shape[k] - have;
        const int64_t before = more >= 0 ? more / 2 : -(-more / 2);
        pads[axis] = before;
        pads[rank + axis] = more - before;
    }
    const kiln_attr_arg args[] = {kiln_arg_word("mode", "constant"),
                                  kiln_arg_ints("pads", pads, 2 * (size_t)rank)};
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_pad, x, args, 2, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
