/* Functions of keras.ops in a model's code, such as keras.ops.mean(x, axis=1): of Keras 3,
 * whose config holds what the function is called with beside tensors. Axes count the
 * batch. Source: keras.src.ops, numpy and nn. */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

/* Of keras.ops also of integers and truths, which become floats where the operator has no
 * other meaning. */
kiln_status kiln_keras_import_unary(kiln_keras_call *k) {
    if (!k->layer->is_lambda && !kiln_dtype_is_in(k->in[0]->type.dtype, k->op->dtypes))
        KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, kiln_compose_1(&k->c, k->op, k->in[0]));
}

kiln_status kiln_keras_import_product(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    return set(k, kiln_compose_2(&k->c, &kiln_op_matmul, k->in[0], k->in[1]));
}

kiln_status kiln_keras_import_square(kiln_keras_call *k) {
    return set(k, kiln_compose_2(&k->c, &kiln_op_mul, k->in[0], k->in[0]));
}

kiln_status kiln_keras_import_log1p(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, kiln_compose_log1p(&k->c, k->in[0]));
}

kiln_status kiln_keras_import_expm1(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, kiln_compose_expm1(&k->c, k->in[0]));
}

static kiln_status logarithm(kiln_keras_call *k, double base) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const y = kiln_compose_1(&k->c, &kiln_op_log, k->in[0]);
    return set(k, kiln_compose_scalar(&k->c, &kiln_op_mul, y, 1 / log(base)));
}

kiln_status kiln_keras_import_log2(kiln_keras_call *k) { return logarithm(k, 2); }
kiln_status kiln_keras_import_log10(kiln_keras_call *k) { return logarithm(k, 10); }

kiln_status kiln_keras_import_round(kiln_keras_call *k) {
    if (kiln_keras_number(k, "decimals", 0) != 0)
        return kiln_keras_unread(k, "decimals");
    if (!kiln_dtype_is_float(k->in[0]->type.dtype))
        return set(k, k->in[0]);
    return set(k, kiln_compose_1(&k->c, &kiln_op_round, k->in[0]));
}

kiln_status kiln_keras_import_silu(kiln_keras_call *k) {
    kiln_value *x = k->in[0];
    if (kiln_keras_get(k, "beta", NULL) != NULL) /* of tf.nn.silu */
        x = kiln_compose_scalar(&k->c, &kiln_op_mul, x,
                                kiln_keras_number(k, "beta", 1));
    kiln_value *const s = kiln_compose_1(&k->c, &kiln_op_sigmoid, x);
    return set(k, kiln_compose_2(&k->c, &kiln_op_mul, k->in[0], s));
}

kiln_status kiln_keras_import_gelu(kiln_keras_call *k) {
    const kiln_attr_arg arg = kiln_arg_word(
        "approximate",
        kiln_keras_bool(k, "approximate", !k->layer->is_lambda) ? "tanh" : "none");
    return set(k, kiln_compose_op(&k->c, &kiln_op_gelu, k->in, 1, &arg, 1));
}

kiln_status kiln_keras_import_clip(kiln_keras_call *k) {
    const char *const low = k->layer->is_lambda ? "clip_value_min" : "x_min";
    const char *const high = k->layer->is_lambda ? "clip_value_max" : "x_max";
    const double lo = kiln_keras_number(k, low, (double)NAN);
    const double hi = kiln_keras_number(k, high, (double)NAN);
    if (isnan(lo) || isnan(hi))
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'%s' and '%s' must be numbers", low, high);
    const kiln_attr_arg args[] = {kiln_arg_float("min", lo), kiln_arg_float("max", hi)};
    return set(k, kiln_compose_op(&k->c, &kiln_op_clip, k->in, 1, args, 2));
}

kiln_status kiln_keras_import_not_equal(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    kiln_value *const same = kiln_compose_2(&k->c, &kiln_op_equal, k->in[0], k->in[1]);
    return set(k, kiln_compose_1(&k->c, &kiln_op_logical_not, same));
}

/* Of numbers, what is not zero is true. */
static kiln_value *as_truth(kiln_keras_call *k, kiln_value *x) {
    return kiln_compose_cast(&k->c, x, KILN_BOOL);
}

kiln_status kiln_keras_import_logical(kiln_keras_call *k) {
    kiln_value *const x = as_truth(k, k->in[0]);
    return set(k, k->n_in < 2 ? kiln_compose_1(&k->c, k->op, x)
                              : kiln_compose_2(&k->c, k->op, x, as_truth(k, k->in[1])));
}

