/* Importers of what writes elements to computed places: Col2Im (18), MaxUnpool (9, 11,
 * 22), TensorScatter (24), composed of scatters. */
#include "compiler/frontend/onnx/spatial_attrs.h"

#include <inttypes.h>

#include "compiler/frontend/onnx/onnx_internal.h"

static kiln_value *zeros(kiln_compose *c, kiln_dtype dtype, int rank,
                         const int64_t *dim) {
    return kiln_compose_expand(c, kiln_import_scalar(c->cx, dtype, 0), rank, dim);
}

/* ---- Col2Im ---- */

typedef struct columns {
    kiln_spatial s;                   /* of the image, with the block as kernel */
    int64_t blocks[KILN_MAX_SPATIAL]; /* positions of the block on each axis */
    int64_t taps, positions, pixels, channels;
} columns;

static kiln_status read_columns(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                const kiln_type *x, columns *l) {
    const int64_t *image, *block;
    size_t n_image, n_block;
    kiln_value *v[2];
    KILN_TRY(kiln_onnx_need(cx, n, 1, "image_shape", &v[0]));
    KILN_TRY(kiln_onnx_const_ints(cx, v[0], "image_shape", &image, &n_image));
    KILN_TRY(kiln_onnx_need(cx, n, 2, "block_shape", &v[1]));
    KILN_TRY(kiln_onnx_const_ints(cx, v[1], "block_shape", &block, &n_block));
    if (x->rank != 3 || n_image == 0 || n_image > KILN_MAX_SPATIAL ||
        n_block != n_image)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'input' must have rank 3, 'image_shape' and "
                              "'block_shape' one entry for each of 1 to %d axes",
                              (int)KILN_MAX_SPATIAL);
    int64_t dim[KILN_MAX_RANK] = {1, 1};
    for (size_t i = 0; i < n_image; i++)
        dim[2 + i] = image[i];
    const kiln_value whole = {.type = kiln_type_make(x->dtype, (int)n_image + 2, dim)};
    KILN_TRY(kiln_type_check(&whole.type, kiln_onnx_err(cx)));
    KILN_TRY(kiln_onnx_read_spatial(cx, n, &whole, block, &l->s));
    l->taps = l->positions = l->pixels = 1;
    for (int i = 0; i < l->s.n; i++) {
        const int64_t extent = l->s.dilations[i] * (l->s.kernel[i] - 1) + 1;
        const int64_t room = l->s.in[i] + l->s.pads[i] + l->s.pads[l->s.n + i] - extent;
        l->blocks[i] = room < 0 ? 0 : room / l->s.strides[i] + 1;
        if (l->taps < 1 || l->s.kernel[i] > x->dim[1] / l->taps ||
            (l->positions > 0 && l->blocks[i] > x->dim[2] / l->positions)) {
            l->taps = 0; /* more than the input holds */
            break;
        }
        l->taps *= l->s.kernel[i];
        l->positions *= l->blocks[i];
        l->pixels *= l->s.in[i];
    }
    if (l->taps < 1 || x->dim[1] % l->taps != 0 || l->positions != x->dim[2])
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'input' must have the shape [N, C * block, positions of "
                              "the block], has [%" PRId64 ",%" PRId64 ",%" PRId64 "]",
                              x->dim[0], x->dim[1], x->dim[2]);
    l->channels = x->dim[1] / l->taps;
    return KILN_OK;
}

/* The pixel that a tap of the block at a position covers; `pixels` where it is padding.
 */
static int64_t pixel_of(const columns *l, int64_t tap, int64_t position) {
    int64_t pixel = 0, stride = 1;
    for (int i = l->s.n - 1; i >= 0; i--) {
        const int64_t at = position % l->blocks[i] * l->s.strides[i] +
                           tap % l->s.kernel[i] * l->s.dilations[i] - l->s.pads[i];
        if (at < 0 || at >= l->s.in[i])
            return l->pixels;
        pixel += at * stride;
        stride *= l->s.in[i];
        tap /= l->s.kernel[i];
        position /= l->blocks[i];
    }
    KILN_ASSERT(pixel >= 0 && pixel < l->pixels, "pixel %" PRId64 " of %" PRId64, pixel,
                l->pixels);
    return pixel;
}

