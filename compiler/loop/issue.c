/* Instructions that a program needs at least, by the port that they go to: see
 * kiln_issue. Statements are weighed one by one and counted as spread.c walks loops. */
#include "compiler/loop/loop_walk.h"

enum {
    DIVISION = 6,  /* as spread.c and the cycle model count it */
    FUNCTION = 15, /* one that no pass expanded */
    WINDOW = 4     /* vectors that lanes are picked of by permutations */
};

typedef enum what { ARITHMETIC, LOADS, STORES } what;

typedef struct scale {
    const kiln_issue_machine *machine;
    what what;
    const kiln_stmt *loop; /* the innermost; NULL: none */
} scale;

/* ---- what does not change -------------------------------------------------------- */

static bool stores_to(const kiln_stmt *s, const kiln_buffer *b) {
    const kiln_stmt *part = NULL;
    if (s->kind == KILN_STMT_STORE)
        return s->u.store.buffer == b;
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        if (stores_to(part, b))
            return true;
    return false;
}

/* In the innermost loop, which computes it once: all but numbers that something binds
 * inside, which nobody follows. */
static bool stays(const scale *s, const kiln_expr *e) {
    if (s->loop == NULL)
        return false;
    if (e->kind == KILN_EXPR_VAR)
        return e->dtype == KILN_I64 && e->u.var != s->loop->u.loop.var;
    if (e->kind == KILN_EXPR_LOAD && stores_to(s->loop->u.loop.body, e->u.load.buffer))
        return false;
    for (int i = 0; i < e->n_arg; i++)
        if (!stays(s, e->arg[i]))
            return false;
    return true;
}

/* ---- weights --------------------------------------------------------------------- */

static double vectors(const scale *s, int lanes, kiln_dtype dtype) {
    return lanes * (double)kiln_dtype_bytes(dtype) / s->machine->vector_bytes;
}

/* The wider of both: comparisons and conversions work in it. */
static double widest(const scale *s, const kiln_expr *e) {
    double n = vectors(s, e->lanes, e->dtype);
    for (int i = 0; i < e->n_arg; i++) {
        const double of_arg = vectors(s, e->arg[i]->lanes, e->arg[i]->dtype);
        n = n > of_arg ? n : of_arg;
    }
    return n;
}

static bool is_float(const kiln_expr *e) {
    return e->dtype == KILN_F32 || e->dtype == KILN_F64;
}

/* A sum whose product is computed on the way. */
static bool is_fused(const scale *s, const kiln_expr *e) {
    return s->machine->has_fma && is_float(e) &&
           (e->arg[0]->kind == KILN_EXPR_MUL || e->arg[1]->kind == KILN_EXPR_MUL);
}

/* Functions that are one instruction, or one that keeps its port for long. */
static double function_cost(const kiln_expr *e) {
    static const int cost[KILN_N_INTRINS] = {
        [KILN_INTRIN_abs] = 1,         [KILN_INTRIN_add_rn] = 1,
        [KILN_INTRIN_ceil] = 1,        [KILN_INTRIN_copysign] = 1,
        [KILN_INTRIN_dot4] = 1,        [KILN_INTRIN_floor] = 1,
        [KILN_INTRIN_fma] = 1,         [KILN_INTRIN_isnan] = 1,
        [KILN_INTRIN_mul_rn] = 1,      [KILN_INTRIN_round] = 1,
        [KILN_INTRIN_quotient] = 4,    [KILN_INTRIN_sub_rn] = 1,
        [KILN_INTRIN_trunc] = 1,       [KILN_INTRIN_prefetch] = 0,
        [KILN_INTRIN_sqrt] = DIVISION, [KILN_INTRIN_rsqrt] = DIVISION,
        [KILN_INTRIN_exp_low] = 13};
    const bool is_free = e->u.intrin == KILN_INTRIN_prefetch;
    return cost[e->u.intrin] > 0 || is_free ? cost[e->u.intrin] : FUNCTION;
}

/* Instructions for each vector of the node's own. */
static double cost_of(const scale *s, const kiln_expr *e) {
    switch (e->kind) {
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPR_RAMP:
    case KILN_EXPR_BROADCAST:
    case KILN_EXPR_BITCAST:
    case KILN_EXPR_LOAD:
    case KILN_EXPR_LET:
    case KILN_EXPR_LOOP:
    case KILN_EXPRS_TENSOR:
        return 0;
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        return is_fused(s, e) ? 0 : 1;
    case KILN_EXPRS_EXTREME:
        return is_float(e) && !s->machine->has_nan_min_max ? 2 : 1;
    case KILN_EXPRS_DIVIDING:
        return DIVISION;
    case KILN_EXPR_CALL:
        return function_cost(e);
    case KILN_EXPR_MUL:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPR_CAST:
    case KILN_EXPR_SELECT:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPR_TABLE:
        return 1;
    case KILN_EXPRS_BITWISE:
    case KILN_EXPR_NOT: /* those of masks go elsewhere */
        return e->dtype == KILN_BOOL ? 0 : 1;
    }
    return 0;
}

