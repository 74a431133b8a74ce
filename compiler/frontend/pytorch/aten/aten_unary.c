/* Makers of element-wise operators of one tensor: rows that name one of kiln's, and
 * functions that are composed. Integers become f32 where the function is one of real
 * numbers. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <math.h>

static kiln_value *real_self(kiln_aten_args *k) {
    return kiln_aten_real(k, kiln_aten_tensor(k, "self"));
}

static kiln_value *scaled(kiln_aten_args *k, kiln_value *x, double factor) {
    return factor == 1 ? x : kiln_compose_scalar(&k->c, &kiln_op_mul, x, factor);
}

static kiln_status give_op(kiln_aten_args *k, const kiln_op_def *op, kiln_value *x,
                           const kiln_attr_arg *args, size_t n) {
    return kiln_aten_give(k, kiln_compose_op(&k->c, op, &x, 1, args, n));
}

kiln_status kiln_aten_make_real(kiln_aten_args *k) {
    return kiln_aten_give(k, kiln_compose_1(&k->c, k->row->op, real_self(k)));
}

/* Of any dtype that the operator has; integers are left as they are where it rounds. */
kiln_status kiln_aten_make_same(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    return kiln_aten_give(k, kiln_compose_1(&k->c, k->row->op, x));
}

kiln_status kiln_aten_make_rounding(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    if (!kiln_dtype_is_float(x->type.dtype))
        return kiln_aten_give(k, x);
    return kiln_aten_give(k, kiln_compose_1(&k->c, k->row->op, x));
}

/* What gives its argument back: copies, aliases, dropout when nothing is trained. */
kiln_status kiln_aten_make_identity(kiln_aten_args *k) {
    return kiln_aten_give(k, kiln_aten_tensor(k, "self"));
}

/* What asserts something of the sizes that were exported, or says it to a compiler. */
kiln_status kiln_aten_make_nothing(kiln_aten_args *k) { return k->c.status; }

kiln_status kiln_aten_make_square(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_mul, x, x));
}

/* log of another base: the row's operator is log. */
kiln_status kiln_aten_make_log2(kiln_aten_args *k) {
    kiln_value *const x = kiln_compose_1(&k->c, &kiln_op_log, real_self(k));
    return kiln_aten_give(k, scaled(k, x, 1 / log(2)));
}

kiln_status kiln_aten_make_log10(kiln_aten_args *k) {
    kiln_value *const x = kiln_compose_1(&k->c, &kiln_op_log, real_self(k));
    return kiln_aten_give(k, scaled(k, x, 1 / log(10)));
}

kiln_status kiln_aten_make_exp2(kiln_aten_args *k) {
    kiln_value *const x = scaled(k, real_self(k), log(2));
    return kiln_aten_give(k, kiln_compose_1(&k->c, &kiln_op_exp, x));
}

kiln_status kiln_aten_make_log1p(kiln_aten_args *k) {
    return kiln_aten_give(k, kiln_compose_log1p(&k->c, real_self(k)));
}

kiln_status kiln_aten_make_expm1(kiln_aten_args *k) {
    return kiln_aten_give(k, kiln_compose_expm1(&k->c, real_self(k)));
}

kiln_status kiln_aten_make_erfc(kiln_aten_args *k) {
    kiln_value *x = kiln_compose_1(&k->c, &kiln_op_erf, real_self(k));
    x = kiln_compose_1(&k->c, &kiln_op_neg, x);
    return kiln_aten_give(k, kiln_compose_scalar(&k->c, &kiln_op_add, x, 1));
}

kiln_status kiln_aten_make_is_finite(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const x = real_self(k);
    kiln_value *const inf = kiln_compose_1(c, &kiln_op_is_inf, x);
    kiln_value *const nan = kiln_compose_1(c, &kiln_op_is_nan, x);
    kiln_value *const y = kiln_compose_2(c, &kiln_op_logical_or, inf, nan);
    return kiln_aten_give(k, kiln_compose_1(c, &kiln_op_logical_not, y));
}

kiln_status kiln_aten_make_logical_not(kiln_aten_args *k) {
    kiln_value *x = kiln_aten_tensor(k, "self");
    if (x->type.dtype != KILN_BOOL)
        return kiln_aten_give(k, kiln_compose_scalar(&k->c, &kiln_op_equal, x, 0));
    return kiln_aten_give(k, kiln_compose_1(&k->c, &kiln_op_logical_not, x));
}

kiln_status kiln_aten_make_bitwise_not(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    const bool is_bool = x->type.dtype == KILN_BOOL;
    return kiln_aten_give(
        k, kiln_compose_1(&k->c, is_bool ? &kiln_op_logical_not : &kiln_op_bitwise_not,
                          x));
}

/* ---- activations ------------------------------------------------------------------ */

static kiln_value *clip(kiln_aten_args *k, kiln_value *x, double low, double high) {
    const kiln_attr_arg args[] = {kiln_arg_float("min", low),
                                  kiln_arg_float("max", high)};
    return kiln_compose_op(&k->c, &kiln_op_clip, &x, 1, args, 2);
}

kiln_status kiln_aten_make_relu6(kiln_aten_args *k) {
    return kiln_aten_give(k, clip(k, kiln_aten_tensor(k, "self"), 0, 6));
}

