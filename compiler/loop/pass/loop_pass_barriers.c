/* barriers: puts barriers where threads of a block depend on each other, and nowhere
 * else.
 *
 * A launch is walked with the accesses since which no barrier has been passed. Where two
 * threads may meet at one element (meet.c), and one of them writes, a barrier goes
 * between: as far out as it separates the two, and late there. Loop bodies are walked
 * twice, the second time behind themselves. At the end each barrier is tried without:
 * what others do already goes.
 *
 * Blocks that take different branches are looked at one kind after another; a branch that
 * iterations of one loop take differently counts as taken or not.
 *
 * Barriers stand where all threads of the block come. A dependence inside a branch or a
 * loop that differs between threads is refused. */
#include "compiler/loop/sites.h"
#include "compiler/loop/loop_walk.h"

#include <string.h>

typedef KILN_VEC(kiln_pending) pendings;

typedef struct met {
    kiln_pending pending;
    const kiln_touch *touch;
    const kiln_blocks *blocks;
    kiln_meeting meeting;
} met;

enum { MAX_BLOCKS = 4096, MAX_KINDS = 8 }; /* more: no branch is decided by the block */

typedef struct search {
    kiln_arena *arena;
    int64_t extent[KILN_N_AXES];
    KILN_VEC(const kiln_var *) varying; /* differ between threads of a block */
    KILN_VEC(const kiln_buffer *) own;  /* memory of one thread */
    unsigned bound;
    int n_touches;
    KILN_VEC(const kiln_site *) choices;
    kiln_blocks kinds[MAX_KINDS];
    int n_kinds;
    const kiln_blocks *blocks; /* that are looked at */
    KILN_VEC(met) cache;
    KILN_VEC(kiln_site *) with_barrier;
    bool is_trial; /* places none: says in `conflicts` whether one were needed */
    bool conflicts;
    kiln_status status;
    kiln_err *err;
} search;

/* ---- the places of a launch ------------------------------------------------------ */

static void find_extent(void *user, const kiln_stmt *s) {
    search *x = user;
    int64_t n = 0;
    if (s->kind != KILN_STMT_FOR || s->u.loop.kind != KILN_LOOP_THREAD ||
        x->status != KILN_OK)
        return;
    const int axis = kiln_launch_axis_of(s->u.loop.tag);
    if (axis < 0 || !kiln_x_is_int(s->u.loop.extent, &n))
        x->status =
            kiln_fail(x->err, KILN_ERR_ARG,
                      "thread loop '%s' must be bound to an axis that there is, "
                      "and have a constant extent",
                      s->u.loop.var->name);
    else if (n > x->extent[axis])
        x->extent[axis] = n;
}

typedef struct variation {
    const search *x;
    bool varies;
} variation;

static void find_variation(void *user, const kiln_expr *e) {
    variation *v = user;
    v->varies = v->varies || e->kind == KILN_EXPR_LOAD;
    for (size_t i = 0; i < v->x->varying.n && e->kind == KILN_EXPR_VAR; i++)
        v->varies = v->varies || v->x->varying.v[i] == e->u.var;
}

static bool varies(const search *x, const kiln_expr *e) {
    variation v = {x, false};
    kiln_expr_visit(e, find_variation, &v);
    return v.varies;
}

typedef struct gathering {
    search *x;
    kiln_site *at;
    KILN_VEC(kiln_touch) list;
} gathering;

/* One thread is never behind the others of its block. */
static bool is_alone(const search *x) {
    return x->extent[KILN_AXIS_THREAD_X] == 1 && x->extent[KILN_AXIS_THREAD_Y] == 1 &&
           x->extent[KILN_AXIS_THREAD_Z] == 1;
}

static bool is_own(const search *x, const kiln_buffer *b) {
    if (is_alone(x))
        return true;
    if (b->scope != KILN_SCOPE_SHARED && b->scope != KILN_SCOPE_GLOBAL &&
        b->scope != KILN_SCOPE_FRAGMENT)
        return true;
    for (size_t i = 0; i < x->own.n; i++)
        if (x->own.v[i] == b)
            return true;
    return false;
}

