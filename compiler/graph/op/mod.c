/* Remainder (ONNX Mod 13). fmod false: the sign of the divisor, as numpy.mod; true: the
 * sign of the dividend, as C's fmod and %. By an integer zero, which ONNX leaves open:
 * 0. Exact: so is C's fmod, and adding the divisor once rounds as in add. */
#include "compiler/graph/op/op_common.h"

#include <math.h>

enum { FMOD };

static const kiln_attr_def attrs[] = {
    [FMOD] = {.name = "fmod",
              .kind = KILN_ATTR_BOOL,
              .doc = "take the sign of x, not of y"},
};

static double f2(double x, double y, const kiln_attr *attr) {
    const double r = fmod(x, y);
    if (attr[FMOD].i || isnan(r))
        return r;
    if (r == 0)
        return copysign(0, y);
    return (r < 0) != (y < 0) ? r + y : r;
}

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    if (y == 0)
        return 0;
    if (dtype == KILN_U64)
        return (int64_t)((uint64_t)x % (uint64_t)y);
    const int64_t r = y == -1 ? 0 : x % y;
    return !attr[FMOD].i && r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

const kiln_op_def kiln_op_mod = {
    .n_in_min = 2,
    .n_in_max = 2,
    .in_names = kiln_names_xy,
    KILN_ROW_ELEMENTWISE,
    .infer = kiln_infer_binary,
    .eval_ref = kiln_eval_binary,
    .name = "mod",
    .doc = "remainder of x / y",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_NUMBER,
    .error_bound = kiln_bound_exact,
    .f2 = f2,
    .i2 = i2,
};
