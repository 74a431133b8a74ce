/* Inclusive bounds of integer expressions. INT64_MIN and INT64_MAX stand for "not
 * bounded"; arithmetic saturates. */
#include "compiler/loop/loop.h"

#include "compiler/loop/linear.h"

static const kiln_interval everything = {INT64_MIN, INT64_MAX};

static bool is_infinite(int64_t v) { return v == INT64_MIN || v == INT64_MAX; }

static int64_t sat_add(int64_t x, int64_t y) {
    if (is_infinite(x))
        return x;
    if (is_infinite(y))
        return y;
    if (y > 0 && x > INT64_MAX - y)
        return INT64_MAX;
    if (y < 0 && x < INT64_MIN - y)
        return INT64_MIN;
    return x + y;
}

static int64_t sat_mul(int64_t x, int64_t y) {
    if (x == 0 || y == 0)
        return 0;
    const bool negative = (x < 0) != (y < 0);
    const int64_t limit = negative ? INT64_MIN : INT64_MAX;
    if (is_infinite(x) || is_infinite(y))
        return limit;
    const bool overflows = x > 0 ? (y > 0 ? x > INT64_MAX / y : y < INT64_MIN / x)
                                 : (y > 0 ? x < INT64_MIN / y : x < INT64_MAX / y);
    return overflows ? limit : x * y;
}

static int64_t floor_div(int64_t x, int64_t y) {
    KILN_ASSERT(y > 0, "bounds are divided by %lld", (long long)y);
    if (is_infinite(x))
        return x;
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static int64_t min2(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t max2(int64_t x, int64_t y) { return x > y ? x : y; }

void kiln_ranges_push(kiln_ranges *r, const kiln_var *v, int64_t min, int64_t max) {
    const kiln_range range = {v, {min, max}};
    kiln_vec_push(r->arena, &r->stack, range);
}

void kiln_ranges_pop(kiln_ranges *r) {
    KILN_ASSERT(r->stack.n > 0, "more ranges popped than pushed");
    r->stack.n--;
}

static kiln_interval of_var(const kiln_ranges *r, const kiln_var *v) {
    for (size_t i = r->stack.n; i-- > 0;)
        if (r->stack.v[i].var == v)
            return r->stack.v[i].interval;
    const kiln_dtype_info *info = kiln_dtype_get(v->dtype);
    return info->is_float || v->dtype == KILN_U64
               ? everything
               : (kiln_interval){info->min_i, info->max_i};
}

static kiln_interval scaled(kiln_interval x, int64_t c) {
    return c >= 0 ? (kiln_interval){sat_mul(x.min, c), sat_mul(x.max, c)}
                  : (kiln_interval){sat_mul(x.max, c), sat_mul(x.min, c)};
}

static kiln_interval multiplied(kiln_interval x, kiln_interval y) {
    const int64_t a = sat_mul(x.min, y.min), b = sat_mul(x.min, y.max);
    const int64_t c = sat_mul(x.max, y.min), d = sat_mul(x.max, y.max);
    return (kiln_interval){min2(min2(a, b), min2(c, d)), max2(max2(a, b), max2(c, d))};
}

static kiln_interval divided(const kiln_ranges *r, const kiln_expr *e) {
    int64_t c = 0;
    if (!kiln_x_is_int(e->arg[1], &c) || c <= 0)
        return everything;
    const kiln_interval x = kiln_interval_of(r, e->arg[0]);
    const kiln_interval q = {floor_div(x.min, c), floor_div(x.max, c)};
    if (e->kind == KILN_EXPR_FLOORDIV)
        return q;
    if (q.min == q.max &&
        !is_infinite(q.min)) /* one block: the remainder grows with x */
        return (kiln_interval){x.min - q.min * c, x.max - q.min * c};
    return (kiln_interval){0, c - 1};
}

static kiln_interval of_ramp(const kiln_ranges *r, const kiln_expr *e) {
    const kiln_interval base = kiln_interval_of(r, e->arg[0]);
    const kiln_interval step = kiln_interval_of(r, e->arg[1]);
    const kiln_interval span = multiplied(step, (kiln_interval){0, e->lanes - 1});
    return (kiln_interval){sat_add(base.min, span.min), sat_add(base.max, span.max)};
}

static kiln_interval of_cast(const kiln_ranges *r, const kiln_expr *e) {
    const kiln_dtype_info *to = kiln_dtype_get(e->dtype);
    if (kiln_dtype_is_float(e->arg[0]->dtype) || to->is_float || e->dtype == KILN_U64 ||
        e->arg[0]->dtype == KILN_U64)
        return to->is_float || e->dtype == KILN_U64
                   ? everything
                   : (kiln_interval){to->min_i, to->max_i};
    const kiln_interval x = kiln_interval_of(r, e->arg[0]);
    const bool fits = x.min >= to->min_i && x.max <= to->max_i;
    return fits ? x : (kiln_interval){to->min_i, to->max_i};
}

kiln_interval kiln_linear_interval(const kiln_ranges *r, const kiln_linear *l) {
    kiln_interval sum = {l->constant, l->constant};
    for (int i = 0; i < l->n; i++) {
        const kiln_interval t =
            scaled(kiln_interval_of(r, l->term[i].expr), l->term[i].factor);
        sum = (kiln_interval){sat_add(sum.min, t.min), sat_add(sum.max, t.max)};
    }
    return sum;
}

/* Sums are bounded term by term, after equal terms have cancelled. */
static kiln_interval of_sum(const kiln_ranges *r, const kiln_expr *e) {
    kiln_linear l;
    return kiln_linear_of(e, &l) ? kiln_linear_interval(r, &l) : everything;
}

kiln_interval kiln_interval_of(const kiln_ranges *r, const kiln_expr *e) {
    kiln_interval x, y;
    switch (e->kind) {
    case KILN_EXPR_INT:
        return (kiln_interval){e->u.i, e->u.i};
    case KILN_EXPR_VAR:
        return of_var(r, e->u.var);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        return of_sum(r, e);
    case KILN_EXPR_MUL:
        return multiplied(kiln_interval_of(r, e->arg[0]),
                          kiln_interval_of(r, e->arg[1]));
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return divided(r, e);
    case KILN_EXPR_MIN:
        x = kiln_interval_of(r, e->arg[0]);
        y = kiln_interval_of(r, e->arg[1]);
        return (kiln_interval){min2(x.min, y.min), min2(x.max, y.max)};
    case KILN_EXPR_MAX:
        x = kiln_interval_of(r, e->arg[0]);
        y = kiln_interval_of(r, e->arg[1]);
        return (kiln_interval){max2(x.min, y.min), max2(x.max, y.max)};
    case KILN_EXPR_SELECT:
        x = kiln_interval_of(r, e->arg[1]);
        y = kiln_interval_of(r, e->arg[2]);
        return (kiln_interval){min2(x.min, y.min), max2(x.max, y.max)};
    case KILN_EXPR_CAST:
        return of_cast(r, e);
    case KILN_EXPR_BROADCAST:
        return kiln_interval_of(r, e->arg[0]);
    case KILN_EXPR_RAMP:
        return of_ramp(r, e);
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPR_NOT:
    case KILN_EXPR_BITCAST:
    case KILN_EXPR_CALL:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_LOAD:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPRS_SCOPED:
        break;
    }
    const kiln_dtype_info *info = kiln_dtype_get(e->dtype);
    return info->is_float || e->dtype == KILN_U64
               ? everything
               : (kiln_interval){info->min_i, info->max_i};
}