static void gather(gathering *g, kiln_touch t) {
    if (is_own(g->x, t.buffer))
        return;
    t.at = g->at;
    t.number = g->x->n_touches++;
    kiln_vec_push(g->x->arena, &g->list, t);
}

static void gather_load(void *user, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_LOAD)
        gather(user, (kiln_touch){.buffer = e->u.load.buffer,
                                  .index = e->arg,
                                  .mask = e->u.load.mask});
}

/* A prefetch touches nothing. */
static void gather_reads(void *user, const kiln_expr *e) {
    if (e->kind != KILN_EXPR_CALL || kiln_intrin_get(e->u.intrin)->is_pure)
        kiln_expr_visit(e, gather_load, user);
}

/* What a call declares: it touches all elements of a block. */
static void gather_block(gathering *g, const kiln_stmt *s, int arg) {
    kiln_arena *a = g->x->arena;
    const kiln_expr *place = s->u.call.arg[arg];
    const kiln_buffer *b = place->u.load.buffer;
    const kiln_effect effect = kiln_program_effect(s->u.call.program, arg);
    const int64_t n = kiln_buffer_elems(s->u.call.program->arg[arg]);
    const kiln_expr **index = kiln_array(a, const kiln_expr *, b->rank);
    for (int i = 0; i < b->rank; i++) {
        kiln_expr_visit(place->arg[i], gather_load, g);
        index[i] = place->arg[i];
    }
    if (n > 1 && n <= KILN_MAX_LANES && b->rank == 1)
        index[0] = kiln_x_ramp(a, place->arg[0], kiln_x_index(a, 1), (int)n);
    else if (n > 1 && b->rank > 0)
        index[0] = kiln_x_load(a, b, place->arg, b->rank, NULL); /* any */
    kiln_touch t = {.buffer = b, .index = index};
    if (effect.reads)
        gather(g, t);
    t.writes = true;
    if (effect.writes)
        gather(g, t);
}

static void gather_touches(search *x, kiln_site *p) {
    const kiln_stmt *s = p->stmt;
    gathering g = {.x = x, .at = p};
    if (s->kind == KILN_STMT_CALL) {
        const int n = s->u.call.program->n_args;
        for (int i = 0; i < n + s->u.call.program->n_params; i++)
            if (i < n)
                gather_block(&g, s, i);
            else
                gather_reads(&g, s->u.call.arg[i]);
    } else {
        kiln_stmt_exprs(s, gather_reads, &g);
    }
    if (s->kind == KILN_STMT_STORE)
        gather(&g, (kiln_touch){.buffer = s->u.store.buffer,
                                .index = s->u.store.index,
                                .mask = s->u.store.mask,
                                .writes = true});
    p->touch = g.list.v;
    p->n_touches = (int)g.list.n;
}

/* Do not all threads of the block do the parts, each as often and in order? */
static bool closes(const search *x, const kiln_stmt *s) {
    int64_t n = 0;
    if (s->kind == KILN_STMT_IF)
        return varies(x, s->u.branch.cond);
    if (s->kind == KILN_STMT_ATTR)
        return s->u.attr.key == KILN_STMT_ATTR_TENSORIZE;
    if (s->kind != KILN_STMT_FOR)
        return false;
    if (s->u.loop.kind == KILN_LOOP_THREAD) {
        (void)kiln_x_is_int(s->u.loop.extent, &n);
        return n < x->extent[kiln_launch_axis_of(s->u.loop.tag)];
    }
    return s->u.loop.kind == KILN_LOOP_PARALLEL ||
           s->u.loop.kind == KILN_LOOP_VECTORIZED || varies(x, s->u.loop.extent);
}

