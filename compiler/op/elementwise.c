/* Inference of element-wise operators: out[i] = f(in[i]) with numpy broadcasting (ONNX,
 * "Multidirectional broadcasting"), and walking over their elements (evaluation:
 * elementwise_f64.c). */
#include "compiler/op/op_common.h"

#include <math.h>

const char *const kiln_names_x[] = {"x", NULL};
const char *const kiln_names_xy[] = {"x", "y", NULL};

/* ---- inference ---- */

static kiln_status check_place(const kiln_node *n, kiln_err *err) {
    const kiln_place a = n->in[0]->type.place;
    for (int i = 1; i < n->n_in; i++) {
        const kiln_place b = n->in[i]->type.place;
        if (a.device != b.device || a.space != b.space)
            return kiln_fail(
                err, KILN_ERR_SHAPE,
                "inputs must be in one place, are in device %d space %d and "
                "device %d space %d",
                a.device, a.space, b.device, b.space);
    }
    return KILN_OK;
}

/* The layout of the inputs that are not stretched; a stretched one must be row-major or
 * have it. */
static kiln_status join_layouts(const kiln_node *n, kiln_type *out, kiln_err *err) {
    bool is_set = false;
    for (int i = 0; i < n->n_in; i++) {
        const kiln_type *t = &n->in[i]->type;
        if (!kiln_type_same_shape(t, out))
            continue;
        if (is_set && !kiln_layout_eq(&t->layout, &out->layout))
            return kiln_fail(err, KILN_ERR_SHAPE,
                             "inputs must have one layout, input '%s' has another",
                             kiln_in_name(n, i));
        out->layout = t->layout;
        is_set = true;
    }
    for (int i = 0; i < n->n_in; i++) {
        const kiln_type *t = &n->in[i]->type;
        if (!kiln_layout_is_plain(&t->layout) &&
            (t->rank != out->rank || !kiln_layout_eq(&t->layout, &out->layout)))
            return kiln_fail(
                err, KILN_ERR_SHAPE,
                "stretched input '%s' must be row-major or have the layout of "
                "the output",
                kiln_in_name(n, i));
    }
    return KILN_OK;
}

kiln_status kiln_infer_broadcast(const kiln_node *n, kiln_dtype dtype, kiln_type *out,
                                 kiln_err *err) {
    KILN_ASSERT(n->n_in >= 1 && n->in[0] != NULL, "'%s' stretches nothing",
                n->op->name);
    KILN_TRY(check_place(n, err));
    kiln_type t = kiln_type_make(dtype, n->in[0]->type.rank, n->in[0]->type.dim);
    for (int i = 1; i < n->n_in; i++)
        KILN_TRY(kiln_broadcast(&t, &n->in[i]->type, &t.rank, t.dim, err));
    t.place = n->in[0]->type.place;
    KILN_TRY(join_layouts(n, &t, err));
    KILN_TRY(kiln_type_check(&t, err));
    *out = t;
    return KILN_OK;
}

/* Tail lanes stay zero when the operator maps zeros to zero. */
static unsigned kept_facts(const kiln_node *n) {
    unsigned facts = n->in[0]->type.facts;
    for (int i = 1; i < n->n_in; i++)
        facts &= n->in[i]->type.facts;
    const kiln_op_def *op = n->op;
    const kiln_dtype dtype = n->in[0]->type.dtype;
    bool is_zero;
    if (n->n_in == 1)
        is_zero = kiln_dtype_is_float(dtype) ? op->f1(0, n->attr) == 0
                                             : op->i1(0, n->attr, dtype) == 0;
    else
        is_zero = kiln_dtype_is_float(dtype) ? op->f2(0, 0, n->attr) == 0
                                             : op->i2(0, 0, n->attr, dtype) == 0;
    return is_zero ? facts & KILN_FACT_TAIL_ZERO : 0;
}

static kiln_status infer(const kiln_node *n, bool to_bool, kiln_type *out,
                         kiln_err *err) {
    KILN_TRY(kiln_check_dtype(n, 0, n->op->dtypes, err));
    for (int i = 1; i < n->n_in; i++)
        KILN_TRY(kiln_check_same_dtype(n, 0, i, err));
    const kiln_dtype dtype = n->in[0]->type.dtype;
    KILN_TRY(kiln_infer_broadcast(n, to_bool ? KILN_BOOL : dtype, out, err));
    out->facts = kept_facts(n);
    return KILN_OK;
}

