/* Makers of reductions, of the order of elements, and of running sums. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <inttypes.h>
#include <math.h>

/* "dim" (None and empty: all axes) and "keepdim". */
typedef struct over {
    int64_t axes[KILN_MAX_RANK];
    size_t n;
    bool keep;
} over;

static over over_of(kiln_aten_args *k, const kiln_value *x) {
    over o = {.keep = kiln_aten_bool(k, "keepdim")};
    o.n = kiln_aten_axes(k, "dim", x->type.rank, o.axes);
    return o;
}

static kiln_value *reduced(kiln_aten_args *k, const kiln_op_def *op, kiln_value *x,
                           const over *o) {
    return kiln_compose_reduce(&k->c, op, x, o->axes, o->n, o->keep);
}

/* Elements that one result is made of. */
static int64_t count_of(const kiln_value *x, const over *o) {
    int64_t n = 1;
    if (o->n == 0)
        return kiln_type_elems(&x->type);
    for (size_t i = 0; i < o->n; i++)
        n *= x->type.dim[o->axes[i]];
    return n;
}

/* Sums and products: integers and bool in 64 bits. */
kiln_status kiln_aten_make_sum(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    const bool is_float = kiln_dtype_is_float(x->type.dtype);
    const kiln_dtype d =
        kiln_aten_dtype(k, "dtype", is_float ? x->type.dtype : KILN_I64);
    const over o = over_of(k, x);
    x = kiln_compose_cast(&k->c, x, d);
    return kiln_aten_give(k, reduced(k, k->row->op, x, &o));
}

kiln_status kiln_aten_make_mean(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    const over o = over_of(k, x);
    x = kiln_compose_cast(&k->c, x, kiln_aten_dtype(k, "dtype", x->type.dtype));
    return kiln_aten_give(k, reduced(k, k->row->op, kiln_aten_real(k, x), &o));
}

kiln_status kiln_aten_make_reduce(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const over o = over_of(k, x);
    return kiln_aten_give(k, reduced(k, k->row->op, x, &o));
}

static kiln_value *arg_of(kiln_aten_args *k, const kiln_op_def *op, kiln_value *x,
                          int axis, bool keep) {
    const kiln_attr_arg args[] = {kiln_arg_int("axis", axis),
                                  kiln_arg_bool("keepdims", keep)};
    return kiln_compose_op(&k->c, op, &x, 1, args, 2);
}

/* Of all elements, between two tensors, or along an axis with where it is. */
static kiln_status give_extreme(kiln_aten_args *k, const kiln_op_def *reduce,
                                const kiln_op_def *arg, const kiln_op_def *between) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    if (kiln_aten_is_tensor(k, "other")) {
        const kiln_dtype d = kiln_aten_promote(k, "self", "other");
        return kiln_aten_give(k,
                              kiln_compose_2(&k->c, between, kiln_aten_as(k, "self", d),
                                             kiln_aten_as(k, "other", d)));
    }
    const over o = over_of(k, x);
    KILN_TRY(kiln_aten_give(k, reduced(k, reduce, x, &o)));
    if (kiln_aten_is_none(k, "dim") || x->type.rank == 0)
        return k->c.status;
    return kiln_aten_give(k, arg_of(k, arg, x, (int)o.axes[0], o.keep));
}

kiln_status kiln_aten_make_max(kiln_aten_args *k) {
    return give_extreme(k, &kiln_op_reduce_max, &kiln_op_argmax, &kiln_op_max);
}

kiln_status kiln_aten_make_min(kiln_aten_args *k) {
    return give_extreme(k, &kiln_op_reduce_min, &kiln_op_argmin, &kiln_op_min);
}

/* Without an axis, of all elements in a row. */
kiln_status kiln_aten_make_arg(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    const bool keep = kiln_aten_bool(k, "keepdim");
    if (!kiln_aten_is_none(k, "dim") && x->type.rank > 0) {
        const int axis = kiln_aten_axis(k, "dim", x->type.rank);
        return kiln_aten_give(k, arg_of(k, k->row->op, x, axis, keep));
    }
    x = kiln_compose_reshape(&k->c, x, 1, (int64_t[]){kiln_type_elems(&x->type)});
    return kiln_aten_give(k, arg_of(k, k->row->op, x, 0, false));
}

/* any is the largest of bool, all the smallest: the row's operator. */
kiln_status kiln_aten_make_any(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_as(k, "self", KILN_BOOL);
    const over o = over_of(k, x);
    x = kiln_compose_cast(&k->c, x, KILN_U8);
    x = reduced(k, k->row->op, x, &o);
    return kiln_aten_give(k, kiln_compose_cast(&k->c, x, KILN_BOOL));
}

/* ---- moments and norms ------------------------------------------------------------ */

/* Divided by how many there are less "correction". "dim" may be the flag of the oldest
 * form, var(x, unbiased). */
