/* double_buffer: what fills a marked buffer does so one iteration ahead, into the half
 * that is not in use.
 *
 * A mark stands around what fills a buffer in each iteration of a serial loop. The
 * buffer gets two halves, in front of the loop the first is filled; each iteration fills
 * the next half, unless it is the last, and uses the other. Where threads share the
 * buffer, the pass `barriers` finds that one barrier an iteration is enough.
 *
 *   for k in 0 .. +9 {                     alloc s: f32[2, 8] shared {
 *     alloc s: f32[8] shared {               s[0, t] = a[0, t]
 *       @double_buffer on s {                for k in 0 .. +9 {
 *         s[t] = a[k, t]                       if k + 1 < 9 {
 *       }                                        s[(k + 1) % 2, t] = a[k + 1, t]
 *       c[t] = c[t] + s[7 - t]                 }
 *     }                                        c[t] = c[t] + s[k % 2, 7 - t]
 *   }                                        }}
 *
 * Where one buffer is filled from another, threads may have to wait between, and a
 * barrier that only some iterations come to tells little of those around it: the last
 * iteration is peeled off instead, if it is known which it is.
 *
 * With more than two copies it is filled so many iterations ahead, as deep pipelines want it:
 * as many fills stand in front of the loop, and copy k % n is used. Where what fills need
 * not wait, each turn's fills are a group (KILN_STMT_ATTR_ASYNC), of iterations behind the
 * last one too, so that barriers can count: n - 2 groups may be on their way when one is
 * passed, and each turn begins with one.
 *
 * Where what uses the copies are products that may go on ("async 0": until the next turn,
 * "async 1": one more), they are a group too (KILN_STMT_ATTR_PRODUCTS), which stands before
 * the fills. The copy that those of the iteration before read is not filled yet: one less is
 * ahead, and an empty group behind the loop makes the next barrier wait for the last.
 *
 * What fills the buffer may read what the loop does not write, and buffers that are
 * filled ahead before it. Anything else is refused, and so is a mark in no serial loop. */
#include "compiler/loop/copies.h"
#include "compiler/loop/loop_words.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_COPIES = 8 };

/* One mark of a loop. */
typedef struct member {
    const kiln_buffer
        *buffer[KILN_MAX_AXES]; /* marks right inside each other are one */
    int n;
    const kiln_stmt *mark;
    const kiln_stmt *fill; /* in the branches and lets between the loop and it */
} member;

typedef struct halving {
    kiln_arena *arena;
    const kiln_stmt *loop;
    KILN_VEC(const kiln_stmt *) path;    /* from its body down */
    KILN_VEC(const kiln_buffer *) alloc; /* in its body, in no loop further in */
    KILN_VEC(member) member;
    int64_t copies; /* of each member */
    int64_t behind; /* iterations whose products may go on: 0 or 1 */
    bool multiplies;
    bool is_async;
    kiln_status status;
    kiln_err *err;
} halving;

#define REFUSE(h, ...)                                                                 \
    ((h)->status = (h)->status != KILN_OK ? (h)->status                                \
                                          : kiln_fail((h)->err, KILN_ERR_ARG,          \
                                                      "double_buffer: " __VA_ARGS__))

static bool is_mark(const kiln_stmt *s) {
    return s->kind == KILN_STMT_ATTR && s->u.attr.key == KILN_STMT_ATTR_DOUBLE_BUFFER;
}

static bool is_one_of(const kiln_buffer *const *list, size_t n, const kiln_buffer *b) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == b)
            return true;
    return false;
}

/* ---- the marks of a loop --------------------------------------------------------- */

