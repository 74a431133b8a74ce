/* Products with matrices, tables, and normalisation of Keras. Source: keras.layers,
 * "Core layers", "Normalization layers". */
#include "compiler/frontend/einsum.h"
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

kiln_status kiln_keras_import_dense(kiln_keras_call *k) {
    static const char *const roles[] = {"kernel|W", "bias|b"};
    kiln_value *v[2] = {NULL, NULL}, *x = k->in[0];
    const bool has_bias =
        kiln_keras_bool(k, "use_bias", kiln_keras_bool(k, "bias", true));
    KILN_TRY(kiln_keras_min_rank(k, 1));
    KILN_TRY(kiln_keras_weights(k, roles, has_bias ? 2 : 1, v));
    if (v[0]->type.rank != 2)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its kernel must be a matrix, has %d axes", v[0]->type.rank);
    if (x->type.rank == 2) {
        kiln_value *const in[] = {x, v[0], v[1]};
        x = kiln_compose_op(&k->c, &kiln_op_gemm, in, has_bias ? 3 : 2, NULL, 0);
    } else {
        x = kiln_compose_2(&k->c, &kiln_op_matmul, x, v[0]);
        x = has_bias ? kiln_compose_2(&k->c, &kiln_op_add, x, v[1]) : x;
    }
    return set(k, kiln_keras_activated(k, x, "activation", "linear"));
}

/* The bias has the sizes of the axes that 'bias_axes' names by the equation's letters, from
 * the first on, and 1 for others behind: it broadcasts as it is. */
kiln_status kiln_keras_import_einsum_dense(kiln_keras_call *k) {
    static const char *const roles[] = {"kernel", "bias"};
    const char *const equation = kiln_keras_text(k, "equation", NULL, NULL);
    const bool has_bias = kiln_keras_get(k, "bias_axes", NULL) != NULL;
    kiln_value *v[2] = {NULL, NULL};
    if (equation == NULL)
        return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                         "'equation' must be a text such as ab,bc->ac");
    KILN_TRY(kiln_keras_weights(k, roles, has_bias ? 2 : 1, v));
    kiln_value *const in[] = {k->in[0], v[0]};
    kiln_value *y = kiln_compose_einsum(&k->c, kiln_str_from(equation), in, 2);
    KILN_TRY(k->c.status);
    if (has_bias)
        y = kiln_compose_2(&k->c, &kiln_op_add, y, v[1]);
    return set(k, kiln_keras_activated(k, y, "activation", "linear"));
}

kiln_status kiln_keras_import_embedding(kiln_keras_call *k) {
    static const char *const roles[] = {"embeddings|W"};
    kiln_value *table = NULL;
    KILN_TRY(kiln_keras_weights(k, roles, 1, &table));
    if (table->type.rank != 2)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its embeddings must be a matrix, have %d axes",
                         table->type.rank);
    kiln_value *const index = kiln_compose_cast(&k->c, k->in[0], KILN_I64);
    KILN_TRY(set(k, kiln_compose_axis(&k->c, &kiln_op_gather, table, index, 0)));
    if (!kiln_keras_bool(k, "mask_zero", false))
        return KILN_OK;
    kiln_value *const none = kiln_compose_scalar(&k->c, &kiln_op_equal, index, 0);
    k->looks_at_masks = true;
    return kiln_keras_set_mask(k, k->out,
                               kiln_compose_1(&k->c, &kiln_op_logical_not, none));
}

/* ---- normalisation --------------------------------------------------------------- */

static kiln_value *filled(kiln_keras_call *k, int rank, const int64_t *dim, double v) {
    kiln_value *const one = kiln_import_scalar(&k->cx->common, KILN_F32, v);
    return kiln_compose_expand(&k->c, one, rank, dim);
}

/* gamma and beta where the config has them, then `more` roles; those that are missing
 * become 1 and 0. */
static kiln_status read_affine(kiln_keras_call *k, const char *const *more, int n_more,
                               int rank, const int64_t *dim, kiln_value **v) {
    enum { GAMMA, BETA, N_AFFINE, MAX_ROLES = 4 };
    const char *roles[MAX_ROLES];
    const bool has[N_AFFINE] = {kiln_keras_bool(k, "scale", true),
                                kiln_keras_bool(k, "center", true)};
    int n = 0;
    kiln_value *read[MAX_ROLES] = {NULL};
    if (has[GAMMA])
        roles[n++] = "gamma";
    if (has[BETA])
        roles[n++] = "beta";
    for (int i = 0; i < n_more; i++)
        roles[n++] = more[i];
    KILN_TRY(kiln_keras_weights(k, roles, n, read));
    for (int i = 0; i < n; i++)
        KILN_TRY(kiln_keras_check_shape(k, read[i], roles[i], rank, dim));
    n = 0;
    v[GAMMA] = has[GAMMA] ? read[n++] : filled(k, rank, dim, 1);
    v[BETA] = has[BETA] ? read[n++] : filled(k, rank, dim, 0);
    for (int i = 0; i < n_more; i++)
        v[N_AFFINE + i] = read[n++];
    return k->c.status;
}

