/* What the data movement operators share: index checks, runs, scatter's arithmetic. */
#include "compiler/op/op_move.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const kiln_names_gather[] = {"x", "indices", NULL};

void kiln_cost_move(const kiln_node *n, kiln_cost *c) {
    (void)n;
    c->muladds = 0;
    c->flops = 0;
}

kiln_status kiln_move_type(const kiln_node *n, kiln_dtype dtype, int rank,
                           const int64_t *dim, kiln_type *out, kiln_err *err) {
    KILN_ASSERT(rank >= 0, "'%s' has rank %d", n->name, rank);
    if (rank > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "the result must have rank <= %d, has %d",
                         KILN_MAX_RANK, rank);
    kiln_type t = kiln_type_make(dtype, rank, dim);
    if (n->n_in > 0 && n->in[0] != NULL)
        t.place = n->in[0]->type.place;
    KILN_TRY(kiln_type_check(&t, err));
    *out = t;
    return KILN_OK;
}

kiln_status kiln_check_per_axis(const kiln_node *n, int attr, kiln_err *err) {
    KILN_ASSERT(attr >= 0 && (size_t)attr < n->op->n_attr, "'%s' has no attribute %d",
                n->op->name, attr);
    const int rank = n->in[0]->type.rank;
    if (n->attr[attr].n == (size_t)rank)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_SHAPE,
                     "'%s' must have one entry per axis of '%s' (%d), has %zu",
                     n->op->attr[attr].name, kiln_in_name(n, 0), rank, n->attr[attr].n);
}

kiln_status kiln_check_dims(const kiln_node *n, int attr, kiln_err *err) {
    KILN_ASSERT(attr >= 0 && (size_t)attr < n->op->n_attr, "'%s' has no attribute %d",
                n->op->name, attr);
    const kiln_attr *a = &n->attr[attr];
    const char *name = n->op->attr[attr].name;
    if (a->n > KILN_MAX_RANK)
        return kiln_fail(err, KILN_ERR_LIMIT, "'%s' must have at most %d dims, has %zu",
                         name, KILN_MAX_RANK, a->n);
    for (size_t i = 0; i < a->n; i++)
        if (a->ints[i] < 0)
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "dim %zu of '%s' must be >= 0, is %" PRId64, i, name,
                             a->ints[i]);
    return KILN_OK;
}

kiln_status kiln_index_resolve(const kiln_node *n, int in, int64_t v, int64_t dim,
                               int64_t *out, kiln_err *err) {
    if (v < -dim || v >= dim)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "index %" PRId64 " in input '%s' is outside [%" PRId64
                         ", %" PRId64 ")",
                         v, kiln_in_name(n, in), -dim, dim);
    *out = v < 0 ? v + dim : v;
    return KILN_OK;
}

kiln_status kiln_check_index(const kiln_node *n, int in, const int64_t *limit,
                             int64_t period, kiln_err *err) {
    KILN_ASSERT(period > 0, "indexes with %lld limits", (long long)period);
    KILN_TRY(kiln_check_dtype(n, in, KILN_DT_INDEX, err));
    const kiln_value *v = n->in[in];
    if (v->data == NULL)
        return KILN_OK;
    const bool is_wide = v->type.dtype == KILN_I64;
    const size_t bytes = is_wide ? sizeof(int64_t) : sizeof(int32_t);
    const int64_t count = kiln_type_elems(&v->type);
    for (int64_t e = 0; e < count; e++) {
        /* Constants may be views into a file at any address. */
        const unsigned char *p = (const unsigned char *)v->data + (size_t)e * bytes;
        int64_t x;
        int32_t narrow;
        if (is_wide) {
            memcpy(&x, p, sizeof x);
        } else {
            memcpy(&narrow, p, sizeof narrow);
            x = narrow;
        }
        KILN_TRY(kiln_index_resolve(n, in, x, limit[e % period], &x, err));
    }
    return KILN_OK;
}

kiln_status kiln_check_elements(const kiln_node *n, int in, int axis, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type, *index = &n->in[in]->type;
    KILN_ASSERT(axis >= 0 && axis < x->rank, "axis %d of rank %d", axis, x->rank);
    KILN_TRY(kiln_check_rank(n, in, x->rank, err));
    for (int i = 0; i < x->rank; i++)
        if (i != axis && index->dim[i] > x->dim[i])
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "axis %d of '%s' must have at most %" PRId64
                             " elements, as '%s' has, has %" PRId64,
                             i, kiln_in_name(n, in), x->dim[i], kiln_in_name(n, 0),
                             index->dim[i]);
    return kiln_check_index(n, in, &x->dim[axis], 1, err);
}

kiln_status kiln_check_coords(const kiln_node *n, int in, int first, kiln_err *err) {
    const kiln_type *x = &n->in[0]->type, *index = &n->in[in]->type;
    KILN_ASSERT(index->rank >= 1 && first >= 0 && first <= x->rank,
                "coordinates of rank %d behind axis %d of %d", index->rank, first,
                x->rank);
    const int64_t depth = index->dim[index->rank - 1];
    if (depth < 1 || depth > x->rank - first)
        return kiln_fail(
            err, KILN_ERR_SHAPE,
            "the last axis of '%s' must have 1 to %d elements, has %" PRId64,
            kiln_in_name(n, in), x->rank - first, depth);
    return kiln_check_index(n, in, &x->dim[first], depth, err);
}

