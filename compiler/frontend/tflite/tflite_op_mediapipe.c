/* Importers of MediaPipe's operators MaxPoolingWithArgmax2D, MaxUnpooling2D and
 * TransformTensorBilinear. Source: MediaPipe, mediapipe/util/tflite/operations. */
#include "compiler/frontend/argmax_pool.h"
#include "compiler/frontend/sample_points.h"
#include "compiler/frontend/tflite/flex.h"
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- pools -------------------------------------------------------------------------- */

/* A window, in the order that channels-last values have. */
typedef struct window {
    int64_t kernel[2], strides[2];
    kiln_padding padding;
    int64_t activation;
} window;

/* Options of both pools are TfLitePoolParams as they lay in memory: padding (1 SAME, 2
 * VALID), strides and filter (width, height), activation, and what the interpreter keeps
 * there for itself. */
static kiln_status read_window(kiln_tflite_cx *cx, window *w) {
    enum { PADDING, STRIDE_W, STRIDE_H, FILTER_W, FILTER_H, ACTIVATION, N, SAME = 1 };
    enum { MAX_SIDE = 1024 };
    int32_t v[N];
    if (cx->op->custom_options.n < sizeof v)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "its options must have %zu bytes, have %zu", sizeof v,
                                cx->op->custom_options.n);
    memcpy(v, cx->op->custom_options.p, sizeof v);
    bool is_good = v[PADDING] == SAME || v[PADDING] == SAME + 1;
    for (int i = STRIDE_W; i <= FILTER_H; i++)
        is_good = is_good && v[i] >= 1 && v[i] <= MAX_SIDE;
    if (!is_good)
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "padding must be 1 or 2, strides and filter 1 to %d, "
                                "are %d, %d x %d and %d x %d",
                                MAX_SIDE, v[PADDING], v[STRIDE_H], v[STRIDE_W],
                                v[FILTER_H], v[FILTER_W]);
    *w =
        (window){.kernel = {v[FILTER_H], v[FILTER_W]},
                 .strides = {v[STRIDE_H], v[STRIDE_W]},
                 .padding = v[PADDING] == SAME ? KILN_PADDING_SAME : KILN_PADDING_VALID,
                 .activation = v[ACTIVATION]};
    return KILN_OK;
}

/* Where the window of each of n results begins, less the padding: i64 along `axis` of
 * four. */
static kiln_value *origins(kiln_compose *c, int64_t n, int64_t stride, int64_t pad,
                           int axis) {
    int64_t dim[] = {1, 1, 1, 1};
    dim[axis] = n;
    kiln_value *at = kiln_compose_iota(c, n);
    at = kiln_compose_scalar(c, &kiln_op_mul, at, (double)stride);
    at = kiln_compose_scalar(c, &kiln_op_sub, at, (double)pad);
    return kiln_compose_reshape(c, at, 4, dim);
}

/* Row and column of a number that counts through rows of `width`. */
static kiln_value *column_of(kiln_compose *c, kiln_value *at, int64_t width) {
    return kiln_compose_scalar(c, &kiln_op_mod, at, (double)width);
}

static kiln_value *row_of(kiln_compose *c, kiln_value *at, int64_t width) {
    return kiln_compose_scalar(c, &kiln_op_div, at, (double)width);
}

/* The second result is where in its window each largest element lies, row * filter_width
 * + column, as a float with 0.1 on top. */
