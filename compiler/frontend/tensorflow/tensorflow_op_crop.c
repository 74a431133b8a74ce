/* Importers of CropAndResize and ResizeBicubic. Source: TensorFlow, crop_and_resize_op.cc,
 * resize_bicubic_op.cc. */
#include "compiler/frontend/bicubic.h"
#include "compiler/frontend/sample_points.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

#include <inttypes.h>

/* Positions of one axis of `in` pixels, as `dim` has them, for boxes from `low` to
 * `high` (each [n, 1, 1]): `out` of them, the first and the last at the box's edges;
 * one is in its middle. */
static kiln_value *positions(kiln_compose *c, kiln_value *low, kiln_value *high,
                             int64_t in, int64_t out, const int64_t *dim) {
    const double last = (double)(in - 1);
    if (out == 1) {
        kiln_value *const sum = kiln_compose_2(c, &kiln_op_add, low, high);
        return kiln_compose_scalar(
            c, &kiln_op_mul, kiln_compose_scalar(c, &kiln_op_mul, sum, 0.5), last);
    }
    kiln_value *step = kiln_compose_2(c, &kiln_op_sub, high, low);
    step = kiln_compose_scalar(c, &kiln_op_mul, step, last);
    step = kiln_compose_scalar(c, &kiln_op_div, step, (double)(out - 1));
    kiln_value *at = kiln_compose_cast(c, kiln_compose_iota(c, out), KILN_F32);
    at = kiln_compose_2(c, &kiln_op_mul, kiln_compose_reshape(c, at, 3, dim), step);
    return kiln_compose_2(c, &kiln_op_add, at,
                          kiln_compose_scalar(c, &kiln_op_mul, low, last));
}

/* Column i of boxes [n, 4]: [n, 1, 1]. */
static kiln_value *edge(kiln_compose *c, kiln_value *boxes, int i, int64_t n) {
    const int64_t dim[] = {n, 1, 1};
    return kiln_compose_reshape(c, kiln_compose_slice(c, boxes, 1, i, 1, 1), 3, dim);
}

kiln_status kiln_tf_import_crop_and_resize(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *boxes, *image;
    const int64_t *size;
    size_t count;
    KILN_TRY(kiln_tf_need(cx, n, 0, "image", &x));
    KILN_TRY(kiln_tf_need(cx, n, 1, "boxes", &boxes));
    KILN_TRY(kiln_tf_need(cx, n, 2, "box_ind", &image));
    KILN_TRY(kiln_tf_ints(cx, n, 3, "crop_size", &size, &count));
    const kiln_str method = kiln_tf_attr_s(cx, n, "method", "bilinear");
    const bool is_nearest = kiln_str_is(method, "nearest");
    kiln_points p = {.is_nearest = is_nearest,
                     .outside = kiln_tf_attr_f(cx, n, "extrapolation_value", 0)};
    if (!is_nearest && !kiln_str_is(method, "bilinear"))
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "attribute 'method' must be bilinear or nearest, is '%s'",
                            kiln_tf_show(cx, method));
    if (x->type.rank != 4 || boxes->type.rank != 2 || boxes->type.dim[1] != 4 ||
        boxes->type.dtype != KILN_F32 || image->type.rank != 1 ||
        image->type.dim[0] != boxes->type.dim[0] || count != 2 || size[0] < 1 ||
        size[0] > INT32_MAX || size[1] < 1 || size[1] > INT32_MAX)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'image' must be [b, h, w, c], 'boxes' floats [n, 4], "
                            "'box_ind' [n] and 'crop_size' two sizes");
    const int64_t boxes_n = boxes->type.dim[0], per_box[] = {boxes_n, 1, 1},
                  down[] = {1, size[0], 1}, right[] = {1, 1, size[1]};
    p.y = positions(&c, edge(&c, boxes, 0, boxes_n), edge(&c, boxes, 2, boxes_n),
                    x->type.dim[1], size[0], down);
    p.x = positions(&c, edge(&c, boxes, 1, boxes_n), edge(&c, boxes, 3, boxes_n),
                    x->type.dim[2], size[1], right);
    if (x->type.dim[0] > 1)
        p.image = kiln_compose_reshape(&c, image, 3, per_box);
    return kiln_tf_end(&c, n, kiln_compose_sample(&c, x, &p));
}

kiln_status kiln_tf_import_resize_bicubic(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *size;
    bool align, half;
    KILN_TRY(kiln_tf_resize_operands(cx, n, &x, &size, &align, &half));
    if (!kiln_dtype_is_float(x->type.dtype))
        x = kiln_compose_cast(&c, x, KILN_F32);
    return kiln_tf_end(&c, n, kiln_channels_last_bicubic(&c, x, size, align, half));
}