kiln_status kiln_keras_import_where(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 1, KILN_BOOL));
    return set(k, kiln_compose_where(&k->c, as_truth(k, k->in[0]), k->in[1], k->in[2]));
}

bool kiln_keras_dtype_of(const char *name, kiln_dtype *out) {
    static const struct {
        const char *name;
        kiln_dtype dtype;
    } known[] = {{"float32", KILN_F32}, {"float64", KILN_F64}, {"int32", KILN_I32},
                 {"int64", KILN_I64},   {"uint8", KILN_U8},    {"int8", KILN_I8},
                 {"bool", KILN_BOOL}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0) {
            *out = known[i].dtype;
            return true;
        }
    return false;
}

kiln_status kiln_keras_read_dtype(kiln_keras_call *k, kiln_dtype otherwise,
                                  kiln_dtype *out) {
    const char *const name = kiln_keras_text(k, "dtype", NULL, "");
    *out = otherwise;
    if (kiln_keras_get(k, "dtype", NULL) == NULL || kiln_keras_dtype_of(name, out))
        return KILN_OK;
    return kiln_fail(
        k->cx->common.err, KILN_ERR_UNSUPPORTED,
        "its values may be float32, float64, bool and integers of 8, 32 or 64 bits, "
        "not '%s'",
        kiln_import_show(&k->cx->common, kiln_str_from(name)));
}

/* Cast, and ConvertToTensor, which need not say a type. */
kiln_status kiln_keras_import_cast(kiln_keras_call *k) {
    kiln_dtype to;
    KILN_TRY(kiln_keras_read_dtype(k, k->in[0]->type.dtype, &to));
    return set(k, kiln_compose_cast(&k->c, k->in[0], to));
}

static kiln_status like(kiln_keras_call *k, double v) {
    const kiln_type *const x = &k->in[0]->type;
    kiln_dtype to;
    KILN_TRY(kiln_keras_read_dtype(k, x->dtype, &to));
    kiln_value *const one = kiln_import_scalar(&k->cx->common, to, v);
    return set(k, kiln_compose_expand(&k->c, one, x->rank, x->dim));
}

kiln_status kiln_keras_import_ones_like(kiln_keras_call *k) { return like(k, 1); }
kiln_status kiln_keras_import_zeros_like(kiln_keras_call *k) { return like(k, 0); }

/* ---- axes ------------------------------------------------------------------------ */

kiln_status kiln_keras_read_axes(kiln_keras_call *k, int rank, int64_t *axes,
                                 size_t *n) {
    const kiln_json *const v = kiln_keras_get(k, "axis", NULL);
    bool is_in[KILN_MAX_RANK] = {false};
    *n = v == NULL ? 0 : kiln_json_is_array(v) ? kiln_json_size(v) : 1;
    bool is_good = *n <= (size_t)rank;
    if (is_good && *n > 0)
        KILN_TRY(kiln_keras_ints(k, "axis", NULL, 0, (int)*n, axes));
    for (size_t i = 0; is_good && i < *n; i++) {
        axes[i] += axes[i] < 0 ? rank : 0;
        is_good = axes[i] >= 0 && axes[i] < rank && !is_in[axes[i]];
        if (is_good)
            is_in[axes[i]] = true;
    }
    return is_good ? KILN_OK
                   : kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                               "its axes must be in [%d, %d), each once", -rank, rank);
}

kiln_status kiln_keras_import_reduction(kiln_keras_call *k) {
    int64_t axes[KILN_MAX_RANK];
    size_t n = 0;
    if (kiln_keras_get(k, "initial", NULL) != NULL)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "'initial' is not read");
    KILN_TRY(kiln_keras_read_axes(k, k->in[0]->type.rank, axes, &n));
    if (n == 0 && kiln_keras_get(k, "axis", NULL) != NULL) /* []: of nothing */
        return set(k, k->in[0]);
    return set(k, kiln_compose_reduce(&k->c, k->op, k->in[0], axes, n,
                                      kiln_keras_bool(k, "keepdims", false)));
}

/* Any and All: the largest, or the smallest, of 0 and 1. */
kiln_status kiln_keras_import_truth(kiln_keras_call *k) {
    k->in[0] = kiln_compose_cast(&k->c, as_truth(k, k->in[0]), KILN_U8);
    KILN_TRY(k->c.status);
    KILN_TRY(kiln_keras_import_reduction(k));
    return set(k, as_truth(k, k->out));
}

