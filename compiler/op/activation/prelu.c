/* Parametric rectified linear unit (He et al., 2015; ONNX PRelu 16): the slope
 * stretches to the shape of x, never x to the slope's. Integers wrap. Exact: see mul.
 */
#include "compiler/op/op_compute.h"

static const char *const in_names[] = {"x", "slope", NULL};

static kiln_status infer(const kiln_node *n, kiln_type *out, kiln_err *err) {
    kiln_type t;
    KILN_TRY(kiln_infer_binary(n, &t, err));
    if (!kiln_type_same_shape(&t, &n->in[0]->type)) {
        kiln_arena scratch = {0};
        const kiln_type *x = &n->in[0]->type, *slope = &n->in[1]->type;
        const kiln_status st =
            kiln_fail(err, KILN_ERR_SHAPE,
                      "input 'slope' must stretch to the shape of 'x', are %s and %s",
                      kiln_shape_text(&scratch, slope->rank, slope->dim),
                      kiln_shape_text(&scratch, x->rank, x->dim));
        kiln_arena_fini(&scratch);
        return st;
    }
    *out = t;
    return KILN_OK;
}

static double f2(double x, double y, const kiln_attr *attr) {
    (void)attr;
    return x < 0 ? x * y : x;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    return kiln_less_i(x, 0, dtype) ? (int64_t)((uint64_t)x * (uint64_t)y) : x;
}

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    (void)attr;
    const kiln_expr *below = kiln_x_less(a, x, kiln_x_like(a, x, 0));
    return kiln_x_select(a, below, kiln_x_mul(a, x, y), x);
}

const kiln_op_def kiln_op_prelu = {
    KILN_ROW_ELEMENTWISE,
    .name = "prelu",
    .doc = "x; slope * x below 0",
    .n_in_min = 2,
    .n_in_max = 2,
    .in_names = in_names,
    .dtypes = KILN_DT_NUMBER,
    .infer = infer,
    .eval_ref = kiln_eval_binary,
    .error_bound = kiln_bound_exact,
    .f2 = f2,
    .i2 = i2,
    .x2 = x2,
    .compute = kiln_compute_binary,
};
