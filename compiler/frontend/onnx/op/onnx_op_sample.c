/* Importers of GridSample (16, 20, 22), AffineGrid (20) and RoiAlign (10, 16, 22). */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>

/* What a version calls the modes, and what the operator does. */
static const char *const mode_words[][2] = {
    {"nearest", "nearest"}, {"linear", "linear"}, {"bilinear", "linear"},
    {"cubic", "cubic"},     {"bicubic", "cubic"},
};

kiln_status kiln_onnx_import_grid_sample(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_value *in[2], *y;
    const char *mode = NULL;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &in[0]));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "grid", &in[1]));
    const kiln_str given = kiln_onnx_attr_s(cx, n, "mode", "linear");
    const kiln_str padding = kiln_onnx_attr_s(cx, n, "padding_mode", "zeros");
    for (size_t i = 0; i < sizeof mode_words / sizeof mode_words[0]; i++)
        if (kiln_str_is(given, mode_words[i][0]))
            mode = mode_words[i][1];
    if (mode == NULL)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'mode' must be nearest, linear or cubic, is "
                              "'%s'",
                              kiln_str_printable(kiln_onnx_arena(cx), given, 32));
    const kiln_attr_arg args[] = {
        kiln_arg_word("mode", mode),
        kiln_arg_word("padding", kiln_str_printable(kiln_onnx_arena(cx), padding, 32)),
        kiln_arg_bool("align_corners",
                      kiln_onnx_attr_i(cx, n, "align_corners", 0) != 0),
    };
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_grid_sample, in, 2, args, 3, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* The coordinate of element i of `length`, from -1 to 1. */
static double coordinate(int64_t i, int64_t length, bool align_corners) {
    if (align_corners)
        return length > 1 ? -1 + 2 * (double)i / (double)(length - 1) : -1;
    return (2 * (double)i + 1) / (double)length - 1;
}

/* All positions, the last axis's coordinate first, and 1: [axes + 1, points]. */
static kiln_value *all_positions(kiln_compose *c, kiln_dtype dtype, int axes,
                                 const int64_t *size, int64_t points,
                                 bool align_corners) {
    const int64_t dim[] = {axes + 1, points};
    kiln_compose_fail(c, kiln_import_spend(c->cx, 8 * dim[0] * points));
    if (c->status != KILN_OK)
        return kiln_import_scalar(c->cx, dtype, 0);
    double *const v = kiln_array(c->cx->arena, double, dim[0] * points);
    for (int64_t p = 0; p < points; p++) {
        int64_t rest = p;
        for (int i = axes - 1; i >= 0; i--) {
            const int row = axes - 1 - i;
            v[row * points + p] = coordinate(rest % size[i], size[i], align_corners);
            rest /= size[i];
        }
        v[axes * points + p] = 1;
    }
    return kiln_compose_floats(c, dtype, 2, dim, v);
}

/* grid[b, o] = theta[b] * (position of o, 1) (Jaderberg et al. 2015, equation 1). */
kiln_status kiln_onnx_import_affine_grid(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const int64_t turn[] = {0, 2, 1};
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *theta, *operand;
    const int64_t *size;
    size_t rank;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "theta", &theta));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "size", &operand));
    KILN_TRY(kiln_onnx_const_ints(cx, operand, "size", &size, &rank));
    const kiln_type *t = &theta->type;
    if ((rank != 4 && rank != 5) || t->rank != 3 || t->dim[0] != size[0] ||
        t->dim[1] != (int64_t)rank - 2 || t->dim[2] != (int64_t)rank - 1)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'size' must have 4 or 5 entries [N, C, ...] and 'theta' "
                              "the shape [N, axes, axes + 1], have %zu and rank %d",
                              rank, t->rank);
    const int axes = (int)rank - 2;
    int64_t points = 1, dim[5] = {size[0]};
    for (int i = 0; i < axes; i++)
        dim[1 + i] = size[2 + i];
    dim[1 + axes] = axes;
    const kiln_type grid = kiln_type_make(t->dtype, axes + 2, dim);
    KILN_TRY(kiln_type_check(&grid, kiln_onnx_err(cx)));
    for (int i = 0; i < axes; i++)
        points *= dim[1 + i];
    const bool align_corners = kiln_onnx_attr_i(cx, n, "align_corners", 0) != 0;
    kiln_value *y = all_positions(&c, t->dtype, axes, size + 2, points, align_corners);
    y = kiln_compose_2(&c, &kiln_op_matmul, theta, y);
    y = kiln_compose_transpose(&c, y, turn);
    kiln_onnx_set(cx, n, 0, kiln_compose_reshape(&c, y, axes + 2, dim));
    return c.status;
}

/* Before opset 16 there was no choice of coordinates. */
kiln_status kiln_onnx_import_roi_align(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const input[] = {"X", "rois", "batch_indices"};
    kiln_value *in[3], *y;
    for (int i = 0; i < 3; i++)
        KILN_TRY(kiln_onnx_need(cx, n, i, input[i], &in[i]));
    const bool is_old = kiln_onnx_version(cx) < 16;
    kiln_str coordinates = kiln_str_from("output_half_pixel");
    if (!is_old)
        coordinates =
            kiln_onnx_attr_s(cx, n, "coordinate_transformation_mode", "half_pixel");
    const kiln_str mode = kiln_onnx_attr_s(cx, n, "mode", "avg");
    const bool is_half = kiln_str_is(coordinates, "half_pixel");
    if (!is_half && !kiln_str_is(coordinates, "output_half_pixel"))
        return kiln_onnx_fail(
            cx, KILN_ERR_PARSE,
            "attribute 'coordinate_transformation_mode' must be half_pixel or "
            "output_half_pixel, is '%s'",
            kiln_str_printable(kiln_onnx_arena(cx), coordinates, 32));
    const kiln_attr_arg args[] = {
        kiln_arg_int("height", kiln_onnx_attr_i(cx, n, "output_height", 1)),
        kiln_arg_int("width", kiln_onnx_attr_i(cx, n, "output_width", 1)),
        kiln_arg_int("sampling_ratio", kiln_onnx_attr_i(cx, n, "sampling_ratio", 0)),
        kiln_arg_float("spatial_scale", kiln_onnx_attr_f(cx, n, "spatial_scale", 1)),
        kiln_arg_word("mode", kiln_str_printable(kiln_onnx_arena(cx), mode, 32)),
        kiln_arg_bool("half_pixel", is_half),
    };
    KILN_TRY(kiln_onnx_emit(cx, n, &kiln_op_roi_align, in, 3, args, 6, 1, &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}
