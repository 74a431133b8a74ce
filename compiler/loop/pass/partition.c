/* partition: hot bodies carry no guards.
 *
 * A serial loop is cut where the conditions in its body, of guards and selects, hold
 * for every value of the loops further in: before, body, after. For a condition l >= 0
 * with l = f*v + rest that is f*v + min(rest) >= 0, by the interval of the rest. A
 * parallel loop stays one loop, since two would fork and join twice: its body becomes a
 * branch on the conditions with the loops further in at their worst. So do conditions
 * in which the variable is no linear term (a fused loop's quotient).
 *
 * What is cut off is cut again once at most: code grows along tails only. */
#include "compiler/loop/loop_walk.h"
#include "base/fault.h"

enum {
    MAX_DEPTH = 8,      /* cuts inside cuts, along hot bodies */
    TAIL_DEPTH = 2,     /* and along what they cut off */
    MAX_CONDITIONS = 8, /* of one branch */
    WORTH = 4 /* iterations that are a hot part even where they are fewer than half */
};

typedef struct partition {
    int depth;                /* cuts that may still be made here */
    const kiln_stmt *hoisted; /* the branch that the innermost cut made */
    bool has_barriers;        /* has the program any? */
} partition;

typedef struct collector {
    kiln_walk *w;
    const kiln_var *var;
    size_t n_outer; /* ranges below are of loops outside */
    kiln_interval loop, hold;
    bool wants_branch, wants_linear; /* conditions for a branch; linear ones too */
    const kiln_expr *cond[MAX_CONDITIONS];
    int n_cond;
} collector;

static int64_t floor_div(int64_t x, int64_t y) {
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

/* ---- what holds where ---------------------------------------------------------- */

/* Index of the term that is the variable itself, when no other term uses it: -1. */
static int linear_term(const kiln_linear *l, const kiln_var *v, bool *uses) {
    int at = -1, n = 0;
    for (int i = 0; i < l->n; i++) {
        const kiln_expr *e = l->term[i].expr;
        if (!kiln_expr_uses(e, v))
            continue;
        n++;
        if (e->kind == KILN_EXPR_VAR)
            at = i;
    }
    *uses = n > 0;
    return n == 1 ? at : -1;
}

/* Cuts the interval in which everything holds, unless little would be left of it. */
static void cut(collector *c, const kiln_linear *l, int at) {
    kiln_linear rest = *l;
    const int64_t f = l->term[at].factor;
    rest.term[at] = rest.term[--rest.n];
    const int64_t least = kiln_linear_interval(&c->w->ranges, &rest).min;
    kiln_interval in = c->hold;
    if (least < -INT64_MAX / 2 || least > INT64_MAX / 2)
        return;
    if (f > 0 && -floor_div(least, f) > in.min)
        in.min = -floor_div(least, f);
    if (f < 0 && floor_div(least, -f) < in.max)
        in.max = floor_div(least, -f);
    const int64_t left = in.max - in.min + 1;
    if (left > 0 && (left >= WORTH || left * 2 >= c->loop.max - c->loop.min + 1))
        c->hold = in;
}

static bool uses_inner(const collector *c, const kiln_expr *e) {
    for (size_t i = c->n_outer; i < c->w->ranges.stack.n; i++)
        if (kiln_expr_uses(e, c->w->ranges.stack.v[i].var))
            return true;
    return false;
}

/* The condition with the loops further in at their worst. */
static void relax(collector *c, const kiln_linear *l) {
    kiln_arena *a = c->w->arena;
    kiln_linear outer = {.constant = 0}, inner = *l;
    inner.n = 0;
    for (int i = 0; i < l->n; i++) {
        kiln_linear *to = uses_inner(c, l->term[i].expr) ? &inner : &outer;
        to->term[to->n++] = l->term[i];
    }
    const int64_t least = kiln_linear_interval(&c->w->ranges, &inner).min;
    if (least < -INT64_MAX / 2 || least > INT64_MAX / 2 || c->n_cond == MAX_CONDITIONS)
        return;
    const kiln_expr *x = kiln_linear_expr(a, &outer);
    const kiln_interval in = kiln_interval_of(&c->w->ranges, x);
    if (in.max < -least) /* never */
        return;
    const kiln_expr *cond = kiln_x_binary(a, KILN_EXPR_LE, kiln_x_index(a, -least), x);
    bool is_upper = true; /* written as a bound from above */
    for (int i = 0; i < outer.n; i++)
        is_upper = is_upper && outer.term[i].factor < 0;
    kiln_linear upper = {.constant = 0};
    if (is_upper && kiln_linear_add(&upper, &outer, -1))
        cond = kiln_x_binary(a, KILN_EXPR_LE, kiln_linear_expr(a, &upper),
                             kiln_x_index(a, least));
    for (int i = 0; i < c->n_cond; i++)
        if (kiln_expr_eq(cond, c->cond[i]))
            return;
    c->cond[c->n_cond++] = cond;
}

static void consider(void *user, const kiln_expr *e) {
    collector *c = user;
    kiln_linear l;
    bool uses = false;
    if (!kiln_comparison_linear(e, &l))
        return;
    const int at = linear_term(&l, c->var, &uses);
    if (!uses || kiln_walk_proves(c->w, &l) || kiln_expr_loads(e, NULL))
        return;
    if (!c->wants_branch && at >= 0)
        cut(c, &l, at);
    if (c->wants_branch && (at < 0 || c->wants_linear))
        relax(c, &l);
}

static void consider_select(void *user, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_SELECT)
        kiln_conjuncts(e->arg[0], consider, user);
}