/* Where every element of a column goes, [taps * positions, 1]. */
static kiln_value *all_pixels(kiln_compose *c, const columns *l) {
    const int64_t dim[] = {l->taps * l->positions, 1};
    kiln_compose_fail(c, kiln_import_spend(c->cx, 8 * dim[0]));
    if (c->status != KILN_OK)
        return kiln_import_scalar(c->cx, KILN_I64, 0);
    KILN_ASSERT(dim[0] == 0 || l->positions > 0, "taps without a position");
    int64_t *const v = kiln_array(c->cx->arena, int64_t, dim[0]);
    for (int64_t i = 0; i < dim[0]; i++)
        v[i] = pixel_of(l, i / l->positions, i % l->positions);
    return kiln_compose_ints(c, 2, dim, v);
}

/* The sum of all blocks at their places: rows of pixels are added up in an image with
 * one more pixel, which takes what falls on padding. */
kiln_status kiln_onnx_import_col2im(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const int64_t turn[] = {1, 0};
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x;
    columns l = {0};
    KILN_TRY(kiln_onnx_need(cx, n, 0, "input", &x));
    KILN_TRY(read_columns(cx, n, &x->type, &l));
    const kiln_attr_arg add = kiln_arg_word("reduction", "add");
    const int64_t images = x->type.dim[0] * l.channels;
    int64_t dim[KILN_MAX_RANK] = {x->type.dim[0], l.channels};
    for (int i = 0; i < l.s.n; i++)
        dim[2 + i] = l.s.in[i];
    x = kiln_compose_reshape(&c, x, 2, (int64_t[]){images, l.taps * l.positions});
    kiln_value *const in[] = {
        zeros(&c, x->type.dtype, 2, (int64_t[]){l.pixels + 1, images}),
        all_pixels(&c, &l), kiln_compose_transpose(&c, x, turn)};
    kiln_value *y = kiln_compose_op(&c, &kiln_op_scatter_nd, in, 3, &add, 1);
    y = kiln_compose_slice(&c, y, 0, 0, 1, l.pixels);
    y = kiln_compose_transpose(&c, y, turn);
    kiln_onnx_set(cx, n, 0, kiln_compose_reshape(&c, y, l.s.n + 2, dim));
    return c.status;
}

/* ---- MaxUnpool ---- */

/* The shape that max pooling with these windows came from: [N, C, (d - 1) * stride -
 * pads + kernel]. */
static kiln_status pooled_shape(kiln_onnx_cx *cx, const kiln_onnx_node *n,
                                const kiln_value *x, kiln_type *out) {
    kiln_spatial s;
    int64_t dim[KILN_MAX_RANK] = {x->type.dim[0], x->type.dim[1]};
    if (x->type.rank < 3)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "input 'X' must have shape [N, C, ...], has rank %d",
                              x->type.rank);
    if (kiln_onnx_has_attr(n, "dilations") || kiln_onnx_has_attr(n, "auto_pad"))
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "attributes 'dilations' and 'auto_pad' are not known "
                              "here; export without them");
    KILN_TRY(kiln_onnx_read_spatial(cx, n, x, NULL, &s));
    for (int i = 0; i < s.n; i++) {
        if (s.in[i] > KILN_MAX_ELEMS / s.strides[i])
            return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                                  "axis %d of %" PRId64 " with stride %" PRId64
                                  " unpools to too many elements",
                                  2 + i, s.in[i], s.strides[i]);
        dim[2 + i] =
            (s.in[i] - 1) * s.strides[i] + s.kernel[i] - s.pads[i] - s.pads[s.n + i];
    }
    *out = kiln_type_make(x->type.dtype, x->type.rank, dim);
    return kiln_type_check(out, kiln_onnx_err(cx));
}