/* The same of a function of keras.ops: what it is called with, by name or by place. */
static kiln_status given_affine(kiln_keras_call *k, int rank, const int64_t *dim,
                                kiln_value **v) {
    static const char *const names[] = {"gamma", "beta"};
    for (int i = 0; i < 2; i++) {
        v[i] = kiln_keras_operand(k, names[i], 1 + (size_t)i);
        if (v[i] == NULL)
            v[i] = filled(k, rank, dim, 1 - i);
        KILN_TRY(kiln_keras_check_shape(k, v[i], names[i], rank, dim));
    }
    return k->c.status;
}

/* keras.config.epsilon: where a function of keras.ops is given none. */
static const double least_epsilon = 1e-7;

/* axis: a number, or a list of one. */
static kiln_status read_axis(kiln_keras_call *k, int *axis) {
    int64_t v = -1;
    const int rank = k->in[0]->type.rank;
    KILN_TRY(kiln_keras_int(k, "axis", NULL, -1, &v));
    if (v < -rank || v >= rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its axis must be in [%d, %d), is %" PRId64, -rank, rank, v);
    *axis = (int)(v < 0 ? v + rank : v);
    return KILN_OK;
}

/* What keras.ops.batch_normalization is called with behind its values, in the order of
 * weights: scale and offset, where they are given, mean and variance. */
static kiln_status given_moments(kiln_keras_call *k, const int64_t *dim,
                                 kiln_value **v) {
    static const char *const names[] = {"scale", "offset", "mean", "variance"};
    static const size_t place[] = {4, 3, 1, 2};
    for (int i = 0; i < 4; i++) {
        v[i] = kiln_keras_operand(k, names[i], place[i]);
        if (v[i] == NULL && i >= 2)
            return kiln_keras_unread(k, names[i]);
        if (v[i] == NULL)
            v[i] = filled(k, 1, dim, 1 - i);
        KILN_TRY(kiln_keras_check_shape(k, v[i], names[i], 1, dim));
    }
    return k->c.status;
}

kiln_status kiln_keras_import_batch_normalization(kiln_keras_call *k) {
    static const char *const moments[] = {"moving_mean|running_mean",
                                          "moving_variance|running_std"};
    int axis = 0;
    kiln_value *v[4], *const x = k->in[0];
    KILN_TRY(kiln_keras_min_rank(k, 2));
    KILN_TRY(read_axis(k, &axis));
    const int64_t *const dim = &x->type.dim[axis];
    KILN_TRY(k->layer->is_function ? given_moments(k, dim, v)
                                   : read_affine(k, moments, 2, 1, dim, v));
    const double epsilon = kiln_keras_number(k, "epsilon", 1e-3);
    if (axis == x->type.rank - 1)
        return set(k, kiln_channels_last_batch_norm(&k->c, x, v, epsilon));
    if (axis != 1)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its axis must be the last or 1, is %d", axis);
    const kiln_attr_arg arg = kiln_arg_float("epsilon", epsilon);
    kiln_value *const in[] = {x, v[0], v[1], v[2], v[3]};
    return set(k, kiln_compose_op(&k->c, &kiln_op_batch_norm, in, 5, &arg, 1));
}

/* Over the last axes: axis is a number, or a list of those up to the end. */
kiln_status kiln_keras_import_layer_normalization(kiln_keras_call *k) {
    const kiln_json *const axes = kiln_keras_get(k, "axis", NULL);
    const int rank = k->in[0]->type.rank;
    const size_t n = kiln_json_is_array(axes) ? kiln_json_size(axes) : 1;
    int64_t list[KILN_MAX_RANK];
    kiln_value *v[2];
    if (n < 1 || n > (size_t)rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "it must have 1 to %d axes, has %zu", rank, n);
    KILN_TRY(kiln_keras_ints(k, "axis", NULL, -1, (int)n, list));
    const int first = rank - (int)n;
    for (size_t i = 0; i < n; i++)
        if ((list[i] < 0 ? list[i] + rank : list[i]) != first + (int64_t)i)
            return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                             "its axes must be the last ones in order");
    if (kiln_keras_bool(k, "rms_scaling", false))
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "rms_scaling is not read");
    const int64_t *const dim = k->in[0]->type.dim + first;
    const bool is_function = k->layer->is_function;
    KILN_TRY(is_function ? given_affine(k, (int)n, dim, v)
                         : read_affine(k, NULL, 0, (int)n, dim, v));
    const double epsilon =
        kiln_keras_number(k, "epsilon", is_function ? least_epsilon : 1e-3);
    const kiln_attr_arg args[] = {kiln_arg_int("axis", first),
                                  kiln_arg_float("epsilon", epsilon)};
    kiln_value *const in[] = {k->in[0], v[0], v[1]};
    return set(k, kiln_compose_op(&k->c, &kiln_op_layer_norm, in, 3, args, 2));
}

