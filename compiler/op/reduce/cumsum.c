/* Running sum along one axis (ONNX CumSum 14). Integers wrap. A sum of k terms in any
 * order is off by at most k roundoffs of the sum of absolute values (Higham, Accuracy
 * and Stability, 2nd ed., 4.2). */
#include "compiler/op/op_extern.h"
#include "compiler/op/op_compute.h"

static double f2(double x, double y, const kiln_attr *attr) {
    (void)attr;
    return x + y;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    (void)attr;
    (void)dtype;
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_scan(n, cx, 0);
}

static kiln_bound error_bound(const kiln_node *n) {
    return (kiln_bound){.kind = KILN_BOUND_DOT, .c = 1, .k = kiln_lane_elems(n)};
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    return kiln_compute_cumulative(n, cx, KILN_EXPR_ADD, 0);
}

const kiln_op_def kiln_op_cumsum = {
    KILN_ROW_SCAN,
    .name = "cumsum",
    .doc = "y[k] = x[0] + ... + x[k] along one axis",
    .eval_ref = eval_ref,
    .error_bound = error_bound,
    .f2 = f2,
    .i2 = i2,
    .compute = compute,
};
