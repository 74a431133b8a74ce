/* How the work of a program falls on threads. Work is counted by walking the loops with
 * their variables' values: a loop whose bounds, guards and inner bounds do not depend
 * on an outer variable counts its body once, times its iterations; another is walked
 * iteration by iteration, so that tails and last chunks weigh what they are. Walks
 * inside of walks have a limit: a sorted list of thousands would take minutes. */
#include "compiler/loop/loop_walk.h"

enum {
    MAX_ITERATIONS = 4096, /* walked one by one; of more, all count as the middle one */
    MAX_WALKED = 1 << 14   /* of all loops of a nest together */
};

/* Of a statement: on one thread, and until the last of several is done. */
typedef struct amount {
    double work, longest, serial, forks;
} amount;

typedef struct counter {
    kiln_ranges ranges;
    int threads, vector_bytes;
    bool is_inside; /* of a parallel loop: those in it run in place */
    int64_t iterations;
    int64_t walked; /* product of the iterations of the loops around that are walked */
    kiln_arena *terms;   /* of conditions: released one by one */
    kiln_weigh_fn weigh; /* what a statement is worth; NULL: operations */
    void *user;
    const kiln_stmt *loop; /* the innermost around; NULL: none */
} counter;

/* ---- expressions ----------------------------------------------------------------- */

static double node_work(const kiln_expr *e) {
    switch (e->kind) {
    case KILN_EXPR_INT:
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_VAR:
    case KILN_EXPR_RAMP:
    case KILN_EXPR_BROADCAST:
        return 0;
    case KILN_EXPR_LOAD:
        return e->u.load.buffer->scope == KILN_SCOPE_REGISTER ? 0 : 1;
    case KILN_EXPR_CALL:
        return 15;
    case KILN_EXPR_DIV:
        return 6;
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_SELECT:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPRS_SCOPED:
        break;
    }
    /* Indexes mostly leave the loop, or are part of an address. */
    return e->dtype == KILN_I64 || e->dtype == KILN_BOOL ? 0 : 1;
}

/* Operations that a value takes. */
static double vectors_of(const kiln_expr *e, int vector_bytes) {
    const int64_t bytes = e->lanes * (int64_t)kiln_dtype_bytes(e->dtype);
    const int64_t n = (bytes + vector_bytes - 1) / vector_bytes; /* whole ones */
    return (double)n;
}

typedef struct operations {
    double work;
    int vector_bytes;
} operations;

static void add_node(void *user, const kiln_expr *e) {
    operations *s = user;
    s->work += node_work(e) * vectors_of(e, s->vector_bytes);
}

static double expr_work(const counter *c, const kiln_expr *e) {
    operations s = {0, c->vector_bytes};
    kiln_expr_visit(e, add_node, &s);
    return s.work;
}

static double store_work(const counter *c, const kiln_stmt *s) {
    if (c->weigh != NULL)
        return c->weigh(c->user, s, c->loop);
    double work = expr_work(c, s->u.store.value);
    if (s->u.store.buffer->scope != KILN_SCOPE_REGISTER)
        work += vectors_of(s->u.store.value, c->vector_bytes);
    return work;
}

/* ---- statements ------------------------------------------------------------------ */

static amount amount_of(counter *c, const kiln_stmt *s);

static amount alone(double work) {
    return (amount){.work = work, .longest = work, .serial = work};
}

static amount added(amount x, amount y) {
    return (amount){x.work + y.work, x.longest + y.longest, x.serial + y.serial,
                    x.forks + y.forks};
}

static amount times(double n, amount x) {
    return (amount){n * x.work, n * x.longest, n * x.serial, n * x.forks};
}

static amount iteration(counter *c, const kiln_stmt *s, int64_t min, int64_t max) {
    const kiln_stmt *around = c->loop;
    c->loop = s;
    kiln_ranges_push(&c->ranges, s->u.loop.var, min, max);
    const amount x = amount_of(c, s->u.loop.body);
    kiln_ranges_pop(&c->ranges);
    c->loop = around;
    return x;
}

/* The loop's variable from `begin` to before `end`. */
static amount iterations(counter *c, const kiln_stmt *s, int64_t begin, int64_t end) {
    amount sum = {0};
    if (begin >= end)
        return sum;
    if (!kiln_stmt_steers(s->u.loop.body, s->u.loop.var))
        return times((double)(end - begin), iteration(c, s, begin, end - 1));
    const int64_t n = end - begin, walked = c->walked;
    if (n > MAX_ITERATIONS || n > MAX_WALKED / walked)
        return times((double)n, iteration(c, s, begin + n / 2, begin + n / 2));
    c->walked *= n;
    for (int64_t i = begin; i < end; i++)
        sum = added(sum, iteration(c, s, i, i));
    c->walked = walked;
    return sum;
}

