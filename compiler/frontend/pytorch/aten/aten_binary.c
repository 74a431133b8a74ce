/* Makers of element-wise operators of two tensors or a tensor and a number, whose dtypes
 * are promoted as PyTorch does, and choices between them. */
#include "compiler/frontend/pytorch/aten/aten_internal.h"

#include <math.h>

typedef struct pair {
    kiln_value *x, *y;
    kiln_dtype dtype;
} pair;

static pair promoted(kiln_aten_args *k, const char *x, const char *y) {
    pair p = {.dtype = kiln_aten_promote(k, x, y)};
    p.x = kiln_aten_as(k, x, p.dtype);
    p.y = kiln_aten_as(k, y, p.dtype);
    return p;
}

/* The same, of real numbers. */
static pair promoted_real(kiln_aten_args *k, const char *x, const char *y) {
    pair p = {.dtype = kiln_aten_promote(k, x, y)};
    if (!kiln_dtype_is_float(p.dtype))
        p.dtype = KILN_F32;
    p.x = kiln_aten_as(k, x, p.dtype);
    p.y = kiln_aten_as(k, y, p.dtype);
    return p;
}

kiln_status kiln_aten_make_binary(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    return kiln_aten_give(k, kiln_compose_2(&k->c, k->row->op, p.x, p.y));
}

/* y times "alpha". */
static kiln_value *times_alpha(kiln_aten_args *k, kiln_value *y) {
    const double alpha = kiln_aten_float(k, "alpha");
    return alpha == 1 ? y : kiln_compose_scalar(&k->c, &kiln_op_mul, y, alpha);
}

kiln_status kiln_aten_make_add(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    kiln_value *const y = times_alpha(k, p.y);
    if (p.dtype == KILN_BOOL)
        return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_logical_or, p.x, y));
    return kiln_aten_give(k, kiln_compose_2(&k->c, k->row->op, p.x, y));
}

kiln_status kiln_aten_make_rsub(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    kiln_value *const x = times_alpha(k, p.x);
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_sub, p.y, x));
}

kiln_status kiln_aten_make_mul(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    const kiln_op_def *const op =
        p.dtype == KILN_BOOL ? &kiln_op_logical_and : &kiln_op_mul;
    return kiln_aten_give(k, kiln_compose_2(&k->c, op, p.x, p.y));
}

static kiln_value *remainder_of(kiln_aten_args *k, const pair *p, bool is_fmod) {
    const kiln_attr_arg fmod = kiln_arg_bool("fmod", is_fmod);
    kiln_value *const in[] = {p->x, p->y};
    return kiln_compose_op(&k->c, &kiln_op_mod, in, 2, &fmod, 1);
}

/* Integers: what the remainder leaves divides evenly. */
static kiln_value *divided(kiln_aten_args *k, const pair *p, bool is_floor) {
    kiln_compose *const c = &k->c;
    if (!kiln_dtype_is_float(p->dtype)) {
        kiln_value *const rest = remainder_of(k, p, !is_floor);
        kiln_value *const x = kiln_compose_2(c, &kiln_op_sub, p->x, rest);
        return kiln_compose_2(c, &kiln_op_div, x, p->y);
    }
    kiln_value *const z = kiln_compose_2(c, &kiln_op_div, p->x, p->y);
    return kiln_compose_1(c, is_floor ? &kiln_op_floor : &kiln_op_trunc, z);
}

kiln_status kiln_aten_make_div(kiln_aten_args *k) {
    const kiln_str mode = kiln_aten_string(k, "rounding_mode");
    if (mode.n > 0) {
        const pair p = promoted(k, "self", "other");
        return kiln_aten_give(k, divided(k, &p, kiln_str_is(mode, "floor")));
    }
    const pair p = promoted_real(k, "self", "other");
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_div, p.x, p.y));
}

kiln_status kiln_aten_make_floor_divide(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    return kiln_aten_give(k, divided(k, &p, true));
}

kiln_status kiln_aten_make_remainder(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    return kiln_aten_give(k, remainder_of(k, &p, false));
}

kiln_status kiln_aten_make_fmod(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    return kiln_aten_give(k, remainder_of(k, &p, true));
}

/* Small powers are what they say: they cost less, and round less. */
kiln_status kiln_aten_make_pow(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "exponent");
    const kiln_aten_value *const e = kiln_aten_get(k, "exponent");
    const bool is_number = e->kind == KILN_ATEN_INT || e->kind == KILN_ATEN_FLOAT;
    const double by = e->kind == KILN_ATEN_INT ? (double)e->i : e->f;
    if (is_number && by == 1)
        return kiln_aten_give(k, p.x);
    if (is_number && by == 2)
        return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_mul, p.x, p.x));
    if (is_number && by == 0.5 && kiln_dtype_is_float(p.dtype))
        return kiln_aten_give(k, kiln_compose_1(&k->c, &kiln_op_sqrt, p.x));
    if (is_number && by == -0.5 && kiln_dtype_is_float(p.dtype))
        return kiln_aten_give(k, kiln_compose_1(&k->c, &kiln_op_rsqrt, p.x));
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_pow, p.x, p.y));
}

/* ---- comparisons and logic -------------------------------------------------------- */

/* Comparisons of order have no bool: true is 1. */
kiln_status kiln_aten_make_compare(kiln_aten_args *k) {
    pair p = promoted(k, "self", "other");
    if (p.dtype == KILN_BOOL && k->row->op != &kiln_op_equal) {
        p.x = kiln_compose_cast(&k->c, p.x, KILN_U8);
        p.y = kiln_compose_cast(&k->c, p.y, KILN_U8);
    }
    return kiln_aten_give(k, kiln_compose_2(&k->c, k->row->op, p.x, p.y));
}