kiln_status kiln_tflite_import_argmax_pool(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *y[2];
    kiln_spatial s;
    window w;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(read_window(cx, &w));
    if (!kiln_window_over(&c, x, w.kernel, w.strides, NULL, w.padding, &s))
        return c.status;
    kiln_channels_last_argmax_pool(&c, x, &s, y);
    KILN_TRY(c.status);
    const int64_t *const out = y[0]->type.dim, width = x->type.dim[2];
    kiln_value *const row =
        kiln_compose_2(&c, &kiln_op_sub, row_of(&c, y[1], width),
                       origins(&c, out[1], w.strides[0], s.pads[0], 1));
    kiln_value *const column =
        kiln_compose_2(&c, &kiln_op_sub, column_of(&c, y[1], width),
                       origins(&c, out[2], w.strides[1], s.pads[1], 2));
    kiln_value *at = kiln_compose_scalar(&c, &kiln_op_mul, row, (double)w.kernel[1]);
    at = kiln_compose_2(&c, &kiln_op_add, at, column);
    at = kiln_compose_cast(&c, at, KILN_F32);
    at = kiln_compose_scalar(&c, &kiln_op_add, at, (double)0.1f);
    kiln_value *const best = kiln_tflite_activate(&c, y[0], w.activation);
    KILN_TRY(c.status);
    KILN_TRY(kiln_tflite_set(cx, 0, best));
    return kiln_tflite_set(cx, 1, at);
}

/* A row or column of what a window has at `in_window`, where windows begin at `origin`. */
static kiln_value *place(kiln_compose *c, kiln_value *in_window, kiln_value *origin,
                         int64_t size) {
    return kiln_tflite_clip(c, kiln_compose_2(c, &kiln_op_add, in_window, origin), 0,
                            (double)(size - 1));
}

/* Where elements go in the list of all [N, H, W, C] of `out`. Indices beyond the window,
 * which no pool makes, are those of its last element. */
static kiln_value *places(kiln_compose *c, const window *w, kiln_value *at,
                          const int64_t *out) {
    const int64_t *const d = at->type.dim, first[] = {d[0], 1, 1, 1},
                         taps = w->kernel[0] * w->kernel[1];
    kiln_value *origin[2];
    for (int i = 0; i < 2; i++) {
        const int64_t reach =
            (d[1 + i] - 1) * w->strides[i] + w->kernel[i] - out[1 + i];
        origin[i] =
            origins(c, d[1 + i], w->strides[i], reach > 0 ? reach / 2 : 0, 1 + i);
    }
    kiln_value *image = kiln_compose_iota(c, d[0]);
    image = kiln_compose_scalar(c, &kiln_op_mul, image, (double)out[1]);
    at = kiln_tflite_clip(c, kiln_compose_cast(c, at, KILN_I64), 0, (double)(taps - 1));
    kiln_value *row = place(c, row_of(c, at, w->kernel[1]), origin[0], out[1]);
    kiln_value *const column =
        place(c, column_of(c, at, w->kernel[1]), origin[1], out[2]);
    row =
        kiln_compose_2(c, &kiln_op_add, row, kiln_compose_reshape(c, image, 4, first));
    at = kiln_compose_scalar(c, &kiln_op_mul, row, (double)out[2]);
    at = kiln_compose_2(c, &kiln_op_add, at, column);
    at = kiln_compose_scalar(c, &kiln_op_mul, at, (double)out[3]);
    return kiln_compose_2(c, &kiln_op_add, at, kiln_compose_iota(c, d[3]));
}

/* Each element where its index says in its window, zeros elsewhere; the result is as many
 * times as large as the window. */
kiln_status kiln_tflite_import_unpool(kiln_tflite_cx *cx) {
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *at;
    window w;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need(cx, 1, "indices", &at));
    KILN_TRY(read_window(cx, &w));
    const kiln_type *const t = &x->type;
    const int64_t elems = kiln_type_elems(t);
    if (t->rank != 4 || !kiln_type_same_shape(t, &at->type) || elems < 1 ||
        elems > KILN_MAX_ELEMS / (w.kernel[0] * w.kernel[1]))
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "input and indices must have rank 4, one shape and no "
                                "0, are %s and %s",
                                kiln_type_text(&cx->common.scratch, t),
                                kiln_type_text(&cx->common.scratch, &at->type));
    const int64_t out[] = {t->dim[0], t->dim[1] * w.kernel[0], t->dim[2] * w.kernel[1],
                           t->dim[3]};
    const int64_t room = elems * w.kernel[0] * w.kernel[1];
    kiln_value *const zero = kiln_import_scalar(&cx->common, t->dtype, 0);
    kiln_value *const in[] = {
        kiln_compose_expand(&c, zero, 1, &room),
        kiln_compose_reshape(&c, places(&c, &w, at, out), 1, &elems),
        kiln_compose_reshape(&c, x, 1, &elems)};
    const kiln_attr_arg axis = kiln_arg_int("axis", 0);
    kiln_value *const y =
        kiln_compose_op(&c, &kiln_op_scatter_elements, in, 3, &axis, 1);
    return kiln_tflite_end(cx, &c, kiln_compose_reshape(&c, y, 4, out));
}