static void note_variable(search *x, const kiln_stmt *s) {
    if (s->kind == KILN_STMT_LET && varies(x, s->u.let.value))
        kiln_vec_push(x->arena, &x->varying, s->u.let.var);
    if (s->kind != KILN_STMT_FOR)
        return;
    const bool is_thread = s->u.loop.kind == KILN_LOOP_THREAD;
    const int axis = is_thread ? kiln_launch_axis_of(s->u.loop.tag) : 0;
    if (varies(x, s->u.loop.min) || (is_thread && axis >= KILN_AXIS_THREAD_X))
        kiln_vec_push(x->arena, &x->varying, s->u.loop.var);
    if (is_thread)
        x->bound |= 1u << axis;
}

static void note_memory(search *x, const kiln_stmt *s) {
    bool is_one_threads = true;
    for (int i = 0; i < KILN_N_AXES; i++)
        is_one_threads =
            is_one_threads && (x->extent[i] == 1 || (x->bound >> i & 1u) != 0);
    if (s->u.alloc.buffer->scope == KILN_SCOPE_GLOBAL && is_one_threads)
        kiln_vec_push(x->arena, &x->own, s->u.alloc.buffer);
}

static kiln_site *sites_of(search *x, const kiln_stmt *s, kiln_site *parent, int branch,
                           kiln_site *closed) {
    const unsigned outside = x->bound;
    kiln_site *p = kiln_new(x->arena, kiln_site);
    const kiln_stmt *part = NULL;
    p->stmt = s;
    p->parent = parent;
    p->depth = parent == NULL ? 0 : parent->depth + 1;
    p->branch = branch;
    p->open = closed != NULL ? closed : p;
    p->choice = -1;
    if (s->kind == KILN_STMT_IF && !varies(x, s->u.branch.cond)) {
        p->choice = (int)x->choices.n;
        kiln_vec_push(x->arena, &x->choices, (const kiln_site *)p);
    }
    gather_touches(x, p);
    if (closed == NULL && closes(x, s))
        closed = p;
    note_variable(x, s);
    if (s->kind == KILN_STMT_ALLOC)
        note_memory(x, s);
    while (kiln_stmt_part(s, p->n_parts) != NULL)
        p->n_parts++;
    p->part = kiln_array(x->arena, kiln_site *, p->n_parts);
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        p->part[i] = sites_of(x, part, p, i, closed);
    x->bound = outside;
    return p;
}

/* ---- accesses since the last barrier --------------------------------------------- */

/* Of the barrier that orders its accesses: there is none for a warp alone. */
static unsigned bit_of(const kiln_buffer *b) {
    return 1u << (b->scope == KILN_SCOPE_FRAGMENT ? KILN_SCOPE_GLOBAL : b->scope);
}

static bool same_pending(const kiln_pending *p, const kiln_pending *q) {
    if (p->touch != q->touch || p->n != q->n)
        return false;
    for (int i = 0; i < p->n; i++)
        if (p->turn[i].loop != q->turn[i].loop || p->turn[i].turn != q->turn[i].turn)
            return false;
    return true;
}

static void add(search *x, pendings *set, const kiln_pending *p) {
    for (size_t i = 0; i < set->n; i++)
        if (same_pending(&set->v[i], p))
            return;
    kiln_vec_push(x->arena, set, *p);
}

static pendings copy(search *x, const pendings *set) {
    pendings out = {0};
    for (size_t i = 0; i < set->n; i++)
        kiln_vec_push(x->arena, &out, set->v[i]);
    return out;
}

static void pass(pendings *set, unsigned scopes) {
    size_t n = 0;
    for (size_t i = 0; i < set->n; i++)
        if ((bit_of(set->v[i].touch->buffer) & scopes) == 0)
            set->v[n++] = set->v[i];
    set->n = n;
}

static void turn(search *x, kiln_pending *p, const kiln_site *loop, kiln_turn how) {
    if (p->n == KILN_MAX_TURNS) {
        x->status = kiln_fail(x->err, KILN_ERR_LIMIT,
                              "too many loops, one inside the other, use '%s'",
                              p->touch->buffer->name);
        return;
    }
    p->turn[p->n].loop = loop;
    p->turn[p->n++].turn = how;
}