kiln_status kiln_infer_unary(const kiln_node *n, kiln_type *out, kiln_err *err) {
    return infer(n, false, out, err);
}

kiln_status kiln_infer_predicate(const kiln_node *n, kiln_type *out, kiln_err *err) {
    return infer(n, true, out, err);
}

kiln_status kiln_infer_binary(const kiln_node *n, kiln_type *out, kiln_err *err) {
    return infer(n, false, out, err);
}

kiln_status kiln_infer_compare(const kiln_node *n, kiln_type *out, kiln_err *err) {
    return infer(n, true, out, err);
}

/* ---- walking ---- */

void kiln_bcast_init(kiln_bcast *b, const kiln_type *out, const kiln_wide *in,
                     int n_in) {
    KILN_ASSERT(n_in <= KILN_BCAST_MAX_IN, "%d inputs", n_in);
    int64_t stride[KILN_BCAST_MAX_IN][KILN_MAX_RANK] = {{0}};
    for (int k = 0; k < n_in; k++) {
        const kiln_type *t = &in[k].type;
        KILN_ASSERT(t->rank <= out->rank, "input %d has rank %d, the result %d", k,
                    t->rank, out->rank);
        int64_t own[KILN_MAX_RANK];
        kiln_strides(t->rank, t->dim, own);
        for (int i = 0; i < t->rank; i++)
            stride[k][out->rank - t->rank + i] = t->dim[i] == 1 ? 0 : own[i];
    }
    *b = (kiln_bcast){.n_in = n_in};
    for (int i = 0; i < out->rank; i++) {
        const int64_t n = out->dim[i];
        if (n == 1)
            continue;
        bool is_even = b->rank > 0;
        for (int k = 0; k < n_in && is_even; k++)
            is_even = b->stride[k][b->rank - 1] == stride[k][i] * n;
        if (!is_even)
            b->dim[b->rank++] = 1;
        b->dim[b->rank - 1] *= n;
        for (int k = 0; k < n_in; k++)
            b->stride[k][b->rank - 1] = stride[k][i];
    }
    if (b->rank == 0)
        b->dim[b->rank++] = 1;
}

void kiln_bcast_at(const kiln_bcast *b, int64_t flat, int64_t *at) {
    int64_t coord[KILN_MAX_RANK];
    kiln_unravel(flat, b->rank, b->dim, coord);
    for (int k = 0; k < b->n_in; k++) {
        at[k] = 0;
        for (int i = 0; i < b->rank; i++)
            at[k] += coord[i] * b->stride[k][i];
    }
}

bool kiln_bcast_next(const kiln_bcast *b, int64_t *coord, int64_t *at) {
    for (int i = b->rank - 2; i >= 0; i--) {
        const bool is_end = ++coord[i] == b->dim[i];
        for (int k = 0; k < b->n_in; k++)
            at[k] += b->stride[k][i] * (is_end ? 1 - b->dim[i] : 1);
        if (!is_end)
            return true;
        coord[i] = 0;
    }
    return false;
}

int64_t kiln_i_from_f64(double x, kiln_dtype dtype) {
    const kiln_dtype_info *info = kiln_dtype_get(dtype);
    if (isnan(x))
        return 0;
    if (dtype == KILN_U64) {
        if (x <= 0)
            return 0;
        return x >= 0x1p64 ? -1 : (int64_t)(uint64_t)x;
    }
    /* min_i is a power of two or 0, so (double) is exact; max_i + 1 is a power of two
     * as well. */
    if (x <= (double)info->min_i)
        return info->min_i;
    if (x >= (double)info->max_i)
        return info->max_i;
    return (int64_t)x;
}

double kiln_f64_round_down(double x, kiln_dtype dtype) {
    const double y = kiln_round_f64(dtype, x);
    if (!(y > x))
        return y; /* NaN too */
    /* x is at most half a unit below y; half a unit further down is nearest to the
     * neighbour. */
    const int bits = kiln_dtype_get(dtype)->mantissa_bits;
    int exponent = 0;
    (void)frexp(x, &exponent);
    return kiln_round_f64(dtype, x - ldexp(0.5, exponent - bits));
}