/* What is between the loop and the mark, around what fills the buffer. */
static const kiln_stmt *in_path(halving *h, const kiln_stmt *fill) {
    kiln_arena *a = h->arena;
    const kiln_stmt *inside = fill;
    for (size_t i = h->path.n; i-- > 0;) {
        const kiln_stmt *s = h->path.v[i],
                        *below = i + 1 < h->path.n ? h->path.v[i + 1] : NULL;
        const bool is_else =
            s->kind == KILN_STMT_IF && below != NULL && below == s->u.branch.otherwise;
        if (s->kind == KILN_STMT_IF)
            inside = kiln_s_if(
                a, is_else ? kiln_x_not(a, s->u.branch.cond) : s->u.branch.cond, inside,
                NULL);
        else if (s->kind == KILN_STMT_LET)
            inside = kiln_s_let(a, s->u.let.var, s->u.let.value, inside);
    }
    return inside;
}

/* How many copies; all members of a loop have as many. */
static void read_copies(halving *h, const kiln_stmt *mark) {
    int64_t n = 2;
    const bool is_async = mark->u.attr.text != NULL;
    const bool multiplies = is_async && strncmp(mark->u.attr.text, "async ", 6) == 0;
    const int64_t behind = multiplies && strcmp(mark->u.attr.text, "async 1") == 0;
    if (mark->u.attr.value != NULL && !kiln_x_is_int(mark->u.attr.value, &n))
        n = 0;
    if (n < 2 + behind || n > MAX_COPIES)
        REFUSE(h, "a buffer must have %d to %d copies, '%s' has another number",
               (int)(2 + behind), MAX_COPIES, mark->u.attr.buffer->name);
    else if (h->copies != 0 && (h->copies != n || h->is_async != is_async ||
                                h->behind != behind || h->multiplies != multiplies))
        REFUSE(h,
               "buffers that one loop fills ahead must all be as far ahead, and wait "
               "alike: '%s' is not",
               mark->u.attr.buffer->name);
    h->copies = n;
    h->is_async = is_async;
    h->behind = behind;
    h->multiplies = multiplies;
}

static void add_mark(halving *h, const kiln_stmt *s) {
    member m = {.mark = s};
    for (; is_mark(s); s = s->u.attr.body) {
        if (m.n == KILN_MAX_AXES || s->u.attr.buffer == NULL) {
            REFUSE(h, "a mark must name a buffer, at most %d of them together",
                   KILN_MAX_AXES);
            return;
        }
        m.buffer[m.n++] = s->u.attr.buffer;
    }
    if (!is_one_of(h->alloc.v, h->alloc.n, m.buffer[0]))
        return; /* of a loop further out, or of none */
    read_copies(h, m.mark);
    m.fill = in_path(h, s);
    kiln_vec_push(h->arena, &h->member, m);
}

static void find_marks(halving *h, const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    if (s->kind == KILN_STMT_FOR)
        return; /* what it allocates is filled for its own iterations */
    if (is_mark(s)) {
        kiln_vec_push(h->arena, &h->path, s);
        add_mark(h, s);
        h->path.n--;
        return;
    }
    if (s->kind == KILN_STMT_ALLOC)
        kiln_vec_push(h->arena, &h->alloc, s->u.alloc.buffer);
    kiln_vec_push(h->arena, &h->path, s);
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        find_marks(h, part);
    h->path.n--;
}

/* ---- may it be done ahead? ------------------------------------------------------- */

typedef KILN_VEC(const kiln_buffer *) buffers;

typedef struct access {
    kiln_arena *arena;
    const kiln_stmt *without;   /* not looked into */
    buffers reads, writes, own; /* own: allocated there */
} access;

static void note(access *x, buffers *list, const kiln_buffer *b) {
    if (!is_one_of(list->v, list->n, b))
        kiln_vec_push(x->arena, list, b);
}

static void note_load(void *user, const kiln_expr *e) {
    access *x = user;
    if (e->kind == KILN_EXPR_LOAD)
        note(x, &x->reads, e->u.load.buffer);
}

static void note_expr(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, note_load, user);
}

static void note_written(void *user, const kiln_buffer *b) {
    access *x = user;
    note(x, &x->writes, b);
}

