/* Resize and Upsample: sizes and scales become attributes of resize.
 *
 * Source: ONNX Resize 10, 11, 13, 18, 19; Upsample 7, 9. Versions before 11 have no
 * coordinate attributes: positions are divided by the scale (asymmetric).
 */
#include "compiler/frontend/onnx/onnx_internal.h"

#include <inttypes.h>
#include <math.h>

/* What the operands and attributes say, for all axes of the input. */
typedef struct request {
    int rank;
    const int64_t *in; /* shape */
    int64_t size[KILN_MAX_RANK];
    double scale[KILN_MAX_RANK];
    double roi[2 * KILN_MAX_RANK];
    bool has_roi;
} request;

static void start(request *r, const kiln_value *x) {
    *r = (request){.rank = x->type.rank, .in = x->type.dim};
    for (int i = 0; i < r->rank; i++) {
        r->size[i] = x->type.dim[i];
        r->scale[i] = 1;
        r->roi[r->rank + i] = 1;
    }
}

/* Attribute 'axes' (18 on): which axes the operands speak of; all of them without it.
 */
static kiln_status read_axes(kiln_onnx_cx *cx, const kiln_onnx_node *n, int rank,
                             int *axis, size_t *n_axes) {
    const int64_t *v = NULL;
    *n_axes = kiln_onnx_attr_ints(cx, n, "axes", &v);
    bool is_taken[KILN_MAX_RANK] = {false};
    if (*n_axes > (size_t)rank)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'axes' names %zu axes of an input of rank %d", *n_axes,
                              rank);
    for (size_t i = 0; i < *n_axes; i++) {
        KILN_TRY(kiln_axis_normalize(v[i], rank, &axis[i], kiln_onnx_err(cx)));
        if (is_taken[axis[i]])
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'axes' names axis %d twice",
                                  axis[i]);
        is_taken[axis[i]] = true;
    }
    if (v != NULL && *n_axes > 0)
        return KILN_OK;
    *n_axes = (size_t)rank;
    for (int i = 0; i < rank; i++)
        axis[i] = i;
    return KILN_OK;
}

/* A length from a double; KILN_ERR_LIMIT where it is none. */
static kiln_status length(kiln_onnx_cx *cx, double v, int64_t *out) {
    if (!(v >= 0 && v <= (double)KILN_MAX_ELEMS))
        return kiln_onnx_fail(cx, KILN_ERR_LIMIT,
                              "an axis of %g elements; at most 2^40 are possible", v);
    *out = (int64_t)v;
    return KILN_OK;
}

static kiln_status take_scales(kiln_onnx_cx *cx, request *r, const double *scale,
                               size_t n, const int *axis, size_t n_axes) {
    if (n != n_axes)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'scales' must have %zu values, has %zu", n_axes, n);
    for (size_t i = 0; i < n; i++) {
        if (!(scale[i] > 0) || isinf(scale[i]))
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "scales must be positive numbers, one is %g",
                                  scale[i]);
        const int k = axis[i];
        r->scale[k] = scale[i];
        KILN_TRY(length(cx, floor((double)r->in[k] * scale[i]), &r->size[k]));
    }
    return KILN_OK;
}

/* keep_aspect_ratio_policy (18 on): one scale for all axes named, so that the result
 * fits into (not_larger) or covers (not_smaller) the sizes. */
static kiln_status keep_ratio(kiln_onnx_cx *cx, request *r, bool is_larger,
                              const int *axis, size_t n_axes) {
    KILN_ASSERT(n_axes > 0, "a ratio of no axes");
    double scale = r->scale[axis[0]];
    for (size_t i = 1; i < n_axes; i++) {
        const double s = r->scale[axis[i]];
        scale = is_larger ? (s > scale ? s : scale) : (s < scale ? s : scale);
    }
    for (size_t i = 0; i < n_axes; i++) {
        const int k = axis[i];
        r->scale[k] = scale;
        KILN_TRY(length(cx, floor(scale * (double)r->in[k] + 0.5), &r->size[k]));
    }
    return KILN_OK;
}