static kiln_meeting meeting(search *x, const kiln_pending *p, const kiln_touch *c) {
    for (size_t i = 0; i < x->cache.n; i++)
        if (x->cache.v[i].touch == c && x->cache.v[i].blocks == x->blocks &&
            same_pending(&x->cache.v[i].pending, p))
            return x->cache.v[i].meeting;
    const met m = {*p, c, x->blocks, kiln_meet(x->arena, x->blocks, p, c)};
    kiln_vec_push(x->arena, &x->cache, m);
    return m.meeting;
}

/* ---- where a barrier goes -------------------------------------------------------- */

static bool is_in(const kiln_site *p, const kiln_site *x) {
    while (p != NULL && p != x)
        p = p->parent;
    return p != NULL;
}

/* Does a barrier before `at` stand between the two? */
static bool separates(const kiln_site *at, const kiln_pending *p) {
    for (int i = 0; i < p->n; i++)
        if (p->turn[i].turn <= KILN_TURN_LATER && p->turn[i].loop != at &&
            is_in(at, p->turn[i].loop))
            return true;
    return !is_in(p->touch->at, at);
}

static const kiln_site *toward(const kiln_site *from, const kiln_site *to) {
    while (to->parent != from)
        to = to->parent;
    return to;
}

static bool is_wrapper(const kiln_stmt *s) {
    return s->kind == KILN_STMT_SEQ || s->kind == KILN_STMT_LET ||
           s->kind == KILN_STMT_ALLOC || s->kind == KILN_STMT_ATTR;
}

static kiln_site *between(const kiln_pending *p, const kiln_touch *c) {
    const kiln_site *best = NULL;
    for (const kiln_site *at = c->at; at != NULL; at = at->parent)
        if (at->open == at && separates(at, p))
            best = at;
    while (best != NULL && best != c->at && is_wrapper(best->stmt) &&
           toward(best, c->at)->open == toward(best, c->at))
        best = toward(best, c->at);
    return (kiln_site *)(uintptr_t)best;
}

static bool is_same_turn(const kiln_pending *p) {
    for (int i = 0; i < p->n; i++)
        if (p->turn[i].turn <= KILN_TURN_LATER)
            return false;
    return true;
}

static void refuse(search *x, const kiln_touch *c, bool is_one_stmt) {
    const char *loop = "";
    for (const kiln_site *p = c->at->open; p != NULL && loop[0] == '\0'; p = p->parent)
        if (p->stmt->kind == KILN_STMT_FOR)
            loop = p->stmt->u.loop.var->name;
    x->status = kiln_fail(
        x->err, KILN_ERR_ARG,
        is_one_stmt
            ? "two threads touch one element of '%s' in one statement inside loop "
              "'%s', and one of them writes: no barrier can stand between"
            : "threads depend on each other by '%s' inside a branch or loop that not "
              "all threads of the block go through alike, inside loop '%s': no barrier "
              "can stand there",
        c->buffer->name, loop);
}

static bool is_done(const search *x) { return x->conflicts || x->status != KILN_OK; }

static void check(search *x, const pendings *set, const kiln_touch *c) {
    for (size_t i = 0; i < set->n && !is_done(x); i++) {
        const kiln_pending *p = &set->v[i];
        if (p->touch->buffer != c->buffer || (!p->touch->writes && !c->writes))
            continue;
        const kiln_meeting m = meeting(x, p, c);
        if (m == KILN_MEET_NEVER)
            continue;
        kiln_site *at = between(p, c);
        const bool is_one_stmt = p->touch->at == c->at && is_same_turn(p);
        if (at == NULL && (!is_one_stmt || m == KILN_MEET_SURELY))
            refuse(x, c, is_one_stmt);
        if (at == NULL)
            continue;
        x->conflicts = true;
        if (x->is_trial)
            return;
        if (at->barriers == 0)
            kiln_vec_push(x->arena, &x->with_barrier, at);
        at->barriers |= bit_of(c->buffer);
    }
}

