/* Short forms for importers that build an operator of their format out of several
 * nodes. */
#include "compiler/frontend/compose.h"

#include <string.h>

void kiln_compose_fail(kiln_compose *c, kiln_status status) {
    if (c->status == KILN_OK)
        c->status = status;
}

/* y where it was made, x otherwise. */
static kiln_value *made(kiln_compose *c, kiln_status st, kiln_value *y, kiln_value *x) {
    kiln_compose_fail(c, st);
    return c->status == KILN_OK ? y : x;
}

kiln_value *kiln_compose_op(kiln_compose *c, const kiln_op_def *op,
                            kiln_value *const *in, int n_in, const kiln_attr_arg *args,
                            size_t n_args) {
    KILN_ASSERT(op != NULL && n_in >= 1 && in[0] != NULL,
                "a node of %d inputs gives none back", n_in);
    kiln_value *y = NULL;
    if (c->status != KILN_OK)
        return in[0];
    const kiln_status st =
        kiln_import_emit(c->cx, c->site, op, in, n_in, args, n_args, 1, &y);
    return made(c, st, y, in[0]);
}

kiln_value *kiln_compose_1(kiln_compose *c, const kiln_op_def *op, kiln_value *x) {
    return kiln_compose_op(c, op, &x, 1, NULL, 0);
}

kiln_value *kiln_compose_2(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                           kiln_value *y) {
    KILN_ASSERT(x != NULL && y != NULL, "'%s' of one value", op->name);
    kiln_value *const in[] = {x, y};
    return kiln_compose_op(c, op, in, 2, NULL, 0);
}

kiln_value *kiln_compose_scalar(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                                double v) {
    return kiln_compose_2(c, op, x, kiln_import_scalar(c->cx, x->type.dtype, v));
}

kiln_value *kiln_compose_where(kiln_compose *c, kiln_value *cond, kiln_value *x,
                               kiln_value *y) {
    KILN_ASSERT(cond != NULL && x != NULL && y != NULL, "a choice of nothing");
    kiln_value *const in[] = {cond, x, y};
    return kiln_compose_op(c, &kiln_op_where, in, 3, NULL, 0);
}

kiln_value *kiln_compose_reduce(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                                const int64_t *axes, size_t n_axes, bool keepdims) {
    KILN_ASSERT(n_axes == 0 || axes != NULL, "'%s' of %zu axes", op->name, n_axes);
    const kiln_attr_arg args[] = {kiln_arg_ints("axes", axes, n_axes),
                                  kiln_arg_bool("keepdims", keepdims)};
    return kiln_compose_op(c, op, &x, 1, args, 2);
}

kiln_value *kiln_compose_axis(kiln_compose *c, const kiln_op_def *op, kiln_value *x,
                              kiln_value *y, int axis) {
    kiln_value *const in[] = {x, y};
    const kiln_attr_arg arg = kiln_arg_int("axis", axis);
    return kiln_compose_op(c, op, in, y != NULL ? 2 : 1, &arg, 1);
}

kiln_value *kiln_compose_cast(kiln_compose *c, kiln_value *x, kiln_dtype dtype) {
    kiln_value *y = NULL;
    if (c->status != KILN_OK)
        return x;
    const kiln_status st = kiln_import_cast(c->cx, c->site, x, dtype, &y);
    return made(c, st, y, x);
}

kiln_value *kiln_compose_reshape(kiln_compose *c, kiln_value *x, int rank,
                                 const int64_t *dim) {
    kiln_value *y = NULL;
    if (c->status != KILN_OK)
        return x;
    const kiln_status st = kiln_import_reshape(c->cx, c->site, x, rank, dim, &y);
    return made(c, st, y, x);
}

kiln_value *kiln_compose_expand(kiln_compose *c, kiln_value *x, int rank,
                                const int64_t *dim) {
    KILN_ASSERT(rank >= 0 && rank <= KILN_MAX_RANK, "'%s' is stretched to rank %d",
                x->name, rank);
    const kiln_attr_arg shape = kiln_arg_ints("shape", dim, (size_t)rank);
    if (x->type.rank == rank &&
        (rank == 0 || memcmp(x->type.dim, dim, (size_t)rank * sizeof *dim) == 0))
        return x;
    return kiln_compose_op(c, &kiln_op_expand, &x, 1, &shape, 1);
}

kiln_value *kiln_compose_transpose(kiln_compose *c, kiln_value *x,
                                   const int64_t *perm) {
    kiln_value *y = NULL;
    if (c->status != KILN_OK)
        return x;
    const kiln_status st = kiln_import_transpose(c->cx, c->site, x, perm, &y);
    return made(c, st, y, x);
}

static const int64_t swap_heads[] = {0, 2, 1, 3};

/* After a failure a value may be any. */
static bool has_rank(const kiln_compose *c, const kiln_value *x, int rank) {
    return c->status != KILN_OK || x->type.rank == rank;
}

