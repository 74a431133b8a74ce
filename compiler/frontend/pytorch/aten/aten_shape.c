/* Makers of what gives the same elements another shape, or turns their axes. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>

/* The one size of -1 is what the others leave of x's elements. */
static bool settle(kiln_aten_args *k, int64_t elems, int64_t *dim, size_t rank) {
    int64_t known = 1;
    int open = -1;
    for (size_t i = 0; i < rank; i++) {
        if (dim[i] == -1 && open < 0)
            open = (int)i;
        else if (dim[i] < 0 || dim[i] > KILN_MAX_ELEMS ||
                 (dim[i] > 0 && known > KILN_MAX_ELEMS / dim[i]))
            known = -1;
        else
            known *= dim[i];
        if (known < 0)
            break;
    }
    if (open >= 0 && known > 0 && elems % known == 0) {
        dim[open] = elems / known;
        known = elems;
    }
    if (known != elems || (open >= 0 && dim[open] < 0))
        kiln_aten_fail(
            k, KILN_ERR_SHAPE, "%s: %" PRId64 " elements do not fill the shape %s",
            k->row->name, elems, kiln_shape_text(&k->c.cx->scratch, (int)rank, dim));
    return k->c.status == KILN_OK;
}

kiln_status kiln_aten_make_reshape(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_aten_value *const size = kiln_aten_get(k, "size");
    int64_t dim[KILN_MAX_RANK];
    if (size->kind == KILN_ATEN_DTYPE)
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "%s: elements as another dtype of the same bits are not read",
                       k->row->name);
    const size_t rank = kiln_aten_ints(k, "size", dim, KILN_MAX_RANK);
    if (k->c.status != KILN_OK || !settle(k, kiln_type_elems(&x->type), dim, rank))
        return k->c.status;
    return kiln_aten_give(k, kiln_compose_reshape(&k->c, x, (int)rank, dim));
}

kiln_status kiln_aten_make_view_as(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_type *const t = &kiln_aten_tensor(k, "other")->type;
    return kiln_aten_give(k, kiln_compose_reshape(&k->c, x, t->rank, t->dim));
}

kiln_status kiln_aten_make_flatten(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_type *const t = &x->type;
    const int first = kiln_aten_axis(k, "start_dim", t->rank);
    const int last = kiln_aten_axis(k, "end_dim", t->rank);
    int64_t dim[KILN_MAX_RANK] = {1};
    int rank = 0;
    if (first > last && k->c.status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "flatten: 'start_dim' is behind 'end_dim'");
    for (int i = 0; i < t->rank; i++)
        if (i > first && i <= last)
            dim[rank - 1] *= t->dim[i];
        else
            dim[rank++] = t->dim[i];
    return kiln_aten_give(k, kiln_compose_reshape(&k->c, x, rank > 0 ? rank : 1, dim));
}

kiln_status kiln_aten_make_unflatten(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_type *const t = &x->type;
    const int axis = kiln_aten_axis(k, "dim", t->rank);
    int64_t size[KILN_MAX_RANK], dim[2 * KILN_MAX_RANK];
    const size_t n = kiln_aten_ints(k, "sizes", size, KILN_MAX_RANK);
    int rank = 0;
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK) ||
        !settle(k, t->dim[axis], size, n))
        return k->c.status;
    for (int i = 0; i < axis; i++)
        dim[rank++] = t->dim[i];
    for (size_t i = 0; i < n; i++)
        dim[rank++] = size[i];
    for (int i = axis + 1; i < t->rank; i++)
        dim[rank++] = t->dim[i];
    if (rank > KILN_MAX_RANK) {
        kiln_aten_fail(k, KILN_ERR_LIMIT, "unflatten: rank must be at most %d, is %d",
                       KILN_MAX_RANK, rank);
        return k->c.status;
    }
    return kiln_aten_give(k, kiln_compose_reshape(&k->c, x, rank, dim));
}

