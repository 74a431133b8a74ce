/* Importers of element-wise operators: rows that name one of kiln's, and those that are
 * composed. Broadcasting is numpy's. */
#include "compiler/frontend/angles.h"
#include "compiler/frontend/tensorflow/tf_internal.h"

kiln_status kiln_tf_import_unary(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    return kiln_tf_end(&c, n, kiln_compose_1(&c, kiln_tf_row_op(cx), x));
}

static kiln_status need_two(kiln_tf_cx *cx, const kiln_tf_node *n, kiln_value **x,
                            kiln_value **y) {
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", x));
    return kiln_tf_need(cx, n, 1, "y", y);
}

kiln_status kiln_tf_import_binary(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    return kiln_tf_end(&c, n, kiln_compose_2(&c, kiln_tf_row_op(cx), x, y));
}

kiln_status kiln_tf_import_add_n(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value **in;
    if (n->n_in < 1)
        return kiln_tf_fail(cx, KILN_ERR_PARSE, "input 0 ('inputs') is missing");
    KILN_TRY(kiln_tf_need_list(cx, n, 0, n->n_in, &in));
    kiln_value *y = in[0];
    for (int i = 1; i < n->n_in; i++)
        y = kiln_compose_2(&c, &kiln_op_add, y, in[i]);
    return kiln_tf_end(&c, n, y);
}

kiln_status kiln_tf_import_not_equal(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    y = kiln_compose_2(&c, &kiln_op_equal, x, y);
    return kiln_tf_end(&c, n, kiln_compose_1(&c, &kiln_op_logical_not, y));
}

static kiln_value *square_of(kiln_compose *c, kiln_value *x) {
    return kiln_compose_2(c, &kiln_op_mul, x, x);
}

kiln_status kiln_tf_import_square(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    return kiln_tf_end(&c, n, square_of(&c, x));
}

kiln_status kiln_tf_import_squared_difference(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    return kiln_tf_end(&c, n, square_of(&c, kiln_compose_2(&c, &kiln_op_sub, x, y)));
}

kiln_status kiln_tf_import_l2_loss(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "t", &x));
    x = kiln_compose_reduce(&c, &kiln_op_reduce_sum_square, x, NULL, 0, false);
    return kiln_tf_end(&c, n, kiln_compose_scalar(&c, &kiln_op_mul, x, 0.5));
}

kiln_status kiln_tf_import_atan2(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *y, *x;
    KILN_TRY(need_two(cx, n, &y, &x));
    return kiln_tf_end(&c, n, kiln_compose_atan2(&c, y, x));
}

/* ---- division --------------------------------------------------------------------- */

static kiln_value *mod_of(kiln_compose *c, kiln_value *x, kiln_value *y, bool is_fmod) {
    const kiln_attr_arg fmod = kiln_arg_bool("fmod", is_fmod);
    kiln_value *const in[] = {x, y};
    return kiln_compose_op(c, &kiln_op_mod, in, 2, &fmod, 1);
}

kiln_status kiln_tf_import_floor_mod(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    return kiln_tf_end(&c, n, mod_of(&c, x, y, false));
}

kiln_status kiln_tf_import_truncate_mod(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    return kiln_tf_end(&c, n, mod_of(&c, x, y, true));
}

kiln_status kiln_tf_import_floor_div(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    return kiln_tf_end(&c, n, kiln_compose_floor_div(&c, x, y));
}

/* z where x is not zero, zero elsewhere. */
static kiln_value *unless_zero(kiln_compose *c, kiln_value *x, kiln_value *z) {
    kiln_value *const zero = kiln_import_scalar(c->cx, z->type.dtype, 0);
    kiln_value *const is_zero = kiln_compose_scalar(c, &kiln_op_equal, x, 0);
    return kiln_compose_where(c, is_zero, zero, z);
}

kiln_status kiln_tf_import_div_no_nan(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    return kiln_tf_end(&c, n,
                       unless_zero(&c, y, kiln_compose_2(&c, &kiln_op_div, x, y)));
}

kiln_status kiln_tf_import_mul_no_nan(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    return kiln_tf_end(&c, n,
                       unless_zero(&c, y, kiln_compose_2(&c, &kiln_op_mul, x, y)));
}

