/* Shapes and joins of Keras. Source: keras.layers, "Reshaping layers", "Merging
 * layers". */
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>
#include <string.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

kiln_status kiln_keras_import_flatten(kiln_keras_call *k) {
    const kiln_type *const t = &k->in[0]->type;
    KILN_TRY(kiln_keras_check_format(k));
    KILN_TRY(kiln_keras_min_rank(k, 1));
    int64_t dim[2] = {t->dim[0], 1};
    for (int i = 1; i < t->rank; i++)
        dim[1] *= t->dim[i];
    return set(k, kiln_compose_reshape(&k->c, k->in[0], 2, dim));
}

static kiln_status refuse_shape(kiln_keras_call *k, int n, const int64_t *want) {
    return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE, "%s cannot become %s",
                     kiln_type_text(&k->cx->common.scratch, &k->in[0]->type),
                     kiln_shape_text(&k->cx->common.scratch, n, want));
}

/* One size may be -1. */
static kiln_status reshape_by(kiln_keras_call *k, size_t n, int64_t *dim) {
    const kiln_type *const t = &k->in[0]->type;
    int64_t known = 1;
    int open = -1;
    for (size_t i = 0; i < n; i++) {
        if (dim[i] == -1 && open < 0)
            open = (int)i;
        else if (dim[i] < 0 || dim[i] > INT32_MAX || known > INT32_MAX)
            return refuse_shape(k, (int)n, dim);
        else
            known *= dim[i];
    }
    const int64_t all = kiln_type_elems(t);
    if (open >= 0 && (known < 1 || all % known != 0))
        return refuse_shape(k, (int)n, dim);
    if (open >= 0)
        dim[open] = all / known;
    return set(k, kiln_compose_reshape(&k->c, k->in[0], (int)n, dim));
}

/* The shape in the config's member, behind `kept` axes that stay. */
static kiln_status reshape_to(kiln_keras_call *k, const char *member, size_t kept) {
    const kiln_json *const v = kiln_keras_get(k, member, NULL);
    const kiln_type *const t = &k->in[0]->type;
    const size_t n = kept + (kiln_json_is_array(v) ? kiln_json_size(v) : v != NULL);
    int64_t dim[KILN_MAX_RANK] = {0};
    KILN_TRY(kiln_keras_min_rank(k, (int)kept));
    if (n > KILN_MAX_RANK)
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "'%s' may have %zu axes, has %zu", member,
                         KILN_MAX_RANK - kept, n - kept);
    if (n > kept)
        KILN_TRY(kiln_keras_ints(k, member, NULL, -1, (int)(n - kept), dim + kept));
    memcpy(dim, t->dim, kept * sizeof *dim);
    return reshape_by(k, n, dim);
}

kiln_status kiln_keras_import_reshape(kiln_keras_call *k) {
    return reshape_to(k, "target_shape", 1);
}

/* keras.ops.reshape: the batch is one of its sizes. */
kiln_status kiln_keras_import_reshape_all(kiln_keras_call *k) {
    return reshape_to(k, "newshape", 0);
}

/* tf.reshape, whose sizes may be parts of a shape. */
kiln_status kiln_keras_import_reshape_by(kiln_keras_call *k) {
    int64_t dim[KILN_MAX_RANK];
    int n;
    KILN_TRY(kiln_keras_sizes(k, "shape", 1, dim, &n));
    return reshape_by(k, (size_t)n, dim);
}

/* dims count from 1: the batch stays. */
kiln_status kiln_keras_import_permute(kiln_keras_call *k) {
    const int rank = k->in[0]->type.rank;
    int64_t perm[KILN_MAX_RANK] = {0};
    bool is_in[KILN_MAX_RANK] = {true};
    KILN_TRY(kiln_keras_min_rank(k, 2));
    KILN_TRY(kiln_keras_ints(k, "dims", NULL, 1, rank - 1, perm + 1));
    for (int i = 1; i < rank; i++) {
        if (perm[i] < 1 || perm[i] >= rank || is_in[perm[i]])
            return kiln_fail(k->cx->common.err, KILN_ERR_PARSE,
                             "'dims' must have 1 to %d, each once", rank - 1);
        is_in[perm[i]] = true;
    }
    return set(k, kiln_compose_transpose(&k->c, k->in[0], perm));
}

kiln_status kiln_keras_import_repeat_vector(kiln_keras_call *k) {
    enum { MAX_REPEATS = 1 << 24 };
    const int64_t *const d = k->in[0]->type.dim;
    int64_t n = 1;
    KILN_TRY(kiln_keras_int(k, "n", NULL, 1, &n));
    if (k->in[0]->type.rank != 2 || n < 1 || n > MAX_REPEATS)
        return kiln_fail(
            k->cx->common.err, KILN_ERR_SHAPE,
            "it repeats lists [N, C] 1 to %d times, not %s %" PRId64 " times",
            MAX_REPEATS, kiln_type_text(&k->cx->common.scratch, &k->in[0]->type), n);
    const int64_t one[] = {d[0], 1, d[1]}, wide[] = {d[0], n, d[1]};
    kiln_value *const x = kiln_compose_reshape(&k->c, k->in[0], 3, one);
    return set(k, kiln_compose_expand(&k->c, x, 3, wide));
}

