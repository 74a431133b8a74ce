/* Makers of tensors out of numbers, of other dtypes, and of numbers out of tensors. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>
#include <math.h>

/* ---- one number ------------------------------------------------------------------- */

/* The dtype that a number has by itself. */
static kiln_dtype dtype_of(const kiln_aten_value *v) {
    if (v->kind == KILN_ATEN_TENSOR)
        return v->tensor->type.dtype;
    return v->kind == KILN_ATEN_INT    ? KILN_I64
           : v->kind == KILN_ATEN_BOOL ? KILN_BOOL
                                       : KILN_F32;
}

static kiln_status give_filled(kiln_aten_args *k, kiln_value *v, int rank,
                               const int64_t *dim) {
    KILN_TRY(k->c.status);
    return kiln_aten_give(k, kiln_compose_expand(&k->c, v, rank, dim));
}

/* "size" of one number, whose dtype the row's callers name, or `otherwise`. */
static kiln_status give_size(kiln_aten_args *k, double v, kiln_dtype otherwise) {
    int64_t dim[KILN_MAX_RANK];
    const int rank = (int)kiln_aten_ints(k, "size", dim, KILN_MAX_RANK);
    const kiln_dtype d = kiln_aten_dtype(k, "dtype", otherwise);
    return give_filled(k, kiln_import_scalar(k->c.cx, d, v), rank, dim);
}

static kiln_status give_like(kiln_aten_args *k, double v) {
    const kiln_type t = kiln_aten_tensor(k, "self")->type;
    const kiln_dtype d = kiln_aten_dtype(k, "dtype", t.dtype);
    return give_filled(k, kiln_import_scalar(k->c.cx, d, v), t.rank, t.dim);
}

/* What is empty is written before it is read: zeros do. */
kiln_status kiln_aten_make_zeros(kiln_aten_args *k) {
    return give_size(k, 0, KILN_F32);
}

kiln_status kiln_aten_make_ones(kiln_aten_args *k) { return give_size(k, 1, KILN_F32); }

kiln_status kiln_aten_make_zeros_like(kiln_aten_args *k) { return give_like(k, 0); }

kiln_status kiln_aten_make_ones_like(kiln_aten_args *k) { return give_like(k, 1); }

kiln_status kiln_aten_make_new_zeros(kiln_aten_args *k) {
    return give_size(k, 0, kiln_aten_tensor(k, "self")->type.dtype);
}

kiln_status kiln_aten_make_new_ones(kiln_aten_args *k) {
    return give_size(k, 1, kiln_aten_tensor(k, "self")->type.dtype);
}

/* full, full_like, new_full: of which the row has "size", "self" or both. */
kiln_status kiln_aten_make_full(kiln_aten_args *k) {
    int64_t dim[KILN_MAX_RANK];
    const int rank = (int)kiln_aten_ints(k, "size", dim, KILN_MAX_RANK);
    const kiln_dtype d =
        kiln_aten_dtype(k, "dtype", dtype_of(kiln_aten_get(k, "fill_value")));
    return give_filled(k, kiln_aten_as(k, "fill_value", d), rank, dim);
}

kiln_status kiln_aten_make_full_like(kiln_aten_args *k) {
    const kiln_type t = kiln_aten_tensor(k, "self")->type;
    const kiln_dtype d = kiln_aten_dtype(k, "dtype", t.dtype);
    return give_filled(k, kiln_aten_as(k, "fill_value", d), t.rank, t.dim);
}

kiln_status kiln_aten_make_new_full(kiln_aten_args *k) {
    int64_t dim[KILN_MAX_RANK];
    const int rank = (int)kiln_aten_ints(k, "size", dim, KILN_MAX_RANK);
    const kiln_dtype d =
        kiln_aten_dtype(k, "dtype", kiln_aten_tensor(k, "self")->type.dtype);
    return give_filled(k, kiln_aten_as(k, "fill_value", d), rank, dim);
}

/* Another tensor, or number, in place of the first one's elements. */
kiln_status kiln_aten_make_copy(kiln_aten_args *k) {
    const kiln_type t = kiln_aten_tensor(k, "self")->type;
    return give_filled(k, kiln_aten_as(k, "src", t.dtype), t.rank, t.dim);
}

