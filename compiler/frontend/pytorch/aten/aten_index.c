/* Makers of reading and writing by index, and of triangles. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>

/* ---- along one axis --------------------------------------------------------------- */

kiln_status kiln_aten_make_index_select(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    kiln_value *const index = kiln_aten_tensor(k, "index");
    return kiln_aten_give(k, kiln_compose_axis(&k->c, &kiln_op_gather, x, index, axis));
}

/* Padding, scaling by frequency and sparse gradients are of training. */
kiln_status kiln_aten_make_embedding(kiln_aten_args *k) {
    kiln_value *const w = kiln_aten_tensor(k, "weight");
    kiln_value *const i = kiln_aten_tensor(k, "indices");
    return kiln_aten_give(k, kiln_compose_axis(&k->c, &kiln_op_gather, w, i, 0));
}

/* y with its axes cut to those of `to`, but for one. */
static kiln_value *cut_to(kiln_aten_args *k, kiln_value *y, const kiln_type *to,
                          int axis) {
    for (int i = 0; i < y->type.rank && i < to->rank && k->c.status == KILN_OK; i++)
        if (i != axis && to->dim[i] < y->type.dim[i])
            y = kiln_compose_slice(&k->c, y, i, 0, 1, to->dim[i]);
    return y;
}

kiln_status kiln_aten_make_gather(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    kiln_value *const index = kiln_aten_tensor(k, "index");
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    x = cut_to(k, x, &index->type, axis);
    return kiln_aten_give(
        k, kiln_compose_axis(&k->c, &kiln_op_gather_elements, x, index, axis));
}

static kiln_status give_scatter(kiln_aten_args *k, const char *reduction) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *const index = kiln_aten_tensor(k, "index");
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    kiln_value *y = kiln_aten_as(k, "src", x->type.dtype);
    y = y->type.rank == 0
            ? kiln_compose_expand(&k->c, y, index->type.rank, index->type.dim)
            : cut_to(k, y, &index->type, -1);
    kiln_value *const in[] = {x, index, y};
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_word("reduction", reduction)};
    return kiln_aten_give(
        k, kiln_compose_op(&k->c, &kiln_op_scatter_elements, in, 3, args, 2));
}

kiln_status kiln_aten_make_scatter(kiln_aten_args *k) {
    return give_scatter(k, "none");
}

kiln_status kiln_aten_make_scatter_add(kiln_aten_args *k) {
    return give_scatter(k, "add");
}

/* ---- along several ---------------------------------------------------------------- */

/* What x[i, :, j] names: axes of x with an index, and the indices stretched to one
 * shape. */
typedef struct picked {
    kiln_value *x;  /* with the axes that have an index first */
    kiln_value *at; /* [index..., n]: places along those axes */
    int64_t perm[KILN_MAX_RANK];
    int n, first; /* axes with an index; where the result has the index's axes */
    int index_rank;
} picked;

static kiln_status refuse_mask(kiln_aten_args *k) {
    return kiln_fail(k->c.cx->err, KILN_ERR_UNSUPPORTED,
                     "%s: a mask of bool picks as many elements as it has; such sizes "
                     "are not read: use torch.where",
                     k->row->name);
}

/* The common shape of the indices. */
static kiln_status index_shape(kiln_aten_args *k, kiln_value *const *index,
                               const int *axes, int n, kiln_type *out) {
    *out = kiln_type_scalar(KILN_I64);
    for (int i = 0; i < n; i++) {
        int64_t dim[KILN_MAX_RANK];
        int rank;
        if (index[axes[i]]->type.dtype == KILN_BOOL)
            return refuse_mask(k);
        KILN_TRY(kiln_broadcast(out, &index[axes[i]]->type, &rank, dim, k->c.cx->err));
        *out = kiln_type_make(KILN_I64, rank, dim);
    }
    if (out->rank >= KILN_MAX_RANK)
        return kiln_fail(k->c.cx->err, KILN_ERR_LIMIT,
                         "%s: indices may have rank %d at most", k->row->name,
                         KILN_MAX_RANK - 1);
    return KILN_OK;
}

