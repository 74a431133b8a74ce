/* Vectors whose lanes lie near each other, at distances that are known: every second
 * element, each one twice. A few vectors of neighbours hold them all, and shuffles of two
 * pick them out; lane by lane each would be a load and an insertion of its own.
 *
 * The vectors begin at the lowest element and end at the highest, and both of these are
 * read anyway: nothing outside is touched. */
#include "compiler/codegen/llvm/emit.h"

enum {
    LEAST_LANES = 4, /* fewer are quickly put together one by one */
    MOST_LANES = 64,
    MOST_VECTORS = 4
};

/* ---- distances ------------------------------------------------------------------- */

/* An index of several lanes: what all have in common, and by[k] of lane k. */
typedef struct pattern {
    bool has_base; /* not only by[k] */
    int64_t by[MOST_LANES];
} pattern;

static bool pattern_of(const kiln_expr *e, int lanes, pattern *out);

static bool of_sum(const kiln_expr *e, int lanes, pattern *out) {
    pattern y;
    const int64_t sign = e->kind == KILN_EXPR_ADD ? 1 : -1;
    if (!pattern_of(e->arg[0], lanes, out) || !pattern_of(e->arg[1], lanes, &y))
        return false;
    out->has_base = out->has_base || y.has_base;
    for (int k = 0; k < lanes; k++)
        out->by[k] += sign * y.by[k];
    return true;
}

static bool of_product(const kiln_expr *e, int lanes, pattern *out) {
    for (int i = 0; i < 2; i++) {
        int64_t c = 0;
        if (!kiln_x_is_int(e->arg[i], &c) || !pattern_of(e->arg[1 - i], lanes, out))
            continue;
        for (int k = 0; k < lanes; k++)
            out->by[k] *= c;
        return true;
    }
    return false;
}

static int64_t floor_of(int64_t x, int64_t y) {
    const int64_t q = x / y;
    return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}

/* Of numbers that are all known. */
static bool of_quotient(const kiln_expr *e, int lanes, pattern *out) {
    int64_t c = 0;
    if (!kiln_x_is_int(e->arg[1], &c) || c <= 0 || !pattern_of(e->arg[0], lanes, out) ||
        out->has_base)
        return false;
    for (int k = 0; k < lanes; k++) {
        const int64_t x = out->by[k], q = floor_of(x, c);
        out->by[k] = e->kind == KILN_EXPR_FLOORDIV ? q : x - q * c;
    }
    return true;
}

static bool of_ramp(const kiln_expr *e, int lanes, pattern *out) {
    int64_t step = 0, first = 0;
    if (!kiln_x_is_int(e->arg[1], &step))
        return false;
    out->has_base = !kiln_x_is_int(e->arg[0], &first);
    for (int k = 0; k < lanes; k++)
        out->by[k] = first + k * step;
    return true;
}

static bool pattern_of(const kiln_expr *e, int lanes, pattern *out) {
    int64_t v = 0;
    switch (e->kind) {
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        return e->lanes > 1 && of_sum(e, lanes, out);
    case KILN_EXPR_MUL:
        return e->lanes > 1 && of_product(e, lanes, out);
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return of_quotient(e, lanes, out);
    case KILN_EXPR_RAMP:
        return of_ramp(e, lanes, out);
    case KILN_EXPR_BROADCAST:
        out->has_base = !kiln_x_is_int(e->arg[0], &v);
        for (int k = 0; k < lanes; k++)
            out->by[k] = v;
        return true;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPR_SHUFFLE:
        break;
    }
    return false;
}

/* The same index in lane 0. */
static const kiln_expr *first_lane(kiln_arena *a, const kiln_expr *e) {
    if (e->lanes == 1)
        return e;
    if (e->kind == KILN_EXPR_RAMP || e->kind == KILN_EXPR_BROADCAST)
        return e->arg[0];
    KILN_ASSERT(e->n_arg == 2, "'%s' is no index in a pattern",
                kiln_expr_kind_name(e->kind));
    return kiln_x_binary(a, e->kind, first_lane(a, e->arg[0]),
                         first_lane(a, e->arg[1]));
}

