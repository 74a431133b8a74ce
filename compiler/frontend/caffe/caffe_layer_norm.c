/* Layers that scale: BatchNorm, Scale, Bias, LRN, MVN, Normalize, Softmax. Source: BVLC
 * Caffe 1.0, the layers of these names; Normalize: normalize_layer.cpp of SSD. */
#include "compiler/frontend/caffe/caffe_internal.h"
#include "compiler/frontend/spatial.h"

#include <inttypes.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_caffe_import_##name(kiln_caffe_cx *cx, const kiln_caffe_layer *l, \
                                         kiln_value *const *in, kiln_value **out)

/* All axes from `first` on but the channels, unless those are asked for too. */
static size_t axes_of(const kiln_value *x, int first, bool with_channels,
                      int64_t *axes) {
    size_t n = 0;
    for (int i = first; i < x->type.rank; i++)
        if (i != 1 || with_channels)
            axes[n++] = i;
    return n;
}

/* ---- BatchNorm ------------------------------------------------------------------- */

/* What was gathered in training, over how much was: mean, variance, that factor. */
static kiln_status gathered(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                            kiln_compose *c, int64_t channels, kiln_value **moments) {
    static const char *const what[] = {"mean", "variance"};
    const double *v, *factor;
    KILN_TRY(kiln_caffe_numbers(cx, l, 2, "factor", 1, &factor));
    for (size_t i = 0; i < 2; i++) {
        KILN_TRY(kiln_caffe_numbers(cx, l, i, what[i], channels, &v));
        double *const scaled = kiln_array(&cx->common.scratch, double, channels);
        for (int64_t k = 0; k < channels; k++)
            scaled[k] = factor[0] == 0 ? 0 : v[k] / factor[0];
        moments[i] = kiln_compose_floats(c, KILN_F32, 1, &channels, scaled);
    }
    return c->status;
}

/* Of the batch itself: 'use_global_stats: false'. */
static void of_batch(kiln_compose *c, kiln_value *x, kiln_value **moments) {
    int64_t axes[KILN_MAX_RANK];
    const size_t n = axes_of(x, 0, false, axes);
    kiln_value *const mean =
        kiln_compose_reduce(c, &kiln_op_reduce_mean, x, axes, n, true);
    kiln_value *const away = kiln_compose_2(c, &kiln_op_sub, x, mean);
    kiln_value *const square = kiln_compose_2(c, &kiln_op_mul, away, away);
    moments[0] = kiln_compose_reshape(c, mean, 1, x->type.dim + 1);
    moments[1] = kiln_compose_reduce(c, &kiln_op_reduce_mean, square, axes, n, false);
}

IMPORTER(batch_norm) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    kiln_value *from[5] = {in[0]};
    KILN_TRY(kiln_caffe_need_rank(cx, in[0], 2));
    const int64_t channels = in[0]->type.dim[1];
    KILN_TRY(kiln_import_spend(&cx->common, 8 * channels));
    double *const v = kiln_array(&cx->common.scratch, double, channels);
    from[2] = kiln_compose_floats(&c, KILN_F32, 1, &channels, v);
    for (int64_t i = 0; i < channels; i++)
        v[i] = 1;
    from[1] = kiln_compose_floats(&c, KILN_F32, 1, &channels, v);
    if (l->p.has_use_global_stats && !l->p.use_global_stats)
        of_batch(&c, in[0], from + 3);
    else
        KILN_TRY(gathered(cx, l, &c, channels, from + 3));
    const kiln_attr_arg epsilon =
        kiln_arg_float("epsilon", l->p.has_eps ? (double)l->p.eps : 1e-5);
    out[0] = kiln_compose_op(&c, &kiln_op_batch_norm, from, 5, &epsilon, 1);
    return c.status;
}

/* ---- Scale, Bias ----------------------------------------------------------------- */

