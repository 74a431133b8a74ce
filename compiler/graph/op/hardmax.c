/* 1 at the first largest element along one axis, 0 elsewhere (ONNX Hardmax 13). A NaN
 * is largest, as in numpy.argmax. Exact: a selection. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

static void lane(const double *x, double *y, const kiln_lanes *l) {
    int64_t best = 0;
    for (int64_t k = 0; k < l->n; k++) {
        const double v = x[k * l->inner], top = x[best * l->inner];
        if (v > top || (isnan(v) && !isnan(top)))
            best = k;
        y[k * l->inner] = 0;
    }
    y[best * l->inner] = 1;
}

static kiln_status eval_ref(const kiln_node *n, kiln_eval_cx *cx) {
    return kiln_eval_lanes(n, cx, lane);
}

const kiln_op_def kiln_op_hardmax = {
    KILN_ROW_LANES,
    .name = "hardmax",
    .doc = "1 at the first largest element along one axis, else 0",
    .eval_ref = eval_ref,
    .error_bound = kiln_bound_exact,
};
