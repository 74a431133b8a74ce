/* The angle of the point (x, y): the arc tangent of the smaller of |x| and |y| over the
 * larger is at most pi / 4; mirrored at the diagonal and at both axes it is the angle of
 * any point. Source: C17, 7.12.4.4, and F.10.1.4 for zeros and infinities. */
#include "compiler/frontend/angles.h"

static const double pi = 3.14159265358979323846;

/* Is the sign bit set? Of -0 by its reciprocal. */
static kiln_value *is_negative(kiln_compose *c, kiln_value *v) {
    kiln_value *const inverse = kiln_compose_1(c, &kiln_op_reciprocal, v);
    return kiln_compose_2(c, &kiln_op_logical_or,
                          kiln_compose_scalar(c, &kiln_op_less, v, 0),
                          kiln_compose_scalar(c, &kiln_op_less, inverse, 0));
}

/* v - t where the condition holds, t elsewhere. */
static kiln_value *mirror(kiln_compose *c, kiln_value *cond, double v, kiln_value *t) {
    kiln_value *const from = kiln_import_scalar(c->cx, t->type.dtype, v);
    return kiln_compose_where(c, cond, kiln_compose_2(c, &kiln_op_sub, from, t), t);
}

kiln_value *kiln_compose_atan2(kiln_compose *c, kiln_value *y, kiln_value *x) {
    kiln_value *const up = kiln_compose_1(c, &kiln_op_abs, y);
    kiln_value *const out = kiln_compose_1(c, &kiln_op_abs, x);
    kiln_value *const high = kiln_compose_2(c, &kiln_op_max, up, out);
    kiln_value *const low = kiln_compose_2(c, &kiln_op_min, up, out);
    /* Two infinities are a diagonal, two zeros none. */
    kiln_value *const zero = kiln_import_scalar(c->cx, y->type.dtype, 0);
    kiln_value *const one = kiln_import_scalar(c->cx, y->type.dtype, 1);
    kiln_value *const equal = kiln_compose_where(
        c, kiln_compose_scalar(c, &kiln_op_greater, high, 0), one, zero);
    kiln_value *const slope =
        kiln_compose_where(c, kiln_compose_2(c, &kiln_op_equal, low, high), equal,
                           kiln_compose_2(c, &kiln_op_div, low, high));
    kiln_value *t = kiln_compose_1(c, &kiln_op_atan, slope);
    t = mirror(c, kiln_compose_2(c, &kiln_op_greater, up, out), pi / 2, t);
    t = mirror(c, is_negative(c, x), pi, t);
    return kiln_compose_where(c, is_negative(c, y), kiln_compose_1(c, &kiln_op_neg, t),
                              t);
}
