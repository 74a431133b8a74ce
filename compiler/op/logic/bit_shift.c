/* Shift of unsigned integers (ONNX BitShift 11); by the width or more gives 0. Exact:
 * integers. */
#include "compiler/op/op_compute.h"

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

static const kiln_expr *x2(kiln_arena *a, const kiln_expr *x, const kiln_expr *y,
                           const kiln_attr *attr) {
    const kiln_expr *bits = kiln_x_like(a, y, 8 * (double)kiln_dtype_bytes(x->dtype));
    const kiln_expr_kind kind =
        attr[DIRECTION].i == LEFT ? KILN_EXPR_SHL : KILN_EXPR_SHR;
    return kiln_x_select(a, kiln_x_less(a, y, bits), kiln_x_binary(a, kind, x, y),
                         kiln_x_like(a, x, 0));
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
    .x2 = x2,
};