static kiln_value *variance(kiln_aten_args *k, kiln_value **mean) {
    kiln_compose *const c = &k->c;
    kiln_value *const x = kiln_aten_real(k, kiln_aten_tensor(k, "self"));
    const kiln_aten_value *const dim = kiln_aten_get(k, "dim");
    over o = {.keep = kiln_aten_bool(k, "keepdim")};
    double correction = kiln_aten_bool(k, "unbiased") ? 1 : 0;
    if (dim->kind == KILN_ATEN_BOOL)
        correction = dim->i != 0 ? 1 : 0;
    else
        o.n = kiln_aten_axes(k, "dim", x->type.rank, o.axes);
    if (!kiln_aten_is_none(k, "correction"))
        correction = kiln_aten_float(k, "correction");
    over kept = o;
    kept.keep = true;
    const double n = (double)count_of(x, &o);
    const double by = n > correction ? n - correction : 0;
    kiln_value *const about = reduced(k, &kiln_op_reduce_mean, x, &kept);
    kiln_value *y = kiln_compose_2(c, &kiln_op_sub, x, about);
    y = kiln_compose_2(c, &kiln_op_mul, y, y);
    y = reduced(k, &kiln_op_reduce_sum, y, &o);
    if (mean != NULL)
        *mean = reduced(k, &kiln_op_reduce_mean, x, &o);
    return kiln_compose_scalar(c, &kiln_op_div, y, by);
}

kiln_status kiln_aten_make_var(kiln_aten_args *k) {
    return kiln_aten_give(k, variance(k, NULL));
}

kiln_status kiln_aten_make_std(kiln_aten_args *k) {
    return kiln_aten_give(k, kiln_compose_1(&k->c, &kiln_op_sqrt, variance(k, NULL)));
}

kiln_status kiln_aten_make_var_mean(kiln_aten_args *k) {
    kiln_value *mean;
    KILN_TRY(kiln_aten_give(k, variance(k, &mean)));
    return kiln_aten_give(k, mean);
}

kiln_status kiln_aten_make_std_mean(kiln_aten_args *k) {
    kiln_value *mean, *const var = variance(k, &mean);
    KILN_TRY(kiln_aten_give(k, kiln_compose_1(&k->c, &kiln_op_sqrt, var)));
    return kiln_aten_give(k, mean);
}

/* The sum of |x|^p, to the power of 1 / p. */
kiln_status kiln_aten_make_norm(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    const double p = kiln_aten_is_none(k, "ord") ? 2 : kiln_aten_float(k, "ord");
    kiln_value *x = kiln_aten_tensor(k, "self");
    const over o = over_of(k, x);
    x = kiln_compose_cast(c, x, kiln_aten_dtype(k, "dtype", x->type.dtype));
    x = kiln_aten_real(k, x);
    if (p == 2)
        return kiln_aten_give(k, reduced(k, &kiln_op_reduce_l2, x, &o));
    if (p == 1)
        return kiln_aten_give(k, reduced(k, &kiln_op_reduce_l1, x, &o));
    x = kiln_compose_1(c, &kiln_op_abs, x);
    if (isinf(p))
        return kiln_aten_give(
            k, reduced(k, p > 0 ? &kiln_op_reduce_max : &kiln_op_reduce_min, x, &o));
    if (p == 0 && c->status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "%s: the number of elements that are not 0 is not read as a "
                       "norm",
                       k->row->name);
    x = kiln_compose_scalar(c, &kiln_op_pow, x, p);
    x = reduced(k, &kiln_op_reduce_sum, x, &o);
    return kiln_aten_give(k, kiln_compose_scalar(c, &kiln_op_pow, x, 1 / p));
}

/* ---- order ------------------------------------------------------------------------ */

static kiln_status best(kiln_aten_args *k, int64_t n, bool is_largest,
                        kiln_value *out[2]) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    if (x->type.rank == 0)
        x = kiln_compose_reshape(&k->c, x, 1, (int64_t[]){1});
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    KILN_TRY(k->c.status);
    const kiln_attr_arg args[] = {
        kiln_arg_int("k", n < 0 ? x->type.dim[axis] : n), kiln_arg_int("axis", axis),
        kiln_arg_bool("largest", is_largest), kiln_arg_bool("sorted", true)};
    return kiln_import_emit(k->c.cx, k->c.site, &kiln_op_topk, &x, 1, args, 4, 2, out);
}

kiln_status kiln_aten_make_topk(kiln_aten_args *k) {
    kiln_value *y[2];
    const int64_t n = kiln_aten_int(k, "k");
    const bool is_largest = kiln_aten_bool(k, "largest");
    kiln_aten_bool(k, "sorted"); /* sorted is one of the orders that may be */
    if (n < 0)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "topk: 'k' must be 0 or more");
    KILN_TRY(best(k, n, is_largest, y));
    KILN_TRY(kiln_aten_give(k, y[0]));
    return kiln_aten_give(k, y[1]);
}

kiln_status kiln_aten_make_sort(kiln_aten_args *k) {
    kiln_value *y[2];
    KILN_TRY(best(k, -1, kiln_aten_bool(k, "descending"), y));
    KILN_TRY(kiln_aten_give(k, y[0]));
    return kiln_aten_give(k, y[1]);
}

kiln_status kiln_aten_make_argsort(kiln_aten_args *k) {
    kiln_value *y[2];
    KILN_TRY(best(k, -1, kiln_aten_bool(k, "descending"), y));
    return kiln_aten_give(k, y[1]);
}

kiln_status kiln_aten_make_running(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    const bool is_float = kiln_dtype_is_float(x->type.dtype);
    const kiln_dtype d =
        kiln_aten_dtype(k, "dtype", is_float ? x->type.dtype : KILN_I64);
    x = kiln_compose_cast(&k->c, x, d);
    if (x->type.rank == 0)
        return kiln_aten_give(k, x);
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    return kiln_aten_give(k, kiln_compose_axis(&k->c, k->row->op, x, NULL, axis));
}