/* A guard around a loop costs nothing beside it. */
static bool has_loop(const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    bool found = s->kind == KILN_STMT_FOR && (s->u.loop.kind == KILN_LOOP_SERIAL ||
                                              s->u.loop.kind == KILN_LOOP_PARALLEL);
    for (int i = 0; !found && (part = kiln_stmt_part(s, i)) != NULL; i++)
        found = has_loop(part);
    return found;
}

/* A stage that is computed here into memory has loops of its own, which are cut by
 * themselves; a register tile has none that could be. */
static bool is_cut_by_itself(const kiln_stmt *alloc) {
    const kiln_stmt *body = alloc->u.alloc.body;
    return alloc->u.alloc.buffer->scope != KILN_SCOPE_REGISTER &&
           body->kind == KILN_STMT_SEQ && body->u.seq.stmt[0]->kind == KILN_STMT_ATTR &&
           body->u.seq.stmt[0]->u.attr.key == KILN_STMT_ATTR_STAGE;
}

static void collect(collector *c, const kiln_stmt *s) {
    const kiln_walk_mark mark = kiln_walk_save(c->w);
    const kiln_stmt *part = NULL;
    int first = 0;
    switch (s->kind) {
    case KILN_STMT_FOR:
        kiln_walk_enter(c->w, s->u.loop.var, s->u.loop.min, s->u.loop.extent);
        break;
    case KILN_STMT_IF:
        if (!has_loop(s))
            kiln_conjuncts(s->u.branch.cond, consider, c);
        break;
    case KILN_STMT_LET:
        kiln_expr_visit(s->u.let.value, consider_select, c);
        kiln_ranges_push(&c->w->ranges, s->u.let.var, INT64_MIN, INT64_MAX);
        break;
    case KILN_STMT_ALLOC:
        if (c->wants_branch && is_cut_by_itself(s)) {
            s = s->u.alloc.body;
            first = 1;
        }
        break;
    case KILN_STMT_STORE:
        kiln_expr_visit(s->u.store.value, consider_select, c);
        break;
    case KILN_STMT_SEQ:
    case KILN_STMT_EVAL:
    case KILN_STMT_ATTR:
    case KILN_STMT_BARRIER:
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        break;
    }
    for (int i = first; (part = kiln_stmt_part(s, i)) != NULL; i++)
        collect(c, part);
    kiln_walk_restore(c->w, mark);
}

/* ---- cutting ------------------------------------------------------------------- */

static const kiln_stmt *part(kiln_walk *w, const kiln_stmt *s, int64_t begin,
                             int64_t end) {
    kiln_arena *a = w->arena;
    return kiln_s_for(a, s->u.loop.var, kiln_x_index(a, begin),
                      kiln_x_index(a, end - begin), s->u.loop.kind, s->u.loop.tag,
                      s->u.loop.body);
}

