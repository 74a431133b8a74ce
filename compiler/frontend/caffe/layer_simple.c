/* Layers that look at each element by itself, and those that join or pass on whole
 * blobs. Source: BVLC Caffe 1.0, the layers of these names. */
#include "compiler/frontend/caffe/caffe_internal.h"

#include <math.h>

#define IMPORTER(name)                                                                 \
    kiln_status kiln_caffe_import_##name(kiln_caffe_cx *cx, const kiln_caffe_layer *l, \
                                         kiln_value *const *in, kiln_value **out)

static double given(bool has, float v, double otherwise) {
    return has ? (double)v : otherwise;
}

IMPORTER(nothing) {
    (void)cx;
    (void)l;
    (void)in;
    (void)out;
    return KILN_OK;
}

IMPORTER(input) {
    (void)l;
    (void)in;
    (void)out;
    return kiln_fail(cx->common.err, KILN_ERR_PARSE, "an Input layer has no bottoms");
}

/* Every top is the bottom. */
IMPORTER(same) {
    (void)cx;
    for (size_t i = 0; i < l->n_top; i++)
        out[i] = in[0];
    return KILN_OK;
}

IMPORTER(unary) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    out[0] = kiln_compose_1(&c, cx->row->op, in[0]);
    return c.status;
}

IMPORTER(relu) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const double slope = (double)l->p.negative_slope;
    const kiln_attr_arg alpha = kiln_arg_float("alpha", slope);
    out[0] = slope == 0 ? kiln_compose_1(&c, &kiln_op_relu, in[0])
                        : kiln_compose_op(&c, &kiln_op_leaky_relu, in, 1, &alpha, 1);
    return c.status;
}

static kiln_value *clip(kiln_compose *c, kiln_value *x, double min, double max) {
    const kiln_attr_arg args[] = {kiln_arg_float("min", min),
                                  kiln_arg_float("max", max)};
    return kiln_compose_op(c, &kiln_op_clip, &x, 1, args, 2);
}

IMPORTER(relu6) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    out[0] = clip(&c, in[0], 0, 6);
    return c.status;
}

IMPORTER(clip) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    if (!l->p.has_min || !l->p.has_max)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'min' and 'max' must be given");
    out[0] = clip(&c, in[0], (double)l->p.min, (double)l->p.max);
    return c.status;
}

IMPORTER(elu) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_attr_arg alpha =
        kiln_arg_float("alpha", given(l->p.has_alpha, l->p.alpha, 1));
    out[0] = kiln_compose_op(&c, &kiln_op_elu, in, 1, &alpha, 1);
    return c.status;
}

/* x * sigmoid(beta x) */
IMPORTER(swish) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const double beta = given(l->p.has_beta, l->p.beta, 1);
    kiln_value *y = in[0];
    if (beta != 1)
        y = kiln_compose_scalar(&c, &kiln_op_mul, y, beta);
    y = kiln_compose_1(&c, &kiln_op_sigmoid, y);
    out[0] = kiln_compose_2(&c, &kiln_op_mul, in[0], y);
    return c.status;
}

/* shift + scale x */
static kiln_value *line(kiln_compose *c, const kiln_caffe_layer *l, kiln_value *x) {
    const double scale = given(l->p.has_scale, l->p.scale, 1);
    const double shift = given(l->p.has_shift, l->p.shift, 0);
    if (scale != 1)
        x = kiln_compose_scalar(c, &kiln_op_mul, x, scale);
    return shift != 0 ? kiln_compose_scalar(c, &kiln_op_add, x, shift) : x;
}

IMPORTER(power) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const double power = given(l->p.has_power, l->p.power, 1);
    kiln_value *const y = line(&c, l, in[0]);
    out[0] = power == 1   ? y
             : power == 2 ? kiln_compose_2(&c, &kiln_op_mul, y, y)
                          : kiln_compose_scalar(&c, &kiln_op_pow, y, power);
    return c.status;
}

/* base -1: e */
static kiln_status read_base(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                             double *log_base) {
    const double base = given(l->p.has_base, l->p.base, -1);
    if (base != -1 && !(base > 0))
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'base' must be above 0, or -1 for e, is %g", base);
    *log_base = base == -1 ? 1 : log(base);
    return KILN_OK;
}

IMPORTER(exp) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    double log_base;
    KILN_TRY(read_base(cx, l, &log_base));
    kiln_value *y = line(&c, l, in[0]);
    if (log_base != 1)
        y = kiln_compose_scalar(&c, &kiln_op_mul, y, log_base);
    out[0] = kiln_compose_1(&c, &kiln_op_exp, y);
    return c.status;
}

