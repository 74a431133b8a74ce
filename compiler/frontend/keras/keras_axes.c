/* Functions of keras.ops that move, join or mirror axes, or are about the diagonals of two
 * of them. Source: keras.src.ops.numpy, and what it calls of keras.src.backend. */
#include "compiler/frontend/diagonal.h"
#include "compiler/frontend/einsum.h"
#include "compiler/frontend/keras/keras_internal.h"

#include <inttypes.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

/* An axis of input 0 by the config's member. */
static kiln_status axis_of(kiln_keras_call *k, const char *name, int64_t otherwise,
                           int *axis) {
    int64_t v = otherwise;
    KILN_TRY(kiln_keras_int(k, name, NULL, otherwise, &v));
    return kiln_axis_normalize(v, k->in[0]->type.rank, axis, k->cx->common.err);
}

/* ---- moved ----------------------------------------------------------------------------- */

static kiln_value *swapped(kiln_compose *c, kiln_value *x, int first, int second) {
    int64_t perm[KILN_MAX_RANK];
    for (int i = 0; i < x->type.rank; i++)
        perm[i] = i == first ? second : i == second ? first : i;
    return kiln_compose_transpose(c, x, perm);
}

kiln_status kiln_keras_import_swap_axes(kiln_keras_call *k) {
    int first, second;
    KILN_TRY(axis_of(k, "axis1", 0, &first));
    KILN_TRY(axis_of(k, "axis2", 0, &second));
    return set(k, swapped(&k->c, k->in[0], first, second));
}

/* Axis from[i] goes to to[i]; the others fill the places that are left, in their order. */
static kiln_status move_axes(kiln_keras_call *k, int n, const int64_t *from,
                             const int64_t *to, kiln_value **x) {
    const int rank = (*x)->type.rank;
    int64_t perm[KILN_MAX_RANK];
    bool goes[KILN_MAX_RANK] = {false}, is_taken[KILN_MAX_RANK] = {false};
    for (int i = 0; i < n; i++) {
        int s, d;
        KILN_TRY(kiln_axis_normalize(from[i], rank, &s, k->cx->common.err));
        KILN_TRY(kiln_axis_normalize(to[i], rank, &d, k->cx->common.err));
        if (goes[s] || is_taken[d])
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "an axis must be moved once, and to a place of its own");
        goes[s] = is_taken[d] = true;
        perm[d] = s;
    }
    for (int i = 0, at = 0; i < rank; i++) {
        while (at < rank && is_taken[at])
            at++;
        if (!goes[i])
            perm[at++] = i;
    }
    *x = kiln_compose_transpose(&k->c, *x, perm);
    return k->c.status;
}

kiln_status kiln_keras_import_move_axes(kiln_keras_call *k) {
    int64_t from[KILN_MAX_RANK], to[KILN_MAX_RANK];
    const kiln_json *const v = kiln_keras_get(k, "source", NULL);
    const size_t n = kiln_json_is_array(v) ? kiln_json_size(v) : 1;
    if (n > (size_t)k->in[0]->type.rank)
        return kiln_keras_unread(k, "source");
    KILN_TRY(kiln_keras_ints(k, "source", NULL, 0, (int)n, from));
    KILN_TRY(kiln_keras_ints(k, "destination", NULL, 0, (int)n, to));
    k->out = k->in[0];
    return move_axes(k, (int)n, from, to, &k->out);
}

static kiln_value *as_row(kiln_keras_call *k, kiln_value *x) {
    const int64_t n = kiln_type_elems(&x->type);
    return kiln_compose_reshape(&k->c, x, 1, &n);
}

kiln_status kiln_keras_import_row(kiln_keras_call *k) {
    return set(k, as_row(k, k->in[0]));
}

/* ---- mirrored -------------------------------------------------------------------------- */

static kiln_value *mirrored(kiln_compose *c, kiln_value *x, int axis) {
    const int64_t n = x->type.dim[axis];
    return n > 1 ? kiln_compose_slice(c, x, axis, n - 1, -1, n) : x;
}

kiln_status kiln_keras_import_mirror_rows(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_min_rank(k, 1));
    return set(k, mirrored(&k->c, k->in[0], 0));
}

kiln_status kiln_keras_import_mirror_columns(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_min_rank(k, 2));
    return set(k, mirrored(&k->c, k->in[0], 1));
}

