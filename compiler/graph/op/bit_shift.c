/* Shift of unsigned integers (ONNX BitShift 11); by the width or more gives 0. Exact:
 * integers. */
#include "compiler/graph/op/op_common.h"

enum { DIRECTION };
enum { LEFT, RIGHT };
static const char *const words[] = {[LEFT] = "left", [RIGHT] = "right", NULL};

static const kiln_attr_def attrs[] = {
    [DIRECTION] = {.name = "direction",
                   .kind = KILN_ATTR_WORD,
                   .doc = "which way",
                   .is_required = true,
                   .choices = words},
};

static int64_t i2(int64_t x, int64_t y, const kiln_attr *attr, kiln_dtype dtype) {
    const uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
    if (uy >= 8 * kiln_dtype_bytes(dtype))
        return 0;
    return (int64_t)(attr[DIRECTION].i == LEFT ? ux << uy : ux >> uy);
}

const kiln_op_def kiln_op_bit_shift = {
    KILN_ROW_BINARY,
    .name = "bit_shift",
    .doc = "x << y or x >> y",
    .attr = attrs,
    .n_attr = KILN_COUNT(attrs),
    .dtypes = KILN_DT_UNSIGNED,
    .error_bound = kiln_bound_exact,
    .i2 = i2,
};