/* ---- images ------------------------------------------------------------------------- */

/* 0, 1, ... n - 1 along `axis` of three, as floats. */
static kiln_value *steps(kiln_compose *c, int64_t n, int axis) {
    int64_t dim[] = {1, 1, 1};
    dim[axis] = n;
    return kiln_compose_reshape(
        c, kiln_compose_cast(c, kiln_compose_iota(c, n), KILN_F32), 3, dim);
}

/* m[4 * row ..] of a transformation: m0 * x + m1 * y + m3 of pixels' centres, which are
 * half a pixel from their corners. */
static kiln_value *transformed(kiln_compose *c, kiln_value *m, int row, kiln_value *x,
                               kiln_value *y) {
    kiln_value *part[4];
    for (int i = 0; i < 4; i++)
        part[i] = kiln_compose_slice(c, m, 0, (int64_t)row * 4 + i, 1, 1);
    kiln_value *const sum = kiln_compose_2(c, &kiln_op_add, part[0], part[1]);
    kiln_value *move = kiln_compose_scalar(c, &kiln_op_mul, sum, 0.5);
    move = kiln_compose_2(c, &kiln_op_add, part[3],
                          kiln_compose_scalar(c, &kiln_op_sub, move, 0.5));
    x = kiln_compose_2(c, &kiln_op_mul, x, part[0]);
    y = kiln_compose_2(c, &kiln_op_mul, y, part[1]);
    return kiln_compose_2(c, &kiln_op_add, kiln_compose_2(c, &kiln_op_add, x, y), move);
}

/* One image [1, H, W, C] at the points that a matrix [.., 4, 4] takes the result's pixels
 * to, zero outside. */
kiln_status kiln_tflite_import_transform_tensor(kiln_tflite_cx *cx) {
    enum { MATRIX = 16 };
    kiln_compose c = kiln_tflite_compose(cx);
    kiln_value *x, *m;
    kiln_flex_map map;
    double height = 0, width = 0;
    const int64_t flat = MATRIX;
    KILN_TRY(kiln_tflite_need(cx, 0, "input", &x));
    KILN_TRY(kiln_tflite_need(cx, 1, "matrix", &m));
    KILN_TRY(kiln_flex_open(cx->op->custom_options, &map, cx->common.err));
    kiln_flex_number(&map, "output_height", &height);
    kiln_flex_number(&map, "output_width", &width);
    if (!(height >= 1 && height <= INT32_MAX && width >= 1 && width <= INT32_MAX))
        return kiln_tflite_fail(cx, KILN_ERR_PARSE,
                                "output_height and output_width must be 1 to 2^31 - 1, "
                                "are %g and %g",
                                height, width);
    if (x->type.rank != 4 || x->type.dim[0] != 1 || x->type.dtype != KILN_F32 ||
        m->type.dtype != KILN_F32 || kiln_type_elems(&m->type) != MATRIX)
        return kiln_tflite_fail(cx, KILN_ERR_SHAPE,
                                "it takes one image of floats and a matrix of 4 x 4, "
                                "not %s and %s",
                                kiln_type_text(&cx->common.scratch, &x->type),
                                kiln_type_text(&cx->common.scratch, &m->type));
    m = kiln_compose_reshape(&c, m, 1, &flat);
    kiln_value *const column = steps(&c, (int64_t)width, 2), *const row = steps(
                                                                 &c, (int64_t)height,
                                                                 1);
    const kiln_points p = {.x = transformed(&c, m, 0, column, row),
                           .y = transformed(&c, m, 1, column, row)};
    return kiln_tflite_end(cx, &c, kiln_compose_sample(&c, x, &p));
}