/* Axes of one element: all, or those that are named. */
kiln_status kiln_aten_make_squeeze(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_type *const t = &x->type;
    int64_t axes[KILN_MAX_RANK], dim[KILN_MAX_RANK];
    bool goes[KILN_MAX_RANK] = {false};
    const bool is_all = kiln_aten_is_none(k, "dim");
    const size_t n = kiln_aten_axes(k, "dim", t->rank, axes);
    int rank = 0;
    for (size_t i = 0; i < n; i++)
        goes[axes[i]] = true;
    for (int i = 0; i < t->rank; i++)
        if (!((is_all || goes[i]) && t->dim[i] == 1))
            dim[rank++] = t->dim[i];
    return kiln_aten_give(k, kiln_compose_reshape(&k->c, x, rank, dim));
}

kiln_status kiln_aten_make_unsqueeze(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_type *const t = &x->type;
    int64_t dim[KILN_MAX_RANK];
    if (!kiln_aten_need_rank(k, x, 0, KILN_MAX_RANK - 1))
        return k->c.status;
    const int axis = kiln_aten_axis(k, "dim", t->rank + 1);
    for (int i = 0, from = 0; i <= t->rank; i++)
        dim[i] = i == axis ? 1 : t->dim[from++];
    return kiln_aten_give(k, kiln_compose_reshape(&k->c, x, t->rank + 1, dim));
}

/* ---- axes ------------------------------------------------------------------------- */

kiln_status kiln_aten_make_permute(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    int64_t perm[KILN_MAX_RANK];
    const size_t n = kiln_aten_axes(k, "dims", x->type.rank, perm);
    if (k->c.status == KILN_OK && n != (size_t)x->type.rank)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "permute: 'dims' must name %d axes, has %zu",
                       x->type.rank, n);
    return kiln_aten_give(k, kiln_compose_transpose(&k->c, x, perm));
}

static kiln_value *swapped(kiln_aten_args *k, kiln_value *x, int a, int b) {
    int64_t perm[KILN_MAX_RANK];
    for (int i = 0; i < x->type.rank; i++)
        perm[i] = i == a ? b : i == b ? a : i;
    return kiln_compose_transpose(&k->c, x, perm);
}

kiln_status kiln_aten_make_transpose(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const int a = kiln_aten_axis(k, "dim0", x->type.rank);
    const int b = kiln_aten_axis(k, "dim1", x->type.rank);
    return kiln_aten_give(k, swapped(k, x, a, b));
}

/* The last two axes, or of a vector none. */
kiln_status kiln_aten_make_t(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const int rank = x->type.rank;
    return kiln_aten_give(k, rank < 2 ? x : swapped(k, x, rank - 2, rank - 1));
}

kiln_status kiln_aten_make_movedim(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const int rank = x->type.rank;
    int64_t from[KILN_MAX_RANK], to[KILN_MAX_RANK], perm[KILN_MAX_RANK];
    bool is_moved[KILN_MAX_RANK] = {false};
    const size_t n = kiln_aten_axes(k, "source", rank, from);
    const size_t m = kiln_aten_axes(k, "destination", rank, to);
    if (k->c.status == KILN_OK && n != m)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "movedim: %zu axes go to %zu places", n, m);
    if (k->c.status != KILN_OK)
        return k->c.status;
    for (int i = 0; i < rank; i++)
        perm[i] = -1;
    for (size_t i = 0; i < n; i++) {
        perm[to[i]] = from[i];
        is_moved[from[i]] = true;
    }
    for (int i = 0, next = 0; i < rank; i++) {
        if (perm[i] >= 0)
            continue;
        while (is_moved[next])
            next++;
        perm[i] = next++;
    }
    return kiln_aten_give(k, kiln_compose_transpose(&k->c, x, perm));
}

/* ---- stretching ------------------------------------------------------------------- */

