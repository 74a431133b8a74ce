/* Layers that slide a window: Convolution, Deconvolution, Pooling. Source: BVLC Caffe
 * 1.0, base_conv_layer.cpp, pooling_layer.cpp.
 *
 * A pool is rounded up: out = ceil((in + 2 pad - kernel) / stride) + 1, and one less
 * where there is padding and the last window would begin behind the input and its first
 * padding. An average divides by what of the window lies in the input and its padding. */
#include "compiler/frontend/caffe/caffe_internal.h"
#include "compiler/frontend/spatial.h"

#include <inttypes.h>

enum {
    MAX_SETTING = 1 << 20
}; /* of kernel, stride, pad, dilation: far above real ones */

/* One setting of a window, for each axis: a list of one or of all, or two by name. */
typedef struct setting {
    const char *name;
    const int64_t *list;
    size_t n_list;
    int64_t h, w;
    bool has_h, has_w;
    int64_t otherwise, min;
} setting;

static kiln_status read_setting(kiln_caffe_cx *cx, const setting *s, int n,
                                int64_t *out) {
    const bool is_named = s->has_h || s->has_w;
    if ((is_named && (n != 2 || s->n_list > 0 || !s->has_h || !s->has_w)) ||
        (s->n_list > 1 && s->n_list != (size_t)n))
        return kiln_fail(
            cx->common.err, KILN_ERR_SHAPE,
            "'%s' must be given once, once for each of %d axes, or as '%s_h' "
            "and '%s_w'",
            s->name, n, s->name, s->name);
    for (int i = 0; i < n; i++) {
        out[i] = is_named         ? (i == 0 ? s->h : s->w)
                 : s->n_list > 1  ? s->list[i]
                 : s->n_list == 1 ? s->list[0]
                                  : s->otherwise;
        if (out[i] < s->min || out[i] > MAX_SETTING)
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "'%s' must be in [%" PRId64 ", %d], is %" PRId64, s->name,
                             s->min, MAX_SETTING, out[i]);
    }
    return KILN_OK;
}

static kiln_status read_window(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                               const kiln_value *x, kiln_spatial *s) {
    const kiln_caffe_params *const p = &l->p;
    const setting kernel = {.name = "kernel",
                            .list = p->kernel_size,
                            .n_list = p->n_kernel_size,
                            .h = p->kernel_h,
                            .w = p->kernel_w,
                            .has_h = p->has_kernel_h,
                            .has_w = p->has_kernel_w,
                            .min = 1};
    const setting stride = {.name = "stride",
                            .list = p->stride,
                            .n_list = p->n_stride,
                            .h = p->stride_h,
                            .w = p->stride_w,
                            .has_h = p->has_stride_h,
                            .has_w = p->has_stride_w,
                            .otherwise = 1,
                            .min = 1};
    const setting pad = {.name = "pad",
                         .list = p->pad,
                         .n_list = p->n_pad,
                         .h = p->pad_h,
                         .w = p->pad_w,
                         .has_h = p->has_pad_h,
                         .has_w = p->has_pad_w};
    const setting dilation = {.name = "dilation",
                              .list = p->dilation,
                              .n_list = p->n_dilation,
                              .otherwise = 1,
                              .min = 1};
    KILN_TRY(kiln_caffe_need_rank(cx, x, 3));
    kiln_spatial_init(s, x, NULL);
    KILN_TRY(read_setting(cx, &kernel, s->n, s->kernel));
    KILN_TRY(read_setting(cx, &stride, s->n, s->strides));
    KILN_TRY(read_setting(cx, &pad, s->n, s->pads));
    KILN_TRY(read_setting(cx, &dilation, s->n, s->dilations));
    for (int i = 0; i < s->n; i++)
        s->pads[s->n + i] = s->pads[i];
    return KILN_OK;
}

/* ---- convolution ----------------------------------------------------------------- */

/* x, weights, bias or NULL; the weights' first two axes are `rows` and what is left of
 * `columns` in a group. */
static kiln_status read_conv(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                             kiln_value *x, bool is_transposed, kiln_value **in,
                             kiln_spatial *s, int64_t *groups) {
    const kiln_caffe_params *const p = &l->p;
    KILN_TRY(read_window(cx, l, x, s));
    const int64_t c_in = x->type.dim[1], c_out = p->num_output;
    *groups = p->group == 0 ? 1 : p->group;
    if (p->has_axis && p->axis != 1 && p->axis != 1 - x->type.rank)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'axis' must be 1, the channels, is %" PRId64, p->axis);
    if (c_out < 1 || *groups < 1 || c_in % *groups != 0 || c_out % *groups != 0)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "'group', %" PRId64 ", must divide its channels, %" PRId64
                         ", and 'num_output', %" PRId64 ", which must be 1 or more",
                         *groups, c_in, c_out);
    int64_t dim[KILN_MAX_RANK] = {is_transposed ? c_in : c_out,
                                  (is_transposed ? c_out : c_in) / *groups};
    for (int i = 0; i < s->n; i++)
        dim[2 + i] = s->kernel[i];
    KILN_ASSERT(s->n + 2 == x->type.rank, "a kernel of %d axes over rank %d", s->n,
                x->type.rank);
    in[0] = x;
    in[2] = NULL;
    KILN_TRY(kiln_caffe_weight(cx, l, 0, "weights", x->type.rank, dim, &in[1]));
    if (!p->has_bias_term || p->bias_term)
        KILN_TRY(kiln_caffe_weight(cx, l, 1, "bias", 1, &c_out, &in[2]));
    return KILN_OK;
}