/* Entries of the list that are None leave their axes alone. */
static kiln_status read_indices(kiln_aten_args *k, kiln_value *x, kiln_value **index) {
    const kiln_aten_value *const list = kiln_aten_get(k, "indices");
    if (list->kind != KILN_ATEN_LIST || list->n > (size_t)x->type.rank)
        return kiln_fail(k->c.cx->err, KILN_ERR_SHAPE,
                         "%s: 'indices' must be a list of at most %d tensors",
                         k->row->name, x->type.rank);
    for (size_t i = 0; i < list->n; i++) {
        if (list->list[i].kind == KILN_ATEN_TENSOR)
            index[i] = list->list[i].tensor;
        else if (list->list[i].kind != KILN_ATEN_NONE)
            return kiln_fail(k->c.cx->err, KILN_ERR_PARSE,
                             "%s: entry %zu of 'indices' is neither a tensor nor None",
                             k->row->name, i);
    }
    return KILN_OK;
}

static kiln_status pick(kiln_aten_args *k, kiln_value *x, kiln_value **index,
                        picked *out) {
    int axes[KILN_MAX_RANK], to = 0;
    kiln_value *part[KILN_MAX_RANK];
    kiln_type shape;
    *out = (picked){.n = 0};
    for (int i = 0; i < x->type.rank; i++)
        if (index[i] != NULL)
            axes[out->n++] = i;
    if (out->n == 0)
        return kiln_fail(k->c.cx->err, KILN_ERR_PARSE, "%s: 'indices' names no tensor",
                         k->row->name);
    KILN_TRY(index_shape(k, index, axes, out->n, &shape));
    out->index_rank = shape.rank;
    out->first = axes[out->n - 1] - axes[0] == out->n - 1 ? axes[0] : 0;
    for (int i = 0; i < out->n; i++)
        out->perm[to++] = axes[i];
    for (int i = 0; i < x->type.rank; i++)
        if (index[i] == NULL)
            out->perm[to++] = i;
    KILN_ASSERT(to == x->type.rank, "%d of %d axes are indexed or not", to,
                x->type.rank);
    out->x = kiln_compose_transpose(&k->c, x, out->perm);
    shape.dim[shape.rank] = 1;
    for (int i = 0; i < out->n; i++) {
        part[i] = kiln_compose_cast(&k->c, index[axes[i]], KILN_I64);
        part[i] = kiln_compose_expand(&k->c, part[i], shape.rank, shape.dim);
        part[i] = kiln_compose_reshape(&k->c, part[i], shape.rank + 1, shape.dim);
    }
    const kiln_attr_arg arg = kiln_arg_int("axis", shape.rank);
    out->at = out->n == 1
                  ? part[0]
                  : kiln_compose_op(&k->c, &kiln_op_concat, part, out->n, &arg, 1);
    return k->c.status;
}

/* [index..., rest...] as the result has it: the index's axes where they came from, if
 * they were neighbours; `back`: the other way. */
static kiln_value *settle_axes(kiln_aten_args *k, const picked *p, kiln_value *y,
                               bool back) {
    int64_t perm[KILN_MAX_RANK], inverse[KILN_MAX_RANK];
    int to = 0;
    for (int i = 0; i < p->first; i++)
        perm[to++] = p->index_rank + i;
    for (int i = 0; i < p->index_rank; i++)
        perm[to++] = i;
    for (int i = p->index_rank + p->first; i < y->type.rank; i++)
        perm[to++] = i;
    KILN_ASSERT(to == y->type.rank, "%d of %d axes go somewhere", to, y->type.rank);
    for (int i = 0; i < to; i++)
        inverse[perm[i]] = i;
    return kiln_compose_transpose(&k->c, y, back ? inverse : perm);
}

kiln_status kiln_aten_make_index(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *index[KILN_MAX_RANK] = {NULL};
    picked p;
    KILN_TRY(k->c.status);
    KILN_TRY(read_indices(k, x, index));
    int only = -1, n = 0;
    for (int i = 0; i < x->type.rank; i++)
        if (index[i] != NULL) {
            only = i;
            n++;
        }
    if (n == 1 && index[only]->type.dtype == KILN_BOOL)
        return kiln_aten_give_masked(k, x, index[only], only);
    if (n == 1)
        return kiln_aten_give(
            k, kiln_compose_axis(&k->c, &kiln_op_gather, x, index[only], only));
    KILN_TRY(pick(k, x, index, &p));
    kiln_value *const y = kiln_compose_2(&k->c, &kiln_op_gather_nd, p.x, p.at);
    KILN_TRY(k->c.status);
    return kiln_aten_give(k, settle_axes(k, &p, y, false));
}

