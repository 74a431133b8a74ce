/* Operators that slide a window or resize planes: Convolution, Deconvolution, Pooling,
 * UpSampling and their like. Source: apache/mxnet 1.9, src/operator/nn/convolution.cc,
 * deconvolution-inl.h (InferPad), pooling.cc, src/operator/nn/upsampling.cc.
 *
 * Pooling's conventions: valid, out = floor((in + 2 pad - kernel) / stride) + 1; full, the
 * same rounded up; same, out = ceil(in / stride), with what lies behind the end left out. */
#include "compiler/frontend/adaptive_pool.h"
#include "compiler/frontend/mxnet/mxnet_internal.h"
#include "compiler/frontend/spatial.h"

#include <inttypes.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_mx_import_##name(kiln_mx_cx *cx, const kiln_mx_node *n,           \
                                      kiln_value *const *in, kiln_mx_values *out)

enum {
    MAX_SETTING = 1 << 20
}; /* of kernel, stride, pad, dilation: far above real ones */

/* One number for each axis, `otherwise` where they are not given. */
static kiln_status read_setting(kiln_mx_cx *cx, const kiln_mx_node *n, const char *name,
                                int axes, int64_t otherwise, int64_t min, int64_t *v) {
    int64_t given[KILN_MX_MAX_TUPLE];
    const size_t count = kiln_mx_tuple(cx, n, name, given);
    if (count != 0 && count != (size_t)axes)
        return kiln_fail(
            cx->common.err, KILN_ERR_SHAPE,
            "attribute '%s' must have %d numbers, one for each axis of %s, "
            "has %zu",
            name, axes, "the window", count);
    for (int i = 0; i < axes; i++) {
        v[i] = count == 0 ? otherwise : given[i];
        if (v[i] < min || v[i] > MAX_SETTING)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "attribute '%s' must be in [%" PRId64
                             ", %d], has %" PRId64,
                             name, min, MAX_SETTING, v[i]);
    }
    return KILN_OK;
}

static kiln_status read_window(kiln_mx_cx *cx, const kiln_mx_node *n,
                               const kiln_value *x, kiln_spatial *s) {
    KILN_TRY(kiln_mx_need_rank(cx, x, 3));
    KILN_TRY(kiln_mx_need_channels_first(cx, n));
    kiln_spatial_init(s, x, NULL);
    KILN_TRY(read_setting(cx, n, "kernel", s->n, 0, 1, s->kernel));
    KILN_TRY(read_setting(cx, n, "stride", s->n, 1, 1, s->strides));
    KILN_TRY(read_setting(cx, n, "pad", s->n, 0, 0, s->pads));
    for (int i = 0; i < s->n; i++)
        s->pads[s->n + i] = s->pads[i];
    return KILN_OK;
}

/* ---- convolution ----------------------------------------------------------------- */

/* x, weights, bias or NULL; groups. */
static kiln_status read_conv(kiln_mx_cx *cx, const kiln_mx_node *n,
                             kiln_value *const *in, bool is_transposed,
                             kiln_value **from, kiln_spatial *s, int64_t *groups) {
    KILN_TRY(read_window(cx, n, in[0], s));
    KILN_TRY(read_setting(cx, n, "dilate", s->n, 1, 1, s->dilations));
    const bool no_bias = kiln_mx_bool(cx, n, "no_bias", is_transposed);
    const int64_t c_in = in[0]->type.dim[1],
                  c_out = kiln_mx_int(cx, n, "num_filter", 0);
    *groups = kiln_mx_int(cx, n, "num_group", 1);
    if (*groups < 1 || c_out < 1 || c_in % *groups != 0 || c_out % *groups != 0)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "attribute 'num_group', %" PRId64
                         ", must divide its channels, %" PRId64
                         ", and 'num_filter', %" PRId64 ", which must be 1 or more",
                         *groups, c_in, c_out);
    int64_t dim[KILN_MAX_RANK] = {is_transposed ? c_in : c_out,
                                  (is_transposed ? c_out : c_in) / *groups};
    for (int i = 0; i < s->n; i++)
        dim[2 + i] = s->kernel[i];
    const kiln_type want = kiln_type_make(in[0]->type.dtype, s->n + 2, dim);
    if (!kiln_type_same_shape(&want, &in[1]->type))
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its weights must have shape %s, have %s",
                         kiln_shape_text(&cx->common.scratch, s->n + 2, dim),
                         kiln_mx_shape(cx, in[1]));
    if (!no_bias && n->n_in < 3)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "it must have a bias, or 'no_bias' True");
    from[0] = in[0];
    from[1] = in[1];
    from[2] = no_bias ? NULL : in[2];
    return KILN_OK;
}