kiln_status kiln_aten_make_zero(kiln_aten_args *k) {
    const kiln_type t = kiln_aten_tensor(k, "self")->type;
    return give_filled(k, kiln_import_scalar(k->c.cx, t.dtype, 0), t.rank, t.dim);
}

kiln_status kiln_aten_make_scalar_tensor(kiln_aten_args *k) {
    const kiln_aten_value *const v = kiln_aten_get(k, "s");
    const kiln_dtype otherwise = v->kind == KILN_ATEN_TENSOR ? dtype_of(v) : KILN_F32;
    return kiln_aten_give(k,
                          kiln_aten_as(k, "s", kiln_aten_dtype(k, "dtype", otherwise)));
}

/* The number in a tensor, where it is constant. */
kiln_status kiln_aten_make_item(kiln_aten_args *k) {
    const kiln_aten_value *const v = kiln_aten_get(k, "self");
    if (v->kind != KILN_ATEN_TENSOR)
        return kiln_aten_give_value(k, *v);
    if (kiln_dtype_is_float(v->tensor->type.dtype))
        return kiln_aten_give_value(k, kiln_aten_of_float(kiln_aten_float(k, "self")));
    const int64_t i = kiln_aten_int(k, "self");
    return kiln_aten_give_value(k, v->tensor->type.dtype == KILN_BOOL
                                       ? kiln_aten_of_bool(i != 0)
                                       : kiln_aten_of_int(i));
}

/* ---- dtypes ----------------------------------------------------------------------- */

static bool is_dtype(const kiln_aten_value *v) {
    return v->kind == KILN_ATEN_DTYPE || v->kind == KILN_ATEN_INT;
}

/* A dtype, a device and a dtype, or another tensor: by place or by name. */
kiln_status kiln_aten_make_to(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_dtype d = kiln_aten_dtype(k, "dtype", x->type.dtype);
    const kiln_aten_value *const first = kiln_aten_get(k, "other");
    const kiln_aten_value *const second = kiln_aten_get(k, "second");
    if (first->kind == KILN_ATEN_TENSOR)
        d = first->tensor->type.dtype;
    else if (is_dtype(first))
        d = kiln_aten_dtype(k, "other", d);
    else if (is_dtype(second))
        d = kiln_aten_dtype(k, "second", d);
    return kiln_aten_give(k, kiln_compose_cast(&k->c, x, d));
}

kiln_status kiln_aten_make_to_copy(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const kiln_dtype d = kiln_aten_dtype(k, "dtype", x->type.dtype);
    return kiln_aten_give(k, kiln_compose_cast(&k->c, x, d));
}

kiln_status kiln_aten_make_type_as(kiln_aten_args *k) {
    const kiln_dtype d = kiln_aten_tensor(k, "other")->type.dtype;
    return kiln_aten_give(k, kiln_aten_as(k, "self", d));
}

/* ---- rows of numbers -------------------------------------------------------------- */

enum { MAX_ROW = 1 << 24 };

static bool is_whole(const kiln_aten_value *v) {
    return v->kind == KILN_ATEN_INT || v->kind == KILN_ATEN_NONE ||
           (v->kind == KILN_ATEN_TENSOR && !kiln_dtype_is_float(v->tensor->type.dtype));
}

