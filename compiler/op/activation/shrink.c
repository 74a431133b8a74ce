/* Shrinkage: soft with bias = lambd, hard with bias = 0 (ONNX Shrink 9). Integers as in
 * double, cut towards zero. 1 ulp: one addition, with a bias rounded to the dtype. */
#include "compiler/op/op_compute.h"

enum { LAMBD, BIAS };

static const kiln_attr_def attrs[] = {
    [LAMBD] = {.name = "lambd",
               .kind = KILN_ATTR_FLOAT,
               .doc = "half width of what becomes 0",
               .default_f = 0.5},
    [BIAS] = {.name = "bias",
              .kind = KILN_ATTR_FLOAT,
              .doc = "step towards 0",
              .default_f = 0},
};

static double f1(double x, const kiln_attr *attr) {
    if (x < -attr[LAMBD].f)
        return x + attr[BIAS].f;
    return x > attr[LAMBD].f ? x - attr[BIAS].f : 0;
}

static int64_t i1(int64_t x, const kiln_attr *attr, kiln_dtype dtype) {
    return kiln_i_from_f64(f1(kiln_f64_from_i(x, dtype), attr), dtype);
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_dtype dtype = x->dtype;
    if (!kiln_dtype_is_float(dtype)) /* as the meaning above: in double */
        return kiln_x_cast(a, dtype, x1(a, kiln_x_cast(a, KILN_F64, x), attr));
    const double limit = kiln_f64_round_down(attr[LAMBD].f, dtype);
    const kiln_expr *bias = kiln_x_like(a, x, attr[BIAS].f);
    const kiln_expr *above = kiln_x_less(a, kiln_x_like(a, x, limit), x);
    const kiln_expr *below = kiln_x_less(a, x, kiln_x_like(a, x, -limit));
    const kiln_expr *rest =
        kiln_x_select(a, above, kiln_x_sub(a, x, bias), kiln_x_like(a, x, 0));
    return kiln_x_select(a, below, kiln_x_add(a, x, bias), rest);
}

const kiln_op_def kiln_op_shrink = {
    KILN_ROW_UNARY,
    .name = "shrink",
    .doc = "x + bias below -lambd; x - bias above lambd; else 0",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_NUMBER,
    .jumps = true,
    .error_bound = kiln_bound_ulp_1,
    .f1 = f1,
    .i1 = i1,
    .x1 = x1,
};
