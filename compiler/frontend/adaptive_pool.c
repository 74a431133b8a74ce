/* Adaptive pools; see adaptive_pool.h. Windows of one size are a pool; of several they
 * are taken axis by axis, which gives the same: means as a product with a matrix, the
 * largest window by window. */
#include "compiler/frontend/adaptive_pool.h"

#include <inttypes.h>

enum { MAX_WINDOWS = 4096 };

static int64_t begin_of(int64_t o, int64_t in, int64_t out) { return o * in / out; }

static int64_t end_of(int64_t o, int64_t in, int64_t out) {
    return ((o + 1) * in + out - 1) / out;
}

/* By a matrix [in, out]. */
static kiln_value *mean_along(kiln_compose *c, kiln_value *x, int axis, int64_t out) {
    const int64_t in = x->type.dim[axis], dim[] = {in, out};
    const int last = x->type.rank - 1;
    int64_t perm[KILN_MAX_RANK];
    kiln_compose_fail(c, kiln_import_spend(c->cx, 8 * in * out));
    if (c->status != KILN_OK || in == out)
        return x;
    double *const w = kiln_array(&c->cx->scratch, double, in *out);
    for (int64_t o = 0; o < out; o++) {
        const int64_t begin = begin_of(o, in, out), end = end_of(o, in, out);
        for (int64_t i = begin; i < end; i++)
            w[i * out + o] = 1.0 / (double)(end - begin);
    }
    kiln_value *const by = kiln_compose_floats(c, x->type.dtype, 2, dim, w);
    for (int i = 0; i <= last; i++)
        perm[i] = i == axis ? last : i == last ? axis : i;
    kiln_value *y = kiln_compose_transpose(c, x, perm);
    y = kiln_compose_2(c, &kiln_op_matmul, y, by);
    return kiln_compose_transpose(c, y, perm);
}

static kiln_value *max_along(kiln_compose *c, kiln_value *x, int axis, int64_t out) {
    const int64_t in = x->type.dim[axis], at = axis;
    if (c->status == KILN_OK && out > MAX_WINDOWS)
        kiln_compose_fail(c,
                          kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                                    "at most %d windows are read, there are %" PRId64,
                                    (int)MAX_WINDOWS, out));
    if (c->status != KILN_OK || in == out)
        return x;
    kiln_value **const part = kiln_array(&c->cx->scratch, kiln_value *, out);
    for (int64_t o = 0; o < out; o++) {
        const int64_t begin = begin_of(o, in, out);
        part[o] = kiln_compose_slice(c, x, axis, begin, 1, end_of(o, in, out) - begin);
        part[o] = kiln_compose_reduce(c, &kiln_op_reduce_max, part[o], &at, 1, true);
    }
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return out == 1 ? part[0]
                    : kiln_compose_op(c, &kiln_op_concat, part, (int)out, &arg, 1);
}

/* Windows of one size, as those are where sizes divide. */
static bool is_even(const kiln_value *x, int n, const int64_t *out, kiln_spatial *s) {
    int64_t kernel[KILN_MAX_RANK] = {0};
    for (int i = 0; i < n; i++) {
        if (x->type.dim[2 + i] % out[i] != 0)
            return false;
        kernel[i] = x->type.dim[2 + i] / out[i];
    }
    kiln_spatial_init(s, x, kernel);
    for (int i = 0; i < n; i++)
        s->strides[i] = kernel[i];
    return true;
}

/* Sizes that can be multiplied, too. */
static bool can_pool(kiln_compose *c, const kiln_value *x, int n, const int64_t *out) {
    bool is_good = c->status == KILN_OK && n >= 1 && n <= 3;
    for (int i = 0; i < n && is_good; i++)
        is_good = out[i] >= 1 && out[i] <= INT32_MAX && x->type.dim[2 + i] >= 1 &&
                  x->type.dim[2 + i] <= INT32_MAX;
    if (!is_good && c->status == KILN_OK)
        kiln_compose_fail(c,
                          kiln_fail(c->cx->err, KILN_ERR_SHAPE,
                                    "what is pooled must have one to three axes of 1 "
                                    "or more elements behind its channels, and the "
                                    "result, too; is %s",
                                    kiln_type_text(&c->cx->scratch, &x->type)));
    return is_good;
}

kiln_value *kiln_compose_adaptive_pool(kiln_compose *c, kiln_value *x,
                                       const int64_t *out, bool is_max) {
    static const int64_t axes[] = {2, 3, 4};
    const int n = x->type.rank - 2;
    bool is_global = true;
    kiln_spatial s;
    if (!can_pool(c, x, n, out))
        return x;
    for (int i = 0; i < n; i++)
        is_global = is_global && out[i] == 1;
    if (is_global)
        return kiln_compose_reduce(c,
                                   is_max ? &kiln_op_reduce_max : &kiln_op_reduce_mean,
                                   x, axes, (size_t)n, true);
    if (is_even(x, n, out, &s))
        return kiln_compose_pool(c, is_max ? &kiln_op_max_pool : &kiln_op_avg_pool, x,
                                 &s, false, NULL, 0);
    for (int i = 0; i < n; i++)
        x = is_max ? max_along(c, x, 2 + i, out[i]) : mean_along(c, x, 2 + i, out[i]);
    return x;
}
