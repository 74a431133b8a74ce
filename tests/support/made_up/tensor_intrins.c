#include "tests/support/made_up/tensor_intrins.h"

static const kiln_te *declare(kiln_arena *a, int lanes) {
    const int64_t dim[] = {lanes, lanes};
    const kiln_te *x = kiln_te_placeholder(a, "a", KILN_I32, 2, dim);
    const kiln_te *y = kiln_te_placeholder(a, "b", KILN_I32, 2, dim);
    kiln_te *c = kiln_te_begin(a, "c", 2, dim);
    const kiln_axis *k = kiln_te_reduce_axis(c, "k", lanes);
    const kiln_expr *i = kiln_te_var(c, 0), *j = kiln_te_var(c, 1),
                    *r = kiln_axis_var(a, k);
    const kiln_expr *at_x[] = {i, r}, *at_y[] = {r, j};
    const kiln_expr *sum = kiln_te_sum(
        c, kiln_x_mul(a, kiln_te_read(a, x, at_x), kiln_te_read(a, y, at_y)), &k, 1);
    kiln_err err = {0};
    const kiln_status status = kiln_te_end(c, 1, &sum, &err);
    KILN_ASSERT(status == KILN_OK, "%s", err.text);
    return c;
}

#define ACC4(what, set)                                                                \
    const kiln_tensor_intrin made_up_acc4_##what = {                                   \
        .name = "acc4_" #what,                                                         \
        .doc = "c[i, j] += sum(k < 4) a[i, k] * b[k, j]",                              \
        .declare = declare,                                                            \
        .parts = (set)}

ACC4(update, KILN_TENSOR_UPDATE);
ACC4(reset, KILN_TENSOR_RESET | KILN_TENSOR_UPDATE);
ACC4(whole, KILN_TENSOR_RESET | KILN_TENSOR_UPDATE | KILN_TENSOR_BODY);
ACC4(body, KILN_TENSOR_BODY);

const kiln_tensor_intrin *const made_up_intrins[] = {
    &made_up_acc4_update, &made_up_acc4_reset, &made_up_acc4_whole, &made_up_acc4_body,
    NULL};