IMPORTER(convolution) {
    kiln_compose c = kiln_mx_compose(cx, n);
    kiln_value *from[3];
    kiln_spatial s;
    int64_t groups;
    KILN_TRY(read_conv(cx, n, in, false, from, &s, &groups));
    out->v[0] = kiln_compose_conv(&c, from, &s, groups);
    return c.status;
}

/* Pads and what is added behind, where the size of the output is given. */
static kiln_status fit(kiln_mx_cx *cx, const kiln_mx_node *n, kiln_spatial *s,
                       int64_t *extra) {
    int64_t want[KILN_MX_MAX_TUPLE];
    KILN_TRY(read_setting(cx, n, "target_shape", s->n, 0, 0, want));
    KILN_TRY(read_setting(cx, n, "adj", s->n, 0, 0, extra));
    for (int i = 0; i < s->n; i++) {
        const int64_t extent = (s->kernel[i] - 1) * s->dilations[i] + 1;
        const int64_t whole = s->strides[i] * (s->in[i] - 1) + extent;
        if (want[i] == 0)
            continue;
        if (whole < want[i])
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "attribute 'target_shape' must be at most %" PRId64
                             " on axis %d, is %" PRId64,
                             whole, 2 + i, want[i]);
        extra[i] = (whole - want[i]) % 2;
        s->pads[i] = s->pads[s->n + i] = (whole - want[i] + 1) / 2;
    }
    return KILN_OK;
}

static kiln_value *deconvolve(kiln_compose *c, kiln_value *const *in,
                              const kiln_spatial *s, const int64_t *extra,
                              int64_t groups) {
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 2];
    kiln_spatial_args(s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_int("groups", groups);
    args[KILN_SPATIAL_ARGS + 1] = kiln_arg_ints("output_padding", extra, (size_t)s->n);
    return kiln_compose_op(c, &kiln_op_conv_transpose, in, 3, args,
                           KILN_SPATIAL_ARGS + 2);
}

IMPORTER(deconvolution) {
    kiln_compose c = kiln_mx_compose(cx, n);
    kiln_value *from[3];
    kiln_spatial s;
    int64_t groups, extra[KILN_MAX_SPATIAL];
    KILN_TRY(read_conv(cx, n, in, true, from, &s, &groups));
    KILN_TRY(fit(cx, n, &s, extra));
    out->v[0] = deconvolve(&c, from, &s, extra, groups);
    return c.status;
}

/* ---- pooling --------------------------------------------------------------------- */

enum { VALID, FULL, SAME };
enum { MAX, AVG, SUM, LP };

static kiln_status global_pool(kiln_mx_cx *cx, kiln_compose *c, kiln_value *x, int type,
                               kiln_value **out) {
    static const kiln_op_def *const ops[] = {&kiln_op_reduce_max, &kiln_op_reduce_mean,
                                             &kiln_op_reduce_sum};
    int64_t axes[KILN_MAX_SPATIAL];
    KILN_TRY(kiln_mx_need_rank(cx, x, 3));
    const size_t n = (size_t)x->type.rank - 2;
    if (type == LP)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'pool_type' lp with 'global_pool' is not read");
    for (size_t i = 0; i < n; i++)
        axes[i] = 2 + (int64_t)i;
    *out = kiln_compose_reduce(c, ops[type], x, axes, n, true);
    return c->status;
}

