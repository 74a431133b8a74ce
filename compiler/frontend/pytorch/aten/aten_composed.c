/* Makers of functions that are a few operators each: distances, counts, what replaces
 * NaN. */
#include <math.h>
#include <string.h>

#include "compiler/frontend/pytorch/aten/aten_internal.h"

/* x . y / (max(|x|, eps) * max(|y|, eps)) along an axis. */
kiln_status kiln_aten_make_cosine_similarity(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const v[] = {kiln_aten_real(k, kiln_aten_tensor(k, "x1")),
                             kiln_aten_real(k, kiln_aten_tensor(k, "x2"))};
    kiln_value *norm[2];
    const double eps = kiln_aten_float(k, "eps");
    const int rank =
        v[0]->type.rank > v[1]->type.rank ? v[0]->type.rank : v[1]->type.rank;
    const int axis = kiln_aten_axis(k, "dim", rank);
    if (c->status != KILN_OK)
        return c->status;
    for (int i = 0; i < 2; i++) {
        const int64_t own = axis - (rank - v[i]->type.rank);
        if (own < 0)
            return kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                             "cosine_similarity: both operands must have axis %d",
                             axis);
        kiln_value *const square = kiln_compose_2(c, &kiln_op_mul, v[i], v[i]);
        norm[i] = kiln_compose_1(
            c, &kiln_op_sqrt,
            kiln_compose_reduce(c, &kiln_op_reduce_sum, square, &own, 1, true));
        norm[i] = kiln_compose_scalar(c, &kiln_op_max, norm[i], eps);
    }
    const int64_t over = axis;
    kiln_value *const x = kiln_compose_2(c, &kiln_op_div, v[0], norm[0]);
    kiln_value *const y = kiln_compose_2(c, &kiln_op_div, v[1], norm[1]);
    kiln_value *const product = kiln_compose_2(c, &kiln_op_mul, x, y);
    return kiln_aten_give(
        k, kiln_compose_reduce(c, &kiln_op_reduce_sum, product, &over, 1, false));
}

/* The largest finite number of a dtype. */
static double largest(kiln_dtype dtype) {
    return dtype == KILN_F16    ? 65504
           : dtype == KILN_BF16 ? 0x1.fep127
           : dtype == KILN_F64  ? 0x1.fffffffffffffp1023
                                : 0x1.fffffep127;
}

kiln_status kiln_aten_make_nan_to_num(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const double nan = kiln_aten_is_none(k, "nan") ? 0 : kiln_aten_float(k, "nan");
    const double most = largest(x->type.dtype);
    const double high =
        kiln_aten_is_none(k, "posinf") ? most : kiln_aten_float(k, "posinf");
    const double low =
        kiln_aten_is_none(k, "neginf") ? -most : kiln_aten_float(k, "neginf");
    if (!kiln_dtype_is_float(x->type.dtype))
        return kiln_aten_give(k, x);
    const kiln_dtype d = x->type.dtype;
    kiln_value *const plus = kiln_import_scalar(c->cx, d, (double)INFINITY);
    kiln_value *const minus = kiln_import_scalar(c->cx, d, -(double)INFINITY);
    kiln_value *y = kiln_compose_where(c, kiln_compose_1(c, &kiln_op_is_nan, x),
                                       kiln_import_scalar(c->cx, d, nan), x);
    y = kiln_compose_where(c, kiln_compose_2(c, &kiln_op_equal, x, plus),
                           kiln_import_scalar(c->cx, d, high), y);
    y = kiln_compose_where(c, kiln_compose_2(c, &kiln_op_equal, x, minus),
                           kiln_import_scalar(c->cx, d, low), y);
    return kiln_aten_give(k, y);
}

kiln_status kiln_aten_make_count_nonzero(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const x = kiln_aten_tensor(k, "self");
    int64_t axes[KILN_MAX_RANK];
    const size_t n = kiln_aten_axes(k, "dim", x->type.rank, axes);
    kiln_value *const is_any = kiln_compose_cast(c, x, KILN_BOOL);
    return kiln_aten_give(k, kiln_compose_reduce(c, &kiln_op_reduce_sum,
                                                 kiln_compose_cast(c, is_any, KILN_I64),
                                                 axes, n, false));
}

kiln_status kiln_aten_make_broadcast_tensors(kiln_aten_args *k) {
    kiln_value **in;
    const size_t n = kiln_aten_tensors(k, "tensors", &in);
    if (n == 0)
        return kiln_aten_give_list(k, NULL, 0);
    kiln_type all = in[0]->type;
    for (size_t i = 1; i < n; i++)
        KILN_TRY(kiln_broadcast(&all, &in[i]->type, &all.rank, all.dim, k->c.cx->err));
    for (size_t i = 0; i < n; i++)
        in[i] = kiln_compose_expand(&k->c, in[i], all.rank, all.dim);
    return kiln_aten_give_list(k, in, n);
}

/* Distances of rows to rows: [.., P, M] and [.., R, M] to [.., P, R]. */
kiln_status kiln_aten_make_cdist(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *x = kiln_aten_tensor(k, "x1"), *y = kiln_aten_tensor(k, "x2");
    const double p = kiln_aten_float(k, "p");
    int64_t dim[KILN_MAX_RANK];
    if (!kiln_aten_need_rank(k, x, 2, KILN_MAX_RANK - 1) ||
        !kiln_aten_need_rank(k, y, 2, KILN_MAX_RANK - 1))
        return c->status;
    if (p != 1 && p != 2)
        return kiln_fail(c->cx->err, KILN_ERR_UNSUPPORTED,
                         "cdist: p must be 1 or 2, is %g", p);
    memcpy(dim, x->type.dim, sizeof dim);
    const int n = x->type.rank, m = y->type.rank;
    dim[n] = dim[n - 1];
    dim[n - 1] = 1;
    x = kiln_compose_reshape(c, x, n + 1, dim);
    memcpy(dim, y->type.dim, sizeof dim);
    dim[m] = dim[m - 1];
    dim[m - 1] = dim[m - 2];
    dim[m - 2] = 1;
    y = kiln_compose_reshape(c, y, m + 1, dim);
    kiln_value *d = kiln_compose_2(c, &kiln_op_sub, x, y);
    const int64_t last = d->type.rank - 1;
    d = p == 1 ? kiln_compose_1(c, &kiln_op_abs, d)
               : kiln_compose_2(c, &kiln_op_mul, d, d);
    d = kiln_compose_reduce(c, &kiln_op_reduce_sum, d, &last, 1, false);
    return kiln_aten_give(k, p == 1 ? d : kiln_compose_1(c, &kiln_op_sqrt, d));
}
