/* Importers of pools, resizes, and of what moves spatial axes into others. */
#include "compiler/frontend/argmax_pool.h"
#include "compiler/frontend/batch_blocks.h"
#include "compiler/frontend/tensorflow/tf_window.h"

#include <inttypes.h>

/* MaxPoolV2 has its lists as operands. */
static kiln_status read_operands(kiln_compose *c, kiln_tf_cx *cx, const kiln_tf_node *n,
                                 const kiln_value *x, bool is_first, kiln_spatial *s) {
    const int64_t *size, *stride;
    size_t n_size, n_stride;
    int64_t kernel[KILN_MAX_RANK], strides[KILN_MAX_RANK];
    const int rank = x->type.rank;
    KILN_TRY(kiln_tf_ints(cx, n, 1, "ksize", &size, &n_size));
    KILN_TRY(kiln_tf_ints(cx, n, 2, "strides", &stride, &n_stride));
    if (n_size != (size_t)rank || n_stride != (size_t)rank || rank < 3)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'ksize' and 'strides' must have %d entries, have %zu and "
                            "%zu",
                            rank, n_size, n_stride);
    for (int i = 0; i < rank - 2; i++) {
        kernel[i] = size[is_first ? 2 + i : 1 + i];
        strides[i] = stride[is_first ? 2 + i : 1 + i];
    }
    const bool is_same = kiln_str_is(kiln_tf_attr_s(cx, n, "padding", "VALID"), "SAME");
    kiln_window_over(c, x, kernel, strides, NULL,
                     is_same ? KILN_PADDING_SAME : KILN_PADDING_VALID, s);
    return c->status;
}

kiln_status kiln_tf_import_pool(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_spatial s;
    bool is_first;
    int64_t kernel[KILN_MAX_RANK];
    KILN_TRY(kiln_tf_channels_first(cx, n, &is_first));
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    x = kiln_tf_to_last(&c, x, is_first);
    if (n->n_in > 1) {
        KILN_TRY(read_operands(&c, cx, n, x, is_first, &s));
    } else {
        KILN_TRY(kiln_tf_spatial_ints(cx, n, "ksize", x->type.rank, is_first, kernel));
        KILN_TRY(kiln_tf_window(&c, cx, n, x, kernel, is_first, &s));
    }
    kiln_value *const y = kiln_channels_last_pool(&c, kiln_tf_row_op(cx), x, &s);
    return kiln_tf_end(&c, n, kiln_tf_from_last(&c, y, is_first));
}

/* Places are counted through rows, columns and channels, and through images where
 * include_batch_in_index says so. */
static kiln_value *places(kiln_compose *c, kiln_value *at, const int64_t *dim,
                          bool has_batch) {
    kiln_value *const channel = kiln_compose_iota(c, dim[3]);
    at = kiln_compose_scalar(c, &kiln_op_mul, at, (double)dim[3]);
    at = kiln_compose_2(c, &kiln_op_add, at, channel);
    if (!has_batch || dim[0] == 1)
        return at;
    const int64_t first[] = {dim[0], 1, 1, 1};
    kiln_value *image = kiln_compose_iota(c, dim[0]);
    image =
        kiln_compose_scalar(c, &kiln_op_mul, image, (double)(dim[1] * dim[2] * dim[3]));
    return kiln_compose_2(c, &kiln_op_add, at,
                          kiln_compose_reshape(c, image, 4, first));
}

kiln_status kiln_tf_import_argmax_pool(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y[2];
    kiln_spatial s;
    int64_t kernel[KILN_MAX_RANK];
    kiln_dtype dtype;
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", &x));
    KILN_TRY(kiln_tf_attr_dtype(cx, n, "Targmax", KILN_I64, &dtype));
    const bool has_batch = kiln_tf_attr_b(cx, n, "include_batch_in_index", false);
    KILN_TRY(kiln_tf_spatial_ints(cx, n, "ksize", x->type.rank, false, kernel));
    KILN_TRY(kiln_tf_window(&c, cx, n, x, kernel, false, &s));
    kiln_channels_last_argmax_pool(&c, x, &s, y);
    KILN_TRY(c.status);
    y[1] = kiln_compose_cast(&c, places(&c, y[1], x->type.dim, has_batch), dtype);
    KILN_TRY(c.status);
    return kiln_tf_set_all(cx, n, y, 2);
}

/* ---- resizing --------------------------------------------------------------------- */

kiln_status kiln_tf_resize_operands(kiln_tf_cx *cx, const kiln_tf_node *n,
                                    kiln_value **x, const int64_t **size,
                                    bool *align_corners, bool *has_centers) {
    size_t count;
    KILN_TRY(kiln_tf_need(cx, n, 0, "images", x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "size", size, &count));
    *align_corners = kiln_tf_attr_b(cx, n, "align_corners", false);
    *has_centers = kiln_tf_attr_b(cx, n, "half_pixel_centers", false);
    if (count != 2 || (*x)->type.rank != 4)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'images' must have rank 4 and 'size' two entries, have %d "
                            "and %zu",
                            (*x)->type.rank, count);
    if (*align_corners && *has_centers)
        return kiln_tf_fail(cx, KILN_ERR_PARSE,
                            "align_corners and half_pixel_centers exclude each other");
    return KILN_OK;
}

