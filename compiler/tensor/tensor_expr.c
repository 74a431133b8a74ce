/* Building expressions: constants folded and neutral elements dropped where that is
 * exact for every value. */
#include "compiler/tensor/tensor_expr.h"

#include <math.h>

static kiln_expr *make(kiln_arena *a, kiln_expr_kind kind, kiln_dtype dtype, int lanes,
                       int n_arg) {
    kiln_expr *e = kiln_new(a, kiln_expr);
    e->kind = kind;
    e->dtype = dtype;
    e->lanes = lanes;
    e->n_arg = n_arg;
    e->arg = n_arg > 0 ? kiln_array(a, const kiln_expr *, n_arg) : NULL;
    return e;
}

kiln_var *kiln_var_new(kiln_arena *a, const char *name, kiln_dtype dtype) {
    kiln_var *v = kiln_new(a, kiln_var);
    v->name = name;
    v->dtype = dtype;
    v->lanes = 1;
    return v;
}

kiln_var *kiln_var_vector(kiln_arena *a, const char *name, kiln_dtype dtype,
                          int lanes) {
    kiln_var *v = kiln_var_new(a, name, dtype);
    v->lanes = lanes;
    return v;
}

const kiln_expr *kiln_x_int(kiln_arena *a, kiln_dtype dtype, int64_t v) {
    KILN_ASSERT(!kiln_dtype_is_float(dtype), "an integer constant of a float dtype");
    kiln_expr *e = make(a, KILN_EXPR_INT, dtype, 1, 0);
    e->u.i = kiln_wrap_i64(dtype, v);
    return e;
}

const kiln_expr *kiln_x_index(kiln_arena *a, int64_t v) {
    return kiln_x_int(a, KILN_I64, v);
}

const kiln_expr *kiln_x_float(kiln_arena *a, kiln_dtype dtype, double v) {
    KILN_ASSERT(kiln_dtype_is_float(dtype), "a float constant of an integer dtype");
    kiln_expr *e = make(a, KILN_EXPR_FLOAT, dtype, 1, 0);
    e->u.f = kiln_round_f64(dtype, v);
    return e;
}

const kiln_expr *kiln_x_number(kiln_arena *a, kiln_dtype dtype, double v) {
    return kiln_dtype_is_float(dtype) ? kiln_x_float(a, dtype, v)
                                      : kiln_x_int(a, dtype, (int64_t)v);
}

const kiln_expr *kiln_x_ref(kiln_arena *a, const kiln_var *v) {
    kiln_expr *e = make(a, KILN_EXPR_VAR, v->dtype, v->lanes, 0);
    e->u.var = v;
    return e;
}

bool kiln_x_is_int(const kiln_expr *e, int64_t *v) {
    if (e->kind == KILN_EXPR_BROADCAST)
        e = e->arg[0];
    if (e->kind != KILN_EXPR_INT)
        return false;
    *v = e->u.i;
    return true;
}

/* ---- folding ----------------------------------------------------------------- */

static bool is_comparison(kiln_expr_kind kind) {
    return kind >= KILN_EXPR_EQ && kind <= KILN_EXPR_LE;
}

static int64_t floor_div(int64_t x, int64_t y) {
    const int64_t q = x / y;
    return q - (x % y != 0 && (x < 0) != (y < 0));
}

static bool less(kiln_dtype dtype, int64_t x, int64_t y) {
    return dtype == KILN_U64 ? (uint64_t)x < (uint64_t)y : x < y;
}

static int dtype_bits(kiln_dtype dtype) { return 8 * (int)kiln_dtype_bytes(dtype); }