kiln_value *kiln_compose_split_heads(kiln_compose *c, kiln_value *x, int64_t heads) {
    const int64_t *d = x->type.dim;
    KILN_ASSERT(heads > 0 && has_rank(c, x, 3), "%lld heads of rank %d",
                (long long)heads, x->type.rank);
    const int64_t split[] = {d[0], d[1], heads, d[2] / heads};
    x = kiln_compose_reshape(c, x, 4, split);
    return kiln_compose_transpose(c, x, swap_heads);
}

kiln_value *kiln_compose_join_heads(kiln_compose *c, kiln_value *x) {
    const int64_t *d = x->type.dim;
    KILN_ASSERT(has_rank(c, x, 4), "heads of rank %d", x->type.rank);
    const int64_t joined[] = {d[0], d[2], d[1] * d[3]};
    x = kiln_compose_transpose(c, x, swap_heads);
    return kiln_compose_reshape(c, x, 3, joined);
}

kiln_value *kiln_compose_repeat_heads(kiln_compose *c, kiln_value *x, int64_t group) {
    const int64_t *d = x->type.dim;
    KILN_ASSERT(group > 0 && has_rank(c, x, 4), "heads of rank %d for %lld each",
                x->type.rank, (long long)group);
    const int64_t narrow[] = {d[0], d[1], 1, d[2], d[3]};
    const int64_t wide[] = {d[0], d[1], group, d[2], d[3]};
    const int64_t flat[] = {d[0], d[1] * group, d[2], d[3]};
    if (group == 1)
        return x;
    x = kiln_compose_reshape(c, x, 5, narrow);
    x = kiln_compose_expand(c, x, 5, wide);
    return kiln_compose_reshape(c, x, 4, flat);
}

kiln_value *kiln_compose_slice(kiln_compose *c, kiln_value *x, int axis, int64_t start,
                               int64_t step, int64_t size) {
    int64_t starts[KILN_MAX_RANK] = {0}, steps[KILN_MAX_RANK], sizes[KILN_MAX_RANK];
    const size_t rank = (size_t)x->type.rank;
    KILN_ASSERT(c->status != KILN_OK || (axis >= 0 && axis < x->type.rank),
                "a slice along axis %d of rank %d", axis, x->type.rank);
    if (c->status != KILN_OK || (start == 0 && step == 1 && size == x->type.dim[axis]))
        return x;
    for (size_t i = 0; i < rank; i++) {
        steps[i] = 1;
        sizes[i] = x->type.dim[i];
    }
    starts[axis] = start;
    steps[axis] = step;
    sizes[axis] = size;
    const kiln_attr_arg args[] = {kiln_arg_ints("starts", starts, rank),
                                  kiln_arg_ints("steps", steps, rank),
                                  kiln_arg_ints("sizes", sizes, rank)};
    return kiln_compose_op(c, &kiln_op_slice, &x, 1, args, 3);
}

kiln_value *kiln_compose_repeat(kiln_compose *c, kiln_value *x, int axis,
                                int64_t times) {
    const kiln_type t = x->type;
    int64_t dim[KILN_MAX_RANK + 1];
    if (c->status != KILN_OK || times == 1)
        return x;
    KILN_ASSERT(axis >= 0 && axis < t.rank && times >= 0, "axis %d %lld times", axis,
                (long long)times);
    if (t.rank == KILN_MAX_RANK || times > INT32_MAX) {
        kiln_compose_fail(
            c, kiln_fail(c->cx->err, KILN_ERR_LIMIT,
                         "elements of at most %d axes may be repeated, %d times",
                         KILN_MAX_RANK - 1, INT32_MAX));
        return x;
    }
    for (int i = 0; i <= t.rank; i++)
        dim[i] = i <= axis ? t.dim[i] : i == axis + 1 ? 1 : t.dim[i - 1];
    x = kiln_compose_reshape(c, x, t.rank + 1, dim);
    dim[axis + 1] = times;
    x = kiln_compose_expand(c, x, t.rank + 1, dim);
    for (int i = 0; i < t.rank && c->status == KILN_OK; i++)
        dim[i] = t.dim[i] * (i == axis ? times : 1);
    return kiln_compose_reshape(c, x, t.rank, dim);
}

/* Of integers, what the remainder leaves divides evenly. */
kiln_value *kiln_compose_floor_div(kiln_compose *c, kiln_value *x, kiln_value *y) {
    const bool is_float = kiln_dtype_is_float(x->type.dtype);
    if (!is_float)
        x = kiln_compose_2(c, &kiln_op_sub, x, kiln_compose_2(c, &kiln_op_mod, x, y));
    x = kiln_compose_2(c, &kiln_op_div, x, y);
    return is_float ? kiln_compose_1(c, &kiln_op_floor, x) : x;
}

