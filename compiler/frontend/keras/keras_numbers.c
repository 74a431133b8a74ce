/* Functions of keras.ops of each number by itself, or of each pair of numbers. Source:
 * keras.src.ops.numpy, and what it calls of keras.src.backend. */
#include "compiler/frontend/angles.h"
#include "compiler/frontend/keras/keras_internal.h"

#include <float.h>
#include <math.h>

static kiln_status set(kiln_keras_call *k, kiln_value *y) {
    k->out = y;
    return k->c.status;
}

/* ---- types ----------------------------------------------------------------------------- */

/* Truths before integers before floats. */
static int kind_of(kiln_dtype dtype) {
    return dtype == KILN_BOOL ? 0 : kiln_dtype_is_float(dtype) ? 2 : 1;
}

/* The signed integer of so many bytes, or of 8. */
static kiln_dtype signed_of(size_t bytes) {
    return bytes == 1   ? KILN_I8
           : bytes == 2 ? KILN_I16
           : bytes == 4 ? KILN_I32
                        : KILN_I64;
}

/* The higher kind, or the wider of one kind; of integers with and without a sign the signed
 * one that holds both. */
static kiln_dtype met(kiln_dtype x, kiln_dtype y) {
    const size_t n_x = kiln_dtype_bytes(x), n_y = kiln_dtype_bytes(y);
    const bool is_x = kiln_dtype_is_in(x, KILN_DT_UNSIGNED);
    const bool is_y = kiln_dtype_is_in(y, KILN_DT_UNSIGNED);
    if (kind_of(x) != kind_of(y))
        return kind_of(x) > kind_of(y) ? x : y;
    if (is_x && !is_y && n_x >= n_y)
        return signed_of(2 * n_x);
    if (is_y && !is_x && n_y >= n_x)
        return signed_of(2 * n_y);
    return n_x >= n_y ? x : y;
}

kiln_status kiln_keras_meet(kiln_keras_call *k, int first, kiln_dtype least) {
    kiln_dtype dtype = KILN_BOOL;
    for (int i = first; i < k->n_in; i++)
        dtype = met(dtype, k->in[i]->type.dtype);
    if (kind_of(dtype) < kind_of(least))
        dtype = least;
    for (int i = first; i < k->n_in; i++)
        k->in[i] = kiln_compose_cast(&k->c, k->in[i], dtype);
    return k->c.status;
}

/* ---- pairs ----------------------------------------------------------------------------- */

/* Of integers too a fraction. */
kiln_status kiln_keras_import_divide(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, kiln_compose_2(&k->c, &kiln_op_div, k->in[0], k->in[1]));
}

/* x / y, and 0 where y is. */
static kiln_value *safe_quotient(kiln_compose *c, kiln_value *x, kiln_value *y) {
    kiln_value *const zero = kiln_import_scalar(c->cx, x->type.dtype, 0);
    return kiln_compose_where(c, kiln_compose_scalar(c, &kiln_op_equal, y, 0), zero,
                              kiln_compose_2(c, &kiln_op_div, x, y));
}

kiln_status kiln_keras_import_divide_no_nan(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, safe_quotient(&k->c, k->in[0], k->in[1]));
}

/* With the sign of what is divided by, as Python's x % y. */
kiln_status kiln_keras_import_remainder(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_I32));
    return set(k, kiln_compose_2(&k->c, &kiln_op_mod, k->in[0], k->in[1]));
}

/* With the sign of what is divided. */
kiln_status kiln_keras_import_remainder_of_c(kiln_keras_call *k) {
    const kiln_attr_arg arg = kiln_arg_bool("fmod", true);
    KILN_TRY(kiln_keras_meet(k, 0, KILN_I32));
    return set(k, kiln_compose_op(&k->c, &kiln_op_mod, k->in, 2, &arg, 1));
}