kiln_status kiln_coords_resolve(const kiln_node *n, kiln_eval_cx *cx, int first,
                                int64_t row, int64_t *out) {
    const kiln_type *x = &cx->in[0].type, *index = &cx->in[1].type;
    const int64_t depth = index->dim[index->rank - 1];
    int64_t at = 0;
    for (int64_t j = 0; j < depth; j++) {
        const int64_t dim = x->dim[first + j];
        int64_t c;
        KILN_TRY(
            kiln_index_resolve(n, 1, cx->in[1].i[row * depth + j], dim, &c, cx->err));
        at = at * dim + c;
    }
    *out = at;
    return KILN_OK;
}

void kiln_move_strided(kiln_eval_cx *cx, int64_t offset, const int64_t *stride) {
    const kiln_type *y = &cx->out[0].type;
    if (cx->pick == NULL) {
        kiln_copy_strided(&cx->out[0], &cx->in[0], offset, stride);
        return;
    }
    for (int64_t j = 0; j < cx->n_pick; j++) {
        int64_t coord[KILN_MAX_RANK], at = offset;
        kiln_unravel(cx->pick[j], y->rank, y->dim, coord);
        for (int i = 0; i < y->rank; i++)
            at += coord[i] * stride[i];
        kiln_copy_elem(&cx->out[0], j, &cx->in[0], at);
    }
}

void kiln_copy_run(kiln_wide *dst, int64_t d, const kiln_wide *src, int64_t s,
                   int64_t count) {
    KILN_ASSERT(count >= 0, "a run of %lld elements is copied", (long long)count);
    if (count <= 0)
        return;
    KILN_ASSERT((dst->f != NULL) == (src->f != NULL),
                "numbers of one kind are copied to the other");
    if (dst->f != NULL)
        memcpy(dst->f + d, src->f + s, (size_t)count * sizeof *dst->f);
    else
        memcpy(dst->i + d, src->i + s, (size_t)count * sizeof *dst->i);
}

int64_t kiln_dim_product(const int64_t *dim, int from, int to) {
    KILN_ASSERT(from >= 0 && from <= to, "a product of the axes %d to %d", from, to);
    int64_t product = 1;
    for (int i = from; i < to; i++)
        product *= dim[i];
    return product;
}

/* ---- scatter ---- */

const char *const kiln_scatter_words[] = {"none", "add", "mul", "min", "max", NULL};
const char *const kiln_names_scatter[] = {"x", "indices", "updates", NULL};

static double scatter_f(double acc, double x, kiln_scatter_fn fn) {
    switch (fn) {
    case KILN_SCATTER_NONE:
        return x;
    case KILN_SCATTER_ADD:
        return acc + x;
    case KILN_SCATTER_MUL:
        return acc * x;
    case KILN_SCATTER_MIN:
        return isnan(acc) || acc < x ? acc : x;
    case KILN_SCATTER_MAX:
        return isnan(acc) || acc > x ? acc : x;
    }
    return x;
}

static int64_t scatter_i(int64_t acc, int64_t x, kiln_scatter_fn fn, kiln_dtype dtype) {
    switch (fn) {
    case KILN_SCATTER_NONE:
        return x;
    case KILN_SCATTER_ADD:
        return (int64_t)((uint64_t)acc + (uint64_t)x);
    case KILN_SCATTER_MUL:
        return (int64_t)((uint64_t)acc * (uint64_t)x);
    case KILN_SCATTER_MIN:
        return kiln_less_i(x, acc, dtype) ? x : acc;
    case KILN_SCATTER_MAX:
        return kiln_less_i(acc, x, dtype) ? x : acc;
    }
    return x;
}

void kiln_scatter_elem(kiln_wide *dst, int64_t d, const kiln_wide *src, int64_t s,
                       kiln_scatter_fn fn) {
    if (dst->f != NULL)
        dst->f[d] = scatter_f(dst->f[d], src->f[s], fn);
    else
        dst->i[d] = scatter_i(dst->i[d], src->i[s], fn, dst->type.dtype);
}

kiln_scatter_fn kiln_scatter_fn_of(const kiln_node *n) {
    KILN_ASSERT(n->op->n_attr > 0 &&
                    n->op->attr[n->op->n_attr - 1].choices == kiln_scatter_words,
                "operator '%s' does not say how it scatters", n->op->name);
    return (kiln_scatter_fn)n->attr[n->op->n_attr - 1].i;
}

void kiln_cost_scatter(const kiln_node *n, kiln_cost *c) {
    const bool is_moved = kiln_scatter_fn_of(n) == KILN_SCATTER_NONE;
    c->muladds = 0;
    c->flops = is_moved ? 0 : kiln_type_elems(&n->in[2]->type);
}

kiln_bound kiln_bound_scatter(const kiln_node *n) {
    const kiln_scatter_fn fn = kiln_scatter_fn_of(n);
    const bool rounds = (fn == KILN_SCATTER_ADD || fn == KILN_SCATTER_MUL) &&
                        kiln_dtype_is_float(n->in[0]->type.dtype);
    if (!rounds)
        return kiln_bound_exact(n);
    const int64_t terms = kiln_type_elems(&n->in[2]->type) + 1;
    if (fn == KILN_SCATTER_ADD)
        return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1, .k = terms};
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = (double)terms};
}
