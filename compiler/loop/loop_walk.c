/* The walker: simplification of whole programs with what holds at each place.
 *
 * A known condition is a linear form that is not negative. l >= 0 is proved by the
 * interval of l, or by one known form k with l - k >= 0 by its interval. */
#include "compiler/loop/loop_walk.h"

kiln_walk kiln_walk_make(kiln_arena *a, kiln_walk_fn loop, void *user, kiln_err *err) {
    return (kiln_walk){
        .arena = a, .ranges = {.arena = a}, .loop = loop, .user = user, .err = err};
}

kiln_walk_mark kiln_walk_save(const kiln_walk *w) {
    return (kiln_walk_mark){w->ranges.stack.n, w->known.n};
}

void kiln_walk_restore(kiln_walk *w, kiln_walk_mark m) {
    KILN_ASSERT(m.n_ranges <= w->ranges.stack.n && m.n_known <= w->known.n,
                "a walk goes back to what it has left");
    w->ranges.stack.n = m.n_ranges;
    w->known.n = m.n_known;
}

/* ---- conditions ---------------------------------------------------------------- */

bool kiln_comparison_linear(const kiln_expr *e, kiln_linear *l) {
    if ((e->kind != KILN_EXPR_LT && e->kind != KILN_EXPR_LE) || e->lanes != 1 ||
        e->arg[0]->dtype != KILN_I64)
        return false;
    kiln_linear x;
    if (!kiln_linear_of(e->arg[1], l) || !kiln_linear_of(e->arg[0], &x) ||
        !kiln_linear_add(l, &x, -1))
        return false;
    const kiln_linear one = {.constant = 1};
    return e->kind == KILN_EXPR_LE || kiln_linear_add(l, &one, -1);
}

typedef struct loading {
    const kiln_buffer *buffer; /* NULL: any */
    bool found;
} loading;

static void find_load(void *user, const kiln_expr *e) {
    loading *k = user;
    k->found = k->found || (e->kind == KILN_EXPR_LOAD &&
                            (k->buffer == NULL || e->u.load.buffer == k->buffer));
}

bool kiln_expr_loads(const kiln_expr *e, const kiln_buffer *b) {
    loading k = {.buffer = b};
    kiln_expr_visit(e, find_load, &k);
    return k.found;
}

void kiln_conjuncts(const kiln_expr *e, void (*fn)(void *user, const kiln_expr *e),
                    void *user) {
    if (e->kind == KILN_EXPR_AND && e->dtype == KILN_BOOL && e->lanes == 1) {
        kiln_conjuncts(e->arg[0], fn, user);
        kiln_conjuncts(e->arg[1], fn, user);
        return;
    }
    fn(user, e);
}

const kiln_expr *kiln_conjunction(kiln_arena *a, const kiln_expr *x,
                                  const kiln_expr *y) {
    if (x == NULL || y == NULL)
        return x == NULL ? y : x;
    return kiln_x_binary(a, KILN_EXPR_AND, x, y);
}

static kiln_interval bounds(const kiln_walk *w, const kiln_linear *l) {
    return kiln_linear_interval(&w->ranges, l);
}

bool kiln_walk_proves(const kiln_walk *w, const kiln_linear *l) {
    if (bounds(w, l).min >= 0)
        return true;
    for (size_t i = w->known.n; i-- > 0;) {
        kiln_linear rest = *l;
        if (kiln_linear_add(&rest, w->known.v[i], -1) && bounds(w, &rest).min >= 0)
            return true;
    }
    return false;
}