static void find_accesses(access *x, const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    if (s == x->without)
        return;
    kiln_stmt_exprs(s, note_expr, x);
    kiln_stmt_writes(s, note_written, x);
    if (s->kind == KILN_STMT_ALLOC)
        note(x, &x->own, s->u.alloc.buffer);
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        find_accesses(x, part);
}

static bool is_filled_before(const halving *h, size_t i, const kiln_buffer *b) {
    for (size_t k = 0; k <= i; k++)
        if (is_one_of(h->member.v[k].buffer, (size_t)h->member.v[k].n, b))
            return true;
    return false;
}

static void check_member(halving *h, size_t i) {
    const member *m = &h->member.v[i];
    const char *loop = h->loop->u.loop.var->name, *name = m->buffer[0]->name;
    access fill = {.arena = h->arena}, rest = {.arena = h->arena, .without = m->mark};
    find_accesses(&fill, m->fill);
    find_accesses(&rest, h->loop->u.loop.body);
    for (int k = 0; k < m->n; k++)
        if (!is_one_of(h->alloc.v, h->alloc.n, m->buffer[k]) ||
            is_one_of(rest.writes.v, rest.writes.n, m->buffer[k]))
            REFUSE(h, "loop '%s' must write '%s' in one place, which is marked", loop,
                   m->buffer[k]->name);
    for (size_t k = 0; k < fill.writes.n; k++)
        if (!is_one_of(m->buffer, (size_t)m->n, fill.writes.v[k]) &&
            !is_one_of(fill.own.v, fill.own.n, fill.writes.v[k]))
            REFUSE(h,
                   "what fills '%s' in loop '%s' must write nothing else, but "
                   "writes '%s'",
                   name, loop, fill.writes.v[k]->name);
    for (size_t k = 0; k < fill.reads.n; k++)
        if (is_one_of(rest.writes.v, rest.writes.n, fill.reads.v[k]) &&
            !is_filled_before(h, i, fill.reads.v[k]) &&
            !is_one_of(fill.own.v, fill.own.n, fill.reads.v[k]))
            REFUSE(h,
                   "'%s' can't be filled ahead of loop '%s': it is filled from "
                   "'%s', which the loop writes; compute that elsewhere, or fill it "
                   "ahead as well",
                   name, loop, fill.reads.v[k]->name);
}

static void check_loop(halving *h) {
    const kiln_stmt *s = h->loop;
    if (s->u.loop.kind != KILN_LOOP_SERIAL && s->u.loop.kind != KILN_LOOP_UNROLLED)
        REFUSE(h,
               "'%s' is filled once in each iteration of %s loop '%s', which do not "
               "follow each other; compute it inside a serial loop",
               h->member.v[0].buffer[0]->name, kiln_loop_words[s->u.loop.kind],
               s->u.loop.var->name);
    for (size_t i = 0; i < h->member.n && h->status == KILN_OK; i++)
        check_member(h, i);
}

/* ---- rewriting ------------------------------------------------------------------- */

static bool is_halved(const halving *h, const kiln_buffer *b) {
    return h->member.n > 0 && is_filled_before(h, h->member.n - 1, b);
}

/* The body without marks and what they are around, and without the allocations. */
static const kiln_stmt *use_of(void *user, kiln_arena *a, const kiln_stmt *s) {
    const halving *h = user;
    if (is_mark(s) && is_halved(h, s->u.attr.buffer))
        return kiln_s_nothing(a);
    if (s->kind == KILN_STMT_ALLOC && is_halved(h, s->u.alloc.buffer))
        return s->u.alloc.body;
    return s;
}

static const kiln_stmt *unmarked(void *user, kiln_arena *a, const kiln_stmt *s) {
    const halving *h = user;
    (void)a;
    return is_mark(s) && is_halved(h, s->u.attr.buffer) ? s->u.attr.body : s;
}