kiln_status kiln_tf_import_xdivy(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    return kiln_tf_end(&c, n,
                       unless_zero(&c, x, kiln_compose_2(&c, &kiln_op_div, x, y)));
}

kiln_status kiln_tf_import_xlogy(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *y;
    KILN_TRY(need_two(cx, n, &x, &y));
    y = kiln_compose_1(&c, &kiln_op_log, y);
    return kiln_tf_end(&c, n,
                       unless_zero(&c, x, kiln_compose_2(&c, &kiln_op_mul, x, y)));
}

/* ---- functions of one number ------------------------------------------------------ */

kiln_status kiln_tf_import_erfc(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    x = kiln_compose_1(&c, &kiln_op_neg, kiln_compose_1(&c, &kiln_op_erf, x));
    return kiln_tf_end(&c, n, kiln_compose_scalar(&c, &kiln_op_add, x, 1));
}

kiln_status kiln_tf_import_expm1(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    return kiln_tf_end(&c, n, kiln_compose_expm1(&c, x));
}

kiln_status kiln_tf_import_log1p(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    return kiln_tf_end(&c, n, kiln_compose_log1p(&c, x));
}

kiln_status kiln_tf_import_is_finite(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "x", &x));
    kiln_value *const inf = kiln_compose_1(&c, &kiln_op_is_inf, x);
    kiln_value *const nan = kiln_compose_1(&c, &kiln_op_is_nan, x);
    x = kiln_compose_2(&c, &kiln_op_logical_or, inf, nan);
    return kiln_tf_end(&c, n, kiln_compose_1(&c, &kiln_op_logical_not, x));
}

/* ---- activations ------------------------------------------------------------------ */

static kiln_value *clip(kiln_compose *c, kiln_value *x, double low, double high) {
    const kiln_attr_arg args[] = {kiln_arg_float("min", low),
                                  kiln_arg_float("max", high)};
    return kiln_compose_op(c, &kiln_op_clip, &x, 1, args, 2);
}

kiln_status kiln_tf_import_relu6(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "features", &x));
    return kiln_tf_end(&c, n, clip(&c, x, 0, 6));
}

kiln_status kiln_tf_import_leaky_relu(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "features", &x));
    const kiln_attr_arg alpha =
        kiln_arg_float("alpha", kiln_tf_attr_f(cx, n, "alpha", 0.2));
    return kiln_tf_end(&c, n,
                       kiln_compose_op(&c, &kiln_op_leaky_relu, &x, 1, &alpha, 1));
}

kiln_status kiln_tf_import_clip(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x, *low, *high;
    KILN_TRY(kiln_tf_need(cx, n, 0, "t", &x));
    KILN_TRY(kiln_tf_need(cx, n, 1, "clip_value_min", &low));
    KILN_TRY(kiln_tf_need(cx, n, 2, "clip_value_max", &high));
    x = kiln_compose_2(&c, &kiln_op_min, x, high);
    return kiln_tf_end(&c, n, kiln_compose_2(&c, &kiln_op_max, x, low));
}

kiln_status kiln_tf_import_softmax(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *x;
    KILN_TRY(kiln_tf_need(cx, n, 0, "logits", &x));
    return kiln_tf_end(&c, n, kiln_compose_axis(&c, kiln_tf_row_op(cx), x, NULL, -1));
}

/* A condition of one axis chooses whole rows in the first version. */
kiln_status kiln_tf_import_select(kiln_tf_cx *cx, const kiln_tf_node *n) {
    kiln_compose c = kiln_tf_compose(cx, n);
    kiln_value *cond, *x, *y;
    KILN_TRY(kiln_tf_need(cx, n, 0, "condition", &cond));
    KILN_TRY(kiln_tf_need(cx, n, 1, "t", &x));
    KILN_TRY(kiln_tf_need(cx, n, 2, "e", &y));
    if (kiln_str_is(n->op, "Select") && cond->type.rank == 1 && x->type.rank > 1) {
        int64_t dim[KILN_MAX_RANK] = {cond->type.dim[0]};
        for (int i = 1; i < x->type.rank; i++)
            dim[i] = 1;
        cond = kiln_compose_reshape(&c, cond, x->type.rank, dim);
    }
    return kiln_tf_end(&c, n, kiln_compose_where(&c, cond, x, y));
}
