#include "tests/support/made_up/tensor_intrins.h"

typedef const kiln_reducer *(*reducer)(kiln_arena *a, kiln_dtype dtype);

static const kiln_te *declare_by(kiln_arena *a, int lanes, reducer by) {
    const int64_t dim[] = {lanes, lanes};
    const kiln_te *x = kiln_te_placeholder(a, "a", KILN_I32, 2, dim);
    const kiln_te *y = kiln_te_placeholder(a, "b", KILN_I32, 2, dim);
    kiln_te *c = kiln_te_begin(a, "c", 2, dim);
    const kiln_axis *k = kiln_te_reduce_axis(c, "k", lanes);
    const kiln_expr *i = kiln_te_var(c, 0), *j = kiln_te_var(c, 1),
                    *r = kiln_axis_var(a, k);
    const kiln_expr *at_x[] = {i, r}, *at_y[] = {r, j};
    const kiln_expr *source[2] = {
        kiln_x_mul(a, kiln_te_read(a, x, at_x), kiln_te_read(a, y, at_y))};
    const kiln_reducer *by_what = by(a, KILN_I32);
    if (by_what->n == 2) { /* (index, value) */
        source[1] = source[0];
        source[0] = r;
    }
    const kiln_expr *sum =
        kiln_x_reduce(a, by_what, source, &k, 1, NULL, by_what->n - 1);
    kiln_err err = {0};
    const kiln_status status = kiln_te_end(c, 1, &sum, &err);
    KILN_ASSERT(status == KILN_OK, "%s", err.text);
    return c;
}

#define DECLARE(what)                                                                  \
    static const kiln_te *declare_##what(kiln_arena *a, int lanes) {                   \
        return declare_by(a, lanes, kiln_reducer_##what);                              \
    }
DECLARE(sum)
DECLARE(max)
DECLARE(min)
DECLARE(prod)
DECLARE(argmax)

#define ACC4(what, by, set, strides)                                                   \
    const kiln_tensor_intrin made_up_acc4_##what = {                                   \
        .name = "acc4_" #what,                                                         \
        .doc = "c[i, j] = " #by "(k < 4) a[i, k] * b[k, j]",                           \
        .declare = declare_##by,                                                       \
        .parts = (set),                                                                \
        .has_strides = (strides)}

enum { ALL = KILN_TENSOR_RESET | KILN_TENSOR_UPDATE | KILN_TENSOR_BODY };
ACC4(update, sum, KILN_TENSOR_UPDATE, false);
ACC4(reset, sum, KILN_TENSOR_RESET | KILN_TENSOR_UPDATE, false);
ACC4(whole, sum, ALL, false);
ACC4(body, sum, KILN_TENSOR_BODY, false);
ACC4(rows, sum, ALL, true);
ACC4(max, max, ALL, true);
ACC4(min, min, KILN_TENSOR_RESET | KILN_TENSOR_UPDATE, false);
ACC4(prod, prod, ALL, true);
ACC4(argmax, argmax, ALL, true);

const kiln_tensor_intrin *const made_up_intrins[] = {
    &made_up_acc4_update, &made_up_acc4_reset,
    &made_up_acc4_whole,  &made_up_acc4_rows,
    &made_up_acc4_max,    &made_up_acc4_min,
    &made_up_acc4_prod,   &made_up_acc4_body,
    &made_up_acc4_argmax, NULL};