/* As Python's x // y. */
kiln_status kiln_keras_import_floor_divide(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_I32));
    return set(k, kiln_compose_floor_div(&k->c, k->in[0], k->in[1]));
}

/* The larger or the smaller; beside what is not a number the other. */
kiln_status kiln_keras_import_known_one(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_BOOL));
    kiln_value *const x = k->in[0], *const y = k->in[1];
    kiln_value *z = kiln_compose_2(c, k->op, x, y);
    if (!kiln_dtype_is_float(x->type.dtype))
        return set(k, z);
    z = kiln_compose_where(c, kiln_compose_1(c, &kiln_op_is_nan, y), x, z);
    return set(k, kiln_compose_where(c, kiln_compose_1(c, &kiln_op_is_nan, x), y, z));
}

kiln_status kiln_keras_import_angle_of(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, kiln_compose_atan2(&k->c, k->in[0], k->in[1]));
}

/* sqrt(x^2 + y^2), whose squares need not be finite. */
kiln_status kiln_keras_import_hypotenuse(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const x = kiln_compose_1(c, &kiln_op_abs, k->in[0]);
    kiln_value *const y = kiln_compose_1(c, &kiln_op_abs, k->in[1]);
    kiln_value *const high = kiln_compose_2(c, &kiln_op_max, x, y);
    kiln_value *t = safe_quotient(c, kiln_compose_2(c, &kiln_op_min, x, y), high);
    t = kiln_compose_2(c, &kiln_op_mul, t, t);
    t = kiln_compose_1(c, &kiln_op_sqrt, kiln_compose_scalar(c, &kiln_op_add, t, 1));
    return set(k, kiln_compose_2(c, &kiln_op_mul, high, t));
}

/* The logarithm of base^x + base^y, where `ln` is that of the base; max(x, y) is added
 * last, so that no power overflows. */
static kiln_status log_sum(kiln_keras_call *k, double ln) {
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const x = k->in[0], *const y = k->in[1];
    kiln_value *const d = kiln_compose_2(c, &kiln_op_sub, x, y);
    kiln_value *t = kiln_compose_1(c, &kiln_op_abs, d);
    t = kiln_compose_1(c, &kiln_op_exp, kiln_compose_scalar(c, &kiln_op_mul, t, -ln));
    t = kiln_compose_scalar(c, &kiln_op_mul, kiln_compose_log1p(c, t), 1 / ln);
    t = kiln_compose_2(c, &kiln_op_add, kiln_compose_2(c, &kiln_op_max, x, y), t);
    /* Two infinities, which have no difference, are their own sum. */
    return set(k, kiln_compose_where(c, kiln_compose_1(c, &kiln_op_is_nan, d),
                                     kiln_compose_2(c, &kiln_op_add, x, y), t));
}

kiln_status kiln_keras_import_log_sum_e(kiln_keras_call *k) { return log_sum(k, 1); }
kiln_status kiln_keras_import_log_sum_2(kiln_keras_call *k) {
    return log_sum(k, log(2));
}

/* 0 below 0, y at 0, 1 above. */
kiln_status kiln_keras_import_step(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const x = k->in[0];
    kiln_value *const zero = kiln_import_scalar(c->cx, x->type.dtype, 0);
    kiln_value *const one = kiln_import_scalar(c->cx, x->type.dtype, 1);
    kiln_value *const y = kiln_compose_where(
        c, kiln_compose_scalar(c, &kiln_op_greater, x, 0), one, k->in[1]);
    return set(
        k, kiln_compose_where(c, kiln_compose_scalar(c, &kiln_op_less, x, 0), zero, y));
}

/* ---- one ------------------------------------------------------------------------------- */

static kiln_status times(kiln_keras_call *k, double v) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, kiln_compose_scalar(&k->c, &kiln_op_mul, k->in[0], v));
}

static const double pi = 3.14159265358979323846;