IMPORTER(log) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    double log_base;
    KILN_TRY(read_base(cx, l, &log_base));
    if (log_base == 0)
        return kiln_fail(cx->common.err, KILN_ERR_PARSE, "'base' must not be 1");
    kiln_value *y = kiln_compose_1(&c, &kiln_op_log, line(&c, l, in[0]));
    out[0] = log_base != 1 ? kiln_compose_scalar(&c, &kiln_op_mul, y, 1 / log_base) : y;
    return c.status;
}

IMPORTER(threshold) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    kiln_value *const y =
        kiln_compose_scalar(&c, &kiln_op_greater, in[0], (double)l->p.threshold);
    out[0] = kiln_compose_cast(&c, y, KILN_F32);
    return c.status;
}

/* A slope for each channel, or one. */
IMPORTER(prelu) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    int64_t dim[KILN_MAX_RANK];
    kiln_value *slope;
    KILN_TRY(kiln_caffe_need_rank(cx, in[0], 2));
    const int rank = in[0]->type.rank - 1;
    for (int i = 0; i < rank; i++)
        dim[i] = i == 0 && !l->p.channel_shared ? in[0]->type.dim[1] : 1;
    KILN_TRY(kiln_caffe_weight(cx, l, 0, "slopes", rank, dim, &slope));
    out[0] = kiln_compose_2(&c, &kiln_op_prelu, in[0], slope);
    return c.status;
}

/* ---- blobs of one shape ---------------------------------------------------------- */

static kiln_status check_shapes(kiln_caffe_cx *cx, const kiln_caffe_layer *l,
                                kiln_value *const *in) {
    for (size_t i = 1; i < l->n_bottom; i++)
        if (!kiln_type_same_shape(&in[0]->type, &in[i]->type))
            return kiln_fail(
                cx->common.err, KILN_ERR_SHAPE,
                "its bottoms must have one shape, have %s and %s",
                kiln_shape_text(&cx->common.scratch, in[0]->type.rank, in[0]->type.dim),
                kiln_shape_text(&cx->common.scratch, in[i]->type.rank,
                                in[i]->type.dim));
    return KILN_OK;
}

IMPORTER(eltwise) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const int64_t operation = l->p.has_operation ? l->p.operation : KILN_CAFFE_SUM;
    const kiln_op_def *const op = operation == KILN_CAFFE_PROD  ? &kiln_op_mul
                                  : operation == KILN_CAFFE_MAX ? &kiln_op_max
                                                                : &kiln_op_add;
    const bool has_coeff = l->p.n_coeff > 0;
    KILN_TRY(check_shapes(cx, l, in));
    if (has_coeff && (op != &kiln_op_add || l->p.n_coeff != l->n_bottom))
        return kiln_fail(cx->common.err, KILN_ERR_PARSE,
                         "'coeff' is of SUM, one for each of %zu bottoms", l->n_bottom);
    for (size_t i = 0; i < l->n_bottom; i++) {
        kiln_value *x = in[i];
        if (has_coeff && l->p.coeff[i] != 1.0f)
            x = kiln_compose_scalar(&c, &kiln_op_mul, x, (double)l->p.coeff[i]);
        out[0] = i == 0 ? x : kiln_compose_2(&c, op, out[0], x);
    }
    return c.status;
}

/* a * x + y, with a for each channel: [N, C, 1, 1] */
IMPORTER(axpy) {
    kiln_compose c = kiln_caffe_compose(cx, l);
    const kiln_type *const a = &in[0]->type, *const x = &in[1]->type;
    int64_t dim[KILN_MAX_RANK];
    KILN_TRY(kiln_caffe_need_rank(cx, in[1], 2));
    if (a->rank < 2 || kiln_type_elems(a) != x->dim[0] * x->dim[1] ||
        a->dim[0] != x->dim[0] || !kiln_type_same_shape(x, &in[2]->type))
        return kiln_fail(
            cx->common.err, KILN_ERR_SHAPE,
            "its bottoms must have shapes [N, C], [N, C, ...] and the same "
            "again");
    for (int i = 0; i < x->rank; i++)
        dim[i] = i < 2 ? x->dim[i] : 1;
    kiln_value *y = kiln_compose_reshape(&c, in[0], x->rank, dim);
    y = kiln_compose_2(&c, &kiln_op_mul, y, in[1]);
    out[0] = kiln_compose_2(&c, &kiln_op_add, y, in[2]);
    return c.status;
}
