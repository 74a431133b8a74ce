/* Sums of products over some axes of two tensors: keras.ops.tensordot and tf.tensordot, by
 * a number of axes, the last of the first and the first of the second, or by two lists. As
 * a product of matrices whose rows and columns are the other axes. So are keras.ops.dot,
 * inner and vdot. Source: NumPy, tensordot, dot. */
#include "compiler/frontend/keras/keras_internal.h"

typedef struct side {
    kiln_value *x;
    int64_t axis[KILN_MAX_RANK]; /* that are summed over */
    int n;
} side;

static bool is_summed(const side *s, int axis) {
    bool is_there = false;
    for (int i = 0; i < s->n; i++)
        is_there = is_there || s->axis[i] == axis;
    return is_there;
}

/* A number or a list of them, each in [-rank, rank), none twice. */
static bool read_side(const kiln_json *v, side *s) {
    const int rank = s->x->type.rank;
    const bool is_list = kiln_json_is_array(v);
    for (const kiln_json *i = is_list ? kiln_json_first(v) : v; i != NULL;
         i = is_list ? kiln_json_next(i) : NULL) {
        int64_t axis;
        if (!kiln_json_i64(i, &axis) || axis < -rank || axis >= rank)
            return false;
        axis += axis < 0 ? rank : 0;
        if (is_summed(s, (int)axis))
            return false;
        s->axis[s->n++] = axis;
    }
    return true;
}

static bool read_sides(kiln_keras_call *k, side *x, side *y) {
    const kiln_json *const v = kiln_keras_get(k, "axes", NULL);
    int64_t n = 2; /* of keras.ops, where a call says nothing */
    if (kiln_json_is_array(v))
        return kiln_json_size(v) == 2 && read_side(kiln_json_at(v, 0), x) &&
               read_side(kiln_json_at(v, 1), y);
    if ((v != NULL && !kiln_json_i64(v, &n)) || n < 0 || n > x->x->type.rank ||
        n > y->x->type.rank)
        return false;
    for (x->n = y->n = 0; x->n < n; x->n++, y->n++) {
        x->axis[x->n] = x->x->type.rank - n + x->n;
        y->axis[y->n] = y->n;
    }
    return true;
}

static bool fit(const side *x, const side *y) {
    bool is_good = x->n == y->n;
    for (int i = 0; is_good && i < x->n; i++)
        is_good = x->x->type.dim[x->axis[i]] == y->x->type.dim[y->axis[i]];
    return is_good && x->x->type.rank + y->x->type.rank - 2 * x->n <= KILN_MAX_RANK;
}

/* [others, summed], or the other way round; the others' sizes are put behind `dim`. */
static kiln_value *as_matrix(kiln_keras_call *k, const side *s, bool is_first,
                             int64_t *dim, int *rank) {
    const kiln_type *const t = &s->x->type;
    int64_t perm[KILN_MAX_RANK], rows = 1, columns = 1;
    int at = is_first ? 0 : s->n;
    for (int i = 0; i < t->rank; i++) {
        if (is_summed(s, i))
            continue;
        perm[at++] = i;
        rows *= t->dim[i];
        dim[(*rank)++] = t->dim[i];
    }
    at = is_first ? at : 0;
    for (int i = 0; i < s->n; i++) {
        perm[at++] = s->axis[i];
        columns *= t->dim[s->axis[i]];
    }
    const int64_t matrix[] = {is_first ? rows : columns, is_first ? columns : rows};
    kiln_value *const x = kiln_compose_transpose(&k->c, s->x, perm);
    return kiln_compose_reshape(&k->c, x, 2, matrix);
}

static kiln_status sum_over(kiln_keras_call *k, const side *x, const side *y) {
    int64_t dim[KILN_MAX_RANK];
    int rank = 0;
    if (!fit(x, y))
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "the axes that are summed over must have the same sizes, and "
                         "%d others be left at most",
                         KILN_MAX_RANK);
    kiln_value *const left = as_matrix(k, x, true, dim, &rank);
    kiln_value *const right = as_matrix(k, y, false, dim, &rank);
    kiln_value *const z = kiln_compose_2(&k->c, &kiln_op_matmul, left, right);
    k->out = kiln_compose_reshape(&k->c, z, rank, dim);
    return k->c.status;
}

kiln_status kiln_keras_import_tensordot(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    side x = {.x = k->in[0]}, y = {.x = k->in[1]};
    if (!read_sides(k, &x, &y))
        return kiln_keras_unread(k, "axes");
    return sum_over(k, &x, &y);
}

/* The last axis of the first and, from the end, number `behind` of the second; with what
 * has no axis the product of each. */
static kiln_status sum_over_last(kiln_keras_call *k, int behind) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    side x = {.x = k->in[0], .n = 1}, y = {.x = k->in[1], .n = 1};
    const int n_x = x.x->type.rank, n_y = y.x->type.rank;
    x.axis[0] = n_x - 1;
    y.axis[0] = n_y - (n_y < behind ? n_y : behind);
    if (n_x > 0 && n_y > 0)
        return sum_over(k, &x, &y);
    k->out = kiln_compose_2(&k->c, &kiln_op_mul, x.x, y.x);
    return k->c.status;
}

kiln_status kiln_keras_import_dot_of_lines(kiln_keras_call *k) {
    return sum_over_last(k, 2);
}

kiln_status kiln_keras_import_inner(kiln_keras_call *k) { return sum_over_last(k, 1); }

/* Of all elements. */
kiln_status kiln_keras_import_vdot(kiln_keras_call *k) {
    for (int i = 0; i < 2; i++) {
        const int64_t n = kiln_type_elems(&k->in[i]->type);
        k->in[i] = kiln_compose_reshape(&k->c, k->in[i], 1, &n);
    }
    return sum_over_last(k, 1);
}
