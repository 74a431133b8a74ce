/* Reads, and reductions over tuples. */
#include "compiler/tensor/tensor.h"
#include "base/fault.h"

#include <math.h>
#include <string.h>

const kiln_expr *kiln_x_read(kiln_arena *a, const kiln_te *te, int out,
                             const kiln_expr *const *index, int n) {
    KILN_ASSERT(n == te->rank && out < te->n_out,
                "'%s' has rank %d and %d outputs: read with %d", te->name, te->rank,
                te->n_out, n);
    kiln_expr *e = kiln_new(a, kiln_expr);
    e->kind = KILN_EXPR_READ;
    e->dtype = te->dtype[out];
    e->lanes = 1;
    e->n_arg = n;
    e->arg = kiln_array(a, const kiln_expr *, n);
    for (int i = 0; i < n; i++) {
        KILN_ASSERT(index[i]->dtype == KILN_I64, "index %d of '%s' is %s", i, te->name,
                    kiln_dtype_name(index[i]->dtype));
        e->arg[i] = index[i];
    }
    e->u.read.te = te;
    e->u.read.out = out;
    return e;
}

const kiln_expr *kiln_x_reduce(kiln_arena *a, const kiln_reducer *r,
                               const kiln_expr *const *source,
                               const kiln_axis *const *axis, int n_axes,
                               const kiln_expr *cond, int index) {
    KILN_ASSERT(index >= 0 && index < r->n, "%s has no result %d", r->name, index);
    kiln_reduction *red = kiln_new(a, kiln_reduction);
    red->reducer = r;
    red->source = kiln_array(a, const kiln_expr *, r->n);
    for (int i = 0; i < r->n; i++) {
        KILN_ASSERT(source[i]->dtype == r->identity[i]->dtype, "source %d of %s is %s",
                    i, r->name, kiln_dtype_name(source[i]->dtype));
        red->source[i] = source[i];
    }
    red->axis = kiln_array(a, const kiln_axis *, n_axes);
    for (int i = 0; i < n_axes; i++)
        red->axis[i] = axis[i];
    red->n_axes = n_axes;
    red->cond = cond;
    red->index = index;
    kiln_expr *e = kiln_new(a, kiln_expr);
    e->kind = KILN_EXPR_REDUCE;
    e->dtype = source[index]->dtype;
    e->lanes = 1;
    e->u.reduce = red;
    return e;
}

/* ---- reducers ------------------------------------------------------------------ */

static kiln_reducer *make(kiln_arena *a, const char *name, int n,
                          const kiln_dtype *dtype) {
    static const char *const left[] = {"x", "xi"}, *const right[] = {"y", "yi"};
    kiln_reducer *r = kiln_new(a, kiln_reducer);
    r->name = name;
    r->n = n;
    r->lhs = kiln_array(a, const kiln_var *, n);
    r->rhs = kiln_array(a, const kiln_var *, n);
    r->result = kiln_array(a, const kiln_expr *, n);
    r->identity = kiln_array(a, const kiln_expr *, n);
    for (int i = 0; i < n; i++) {
        r->lhs[i] = kiln_var_new(a, left[i], dtype[i]);
        r->rhs[i] = kiln_var_new(a, right[i], dtype[i]);
    }
    return r;
}

static const kiln_reducer *simple(kiln_arena *a, const char *name, kiln_dtype dtype,
                                  kiln_expr_kind kind, const kiln_expr *identity) {
    kiln_reducer *r = make(a, name, 1, &dtype);
    r->result[0] =
        kiln_x_binary(a, kind, kiln_x_ref(a, r->lhs[0]), kiln_x_ref(a, r->rhs[0]));
    r->identity[0] = identity;
    return r;
}

/* The smallest (largest) value of a dtype; floats: the infinity, so that an empty
 * maximum says so. */
static const kiln_expr *extreme(kiln_arena *a, kiln_dtype dtype, bool smallest) {
    if (kiln_dtype_is_float(dtype))
        return kiln_x_float(a, dtype, smallest ? -(double)INFINITY : (double)INFINITY);
    const kiln_dtype_info *info = kiln_dtype_get(dtype);
    const int64_t largest =
        dtype == KILN_U64 ? -1 : info->max_i; /* u64: all bits set */
    return kiln_x_int(a, dtype, smallest ? info->min_i : largest);
}

