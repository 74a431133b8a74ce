/* Checks, error bounds and index walking that operators share. */
#include "compiler/op/op_common.h"

#include <inttypes.h>
#include <string.h>

/* ---- checks ---- */

bool kiln_has_in(const kiln_node *n, int in) {
    return in < n->n_in && n->in[in] != NULL;
}

const char *kiln_in_name(const kiln_node *n, int in) {
    static const char *const numbered[] = {
        "0", "1", "2", "3", "4", "5", "6", "7",
    };
    const char *const *names = n->op->in_names;
    for (int i = 0; names != NULL && names[i] != NULL; i++)
        if (i == in)
            return names[i];
    return in >= 0 && (size_t)in < KILN_COUNT(numbered) ? numbered[in] : "of the list";
}

/* Who checks an input's type knows that it is there. */
static void must_have(const kiln_node *n, int in) {
    KILN_ASSERT(in >= 0 && kiln_has_in(n, in), "'%s' has no input %d to check",
                n->op->name, in);
}

kiln_status kiln_check_dtype(const kiln_node *n, int in, unsigned set, kiln_err *err) {
    must_have(n, in);
    const kiln_dtype dtype = n->in[in]->type.dtype;
    if (kiln_dtype_is_in(dtype, set))
        return KILN_OK;
    kiln_arena scratch = {0};
    const kiln_status st =
        kiln_fail(err, KILN_ERR_SHAPE, "input '%s' must be %s, is %s%s",
                  kiln_in_name(n, in), kiln_dtype_set_text(&scratch, set),
                  kiln_dtype_name(dtype), kiln_dtype_remedy(dtype));
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_check_rank(const kiln_node *n, int in, int rank, kiln_err *err) {
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_RANK, "'%s' asks for rank %d",
                n->op->name, rank);
    must_have(n, in);
    const kiln_type *t = &n->in[in]->type;
    if (t->rank == rank)
        return KILN_OK;
    kiln_arena scratch = {0};
    const kiln_status st =
        kiln_fail(err, KILN_ERR_SHAPE, "input '%s' must have rank %d, is %s",
                  kiln_in_name(n, in), rank, kiln_type_text(&scratch, t));
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_check_same_dtype(const kiln_node *n, int in_a, int in_b,
                                  kiln_err *err) {
    must_have(n, in_a);
    must_have(n, in_b);
    const kiln_dtype a = n->in[in_a]->type.dtype, b = n->in[in_b]->type.dtype;
    if (a == b)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_SHAPE,
                     "inputs '%s' and '%s' must have one dtype, are %s and %s",
                     kiln_in_name(n, in_a), kiln_in_name(n, in_b), kiln_dtype_name(a),
                     kiln_dtype_name(b));
}

kiln_status kiln_check_axis(const kiln_node *n, int attr, int *axis, kiln_err *err) {
    KILN_ASSERT(attr >= 0 && (size_t)attr < n->op->n_attr,
                "'%s' has no attribute %d for an axis", n->op->name, attr);
    must_have(n, 0);
    const int rank = n->in[0]->type.rank;
    if (rank == 0)
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input '%s' must have an axis, is a scalar",
                         kiln_in_name(n, 0));
    return kiln_axis_normalize(n->attr[attr].i, rank, axis, err);
}

/* ---- bounds ---- */

void kiln_cost_nothing(const kiln_node *n, kiln_cost *c) {
    (void)n;
    *c = (kiln_cost){0};
}

kiln_bound kiln_bound_exact(const kiln_node *n) {
    (void)n;
    return (kiln_bound){.kind = KILN_BOUND_EXACT};
}

kiln_bound kiln_bound_ulp_1(const kiln_node *n) {
    (void)n;
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 1};
}

kiln_bound kiln_bound_ulp_4(const kiln_node *n) {
    (void)n;
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 4};
}

kiln_bound kiln_bound_ulp_16(const kiln_node *n) {
    (void)n;
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 16};
}

kiln_bound kiln_bound_composed(const kiln_node *n) {
    (void)n;
    return (kiln_bound){.kind = KILN_BOUND_ULP, .c = 16, .floor = 4};
}

/* ---- walking ---- */

void kiln_unravel(int64_t index, int rank, const int64_t *dim, int64_t *coord) {
    for (int i = rank - 1; i >= 0; i--) {
        coord[i] = index % dim[i];
        index /= dim[i];
    }
}

bool kiln_next_coord(int rank, const int64_t *dim, int64_t *coord) {
    for (int i = rank - 1; i >= 0; i--) {
        if (++coord[i] < dim[i])
            return true;
        coord[i] = 0;
    }
    return false;
}

/* One row of `n` elements with a fixed stride in the source. */
static void copy_row(kiln_wide *dst, int64_t d, const kiln_wide *src, int64_t s,
                     int64_t stride, int64_t n) {
    _Static_assert(sizeof(double) == sizeof(int64_t), "wide elements have one size");
    if (stride == 1 && dst->f != NULL)
        memcpy(dst->f + d, src->f + s, (size_t)n * sizeof *dst->f);
    else if (stride == 1)
        memcpy(dst->i + d, src->i + s, (size_t)n * sizeof *dst->i);
    else
        for (int64_t k = 0; k < n; k++)
            kiln_copy_elem(dst, d + k, src, s + k * stride);
}

void kiln_copy_strided(kiln_wide *dst, const kiln_wide *src, int64_t offset,
                       const int64_t *stride) {
    /* Neighbouring axes that the source crosses evenly are one axis: rows get longer.
     */
    int64_t dim[KILN_MAX_RANK] = {1}, step[KILN_MAX_RANK] = {0};
    int rank = 0;
    for (int i = 0; i < dst->type.rank; i++) {
        const int64_t n = dst->type.dim[i];
        if (n == 0)
            return;
        if (n == 1)
            continue;
        if (rank > 0 && step[rank - 1] == stride[i] * n) {
            dim[rank - 1] *= n;
            step[rank - 1] = stride[i];
        } else {
            dim[rank] = n;
            step[rank++] = stride[i];
        }
    }
    if (rank == 0) {
        kiln_copy_elem(dst, 0, src, offset);
        return;
    }
    KILN_ASSERT((dst->f != NULL) == (src->f != NULL),
                "numbers of one kind are copied to the other");
    const int64_t row = dim[rank - 1], row_step = step[rank - 1];
    int64_t coord[KILN_MAX_RANK] = {0}, d = 0;
    do {
        int64_t s = offset;
        for (int i = 0; i < rank - 1; i++)
            s += coord[i] * step[i];
        copy_row(dst, d, src, s, row_step, row);
        d += row;
    } while (kiln_next_coord(rank - 1, dim, coord));
}