kiln_status kiln_keras_import_radians(kiln_keras_call *k) { return times(k, pi / 180); }
kiln_status kiln_keras_import_degrees(kiln_keras_call *k) { return times(k, 180 / pi); }

kiln_status kiln_keras_import_cube_root(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const x = kiln_compose_1(c, &kiln_op_abs, k->in[0]);
    return set(k, kiln_compose_2(c, &kiln_op_mul,
                                 kiln_compose_1(c, &kiln_op_sign, k->in[0]),
                                 kiln_compose_scalar(c, &kiln_op_pow, x, 1.0 / 3)));
}

kiln_status kiln_keras_import_power_of_2(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const two = kiln_import_scalar(&k->cx->common, k->in[0]->type.dtype, 2);
    return set(k, kiln_compose_2(&k->c, &kiln_op_pow, two, k->in[0]));
}

/* sin(pi x) / (pi x). */
kiln_status kiln_keras_import_sinc(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const x = k->in[0];
    kiln_value *const t = kiln_compose_scalar(c, &kiln_op_mul, x, pi);
    kiln_value *const y =
        kiln_compose_2(c, &kiln_op_div, kiln_compose_1(c, &kiln_op_sin, t), t);
    kiln_value *const one = kiln_import_scalar(c->cx, x->type.dtype, 1);
    return set(
        k, kiln_compose_where(c, kiln_compose_scalar(c, &kiln_op_equal, x, 0), one, y));
}

kiln_status kiln_keras_import_magnitude(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, kiln_compose_1(&k->c, &kiln_op_abs, k->in[0]));
}

/* Integers have no fraction. */
kiln_status kiln_keras_import_whole(kiln_keras_call *k) {
    kiln_value *const x = k->in[0];
    return set(k, kiln_dtype_is_float(x->type.dtype) ? kiln_compose_1(&k->c, k->op, x)
                                                     : x);
}

/* ---- what is finite -------------------------------------------------------------------- */

static kiln_value *is_infinite(kiln_compose *c, kiln_value *x, bool above, bool below) {
    const kiln_attr_arg args[] = {kiln_arg_bool("detect_negative", below),
                                  kiln_arg_bool("detect_positive", above)};
    return kiln_compose_op(c, &kiln_op_is_inf, &x, 1, args, 2);
}

kiln_status kiln_keras_import_is_finite(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    kiln_value *const y =
        kiln_compose_2(c, &kiln_op_logical_or, is_infinite(c, k->in[0], true, true),
                       kiln_compose_1(c, &kiln_op_is_nan, k->in[0]));
    return set(k, kiln_compose_1(c, &kiln_op_logical_not, y));
}

kiln_status kiln_keras_import_is_above_all(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, is_infinite(&k->c, k->in[0], true, false));
}

kiln_status kiln_keras_import_is_below_all(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return set(k, is_infinite(&k->c, k->in[0], false, true));
}

/* Numbers in place of what is none, and of infinities; these become the largest there is
 * where the config says nothing. */
kiln_status kiln_keras_import_nan_to_num(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    kiln_value *x = k->in[0];
    const kiln_dtype dtype = x->type.dtype;
    if (!kiln_dtype_is_float(dtype))
        return set(k, x);
    if (dtype != KILN_F32)
        return kiln_fail(k->cx->common.err, KILN_ERR_UNSUPPORTED,
                         "its values must be float32, are %s", kiln_dtype_name(dtype));
    const double v[] = {kiln_keras_number(k, "nan", 0),
                        kiln_keras_number(k, "posinf", (double)FLT_MAX),
                        kiln_keras_number(k, "neginf", -(double)FLT_MAX)};
    kiln_value *const is[] = {kiln_compose_1(c, &kiln_op_is_nan, x),
                              is_infinite(c, x, true, false),
                              is_infinite(c, x, false, true)};
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++)
        x = kiln_compose_where(c, is[i], kiln_import_scalar(c->cx, dtype, v[i]), x);
    return set(k, x);
}