/* Shares as the pool makes them: floor(n t / threads). */
static amount fork(counter *c, const kiln_stmt *s, int64_t min, int64_t n) {
    amount all = {.forks = n > 1};
    c->is_inside = true;
    for (int t = 0; t < c->threads; t++) {
        const int64_t begin = n / c->threads * t + n % c->threads * t / c->threads;
        const int64_t end =
            n / c->threads * (t + 1) + n % c->threads * (t + 1) / c->threads;
        const double share = iterations(c, s, min + begin, min + end).work;
        all.work += share;
        all.longest = share > all.longest ? share : all.longest;
    }
    c->is_inside = false;
    if (n == 1)
        all.serial = all.work;
    if (n > c->iterations)
        c->iterations = n;
    return all;
}

static amount loop_amount(counter *c, const kiln_stmt *s) {
    const kiln_interval min = kiln_interval_of(&c->ranges, s->u.loop.min);
    const kiln_interval n = kiln_interval_of(&c->ranges, s->u.loop.extent);
    if (n.max <= 0)
        return alone(0);
    if (s->u.loop.kind == KILN_LOOP_PARALLEL && !c->is_inside)
        return fork(c, s, min.max, n.max);
    return iterations(c, s, min.max, min.max + n.max);
}

/* Where the condition is not known, the branch that is more. */
static amount branch_amount(counter *c, const kiln_stmt *s) {
    const kiln_arena_mark mark = kiln_arena_save(c->terms);
    const kiln_expr *cond = kiln_simplify_expr(&c->ranges, c->terms, s->u.branch.cond);
    const kiln_stmt *otherwise = s->u.branch.otherwise;
    amount then = {0}, other = {0};
    int64_t value = 0;
    const bool is_known = kiln_x_is_int(cond, &value);
    kiln_arena_rewind(c->terms, mark);
    if (!is_known || value != 0)
        then = amount_of(c, s->u.branch.then);
    if (otherwise != NULL && (!is_known || value == 0))
        other = amount_of(c, otherwise);
    return then.work > other.work ? then : other;
}

static amount amount_of(counter *c, const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    amount sum = {0};
    kiln_interval x;
    switch (s->kind) {
    case KILN_STMT_FOR:
        return loop_amount(c, s);
    case KILN_STMT_IF:
        return branch_amount(c, s);
    case KILN_STMT_LET:
        x = kiln_interval_of(&c->ranges, s->u.let.value);
        kiln_ranges_push(&c->ranges, s->u.let.var, x.min, x.max);
        sum = amount_of(c, s->u.let.body);
        kiln_ranges_pop(&c->ranges);
        return sum;
    case KILN_STMT_STORE:
        return alone(store_work(c, s));
    case KILN_STMT_EVAL:
        return alone(c->weigh != NULL ? c->weigh(c->user, s, c->loop)
                                      : expr_work(c, s->u.eval));
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH: /* what it declares */
        return amount_of(c, s->u.call.program->body);
    case KILN_STMT_SEQ:
    case KILN_STMT_ALLOC:
    case KILN_STMT_ATTR:
    case KILN_STMT_BARRIER:
        break;
    }
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        sum = added(sum, amount_of(c, part));
    return sum;
}

kiln_spread kiln_program_spread(kiln_arena *scratch, const kiln_program *p, int threads,
                                int vector_bytes) {
    kiln_arena terms = {0};
    counter c = {.ranges = {.arena = scratch},
                 .threads = threads,
                 .vector_bytes = vector_bytes,
                 .walked = 1,
                 .terms = &terms};
    KILN_ASSERT(threads > 0 && vector_bytes > 0, "'%s' on %d threads, vectors of %d",
                p->name, threads, vector_bytes);
    const amount all = amount_of(&c, p->body);
    kiln_arena_fini(&terms);
    return (kiln_spread){.threads = threads,
                         .forks = (int64_t)all.forks,
                         .iterations = c.iterations,
                         .work = all.work,
                         .serial = all.serial,
                         .longest = all.longest};
}

double kiln_program_weighed(kiln_arena *scratch, const kiln_program *p,
                            kiln_weigh_fn weigh, void *user) {
    kiln_arena terms = {0};
    counter c = {.ranges = {.arena = scratch},
                 .threads = 1,
                 .vector_bytes = 1,
                 .walked = 1,
                 .terms = &terms,
                 .weigh = weigh,
                 .user = user};
    const double all = amount_of(&c, p->body).work;
    kiln_arena_fini(&terms);
    return all;
}
