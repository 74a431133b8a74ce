/* vthread: virtual threads become one stream of instructions in which their statements
 * take turns (TVM section 4.4): while one waits for memory, the next has work.
 *
 * Virtual threads are independent, so any order is right that keeps the order of each.
 * The loop over them is distributed over its body: it moves inside the loops, branches
 * and lets that are the same for all of them, down to each statement, where it becomes
 * an unrolled loop. What the body allocates gets one more axis in front, since each
 * thread has its own. A loop or branch that differs between threads stays whole. Shared
 * memory that each of them would fill with the same stays one, which is filled once.
 *
 *   vthread t in 0 .. +2 {             alloc al: f32[2, 8] {
 *     alloc al: f32[8] {                 for k in 0 .. +128 {
 *       for k in 0 .. +128 {               unroll t in 0 .. +2 {
 *         al[0] = a[k, t*8]                  al[t, 0] = a[k, t*8]
 *         cl[t] = cl[t] + al[0]            }
 *       }                                  unroll t in 0 .. +2 {
 *     }                                      cl[t] = cl[t] + al[t, 0]
 *   }                                      }}} */
#include "compiler/loop/copies.h"
#include "compiler/loop/loop_walk.h"

typedef struct interleave {
    kiln_arena *arena;
    const kiln_stmt *loop; /* over the virtual threads */
    int64_t n;
    kiln_copies own;                    /* each thread's memory */
    KILN_VEC(const kiln_buffer *) same; /* memory that they fill with the same */
    kiln_status status;
    kiln_err *err;
} interleave;

static const kiln_buffer *expand(interleave *t, const kiln_buffer *b) {
    const kiln_buffer *made = kiln_copies_make(&t->own, b, t->n);
    if (made != NULL)
        return made;
    t->status = kiln_fail(t->err, KILN_ERR_LIMIT,
                          "buffer '%s' must have fewer than %d axes to be made for "
                          "each virtual thread of '%s'",
                          b->name, KILN_MAX_AXES, t->loop->u.loop.var->name);
    return b;
}

static bool is_same(const interleave *t, const kiln_buffer *b) {
    for (size_t i = 0; i < t->same.n; i++)
        if (t->same.v[i] == b)
            return true;
    return false;
}

/* What is stored to a buffer, and what else decides that. */
typedef struct filling {
    const interleave *t;
    const kiln_buffer *buffer;
    bool differs;
} filling;

static void find_write_to(void *user, const kiln_buffer *b) {
    filling *f = user;
    f->differs = f->differs || b == f->buffer;
}

static void find_write(void *user, const kiln_stmt *s) {
    kiln_stmt_writes(s, find_write_to, user);
}

/* A load of what the virtual threads store, but for what is the same for all. */
static void find_changed(void *user, const kiln_expr *e) {
    filling *f = user;
    filling inside = {f->t, e->kind == KILN_EXPR_LOAD ? e->u.load.buffer : NULL, false};
    if (inside.buffer != NULL && !is_same(f->t, inside.buffer))
        kiln_stmt_visit(f->t->loop, find_write, &inside);
    f->differs = f->differs || inside.differs;
}

static void look_at(void *user, const kiln_expr *e) {
    filling *f = user;
    f->differs = f->differs || kiln_expr_uses(e, f->t->loop->u.loop.var);
    kiln_expr_visit(e, find_changed, f);
}

/* Is it filled in s? Looks at all that decides with what. */
static bool fills(filling *f, const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    bool is_filled = s->kind == KILN_STMT_STORE && s->u.store.buffer == f->buffer;
    if (kiln_stmt_is_call(s))
        find_write(f, s);
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        is_filled = fills(f, part) || is_filled;
    if (is_filled)
        kiln_stmt_exprs(s, look_at, f);
    return is_filled;
}

static bool is_filled_alike(const interleave *t, const kiln_stmt *s) {
    filling f = {t, s->u.alloc.buffer, s->u.alloc.buffer->scope != KILN_SCOPE_SHARED};
    return !f.differs && fills(&f, s->u.alloc.body) && !f.differs;
}

/* All of the statement, thread after thread. */
static const kiln_stmt *turns(interleave *t, const kiln_stmt *s) {
    return kiln_s_for(t->arena, t->loop->u.loop.var, t->loop->u.loop.min,
                      t->loop->u.loop.extent, KILN_LOOP_UNROLLED, NULL,
                      kiln_copies_used(&t->own, s));
}

