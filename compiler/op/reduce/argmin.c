/* Index of the smallest element along one axis (ONNX ArgMin 13). NaN comes before every
 * number, as in numpy.argmin. Exact: a selection. */
#include "compiler/op/op_compute.h"

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_arg(n, cx, false);
}

static kiln_status compute(const kiln_node *n, kiln_compute_cx *cx) {
    return kiln_compute_arg(n, cx, false);
}

const kiln_op_def kiln_op_argmin = {
    KILN_ROW_ARG,
    .name = "argmin",
    .doc = "index of the smallest element along one axis, as i64",
    .eval_ref = eval_ref,
    .error_bound = kiln_bound_exact,
    .compute = compute,
};