/* x times a number for each channel: what ConvNeXt keeps in its blocks. */
kiln_status kiln_keras_import_layer_scale(kiln_keras_call *k) {
    /* Keras 3 gives it no name in .h5, where it is "variable_2". */
    static const char *const roles[] = {"gamma|variable*|Variable*"};
    const kiln_type *const x = &k->in[0]->type;
    kiln_value *gamma = NULL;
    KILN_TRY(kiln_keras_min_rank(k, 1));
    KILN_TRY(kiln_keras_weights(k, roles, 1, &gamma));
    KILN_TRY(kiln_keras_check_shape(k, gamma, "gamma", 1, &x->dim[x->rank - 1]));
    return set(k, kiln_compose_2(&k->c, &kiln_op_mul, k->in[0], gamma));
}

/* Groups of neighbouring channels; -1 is a channel each. */
kiln_status kiln_keras_import_group_normalization(kiln_keras_call *k) {
    const kiln_type *const x = &k->in[0]->type;
    int axis = 0;
    int64_t groups = 32;
    kiln_value *v[2];
    KILN_TRY(kiln_keras_min_rank(k, 2));
    KILN_TRY(read_axis(k, &axis));
    KILN_TRY(kiln_keras_int(k, "groups", NULL, groups, &groups));
    if (axis != x->rank - 1)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its axis must be the last, is %d", axis);
    KILN_TRY(read_affine(k, NULL, 0, 1, &x->dim[axis], v));
    const kiln_attr_arg args[] = {
        kiln_arg_int("groups", groups == -1 ? x->dim[axis] : groups),
        kiln_arg_float("epsilon", kiln_keras_number(k, "epsilon", 1e-3))};
    kiln_value *const in[] = {kiln_channels_first(&k->c, k->in[0]), v[0], v[1]};
    return set(k, kiln_channels_last(&k->c, kiln_compose_op(&k->c, &kiln_op_group_norm,
                                                            in, 3, args, 2)));
}

kiln_status kiln_keras_import_rms_normalization(kiln_keras_call *k) {
    static const char *const roles[] = {"scale"};
    const kiln_type *const x = &k->in[0]->type;
    int axis = 0;
    kiln_value *scale = NULL;
    KILN_TRY(kiln_keras_min_rank(k, 1));
    KILN_TRY(read_axis(k, &axis));
    if (axis != x->rank - 1)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its axis must be the last, is %d", axis);
    const bool is_function = k->layer->is_function;
    if (is_function)
        scale = kiln_keras_operand(k, "scale", 1);
    else
        KILN_TRY(kiln_keras_weights(k, roles, 1, &scale));
    if (scale == NULL)
        scale = filled(k, 1, &x->dim[axis], 1);
    KILN_TRY(kiln_keras_check_shape(k, scale, "scale", 1, &x->dim[axis]));
    const double epsilon =
        kiln_keras_number(k, "epsilon", is_function ? least_epsilon : 1e-6);
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_float("epsilon", epsilon)};
    return set(k, kiln_compose_op(&k->c, &kiln_op_rms_norm,
                                  (kiln_value *[]){k->in[0], scale}, 2, args, 2));
}

/* x / sqrt(max(sum of squares, 1e-12)) along one axis. */
kiln_status kiln_keras_import_unit_normalization(kiln_keras_call *k) {
    int axis = 0;
    KILN_TRY(kiln_keras_min_rank(k, 1));
    KILN_TRY(read_axis(k, &axis));
    return set(k, kiln_keras_of_length_1(k, k->in[0], axis));
}