static kiln_status resize(kiln_tf_cx *cx, const kiln_tf_node *n, bool is_nearest) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    const int64_t *size;
    bool align, half;
    KILN_TRY(kiln_tf_resize_operands(cx, n, &x, &size, &align, &half));
    if (!is_nearest && !kiln_dtype_is_float(x->type.dtype))
        x = kiln_compose_cast(&c, x, KILN_F32);
    x = kiln_channels_last_resize(&c, x, size, is_nearest, align, half);
    return kiln_tf_end(&c, n, x);
}

kiln_status kiln_tf_import_resize_bilinear(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return resize(cx, n, false);
}

kiln_status kiln_tf_import_resize_nearest(kiln_tf_cx *cx, const kiln_tf_node *n) {
    return resize(cx, n, true);
}

/* ---- blocks ----------------------------------------------------------------------- */

/* x in the shape `dim`, its axes turned by perm, in the shape `out`: what all of these
 * are. */
static kiln_value *regroup(kiln_compose *c, kiln_value *x, int rank, const int64_t *dim,
                           const int64_t *perm, int out_rank, const int64_t *out) {
    x = kiln_compose_reshape(c, x, rank, dim);
    x = kiln_compose_transpose(c, x, perm);
    return kiln_compose_reshape(c, x, out_rank, out);
}

static kiln_status need_image(kiln_compose *c, kiln_tf_cx *cx, const kiln_tf_node *n,
                              bool *is_first, kiln_value **x, int64_t *block) {
    KILN_TRY(kiln_tf_channels_first(cx, n, is_first));
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", x));
    *block = kiln_tf_attr_i(cx, n, "block_size", 0);
    if ((*x)->type.rank != 4 || *block < 1 || *block > INT32_MAX)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "'input' must have rank 4 and 'block_size' be positive, "
                            "are %d and %" PRId64,
                            (*x)->type.rank, *block);
    *x = kiln_tf_to_last(c, *x, *is_first);
    return c->status;
}

kiln_status kiln_tf_import_space_to_depth(kiln_tf_cx *cx, const kiln_tf_node *n) {
    static const int64_t perm[] = {0, 1, 3, 2, 4, 5};
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    int64_t b;
    bool is_first;
    KILN_TRY(need_image(&c, cx, n, &is_first, &x, &b));
    const int64_t *const d = x->type.dim;
    if (d[1] % b != 0 || d[2] % b != 0)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "%" PRId64 " x %" PRId64 " are not made of blocks of "
                            "%" PRId64,
                            d[1], d[2], b);
    const int64_t cut[] = {d[0], d[1] / b, b, d[2] / b, b, d[3]};
    const int64_t out[] = {d[0], d[1] / b, d[2] / b, b * b * d[3]};
    x = regroup(&c, x, 6, cut, perm, 4, out);
    return kiln_tf_end(&c, n, kiln_tf_from_last(&c, x, is_first));
}

kiln_status kiln_tf_import_depth_to_space(kiln_tf_cx *cx, const kiln_tf_node *n) {
    static const int64_t perm[] = {0, 1, 3, 2, 4, 5};
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    int64_t b;
    bool is_first;
    KILN_TRY(need_image(&c, cx, n, &is_first, &x, &b));
    const int64_t *const d = x->type.dim;
    if (d[3] % (b * b) != 0)
        return kiln_tf_fail(cx, KILN_ERR_SHAPE,
                            "%" PRId64 " channels are not made of %" PRId64 " blocks",
                            d[3], b * b);
    const int64_t deep = d[3] / (b * b);
    const int64_t cut[] = {d[0], d[1], d[2], b, b, deep};
    const int64_t out[] = {d[0], d[1] * b, d[2] * b, deep};
    x = regroup(&c, x, 6, cut, perm, 4, out);
    return kiln_tf_end(&c, n, kiln_tf_from_last(&c, x, is_first));
}

/* block_shape, and the pairs of margins behind it. */
static kiln_status read_blocks(kiln_tf_cx *cx, const kiln_tf_node *n,
                               const char *margins, kiln_value **x, kiln_blocks *out) {
    KILN_TRY(kiln_tf_need(cx, n, 0, "input", x));
    KILN_TRY(kiln_tf_ints(cx, n, 1, "block_shape", &out->block, &out->n_block));
    return kiln_tf_ints(cx, n, 2, margins, &out->pair, &out->n_pair);
}

kiln_status kiln_tf_import_space_to_batch(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_blocks b;
    KILN_TRY(read_blocks(cx, n, "paddings", &x, &b));
    return kiln_tf_end(&c, n, kiln_compose_space_to_batch(&c, x, &b));
}

kiln_status kiln_tf_import_batch_to_space(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    kiln_blocks b;
    KILN_TRY(read_blocks(cx, n, "crops", &x, &b));
    return kiln_tf_end(&c, n, kiln_compose_batch_to_space(&c, x, &b));
}