static int tail_depth(int depth) {
    return depth - 1 < TAIL_DEPTH ? depth - 1 : TAIL_DEPTH;
}

/* The loop whose body branches on what its conditions come to; NULL: there are none. */
static const kiln_stmt *branched(kiln_walk *w, const kiln_stmt *s, kiln_interval loop,
                                 bool wants_linear) {
    const kiln_walk_mark mark = kiln_walk_save(w);
    kiln_ranges_push(&w->ranges, s->u.loop.var, loop.min, loop.max);
    collector c = {.w = w,
                   .var = s->u.loop.var,
                   .n_outer = w->ranges.stack.n,
                   .wants_branch = true,
                   .wants_linear = wants_linear};
    collect(&c, s->u.loop.body);
    kiln_walk_restore(w, mark);
    const kiln_expr *cond = NULL;
    for (int i = 0; i < c.n_cond; i++)
        cond = kiln_conjunction(w->arena, cond, c.cond[i]);
    if (cond == NULL)
        return NULL;
    partition *p = w->user;
    p->hoisted = kiln_s_if(w->arena, cond, s->u.loop.body, s->u.loop.body);
    return kiln_s_for(w->arena, s->u.loop.var, s->u.loop.min, s->u.loop.extent,
                      s->u.loop.kind, s->u.loop.tag, p->hoisted);
}

/* A loop whose whole body is guarded runs only where the guard may hold. */
typedef struct clip {
    const kiln_var *var;
    kiln_interval in;
    const kiln_walk *w;
} clip;

static void clip_by(void *user, const kiln_expr *e) {
    clip *c = user;
    kiln_linear l;
    bool uses = false;
    if (!kiln_comparison_linear(e, &l) || kiln_expr_loads(e, NULL))
        return;
    const int at = linear_term(&l, c->var, &uses);
    if (at < 0)
        return;
    const int64_t f = l.term[at].factor;
    kiln_linear rest = l;
    rest.term[at] = rest.term[--rest.n];
    const int64_t most = kiln_linear_interval(&c->w->ranges, &rest).max;
    if (most < -INT64_MAX / 2 || most > INT64_MAX / 2)
        return;
    if (f > 0 && -floor_div(most, f) > c->in.min)
        c->in.min = -floor_div(most, f);
    if (f < 0 && floor_div(most, -f) < c->in.max)
        c->in.max = floor_div(most, -f);
}

static const kiln_stmt *clipped(kiln_walk *w, const kiln_stmt *s, kiln_interval loop) {
    const kiln_stmt *body = s->u.loop.body;
    clip c = {s->u.loop.var, loop, w};
    if (body->kind == KILN_STMT_IF && body->u.branch.otherwise == NULL)
        kiln_conjuncts(body->u.branch.cond, clip_by, &c);
    if (c.in.min > c.in.max)
        return kiln_s_nothing(w->arena);
    return c.in.min > loop.min || c.in.max < loop.max
               ? part(w, s, c.in.min, c.in.max + 1)
               : s;
}

static const kiln_stmt *cut_loop(kiln_walk *w, const kiln_stmt *s, kiln_interval loop) {
    partition *p = w->user;
    const int depth = p->depth;
    const kiln_walk_mark mark = kiln_walk_save(w);
    collector c = {.w = w, .var = s->u.loop.var, .loop = loop, .hold = loop};
    kiln_ranges_push(&w->ranges, s->u.loop.var, loop.min, loop.max);
    c.n_outer = w->ranges.stack.n;
    collect(&c, s->u.loop.body);
    kiln_walk_restore(w, mark);
    const kiln_stmt *done[3];
    const int64_t begin[4] = {loop.min, c.hold.min, c.hold.max + 1, loop.max + 1};
    const bool is_cut = c.hold.min > loop.min || c.hold.max < loop.max;
    for (int i = 0; i < 3; i++) {
        const kiln_stmt *x = part(w, s, begin[i], begin[i + 1]);
        if (i == 1) {
            const kiln_stmt *y = branched(w, x, c.hold, false);
            p->depth = depth - (is_cut || y != NULL ? 1 : 0);
            x = y != NULL ? y : x;
        } else {
            p->depth = tail_depth(depth);
        }
        done[i] = x->kind == KILN_STMT_FOR ? kiln_walk_loop(w, x) : x;
        if (i == 2 && x->kind == KILN_STMT_FOR && KILN_FAULT(partition_tail))
            done[i] = kiln_s_nothing(w->arena);
    }
    p->depth = depth;
    return kiln_s_seq(w->arena, done, 3);
}

