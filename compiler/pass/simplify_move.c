/* Data movement that moves nothing, and two movements that are one. */
#include "compiler/pass/simplify.h"

/* The node that makes v, if it is of this operator. */
static const kiln_node *maker(const kiln_value *v, const kiln_op_def *op) {
    return v->def != NULL && v->def->op == op ? v->def : NULL;
}

static bool keeps_type(const kiln_node *n) {
    return kiln_type_eq(&n->in[0]->type, &n->out[0]->type);
}

/* For operators that give their input back when its type stays. */
kiln_status kiln_simplify_same_type(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    (void)s;
    if (keeps_type(n))
        *same = n->in[0];
    return KILN_OK;
}

/* ---- cast ---- */

/* Has every value of `from` an equal one in `to`? Subnormals included; a NaN stays a
 * NaN. */
static bool holds_all(kiln_dtype to, kiln_dtype from) {
    const kiln_dtype_info *t = kiln_dtype_get(to), *f = kiln_dtype_get(from);
    if (to == from)
        return true;
    if (to == KILN_BOOL)
        return false;
    if (f->is_float)
        return to == KILN_F64 || (to == KILN_F32 && from != KILN_F64);
    if (t->is_float) { /* |min| is a power of two, so the largest value decides */
        const bool is_wide = f->bytes == 8; /* u64 has more than max_i says */
        return !is_wide && f->max_i < (int64_t)1 << t->mantissa_bits;
    }
    if (from == KILN_U64)
        return false;
    return f->min_i >= t->min_i && f->max_i <= t->max_i;
}

/* cast to C of cast to B of an A: the middle step can go where B holds all of A, and C
 * reads the value as before. Floats and integers are cut down by different rules, so A
 * and B must be of one kind, or C be A again. */
kiln_status kiln_simplify_cast(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    if (keeps_type(n)) {
        *same = n->in[0];
        return KILN_OK;
    }
    const kiln_node *first = maker(n->in[0], &kiln_op_cast);
    if (first == NULL)
        return KILN_OK;
    kiln_value *x = first->in[0];
    const kiln_dtype a = x->type.dtype, b = n->in[0]->type.dtype,
                     c = n->out[0]->type.dtype;
    if (!holds_all(b, a))
        return KILN_OK;
    if (a == c) {
        *same = x;
        return KILN_OK;
    }
    if (kiln_dtype_is_float(a) != kiln_dtype_is_float(b))
        return KILN_OK;
    const kiln_attr_arg to = kiln_arg_dtype("to", c);
    return kiln_sweep_add(s, &kiln_op_cast, n, &x, 1, &to, 1, same);
}

/* ---- shape and order ---- */

kiln_status kiln_simplify_reshape(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    if (keeps_type(n)) {
        *same = n->in[0];
        return KILN_OK;
    }
    const kiln_node *first = maker(n->in[0], &kiln_op_reshape);
    if (first == NULL)
        return KILN_OK;
    kiln_value *x = first->in[0];
    const kiln_type *to = &n->out[0]->type;
    if (kiln_type_eq(&x->type, to)) {
        *same = x;
        return KILN_OK;
    }
    const kiln_attr_arg shape = kiln_arg_ints("shape", to->dim, (size_t)to->rank);
    return kiln_sweep_add(s, &kiln_op_reshape, n, &x, 1, &shape, 1, same);
}