kiln_value *kiln_compose_pad(kiln_compose *c, kiln_value *x, const int64_t *pads,
                             double value) {
    bool is_none = true;
    KILN_ASSERT(pads != NULL || x->type.rank == 0, "margins of '%s'", x->name);
    if (c->status != KILN_OK)
        return x;
    for (int i = 0; i < 2 * x->type.rank; i++)
        is_none = is_none && pads[i] == 0;
    if (is_none)
        return x;
    kiln_value *const in[] = {x, kiln_import_scalar(c->cx, x->type.dtype, value)};
    const kiln_attr_arg args[] = {
        kiln_arg_word("mode", "constant"),
        kiln_arg_ints("pads", pads, 2 * (size_t)x->type.rank)};
    return kiln_compose_op(c, &kiln_op_pad, in, 2, args, 2);
}

/* Wide storage for a constant, or false. */
static bool new_const(kiln_compose *c, kiln_dtype dtype, int rank, const int64_t *dim,
                      kiln_wide *w) {
    const kiln_type t = kiln_type_make(dtype, rank, dim);
    if (c->status == KILN_OK)
        kiln_compose_fail(c, kiln_type_check(&t, c->cx->err));
    if (c->status == KILN_OK)
        kiln_compose_fail(c,
                          kiln_import_spend(c->cx, INT64_C(16) * kiln_type_elems(&t)));
    if (c->status == KILN_OK)
        *w = kiln_wide_new(c->cx->arena, &t);
    return c->status == KILN_OK;
}

static kiln_value *add_const(kiln_compose *c, const kiln_wide *w) {
    const kiln_tensor t = kiln_tensor_new(c->cx->arena, &w->type);
    kiln_narrow(w, t.data);
    return kiln_graph_add_const(c->cx->graph, "c", &t.type, t.data);
}

kiln_value *kiln_compose_iota(kiln_compose *c, int64_t n) {
    kiln_wide w;
    if (!new_const(c, KILN_I64, 1, &n, &w))
        return kiln_import_scalar(c->cx, KILN_I64, 0);
    for (int64_t i = 0; i < n; i++)
        w.i[i] = i;
    return add_const(c, &w);
}

kiln_value *kiln_compose_ints(kiln_compose *c, int rank, const int64_t *dim,
                              const int64_t *v) {
    kiln_wide w;
    if (!new_const(c, KILN_I64, rank, dim, &w))
        return kiln_import_scalar(c->cx, KILN_I64, 0);
    const int64_t count = kiln_type_elems(&w.type);
    KILN_ASSERT(count == 0 || v != NULL, "%lld numbers from nowhere", (long long)count);
    for (int64_t i = 0; i < count; i++)
        w.i[i] = v[i];
    return add_const(c, &w);
}

kiln_value *kiln_compose_floats(kiln_compose *c, kiln_dtype dtype, int rank,
                                const int64_t *dim, const double *v) {
    kiln_wide w;
    if (!new_const(c, dtype, rank, dim, &w))
        return kiln_import_scalar(c->cx, dtype, 0);
    const int64_t count = kiln_type_elems(&w.type);
    KILN_ASSERT(w.f != NULL && (count == 0 || v != NULL), "%lld numbers of %s",
                (long long)count, kiln_dtype_name(dtype));
    for (int64_t i = 0; i < count; i++)
        w.f[i] = v[i];
    return add_const(c, &w);
}

/* log(u) * x / (u - 1) with u = 1 + x as it is rounded (Kahan): x where u is 1, and
 * log(u) where u is infinite. */
kiln_value *kiln_compose_log1p(kiln_compose *c, kiln_value *x) {
    kiln_value *const u = kiln_compose_scalar(c, &kiln_op_add, x, 1);
    kiln_value *const less = kiln_compose_scalar(c, &kiln_op_sub, u, 1);
    kiln_value *const log = kiln_compose_1(c, &kiln_op_log, u);
    kiln_value *y = kiln_compose_2(c, &kiln_op_div, x, less);
    y = kiln_compose_2(c, &kiln_op_mul, log, y);
    kiln_value *const is_tiny = kiln_compose_scalar(c, &kiln_op_equal, less, 0);
    kiln_value *const is_inf = kiln_compose_1(c, &kiln_op_is_inf, u);
    y = kiln_compose_where(c, is_inf, log, y);
    return kiln_compose_where(c, is_tiny, x, y);
}

/* elu below zero, and -(e^-x - 1) * e^x above, which cancels nowhere. */
kiln_value *kiln_compose_expm1(kiln_compose *c, kiln_value *x) {
    kiln_value *const below = kiln_compose_1(c, &kiln_op_elu, x);
    kiln_value *above = kiln_compose_1(c, &kiln_op_neg, x);
    above = kiln_compose_1(c, &kiln_op_elu, above);
    above = kiln_compose_1(c, &kiln_op_neg, above);
    above = kiln_compose_2(c, &kiln_op_mul, above, kiln_compose_1(c, &kiln_op_exp, x));
    kiln_value *const is_below = kiln_compose_scalar(c, &kiln_op_less, x, 0);
    return kiln_compose_where(c, is_below, below, above);
}