const kiln_reducer *kiln_reducer_sum(kiln_arena *a, kiln_dtype dtype) {
    /* -0.0 is the neutral element of floating-point addition, but every sum here starts
     * at +0.0, as the references of all frameworks do. */
    return simple(a, "sum", dtype, KILN_EXPR_ADD, kiln_x_number(a, dtype, 0));
}

const kiln_reducer *kiln_reducer_prod(kiln_arena *a, kiln_dtype dtype) {
    return simple(a, "prod", dtype, KILN_EXPR_MUL, kiln_x_number(a, dtype, 1));
}

const kiln_reducer *kiln_reducer_max(kiln_arena *a, kiln_dtype dtype) {
    return simple(a, "max", dtype, KILN_EXPR_MAX,
                  KILN_FAULT(max_identity) ? kiln_x_number(a, dtype, 0)
                                           : extreme(a, dtype, true));
}

const kiln_reducer *kiln_reducer_min(kiln_arena *a, kiln_dtype dtype) {
    return simple(a, "min", dtype, KILN_EXPR_MIN, extreme(a, dtype, false));
}

/* (index, value): takes the right side where its value is better, or equal at a lower
 * index; NaN is better than any number. The identity's index is past every other, so
 * that it never wins a tie. */
static const kiln_reducer *arg(kiln_arena *a, const char *name, kiln_dtype dtype,
                               bool is_max) {
    kiln_reducer *r = make(a, name, 2, (const kiln_dtype[]){KILN_I64, dtype});
    const kiln_expr *xi = kiln_x_ref(a, r->lhs[0]), *yi = kiln_x_ref(a, r->rhs[0]);
    const kiln_expr *x = kiln_x_ref(a, r->lhs[1]), *y = kiln_x_ref(a, r->rhs[1]);
    const kiln_expr *better = is_max ? kiln_x_binary(a, KILN_EXPR_LT, x, y)
                                     : kiln_x_binary(a, KILN_EXPR_LT, y, x);
    const kiln_expr *equal = kiln_x_binary(a, KILN_EXPR_EQ, x, y);
    if (kiln_dtype_is_float(dtype)) {
        const kiln_expr *x_nan = kiln_x_binary(a, KILN_EXPR_NE, x, x);
        const kiln_expr *y_nan = kiln_x_binary(a, KILN_EXPR_NE, y, y);
        const kiln_expr *only_y =
            kiln_x_binary(a, KILN_EXPR_AND, y_nan, kiln_x_not(a, x_nan));
        better = kiln_x_binary(a, KILN_EXPR_OR, better, only_y);
        equal = kiln_x_binary(a, KILN_EXPR_OR, equal,
                              kiln_x_binary(a, KILN_EXPR_AND, x_nan, y_nan));
    }
    const kiln_expr *tie = kiln_x_binary(
        a, KILN_EXPR_AND, equal,
        KILN_FAULT(argmax_tie) ? kiln_x_less(a, xi, yi) : kiln_x_less(a, yi, xi));
    const kiln_expr *take = kiln_x_binary(a, KILN_EXPR_OR, better, tie);
    r->result[0] = kiln_x_select(a, take, yi, xi);
    r->result[1] = kiln_x_select(a, take, y, x);
    r->identity[0] = kiln_x_index(a, INT64_MAX);
    r->identity[1] = extreme(a, dtype, is_max);
    return r;
}

const kiln_reducer *kiln_reducer_argmax(kiln_arena *a, kiln_dtype dtype) {
    return arg(a, "argmax", dtype, true);
}

const kiln_reducer *kiln_reducer_argmin(kiln_arena *a, kiln_dtype dtype) {
    return arg(a, "argmin", dtype, false);
}

/* ---- by name --------------------------------------------------------------------- */

static const struct {
    const char *name;
    const kiln_reducer *(*make)(kiln_arena *a, kiln_dtype dtype);
} known[] = {
    {"sum", kiln_reducer_sum},       {"prod", kiln_reducer_prod},
    {"max", kiln_reducer_max},       {"min", kiln_reducer_min},
    {"argmax", kiln_reducer_argmax}, {"argmin", kiln_reducer_argmin},
};
enum { N_KNOWN = sizeof known / sizeof known[0] };

const kiln_reducer *kiln_reducer_find(kiln_arena *a, const char *name,
                                      kiln_dtype dtype) {
    for (int i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].make(a, dtype);
    return NULL;
}

bool kiln_reducer_is_known(const char *name) {
    for (int i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].name, name) == 0)
            return true;
    return false;
}
