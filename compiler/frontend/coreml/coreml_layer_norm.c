/* Layers that normalise, scale and shift channels, and reduce axes. Source:
 * NeuralNetwork.proto. */
#include "compiler/frontend/coreml/coreml_internal.h"

#include "compiler/frontend/protobuf_table.h"

#include <inttypes.h>

typedef struct norm {
    int64_t channels;
    bool computes, is_instance;
    float epsilon;
    const kiln_coreml_weights *gamma, *beta, *mean, *variance;
} norm;

static const kiln_pb_field norm_fields[] = {
    FIELD(1, norm, channels, KILN_PB_I64),
    FIELD(5, norm, computes, KILN_PB_BOOL),
    FIELD(6, norm, is_instance, KILN_PB_BOOL),
    FIELD(10, norm, epsilon, KILN_PB_F32),
    SUB(15, norm, gamma, kiln_coreml_weights_message),
    SUB(16, norm, beta, kiln_coreml_weights_message),
    SUB(17, norm, mean, kiln_coreml_weights_message),
    SUB(18, norm, variance, kiln_coreml_weights_message),
};
static const kiln_pb_message norm_message =
    MESSAGE("BatchnormLayerParams", norm, norm_fields);

/* What the file leaves out has this value (NeuralNetwork.proto). */
static double epsilon_of(float given, double otherwise) {
    return given > 0 ? (double)given : otherwise;
}