/* Lanes that lie side by side, or are one. */
static bool is_straight(const kiln_expr *const *index, int n) {
    int64_t step = 0;
    for (int i = 0; i < n; i++) {
        const kiln_expr *x = index[i];
        if (x->lanes == 1 || x->kind == KILN_EXPR_BROADCAST)
            continue;
        if (i < n - 1 || x->kind != KILN_EXPR_RAMP ||
            !kiln_x_is_int(x->arg[1], &step) || step != 1)
            return false;
    }
    return true;
}

static double value_weight(const scale *s, const kiln_expr *e);

/* Places that are read themselves are anywhere: what lies there comes one by one; unless
 * they are kept in a window of few vectors, which permutations pick lanes of. */
static bool is_scattered(const kiln_expr *e) {
    int64_t high = 0, low = 0;
    if (e->kind == KILN_EXPR_LOAD)
        return e->lanes > 1;
    if ((e->kind == KILN_EXPR_MAX || e->kind == KILN_EXPR_MIN) &&
        e->arg[0]->kind == (e->kind == KILN_EXPR_MAX ? KILN_EXPR_MIN : KILN_EXPR_MAX) &&
        kiln_x_is_int(e->arg[1], &low) && kiln_x_is_int(e->arg[0]->arg[1], &high) &&
        (high > low ? high - low : low - high) < (int64_t)WINDOW * e->lanes)
        return false;
    for (int i = 0; i < e->n_arg; i++)
        if (is_scattered(e->arg[i]))
            return true;
    return false;
}

static double load_weight(const scale *s, const kiln_expr *e) {
    if (e->u.load.buffer->scope == KILN_SCOPE_REGISTER)
        return 0;
    const bool straight = is_straight(e->arg, e->n_arg);
    double n = vectors(s, e->lanes, e->dtype), sum = 0;
    for (int i = 0; i < e->n_arg && !straight; i++)
        if (is_scattered(e->arg[i]))
            n = e->lanes; /* each finds its lane by itself */
    if (s->what == LOADS || !straight)
        sum = n;
    for (int i = 0; i < e->n_arg && s->what == LOADS; i++)
        sum += value_weight(s, e->arg[i]); /* where to read may be read itself */
    return sum;
}

static double value_weight(const scale *s, const kiln_expr *e) {
    if (stays(s, e))
        return 0;
    if (e->kind == KILN_EXPR_LOAD)
        return load_weight(s, e);
    /* Single integers of 64 bits are places in memory. */
    const bool counts = s->what == ARITHMETIC && (e->dtype != KILN_I64 || e->lanes > 1);
    double sum = counts ? cost_of(s, e) : 0;
    sum = sum > 0 ? sum * widest(s, e) : 0;
    for (int i = 0; i < e->n_arg; i++)
        sum += value_weight(s, e->arg[i]);
    return sum;
}

static double weigh(void *user, const kiln_stmt *st, const kiln_stmt *loop) {
    scale *s = user;
    const bool stores = st->kind == KILN_STMT_STORE;
    const kiln_expr *value = stores ? st->u.store.value : st->u.eval;
    s->loop = loop;
    double sum = s->what == STORES ? 0 : value_weight(s, value);
    if (!stores || st->u.store.buffer->scope == KILN_SCOPE_REGISTER)
        return sum;
    const double n = vectors(s, value->lanes, value->dtype);
    const bool straight = is_straight(st->u.store.index, st->u.store.buffer->rank);
    if (s->what == STORES || (s->what == ARITHMETIC && !straight))
        sum += n;
    return sum;
}

kiln_issue kiln_program_issue(kiln_arena *scratch, const kiln_program *p,
                              const kiln_issue_machine *m) {
    KILN_ASSERT(m->vector_bytes > 0, "'%s' in vectors of %d", p->name, m->vector_bytes);
    double n[3];
    for (int i = 0; i < 3; i++) {
        scale s = {m, (what)i, NULL};
        n[i] = kiln_program_weighed(scratch, p, weigh, &s);
    }
    return (kiln_issue){n[ARITHMETIC], n[LOADS], n[STORES]};
}