/* ---- the walk -------------------------------------------------------------------- */

/* Which side the blocks take: 0: not the first; -1: nobody knows. */
static int taken(const search *x, const kiln_site *p) {
    return p->choice < 0 ? -1 : x->blocks->taken[p->choice];
}

/* Is a barrier for the scope passed, whatever the data? */
static bool surely_waits(const search *x, const kiln_site *p, unsigned scope) {
    const kiln_stmt *s = p->stmt;
    int64_t n = 0;
    if ((p->barriers & scope) != 0 ||
        (s->kind == KILN_STMT_BARRIER && (1u << s->u.barrier & scope) != 0))
        return true;
    if (s->kind == KILN_STMT_IF)
        return (taken(x, p) == 0 || surely_waits(x, p->part[0], scope)) &&
               (taken(x, p) == 1 ||
                (p->n_parts == 2 && surely_waits(x, p->part[1], scope)));
    if (s->kind == KILN_STMT_FOR && (!kiln_x_is_int(s->u.loop.extent, &n) || n < 1))
        return false;
    for (int i = 0; i < p->n_parts; i++)
        if (surely_waits(x, p->part[i], scope))
            return true;
    return false;
}

static void walk(search *x, const kiln_site *p, pendings *set);

/* The place of "has been in this loop since it began"; -1: it is of the loop itself. */
static int since(const kiln_pending *p, const kiln_site *loop) {
    for (int i = 0; i < p->n; i++)
        if (p->turn[i].loop == loop && p->turn[i].turn >= KILN_TURN_INSIDE)
            return i;
    return -1;
}

static void again(search *x, const kiln_site *p, const pendings *own) {
    pendings carried = {0};
    for (size_t i = 0; i < own->n; i++) {
        kiln_pending q = own->v[i];
        turn(x, &q, p,
             surely_waits(x, p->part[0], bit_of(q.touch->buffer)) ? KILN_TURN_NEXT
                                                                  : KILN_TURN_LATER);
        kiln_vec_push(x->arena, &carried, q);
    }
    walk(x, p->part[0], &carried);
}

static void walk_loop(search *x, const kiln_site *p, pendings *set) {
    pendings body = copy(x, set), own = {0};
    int64_t n = 0;
    const bool is_const = kiln_x_is_int(p->stmt->u.loop.extent, &n);
    for (size_t i = 0; i < body.n; i++)
        turn(x, &body.v[i], p,
             surely_waits(x, p->part[0], bit_of(body.v[i].touch->buffer))
                 ? KILN_TURN_FIRST
                 : KILN_TURN_INSIDE);
    walk(x, p->part[0], &body);
    if (is_const && n >= 1)
        set->n = 0; /* else it may be passed by */
    for (size_t i = 0; i < body.n; i++) {
        kiln_pending q = body.v[i];
        const int at = since(&q, p);
        if (at < 0) {
            kiln_vec_push(x->arena, &own, q);
            continue;
        }
        memmove(&q.turn[at], &q.turn[at + 1],
                (size_t)(q.n - at - 1) * sizeof q.turn[0]);
        q.n--;
        add(x, set, &q);
    }
    if (!is_done(x) && !(is_const && n <= 1))
        again(x, p, &own);
    for (size_t i = 0; i < own.n; i++) {
        if (surely_waits(x, p->part[0], bit_of(own.v[i].touch->buffer)))
            turn(x, &own.v[i], p, KILN_TURN_LAST);
        add(x, set, &own.v[i]);
    }
}

static void walk_branch(search *x, const kiln_site *p, pendings *set) {
    const int side = taken(x, p);
    if (side >= 0) {
        if (1 - side < p->n_parts)
            walk(x, p->part[1 - side], set);
        return;
    }
    pendings then = copy(x, set);
    const pendings before = copy(x, set);
    walk(x, p->part[0], &then);
    /* Threads that differ take both. */
    const bool differs = varies(x, p->stmt->u.branch.cond);
    if (p->n_parts == 2) {
        pendings otherwise = copy(x, differs ? &then : &before);
        walk(x, p->part[1], &otherwise);
        *set = otherwise;
    }
    for (size_t i = 0; i < then.n; i++)
        add(x, set, &then.v[i]);
}