/* start + i * step for n numbers, of integers or floats. */
static kiln_status give_row(kiln_aten_args *k, double start, double step, int64_t n,
                            kiln_dtype d) {
    kiln_compose *const c = &k->c;
    if (c->status == KILN_OK && (n < 0 || n > MAX_ROW))
        kiln_aten_fail(k, KILN_ERR_LIMIT, "%s: rows of 0 to %d numbers are read",
                       k->row->name, (int)MAX_ROW);
    KILN_TRY(c->status);
    KILN_TRY(kiln_import_spend(c->cx, 8 * n));
    if (kiln_dtype_is_float(d)) {
        double *const v = kiln_array(&c->cx->scratch, double, n);
        for (int64_t i = 0; i < n; i++)
            v[i] = start + (double)i * step;
        return kiln_aten_give(k, kiln_compose_floats(c, d, 1, &n, v));
    }
    int64_t *const v = kiln_array(&c->cx->scratch, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = (int64_t)start + i * (int64_t)step;
    return kiln_aten_give(k, kiln_compose_cast(c, kiln_compose_ints(c, 1, &n, v), d));
}

/* Counted as floats do: integers beyond 2^53 are refused with the row's length. */
static kiln_status give_arange(kiln_aten_args *k, double start, double end, double step,
                               bool is_int) {
    const kiln_dtype d = kiln_aten_dtype(k, "dtype", is_int ? KILN_I64 : KILN_F32);
    if (k->c.status == KILN_OK && !(step > 0 || step < 0))
        kiln_aten_fail(k, KILN_ERR_SHAPE, "arange: 'step' must not be 0");
    KILN_TRY(k->c.status);
    const double n = ceil((end - start) / step);
    const double limit = (double)(INT64_C(1) << 53);
    if (!(fabs(start) < limit) || !(fabs(step) < limit) || !(n <= MAX_ROW)) {
        kiln_aten_fail(k, KILN_ERR_LIMIT, "arange: rows of up to %d numbers are read",
                       (int)MAX_ROW);
        return k->c.status;
    }
    return give_row(k, start, step, n > 0 ? (int64_t)n : 0, d);
}

/* arange(end), arange(start, end), arange(start, end, step). */
kiln_status kiln_aten_make_arange(kiln_aten_args *k) {
    const bool has_end = !kiln_aten_is_none(k, "stop");
    const double first = kiln_aten_float(k, "start");
    const double second = has_end ? kiln_aten_float(k, "stop") : 0;
    const bool is_int = is_whole(kiln_aten_get(k, "start")) &&
                        is_whole(kiln_aten_get(k, "stop")) &&
                        is_whole(kiln_aten_get(k, "step"));
    const double step = kiln_aten_float(k, "step");
    return give_arange(k, has_end ? first : 0, has_end ? second : first, step, is_int);
}

kiln_status kiln_aten_make_linspace(kiln_aten_args *k) {
    const double start = kiln_aten_float(k, "start"), end = kiln_aten_float(k, "end");
    const int64_t n = kiln_aten_int(k, "steps");
    const kiln_dtype d = kiln_aten_dtype(k, "dtype", KILN_F32);
    return give_row(k, start, n > 1 ? (end - start) / (double)(n - 1) : 0, n, d);
}

kiln_status kiln_aten_make_eye(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    const int64_t n = kiln_aten_int(k, "n");
    const int64_t m = kiln_aten_is_none(k, "m") ? n : kiln_aten_int(k, "m");
    const kiln_dtype d = kiln_aten_dtype(k, "dtype", KILN_F32);
    kiln_value *rows = kiln_compose_iota(c, n), *columns = kiln_compose_iota(c, m);
    rows = kiln_compose_reshape(c, rows, 2, (int64_t[]){n, 1});
    rows = kiln_compose_2(c, &kiln_op_equal, rows, columns);
    return kiln_aten_give(k, kiln_compose_cast(c, rows, d));
}

/* Each of the lists along an axis of its own, all stretched to all axes. */
kiln_status kiln_aten_make_meshgrid(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value **in;
    int64_t dim[KILN_MAX_RANK], line[KILN_MAX_RANK], perm[KILN_MAX_RANK];
    const int n = (int)kiln_aten_tensors(k, "tensors", &in);
    const bool is_xy = kiln_str_is(kiln_aten_string(k, "indexing"), "xy");
    if (c->status == KILN_OK && (n < 1 || n > KILN_MAX_RANK))
        kiln_aten_fail(k, KILN_ERR_LIMIT, "meshgrid: 1 to %d lists are read, not %d",
                       KILN_MAX_RANK, n);
    KILN_TRY(c->status);
    for (int i = 0; i < n; i++) {
        dim[i] = kiln_type_elems(&in[i]->type);
        line[i] = 1;
        perm[i] = is_xy && n > 1 && i < 2 ? 1 - i : i;
    }
    for (int i = 0; i < n; i++) {
        line[i] = dim[i];
        in[i] = kiln_compose_reshape(c, in[i], n, line);
        line[i] = 1;
        in[i] = kiln_compose_expand(c, in[i], n, dim);
        in[i] = kiln_compose_transpose(c, in[i], perm);
    }
    return kiln_aten_give_list(k, in, (size_t)n);
}