/* ---- joins ----------------------------------------------------------------------- */

kiln_status kiln_keras_import_concatenate(kiln_keras_call *k) {
    const int rank = k->in[0]->type.rank;
    int64_t axis = -1;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    KILN_TRY(kiln_keras_int(k, "axis", NULL, -1, &axis));
    if (axis < -rank || axis >= rank)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its axis must be in [%d, %d), is %" PRId64, -rank, rank,
                         axis);
    axis += axis < 0 ? rank : 0;
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    KILN_TRY(set(k, kiln_compose_op(&k->c, &kiln_op_concat, k->in, k->n_in, &arg, 1)));
    return k->layer->is_function ? KILN_OK : kiln_keras_join_masks(k, (int)axis);
}

static kiln_value *fold(kiln_keras_call *k, const kiln_op_def *op) {
    kiln_value *y = k->in[0];
    for (int i = 1; i < k->n_in; i++)
        y = kiln_compose_2(&k->c, op, y, k->in[i]);
    return y;
}

kiln_status kiln_keras_import_merge(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    return set(k, fold(k, k->op));
}

/* x + scale y, of Inception-ResNet. */
kiln_status kiln_keras_import_scaled_add(kiln_keras_call *k) {
    kiln_value *const y = kiln_compose_scalar(&k->c, &kiln_op_mul, k->in[1],
                                              kiln_keras_number(k, "scale", 1));
    return set(k, kiln_compose_2(&k->c, &kiln_op_add, k->in[0], y));
}

kiln_status kiln_keras_import_average(kiln_keras_call *k) {
    return set(k, kiln_compose_scalar(&k->c, &kiln_op_mul, fold(k, &kiln_op_add),
                                      1.0 / k->n_in));
}

/* ---- dot ------------------------------------------------------------------------- */

kiln_value *kiln_keras_of_length_1(kiln_keras_call *k, kiln_value *x, int64_t axis) {
    kiln_compose *const c = &k->c;
    kiln_value *v =
        kiln_compose_reduce(c, &kiln_op_reduce_sum_square, x, &axis, 1, true);
    v = kiln_compose_scalar(c, &kiln_op_max, v, 1e-12);
    return kiln_compose_2(c, &kiln_op_mul, x, kiln_compose_1(c, &kiln_op_rsqrt, v));
}

/* x as [N, rest, axis], or [N, axis, rest] where `first`; the rest's sizes go to the end
 * of dim. */
static kiln_value *as_matrix(kiln_keras_call *k, kiln_value *x, int axis, bool first,
                             int64_t *dim, int *rank) {
    const int n = x->type.rank;
    int64_t perm[KILN_MAX_RANK] = {0}, flat[3] = {x->type.dim[0], 1, 1};
    int at = first ? 2 : 1;
    for (int i = 1; i < n; i++) {
        if (i == axis)
            continue;
        perm[at++] = i;
        flat[first ? 2 : 1] *= x->type.dim[i];
        dim[(*rank)++] = x->type.dim[i];
    }
    perm[first ? 1 : n - 1] = axis;
    flat[first ? 1 : 2] = x->type.dim[axis];
    return kiln_compose_reshape(&k->c, kiln_compose_transpose(&k->c, x, perm), 3, flat);
}

kiln_status kiln_keras_import_dot(kiln_keras_call *k) {
    int64_t axes[2], dim[2 * KILN_MAX_RANK] = {k->in[0]->type.dim[0]};
    int rank = 1;
    KILN_TRY(kiln_keras_ints(k, "axes", NULL, -1, 2, axes));
    for (int i = 0; i < 2; i++) {
        const int n = k->in[i]->type.rank;
        axes[i] = axes[i] < 0 ? axes[i] + n : axes[i];
        if (axes[i] < 1 || axes[i] >= n)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "its axes must be 1 at least, and of its inputs");
    }
    kiln_value *x = k->in[0], *y = k->in[1];
    if (kiln_keras_bool(k, "normalize", false)) {
        x = kiln_keras_of_length_1(k, x, axes[0]);
        y = kiln_keras_of_length_1(k, y, axes[1]);
    }
    KILN_TRY(k->c.status);
    x = as_matrix(k, x, (int)axes[0], false, dim, &rank);
    y = as_matrix(k, y, (int)axes[1], true, dim, &rank);
    if (rank == 1)
        dim[rank++] = 1;
    if (rank > KILN_MAX_RANK)
        return kiln_fail(k->cx->common.err, KILN_ERR_LIMIT,
                         "its output may have at most %d axes, has %d", KILN_MAX_RANK,
                         rank);
    x = kiln_compose_2(&k->c, &kiln_op_matmul, x, y);
    return set(k, kiln_compose_reshape(&k->c, x, rank, dim));
}