/* y is not 0. */
static int64_t fold_division(kiln_expr_kind kind, kiln_dtype dtype, int64_t x,
                             int64_t y) {
    const uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
    if (dtype == KILN_U64)
        return (int64_t)(kind == KILN_EXPR_FLOORMOD ? ux % uy : ux / uy);
    if (y == -1) /* the smallest wraps */
        return kind == KILN_EXPR_FLOORMOD ? 0 : (int64_t)(0 - ux);
    if (kind == KILN_EXPR_DIV)
        return x / y;
    return kind == KILN_EXPR_FLOORDIV ? floor_div(x, y)
                                      : (int64_t)(ux - (uint64_t)floor_div(x, y) * uy);
}

/* 0 <= y < bits of the dtype. */
static int64_t fold_shift(kiln_expr_kind kind, kiln_dtype dtype, int64_t x, int64_t y) {
    if (kind == KILN_EXPR_SHL)
        return (int64_t)((uint64_t)x << y);
    if (!kiln_dtype_get(dtype)->is_signed)
        return (int64_t)((uint64_t)x >> y);
    if (y > 62)
        return x < 0 ? -1 : 0;
    return floor_div(x, (int64_t)1 << y);
}

/* False where the operation has no result (division by zero, a count out of range):
 * then it stays as it is, and is the fault of whoever evaluates it. Wraps like the
 * dtype. */
bool kiln_x_fold_int(kiln_expr_kind kind, kiln_dtype dtype, int64_t x, int64_t y,
                     int64_t *out) {
    const uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
    switch (kind) {
    case KILN_EXPR_ADD:
        *out = (int64_t)(ux + uy);
        break;
    case KILN_EXPR_SUB:
        *out = (int64_t)(ux - uy);
        break;
    case KILN_EXPR_MUL:
        *out = (int64_t)(ux * uy);
        break;
    case KILN_EXPR_DIV:
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        if (y == 0)
            return false;
        *out = fold_division(kind, dtype, x, y);
        break;
    case KILN_EXPR_MIN:
        *out = less(dtype, x, y) ? x : y;
        break;
    case KILN_EXPR_MAX:
        *out = less(dtype, x, y) ? y : x;
        break;
    case KILN_EXPR_EQ:
        *out = x == y;
        return true;
    case KILN_EXPR_NE:
        *out = x != y;
        return true;
    case KILN_EXPR_LT:
        *out = less(dtype, x, y);
        return true;
    case KILN_EXPR_LE:
        *out = !less(dtype, y, x);
        return true;
    case KILN_EXPR_AND:
        *out = x & y;
        break;
    case KILN_EXPR_OR:
        *out = x | y;
        break;
    case KILN_EXPR_XOR:
        *out = x ^ y;
        break;
    case KILN_EXPR_SHL:
    case KILN_EXPR_SHR:
        if (y < 0 || y >= dtype_bits(dtype))
            return false;
        *out = fold_shift(kind, dtype, x, y);
        break;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        return false;
    }
    *out = kiln_wrap_i64(dtype, *out);
    return true;
}

/* Floats: one rounding of the double result is the dtype's own result for + - * / of
 * f32 and narrower (a double has more than 2p + 2 bits; Figueroa, When is double
 * rounding innocuous?, 1995). */