kiln_status kiln_onnx_import_max_unpool(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *x, *indices, *operand = kiln_onnx_in(cx, n, 2);
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    kiln_type t;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "I", &indices));
    KILN_TRY(pooled_shape(cx, n, x, &t));
    const int64_t taken = kiln_type_elems(&x->type), all = kiln_type_elems(&t);
    kiln_value *const in[] = {zeros(&c, t.dtype, 1, &all),
                              kiln_compose_reshape(&c, indices, 1, &taken),
                              kiln_compose_reshape(&c, x, 1, &taken)};
    kiln_value *y = kiln_compose_op(&c, &kiln_op_scatter_elements, in, 3, &axis, 1);
    y = kiln_compose_reshape(&c, y, t.rank, t.dim);
    if (operand != NULL) {
        const int64_t *shape;
        size_t rank;
        int64_t pads[2 * KILN_MAX_RANK] = {0};
        KILN_TRY(kiln_onnx_const_ints(cx, operand, "output_shape", &shape, &rank));
        if (rank != (size_t)t.rank)
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "'output_shape' must have %d entries, has %zu",
                                  t.rank, rank);
        for (int i = 0; i < t.rank; i++) {
            if (shape[i] < t.dim[i] || shape[i] > KILN_MAX_ELEMS)
                return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                      "axis %d of 'output_shape' must be at least "
                                      "%" PRId64 ", is %" PRId64,
                                      i, t.dim[i], shape[i]);
            pads[t.rank + i] = shape[i] - t.dim[i];
        }
        y = kiln_compose_pad(&c, y, pads, 0);
    }
    kiln_onnx_set(cx, n, 0, y);
    return c.status;
}

/* ---- TensorScatter ---- */

/* Position of each update on the axis, of update's shape: the batch entry's first one
 * and those behind it, in a circle or not. */
static kiln_value *write_positions(kiln_compose *c, const kiln_type *update, int axis,
                                   int64_t length, bool is_circular) {
    kiln_value *first = kiln_onnx_in(kiln_onnx_of(c->cx), c->site, 2);
    int64_t along[KILN_MAX_RANK], over[KILN_MAX_RANK];
    for (int i = 0; i < update->rank; i++) {
        along[i] = i == axis ? update->dim[i] : 1;
        over[i] = i == 0 ? update->dim[i] : 1;
    }
    kiln_value *at = kiln_compose_iota(c, update->dim[axis]);
    at = kiln_compose_reshape(c, at, update->rank, along);
    if (first != NULL) {
        first = kiln_compose_cast(c, first, KILN_I64);
        first = kiln_compose_reshape(c, first, update->rank, over);
        at = kiln_compose_2(c, &kiln_op_add, at, first);
    }
    if (is_circular)
        at = kiln_compose_scalar(c, &kiln_op_mod, at, (double)length);
    return kiln_compose_expand(c, at, update->rank, update->dim);
}

kiln_status kiln_onnx_import_tensor_scatter(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    kiln_compose c = kiln_onnx_compose(cx, n);
    kiln_value *cache, *update;
    int axis;
    KILN_TRY(kiln_onnx_need(cx, n, 0, "past_cache", &cache));
    KILN_TRY(kiln_onnx_need(cx, n, 1, "update", &update));
    KILN_TRY(kiln_axis_normalize(kiln_onnx_attr_i(cx, n, "axis", -2), cache->type.rank,
                                 &axis, kiln_onnx_err(cx)));
    bool fits = update->type.rank == cache->type.rank && axis > 0;
    for (int i = 0; fits && i < cache->type.rank; i++)
        fits = i == axis ? update->type.dim[i] <= cache->type.dim[i]
                         : update->type.dim[i] == cache->type.dim[i];
    if (!fits)
        return kiln_onnx_fail(
            cx, KILN_ERR_SHAPE,
            "'update' must have the shape of 'past_cache', and on axis "
            "%d > 0 not more elements",
            axis);
    const kiln_str mode = kiln_onnx_attr_s(cx, n, "mode", "linear");
    const bool is_circular = kiln_str_is(mode, "circular");
    if (!is_circular && !kiln_str_is(mode, "linear"))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "attribute 'mode' must be linear or circular, is '%s'",
                              kiln_str_printable(kiln_onnx_arena(cx), mode, 32));
    const kiln_attr_arg along = kiln_arg_int("axis", axis);
    kiln_value *const in[] = {
        cache,
        write_positions(&c, &update->type, axis, cache->type.dim[axis], is_circular),
        update};
    kiln_onnx_set(cx, n, 0,
                  kiln_compose_op(&c, &kiln_op_scatter_elements, in, 3, &along, 1));
    return c.status;
}