/* Axes of 1 at places of the result. */
kiln_status kiln_keras_import_expand_dims(kiln_keras_call *k) {
    const kiln_json *const v = kiln_keras_get(k, "axis", NULL);
    const size_t more = kiln_json_is_array(v) ? kiln_json_size(v) : 1;
    const kiln_type *const x = &k->in[0]->type;
    int64_t axes[KILN_MAX_RANK], dim[KILN_MAX_RANK] = {0};
    size_t n = 0;
    if (v == NULL || more > (size_t)(KILN_MAX_RANK - x->rank))
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "its result may have at most %d axes", KILN_MAX_RANK);
    const int rank = x->rank + (int)more;
    KILN_TRY(kiln_keras_read_axes(k, rank, axes, &n));
    for (size_t i = 0; i < n; i++)
        dim[axes[i]] = -1;
    for (int i = 0, from = 0; i < rank; i++)
        dim[i] = dim[i] == -1 ? 1 : x->dim[from++];
    return set(k, kiln_compose_reshape(&k->c, k->in[0], rank, dim));
}

kiln_status kiln_keras_import_squeeze(kiln_keras_call *k) {
    const kiln_type *const x = &k->in[0]->type;
    const bool is_any = kiln_keras_get(k, "axis", NULL) == NULL;
    int64_t axes[KILN_MAX_RANK], dim[KILN_MAX_RANK] = {0};
    bool goes[KILN_MAX_RANK] = {false};
    size_t n = 0;
    int rank = 0;
    KILN_TRY(kiln_keras_read_axes(k, x->rank, axes, &n));
    for (size_t i = 0; i < n; i++) {
        if (x->dim[axes[i]] != 1)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "axis %" PRId64 " must have 1 element, has %" PRId64,
                             axes[i], x->dim[axes[i]]);
        goes[axes[i]] = true;
    }
    for (int i = 0; i < x->rank; i++)
        if (!goes[i] && !(is_any && x->dim[i] == 1))
            dim[rank++] = x->dim[i];
    return set(k, kiln_compose_reshape(&k->c, k->in[0], rank, dim));
}

kiln_status kiln_keras_import_transpose(kiln_keras_call *k) {
    const int rank = k->in[0]->type.rank;
    const char *const axes = k->layer->is_lambda ? "perm" : "axes";
    int64_t perm[KILN_MAX_RANK] = {0};
    bool is_in[KILN_MAX_RANK] = {false};
    if (rank > 0 && kiln_keras_get(k, axes, NULL) != NULL)
        KILN_TRY(kiln_keras_ints(k, axes, NULL, 0, rank, perm));
    for (int i = 0; i < rank; i++) {
        if (kiln_keras_get(k, axes, NULL) == NULL)
            perm[i] = rank - 1 - i;
        perm[i] += perm[i] < 0 ? rank : 0;
        if (perm[i] < 0 || perm[i] >= rank || is_in[perm[i]])
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "'%s' must have 0 to %d, each once", axes, rank - 1);
        is_in[perm[i]] = true;
    }
    return set(k, kiln_compose_transpose(&k->c, k->in[0], perm));
}

/* The values one behind the other, along a new axis. */
kiln_status kiln_keras_import_stack(kiln_keras_call *k) {
    const kiln_type x = k->in[0]->type;
    const int rank = x.rank + 1;
    int64_t axis = 0, dim[KILN_MAX_RANK] = {0};
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    KILN_TRY(kiln_keras_int(k, "axis", NULL, 0, &axis));
    if (rank > KILN_MAX_RANK || axis < -rank || axis >= rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its axis must be in [%d, %d), and there may be %d axes",
                         -rank, rank, KILN_MAX_RANK);
    axis += axis < 0 ? rank : 0;
    for (int i = 0, from = 0; i < rank; i++)
        dim[i] = i == axis ? 1 : x.dim[from++];
    for (int i = 0; i < k->n_in; i++) {
        KILN_TRY(kiln_keras_check_shape(k, k->in[i], "each value", x.rank, x.dim));
        k->in[i] = kiln_compose_reshape(&k->c, k->in[i], rank, dim);
    }
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return set(k, kiln_compose_op(&k->c, &kiln_op_concat, k->in, k->n_in, &arg, 1));
}
