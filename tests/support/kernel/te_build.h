/* What makes tensor expressions of tests short. */
#ifndef KILN_TESTS_SUPPORT_KERNEL_TE_BUILD_H
#define KILN_TESTS_SUPPORT_KERNEL_TE_BUILD_H

#include "tests/support/kiln_test.h"
#include "tests/support/kernel/te_examples.h"

#define TE_DIMS(...)                                                                   \
    (const int64_t[]) { __VA_ARGS__ }
#define TE_INDEX(...)                                                                  \
    (const kiln_expr *[]) { __VA_ARGS__ }

static inline void te_seal(kiln_te *te, const kiln_expr *body) {
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_te_end(te, 1, &body, &err), &err);
}

static inline void te_inputs(te_example *x, const kiln_te *p, const kiln_te *q) {
    x->arg[x->n_args++] = p;
    if (q != NULL)
        x->arg[x->n_args++] = q;
    x->n_inputs = x->n_args;
}

static inline const kiln_expr *te_at(kiln_arena *a, const kiln_te *te,
                                     const kiln_expr **index) {
    return kiln_te_read(a, te, index);
}

static inline const kiln_expr *te_plus(kiln_arena *a, const kiln_expr *x, int64_t v) {
    return kiln_x_add(a, x, kiln_x_index(a, v));
}

static inline const kiln_expr *te_times(kiln_arena *a, const kiln_expr *x, int64_t v) {
    return kiln_x_mul(a, x, kiln_x_index(a, v));
}

static inline const kiln_expr *te_binary(kiln_arena *a, kiln_expr_kind kind,
                                         const kiln_expr *x, const kiln_expr *y) {
    return kiln_x_binary(a, kind, x, y);
}

/* lo <= x < hi */
static inline const kiln_expr *te_inside(kiln_arena *a, const kiln_expr *x, int64_t lo,
                                         int64_t hi) {
    return te_binary(a, KILN_EXPR_AND,
                     te_binary(a, KILN_EXPR_LE, kiln_x_index(a, lo), x),
                     te_binary(a, KILN_EXPR_LT, x, kiln_x_index(a, hi)));
}

#endif