kiln_status kiln_aten_make_not_equal(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    kiln_value *const y = kiln_compose_2(&k->c, &kiln_op_equal, p.x, p.y);
    return kiln_aten_give(k, kiln_compose_1(&k->c, &kiln_op_logical_not, y));
}

kiln_status kiln_aten_make_logical(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_as(k, "self", KILN_BOOL);
    kiln_value *const y = kiln_aten_as(k, "other", KILN_BOOL);
    return kiln_aten_give(k, kiln_compose_2(&k->c, k->row->op, x, y));
}

/* Bits of integers; the row has the operator of bool's. */
kiln_status kiln_aten_make_bitwise(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "other");
    const kiln_op_def *op = k->row->op;
    if (p.dtype != KILN_BOOL)
        op = op == &kiln_op_logical_and  ? &kiln_op_bitwise_and
             : op == &kiln_op_logical_or ? &kiln_op_bitwise_or
                                         : &kiln_op_bitwise_xor;
    return kiln_aten_give(k, kiln_compose_2(&k->c, op, p.x, p.y));
}

/* ---- choices ---------------------------------------------------------------------- */

kiln_status kiln_aten_make_where(kiln_aten_args *k) {
    if (kiln_aten_is_none(k, "self")) {
        kiln_aten_fail(k, KILN_ERR_UNSUPPORTED,
                       "where of a condition alone gives as many places as there are; "
                       "such sizes are not read");
        return k->c.status;
    }
    const pair p = promoted(k, "self", "other");
    kiln_value *const cond = kiln_aten_as(k, "condition", KILN_BOOL);
    return kiln_aten_give(k, kiln_compose_where(&k->c, cond, p.x, p.y));
}

kiln_status kiln_aten_make_masked_fill(kiln_aten_args *k) {
    kiln_value *const x = kiln_aten_tensor(k, "self");
    kiln_value *const mask = kiln_aten_as(k, "mask", KILN_BOOL);
    kiln_value *const y = kiln_aten_as(k, "value", x->type.dtype);
    return kiln_aten_give(k, kiln_compose_where(&k->c, mask, y, x));
}

/* A bound as a number, where it is one. */
static bool is_number(kiln_aten_args *k, const char *name) {
    return !kiln_aten_is_none(k, name) && !kiln_aten_is_tensor(k, name);
}

/* Floats between numbers by one operator, all else by min and max. */
static kiln_value *bounded(kiln_aten_args *k, const char *low, const char *high) {
    kiln_compose *const c = &k->c;
    kiln_value *x = kiln_aten_tensor(k, "self");
    const bool has_low = low != NULL && !kiln_aten_is_none(k, low);
    const bool has_high = high != NULL && !kiln_aten_is_none(k, high);
    kiln_dtype dtype = x->type.dtype;
    if (has_low)
        dtype = kiln_aten_promote(k, "self", low);
    if (has_high && !kiln_dtype_is_float(dtype))
        dtype = kiln_aten_promote(k, "self", high);
    x = kiln_compose_cast(c, x, dtype);
    if (kiln_dtype_is_float(dtype) && (!has_low || is_number(k, low)) &&
        (!has_high || is_number(k, high))) {
        const kiln_attr_arg args[] = {
            kiln_arg_float("min",
                           has_low ? kiln_aten_float(k, low) : -(double)INFINITY),
            kiln_arg_float("max",
                           has_high ? kiln_aten_float(k, high) : (double)INFINITY)};
        return kiln_compose_op(c, &kiln_op_clip, &x, 1, args, 2);
    }
    if (has_low)
        x = kiln_compose_2(c, &kiln_op_max, x, kiln_aten_as(k, low, dtype));
    if (has_high)
        x = kiln_compose_2(c, &kiln_op_min, x, kiln_aten_as(k, high, dtype));
    return x;
}

kiln_status kiln_aten_make_clamp(kiln_aten_args *k) {
    return kiln_aten_give(k, bounded(k, "min", "max"));
}

kiln_status kiln_aten_make_clamp_min(kiln_aten_args *k) {
    return kiln_aten_give(k, bounded(k, "min", NULL));
}

kiln_status kiln_aten_make_clamp_max(kiln_aten_args *k) {
    return kiln_aten_give(k, bounded(k, NULL, "max"));
}

/* ---- of three --------------------------------------------------------------------- */

/* x + value * y op z. */
kiln_status kiln_aten_make_addc(kiln_aten_args *k) {
    const pair p = promoted(k, "tensor1", "tensor2");
    const double value = kiln_aten_float(k, "value");
    kiln_value *y = kiln_compose_2(&k->c, k->row->op, p.x, p.y);
    if (value != 1)
        y = kiln_compose_scalar(&k->c, &kiln_op_mul, y, value);
    kiln_value *const x = kiln_aten_as(k, "self", p.dtype);
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_add, x, y));
}

/* x + weight * (y - x). */
kiln_status kiln_aten_make_lerp(kiln_aten_args *k) {
    const pair p = promoted(k, "self", "end");
    kiln_value *y = kiln_compose_2(&k->c, &kiln_op_sub, p.y, p.x);
    y = kiln_compose_2(&k->c, &kiln_op_mul, y, kiln_aten_as(k, "weight", p.dtype));
    return kiln_aten_give(k, kiln_compose_2(&k->c, &kiln_op_add, p.x, y));
}
