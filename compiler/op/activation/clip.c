/* Limits (ONNX Clip 13 with constant bounds). NaN stays NaN; where min > max the result
 * is max, as min(max(x, min), max) gives. Integers: the bounds are rounded inwards.
 * Exact: a selection. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { MIN, MAX };

static const kiln_attr_def attrs[] = {
    [MIN] = {.name = "min",
             .kind = KILN_ATTR_FLOAT,
             .doc = "lower bound",
             .default_f = -HUGE_VAL},
    [MAX] = {.name = "max",
             .kind = KILN_ATTR_FLOAT,
             .doc = "upper bound",
             .default_f = HUGE_VAL},
};

static double f1(double x, const kiln_attr *attr) {
    const double y = x < attr[MIN].f ? attr[MIN].f : x;
    return y > attr[MAX].f ? attr[MAX].f : y;
}

static int64_t i1(int64_t x, const kiln_attr *attr, kiln_dtype dtype) {
    const int64_t min = kiln_i_from_f64(ceil(attr[MIN].f), dtype);
    const int64_t max = kiln_i_from_f64(floor(attr[MAX].f), dtype);
    const int64_t y = kiln_less_i(x, min, dtype) ? min : x;
    return kiln_less_i(max, y, dtype) ? max : y;
}

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_dtype dtype = x->dtype;
    if (!kiln_dtype_is_float(dtype)) {
        const int64_t min = kiln_i_from_f64(ceil(attr[MIN].f), dtype);
        const int64_t max = kiln_i_from_f64(floor(attr[MAX].f), dtype);
        x = kiln_x_binary(a, KILN_EXPR_MAX, x, kiln_x_int(a, dtype, min));
        return kiln_x_binary(a, KILN_EXPR_MIN, x, kiln_x_int(a, dtype, max));
    }
    if (attr[MIN].f != -HUGE_VAL)
        x = kiln_x_binary(a, KILN_EXPR_MAX, x, kiln_x_like(a, x, attr[MIN].f));
    return attr[MAX].f == HUGE_VAL
               ? x
               : kiln_x_binary(a, KILN_EXPR_MIN, x, kiln_x_like(a, x, attr[MAX].f));
}

const kiln_op_def kiln_op_clip = {
    KILN_ROW_UNARY,
    .name = "clip",
    .doc = "min(max(x, min), max)",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
    .i1 = i1,
    .x1 = x1,
};