/* The shape of a factor along axes [axis, axis + n) of x, with axes of 1 behind it. */
static kiln_status factor_shape(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                                const kiln_type *x, const kiln_value *given, int *rank,
                                int64_t *dim) {
    const kiln_caffe_params *const p = &l->p;
    int axis;
    KILN_TRY(kiln_caffe_axis(cx, "axis", p->has_axis ? p->axis : 1, x->rank, &axis));
    int64_t n = given != NULL       ? given->type.rank
                : !p->has_num_axes  ? 1
                : p->num_axes == -1 ? x->rank - axis
                                    : p->num_axes;
    if (n < 0 || n > x->rank - axis)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its factor must have at most %d axes from axis %d on, has "
                         "%" PRId64,
                         x->rank - axis, axis, n);
    *rank = x->rank - axis;
    for (int i = 0; i < *rank; i++)
        dim[i] = i < n ? x->dim[axis + i] : 1;
    return KILN_OK;
}

/* The second bottom, or blob i. */
static kiln_status factor(kiln_caffe_cx *cx, const kiln_caffe_layer *l, kiln_compose *c,
                          kiln_value *const *in, kiln_value *given, size_t i,
                          const char *what, kiln_value **out) {
    int rank;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(factor_shape(cx, l, &in[0]->type, given, &rank, dim));
    if (given == NULL)
        return kiln_caffe_weight(cx, l, i, what, rank, dim, out);
    const kiln_type want = kiln_type_make(KILN_F32, given->type.rank, dim);
    if (!kiln_type_same_shape(&want, &given->type))
        return kiln_fail(
            cx->common.err, KILN_ERR_SHAPE,
            "its second bottom must have shape %s, has %s",
            kiln_shape_text(&cx->common.scratch, want.rank, dim),
            kiln_shape_text(&cx->common.scratch, given->type.rank, given->type.dim));
    *out = kiln_compose_reshape(c, given, rank, dim);
    return c->status;
}

IMPORTER(scale) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    kiln_value *const given = l->n_bottom > 1 ? in[1] : NULL;
    kiln_value *by, *bias;
    KILN_TRY(factor(cx, l, &c, in, given, 0, "factors", &by));
    out[0] = kiln_compose_2(&c, &kiln_op_mul, in[0], by);
    if (!l->p.bias_term)
        return c.status;
    /* of the factor's shape, whoever gave that */
    int rank;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(factor_shape(cx, l, &in[0]->type, given, &rank, dim));
    KILN_TRY(kiln_caffe_weight(cx, l, given == NULL, "bias", rank, dim, &bias));
    out[0] = kiln_compose_2(&c, &kiln_op_add, out[0], bias);
    return c.status;
}

IMPORTER(bias) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    kiln_value *by;
    KILN_TRY(factor(cx, l, &c, in, l->n_bottom > 1 ? in[1] : NULL, 0, "bias", &by));
    out[0] = kiln_compose_2(&c, &kiln_op_add, in[0], by);
    return c.status;
}

/* ---- LRN ------------------------------------------------------------------------- */

/* x * (1 + alpha * mean of squares in a square around each element)^-beta; padding
 * counts for the mean. */
static kiln_value *within_channel(kiln_compose *c, kiln_value *x, int64_t size,
                                  double alpha, double beta) {
    const kiln_attr_arg count = kiln_arg_bool("count_include_pad", true);
    kiln_spatial s;
    kiln_spatial_init(&s, x, NULL);
    for (int i = 0; i < s.n; i++) {
        s.kernel[i] = size;
        s.pads[i] = s.pads[s.n + i] = (size - 1) / 2;
    }
    kiln_value *y = kiln_compose_2(c, &kiln_op_mul, x, x);
    y = kiln_compose_pool(c, &kiln_op_avg_pool, y, &s, false, &count, 1);
    y = kiln_compose_scalar(c, &kiln_op_mul, y, alpha);
    y = kiln_compose_scalar(c, &kiln_op_add, y, 1);
    y = kiln_compose_scalar(c, &kiln_op_pow, y, -beta);
    return kiln_compose_2(c, &kiln_op_mul, x, y);
}