typedef struct difference {
    const interleave *t;
    bool differs;
} difference;

/* What is loaded may be what a thread has stored. */
static void find_difference(void *user, const kiln_expr *e) {
    difference *d = user;
    d->differs = d->differs || kiln_expr_loads(e, NULL) ||
                 kiln_expr_uses(e, d->t->loop->u.loop.var);
}

static const kiln_stmt *interleaved(interleave *t, const kiln_stmt *s);

static const kiln_stmt *interleaved_part(void *user, kiln_arena *a,
                                         const kiln_stmt *s) {
    (void)a;
    return interleaved(user, s);
}

static const kiln_stmt *interleaved(interleave *t, const kiln_stmt *s) {
    difference d = {t, false};
    const kiln_buffer *own = NULL;
    if (t->status != KILN_OK)
        return s;
    switch (s->kind) {
    case KILN_STMT_STORE:
        return is_same(t, s->u.store.buffer) ? s : turns(t, s);
    case KILN_STMT_EVAL:
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        return turns(t, s);
    case KILN_STMT_ALLOC:
        if (is_filled_alike(t, s)) {
            kiln_vec_push(t->arena, &t->same, s->u.alloc.buffer);
            break;
        }
        own = expand(t, s->u.alloc.buffer);
        return kiln_s_alloc(t->arena, own, interleaved(t, s->u.alloc.body));
    case KILN_STMT_ATTR: /* a tensor intrinsic is one statement */
        if (s->u.attr.key == KILN_STMT_ATTR_DOUBLE_BUFFER)
            return kiln_s_attr(t->arena, s->u.attr.key, s->u.attr.text,
                               kiln_copies_of(&t->own, s->u.attr.buffer),
                               s->u.attr.value, interleaved(t, s->u.attr.body));
        if (s->u.attr.key == KILN_STMT_ATTR_TENSORIZE || s->u.attr.buffer != NULL)
            return turns(t, s);
        break;
    case KILN_STMT_BARRIER: /* once for all: they are one thread */
        return s;
    case KILN_STMT_FOR:
    case KILN_STMT_SEQ:
    case KILN_STMT_IF:
    case KILN_STMT_LET:
        break;
    }
    kiln_stmt_exprs(s, find_difference, &d);
    return d.differs ? turns(t, s)
                     : kiln_stmt_map(
                           t->arena, s,
                           &(kiln_stmt_rewrite){.stmt = interleaved_part, .user = t});
}

/* ---- the pass -------------------------------------------------------------------- */

typedef struct lowering {
    kiln_status status;
    kiln_err *err;
} lowering;

/* Inner virtual threads are done. */
static const kiln_stmt *visit(void *user, kiln_arena *a, const kiln_stmt *s) {
    lowering *l = user;
    interleave t = {.arena = a, .loop = s, .err = l->err};
    if (l->status != KILN_OK || s->kind != KILN_STMT_FOR ||
        s->u.loop.kind != KILN_LOOP_VTHREAD)
        return s;
    if (!kiln_x_is_int(s->u.loop.extent, &t.n)) {
        l->status = kiln_fail(l->err, KILN_ERR_ARG,
                              "the number of virtual threads of '%s' must be a "
                              "constant; split the loop",
                              s->u.loop.var->name);
        return s;
    }
    t.own = (kiln_copies){
        .arena = a,
        .which = kiln_x_sub(a, kiln_x_ref(a, s->u.loop.var), s->u.loop.min)};
    const kiln_stmt *made = interleaved(&t, s->u.loop.body);
    l->status = t.status;
    return l->status == KILN_OK ? made : s;
}

static void find_vthread(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found =
        *found || (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_VTHREAD);
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    lowering l = {.err = err};
    bool has_any = false;
    (void)o;
    kiln_stmt_visit(p->body, find_vthread, &has_any);
    if (!has_any)
        return KILN_OK;
    const kiln_stmt *body = kiln_stmt_rewritten(
        p->arena, p->body, &(kiln_stmt_rewrite){.stmt = visit, .user = &l});
    if (l.status == KILN_OK)
        p->body = body;
    return l.status;
}

const kiln_loop_pass kiln_loop_pass_vthread = {
    .name = "vthread",
    .doc = "lets virtual threads take turns statement by statement",
    .run = run,
};