/* ---- vectors --------------------------------------------------------------------- */

typedef struct span {
    int64_t low, high; /* beside lane 0 */
    int lanes;         /* of a vector of neighbours */
    int n;             /* of these */
} span;

static span span_of(const pattern *p, int lanes) {
    span s = {.low = 0, .high = 0, .lanes = 1};
    for (int k = 0; k < lanes; k++) {
        const int64_t by = p->by[k] - p->by[0];
        s.low = by < s.low ? by : s.low;
        s.high = by > s.high ? by : s.high;
    }
    const int64_t all = s.high - s.low + 1;
    while (s.lanes <= lanes / 2 && s.lanes <= all / 2)
        s.lanes *= 2;
    s.n = all > (int64_t)MOST_VECTORS * s.lanes ? MOST_VECTORS + 1
                                                : (int)((all + s.lanes - 1) / s.lanes);
    return s;
}

/* The last ends with the span. */
static int64_t begin_of(const span *s, int i) {
    return i + 1 < s->n ? s->low + (int64_t)i * s->lanes : s->high + 1 - s->lanes;
}

/* Lanes of `wanted` that vector i holds come from it, those of the vectors before stay
 * as they are in `so_far`. */
static LLVMValueRef add_vector(kiln_cg *g, const span *s, const pattern *p, int lanes,
                               LLVMValueRef so_far, LLVMValueRef v, int i) {
    LLVMValueRef *pick = kiln_array(g->arena, LLVMValueRef, lanes);
    LLVMValueRef *widen = kiln_array(g->arena, LLVMValueRef, lanes);
    for (int k = 0; k < lanes; k++) {
        const int64_t at = p->by[k] - p->by[0] - begin_of(s, i);
        const bool is_here = at >= 0 && at < s->lanes;
        const int64_t other = so_far == NULL ? 0 : k;
        const int64_t here = at + (so_far == NULL ? 0 : lanes);
        pick[k] =
            LLVMConstInt(g->i32, (unsigned long long)(is_here ? here : other), false);
        widen[k] = LLVMConstInt(g->i32, (unsigned long long)(k % s->lanes), false);
    }
    if (so_far == NULL)
        return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                      LLVMConstVector(pick, (unsigned)lanes), "");
    if (s->lanes != lanes) /* operands of a shuffle are alike */
        v = LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                   LLVMConstVector(widen, (unsigned)lanes), "");
    return LLVMBuildShuffleVector(g->b, so_far, v,
                                  LLVMConstVector(pick, (unsigned)lanes), "");
}

/* Vectors and shuffles of them against a load, and often an insertion, for each lane. */
static bool is_worth(const span *s, int lanes) {
    return s->lanes > 1 && s->n <= MOST_VECTORS && 4 * (s->n - 1) <= lanes;
}

LLVMValueRef kiln_cg_load_near(kiln_cg *g, const kiln_expr *e) {
    pattern p;
    if (g->kind->joins_scalars || e->n_arg != 1 || e->u.load.mask != NULL ||
        e->dtype == KILN_BOOL || e->lanes < LEAST_LANES || e->lanes > MOST_LANES ||
        !pattern_of(e->arg[0], e->lanes, &p))
        return NULL;
    const span s = span_of(&p, e->lanes);
    if (!is_worth(&s, e->lanes))
        return NULL;
    LLVMValueRef out = NULL;
    const kiln_expr *base = first_lane(g->arena, e->arg[0]);
    for (int i = 0; i < s.n; i++) {
        const kiln_expr *at =
            kiln_x_add(g->arena, base, kiln_x_index(g->arena, begin_of(&s, i)));
        at = kiln_x_ramp(g->arena, at, kiln_x_index(g->arena, 1), s.lanes);
        const kiln_expr *load = kiln_x_load(g->arena, e->u.load.buffer, &at, 1, NULL);
        out = add_vector(g, &s, &p, e->lanes, out, kiln_cg_expr(g, load, NULL), i);
    }
    return out;
}