bool kiln_x_fold_float(kiln_expr_kind kind, double x, double y, double *out,
                       bool *is_bool) {
    *is_bool = is_comparison(kind);
    switch (kind) {
    case KILN_EXPR_ADD:
        *out = x + y;
        return true;
    case KILN_EXPR_SUB:
        *out = x - y;
        return true;
    case KILN_EXPR_MUL:
        *out = x * y;
        return true;
    case KILN_EXPR_DIV:
        *out = x / y;
        return true;
    case KILN_EXPR_MIN:
        *out = isnan(x) || isnan(y) ? (double)NAN : (x < y ? x : y);
        return true;
    case KILN_EXPR_MAX:
        *out = isnan(x) || isnan(y) ? (double)NAN : (x > y ? x : y);
        return true;
    case KILN_EXPR_EQ:
        *out = x == y;
        return true;
    case KILN_EXPR_NE:
        *out = x != y;
        return true;
    case KILN_EXPR_LT:
        *out = x < y;
        return true;
    case KILN_EXPR_LE:
        *out = x <= y;
        return true;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
    case KILN_EXPRS_BITWISE:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return false;
}

static const kiln_expr *fold_constants(kiln_arena *a, kiln_expr_kind kind,
                                       const kiln_expr *x, const kiln_expr *y) {
    if (x->lanes != 1 || y->lanes != 1)
        return NULL;
    if (x->kind == KILN_EXPR_INT && y->kind == KILN_EXPR_INT) {
        int64_t v = 0;
        if (!kiln_x_fold_int(kind, x->dtype, x->u.i, y->u.i, &v))
            return NULL;
        return kiln_x_int(a, is_comparison(kind) ? KILN_BOOL : x->dtype, v);
    }
    if (x->kind == KILN_EXPR_FLOAT && y->kind == KILN_EXPR_FLOAT) {
        double v = 0;
        bool is_bool = false;
        if (!kiln_x_fold_float(kind, x->u.f, y->u.f, &v, &is_bool))
            return NULL;
        return is_bool ? kiln_x_int(a, KILN_BOOL, v != 0)
                       : kiln_x_float(a, x->dtype, v);
    }
    return NULL;
}

/* x + 0, x * 1, x * 0, x / 1, x % 1, b && true ... for integers and bool only: -0.0 +
 * 0.0 and 0 * infinity are others. */
static const kiln_expr *drop_neutral(kiln_arena *a, kiln_expr_kind kind,
                                     const kiln_expr *x, const kiln_expr *y) {
    int64_t v = 0;
    if (kiln_dtype_is_float(x->dtype))
        return NULL;
    if (kiln_x_is_int(y, &v)) {
        const bool is_zero = v == 0, is_one = v == 1;
        const bool is_bool = x->dtype == KILN_BOOL;
        switch (kind) {
        case KILN_EXPR_ADD:
        case KILN_EXPR_SUB:
        case KILN_EXPR_SHL:
        case KILN_EXPR_SHR:
        case KILN_EXPR_XOR:
            return is_zero ? x : NULL;
        case KILN_EXPR_OR:
            return is_zero ? x : (is_bool ? y : NULL);
        case KILN_EXPR_AND:
            return is_zero ? y : (is_bool ? x : NULL);
        case KILN_EXPR_MUL:
            return is_one ? x : (is_zero ? y : NULL);
        case KILN_EXPR_DIV:
        case KILN_EXPR_FLOORDIV:
            return is_one ? x : NULL;
        case KILN_EXPR_FLOORMOD:
            return is_one ? kiln_x_broadcast(a, kiln_x_int(a, x->dtype, 0), x->lanes)
                          : NULL;
        case KILN_EXPRS_CONSTANT:
        case KILN_EXPR_VAR:
        case KILN_EXPRS_EXTREME:
        case KILN_EXPRS_COMPARING:
        case KILN_EXPRS_COMPOSED:
        case KILN_EXPRS_LANES:
            break;
        }
        return NULL;
    }
    const bool commutes = kind == KILN_EXPR_ADD || kind == KILN_EXPR_MUL ||
                          kind == KILN_EXPR_AND || kind == KILN_EXPR_OR ||
                          kind == KILN_EXPR_XOR;
    return commutes && kiln_x_is_int(x, &v) ? drop_neutral(a, kind, y, x) : NULL;
}

const kiln_expr *kiln_x_binary(kiln_arena *a, kiln_expr_kind kind, const kiln_expr *x,
                               const kiln_expr *y) {
    KILN_ASSERT(x->dtype == y->dtype, "operands of dtypes %s and %s",
                kiln_dtype_name(x->dtype), kiln_dtype_name(y->dtype));
    if (x->lanes != y->lanes) {
        KILN_ASSERT(x->lanes == 1 || y->lanes == 1, "operands of %d and %d lanes",
                    x->lanes, y->lanes);
        if (x->lanes == 1)
            x = kiln_x_broadcast(a, x, y->lanes);
        else
            y = kiln_x_broadcast(a, y, x->lanes);
    }
    const kiln_expr *folded = fold_constants(a, kind, x, y);
    if (folded == NULL)
        folded = drop_neutral(a, kind, x, y);
    if (folded != NULL)
        return folded;
    kiln_expr *e =
        make(a, kind, is_comparison(kind) ? KILN_BOOL : x->dtype, x->lanes, 2);
    e->arg[0] = x;
    e->arg[1] = y;
    return e;
}

/* ---- the rest ----------------------------------------------------------------- */

const kiln_expr *kiln_x_not(kiln_arena *a, const kiln_expr *x) {
    if (x->kind == KILN_EXPR_INT)
        return kiln_x_int(a, x->dtype, x->dtype == KILN_BOOL ? !x->u.i : ~x->u.i);
    kiln_expr *e = make(a, KILN_EXPR_NOT, x->dtype, x->lanes, 1);
    e->arg[0] = x;
    return e;
}

const kiln_expr *kiln_x_cast(kiln_arena *a, kiln_dtype dtype, const kiln_expr *x) {
    if (x->dtype == dtype)
        return x;
    const bool to_float = kiln_dtype_is_float(dtype);
    if (x->kind == KILN_EXPR_INT && x->dtype != KILN_U64)
        return to_float
                   ? kiln_x_float(a, dtype, (double)x->u.i)
                   : kiln_x_int(a, dtype, dtype == KILN_BOOL ? x->u.i != 0 : x->u.i);
    if (x->kind == KILN_EXPR_FLOAT && to_float)
        return kiln_x_float(a, dtype, x->u.f);
    kiln_expr *e = make(a, KILN_EXPR_CAST, dtype, x->lanes, 1);
    e->arg[0] = x;
    return e;
}

const kiln_expr *kiln_x_bitcast(kiln_arena *a, kiln_dtype dtype, const kiln_expr *x) {
    KILN_ASSERT(kiln_dtype_bytes(dtype) == kiln_dtype_bytes(x->dtype),
                "bitcast between sizes: %s to %s", kiln_dtype_name(x->dtype),
                kiln_dtype_name(dtype));
    if (x->dtype == dtype)
        return x;
    kiln_expr *e = make(a, KILN_EXPR_BITCAST, dtype, x->lanes, 1);
    e->arg[0] = x;
    return e;
}

const kiln_expr *kiln_x_select(kiln_arena *a, const kiln_expr *cond,
                               const kiln_expr *then, const kiln_expr *otherwise) {
    KILN_ASSERT(cond->dtype == KILN_BOOL && then->dtype == otherwise->dtype,
                "select of %s between %s and %s", kiln_dtype_name(cond->dtype),
                kiln_dtype_name(then->dtype), kiln_dtype_name(otherwise->dtype));
    int64_t v = 0;
    int lanes = cond->lanes > then->lanes ? cond->lanes : then->lanes;
    lanes = otherwise->lanes > lanes ? otherwise->lanes : lanes;
    if (kiln_x_is_int(cond, &v))
        return kiln_x_broadcast(a, v != 0 ? then : otherwise, lanes);
    kiln_expr *e = make(a, KILN_EXPR_SELECT, then->dtype, lanes, 3);
    e->arg[0] = kiln_x_broadcast(a, cond, lanes);
    e->arg[1] = kiln_x_broadcast(a, then, lanes);
    e->arg[2] = kiln_x_broadcast(a, otherwise, lanes);
    return e;
}

const kiln_expr *kiln_x_choose(kiln_arena *a, const kiln_expr *i,
                               const kiln_expr *const *row, int n) {
    const kiln_expr *e = row[n - 1];
    for (int k = n - 1; k-- > 0;)
        e = kiln_x_select(a, kiln_x_binary(a, KILN_EXPR_EQ, i, kiln_x_index(a, k)),
                          row[k], e);
    return e;
}

/* Bytes have four times the lanes of the sums. */
static const kiln_expr *call_dot4(kiln_arena *a, const kiln_expr *const *arg) {
    const int lanes = arg[0]->lanes;
    KILN_ASSERT(arg[0]->dtype == KILN_I32, "dot4 adds to %s",
                kiln_dtype_name(arg[0]->dtype));
    kiln_expr *e = make(a, KILN_EXPR_CALL, KILN_I32, lanes, 3);
    e->u.intrin = KILN_INTRIN_dot4;
    e->arg[0] = arg[0];
    for (int k = 1; k < 3; k++) {
        KILN_ASSERT(arg[k]->lanes == 4 * lanes &&
                        (arg[k]->dtype == KILN_I8 || arg[k]->dtype == KILN_U8),
                    "dot4 of %d lanes of %s into %d", arg[k]->lanes,
                    kiln_dtype_name(arg[k]->dtype), lanes);
        e->arg[k] = arg[k];
    }
    return e;
}

const kiln_expr *kiln_x_call(kiln_arena *a, kiln_intrin i,
                             const kiln_expr *const *arg) {
    const int n = kiln_intrin_get(i)->n_args;
    int lanes = 1;
    if (i == KILN_INTRIN_dot4)
        return call_dot4(a, arg);
    for (int k = 0; k < n; k++)
        lanes = arg[k]->lanes > lanes ? arg[k]->lanes : lanes;
    kiln_expr *e = make(a, KILN_EXPR_CALL,
                        i == KILN_INTRIN_isnan ? KILN_BOOL : arg[0]->dtype, lanes, n);
    e->u.intrin = i;
    for (int k = 0; k < n; k++)
        e->arg[k] = kiln_x_broadcast(a, arg[k], lanes);
    return e;
}

const kiln_expr *kiln_x_ramp(kiln_arena *a, const kiln_expr *base,
                             const kiln_expr *stride, int lanes) {
    KILN_ASSERT(base->lanes == 1 && stride->lanes == 1, "a ramp of vectors");
    if (lanes == 1)
        return base;
    int64_t v = 0;
    if (kiln_x_is_int(stride, &v) && v == 0)
        return kiln_x_broadcast(a, base, lanes);
    kiln_expr *e = make(a, KILN_EXPR_RAMP, base->dtype, lanes, 2);
    e->arg[0] = base;
    e->arg[1] = stride;
    return e;
}

const kiln_expr *kiln_x_broadcast(kiln_arena *a, const kiln_expr *x, int lanes) {
    if (x->lanes == lanes)
        return x;
    KILN_ASSERT(x->lanes == 1, "broadcast of %d lanes to %d", x->lanes, lanes);
    kiln_expr *e = make(a, KILN_EXPR_BROADCAST, x->dtype, lanes, 1);
    e->arg[0] = x;
    return e;
}

const kiln_expr *kiln_x_shuffle(kiln_arena *a, const kiln_expr *const *arg, int n,
                                const int *lane, int lanes) {
    kiln_expr *e = make(a, KILN_EXPR_SHUFFLE, arg[0]->dtype, lanes, n);
    for (int i = 0; i < n; i++)
        e->arg[i] = arg[i];
    int *copy = kiln_array(a, int, lanes);
    for (int i = 0; i < lanes; i++)
        copy[i] = lane[i];
    e->u.lane = copy;
    return e;
}

const kiln_expr *kiln_x_let(kiln_arena *a, const kiln_var *const *var,
                            const kiln_expr *const *value, int n,
                            const kiln_expr *body) {
    if (n == 0)
        return body;
    kiln_expr *e = make(a, KILN_EXPR_LET, body->dtype, body->lanes, n + 1);
    const kiln_var **bound = kiln_array(a, const kiln_var *, n);
    for (int i = 0; i < n; i++) {
        KILN_ASSERT(value[i]->dtype == var[i]->dtype &&
                        value[i]->lanes == var[i]->lanes,
                    "variable '%s' of %d lanes of %s is bound to %d of %s",
                    var[i]->name, var[i]->lanes, kiln_dtype_name(var[i]->dtype),
                    value[i]->lanes, kiln_dtype_name(value[i]->dtype));
        KILN_ASSERT(var[i]->lanes == 1 || var[i]->lanes == body->lanes,
                    "variable '%s' of %d lanes in a value of %d", var[i]->name,
                    var[i]->lanes, body->lanes);
        bound[i] = var[i];
        e->arg[i] = value[i];
    }
    e->arg[n] = body;
    e->u.bound = bound;
    return e;
}

static void put_args(const kiln_expr **to, const kiln_expr *const *from, int n) {
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

static void check_bound(const kiln_var *v, const kiln_expr *e, int lanes) {
    KILN_ASSERT(e->dtype == v->dtype && e->lanes == v->lanes,
                "variable '%s' of %d lanes of %s is bound to %d of %s", v->name,
                v->lanes, kiln_dtype_name(v->dtype), e->lanes,
                kiln_dtype_name(e->dtype));
    KILN_ASSERT(v->lanes == 1 || v->lanes == lanes,
                "variable '%s' of %d lanes in a value of %d", v->name, v->lanes, lanes);
}

/* Arguments: init, cond, local, next, value. */
const kiln_expr *kiln_x_loop(kiln_arena *a, const kiln_loop_parts *p) {
    const int n = p->turns.n_state, m = p->turns.n_local, lanes = p->value->lanes;
    kiln_turns *t = kiln_new(a, kiln_turns);
    const kiln_var **var = kiln_array(a, const kiln_var *, n + m);
    kiln_expr *e = make(a, KILN_EXPR_LOOP, p->value->dtype, lanes, 2 * n + m + 2);
    KILN_ASSERT(p->cond->dtype == KILN_BOOL &&
                    (p->cond->lanes == 1 || p->cond->lanes == lanes),
                "a loop goes on by %d lanes of %s", p->cond->lanes,
                kiln_dtype_name(p->cond->dtype));
    for (int i = 0; i < n; i++) {
        check_bound(p->turns.state[i], p->init[i], lanes);
        check_bound(p->turns.state[i], p->next[i], lanes);
        var[i] = p->turns.state[i];
    }
    for (int i = 0; i < m; i++) {
        check_bound(p->turns.local[i], p->local[i], lanes);
        var[n + i] = p->turns.local[i];
    }
    put_args(e->arg, p->init, n);
    e->arg[n] = p->cond;
    put_args(e->arg + n + 1, p->local, m);
    put_args(e->arg + n + 1 + m, p->next, n);
    e->arg[2 * n + m + 1] = p->value;
    *t = (kiln_turns){.state = var, .local = var + n, .n_state = n, .n_local = m};
    e->u.turns = t;
    return e;
}

kiln_loop_parts kiln_x_loop_parts(const kiln_expr *e) {
    const int n = e->u.turns->n_state, m = e->u.turns->n_local;
    return (kiln_loop_parts){.turns = *e->u.turns,
                             .init = e->arg,
                             .cond = e->arg[n],
                             .local = e->arg + n + 1,
                             .next = e->arg + n + 1 + m,
                             .value = e->arg[2 * n + m + 1]};
}

const kiln_expr *kiln_x_table(kiln_arena *a, const kiln_table *t,
                              const kiln_expr *index) {
    KILN_ASSERT(!kiln_dtype_is_float(t->dtype) && t->n > 0, "a table of %d %s", t->n,
                kiln_dtype_name(t->dtype));
    KILN_ASSERT(index->dtype == KILN_I64, "a table's index is %s",
                kiln_dtype_name(index->dtype));
    kiln_expr *e = make(a, KILN_EXPR_TABLE, t->dtype, index->lanes, 1);
    e->arg[0] = index;
    e->u.table = t;
    return e;
}