/* MXNet keeps windows that begin behind the input, which hold nothing. */
static kiln_status check_full(kiln_mx_cx *cx, const kiln_spatial *s) {
    for (int i = 0; i < s->n; i++) {
        const int64_t room = s->in[i] + 2 * s->pads[i] - s->kernel[i];
        const int64_t last = room > 0 ? (room + s->strides[i] - 1) / s->strides[i] : 0;
        if (last * s->strides[i] - s->pads[i] >= s->in[i])
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "its last window would lie behind the %" PRId64
                             " elements of axis %d; give it another stride, or the "
                             "convention valid",
                             s->in[i], 2 + i);
    }
    return KILN_OK;
}

/* What "same" adds behind the end. */
static kiln_status pad_same(kiln_mx_cx *cx, kiln_spatial *s) {
    for (int i = 0; i < s->n; i++) {
        const int64_t size = (s->in[i] + s->strides[i] - 1) / s->strides[i];
        const int64_t need = (size - 1) * s->strides[i] + s->kernel[i] - s->in[i];
        if (s->pads[i] != 0 || need < 0)
            return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                             "the convention same is read without 'pad', and with a "
                             "kernel of the stride at least");
        s->pads[s->n + i] = need;
    }
    return KILN_OK;
}

static kiln_status pool(kiln_mx_cx *cx, const kiln_mx_node *n, kiln_value *x, int type,
                        kiln_value **out) {
    static const char *const conventions[] = {"valid", "full", "same", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    kiln_spatial s;
    int64_t taps = 1;
    const bool counts = kiln_mx_bool(cx, n, "count_include_pad", true);
    const int convention = kiln_mx_word(cx, n, "pooling_convention", conventions);
    KILN_TRY(read_window(cx, n, x, &s));
    if (convention == FULL)
        KILN_TRY(check_full(cx, &s));
    if (convention == SAME)
        KILN_TRY(pad_same(cx, &s));
    const kiln_attr_arg count = kiln_arg_bool(
        "count_include_pad", type == SUM || (counts && convention != SAME));
    const kiln_attr_arg p = kiln_arg_int("p", kiln_mx_int(cx, n, "p_value", 2));
    if (type == SUM && convention != VALID)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'pool_type' sum is read with the convention valid");
    for (int i = 0; i < s.n; i++)
        taps = taps > MAX_SETTING ? taps : taps * s.kernel[i];
    *out = kiln_compose_pool(&c,
                             type == MAX  ? &kiln_op_max_pool
                             : type == LP ? &kiln_op_lp_pool
                                          : &kiln_op_avg_pool,
                             x, &s, convention == FULL, type == LP ? &p : &count,
                             type != MAX);
    if (type == SUM)
        *out = kiln_compose_scalar(&c, &kiln_op_mul, *out, (double)taps);
    return c.status;
}

IMPORTER(pooling) {
    static const char *const types[] = {"max", "avg", "sum", "lp", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    const int type = kiln_mx_word(cx, n, "pool_type", types);
    int64_t unused[KILN_MX_MAX_TUPLE];
    if (!kiln_mx_bool(cx, n, "global_pool", false))
        return pool(cx, n, in[0], type, &out->v[0]);
    KILN_TRY(kiln_mx_need_channels_first(cx, n));
    (void)kiln_mx_tuple(cx, n, "kernel", unused); /* without effect */
    (void)kiln_mx_tuple(cx, n, "stride", unused);
    (void)kiln_mx_tuple(cx, n, "pad", unused);
    (void)kiln_mx_text(cx, n, "pooling_convention");
    (void)kiln_mx_text(cx, n, "count_include_pad");
    return global_pool(cx, &c, in[0], type, &out->v[0]);
}

/* To one size of both axes, or one of each; without any to 1 x 1. */
IMPORTER(adaptive_avg_pooling) {
    kiln_compose c = kiln_mx_compose(cx, n);
    int64_t size[KILN_MX_MAX_TUPLE] = {1, 1};
    const kiln_type *const t = &in[0]->type;
    const size_t count = kiln_mx_tuple(cx, n, "output_size", size);
    if (count == 1)
        size[1] = size[0];
    if (t->rank != 4 || count > 2 || size[0] < 1 || size[0] > MAX_SETTING ||
        size[1] < 1 || size[1] > MAX_SETTING)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "[N, C, H, W] is pooled to one or two sizes of 1 to %d; has "
                         "shape %s and %zu sizes",
                         (int)MAX_SETTING, kiln_mx_shape(cx, in[0]), count);
    out->v[0] = kiln_compose_adaptive_pool(&c, in[0], size, false);
    return c.status;
}

/* ---- planes ---------------------------------------------------------------------- */

static kiln_status need_plane(kiln_mx_cx *cx, const kiln_value *x) {
    const kiln_type *const t = &x->type;
    if (t->rank == 4 && t->dim[2] > 0 && t->dim[3] > 0 && t->dim[2] <= MAX_SETTING &&
        t->dim[3] <= MAX_SETTING)
        return KILN_OK;
    return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                     "its input must have shape [N, C, H, W], has %s",
                     kiln_mx_shape(cx, x));
}