static kiln_status take_sizes(kiln_onnx_cx *cx, kiln_str policy, request *r,
                              const int64_t *size, size_t n, const int *axis,
                              size_t n_axes) {
    if (n != n_axes || n == 0)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                              "'sizes' must have %zu values, has %zu", n_axes, n);
    for (size_t i = 0; i < n; i++) {
        const int k = axis[i];
        if (size[i] < 1 || r->in[k] < 1 || size[i] > KILN_MAX_ELEMS)
            return kiln_onnx_fail(cx, KILN_ERR_SHAPE,
                                  "an axis of %" PRId64
                                  " cannot be resized to %" PRId64,
                                  r->in[k], size[i]);
        r->size[k] = size[i];
        r->scale[k] = (double)size[i] / (double)r->in[k];
    }
    if (kiln_str_is(policy, "stretch"))
        return KILN_OK;
    const bool is_larger = kiln_str_is(policy, "not_smaller");
    if (!is_larger && !kiln_str_is(policy, "not_larger"))
        return kiln_onnx_fail(
            cx, KILN_ERR_PARSE,
            "'keep_aspect_ratio_policy' must be stretch, not_larger or "
            "not_smaller");
    return keep_ratio(cx, r, is_larger, axis, n_axes);
}

static kiln_status take_roi(kiln_onnx_cx *cx, request *r, kiln_value *roi,
                            const int *axis, size_t n_axes) {
    const double *v = NULL;
    size_t n = 0;
    if (roi == NULL)
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "tf_crop_and_resize needs input 1 ('roi')");
    KILN_TRY(kiln_onnx_const_floats(cx, roi, "roi", &v, &n));
    if (n != 2 * n_axes)
        return kiln_onnx_fail(cx, KILN_ERR_SHAPE, "'roi' must have %zu values, has %zu",
                              2 * n_axes, n);
    for (size_t i = 0; i < n_axes; i++) {
        r->roi[axis[i]] = v[i];
        r->roi[r->rank + axis[i]] = v[n_axes + i];
    }
    r->has_roi = true;
    return KILN_OK;
}

/* The words of the attributes, as resize spells them. */
typedef struct words {
    const char *mode, *coordinates, *rounding;
} words;

static kiln_status emit(kiln_onnx_cx *cx, const kiln_onnx_node *n, kiln_value *x,
                        const request *r, const words *w) {
    const size_t rank = (size_t)r->rank;
    const kiln_attr_arg args[] = {
        kiln_arg_ints("sizes", r->size, rank),
        kiln_arg_floats("scales", r->scale, rank),
        kiln_arg_word("mode", w->mode),
        kiln_arg_word("coordinates", w->coordinates),
        kiln_arg_word("rounding", w->rounding),
        kiln_arg_float("cubic_a", kiln_onnx_attr_f(cx, n, "cubic_coeff_a", -0.75)),
        kiln_arg_bool("antialias", kiln_onnx_attr_i(cx, n, "antialias", 0) != 0),
        kiln_arg_bool("exclude_outside",
                      kiln_onnx_attr_i(cx, n, "exclude_outside", 0) != 0),
        kiln_arg_float("extrapolation",
                       kiln_onnx_attr_f(cx, n, "extrapolation_value", 0)),
        kiln_arg_floats("roi", r->roi, r->has_roi ? 2 * rank : 0),
    };
    kiln_value *y = NULL;
    KILN_TRY(kiln_onnx_emit1(cx, n, &kiln_op_resize, x, args,
                             sizeof args / sizeof args[0], &y));
    kiln_onnx_set(cx, n, 0, y);
    return KILN_OK;
}

/* One of the row's choices, or KILN_ERR_UNSUPPORTED. */
static kiln_status word_of(kiln_onnx_cx *cx, const kiln_onnx_node *n, const char *name,
                           const char *otherwise, const char *const *known,
                           const char **out) {
    const kiln_str s = kiln_onnx_attr_s(cx, n, name, otherwise);
    for (int i = 0; known[i] != NULL; i++) {
        if (!kiln_str_is(s, known[i]))
            continue;
        *out = known[i];
        return KILN_OK;
    }
    return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED, "attribute '%s' is '%s'", name,
                          kiln_str_printable(kiln_onnx_arena(cx), s, 40));
}

static const char *const modes[] = {"nearest", "linear", "cubic", NULL};

/* Before 11, nearest takes the element above where an axis shrinks and the one below
 * where it grows (as the data of that release and ONNX Runtime have it); one attribute
 * rounds all axes, so a node that does both is refused. */
