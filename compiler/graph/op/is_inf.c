/* Infinity test (ONNX IsInf 20). Exact: a predicate. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

enum { DETECT_NEGATIVE, DETECT_POSITIVE };

static const kiln_attr_def attrs[] = {
    [DETECT_NEGATIVE] = {.name = "detect_negative",
                         .kind = KILN_ATTR_BOOL,
                         .doc = "true for -inf",
                         .default_i = 1},
    [DETECT_POSITIVE] = {.name = "detect_positive",
                         .kind = KILN_ATTR_BOOL,
                         .doc = "true for +inf",
                         .default_i = 1},
};

static double f1(double x, const kiln_attr *attr) {
    return isinf(x) && attr[x > 0 ? DETECT_POSITIVE : DETECT_NEGATIVE].i;
}

const kiln_op_def kiln_op_is_inf = {
    KILN_ROW_PREDICATE,
    .name = "is_inf",
    .doc = "x is an infinity of a detected sign",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_FLOAT,
    .error_bound = kiln_bound_exact,
    .f1 = f1,
};