kiln_status kiln_coreml_import_batchnorm(kiln_coreml_call *k) {
    norm p;
    KILN_TRY(kiln_coreml_params(k, &norm_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    if (p.computes && !p.is_instance)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "it takes mean and variance over the batch at run time "
                         "(computeMeanVar); export the model with given ones");
    const kiln_attr_arg args[] = {
        kiln_arg_float("epsilon", epsilon_of(p.epsilon, 1e-5)),
        kiln_arg_int("groups", p.channels)};
    kiln_value *in[5] = {kiln_coreml_as_images(k, k->in[0])}, *y;
    KILN_TRY(k->c.status);
    KILN_TRY(kiln_coreml_vector(k, p.gamma, "gamma", p.channels, &in[1]));
    KILN_TRY(kiln_coreml_vector(k, p.beta, "beta", p.channels, &in[2]));
    if (p.computes) {
        y = kiln_compose_op(&k->c, &kiln_op_group_norm, in, 3, args, 2);
    } else {
        KILN_TRY(kiln_coreml_vector(k, p.mean, "mean", p.channels, &in[3]));
        KILN_TRY(kiln_coreml_vector(k, p.variance, "variance", p.channels, &in[4]));
        y = kiln_compose_op(&k->c, &kiln_op_batch_norm, in, 5, args, 1);
    }
    k->out[0] = kiln_coreml_from_images(k, y, k->in[0]);
    return k->c.status;
}

/* ---- by the values' own moments -------------------------------------------------- */

typedef struct mvn {
    bool across_channels, by_variance;
    float epsilon;
} mvn;

static const kiln_pb_field mvn_fields[] = {
    FIELD(1, mvn, across_channels, KILN_PB_BOOL),
    FIELD(2, mvn, by_variance, KILN_PB_BOOL),
    FIELD(3, mvn, epsilon, KILN_PB_F32),
};
static const kiln_pb_message mvn_message =
    MESSAGE("MeanVarianceNormalizeLayerParams", mvn, mvn_fields);

kiln_status kiln_coreml_import_mvn(kiln_coreml_call *k) {
    mvn p;
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_coreml_params(k, &mvn_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    const int64_t rank = k->in[0]->type.rank;
    const int64_t axes[] = {rank - 3, rank - 2, rank - 1};
    const int skip = p.across_channels ? 0 : 1;
    const size_t n = (size_t)(3 - skip);
    kiln_value *const mean =
        kiln_compose_reduce(c, &kiln_op_reduce_mean, k->in[0], axes + skip, n, true);
    kiln_value *x = kiln_compose_2(c, &kiln_op_sub, k->in[0], mean);
    if (p.by_variance) {
        kiln_value *v = kiln_compose_reduce(c, &kiln_op_reduce_mean,
                                            kiln_compose_2(c, &kiln_op_mul, x, x),
                                            axes + skip, n, true);
        v = kiln_compose_scalar(c, &kiln_op_add, v, epsilon_of(p.epsilon, 1e-5));
        x = kiln_compose_2(c, &kiln_op_mul, x, kiln_compose_1(c, &kiln_op_rsqrt, v));
    }
    k->out[0] = x;
    return c->status;
}

kiln_status kiln_coreml_import_l2normalize(kiln_coreml_call *k) {
    static const kiln_pb_field fields[] = {
        FIELD(1, mvn, epsilon, KILN_PB_F32),
    };
    static const kiln_pb_message message =
        MESSAGE("L2NormalizeLayerParams", mvn, fields);
    mvn p;
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_coreml_params(k, &message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    const int64_t rank = k->in[0]->type.rank;
    const int64_t axes[] = {rank - 3, rank - 2, rank - 1};
    kiln_value *v =
        kiln_compose_reduce(c, &kiln_op_reduce_sum_square, k->in[0], axes, 3, true);
    v = kiln_compose_scalar(c, &kiln_op_add, v, epsilon_of(p.epsilon, 1e-6));
    k->out[0] =
        kiln_compose_2(c, &kiln_op_mul, k->in[0], kiln_compose_1(c, &kiln_op_rsqrt, v));
    return c->status;
}

typedef struct lrn {
    float alpha, beta, k;
    int64_t size;
} lrn;

static const kiln_pb_field lrn_fields[] = {
    FIELD(1, lrn, alpha, KILN_PB_F32),
    FIELD(2, lrn, beta, KILN_PB_F32),
    FIELD(3, lrn, size, KILN_PB_I64),
    FIELD(4, lrn, k, KILN_PB_F32),
};
static const kiln_pb_message lrn_message = MESSAGE("LRNLayerParams", lrn, lrn_fields);

kiln_status kiln_coreml_import_lrn(kiln_coreml_call *k) {
    lrn p;
    KILN_TRY(kiln_coreml_params(k, &lrn_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    const kiln_attr_arg args[] = {kiln_arg_int("size", p.size),
                                  kiln_arg_float("alpha", (double)p.alpha),
                                  kiln_arg_float("beta", (double)p.beta),
                                  kiln_arg_float("bias", epsilon_of(p.k, 1))};
    kiln_value *x = kiln_coreml_as_images(k, k->in[0]);
    x = kiln_compose_op(&k->c, &kiln_op_lrn, &x, 1, args, 4);
    k->out[0] = kiln_coreml_from_images(k, x, k->in[0]);
    return k->c.status;
}

typedef struct layer_norm {
    const int64_t *shape;
    size_t n_shape;
    float epsilon;
    const kiln_coreml_weights *gamma, *beta;
} layer_norm;

static const kiln_pb_field layer_norm_fields[] = {
    LIST(1, layer_norm, shape, KILN_PB_I64),
    FIELD(2, layer_norm, epsilon, KILN_PB_F32),
    SUB(3, layer_norm, gamma, kiln_coreml_weights_message),
    SUB(4, layer_norm, beta, kiln_coreml_weights_message),
};
static const kiln_pb_message layer_norm_message =
    MESSAGE("LayerNormalizationLayerParams", layer_norm, layer_norm_fields);

kiln_status kiln_coreml_import_layer_normalization(kiln_coreml_call *k) {
    layer_norm p;
    kiln_value *in[3] = {k->in[0]};
    KILN_TRY(kiln_coreml_params(k, &layer_norm_message, &p));
    if (p.n_shape < 1 || p.n_shape > (size_t)in[0]->type.rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "normalizedShape must have 1 to %d axes, has %zu",
                         in[0]->type.rank, p.n_shape);
    KILN_TRY(kiln_coreml_const(k, p.gamma, "gamma", (int)p.n_shape, p.shape, &in[1]));
    KILN_TRY(kiln_coreml_const(k, p.beta, "beta", (int)p.n_shape, p.shape, &in[2]));
    const kiln_attr_arg args[] = {
        kiln_arg_int("axis", -(int64_t)p.n_shape),
        kiln_arg_float("epsilon", epsilon_of(p.epsilon, 1e-5))};
    k->out[0] = kiln_compose_op(&k->c, &kiln_op_layer_norm, in, 3, args, 2);
    return k->c.status;
}

/* ---- softmax --------------------------------------------------------------------- */

kiln_status kiln_coreml_import_softmax(kiln_coreml_call *k) {
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    k->out[0] = kiln_compose_axis(&k->c, &kiln_op_softmax, k->in[0], NULL,
                                  k->in[0]->type.rank - 3);
    return k->c.status;
}

typedef struct one_axis {
    int64_t axis;
    bool removes;
} one_axis;

static const kiln_pb_field axis_fields[] = {
    FIELD(1, one_axis, axis, KILN_PB_I64),
    FIELD(2, one_axis, removes, KILN_PB_BOOL),
};
static const kiln_pb_message axis_message =
    MESSAGE("ArgMaxLayerParams", one_axis, axis_fields);

static kiln_status read_axis(kiln_coreml_call *k, one_axis *p, int *axis) {
    KILN_TRY(kiln_coreml_params(k, &axis_message, p));
    return kiln_coreml_axis(k, p->axis, k->in[0]->type.rank, axis);
}

kiln_status kiln_coreml_import_softmax_nd(kiln_coreml_call *k) {
    one_axis p;
    int axis = 0;
    KILN_TRY(read_axis(k, &p, &axis));
    k->out[0] = kiln_compose_axis(&k->c, &kiln_op_softmax, k->in[0], NULL, axis);
    return k->c.status;
}

/* The place as a float. */
static kiln_value *place(kiln_coreml_call *k, const kiln_op_def *op, int axis,
                         bool removes) {
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_bool("keepdims", !removes)};
    return kiln_compose_cast(&k->c, kiln_compose_op(&k->c, op, k->in, 1, args, 2),
                             KILN_F32);
}

kiln_status kiln_coreml_import_arg_extreme(kiln_coreml_call *k) {
    one_axis p;
    int axis = 0;
    KILN_TRY(read_axis(k, &p, &axis));
    k->out[0] = place(k, k->op, axis, p.removes);
    return k->c.status;
}

/* ---- reduction ------------------------------------------------------------------- */

typedef struct reduction {
    int64_t mode, axis;
    float epsilon;
} reduction;

static const kiln_pb_field reduction_fields[] = {
    FIELD(1, reduction, mode, KILN_PB_I64),
    FIELD(2, reduction, epsilon, KILN_PB_F32),
    FIELD(3, reduction, axis, KILN_PB_I64),
};
static const kiln_pb_message reduction_message =
    MESSAGE("ReduceLayerParams", reduction, reduction_fields);

/* Modes in the file's order, and axes: how many, and the first from the end. */
static const kiln_op_def *const modes[] = {
    &kiln_op_reduce_sum, &kiln_op_reduce_mean,       &kiln_op_reduce_prod,
    NULL /* logsum */,   &kiln_op_reduce_sum_square, &kiln_op_reduce_l1,
    &kiln_op_reduce_l2,  &kiln_op_reduce_max,        &kiln_op_reduce_min,
    &kiln_op_argmax};
enum { LOGSUM = 3, ARGMAX = 9, N_MODES };
static const struct {
    size_t n;
    int from_end;
} ranges[] = {{3, 3}, {2, 2}, {1, 3}, {1, 2}, {1, 1}};
enum { N_RANGES = sizeof ranges / sizeof ranges[0] };

kiln_status kiln_coreml_import_reduce(kiln_coreml_call *k) {
    reduction p;
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_coreml_params(k, &reduction_message, &p));
    if (p.mode < 0 || p.mode >= N_MODES || p.axis < 0 || p.axis >= N_RANGES ||
        (p.mode == ARGMAX && ranges[p.axis].n != 1))
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "mode %" PRId64 " over axis %" PRId64 " is none that kiln "
                         "knows",
                         p.mode, p.axis);
    KILN_TRY(kiln_coreml_min_rank(k, ranges[p.axis].from_end));
    const int first = k->in[0]->type.rank - ranges[p.axis].from_end;
    const int64_t axes[] = {first, first + 1, first + 2};
    if (p.mode == ARGMAX) {
        k->out[0] = place(k, &kiln_op_argmax, first, false);
        return c->status;
    }
    /* logsum: the sum of log(x + epsilon) */
    kiln_value *x = k->in[0];
    if (p.mode == LOGSUM) {
        x = kiln_compose_scalar(c, &kiln_op_add, x, epsilon_of(p.epsilon, 1e-6));
        x = kiln_compose_1(c, &kiln_op_log, x);
    }
    k->out[0] =
        kiln_compose_reduce(c, p.mode == LOGSUM ? &kiln_op_reduce_sum : modes[p.mode],
                            x, axes, ranges[p.axis].n, true);
    return c->status;
}

typedef struct reduction_nd {
    const int64_t *axes;
    size_t n_axes;
    bool keeps, is_all;
} reduction_nd;

static const kiln_pb_field reduction_nd_fields[] = {
    LIST(1, reduction_nd, axes, KILN_PB_I64),
    FIELD(2, reduction_nd, keeps, KILN_PB_BOOL),
    FIELD(3, reduction_nd, is_all, KILN_PB_BOOL),
};
static const kiln_pb_message reduction_nd_message =
    MESSAGE("ReduceSumLayerParams", reduction_nd, reduction_nd_fields);

kiln_status kiln_coreml_import_reduce_nd(kiln_coreml_call *k) {
    reduction_nd p;
    KILN_TRY(kiln_coreml_params(k, &reduction_nd_message, &p));
    const size_t n = p.is_all ? 0 : p.n_axes;
    if (n > KILN_MAX_RANK || (n == 0 && !p.is_all))
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "it must have 1 to %d axes, has %zu", KILN_MAX_RANK, n);
    k->out[0] = kiln_compose_reduce(&k->c, k->op, k->in[0], p.axes, n, p.keeps);
    return k->c.status;
}

/* ---- scale and bias -------------------------------------------------------------- */

typedef struct scale {
    const int64_t *shape, *bias_shape;
    size_t n_shape, n_bias_shape;
    bool has_bias;
    const kiln_coreml_weights *scale, *bias;
} scale;

static const kiln_pb_field scale_fields[] = {
    LIST(1, scale, shape, KILN_PB_I64),
    SUB(2, scale, scale, kiln_coreml_weights_message),
    FIELD(3, scale, has_bias, KILN_PB_BOOL),
    LIST(4, scale, bias_shape, KILN_PB_I64),
    SUB(5, scale, bias, kiln_coreml_weights_message),
};
static const kiln_pb_message scale_message =
    MESSAGE("ScaleLayerParams", scale, scale_fields);

static const kiln_pb_field bias_fields[] = {
    LIST(1, scale, bias_shape, KILN_PB_I64),
    SUB(2, scale, bias, kiln_coreml_weights_message),
};
static const kiln_pb_message bias_message =
    MESSAGE("BiasLayerParams", scale, bias_fields);

/* Shapes are [1], [C], [1, H, W] and [C, H, W]. */
static kiln_status stretched(kiln_coreml_call *k, const kiln_coreml_weights *w,
                             const char *what, const int64_t *shape, size_t n,
                             kiln_value **out) {
    int64_t dim[] = {1, 1, 1};
    if (n != 1 && n != 3)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "the shape of '%s' must have 1 axis or 3, has %zu", what, n);
    for (size_t i = 0; i < n; i++)
        dim[i] = shape[i];
    return kiln_coreml_const(k, w, what, 3, dim, out);
}

kiln_status kiln_coreml_import_scale(kiln_coreml_call *k) {
    scale p;
    kiln_value *factor = NULL, *bias = NULL, *y;
    KILN_TRY(kiln_coreml_params(k, &scale_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    KILN_TRY(stretched(k, p.scale, "scale", p.shape, p.n_shape, &factor));
    y = kiln_compose_2(&k->c, &kiln_op_mul, k->in[0], factor);
    if (p.has_bias) {
        KILN_TRY(stretched(k, p.bias, "bias", p.bias_shape, p.n_bias_shape, &bias));
        y = kiln_compose_2(&k->c, &kiln_op_add, y, bias);
    }
    k->out[0] = y;
    return k->c.status;
}

kiln_status kiln_coreml_import_bias(kiln_coreml_call *k) {
    scale p;
    kiln_value *bias = NULL;
    KILN_TRY(kiln_coreml_params(k, &bias_message, &p));
    KILN_TRY(kiln_coreml_min_rank(k, 3));
    KILN_TRY(stretched(k, p.bias, "bias", p.bias_shape, p.n_bias_shape, &bias));
    k->out[0] = kiln_compose_2(&k->c, &kiln_op_add, k->in[0], bias);
    return k->c.status;
}