kiln_status kiln_aten_make_hardtanh(kiln_aten_args *k) {
    const double low = kiln_aten_float(k, "min_val");
    const double high = kiln_aten_float(k, "max_val");
    return kiln_aten_give(k, clip(k, kiln_aten_tensor(k, "self"), low, high));
}

kiln_status kiln_aten_make_hardsigmoid(kiln_aten_args *k) {
    const kiln_attr_arg args[] = {kiln_arg_float("alpha", 1.0 / 6),
                                  kiln_arg_float("beta", 0.5)};
    return give_op(k, &kiln_op_hard_sigmoid, real_self(k), args, 2);
}

kiln_status kiln_aten_make_leaky_relu(kiln_aten_args *k) {
    const kiln_attr_arg arg =
        kiln_arg_float("alpha", kiln_aten_float(k, "negative_slope"));
    return give_op(k, &kiln_op_leaky_relu, real_self(k), &arg, 1);
}

kiln_status kiln_aten_make_celu(kiln_aten_args *k) {
    const kiln_attr_arg arg = kiln_arg_float("alpha", kiln_aten_float(k, "alpha"));
    return give_op(k, &kiln_op_celu, real_self(k), &arg, 1);
}

kiln_status kiln_aten_make_elu(kiln_aten_args *k) {
    const kiln_attr_arg arg = kiln_arg_float("alpha", kiln_aten_float(k, "alpha"));
    const double scale = kiln_aten_float(k, "scale");
    kiln_value *const x = real_self(k);
    kiln_value *const y = kiln_compose_op(&k->c, &kiln_op_elu, &x, 1, &arg, 1);
    return kiln_aten_give(k, scaled(k, y, scale));
}

kiln_status kiln_aten_make_gelu(kiln_aten_args *k) {
    const kiln_str how = kiln_aten_string(k, "approximate");
    const kiln_attr_arg arg =
        kiln_arg_word("approximate", kiln_str_is(how, "tanh") ? "tanh" : "none");
    return give_op(k, &kiln_op_gelu, real_self(k), &arg, 1);
}

/* log(1 + e^(beta x)) / beta, and x itself above the threshold. */
kiln_status kiln_aten_make_softplus(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    const double beta = kiln_aten_float(k, "beta");
    const double threshold = kiln_aten_float(k, "threshold");
    kiln_value *const x = real_self(k);
    if (beta == 0 && c->status == KILN_OK)
        kiln_aten_fail(k, KILN_ERR_SHAPE, "softplus: 'beta' must not be 0");
    kiln_value *const t = scaled(k, x, beta);
    kiln_value *const y = scaled(k, kiln_compose_1(c, &kiln_op_softplus, t), 1 / beta);
    kiln_value *const is_large = kiln_compose_scalar(c, &kiln_op_greater, t, threshold);
    return kiln_aten_give(k, kiln_compose_where(c, is_large, x, y));
}

/* log(1 / (1 + e^-x)) = -softplus(-x). */
kiln_status kiln_aten_make_log_sigmoid(kiln_aten_args *k) {
    kiln_value *x = kiln_compose_1(&k->c, &kiln_op_neg, real_self(k));
    x = kiln_compose_1(&k->c, &kiln_op_softplus, x);
    return kiln_aten_give(k, kiln_compose_1(&k->c, &kiln_op_neg, x));
}

kiln_status kiln_aten_make_threshold(kiln_aten_args *k) {
    const double threshold = kiln_aten_float(k, "threshold");
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *const y =
        kiln_import_scalar(k->c.cx, x->type.dtype, kiln_aten_float(k, "value"));
    kiln_value *const is_above =
        kiln_compose_scalar(&k->c, &kiln_op_greater, x, threshold);
    return kiln_aten_give(k, kiln_compose_where(&k->c, is_above, x, y));
}

/* x sigmoid(y) of the halves x and y along an axis. */
kiln_status kiln_aten_make_glu(kiln_aten_args *k) {
    kiln_compose *const c = &k->c;
    kiln_value *const x = kiln_aten_tensor(k, "self");
    if (!kiln_aten_need_rank(k, x, 1, KILN_MAX_RANK))
        return c->status;
    const int axis = kiln_aten_axis(k, "dim", x->type.rank);
    const int64_t half = x->type.dim[axis] / 2;
    kiln_value *const first = kiln_compose_slice(c, x, axis, 0, 1, half);
    kiln_value *gate = kiln_compose_slice(c, x, axis, half, 1, half);
    gate = kiln_compose_1(c, &kiln_op_sigmoid, gate);
    return kiln_aten_give(k, kiln_compose_2(c, &kiln_op_mul, first, gate));
}

/* One slope, or one for each channel. */
kiln_status kiln_aten_make_prelu(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *slope = kiln_aten_tensor(k, "weight");
    int64_t dim[KILN_MAX_RANK];
    const int64_t n = kiln_type_elems(&slope->type);
    if (n > 1 && x->type.rank > 2) {
        const int rank = x->type.rank - 1;
        for (int i = 0; i < rank; i++)
            dim[i] = i == 0 ? n : 1;
        slope = kiln_compose_reshape(&k->c, slope, rank, dim);
    }
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_prelu, x, slope));
}