/* All that is filled, in order, for iteration `at`. */
static const kiln_stmt *filled(halving *h, kiln_copies *halves, const kiln_expr *at) {
    const kiln_subst map = {h->loop->u.loop.var, at};
    const kiln_stmt **s = kiln_array(h->arena, const kiln_stmt *, h->member.n);
    for (size_t i = 0; i < h->member.n; i++)
        s[i] = kiln_stmt_substitute(
            h->arena, kiln_copies_used(halves, h->member.v[i].fill), &map, 1);
    return kiln_s_seq(h->arena, s, (int)h->member.n);
}

/* How many iterations ahead copies are filled. */
static int64_t ahead_of(const halving *h) { return h->copies - 1 - h->behind; }

/* Filled where there is such an iteration; a group of copies whether or not. */
static const kiln_stmt *filled_if(halving *h, kiln_copies *halves, const kiln_expr *at,
                                  const kiln_expr *is_one) {
    kiln_arena *a = h->arena;
    const kiln_stmt *s = kiln_s_if(a, is_one, filled(h, halves, at), NULL);
    return h->is_async ? kiln_s_attr(a, KILN_STMT_ATTR_ASYNC, NULL, NULL,
                                     kiln_x_index(a, ahead_of(h) - 1), s)
                       : s;
}

static bool make_halves(halving *h, kiln_copies *halves) {
    for (size_t i = 0; i < h->member.n; i++)
        for (int k = 0; k < h->member.v[i].n; k++)
            if (kiln_copies_make(halves, h->member.v[i].buffer[k], h->copies) == NULL) {
                h->status = kiln_fail(h->err, KILN_ERR_LIMIT,
                                      "double_buffer: buffer '%s' must have fewer than "
                                      "%d axes",
                                      h->member.v[i].buffer[k]->name, KILN_MAX_AXES);
                return false;
            }
    return true;
}

/* Is a buffer filled from one that is filled ahead as well? */
static bool is_chained(const halving *h) {
    for (size_t i = 1; i < h->member.n; i++) {
        access fill = {.arena = h->arena};
        find_accesses(&fill, h->member.v[i].fill);
        for (size_t k = 0; k < fill.reads.n; k++)
            if (is_filled_before(h, i - 1, fill.reads.v[k]))
                return true;
    }
    return false;
}

/* Each iteration fills ahead, as long as there is something to fill, and does `use`. */
static const kiln_stmt *steady(halving *h, kiln_copies *halves, const kiln_stmt *use) {
    kiln_arena *a = h->arena;
    const kiln_stmt *s = h->loop;
    const kiln_expr *min = s->u.loop.min, *n = s->u.loop.extent;
    const kiln_expr *next =
        kiln_x_add(a, kiln_x_ref(a, s->u.loop.var), kiln_x_index(a, ahead_of(h)));
    int64_t turns = 0;
    const bool peels =
        kiln_x_is_int(n, &turns) && is_chained(h) && h->copies == 2 && !h->is_async;
    const kiln_expr *last = kiln_x_add(a, min, kiln_x_index(a, turns - 1));
    const kiln_subst map = {s->u.loop.var, last};
    const kiln_stmt *ahead =
        peels ? filled(h, halves, next)
              : filled_if(h, halves, next, kiln_x_less(a, next, kiln_x_add(a, min, n)));
    /* Waits for what this turn uses, which nobody else need. */
    const kiln_stmt *turn[] = {
        h->is_async ? kiln_s_barrier(a, KILN_SCOPE_SHARED) : kiln_s_nothing(a),
        h->multiplies ? use : ahead, h->multiplies ? ahead : use};
    const kiln_stmt *all[] = {
        kiln_s_for(a, s->u.loop.var, min, peels ? kiln_x_index(a, turns - 1) : n,
                   s->u.loop.kind, s->u.loop.tag, kiln_s_seq(a, turn, 3)),
        peels ? kiln_stmt_substitute(a, use, &map, 1) : kiln_s_nothing(a)};
    return kiln_s_seq(a, all, 2);
}