/* keras.ops.normalize: x / max(norm, epsilon), where the norm is a root of a sum of powers
 * along some axes. */
kiln_status kiln_keras_import_normalize(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const x = k->in[0];
    const double order = kiln_keras_number(k, "order", 2);
    int64_t axes[KILN_MAX_RANK];
    size_t n = 0;
    KILN_TRY(kiln_keras_min_rank(k, 1));
    KILN_TRY(kiln_keras_read_axes(k, x->type.rank, axes, &n));
    if (order != 1 && order != 2)
        return kiln_keras_unread(k, "order");
    kiln_value *const norm = kiln_compose_reduce(
        c, order < 2 ? &kiln_op_reduce_l1 : &kiln_op_reduce_l2, x, axes, n, true);
    return set(k, kiln_compose_2(c, &kiln_op_div, x,
                                 kiln_compose_scalar(
                                     c, &kiln_op_max, norm,
                                     kiln_keras_number(k, "epsilon", least_epsilon))));
}

/* A number, or one for each channel, of the config; `otherwise` where it has none. */
static kiln_status read_numbers(kiln_keras_call *k, const char *name, double otherwise,
                                kiln_value **out) {
    const kiln_json *const v = kiln_keras_get(k, name, NULL);
    const kiln_type *const x = &k->in[0]->type;
    const int64_t n = (int64_t)kiln_json_size(v);
    const bool is_list = kiln_json_is_array(v);
    if (is_list && (x->rank < 1 || (n != 1 && n != x->dim[x->rank - 1])))
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "'%s' must be a number, or one for each channel, has %" PRId64,
                         name, n);
    double *const number = kiln_array(&k->cx->common.scratch, double, is_list ? n : 1);
    number[0] = kiln_keras_number(k, name, otherwise);
    const kiln_json *j = kiln_json_first(v);
    for (int64_t i = 0; is_list && i < n; i++, j = kiln_json_next(j)) {
        if (!kiln_json_is_number(j))
            return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                             "'%s' must hold numbers", name);
        number[i] = kiln_json_number(j, 0);
    }
    *out = kiln_compose_floats(&k->c, KILN_F32, is_list, &n, number);
    return k->c.status;
}

kiln_status kiln_keras_import_rescaling(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    kiln_value *scale = NULL, *offset = NULL;
    KILN_TRY(read_numbers(k, "scale", 1, &scale));
    KILN_TRY(read_numbers(k, "offset", 0, &offset));
    kiln_value *const x = kiln_compose_cast(c, k->in[0], KILN_F32);
    return set(k, kiln_compose_2(c, &kiln_op_add,
                                 kiln_compose_2(c, &kiln_op_mul, x, scale), offset));
}

/* (x - mean) / max(sqrt(variance), 1e-7), or back; of each channel, by weights or by the
 * config. */
kiln_status kiln_keras_import_normalization(kiln_keras_call *k) {
    static const char *const roles[] = {"mean", "variance"};
    const double least = 1e-7;
    kiln_compose *const c = &k->c;
    kiln_value *v[2], *const x = kiln_compose_cast(c, k->in[0], KILN_F32);
    int axis = 0;
    KILN_TRY(read_axis(k, &axis));
    if (axis != x->type.rank - 1)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its axis must be the last, is %d", axis);
    if (kiln_keras_get(k, "mean", NULL) == NULL) {
        KILN_TRY(kiln_keras_weights(k, roles, 2, v));
        for (int i = 0; i < 2; i++)
            KILN_TRY(kiln_keras_check_shape(k, v[i], roles[i], v[i]->type.rank > 0,
                                            &x->type.dim[axis]));
    } else {
        KILN_TRY(read_numbers(k, "mean", 0, &v[0]));
        KILN_TRY(read_numbers(k, "variance", 1, &v[1]));
    }
    const kiln_attr_arg low = kiln_arg_float("min", least);
    kiln_value *const root = kiln_compose_1(c, &kiln_op_sqrt, v[1]);
    kiln_value *const by = kiln_compose_op(c, &kiln_op_clip, &root, 1, &low, 1);
    if (kiln_keras_bool(k, "invert", false))
        return set(k, kiln_compose_2(c, &kiln_op_add,
                                     kiln_compose_2(c, &kiln_op_mul, x, by), v[0]));
    return set(k, kiln_compose_2(c, &kiln_op_div,
                                 kiln_compose_2(c, &kiln_op_sub, x, v[0]), by));
}