static int64_t floor_div(int64_t x, int64_t y) {
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

/* l >= 0 bounds each variable in it by the largest that the rest can be. */
static void narrow(kiln_walk *w, const kiln_linear *l) {
    for (int i = 0; i < l->n; i++) {
        if (l->term[i].expr->kind != KILN_EXPR_VAR)
            continue;
        kiln_linear rest = *l;
        rest.term[i] = rest.term[--rest.n];
        const int64_t most = bounds(w, &rest).max, f = l->term[i].factor;
        if (most == INT64_MAX || most == INT64_MIN || most < -INT64_MAX / 2)
            continue;
        const kiln_interval old = kiln_interval_of(&w->ranges, l->term[i].expr);
        kiln_interval in = old;
        if (f > 0 && -floor_div(most, f) > in.min) /* x >= -most / f, rounded up */
            in.min = -floor_div(most, f);
        if (f < 0 && floor_div(most, -f) < in.max)
            in.max = floor_div(most, -f);
        if (in.min <= in.max && (in.min != old.min || in.max != old.max))
            kiln_ranges_push(&w->ranges, l->term[i].expr->u.var, in.min, in.max);
    }
}

/* With c > 0, c * (x // c) lies in [x - c + 1, x]: f * (x // c) + rest >= 0 says
 * something of x itself. False where no term is such a quotient. */
static bool without_quotient(const kiln_linear *l, kiln_linear *out) {
    for (int i = 0; i < l->n; i++) {
        const kiln_expr *q = l->term[i].expr;
        const int64_t f = l->term[i].factor;
        int64_t c = 0;
        kiln_linear x, rest = *l;
        if (q->kind != KILN_EXPR_FLOORDIV || !kiln_x_is_int(q->arg[1], &c) || c < 1 ||
            !kiln_linear_of(q->arg[0], &x))
            continue;
        const kiln_linear slack = {.constant = f < 0 ? 1 - c : 0};
        rest.term[i] = rest.term[--rest.n];
        *out = (kiln_linear){0};
        return kiln_linear_add(&x, &slack, 1) && kiln_linear_add(out, &x, f) &&
               kiln_linear_add(out, &rest, c);
    }
    return false;
}

/* Terms are integers: a sum of multiples of 48 that is at least 977 is at least 1008. So
 * the last tile of a fused loop is known (fused % 22 * 48 > 976: that is tile 21), and
 * needs no guards inside (Pugh, The Omega Test, Supercomputing 1991, section 2.1). */
static void tighten(kiln_linear *l) {
    int64_t common = 0;
    for (int i = 0; i < l->n; i++)
        for (int64_t f = l->term[i].factor; f != 0;) {
            const int64_t rest = common % f;
            common = f;
            f = rest;
        }
    if (common < 0)
        common = -common;
    if (common > 1 && common <= INT32_MAX && l->constant > INT64_MIN / 4)
        l->constant = floor_div(l->constant, common) * common;
}

static void learn_linear(kiln_walk *w, const kiln_linear *l) {
    kiln_linear *kept = kiln_new(w->arena, kiln_linear);
    kiln_linear within;
    *kept = *l;
    tighten(kept);
    kiln_vec_push(w->arena, &w->known, (const kiln_linear *)kept);
    narrow(w, kept);
    if (without_quotient(kept, &within))
        learn_linear(w, &within);
}

static void learn(void *user, const kiln_expr *e) {
    kiln_linear l;
    /* Memory may change while the branch runs. */
    if (kiln_comparison_linear(e, &l) && !kiln_expr_loads(e, NULL))
        learn_linear(user, &l);
}

void kiln_walk_assume(kiln_walk *w, const kiln_expr *cond, bool holds) {
    if (holds) {
        kiln_conjuncts(cond, learn, w);
        return;
    }
    if (cond->kind == KILN_EXPR_LT || cond->kind == KILN_EXPR_LE)
        learn(w, kiln_x_binary(w->arena,
                               cond->kind == KILN_EXPR_LT ? KILN_EXPR_LE : KILN_EXPR_LT,
                               cond->arg[1], cond->arg[0]));
}

void kiln_walk_enter(kiln_walk *w, const kiln_var *v, const kiln_expr *min,
                     const kiln_expr *extent) {
    const kiln_interval lo = kiln_interval_of(&w->ranges, min);
    const kiln_interval n = kiln_interval_of(&w->ranges, extent);
    const bool is_bounded =
        lo.max < INT64_MAX / 2 && n.max < INT64_MAX / 2 && n.max > 0;
    kiln_ranges_push(&w->ranges, v, lo.min,
                     is_bounded ? lo.max + n.max - 1 : INT64_MAX);
}

/* ---- expressions --------------------------------------------------------------- */

static void find_comparison(void *user, const kiln_expr *e) {
    bool *found = user;
    *found = *found || e->kind == KILN_EXPR_LT || e->kind == KILN_EXPR_LE;
}

/* What one lane of a ramp, or of what is the same in all, is; NULL: of anything else. */
static const kiln_expr *lane_of(kiln_arena *a, const kiln_expr *e, int lane) {
    if (e->kind == KILN_EXPR_BROADCAST)
        return e->arg[0];
    if (e->kind != KILN_EXPR_RAMP)
        return e->lanes == 1 ? e : NULL;
    return kiln_x_add(a, e->arg[0], kiln_x_mul(a, e->arg[1], kiln_x_index(a, lane)));
}

/* -1: nobody knows. */
static int truth_of(const kiln_walk *w, const kiln_expr *e) {
    kiln_linear l, not_l = {.constant = -1};
    if (!kiln_comparison_linear(e, &l))
        return -1;
    if (kiln_walk_proves(w, &l))
        return 1;
    return kiln_linear_add(&not_l, &l, -1) && kiln_walk_proves(w, &not_l) ? 0 : -1;
}

/* Of vectors both sides are linear in the lane: what holds of the first and the last
 * holds of all. */
static const kiln_expr *decide(void *user, kiln_arena *a, const kiln_expr *e) {
    if ((e->kind != KILN_EXPR_LT && e->kind != KILN_EXPR_LE) ||
        e->arg[0]->dtype != KILN_I64)
        return e;
    int truth = -1;
    for (int end = 0; end < (e->lanes > 1 ? 2 : 1); end++) {
        const int lane = end * (e->lanes - 1);
        const kiln_expr *x = lane_of(a, e->arg[0], lane),
                        *y = lane_of(a, e->arg[1], lane);
        if (x == NULL || y == NULL)
            return e;
        const int here = truth_of(user, kiln_x_binary(a, e->kind, x, y));
        if (here < 0 || (end > 0 && here != truth))
            return e;
        truth = here;
    }
    return kiln_x_broadcast(a, kiln_x_int(a, KILN_BOOL, truth), e->lanes);
}

const kiln_expr *kiln_walk_expr(kiln_walk *w, const kiln_expr *e) {
    if (e->n_arg == 0 && e->kind != KILN_EXPR_VAR)
        return e;
    e = kiln_simplify_expr(&w->ranges, w->arena, e);
    bool has_comparison = false;
    if (w->known.n > 0)
        kiln_expr_visit(e, find_comparison, &has_comparison);
    return has_comparison ? kiln_expr_rewrite(w->arena, e, decide, w) : e;
}

/* ---- statements ---------------------------------------------------------------- */

typedef struct guard_parts {
    kiln_arena *arena;
    const kiln_var *var;
    const kiln_expr *fixed, *varying; /* NULL: none */
} guard_parts;

static void sort_guard(void *user, const kiln_expr *e) {
    guard_parts *p = user;
    if (kiln_expr_loads(e, NULL) || kiln_expr_uses(e, p->var))
        p->varying = kiln_conjunction(p->arena, p->varying, e);
    else
        p->fixed = kiln_conjunction(p->arena, p->fixed, e);
}

/* The loop, with guards that do not depend on it around it. */
static const kiln_stmt *make_loop(kiln_walk *w, const kiln_stmt *s,
                                  const kiln_expr *min, const kiln_expr *extent,
                                  const kiln_stmt *body) {
    kiln_arena *a = w->arena;
    guard_parts p = {.arena = a, .var = s->u.loop.var};
    if (body->kind == KILN_STMT_IF && body->u.branch.otherwise == NULL &&
        s->u.loop.kind != KILN_LOOP_THREAD)
        kiln_conjuncts(body->u.branch.cond, sort_guard, &p);
    if (p.fixed != NULL)
        body = p.varying == NULL ? body->u.branch.then
                                 : kiln_s_if(a, p.varying, body->u.branch.then, NULL);
    if (body == s->u.loop.body && min == s->u.loop.min && extent == s->u.loop.extent)
        return s;
    const kiln_stmt *loop =
        kiln_s_for(a, s->u.loop.var, min, extent, s->u.loop.kind, s->u.loop.tag, body);
    return p.fixed == NULL ? loop : kiln_s_if(a, p.fixed, loop, NULL);
}

const kiln_stmt *kiln_walk_loop(kiln_walk *w, const kiln_stmt *s) {
    const kiln_expr *min = kiln_walk_expr(w, s->u.loop.min);
    const kiln_expr *extent = kiln_walk_expr(w, s->u.loop.extent);
    int64_t n = 0, first = 0;
    const bool is_const = kiln_x_is_int(extent, &n);
    if (is_const && n <= 0)
        return kiln_s_nothing(w->arena);
    const bool is_once = is_const && n == 1 && s->u.loop.kind != KILN_LOOP_THREAD;
    if (is_once && !kiln_x_is_int(min, &first)) {
        const kiln_subst map = {s->u.loop.var, min};
        return kiln_walk_stmt(w,
                              kiln_stmt_substitute(w->arena, s->u.loop.body, &map, 1));
    }
    const kiln_walk_mark mark = kiln_walk_save(w);
    kiln_walk_enter(w, s->u.loop.var, min, extent);
    const kiln_stmt *body = kiln_walk_stmt(w, s->u.loop.body);
    kiln_walk_restore(w, mark);
    return is_once ? body : make_loop(w, s, min, extent, body);
}

const kiln_stmt *kiln_walk_branch(kiln_walk *w, const kiln_stmt *s) {
    const kiln_expr *cond = kiln_walk_expr(w, s->u.branch.cond);
    const kiln_stmt *then = s->u.branch.then, *otherwise = s->u.branch.otherwise;
    int64_t v = 0;
    if (kiln_x_is_int(cond, &v)) {
        const kiln_stmt *taken = v != 0 ? then : otherwise;
        return taken != NULL ? kiln_walk_stmt(w, taken) : kiln_s_nothing(w->arena);
    }
    const kiln_walk_mark mark = kiln_walk_save(w);
    kiln_walk_assume(w, cond, true);
    then = kiln_walk_stmt(w, then);
    kiln_walk_restore(w, mark);
    if (otherwise != NULL) {
        kiln_walk_assume(w, cond, false);
        otherwise = kiln_walk_stmt(w, otherwise);
        kiln_walk_restore(w, mark);
    }
    if (cond == s->u.branch.cond && then == s->u.branch.then &&
        otherwise == s->u.branch.otherwise)
        return s;
    return kiln_s_if(w->arena, cond, then, otherwise);
}

static const kiln_stmt *walk_part(void *user, kiln_arena *a, const kiln_stmt *s) {
    (void)a;
    return kiln_walk_stmt(user, s);
}

static const kiln_expr *walk_expr(void *user, kiln_arena *a, const kiln_expr *e) {
    (void)a;
    return kiln_walk_expr(user, e);
}

static const kiln_stmt *walk_store(kiln_walk *w, const kiln_stmt *s) {
    const kiln_expr *index[KILN_MAX_AXES];
    const kiln_buffer *b = s->u.store.buffer;
    const kiln_expr *value = kiln_walk_expr(w, s->u.store.value);
    const kiln_expr *mask =
        s->u.store.mask != NULL ? kiln_walk_expr(w, s->u.store.mask) : NULL;
    bool changed = value != s->u.store.value || mask != s->u.store.mask;
    int64_t v = 0;
    for (int i = 0; i < b->rank; i++) {
        index[i] = kiln_walk_expr(w, s->u.store.index[i]);
        changed = changed || index[i] != s->u.store.index[i];
    }
    if (mask != NULL && kiln_x_is_int(mask, &v)) {
        if (v == 0)
            return kiln_s_nothing(w->arena);
        mask = NULL;
        changed = true;
    }
    return changed ? kiln_s_store(w->arena, b, index, value, mask) : s;
}

static const kiln_stmt *walk_let(kiln_walk *w, const kiln_stmt *s) {
    const kiln_expr *value = kiln_walk_expr(w, s->u.let.value);
    const kiln_walk_mark mark = kiln_walk_save(w);
    if (s->u.let.var->dtype == KILN_I64) {
        const kiln_interval in = kiln_interval_of(&w->ranges, value);
        kiln_ranges_push(&w->ranges, s->u.let.var, in.min, in.max);
    }
    const kiln_stmt *body = kiln_walk_stmt(w, s->u.let.body);
    kiln_walk_restore(w, mark);
    if (value == s->u.let.value && body == s->u.let.body)
        return s;
    return kiln_s_let(w->arena, s->u.let.var, value, body);
}

const kiln_stmt *kiln_walk_stmt(kiln_walk *w, const kiln_stmt *s) {
    const kiln_stmt_rewrite parts = {.stmt = walk_part, .expr = walk_expr, .user = w};
    if (w->status != KILN_OK)
        return s;
    switch (s->kind) {
    case KILN_STMT_FOR:
        return w->loop != NULL ? w->loop(w, s) : kiln_walk_loop(w, s);
    case KILN_STMT_IF:
        return w->branch != NULL ? w->branch(w, s) : kiln_walk_branch(w, s);
    case KILN_STMT_LET:
        return walk_let(w, s);
    case KILN_STMT_STORE:
        return walk_store(w, s);
    case KILN_STMT_SEQ:
    case KILN_STMT_ALLOC:
    case KILN_STMT_EVAL:
    case KILN_STMT_ATTR:
    case KILN_STMT_BARRIER:
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        return kiln_stmt_map(w->arena, s, &parts);
    }
    return s;
}

/* ---- what decides how much is done ----------------------------------------------- */

typedef struct steering {
    const kiln_var *var;
    bool steers;
} steering;

static void find_use(void *user, const kiln_expr *e) {
    steering *x = user;
    x->steers = x->steers || kiln_expr_uses(e, x->var);
}

bool kiln_stmt_steers(const kiln_stmt *s, const kiln_var *v) {
    const kiln_stmt *part = NULL;
    steering x = {v, false};
    if (s->kind == KILN_STMT_FOR || s->kind == KILN_STMT_IF)
        kiln_stmt_exprs(s, find_use, &x);
    for (int i = 0; !x.steers && (part = kiln_stmt_part(s, i)) != NULL; i++)
        x.steers = kiln_stmt_steers(part, v);
    return x.steers || (s->kind == KILN_STMT_LET && kiln_expr_uses(s->u.let.value, v) &&
                        kiln_stmt_steers(s->u.let.body, s->u.let.var));
}
