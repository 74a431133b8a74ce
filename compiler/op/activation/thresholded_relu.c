/* Thresholded rectified linear unit (Konda et al., 2015; ONNX ThresholdedRelu 22). NaN
 * stays NaN. Exact: a selection. */
#include "compiler/op/op_compute.h"

#include <math.h>

enum { ALPHA };

static const kiln_attr_def attrs[] = {
    [ALPHA] = {.name = "alpha",
               .kind = KILN_ATTR_FLOAT,
               .doc = "threshold",
               .default_f = 1},
};

static double f1(double x, const kiln_attr *attr) { return x <= attr[ALPHA].f ? 0 : x; }

static const kiln_expr *x1(kiln_arena *a, const kiln_expr *x, const kiln_attr *attr) {
    const kiln_expr *limit =
        kiln_x_like(a, x, kiln_f64_round_down(attr[ALPHA].f, x->dtype));
    return kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_LE, x, limit),
                         kiln_x_like(a, x, 0), x);
}

const kiln_op_def kiln_op_thresholded_relu = {
    KILN_ROW_UNARY, .name = "thresholded_relu",      .doc = "x above alpha; else 0",
    .attr = attrs,  .n_attr = KILN_COUNT(attrs),     .dtypes = KILN_DT_FLOAT,
    .jumps = true,  .error_bound = kiln_bound_exact, .f1 = f1,
    .x1 = x1,
};