/* ---- reductions ------------------------------------------------------------------------ */

/* Sums and products of small integers, and of truths, are of 32 bits. */
kiln_status kiln_keras_import_total(kiln_keras_call *k) {
    const kiln_dtype own = k->in[0]->type.dtype;
    kiln_dtype dtype = own;
    if (own == KILN_BOOL || own == KILN_I8 || own == KILN_I16)
        dtype = KILN_I32;
    if (own == KILN_U8 || own == KILN_U16)
        dtype = KILN_U32;
    KILN_TRY(kiln_keras_read_dtype(k, dtype, &dtype));
    k->in[0] = kiln_compose_cast(&k->c, k->in[0], dtype);
    KILN_TRY(k->c.status);
    return kiln_keras_import_reduction(k);
}

kiln_status kiln_keras_import_mean(kiln_keras_call *k) {
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    return kiln_keras_import_reduction(k);
}

/* How many are not zero. */
kiln_status kiln_keras_import_count(kiln_keras_call *k) {
    kiln_value *const is = kiln_compose_cast(&k->c, k->in[0], KILN_BOOL);
    k->in[0] = kiln_compose_cast(&k->c, is, KILN_I32);
    KILN_TRY(k->c.status);
    return kiln_keras_import_reduction(k);
}

/* From the smallest to the largest. */
kiln_status kiln_keras_import_extent(kiln_keras_call *k) {
    k->op = &kiln_op_reduce_max;
    KILN_TRY(kiln_keras_import_reduction(k));
    kiln_value *const high = k->out;
    k->op = &kiln_op_reduce_min;
    KILN_TRY(kiln_keras_import_reduction(k));
    return set(k, kiln_compose_2(&k->c, &kiln_op_sub, high, k->out));
}

/* Weights of x's shape, or a list for one axis. */
static kiln_status stretch_weights(kiln_keras_call *k) {
    const kiln_type *const x = &k->in[0]->type, *const w = &k->in[1]->type;
    int64_t dim[KILN_MAX_RANK], axes[KILN_MAX_RANK];
    size_t n = 0;
    if (w->rank == x->rank)
        return KILN_OK;
    KILN_TRY(kiln_keras_read_axes(k, x->rank, axes, &n));
    if (n != 1 || w->rank != 1 || w->dim[0] != x->dim[axes[0]])
        return kiln_fail(k->cx->common.err, KILN_ERR_SHAPE,
                         "its weights must have the shape of its values, or be a list "
                         "for one axis of %s, are %s",
                         kiln_type_text(&k->cx->common.scratch, x),
                         kiln_type_text(&k->cx->common.scratch, w));
    for (int i = 0; i < x->rank; i++)
        dim[i] = i == axes[0] ? w->dim[0] : 1;
    k->in[1] = kiln_compose_reshape(&k->c, k->in[1], x->rank, dim);
    return k->c.status;
}

kiln_status kiln_keras_import_weighted(kiln_keras_call *k) {
    kiln_compose *const c = &k->c;
    KILN_TRY(kiln_keras_meet(k, 0, KILN_F32));
    k->op = k->n_in > 1 ? &kiln_op_reduce_sum : &kiln_op_reduce_mean;
    if (k->n_in < 2)
        return kiln_keras_import_reduction(k);
    KILN_TRY(stretch_weights(k));
    kiln_value *const w =
        kiln_compose_expand(c, k->in[1], k->in[0]->type.rank, k->in[0]->type.dim);
    k->in[0] = kiln_compose_2(c, &kiln_op_mul, k->in[0], w);
    KILN_TRY(c->status);
    KILN_TRY(kiln_keras_import_reduction(k));
    kiln_value *const sum = k->out;
    k->in[0] = w;
    KILN_TRY(kiln_keras_import_reduction(k));
    return set(k, kiln_compose_2(c, &kiln_op_div, sum, k->out));
}
