/* Arithmetic of index vectors: ramps stay ramps, so that code generators see contiguous
 * accesses and masks that are no data. */
#include "compiler/loop/loop_walk.h"

/* x = base + stride * lane. */
typedef struct affine {
    const kiln_expr *base, *stride;
} affine;

static bool affine_of(kiln_arena *a, const kiln_expr *x, affine *out) {
    if (x->kind == KILN_EXPR_RAMP) {
        *out = (affine){x->arg[0], x->arg[1]};
        return true;
    }
    if (x->kind == KILN_EXPR_BROADCAST)
        x = x->arg[0];
    if (x->lanes != 1)
        return false;
    *out = (affine){x, NULL};
    if (x->dtype == KILN_I64)
        out->stride = kiln_x_index(a, 0);
    return true;
}

static bool is_uniform(const affine *x) {
    int64_t v = 0;
    return x->stride == NULL || (kiln_x_is_int(x->stride, &v) && v == 0);
}

static const kiln_expr *ramp(const kiln_ranges *r, kiln_arena *a, const kiln_expr *base,
                             const kiln_expr *stride, int lanes) {
    int64_t v = 0;
    stride = kiln_simplify_expr(r, a, stride);
    base = kiln_simplify_expr(r, a, base);
    return kiln_x_is_int(stride, &v) && v == 0 ? kiln_x_broadcast(a, base, lanes)
                                               : kiln_x_ramp(a, base, stride, lanes);
}

/* Division of a ramp by c > 0: exact where all lanes lie in one block of c, or where
 * each lane is whole blocks further. NULL: neither. */
static const kiln_expr *divide(const kiln_ranges *r, kiln_arena *a, kiln_expr_kind kind,
                               const affine *x, const kiln_expr *by, int lanes) {
    int64_t c = 0, s = 0;
    if (!kiln_x_is_int(by, &c) || c <= 0 || !kiln_x_is_int(x->stride, &s) ||
        s > INT32_MAX || s < -INT32_MAX)
        return NULL;
    const kiln_expr *q =
        kiln_simplify_expr(r, a, kiln_x_binary(a, KILN_EXPR_FLOORDIV, x->base, by));
    const kiln_expr *rest =
        kiln_simplify_expr(r, a, kiln_x_binary(a, KILN_EXPR_FLOORMOD, x->base, by));
    const kiln_interval in = kiln_interval_of(r, rest);
    const int64_t span = s * (lanes - 1);
    const bool is_div = kind == KILN_EXPR_FLOORDIV;
    const bool in_block = in.min >= 0 && in.max < c &&
                          in.min + (span < 0 ? span : 0) >= 0 &&
                          in.max + (span > 0 ? span : 0) < c;
    if (in_block)
        return is_div ? kiln_x_broadcast(a, q, lanes)
                      : ramp(r, a, rest, x->stride, lanes);
    if (s % c == 0)
        return is_div ? ramp(r, a, q, kiln_x_index(a, s / c), lanes)
                      : kiln_x_broadcast(a, rest, lanes);
    return NULL;
}

/* A comparison that is the same in all lanes; NULL: it is not, or nobody knows. */
static const kiln_expr *compare(const kiln_ranges *r, kiln_arena *a,
                                kiln_expr_kind kind, const affine *x, const affine *y,
                                int lanes) {
    const kiln_expr *d = ramp(r, a, kiln_x_sub(a, x->base, y->base),
                              kiln_x_sub(a, x->stride, y->stride), lanes);
    const kiln_interval in = kiln_interval_of(r, d);
    int truth = -1;
    if (kind == KILN_EXPR_LT)
        truth = in.max < 0 ? 1 : (in.min >= 0 ? 0 : -1);
    else if (kind == KILN_EXPR_LE)
        truth = in.max <= 0 ? 1 : (in.min > 0 ? 0 : -1);
    else if (in.min > 0 || in.max < 0)
        truth = kind == KILN_EXPR_NE;
    return truth < 0 ? NULL : kiln_x_int(a, KILN_BOOL, truth);
}

static const kiln_expr *fold(const kiln_ranges *r, kiln_arena *a, kiln_expr_kind kind,
                             const affine *x, const affine *y, int lanes) {
    switch (kind) {
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        return ramp(r, a, kiln_x_binary(a, kind, x->base, y->base),
                    kiln_x_binary(a, kind, x->stride, y->stride), lanes);
    case KILN_EXPR_MUL:
        if (is_uniform(x))
            return ramp(r, a, kiln_x_mul(a, y->base, x->base),
                        kiln_x_mul(a, y->stride, x->base), lanes);
        return is_uniform(y) ? ramp(r, a, kiln_x_mul(a, x->base, y->base),
                                    kiln_x_mul(a, x->stride, y->base), lanes)
                             : NULL;
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return is_uniform(y) ? divide(r, a, kind, x, y->base, lanes) : NULL;
    case KILN_EXPR_EQ:
    case KILN_EXPR_NE:
    case KILN_EXPR_LT:
    case KILN_EXPR_LE:
        return compare(r, a, kind, x, y, lanes);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_BITWISE:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return NULL;
}

const kiln_expr *kiln_vector_binary(const kiln_ranges *r, kiln_arena *a,
                                    kiln_expr_kind kind, const kiln_expr *x,
                                    const kiln_expr *y) {
    KILN_ASSERT(x->dtype == y->dtype, "operands of dtypes %s and %s",
                kiln_dtype_name(x->dtype), kiln_dtype_name(y->dtype));
    KILN_ASSERT(x->lanes == 1 || y->lanes == 1 || x->lanes == y->lanes,
                "operands of %d and %d lanes", x->lanes, y->lanes);
    const int lanes = x->lanes > y->lanes ? x->lanes : y->lanes;
    affine p, q;
    if (affine_of(a, x, &p) && affine_of(a, y, &q)) {
        if (is_uniform(&p) && is_uniform(&q))
            return kiln_x_broadcast(a, kiln_x_binary(a, kind, p.base, q.base), lanes);
        const kiln_expr *e =
            x->dtype == KILN_I64 ? fold(r, a, kind, &p, &q, lanes) : NULL;
        if (e != NULL)
            return e;
    }
    return kiln_x_binary(a, kind, x, y);
}
