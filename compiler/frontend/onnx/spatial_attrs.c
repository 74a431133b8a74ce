/* Attributes of convolution and pooling; see spatial_attrs.h. */
#include "compiler/frontend/onnx/spatial_attrs.h"

#include <inttypes.h>

static kiln_status check_range(kiln_onnx_cx *cx, const char *name, int64_t v,
                               int64_t min) {
    if (v >= min && v <= INT32_MAX)
        return KILN_OK;
    return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                          "attribute '%s' must hold values in [%" PRId64
                          ", %d], has %" PRId64,
                          name, min, INT32_MAX, v);
}

static kiln_status read_list(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                             const char *name, int count, int64_t min,
                             int64_t otherwise, int64_t *out) {
    const int64_t *v;
    const size_t given = kiln_onnx_attr_ints(cx, n, name, &v);
    if (given != 0 && given != (size_t)count)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "attribute '%s' must have %d values, has %zu", name,
                              count, given);
    for (int i = 0; i < count; i++) {
        out[i] = given == 0 ? otherwise : v[i];
        KILN_TRY(check_range(cx, name, out[i], min));
    }
    return KILN_OK;
}

static kiln_status read_kernel(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                               const int64_t *kernel, kiln_spatial *s) {
    if (kernel == NULL && !kiln_onnx_has_attr(n, "kernel_shape"))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'kernel_shape' is missing");
    KILN_TRY(read_list(cx, n, "kernel_shape", s->n, 1, 1, s->kernel));
    const bool given = kiln_onnx_has_attr(n, "kernel_shape");
    for (int i = 0; kernel != NULL && i < s->n; i++) {
        if (given && s->kernel[i] != kernel[i])
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "attribute 'kernel_shape' must be the shape of the "
                                  "weights, is %" PRId64 " and %" PRId64
                                  " on spatial axis %d",
                                  s->kernel[i], kernel[i], i);
        s->kernel[i] = kernel[i];
        KILN_TRY(check_range(cx, "kernel_shape", kernel[i], 1));
    }
    return KILN_OK;
}

/* Both would say how much padding there is. */
static kiln_status check_no_pads(kiln_onnx_cx *cx, const kiln_spatial *s) {
    for (int i = 0; i < 2 * s->n; i++)
        if (s->pads[i] != 0)
            return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                                  "attribute 'pads' must be absent or 0 where "
                                  "'auto_pad' decides, has %" PRId64
                                  "; export with one of them",
                                  s->pads[i]);
    return KILN_OK;
}

kiln_status kiln_onnx_read_spatial(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                   const kiln_value *x, const int64_t *kernel,
                                   kiln_spatial *s) {
    KILN_ASSERT(x != NULL && s != NULL, "windows over nothing");
    if (x->type.rank < 3)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "input 'X' must have shape [N, C, spatial...], has rank %d", x->type.rank);
    kiln_spatial_init(s, x, kernel);
    KILN_TRY(read_kernel(cx, n, kernel, s));
    KILN_TRY(read_list(cx, n, "strides", s->n, 1, 1, s->strides));
    KILN_TRY(read_list(cx, n, "dilations", s->n, 1, 1, s->dilations));
    const kiln_str mode = kiln_onnx_attr_s(cx, n, "auto_pad", "NOTSET");
    s->is_upper = kiln_str_is(mode, "SAME_UPPER");
    s->is_same = s->is_upper || kiln_str_is(mode, "SAME_LOWER");
    KILN_TRY(read_list(cx, n, "pads", 2 * s->n, 0, 0, s->pads));
    if (s->is_same || kiln_str_is(mode, "VALID"))
        return check_no_pads(cx, s);
    if (mode.n != 0 && !kiln_str_is(mode, "NOTSET"))
        return kiln_onnx_fail(
            cx, KILN_ERR_PARSE,
            "attribute 'auto_pad' must be NOTSET, SAME_UPPER, SAME_LOWER "
            "or VALID, is '%s'",
            kiln_str_printable(kiln_onnx_arena(cx), mode, 40));
    return KILN_OK;
}