/* What is written has the shape that reading the same places gives. */
static kiln_status written(kiln_aten_args *k, const picked *p, kiln_value *v,
                           kiln_value **out) {
    int64_t dim[2 * KILN_MAX_RANK];
    int rank = 0;
    const int rest = p->x->type.rank - p->n;
    for (int i = 0; i < p->first; i++)
        dim[rank++] = p->x->type.dim[p->n + i];
    for (int i = 0; i < p->index_rank; i++)
        dim[rank++] = p->at->type.dim[i];
    for (int i = p->first; i < rest; i++)
        dim[rank++] = p->x->type.dim[p->n + i];
    if (rank > KILN_MAX_RANK)
        return kiln_fail(k->c.cx->err, KILN_ERR_LIMIT, "%s: rank must be at most %d",
                         k->row->name, KILN_MAX_RANK);
    v = kiln_compose_expand(&k->c, v, rank, dim);
    KILN_TRY(k->c.status);
    *out = settle_axes(k, p, v, true);
    return k->c.status;
}

kiln_status kiln_aten_make_index_put(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *index[KILN_MAX_RANK] = {NULL}, *v;
    int64_t inverse[KILN_MAX_RANK];
    picked p;
    KILN_TRY(k->c.status);
    KILN_TRY(read_indices(k, x, index));
    v = kiln_aten_as(k, "values", x->type.dtype);
    if (x->type.rank > 0 && index[0] != NULL && index[0]->type.dtype == KILN_BOOL &&
        kiln_type_same_shape(&index[0]->type, &x->type) && v->type.rank == 0)
        return kiln_aten_give(k, kiln_compose_where(&k->c, index[0], v, x));
    KILN_TRY(pick(k, x, index, &p));
    KILN_TRY(written(k, &p, v, &v));
    kiln_value *const in[] = {p.x, p.at, v};
    const kiln_attr_arg arg =
        kiln_arg_word("reduction", kiln_aten_bool(k, "accumulate") ? "add" : "none");
    kiln_value *const y = kiln_compose_op(&k->c, &kiln_op_scatter_nd, in, 3, &arg, 1);
    for (int i = 0; i < x->type.rank; i++)
        inverse[p.perm[i]] = i;
    return kiln_aten_give(k, kiln_compose_transpose(&k->c, y, inverse));
}

/* ---- others ----------------------------------------------------------------------- */

kiln_status kiln_aten_make_one_hot(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    const int64_t n = kiln_aten_int(k, "num_classes");
    int64_t dim[KILN_MAX_RANK];
    if (!kiln_aten_need_rank(k, x, 0, KILN_MAX_RANK - 1))
        return k->c.status;
    if (n < 1)
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "one_hot: 'num_classes' must be given, is %" PRId64, n);
    KILN_TRY(k->c.status);
    for (int i = 0; i < x->type.rank; i++)
        dim[i] = x->type.dim[i];
    dim[x->type.rank] = 1;
    x = kiln_compose_cast(&k->c, x, KILN_I64);
    x = kiln_compose_reshape(&k->c, x, x->type.rank + 1, dim);
    kiln_value *const y =
        kiln_compose_2(&k->c, &kiln_op_equal, x, kiln_compose_iota(&k->c, n));
    return kiln_aten_give(k, kiln_compose_cast(&k->c, y, KILN_I64));
}

static kiln_status give_triangle(kiln_aten_args *k, bool is_upper) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    const kiln_dtype d = x->type.dtype;
    const kiln_attr_arg args[] = {kiln_arg_bool("upper", is_upper),
                                  kiln_arg_int("k", kiln_aten_int(k, "diagonal"))};
    if (!kiln_aten_need_rank(k, x, 2, KILN_MAX_RANK))
        return k->c.status;
    x = kiln_compose_op(&k->c, &kiln_op_trilu, &x, 1, args, 2);
    return kiln_aten_give(k, kiln_compose_cast(&k->c, x, d));
}

kiln_status kiln_aten_make_tril(kiln_aten_args *k) { return give_triangle(k, false); }

kiln_status kiln_aten_make_triu(kiln_aten_args *k) { return give_triangle(k, true); }