IMPORTER(lrn) {
    enum { MAX_SIZE = 1 << 20 };
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_caffe_params *const p = &l->p;
    const int64_t size = p->has_local_size ? p->local_size : 5;
    const double alpha = p->has_alpha ? (double)p->alpha : 1;
    const double beta = p->has_beta ? (double)p->beta : 0.75;
    const double bias = p->has_k ? (double)p->k : 1;
    KILN_TRY(kiln_caffe_need_rank(cx, in[0], 3));
    if (size < 1 || size % 2 == 0 || size > MAX_SIZE)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'local_size' must be odd and in [1, %d], is %" PRId64,
                         MAX_SIZE, size);
    if (p->norm_region != 0) {
        out[0] = within_channel(&c, in[0], size, alpha, beta);
        return c.status;
    }
    const kiln_attr_arg args[] = {
        kiln_arg_int("size", size), kiln_arg_float("alpha", alpha),
        kiln_arg_float("beta", beta), kiln_arg_float("bias", bias)};
    out[0] = kiln_compose_op(&c, &kiln_op_lrn, in, 1, args, 4);
    return c.status;
}

/* ---- MVN, Normalize -------------------------------------------------------------- */

/* (x - mean) / (sqrt(variance) + eps) */
IMPORTER(mvn) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    int64_t axes[KILN_MAX_RANK];
    KILN_TRY(kiln_caffe_need_rank(cx, in[0], 2));
    const size_t n = axes_of(in[0], 1, l->p.across_channels, axes);
    const double eps = l->p.has_eps ? (double)l->p.eps : 1e-9;
    if (n == 0)
        return kiln_fail(cx->common.err, KILN_ERR_SHAPE,
                         "its bottom must have axes behind the channels");
    kiln_value *const mean =
        kiln_compose_reduce(&c, &kiln_op_reduce_mean, in[0], axes, n, true);
    out[0] = kiln_compose_2(&c, &kiln_op_sub, in[0], mean);
    if (l->p.has_normalize_variance && !l->p.normalize_variance)
        return c.status;
    kiln_value *y = kiln_compose_2(&c, &kiln_op_mul, out[0], out[0]);
    y = kiln_compose_reduce(&c, &kiln_op_reduce_mean, y, axes, n, true);
    y = kiln_compose_1(&c, &kiln_op_sqrt, y);
    y = kiln_compose_scalar(&c, &kiln_op_add, y, eps);
    out[0] = kiln_compose_2(&c, &kiln_op_div, out[0], y);
    return c.status;
}

/* x / sqrt(sum of squares + eps), times a factor for each channel or one. */
IMPORTER(normalize) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    int64_t axes[KILN_MAX_RANK] = {1}, dim[KILN_MAX_RANK];
    size_t n = 1;
    kiln_value *by;
    KILN_TRY(kiln_caffe_need_rank(cx, in[0], 2));
    const bool is_shared = !l->p.has_channel_shared || l->p.channel_shared;
    const double eps = l->p.has_eps ? (double)l->p.eps : 1e-10;
    const int rank = in[0]->type.rank - 1;
    if (!l->p.has_across_spatial || l->p.across_spatial)
        n = axes_of(in[0], 1, true, axes);
    for (int i = 0; i < rank; i++)
        dim[i] = i == 0 && !is_shared ? in[0]->type.dim[1] : 1;
    KILN_TRY(kiln_caffe_weight(cx, l, 0, "factors", rank, dim, &by));
    kiln_value *y = kiln_compose_2(&c, &kiln_op_mul, in[0], in[0]);
    y = kiln_compose_reduce(&c, &kiln_op_reduce_sum, y, axes, n, true);
    y = kiln_compose_scalar(&c, &kiln_op_add, y, eps);
    y = kiln_compose_1(&c, &kiln_op_sqrt, y);
    y = kiln_compose_2(&c, &kiln_op_div, in[0], y);
    out[0] = kiln_compose_2(&c, &kiln_op_mul, y, by);
    return c.status;
}

IMPORTER(softmax) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    int axis;
    KILN_TRY(kiln_caffe_axis(cx, "axis", l->p.has_axis ? l->p.axis : 1,
                             in[0]->type.rank, &axis));
    out[0] = kiln_compose_axis(&c, &kiln_op_softmax, in[0], NULL, axis);
    return c.status;
}