static bool is_identity(const int64_t *perm, int rank) {
    for (int i = 0; i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

/* transpose(transpose(x, p), q)[i] is axis p[q[i]] of x. */
kiln_status kiln_simplify_transpose(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    const int rank = n->out[0]->type.rank;
    const int64_t *outer = kiln_node_attr(n, "perm")->ints;
    if (is_identity(outer, rank)) {
        *same = n->in[0];
        return KILN_OK;
    }
    const kiln_node *first = maker(n->in[0], &kiln_op_transpose);
    if (first == NULL)
        return KILN_OK;
    kiln_value *x = first->in[0];
    const int64_t *inner = kiln_node_attr(first, "perm")->ints;
    int64_t both[KILN_MAX_RANK];
    for (int i = 0; i < rank; i++)
        both[i] = inner[outer[i]];
    if (is_identity(both, rank)) {
        *same = x;
        return KILN_OK;
    }
    const kiln_attr_arg perm = kiln_arg_ints("perm", both, (size_t)rank);
    return kiln_sweep_add(s, &kiln_op_transpose, n, &x, 1, &perm, 1, same);
}

/* ---- parts ---- */

kiln_status kiln_simplify_pad(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    (void)s;
    const kiln_attr *pads = kiln_node_attr(n, "pads");
    for (size_t i = 0; i < pads->n; i++)
        if (pads->ints[i] != 0)
            return KILN_OK;
    *same = n->in[0];
    return KILN_OK;
}

/* All elements of an axis are taken forwards, or there is but one. */
static bool takes_all(const kiln_type *from, const kiln_type *to,
                      const int64_t *steps) {
    if (!kiln_type_eq(from, to))
        return false;
    for (int i = 0; i < to->rank; i++)
        if (to->dim[i] > 1 && steps[i] < 0)
            return false;
    return true;
}

/* Element i of slice(slice(x, start a, step b), start c, step d) is element
 * a + (c + i * d) * b of x. A step between fewer than two elements means nothing, and
 * may be any number: it becomes 1. */
kiln_status kiln_simplify_slice(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    const kiln_type *middle = &n->in[0]->type, *to = &n->out[0]->type;
    const int64_t *d = kiln_node_attr(n, "steps")->ints;
    if (takes_all(middle, to, d)) {
        *same = n->in[0];
        return KILN_OK;
    }
    const kiln_node *first = maker(n->in[0], &kiln_op_slice);
    if (first == NULL)
        return KILN_OK;
    const int64_t *a = kiln_node_attr(first, "starts")->ints;
    const int64_t *b = kiln_node_attr(first, "steps")->ints;
    const int64_t *c = kiln_node_attr(n, "starts")->ints;
    const size_t rank = (size_t)to->rank;
    int64_t starts[KILN_MAX_RANK] = {0}, steps[KILN_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        const int64_t inner = middle->dim[i] > 1 ? b[i] : 1;
        steps[i] = to->dim[i] > 1 ? inner * d[i] : 1;
        if (to->dim[i] > 0)
            starts[i] = a[i] + c[i] * inner;
    }
    kiln_value *x = first->in[0];
    if (takes_all(&x->type, to, steps)) {
        *same = x;
        return KILN_OK;
    }
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", starts, rank),
                                  kiln_arg_ints("steps", steps, rank),
                                  kiln_arg_ints("sizes", to->dim, rank)};
    return kiln_sweep_add(s, &kiln_op_slice, n, &x, 1, args, 3, same);
}

/* x between zeros is x with padding. */
static kiln_status pad_for_zeros(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    const int rank = n->out[0]->type.rank;
    int64_t pads[2 * KILN_MAX_RANK] = {0};
    kiln_value *x = NULL;
    int axis = 0;
    KILN_TRY(
        kiln_axis_normalize(kiln_node_attr(n, "axis")->i, rank, &axis, s->cx->err));
    for (int k = 0; k < n->n_in; k++) {
        kiln_value *v = n->in[k];
        if (!kiln_simplify_is_filled(v, 0)) {
            if (x != NULL)
                return KILN_OK;
            x = v;
        } else {
            pads[x == NULL ? axis : rank + axis] += v->type.dim[axis];
        }
    }
    if (x == NULL || !kiln_dtype_is_in(x->type.dtype, kiln_op_pad.dtypes))
        return KILN_OK;
    const kiln_attr_arg arg = kiln_arg_ints("pads", pads, 2 * (size_t)rank);
    return kiln_sweep_add(s, &kiln_op_pad, n, &x, 1, &arg, 1, same);
}

/* One part that is the whole, the others being empty; or being zeros. */
kiln_status kiln_simplify_concat(kiln_sweep *s, kiln_node *n, kiln_value **same) {
    for (int k = 0; k < n->n_in; k++)
        if (kiln_type_eq(&n->in[k]->type, &n->out[0]->type)) {
            *same = n->in[k];
            return KILN_OK;
        }
    return pad_for_zeros(s, n, same);
}