/* Bilinear is a Deconvolution of each channel, with weights that the model brings. */
IMPORTER(up_sampling) {
    static const char *const types[] = {"nearest", "bilinear", NULL};
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t scale = kiln_mx_int(cx, n, "scale", 0);
    const bool is_linear = kiln_mx_word(cx, n, "sample_type", types) == 1;
    (void)kiln_mx_text(cx, n, "num_filter");
    (void)kiln_mx_text(cx, n, "multi_input_mode");
    KILN_TRY(need_plane(cx, in[0]));
    if (scale < 1 || scale > 64 || n->n_in != (is_linear ? 2u : 1u))
        return kiln_fail(
            cx->common.err, KILN_ERR_UNSUPPORTED,
            "it is read with 'scale' in [1, 64], one input, and weights where "
            "it is bilinear; has scale %" PRId64 " and %zu inputs",
            scale, n->n_in);
    const int64_t *const dim = in[0]->type.dim;
    if (!is_linear) {
        out->v[0] = kiln_compose_planes(&c, in[0], scale * dim[2], scale * dim[3],
                                        "nearest", "asymmetric");
        return c.status;
    }
    static const int64_t none[KILN_MAX_SPATIAL] = {0};
    const int64_t kernel[] = {2 * scale - scale % 2, 2 * scale - scale % 2};
    const int64_t want[] = {dim[1], 1, kernel[0], kernel[0]};
    const kiln_type t = kiln_type_make(in[0]->type.dtype, 4, want);
    if (!kiln_type_same_shape(&t, &in[1]->type))
        return kiln_fail(
            cx->common.err, KILN_ERR_SHAPE, "its weights must have shape %s, have %s",
            kiln_shape_text(&cx->common.scratch, 4, want), kiln_mx_shape(cx, in[1]));
    kiln_spatial s;
    kiln_spatial_init(&s, in[0], kernel);
    for (int i = 0; i < 4; i++)
        s.pads[i] = scale / 2; /* ceil((scale - 1) / 2) */
    s.strides[0] = s.strides[1] = scale;
    kiln_value *const from[] = {in[0], in[1], NULL};
    out->v[0] = deconvolve(&c, from, &s, none, dim[1]);
    return c.status;
}

/* Corners stay corners, unless it is said otherwise. */
IMPORTER(bilinear_resize) {
    kiln_compose c = kiln_mx_compose(cx, n);
    const int64_t height = kiln_mx_int(cx, n, "height", 0),
                  width = kiln_mx_int(cx, n, "width", 0);
    const bool has_corners = kiln_mx_bool(cx, n, "align_corners", true);
    const double by_height = kiln_mx_float(cx, n, "scale_height", 0),
                 by_width = kiln_mx_float(cx, n, "scale_width", 0);
    const char *const mode = kiln_mx_text(cx, n, "mode");
    KILN_TRY(need_plane(cx, in[0]));
    if ((mode != NULL && !kiln_str_is(kiln_str_from(mode), "size")) || by_height != 0 ||
        by_width != 0 || height < 1 || width < 1 || height > MAX_SETTING ||
        width > MAX_SETTING)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it is read with 'height' and 'width', not with scales");
    out->v[0] = kiln_compose_planes(&c, in[0], height, width, "linear",
                                    has_corners ? "align_corners" : "half_pixel");
    return c.status;
}
