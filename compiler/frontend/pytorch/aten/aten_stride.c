/* as_strided: memory read as it lies. The operand's own strides say where its elements
 * are; whoever reads a file that has them gives them ("self_stride"). */
#include <inttypes.h>

#include "compiler/frontend/pytorch/aten/aten_internal.h"

/* The axes of more than one element, from the largest stride to the smallest, then the
 * others: of dense memory the order in which they lie. False: it is not dense. */
static bool dense_order(int rank, const int64_t *dim, const int64_t *stride,
                        int64_t *perm) {
    int64_t expected = 1;
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (dim[i] != 1)
            perm[n++] = i;
    const int n_wide = n;
    for (int i = 1; i < n_wide; i++)
        for (int j = i; j > 0 && stride[perm[j]] > stride[perm[j - 1]]; j--) {
            const int64_t t = perm[j];
            perm[j] = perm[j - 1];
            perm[j - 1] = t;
        }
    for (int i = n_wide - 1; i >= 0; i--) {
        if (stride[perm[i]] != expected || dim[perm[i]] < 1)
            return false;
        expected *= dim[perm[i]];
    }
    for (int i = 0; i < rank; i++)
        if (dim[i] == 1)
            perm[n++] = i;
    return true;
}

/* x's elements in a row, as they lie. */
static kiln_value *as_it_lies(kiln_aten_args *k, kiln_value *x) {
    const kiln_type t = x->type;
    int64_t stride[KILN_MAX_RANK], perm[KILN_MAX_RANK];
    const bool is_known = !kiln_aten_is_none(k, "self_stride");
    const size_t n =
        is_known ? kiln_aten_ints(k, "self_stride", stride, KILN_MAX_RANK) : 0;
    if (k->c.status == KILN_OK &&
        (n != (size_t)t.rank || !dense_order(t.rank, t.dim, stride, perm)))
        kiln_aten_fail(
            k, KILN_ERR_UNSUPPORTED,
            "as_strided: how its operand lies in memory is not known, or not "
            "dense; use reshape and permute");
    if (k->c.status != KILN_OK)
        return x;
    x = kiln_compose_transpose(&k->c, x, perm);
    return kiln_compose_reshape(&k->c, x, 1, (int64_t[]){kiln_type_elems(&t)});
}

/* Where each element lies, for what is not dense: a constant. */
static kiln_value *places(kiln_aten_args *k, const kiln_type *t, const int64_t *stride,
                          int64_t offset, int64_t limit) {
    kiln_compose *const c = &k->c;
    const int64_t n = kiln_type_elems(t);
    int64_t at[KILN_MAX_RANK] = {0};
    kiln_compose_fail(c, kiln_import_spend(c->cx, 8 * n));
    if (c->status != KILN_OK)
        return NULL;
    int64_t *const v = kiln_array(&c->cx->scratch, int64_t, n);
    for (int64_t i = 0; i < n; i++) {
        v[i] = offset;
        for (int a = 0; a < t->rank; a++)
            v[i] += at[a] * stride[a];
        if (v[i] < 0 || v[i] >= limit) {
            kiln_aten_fail(k, KILN_ERR_SHAPE,
                           "as_strided: element %" PRId64
                           " lies outside of the %" PRId64 " of its operand",
                           v[i], limit);
            return NULL;
        }
        for (int a = t->rank - 1; a >= 0 && ++at[a] == t->dim[a]; a--)
            at[a] = 0;
    }
    return kiln_compose_ints(c, t->rank, t->dim, v);
}

kiln_status kiln_aten_make_as_strided(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *x = as_it_lies(k, kiln_aten_tensor(k, "self"));
    int64_t dim[KILN_MAX_RANK], stride[KILN_MAX_RANK], perm[KILN_MAX_RANK];
    int64_t lying[KILN_MAX_RANK], back[KILN_MAX_RANK];
    const int rank = (int)kiln_aten_ints(k, "size", dim, KILN_MAX_RANK);
    const size_t n = kiln_aten_ints(k, "stride", stride, KILN_MAX_RANK);
    const int64_t offset =
        kiln_aten_is_none(k, "storage_offset") ? 0 : kiln_aten_int(k, "storage_offset");
    KILN_TRY(c->status);
    const kiln_type t = kiln_type_make(x->type.dtype, rank, dim);
    KILN_TRY(kiln_type_check(&t, c->cx->err));
    bool fits = n == (size_t)rank && offset >= 0 && offset <= KILN_MAX_ELEMS;
    for (int i = 0; fits && i < rank; i++)
        fits = stride[i] >= 0 && stride[i] <= KILN_MAX_ELEMS && dim[i] < INT32_MAX &&
               stride[i] < INT32_MAX;
    if (!fits) {
        kiln_aten_fail(k, KILN_ERR_SHAPE, "as_strided: 'stride' does not fit 'size'");
        return c->status;
    }
    if (offset != 0 || kiln_type_elems(&t) != x->type.dim[0] ||
        !dense_order(rank, dim, stride, perm)) {
        kiln_value *const at = places(k, &t, stride, offset, x->type.dim[0]);
        KILN_TRY(c->status);
        return kiln_aten_give(k, kiln_compose_axis(c, &kiln_op_gather, x, at, 0));
    }
    for (int i = 0; i < rank; i++) {
        lying[i] = dim[perm[i]];
        back[perm[i]] = i;
    }
    x = kiln_compose_reshape(c, x, rank, lying);
    return kiln_aten_give(k, kiln_compose_transpose(c, x, back));
}