static void walk(search *x, const kiln_site *p, pendings *set) {
    const kiln_stmt *s = p->stmt;
    if (is_done(x))
        return;
    pass(set, p->barriers);
    if (s->kind == KILN_STMT_BARRIER)
        pass(set, 1u << s->u.barrier);
    for (int i = 0; i < p->n_touches; i++) {
        const kiln_pending here = {.touch = &p->touch[i]};
        add(x, set, &here);
        check(x, set, &p->touch[i]);
    }
    if (s->kind == KILN_STMT_FOR && s->u.loop.kind != KILN_LOOP_THREAD)
        walk_loop(x, p, set);
    else if (s->kind == KILN_STMT_IF)
        walk_branch(x, p, set);
    else
        for (int i = 0; i < p->n_parts; i++)
            walk(x, p->part[i], set);
}

/* ---- the pass -------------------------------------------------------------------- */

static bool has_conflict(search *x, const kiln_site *root) {
    x->conflicts = false;
    for (int i = 0; i < x->n_kinds && !is_done(x); i++) {
        pendings set = {0};
        x->blocks = &x->kinds[i];
        walk(x, root, &set);
    }
    return x->conflicts && x->status == KILN_OK;
}

/* Adds the block to those that take the same branches; false: there are too many kinds. */
static bool add_block(search *x, int64_t number, int64_t n) {
    const size_t n_choices = x->choices.n;
    signed char *does = kiln_array(x->arena, signed char, n_choices + 1);
    int i = 0;
    for (size_t k = 0; k < n_choices; k++)
        does[k] = kiln_block_takes(x->choices.v[k], x->extent, number);
    while (i < x->n_kinds && memcmp(x->kinds[i].taken, does, n_choices) != 0)
        i++;
    if (i == MAX_KINDS)
        return false;
    int64_t *list = NULL;
    if (i == x->n_kinds) {
        list = kiln_array(x->arena, int64_t, n);
        x->kinds[x->n_kinds++] = (kiln_blocks){x->extent, list, 0, does};
    } else {
        list = (int64_t *)(uintptr_t)x->kinds[i].block;
    }
    list[x->kinds[i].n++] = number;
    return true;
}

static void find_kinds(search *x) {
    const int64_t *e = x->extent;
    const bool is_small = e[0] <= MAX_BLOCKS && e[1] <= MAX_BLOCKS / e[0] &&
                          e[2] <= MAX_BLOCKS / (e[0] * e[1]);
    const int64_t n = is_small ? e[0] * e[1] * e[2] : 0;
    int64_t i = 0;
    while (i < n && add_block(x, i, n))
        i++;
    if (is_small && i == n)
        return;
    signed char *unknown = kiln_array(x->arena, signed char, x->choices.n + 1);
    memset(unknown, -1, x->choices.n + 1);
    x->n_kinds = 1;
    x->kinds[0] = (kiln_blocks){x->extent, NULL, is_small ? n : INT64_MAX, unknown};
}

/* What other barriers do already goes. */
static void without_needless(search *x, const kiln_site *root) {
    x->is_trial = true;
    for (size_t i = 0; i < x->with_barrier.n; i++)
        for (unsigned scope = 0; scope <= KILN_SCOPE_SHARED; scope++) {
            kiln_site *p = x->with_barrier.v[i];
            const unsigned had = p->barriers;
            p->barriers &= ~(1u << scope);
            if (p->barriers != had && has_conflict(x, root))
                p->barriers = had;
        }
}

typedef struct rebuilding {
    kiln_site *const *part;
} rebuilding;

static const kiln_stmt *rebuilt(kiln_arena *a, const kiln_site *p);