static kiln_status old_rounding(kiln_onnx_cx *cx, const request *r, const char **out) {
    bool shrinks = false, grows = false;
    for (int i = 0; i < r->rank; i++) {
        shrinks = shrinks || r->scale[i] < 1;
        grows = grows || r->scale[i] > 1;
    }
    if (shrinks && grows)
        return kiln_onnx_fail(cx, KILN_ERR_UNSUPPORTED,
                              "nearest of opset 10 or below that enlarges one axis and "
                              "reduces another; export with opset 11 or later");
    *out = shrinks ? "ceil" : "floor";
    return KILN_OK;
}

/* Upsample 7 (attribute scales), 9 (input), Resize 10 (input). */
kiln_status kiln_onnx_import_upsample(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const old_modes[] = {"nearest", "linear", "bilinear", NULL};
    kiln_value *x = NULL, *operand = NULL;
    request r;
    words w = {.coordinates = "asymmetric", .rounding = "floor"};
    const double *scale = NULL;
    size_t n_scales = 0, n_axes = 0;
    int axis[KILN_MAX_RANK];
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(word_of(cx, n, "mode", "nearest", old_modes, &w.mode));
    if (w.mode == old_modes[2])
        w.mode = "linear";
    start(&r, x);
    if (kiln_onnx_has_attr(n, "scales")) {
        n_scales = kiln_onnx_attr_floats(cx, n, "scales", &scale);
    } else {
        KILN_TRY(kiln_onnx_need(cx, n, 1, "scales", &operand));
        KILN_TRY(kiln_onnx_const_floats(cx, operand, "scales", &scale, &n_scales));
    }
    KILN_TRY(read_axes(cx, n, r.rank, axis, &n_axes));
    KILN_TRY(take_scales(cx, &r, scale, n_scales, axis, n_axes));
    if (w.mode == old_modes[0])
        KILN_TRY(old_rounding(cx, &r, &w.rounding));
    return emit(cx, n, x, &r, &w);
}

/* An operand that is absent or holds nothing was not given (11 wrote it so). */
static bool is_given(const kiln_value *v) {
    return v != NULL && kiln_type_elems(&v->type) > 0;
}

/* Resize 11 on: X, roi, scales, sizes; exactly one of the last two. */
kiln_status kiln_onnx_import_resize(kiln_onnx_cx *cx, const kiln_onnx_node *n) {
    static const char *const coordinates[] = {
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
        "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil",
                                            "floor", "ceil", NULL};
    kiln_value *x = NULL;
    kiln_value *scales = kiln_onnx_in(cx, n, 2), *sizes = kiln_onnx_in(cx, n, 3);
    request r;
    words w;
    size_t n_axes = 0, count = 0;
    int axis[KILN_MAX_RANK];
    /* Means something for sizes only, but may stand beside scales. */
    const kiln_str policy =
        kiln_onnx_attr_s(cx, n, "keep_aspect_ratio_policy", "stretch");
    KILN_TRY(kiln_onnx_need(cx, n, 0, "X", &x));
    KILN_TRY(word_of(cx, n, "mode", "nearest", modes, &w.mode));
    KILN_TRY(word_of(cx, n, "coordinate_transformation_mode", "half_pixel", coordinates,
                     &w.coordinates));
    KILN_TRY(
        word_of(cx, n, "nearest_mode", "round_prefer_floor", roundings, &w.rounding));
    start(&r, x);
    KILN_TRY(read_axes(cx, n, r.rank, axis, &n_axes));
    if (is_given(scales) == is_given(sizes))
        return kiln_onnx_fail(cx, KILN_ERR_PARSE,
                              "exactly one of 'scales' and 'sizes' must be given");
    if (is_given(scales)) {
        const double *v = NULL;
        KILN_TRY(kiln_onnx_const_floats(cx, scales, "scales", &v, &count));
        KILN_TRY(take_scales(cx, &r, v, count, axis, n_axes));
    } else {
        const int64_t *v = NULL;
        KILN_TRY(kiln_onnx_const_ints(cx, sizes, "sizes", &v, &count));
        KILN_TRY(take_sizes(cx, policy, &r, v, count, axis, n_axes));
    }
    if (kiln_str_is(kiln_str_from(w.coordinates), "tf_crop_and_resize"))
        KILN_TRY(take_roi(cx, &r, kiln_onnx_in(cx, n, 1), axis, n_axes));
    return emit(cx, n, x, &r, &w);
}