static void find_barrier(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || s->kind == KILN_STMT_BARRIER;
}

static bool has_barrier(const kiln_stmt *s) {
    bool found = false;
    kiln_stmt_visit(s, find_barrier, &found);
    return found;
}

/* Threads must come to a barrier equally often, whatever they are guarded by. */
static bool is_waited_in(const partition *p, const kiln_stmt *s) {
    return p->has_barriers && has_barrier(s);
}

static const kiln_stmt *loop_hook(kiln_walk *w, const kiln_stmt *s) {
    partition *p = w->user;
    int64_t first = 0, n = 0;
    const kiln_expr *min = kiln_walk_expr(w, s->u.loop.min);
    const kiln_expr *extent = kiln_walk_expr(w, s->u.loop.extent);
    const kiln_loop_kind kind = s->u.loop.kind;
    if (!kiln_x_is_int(min, &first) || !kiln_x_is_int(extent, &n) || n <= 1 ||
        kind == KILN_LOOP_THREAD || kind == KILN_LOOP_VTHREAD || is_waited_in(p, s))
        return kiln_walk_loop(w, s);
    kiln_interval loop = {first, first + n - 1};
    const kiln_stmt *rest = clipped(w, s, loop);
    if (rest->kind != KILN_STMT_FOR)
        return rest;
    if (!kiln_x_is_int(rest->u.loop.min, &first) ||
        !kiln_x_is_int(rest->u.loop.extent, &n))
        return kiln_walk_loop(w, rest);
    if (kind == KILN_LOOP_VECTORIZED) /* whole vectors under a mask, but for one lane */
        return kiln_walk_loop(w, n == 1 ? rest : s);
    s = rest;
    loop = (kiln_interval){first, first + n - 1};
    if (n == 1 || p->depth <= 0 || kind == KILN_LOOP_UNROLLED)
        return kiln_walk_loop(w, s);
    if (kind == KILN_LOOP_SERIAL)
        return cut_loop(w, s, loop);
    const int depth = p->depth;
    const kiln_stmt *y = branched(w, s, loop, true);
    p->depth = depth - (y != NULL ? 1 : 0);
    const kiln_stmt *done = kiln_walk_loop(w, y != NULL ? y : s);
    p->depth = depth;
    return done;
}

static const kiln_stmt *branch_hook(kiln_walk *w, const kiln_stmt *s) {
    partition *p = w->user;
    if (s != p->hoisted)
        return kiln_walk_branch(w, s);
    const int depth = p->depth;
    const kiln_expr *cond = kiln_walk_expr(w, s->u.branch.cond);
    const kiln_walk_mark mark = kiln_walk_save(w);
    kiln_walk_assume(w, cond, true);
    const kiln_stmt *then = kiln_walk_stmt(w, s->u.branch.then);
    kiln_walk_restore(w, mark);
    p->depth = depth < TAIL_DEPTH ? depth : TAIL_DEPTH;
    kiln_walk_assume(w, cond, false);
    const kiln_stmt *otherwise = kiln_walk_stmt(w, s->u.branch.otherwise);
    kiln_walk_restore(w, mark);
    p->depth = depth;
    return KILN_FAULT(partition_branch) ? then
                                        : kiln_s_if(w->arena, cond, then, otherwise);
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    if (o != NULL && o->keep_guards)
        return KILN_OK;
    partition state = {.depth = MAX_DEPTH, .has_barriers = has_barrier(p->body)};
    kiln_walk w = kiln_walk_make(p->arena, loop_hook, &state, err);
    w.branch = branch_hook;
    p->body = kiln_walk_stmt(&w, p->body);
    return w.status;
}

const kiln_loop_pass kiln_loop_pass_partition = {
    .name = "partition",
    .doc = "moves guards out of hot loop bodies into tails",
    .run = run,
};