kiln_status kiln_caffe_import_convolution(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                                          kiln_value *const *in, kiln_value **out) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    kiln_value *from[3];
    kiln_spatial s;
    int64_t groups;
    KILN_TRY(read_conv(cx, l, in[0], false, from, &s, &groups));
    out[0] = kiln_compose_conv(&c, from, &s, groups);
    return c.status;
}

kiln_status kiln_caffe_import_deconvolution(kiln_caffe_cx *cx,
                                            const kiln_caffe_layer *l,
                                            kiln_value *const *in, kiln_value **out) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    kiln_value *from[3];
    kiln_spatial s;
    int64_t groups;
    kiln_attr_arg args[KILN_SPATIAL_ARGS + 1];
    KILN_TRY(read_conv(cx, l, in[0], true, from, &s, &groups));
    kiln_spatial_args(&s, args);
    args[KILN_SPATIAL_ARGS] = kiln_arg_int("groups", groups);
    out[0] = kiln_compose_op(&c, &kiln_op_conv_transpose, from, 3, args,
                             KILN_SPATIAL_ARGS + 1);
    return c.status;
}

/* ---- pooling --------------------------------------------------------------------- */

static kiln_value *global_pool(kiln_compose *c, kiln_value *x, bool is_max) {
    int64_t axes[KILN_MAX_SPATIAL];
    KILN_ASSERT(x->type.rank > 2, "a pool over rank %d", x->type.rank);
    const size_t n = (size_t)x->type.rank - 2;
    for (size_t i = 0; i < n; i++)
        axes[i] = 2 + (int64_t)i;
    return kiln_compose_reduce(c, is_max ? &kiln_op_reduce_max : &kiln_op_reduce_mean,
                               x, axes, n, true);
}

/* Does each window hold an element? Rounded up without padding, one may lie behind the
 * input; Caffe makes -FLT_MAX or a division by 0 of it. */
static kiln_status check_windows(kiln_caffe_cx *cx, const kiln_spatial *s,
                                 bool is_ceil) {
    bool has_pad = false;
    for (int i = 0; i < s->n; i++)
        has_pad = has_pad || s->pads[i] > 0;
    for (int i = 0; i < s->n; i++) {
        const int64_t room = s->in[i] + 2 * s->pads[i] - s->kernel[i];
        const int64_t last = room > 0 ? (room + s->strides[i] - 1) / s->strides[i] : 0;
        if (s->pads[i] >= s->kernel[i])
            return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                             "'pad', %" PRId64
                             ", must be less than the kernel, %" PRId64,
                             s->pads[i], s->kernel[i]);
        if (is_ceil && !has_pad && last * s->strides[i] >= s->in[i] && last > 0)
            return kiln_fail(
                cx->common.err, KILN_ERR_UNSUPPORTED,
                "its last window would lie behind the %" PRId64
                " elements of axis %d; give it another stride, or round_mode "
                "FLOOR",
                s->in[i], 2 + i);
    }
    return KILN_OK;
}

kiln_status kiln_caffe_import_pooling(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                                      kiln_value *const *in, kiln_value **out) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_caffe_params *const p = &l->p;
    const bool is_max = p->pool == KILN_CAFFE_POOL_MAX;
    const bool is_ceil = p->has_ceil_mode ? p->ceil_mode : p->round_mode == 0;
    const kiln_attr_arg count = kiln_arg_bool("count_include_pad", true);
    kiln_spatial s;
    if (!is_max && p->pool != KILN_CAFFE_POOL_AVE)
        return kiln_fail(cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'pool' must be MAX or AVE; STOCHASTIC draws lots");
    KILN_TRY(kiln_caffe_need_rank(cx, in[0], 3));
    if (p->global_pooling) {
        out[0] = global_pool(&c, in[0], is_max);
        return c.status;
    }
    KILN_TRY(read_window(cx, l, in[0], &s));
    KILN_TRY(check_windows(cx, &s, is_ceil));
    out[0] = kiln_compose_pool(&c, is_max ? &kiln_op_max_pool : &kiln_op_avg_pool,
                               in[0], &s, is_ceil, &count, is_max ? 0 : 1);
    return c.status;
}