/* By quarters of a turn, from the first of two axes towards the second. */
kiln_status kiln_keras_import_turn(kiln_keras_call *k) {
    int64_t turns = 1, given[2] = {0, 1};
    kiln_value *x = k->in[0];
    int axis[2];
    KILN_TRY(kiln_keras_int(k, "k", NULL, 1, &turns));
    if (kiln_keras_get(k, "axes", NULL) != NULL)
        KILN_TRY(kiln_keras_ints(k, "axes", NULL, 0, 2, given));
    for (int i = 0; i < 2; i++)
        KILN_TRY(
            kiln_axis_normalize(given[i], x->type.rank, &axis[i], k->cx->common.err));
    if (axis[0] == axis[1])
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "it must turn two axes, is given axis %d twice", axis[0]);
    for (int64_t i = (turns % 4 + 4) % 4; i > 0; i--)
        x = swapped(&k->c, mirrored(&k->c, x, axis[1]), axis[0], axis[1]);
    return set(k, x);
}

/* ---- joined ---------------------------------------------------------------------------- */

static kiln_status join(kiln_keras_call *k, int axis) {
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    return set(k, kiln_compose_op(&k->c, &kiln_op_concat, k->in, k->n_in, &arg, 1));
}

/* The second axis, or the only one. */
kiln_status kiln_keras_import_join_columns(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_min_rank(k, 1));
    return join(k, k->in[0]->type.rank > 1);
}

kiln_status kiln_keras_import_join_rows(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_min_rank(k, 2));
    return join(k, 0);
}

/* Matrices become the columns [rows, columns, 1] of what is joined. */
kiln_status kiln_keras_import_join_layers(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_min_rank(k, 2));
    for (int i = 0; i < k->n_in; i++) {
        const kiln_type *const t = &k->in[i]->type;
        const int64_t dim[] = {t->dim[0], t->dim[1], 1};
        if (t->rank == 2)
            k->in[i] = kiln_compose_reshape(&k->c, k->in[i], 3, dim);
    }
    return join(k, 2);
}

/* Without an axis: all elements of both in a row. */
kiln_status kiln_keras_import_append(kiln_keras_call *k) {
    int axis = 0;
    if (kiln_keras_get(k, "axis", NULL) != NULL) {
        KILN_TRY(kiln_keras_read_axis(k, 0, &axis));
        return join(k, axis);
    }
    for (int i = 0; i < k->n_in; i++)
        k->in[i] = as_row(k, k->in[i]);
    return join(k, 0);
}

/* ---- diagonals ------------------------------------------------------------------------- */

static kiln_status triangle(kiln_keras_call *k, bool is_upper) {
    int64_t above = 0;
    KILN_TRY(kiln_keras_int(k, "k", NULL, 0, &above));
    const kiln_attr_arg args[] = {kiln_arg_bool("upper", is_upper),
                                  kiln_arg_int("k", above)};
    return set(k, kiln_compose_op(&k->c, &kiln_op_trilu, k->in, 1, args, 2));
}

kiln_status kiln_keras_import_upper(kiln_keras_call *k) { return triangle(k, true); }
kiln_status kiln_keras_import_lower(kiln_keras_call *k) { return triangle(k, false); }

/* That of two axes, which goes behind the others. */
kiln_status kiln_keras_import_diagonal(kiln_keras_call *k) {
    static const int64_t to[] = {-2, -1};
    int64_t above = 0, from[2] = {0, 1};
    kiln_value *x = k->in[0];
    KILN_TRY(kiln_keras_int(k, "offset", NULL, 0, &above));
    KILN_TRY(kiln_keras_int(k, "axis1", NULL, 0, &from[0]));
    KILN_TRY(kiln_keras_int(k, "axis2", NULL, 1, &from[1]));
    KILN_TRY(kiln_keras_min_rank(k, 2));
    KILN_TRY(move_axes(k, 2, from, to, &x));
    return set(k, kiln_compose_diagonal_part(&k->c, x, above));
}

kiln_status kiln_keras_import_trace(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_I32));
    KILN_TRY(kiln_keras_import_diagonal(k));
    const int64_t last = k->out->type.rank - 1;
    return set(
        k, kiln_compose_reduce(&k->c, &kiln_op_reduce_sum, k->out, &last, 1, false));
}