/* -1 keeps an axis; new axes come first. */
kiln_status kiln_aten_make_expand(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    int64_t dim[KILN_MAX_RANK];
    const int rank = (int)kiln_aten_ints(k, "size", dim, KILN_MAX_RANK);
    const int more = rank - x->type.rank;
    if (k->c.status == KILN_OK && more < 0)
        kiln_aten_fail(k, KILN_ERR_SHAPE,
                       "%s: 'size' must have %d entries at least, has %d", k->row->name,
                       x->type.rank, rank);
    if (k->c.status != KILN_OK)
        return k->c.status;
    for (int i = 0; i < rank; i++)
        if (dim[i] == -1 && i >= more)
            dim[i] = x->type.dim[i - more];
    return kiln_aten_give(k, kiln_compose_expand(&k->c, x, rank, dim));
}

kiln_status kiln_aten_make_expand_as(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_type *const t = &kiln_aten_tensor(k, "other")->type;
    return kiln_aten_give(k, kiln_compose_expand(&k->c, x, t->rank, t->dim));
}

kiln_status kiln_aten_make_repeat(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    int64_t times[KILN_MAX_RANK] = {1}, dim[KILN_MAX_RANK], all[KILN_MAX_RANK];
    int n = (int)kiln_aten_ints(k, "repeats", times, KILN_MAX_RANK);
    const int rank = n > x->type.rank ? n : x->type.rank;
    if (k->c.status != KILN_OK)
        return k->c.status;
    for (int i = 0; i < rank; i++) {
        const int from = i - (rank - x->type.rank), by = i - (rank - n);
        dim[i] = from < 0 ? 1 : x->type.dim[from];
        all[i] = by < 0 ? 1 : times[by];
    }
    x = kiln_compose_reshape(&k->c, x, rank, dim);
    const kiln_attr_arg arg = kiln_arg_ints("repeats", all, (size_t)rank);
    return kiln_aten_give(k, kiln_compose_op(&k->c, &kiln_op_tile, &x, 1, &arg, 1));
}

/* Each element so many times, one behind the other. */
kiln_status kiln_aten_make_repeat_interleave(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *x = kiln_aten_tensor(k, "self");
    const int64_t times = kiln_aten_int(k, "repeats");
    int axis = 0;
    if (kiln_aten_is_none(k, "dim"))
        x = kiln_compose_reshape(c, x, 1, (int64_t[]){kiln_type_elems(&x->type)});
    else
        axis = kiln_aten_axis(k, "dim", x->type.rank);
    if (times < 0)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "'repeats' must be 0 or more, is %" PRId64,
                       times);
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK - 1))
        return c->status;
    return kiln_aten_give(k, kiln_compose_repeat(c, x, axis, times));
}

/* ---- numbers of shapes ------------------------------------------------------------ */

kiln_status kiln_aten_make_size(kiln_aten_args *k) {
    const kiln_type *const t = &kiln_aten_tensor(k, "self")->type;
    if (kiln_aten_is_none(k, "dim")) {
        kiln_aten_value *const v =
            kiln_array(&k->c.cx->scratch, kiln_aten_value, t->rank);
        for (int i = 0; i < t->rank; i++)
            v[i] = kiln_aten_of_int(t->dim[i]);
        return kiln_aten_give_value(k, kiln_aten_of_list(v, (size_t)t->rank));
    }
    const int axis = kiln_aten_axis(k, "dim", t->rank);
    return kiln_aten_give_value(k, kiln_aten_of_int(t->dim[axis]));
}

kiln_status kiln_aten_make_numel(kiln_aten_args *k) {
    const kiln_type *const t = &kiln_aten_tensor(k, "self")->type;
    return kiln_aten_give_value(k, kiln_aten_of_int(kiln_type_elems(t)));
}

kiln_status kiln_aten_make_dim(kiln_aten_args *k) {
    return kiln_aten_give_value(
        k, kiln_aten_of_int(kiln_aten_tensor(k, "self")->type.rank));
}