static const kiln_stmt *rebuilt_part(void *user, kiln_arena *a, const kiln_stmt *s) {
    rebuilding *r = user;
    (void)s;
    return rebuilt(a, *r->part++);
}

static const kiln_stmt *rebuilt(kiln_arena *a, const kiln_site *p) {
    rebuilding r = {p->part};
    const kiln_stmt *s = kiln_stmt_map(
        a, p->stmt, &(kiln_stmt_rewrite){.stmt = rebuilt_part, .user = &r});
    KILN_ASSERT(r.part == p->part + p->n_parts, "%d parts were rebuilt of %d",
                (int)(r.part - p->part), p->n_parts);
    for (unsigned scope = 0; scope <= KILN_SCOPE_SHARED; scope++) {
        if ((p->barriers >> scope & 1u) == 0)
            continue;
        const kiln_stmt *both[] = {kiln_s_barrier(a, (kiln_scope)scope), s};
        s = kiln_s_seq(a, both, 2);
    }
    return s;
}

typedef struct launches {
    kiln_arena sites; /* of what stands around launches */
    kiln_site *around;
    kiln_status status;
    kiln_err *err;
} launches;

static const kiln_stmt *each(void *user, kiln_arena *a, const kiln_stmt *s);

/* Which part of what stands around s is. */
static int branch_of(const launches *l, const kiln_stmt *s) {
    int i = 0;
    while (l->around != NULL && kiln_stmt_part(l->around->stmt, i) != s) {
        KILN_ASSERT(kiln_stmt_part(l->around->stmt, i) != NULL,
                    "a statement is no part of what stands around it");
        i++;
    }
    return i;
}

/* No barrier goes there, but what is bound there is the same for all threads. */
static const kiln_stmt *outside(launches *l, kiln_arena *a, const kiln_stmt *s) {
    kiln_site *parent = l->around, *p = kiln_new(&l->sites, kiln_site);
    *p = (kiln_site){.stmt = s,
                     .parent = parent,
                     .depth = parent == NULL ? 0 : parent->depth + 1,
                     .branch = branch_of(l, s),
                     .choice = -1};
    l->around = p;
    s = kiln_stmt_map(a, s, &(kiln_stmt_rewrite){.stmt = each, .user = l});
    l->around = parent;
    return s;
}

static const kiln_stmt *each(void *user, kiln_arena *a, const kiln_stmt *s) {
    launches *l = user;
    if (l->status != KILN_OK)
        return s;
    if (s->kind != KILN_STMT_FOR || s->u.loop.kind != KILN_LOOP_THREAD)
        return outside(l, a, s);
    kiln_arena scratch;
    kiln_arena_init(&scratch);
    search x = {.arena = &scratch, .extent = {1, 1, 1, 1, 1, 1}, .err = l->err};
    kiln_stmt_visit(s, find_extent, &x);
    if (x.status == KILN_OK) {
        const kiln_site *root = sites_of(&x, s, l->around, branch_of(l, s), NULL);
        find_kinds(&x);
        while (has_conflict(&x, root))
            continue;
        if (x.status == KILN_OK)
            without_needless(&x, root);
        if (x.status == KILN_OK && x.with_barrier.n > 0)
            s = rebuilt(a, root);
    }
    l->status = x.status;
    kiln_arena_fini(&scratch);
    return s;
}

static void find_thread(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD);
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    launches l = {.err = err};
    bool has_any = false;
    (void)o;
    kiln_stmt_visit(p->body, find_thread, &has_any);
    if (!has_any)
        return KILN_OK;
    kiln_arena_init(&l.sites);
    const kiln_stmt *body = each(&l, p->arena, p->body);
    kiln_arena_fini(&l.sites);
    if (l.status == KILN_OK)
        p->body = body;
    return l.status;
}

const kiln_loop_pass kiln_loop_pass_barriers = {
    .name = "barriers",
    .doc = "makes threads of a block wait where they depend on each other",
    .run = run,
};