/* Of a matrix its diagonal, of a list the matrix that has it there. */
kiln_status kiln_keras_import_diag(kiln_keras_call *k) {
    const kiln_type *const t = &k->in[0]->type;
    int64_t above = 0;
    KILN_TRY(kiln_keras_int(k, "k", NULL, 0, &above));
    if (t->rank == 2)
        return set(k, kiln_compose_diagonal_part(&k->c, k->in[0], above));
    if (t->rank != 1 || above < -INT16_MAX || above > INT16_MAX)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "it must be a list or a matrix, and its diagonal near, is %s, "
                         "and diagonal %" PRId64,
                         kiln_type_text(&k->cx->common.scratch, t), above);
    const int64_t n = t->dim[0] + (above < 0 ? -above : above);
    kiln_value *const zero = kiln_import_scalar(&k->cx->common, t->dtype, 0);
    return set(k, kiln_compose_diagonal_matrix(&k->c, k->in[0], n, n, above, zero));
}

/* ---- others ---------------------------------------------------------------------------- */

/* Differences of neighbours, so many times; of truths whether they differ. */
kiln_status kiln_keras_import_differences(kiln_keras_call *k) {
    enum { MAX_TIMES = 64 }; /* each is three nodes */
    kiln_compose *const c = &k->c;
    kiln_value *x = k->in[0];
    int64_t times = 1;
    int axis;
    KILN_TRY(kiln_keras_read_axis(k, -1, &axis));
    KILN_TRY(kiln_keras_int(k, "n", NULL, 1, &times));
    if (times < 0 || times > x->type.dim[axis] || times > MAX_TIMES)
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "axis %d of %" PRId64 " has no differences %" PRId64
                         " times, or not that often: %d times at most",
                         axis, x->type.dim[axis], times, MAX_TIMES);
    for (; times > 0; times--) {
        const int64_t n = x->type.dim[axis] - 1;
        kiln_value *const next = kiln_compose_slice(c, x, axis, 1, 1, n);
        kiln_value *const before = kiln_compose_slice(c, x, axis, 0, 1, n);
        x = kiln_compose_2(
            c, x->type.dtype == KILN_BOOL ? &kiln_op_logical_xor : &kiln_op_sub, next,
            before);
    }
    return set(k, x);
}

/* Both stretch to each other, but for the axis along which places are. */
kiln_status kiln_keras_import_pick_along(kiln_keras_call *k) {
    kiln_type t[2];
    int64_t dim[KILN_MAX_RANK];
    int axis, rank;
    KILN_TRY(kiln_keras_axis_or_all(k, 0, &axis));
    for (int i = 0; i < 2; i++) {
        t[i] = k->in[i]->type;
        if (t[i].rank != t[0].rank)
            return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                             "values and places must have as many axes, have %d and %d",
                             t[0].rank, t[i].rank);
        t[i].dim[axis] = 1;
    }
    KILN_TRY(kiln_broadcast(&t[0], &t[1], &rank, dim, k->cx->common.err));
    for (int i = 0; i < 2; i++) {
        dim[axis] = k->in[i]->type.dim[axis];
        k->in[i] = kiln_compose_expand(&k->c, k->in[i], rank, dim);
    }
    return set(k,
               kiln_compose_axis(&k->c, &kiln_op_gather_elements, k->in[0],
                                 kiln_compose_cast(&k->c, k->in[1], KILN_I64), axis));
}

kiln_status kiln_keras_import_outer(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    const int64_t column[] = {kiln_type_elems(&k->in[0]->type), 1};
    return set(k, kiln_compose_2(&k->c, &kiln_op_mul,
                                 kiln_compose_reshape(&k->c, k->in[0], 2, column),
                                 as_row(k, k->in[1])));
}

kiln_status kiln_keras_import_einsum(kiln_keras_call *k) {
    const char *const subscripts = kiln_keras_text(k, "subscripts", NULL, "");
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    return set(k,
               kiln_compose_einsum(&k->c, kiln_str_from(subscripts), k->in, k->n_in));
}

/* A number, or a value, of the shape of another. */
kiln_status kiln_keras_import_full_like(kiln_keras_call *k) {
    const kiln_type *const x = &k->in[0]->type;
    const kiln_json *const given =
        kiln_json_at(kiln_json_get(k->layer->node, "args"), 1);
    kiln_dtype to;
    KILN_TRY(kiln_keras_read_dtype(k, x->dtype, &to));
    if (k->n_in < 2 && !kiln_json_is_number(given))
        return kiln_keras_unread(k, "fill_value");
    kiln_value *const v = k->n_in > 1 ? kiln_compose_cast(&k->c, k->in[1], to)
                                      : kiln_import_scalar(&k->cx->common, to,
                                                           kiln_json_number(given, 0));
    return set(k, kiln_compose_expand(&k->c, v, x->rank, x->dim));
}