static const kiln_stmt *halved(halving *h) {
    kiln_arena *a = h->arena;
    const kiln_stmt *s = h->loop;
    const kiln_expr *at = kiln_x_ref(a, s->u.loop.var), *min = s->u.loop.min,
                    *n = s->u.loop.extent;
    kiln_copies halves = {.arena = a,
                          .which = kiln_x_binary(a, KILN_EXPR_FLOORMOD,
                                                 kiln_x_sub(a, at, min),
                                                 kiln_x_index(a, h->copies))};
    if (!make_halves(h, &halves))
        return s;
    KILN_ASSERT(halves.list.n >= h->member.n, "%zu marks, %zu buffers in halves",
                h->member.n, halves.list.n);
    const kiln_stmt *use = kiln_stmt_rewritten(
        a, s->u.loop.body, &(kiln_stmt_rewrite){.stmt = use_of, .user = h});
    const kiln_stmt *all[MAX_COPIES + 1];
    int n_all = 0;
    for (int64_t i = 0; i < ahead_of(h); i++)
        all[n_all++] = filled_if(h, &halves, kiln_x_add(a, min, kiln_x_index(a, i)),
                                 kiln_x_less(a, kiln_x_index(a, i), n));
    use = kiln_copies_used(&halves, use);
    if (h->multiplies)
        use = kiln_s_attr(a, KILN_STMT_ATTR_PRODUCTS, NULL, NULL,
                          kiln_x_index(a, h->behind), use);
    all[n_all++] = steady(h, &halves, use);
    if (h->behind > 0)
        all[n_all++] = kiln_s_attr(a, KILN_STMT_ATTR_PRODUCTS, NULL, NULL,
                                   kiln_x_index(a, h->behind), kiln_s_nothing(a));
    const kiln_stmt *out = kiln_s_seq(a, all, n_all);
    for (size_t i = halves.list.n; i-- > 0;)
        out = kiln_s_alloc(a, halves.list.v[i].made, out);
    return out;
}

/* ---- the pass -------------------------------------------------------------------- */

typedef struct lowering {
    kiln_status status;
    kiln_err *err;
} lowering;

/* Loops further in are done. */
static const kiln_stmt *visit(void *user, kiln_arena *a, const kiln_stmt *s) {
    lowering *l = user;
    halving h = {.arena = a, .loop = s, .err = l->err};
    int64_t n = 0;
    if (s->kind != KILN_STMT_FOR || l->status != KILN_OK)
        return s;
    find_marks(&h, s->u.loop.body);
    if (h.member.n > 0)
        check_loop(&h);
    if (h.member.n > 0 && h.status == KILN_OK)
        /* One iteration has none behind it. */
        s = kiln_x_is_int(s->u.loop.extent, &n) && n <= 1
                ? kiln_stmt_rewritten(
                      a, s, &(kiln_stmt_rewrite){.stmt = unmarked, .user = &h})
                : halved(&h);
    l->status = h.status;
    return s;
}

static void find_mark(void *user, const kiln_stmt *s) {
    const kiln_stmt **found = user;
    *found = *found == NULL && is_mark(s) ? s : *found;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    lowering l = {.err = err};
    const kiln_stmt *mark = NULL, *left = NULL;
    (void)o;
    kiln_stmt_visit(p->body, find_mark, &mark);
    if (mark == NULL)
        return KILN_OK;
    const kiln_stmt *body = kiln_stmt_rewritten(
        p->arena, p->body, &(kiln_stmt_rewrite){.stmt = visit, .user = &l});
    KILN_TRY(l.status);
    kiln_stmt_visit(body, find_mark, &left);
    if (left != NULL)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "double_buffer: '%s' is filled in no loop that it is allocated "
            "in, so there is nothing to be ahead of; compute it inside a "
            "serial loop",
            left->u.attr.buffer != NULL ? left->u.attr.buffer->name : "");
    p->body = body;
    return KILN_OK;
}

const kiln_loop_pass kiln_loop_pass_double_buffer = {
    .name = "double_buffer",
    .doc = "fills marked buffers one iteration ahead, in two halves",
    .run = run,
};
