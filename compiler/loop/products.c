/* How much a program must multiply, whatever a code generator makes of it: what times
 * of its kernel are held against.
 *
 * A lower bound. Only products of two values that are read count: constants may fold.
 * Where a guard is not known the branch with fewer counts, and a loop that is too long
 * to be walked counts what each of its iterations does for certain. */
#include "compiler/loop/loop_walk.h"

enum {
    F32_BYTES = 4,
    MAX_ITERATIONS = 4096, /* walked one by one */
    MAX_STEPS = 20000      /* statements looked at: some milliseconds */
};

typedef struct counter {
    kiln_ranges ranges;
    int64_t steps_left;
} counter;

/* ---- expressions ----------------------------------------------------------------- */

/* Bytes of the narrowest element that the value is made of: machines multiply twice as
 * many of half the size, and four times as many bytes. */
static double narrowest_bytes(const kiln_expr *e, double bytes) {
    const double own = (double)kiln_dtype_bytes(e->dtype);
    if (e->dtype != KILN_BOOL && own < bytes)
        bytes = own;
    if (e->kind == KILN_EXPR_LOAD)
        return bytes; /* its indexes are no part of the value */
    for (int i = 0; i < e->n_arg; i++)
        bytes = narrowest_bytes(e->arg[i], bytes);
    return bytes;
}

static double product(const kiln_expr *e, const kiln_expr *x, const kiln_expr *y,
                      double each) {
    if (e->dtype == KILN_I64 || e->dtype == KILN_U64 || !kiln_expr_loads(x, NULL) ||
        !kiln_expr_loads(y, NULL))
        return 0;
    const double bytes = narrowest_bytes(y, narrowest_bytes(x, F32_BYTES));
    return each * e->lanes * bytes / F32_BYTES;
}

static double products_of(const kiln_expr *e) {
    enum { DOT = 4 };
    double n = 0;
    if (e->kind == KILN_EXPR_LOAD)
        return 0;
    if (e->kind == KILN_EXPR_SELECT) { /* one side is evaluated */
        const double then = products_of(e->arg[1]), other = products_of(e->arg[2]);
        return products_of(e->arg[0]) + (then < other ? then : other);
    }
    if (e->kind == KILN_EXPR_MUL)
        n = product(e, e->arg[0], e->arg[1], 1);
    else if (e->kind == KILN_EXPR_CALL && e->u.intrin == KILN_INTRIN_fma)
        n = product(e, e->arg[0], e->arg[1], 1);
    else if (e->kind == KILN_EXPR_CALL && e->u.intrin == KILN_INTRIN_dot4)
        n = product(e, e->arg[1], e->arg[2], DOT);
    for (int i = 0; i < e->n_arg; i++)
        n += products_of(e->arg[i]);
    return n;
}

/* ---- statements ------------------------------------------------------------------ */

static double count(counter *c, const kiln_stmt *s);

static double iteration(counter *c, const kiln_stmt *s, int64_t min, int64_t max) {
    kiln_ranges_push(&c->ranges, s->u.loop.var, min, max);
    const double n = count(c, s->u.loop.body);
    kiln_ranges_pop(&c->ranges);
    return n;
}

static double count_loop(counter *c, const kiln_stmt *s) {
    const kiln_interval min = kiln_interval_of(&c->ranges, s->u.loop.min);
    const kiln_interval n = kiln_interval_of(&c->ranges, s->u.loop.extent);
    double sum = 0;
    if (n.max <= 0 || n.max == INT64_MAX || min.min == INT64_MIN ||
        min.max == INT64_MAX)
        return 0;
    const bool is_known = n.min == n.max && min.min == min.max;
    if (!is_known || n.max > MAX_ITERATIONS || c->steps_left <= 0 ||
        !kiln_stmt_steers(s->u.loop.body, s->u.loop.var))
        return n.min <= 0
                   ? 0
                   : (double)n.min * iteration(c, s, min.min, min.max + (n.max - 1));
    for (int64_t i = min.min; i < min.min + n.max; i++)
        sum += iteration(c, s, i, i);
    return sum;
}

static double count_branch(counter *c, const kiln_stmt *s) {
    const kiln_expr *cond =
        kiln_simplify_expr(&c->ranges, c->ranges.arena, s->u.branch.cond);
    const kiln_stmt *otherwise = s->u.branch.otherwise;
    int64_t value = 0;
    const bool is_known = kiln_x_is_int(cond, &value);
    const double then = is_known && value == 0 ? 0 : count(c, s->u.branch.then);
    const double other =
        otherwise == NULL || (is_known && value != 0) ? 0 : count(c, otherwise);
    return is_known ? then + other : then < other ? then : other;
}

static double count(counter *c, const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    double sum = 0;
    kiln_interval x;
    c->steps_left--;
    switch (s->kind) {
    case KILN_STMT_FOR:
        return count_loop(c, s);
    case KILN_STMT_IF:
        return count_branch(c, s);
    case KILN_STMT_LET:
        x = kiln_interval_of(&c->ranges, s->u.let.value);
        kiln_ranges_push(&c->ranges, s->u.let.var, x.min, x.max);
        sum = count(c, s->u.let.body);
        kiln_ranges_pop(&c->ranges);
        return sum;
    case KILN_STMT_STORE:
        return products_of(s->u.store.value);
    case KILN_STMT_EVAL:
        return products_of(s->u.eval);
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH: /* what it declares */
        return count(c, s->u.call.program->body);
    case KILN_STMT_SEQ:
    case KILN_STMT_ALLOC:
    case KILN_STMT_ATTR:
    case KILN_STMT_BARRIER:
        break;
    }
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        sum += count(c, part);
    return sum;
}

double kiln_program_least_flops(kiln_arena *scratch, const kiln_program *p) {
    KILN_ASSERT(p->body != NULL, "program '%s' was not lowered", p->name);
    counter c = {.ranges = {.arena = scratch}, .steps_left = MAX_STEPS};
    return 2 * count(&c, p->body);
}
