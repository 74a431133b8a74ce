/* Whether two threads meet at one element: decided by trying.
 *
 * What both accesses have in common (the block, the iteration of loops around both) is
 * gone through from outside in; for each of its values, the elements that the earlier
 * access touches are marked with their threads, and those of the later one looked up.
 * A common value that moves all indexes of both alike is tried once. */
#include "compiler/loop/linear.h"
#include "compiler/loop/sites.h"
#include "compiler/loop/loop_walk.h"

enum { MAX_TRIES = 1 << 18, MAX_ELEMS = 1 << 20, MAX_PATH = 128 };
enum { KEY_BITS = 16, MAX_KEYS = 1 << KEY_BITS };

typedef struct known {
    const kiln_var *var;
    int64_t value;
    bool is_known;
} known;

typedef struct mark {
    int64_t round;
    int32_t thread[2]; /* of the earlier access; -1: none */
} mark;

/* One of the accesses, and where its loops stand. */
typedef struct side {
    const kiln_touch *touch;
    const kiln_site *path[MAX_PATH]; /* from the launch down */
    int n;
    known env[MAX_PATH];
    int n_env;
    int64_t at[KILN_N_AXES];
    unsigned bound;
} side;

typedef struct trial {
    const int64_t *extent;
    const kiln_pending *pending;
    side p, c;
    mark *mark;
    int64_t *key; /* of large buffers: the element of each mark, from 1; 0: none yet */
    int n_keys;
    int64_t round, tries;
    bool is_guess, meets;
    bool any_block; /* branches that the block decides count as taken */
} trial;

/* ---- values ---------------------------------------------------------------------- */

static bool value_of(const side *s, const kiln_expr *e, int lane, int64_t *out) {
    int64_t x = 0, y = 0;
    switch (e->kind) {
    case KILN_EXPR_INT:
        *out = e->u.i;
        return true;
    case KILN_EXPR_VAR:
        for (int i = s->n_env; i-- > 0;)
            if (s->env[i].var == e->u.var) {
                *out = s->env[i].value;
                return s->env[i].is_known;
            }
        return false;
    case KILN_EXPR_RAMP:
        if (!value_of(s, e->arg[0], 0, &x) || !value_of(s, e->arg[1], 0, &y))
            return false;
        *out = x + y * lane;
        return true;
    case KILN_EXPR_BROADCAST:
        return value_of(s, e->arg[0], 0, out);
    case KILN_EXPR_SELECT:
        return value_of(s, e->arg[0], lane, &x) &&
               value_of(s, e->arg[x != 0 ? 1 : 2], lane, out);
    case KILN_EXPR_NOT:
        if (e->dtype != KILN_BOOL || !value_of(s, e->arg[0], lane, &x))
            return false;
        *out = x == 0;
        return true;
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPRS_BITWISE:
        return !kiln_dtype_is_float(e->arg[0]->dtype) &&
               value_of(s, e->arg[0], lane, &x) && value_of(s, e->arg[1], lane, &y) &&
               kiln_x_fold_int(e->kind, e->arg[0]->dtype, x, y, out);
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_CAST:
    case KILN_EXPR_BITCAST:
    case KILN_EXPR_CALL:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_LOAD:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPRS_SCOPED:
        break;
    }
    return false;
}

static void set(side *s, const kiln_var *v, int64_t value, bool is_known) {
    s->env[s->n_env++] = (known){v, value, is_known};
}

/* ---- one side -------------------------------------------------------------------- */

static int32_t thread_of(const trial *t, const side *s) {
    int64_t number = 0, stride = 1;
    for (int i = KILN_AXIS_THREAD_X; i < KILN_N_AXES; i++) {
        number += stride * s->at[i];
        stride *= t->extent[i];
    }
    return (int32_t)number;
}

/* By element; of large buffers, of which a block touches little, by hash. NULL: it
 * touches too many. */
static mark *mark_of(trial *t, int64_t at) {
    if (t->key == NULL)
        return &t->mark[at];
    uint64_t h = (uint64_t)at * UINT64_C(0x9e3779b97f4a7c15) >> (64 - KEY_BITS);
    while (t->key[h] != 0 && t->key[h] != at + 1)
        h = (h + 1) % MAX_KEYS;
    if (t->key[h] == 0 && ++t->n_keys > MAX_KEYS / 4 * 3)
        return NULL;
    t->key[h] = at + 1;
    return &t->mark[h];
}

/* A thread touches the element, as this side. */
static void visit(trial *t, const side *s, int64_t at) {
    mark *m = mark_of(t, at);
    const int32_t thread = thread_of(t, s);
    if (m == NULL) {
        t->is_guess = t->meets = true;
        return;
    }
    if (s == &t->p) {
        if (m->round != t->round)
            *m = (mark){t->round, {thread, -1}};
        else if (m->thread[0] != thread)
            m->thread[1] = thread;
    } else if (m->round == t->round &&
               (m->thread[0] != thread ||
                (m->thread[1] >= 0 && m->thread[1] != thread))) {
        t->meets = true;
    }
}

static void visit_lanes(trial *t, const side *s) {
    const kiln_touch *x = s->touch;
    const int lanes = x->buffer->rank > 0 ? x->index[0]->lanes : 1;
    for (int lane = 0; lane < lanes && !t->meets; lane++) {
        int64_t on = 1, offset = 0, i = 0;
        bool inside = true;
        if (x->mask != NULL && !value_of(s, x->mask, lane, &on)) {
            t->is_guess = true;
            on = 1;
        }
        for (int k = 0; k < x->buffer->rank; k++) {
            const int64_t dim = kiln_buffer_dim(x->buffer, k);
            if (!value_of(s, x->index[k], lane, &i)) {
                t->is_guess = t->meets = true; /* it may be any */
                return;
            }
            inside = inside && i >= 0 && i < dim;
            offset = offset * dim + i;
        }
        if (on != 0 && inside)
            visit(t, s, offset);
    }
}

static bool has_turn(const trial *t, const kiln_site *loop, kiln_turn turn) {
    for (int i = 0; i < t->pending->n; i++)
        if (t->pending->turn[i].loop == loop && t->pending->turn[i].turn == turn)
            return true;
    return false;
}

static void descend(trial *t, side *s, int i);

/* One iteration on the way down; what is bound there is forgotten again. */
static void iteration(trial *t, side *s, int i, int64_t value) {
    const int n = s->n_env;
    set(s, s->path[i]->stmt->u.loop.var, value, true);
    descend(t, s, i + 1);
    s->n_env = n;
}

/* A block's number is common to both sides. */
static void thread_loop(trial *t, side *s, int i, int64_t min, int64_t n) {
    const int axis = kiln_launch_axis_of(s->path[i]->stmt->u.loop.tag);
    const unsigned outside = s->bound;
    s->bound |= 1u << axis;
    if ((outside >> axis & 1u) != 0 || axis < KILN_AXIS_THREAD_X) {
        if (s->at[axis] < n)
            iteration(t, s, i, min + s->at[axis]);
        s->bound = outside;
        return;
    }
    for (int64_t k = 0; k < n && !t->meets; k++) {
        s->at[axis] = k;
        iteration(t, s, i, min + k);
    }
    s->at[axis] = 0;
    s->bound = outside;
}

static void own_loop(trial *t, side *s, int i) {
    const kiln_site *loop = s->path[i];
    int64_t min = 0, n = 0;
    if (!value_of(s, loop->stmt->u.loop.min, 0, &min) ||
        !value_of(s, loop->stmt->u.loop.extent, 0, &n)) {
        t->is_guess = t->meets = true;
        return;
    }
    if (loop->stmt->u.loop.kind == KILN_LOOP_THREAD) {
        thread_loop(t, s, i, min, n);
        return;
    }
    int64_t k = s == &t->p && has_turn(t, loop, KILN_TURN_LAST) ? n - 1 : 0;
    if (s == &t->c && has_turn(t, loop, KILN_TURN_FIRST))
        n = n < 1 ? n : 1;
    for (k = k < 0 ? 0 : k; k < n && !t->meets; k++)
        iteration(t, s, i, min + k);
}

/* Does the number of the block decide? */
static bool uses_block(const side *s, const kiln_expr *e) {
    for (int i = 0; i + 1 < s->n; i++) {
        const kiln_stmt *x = s->path[i]->stmt;
        if (x->kind == KILN_STMT_FOR && x->u.loop.kind == KILN_LOOP_THREAD &&
            kiln_launch_axis_of(x->u.loop.tag) < KILN_AXIS_THREAD_X &&
            kiln_expr_uses(e, x->u.loop.var))
            return true;
    }
    return false;
}

/* From place i of the path down to the access. */
static void descend(trial *t, side *s, int i) {
    int64_t v = 0;
    if (++t->tries > MAX_TRIES) {
        t->is_guess = t->meets = true;
        return;
    }
    if (i == s->n) {
        bool is_first = true; /* of the blocks along axes that nothing around binds */
        for (int k = 0; k < KILN_AXIS_THREAD_X; k++)
            is_first = is_first && (s->at[k] == 0 || (s->bound >> k & 1u) != 0);
        if (is_first)
            visit_lanes(t, s);
        return;
    }
    const kiln_stmt *stmt = s->path[i]->stmt;
    const int taken = i + 1 < s->n ? s->path[i + 1]->branch : -1;
    if (stmt->kind == KILN_STMT_FOR && i + 1 < s->n) {
        const int n = s->n_env; /* common to both: it has its value */
        for (int k = 0; k < n; k++)
            if (s->env[k].var == stmt->u.loop.var) {
                descend(t, s, i + 1);
                return;
            }
        own_loop(t, s, i);
        return;
    }
    if (stmt->kind == KILN_STMT_IF && taken >= 0) {
        if ((t->any_block && uses_block(s, stmt->u.branch.cond)) ||
            !value_of(s, stmt->u.branch.cond, 0, &v))
            t->is_guess = true;
        else if ((v != 0) != (taken == 0))
            return;
    }
    const int n = s->n_env;
    if (stmt->kind == KILN_STMT_LET && taken >= 0) {
        const bool is_known = value_of(s, stmt->u.let.value, 0, &v);
        set(s, stmt->u.let.var, v, is_known);
    }
    descend(t, s, i + 1);
    s->n_env = n;
}

/* ---- what both have in common ---------------------------------------------------- */

/* Along some axis the two lie apart, whatever loops of their own do: halves of a buffer
 * that is filled ahead. */
static bool lie_apart(const trial *t) {
    const kiln_touch *p = t->p.touch, *c = t->c.touch;
    int64_t x = 0, y = 0;
    for (int i = 0; i < c->buffer->rank; i++)
        if (p->index[i]->lanes == 1 && c->index[i]->lanes == 1 &&
            value_of(&t->p, p->index[i], 0, &x) &&
            value_of(&t->c, c->index[i], 0, &y) && x != y)
            return true;
    return false;
}

static void both_sides(trial *t) {
    if (lie_apart(t))
        return;
    t->round++;
    descend(t, &t->p, 0);
    if (!t->meets)
        descend(t, &t->c, 0);
}

/* Of a vector of indexes, where v adds the same to all lanes. */
static const kiln_expr *first_lane(const kiln_expr *e, const kiln_var *v) {
    if (e->kind == KILN_EXPR_RAMP && !kiln_expr_uses(e->arg[1], v))
        e = e->arg[0];
    return e->kind == KILN_EXPR_BROADCAST ? e->arg[0] : e;
}

static bool factor_in(const kiln_expr *e, const kiln_var *v, int64_t *factor) {
    kiln_linear l;
    *factor = 0;
    e = first_lane(e, v);
    if (!kiln_expr_uses(e, v))
        return true;
    if (!kiln_linear_of(e, &l))
        return false;
    for (int i = 0; i < l.n; i++) {
        if (l.term[i].expr->kind == KILN_EXPR_VAR && l.term[i].expr->u.var == v)
            *factor = l.term[i].factor;
        else if (kiln_expr_uses(l.term[i].expr, v))
            return false;
    }
    return true;
}

typedef struct usage {
    const kiln_var *var;
    bool is_used;
} usage;

static void find_use(void *user, const kiln_expr *e) {
    usage *u = user;
    u->is_used = u->is_used || kiln_expr_uses(e, u->var);
}

/* Which branches on the way to the accesses count. */
typedef enum branches {
    BRANCHES_NONE,
    BRANCHES_OWN, /* of one of the two accesses, not around both */
    BRANCHES_ALL
} branches;

static bool counts(const trial *t, const side *s, int i, branches which) {
    if (s->path[i]->stmt->kind != KILN_STMT_IF)
        return true;
    const bool is_common =
        i + 1 < t->p.n && i + 1 < t->c.n && t->p.path[i + 1] == t->c.path[i + 1];
    return which == BRANCHES_ALL || (which == BRANCHES_OWN && !is_common);
}

/* Something on the way to the access beside its indexes depends on v; branches count
 * where asked for. */
static bool steers(const trial *t, const side *s, const kiln_var *v, branches which) {
    usage u = {v, s->touch->mask != NULL && kiln_expr_uses(s->touch->mask, v)};
    for (int i = 0; i + 1 < s->n; i++)
        if (counts(t, s, i, which))
            kiln_stmt_exprs(s->path[i]->stmt, find_use, &u);
    return u.is_used;
}

/* Does v move all indexes of both alike, whatever branches it takes or, where those
 * count, without taking others? */
static bool moves_alike(const trial *t, const kiln_var *v, branches which) {
    int64_t x = 0, y = 0;
    if (steers(t, &t->p, v, which) || steers(t, &t->c, v, which))
        return false;
    for (int i = 0; i < t->p.touch->buffer->rank; i++)
        if (!factor_in(t->p.touch->index[i], v, &x) ||
            !factor_in(t->c.touch->index[i], v, &y) || x != y)
            return false;
    return true;
}

static bool is_alike(const trial *t, const kiln_var *v) {
    return moves_alike(t, v, BRANCHES_ALL);
}

typedef struct alone {
    const kiln_var *var;
    bool is;
} alone;

static void find_other(void *user, const kiln_expr *e) {
    alone *x = user;
    x->is = x->is && e->kind != KILN_EXPR_LOAD &&
            (e->kind != KILN_EXPR_VAR || e->u.var == x->var);
}

/* What v adds to an index, as far as v alone decides it; false: more does. */
static bool part_of(const kiln_expr *e, const kiln_var *v, kiln_linear *out) {
    kiln_linear l;
    *out = (kiln_linear){.n = 0};
    e = first_lane(e, v);
    if (!kiln_expr_uses(e, v))
        return true;
    if (!kiln_linear_of(e, &l))
        return false;
    for (int i = 0; i < l.n; i++) {
        alone x = {v, true};
        if (!kiln_expr_uses(l.term[i].expr, v))
            continue;
        kiln_expr_visit(l.term[i].expr, find_other, &x);
        if (!x.is)
            return false;
        out->term[out->n++] = l.term[i];
    }
    return true;
}

static bool same_part(const kiln_linear *x, const kiln_linear *y) {
    int found = 0;
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < y->n; k++)
            found += x->term[i].factor == y->term[k].factor &&
                     kiln_expr_eq(x->term[i].expr, y->term[k].expr);
    return x->n == y->n && found == x->n;
}

/* With one value of v on both sides: does it move all indexes alike, be it by more than
 * a factor, such as v // 8 or v % 2? */
static bool is_same_alike(const trial *t, const kiln_var *v, branches which) {
    kiln_linear x, y;
    if (steers(t, &t->p, v, which) || steers(t, &t->c, v, which))
        return false;
    for (int i = 0; i < t->p.touch->buffer->rank; i++)
        if (!part_of(t->p.touch->index[i], v, &x) ||
            !part_of(t->c.touch->index[i], v, &y) || !same_part(&x, &y))
            return false;
    return true;
}

static void common(trial *t, int i);

static void with_values(trial *t, int i, int64_t p, int64_t c) {
    const kiln_var *v = t->p.path[i]->stmt->u.loop.var;
    const int n_p = t->p.n_env, n_c = t->c.n_env;
    set(&t->p, v, p, true);
    set(&t->c, v, c, true);
    common(t, i + 1);
    t->p.n_env = n_p;
    t->c.n_env = n_c;
}

static void one_side(trial *t, side *s, const kiln_var *v, int64_t value) {
    const int n = s->n_env;
    if (t->meets)
        return;
    set(s, v, value, true);
    descend(t, s, 0);
    s->n_env = n;
}

/* Each iteration against all before it, whose elements stay marked: further in, loops of
 * both go their own ways. */
static void later(trial *t, int i, int64_t min, int64_t n, bool once) {
    const kiln_var *v = t->p.path[i]->stmt->u.loop.var;
    t->round++;
    for (int64_t k = 0; k + 1 < n && !t->meets; k++) {
        if (k == 0 || !once)
            one_side(t, &t->p, v, min + k);
        one_side(t, &t->c, v, min + k + 1);
    }
}

/* The iterations that stand to each other as the turn says. */
static void linked(trial *t, int i, int64_t min, int64_t n, bool is_next) {
    const bool once = is_alike(t, t->p.path[i]->stmt->u.loop.var);
    if (!is_next) {
        later(t, i, min, n, once);
        return;
    }
    for (int64_t k = 0; k + 1 < (once && n > 1 ? 2 : n) && !t->meets; k++)
        with_values(t, i, min + k, min + k + 1);
}

/* Do branches around both that the loop decides depend on nothing else? */
static bool decides_alone(const trial *t, int i) {
    const kiln_var *v = t->p.path[i]->stmt->u.loop.var;
    for (int k = i + 1;
         k + 1 < t->p.n && k + 1 < t->c.n && t->p.path[k + 1] == t->c.path[k + 1];
         k++) {
        const kiln_stmt *s = t->p.path[k]->stmt;
        alone x = {v, true};
        if (s->kind != KILN_STMT_IF || !kiln_expr_uses(s->u.branch.cond, v))
            continue;
        kiln_expr_visit(s->u.branch.cond, find_other, &x);
        if (!x.is)
            return false;
    }
    return true;
}

/* With that value both come through the branches that it decides. */
static bool comes_with(trial *t, int i, int64_t value) {
    const kiln_var *v = t->p.path[i]->stmt->u.loop.var;
    const int n = t->p.n_env;
    bool comes = true;
    set(&t->p, v, value, true);
    for (int k = i + 1;
         k + 1 < t->p.n && k + 1 < t->c.n && t->p.path[k + 1] == t->c.path[k + 1];
         k++) {
        const kiln_stmt *s = t->p.path[k]->stmt;
        int64_t taken = 0;
        if (s->kind == KILN_STMT_IF && kiln_expr_uses(s->u.branch.cond, v) &&
            value_of(&t->p, s->u.branch.cond, 0, &taken))
            comes = comes && (taken != 0) == (t->p.path[k + 1]->branch == 0);
    }
    t->p.n_env = n;
    return comes;
}

static void common_loop(trial *t, int i) {
    const kiln_site *loop = t->p.path[i];
    const kiln_stmt *s = loop->stmt;
    const bool is_next = has_turn(t, loop, KILN_TURN_NEXT);
    int64_t min = 0, n = 0;
    if (!value_of(&t->p, s->u.loop.min, 0, &min) ||
        !value_of(&t->p, s->u.loop.extent, 0, &n)) {
        both_sides(t); /* each in iterations of its own */
        return;
    }
    if (is_next || has_turn(t, loop, KILN_TURN_LATER)) {
        linked(t, i, min, n, is_next);
        return;
    }
    const bool once =
        n > 1 && is_same_alike(t, s->u.loop.var, BRANCHES_OWN) && decides_alone(t, i);
    for (int64_t k = 0; k < n && !t->meets; k++) {
        if (once && !comes_with(t, i, min + k))
            continue;
        with_values(t, i, min + k, min + k);
        if (once)
            return;
    }
}

static bool is_apart(const trial *t, const kiln_site *loop) {
    for (int i = 0; i < t->pending->n; i++)
        if (t->pending->turn[i].turn <= KILN_TURN_LATER &&
            t->pending->turn[i].loop->depth < loop->depth)
            return true;
    return has_turn(t, loop, KILN_TURN_INSIDE) || has_turn(t, loop, KILN_TURN_FIRST) ||
           has_turn(t, loop, KILN_TURN_LAST);
}

/* Goes through what both paths begin with. */
static void common(trial *t, int i) {
    if (++t->tries > MAX_TRIES) {
        t->is_guess = t->meets = true;
        return;
    }
    const bool ends =
        i + 1 >= t->p.n || i + 1 >= t->c.n || t->p.path[i] != t->c.path[i];
    const kiln_site *x = ends ? NULL : t->p.path[i];
    const bool is_loop = !ends && x->stmt->kind == KILN_STMT_FOR;
    if (ends ||
        (is_loop && x->stmt->u.loop.kind != KILN_LOOP_THREAD && is_apart(t, x))) {
        both_sides(t);
        return;
    }
    if (!is_loop || x->stmt->u.loop.kind == KILN_LOOP_THREAD)
        common(t, i + 1);
    else
        common_loop(t, i);
}

/* The loop of that axis on the way to the access; NULL: none. */
static const kiln_site *loop_of(const side *s, int axis) {
    for (int i = 0; i + 1 < s->n; i++) {
        const kiln_stmt *x = s->path[i]->stmt;
        if (x->kind == KILN_STMT_FOR && x->u.loop.kind == KILN_LOOP_THREAD &&
            kiln_launch_axis_of(x->u.loop.tag) == axis)
            return s->path[i];
    }
    return NULL;
}

static bool are_blocks_alike(const trial *t, branches which) {
    for (int axis = 0; axis < KILN_AXIS_THREAD_X; axis++) {
        const kiln_site *p = loop_of(&t->p, axis), *c = loop_of(&t->c, axis);
        if (t->extent[axis] > 1 && (p != c || p == NULL) && (p != NULL || c != NULL))
            return false;
        if (p != NULL && !is_same_alike(t, p->stmt->u.loop.var, which))
            return false;
    }
    return true;
}

static void set_block(side *s, const int64_t *extent, int64_t number) {
    for (int i = 0; i < KILN_AXIS_THREAD_X; i++) {
        s->at[i] = number % extent[i];
        number /= extent[i];
    }
}

/* Never in one block that takes all branches: so in none. */
static bool is_never_at_most(trial *t, const kiln_blocks *b) {
    if (!are_blocks_alike(t, BRANCHES_NONE))
        return false;
    t->any_block = true;
    set_block(&t->p, b->extent, 0);
    set_block(&t->c, b->extent, 0);
    common(t, 0);
    if (!t->meets)
        return true;
    t->any_block = t->is_guess = t->meets = false;
    t->tries = 0;
    return false;
}

/* Both are done by one block: in each, or in one for all that do the same. */
static void blocks(trial *t, const kiln_blocks *b) {
    const bool alike = are_blocks_alike(t, BRANCHES_ALL);
    const int64_t n = alike ? 1 : b->n;
    if (!alike && is_never_at_most(t, b))
        return;
    for (int64_t k = 0; k < n && !t->meets; k++) {
        const int64_t number = b->block != NULL ? b->block[k] : k;
        set_block(&t->p, b->extent, number);
        set_block(&t->c, b->extent, number);
        common(t, 0);
    }
}

/* A fragment is one warp's: outside loops of threadIdx.x one thread touches it. */
static bool is_one_threads(const trial *t) {
    return t->c.touch->buffer->scope == KILN_SCOPE_FRAGMENT &&
           loop_of(&t->p, KILN_AXIS_THREAD_X) == NULL &&
           loop_of(&t->c, KILN_AXIS_THREAD_X) == NULL;
}

static bool find_path(side *s, const kiln_site *site) {
    s->n = site->depth + 1;
    for (int i = s->n; i-- > 0 && s->n <= MAX_PATH; site = site->parent)
        s->path[i] = site;
    return s->n <= MAX_PATH;
}

kiln_meeting kiln_meet(kiln_arena *scratch, const kiln_blocks *b, const kiln_pending *p,
                       const kiln_touch *c) {
    const kiln_arena_mark saved = kiln_arena_save(scratch);
    trial t = {.extent = b->extent, .pending = p, .p.touch = p->touch, .c.touch = c};
    int64_t elems = 1;
    for (int i = 0; i < c->buffer->rank && elems <= MAX_ELEMS; i++)
        elems *= kiln_buffer_dim(c->buffer, i);
    if (!find_path(&t.p, p->touch->at) || !find_path(&t.c, c->at))
        return KILN_MEET_PERHAPS;
    if (is_one_threads(&t))
        return KILN_MEET_NEVER;
    if (elems > MAX_ELEMS)
        t.key = kiln_array(scratch, int64_t, MAX_KEYS);
    t.mark = kiln_array(scratch, mark, elems > MAX_ELEMS ? MAX_KEYS : elems);
    blocks(&t, b);
    kiln_arena_rewind(scratch, saved);
    return !t.meets ? KILN_MEET_NEVER
                    : (t.is_guess ? KILN_MEET_PERHAPS : KILN_MEET_SURELY);
}

signed char kiln_block_takes(const kiln_site *branch, const int64_t extent[KILN_N_AXES],
                             int64_t block) {
    side s = {0};
    int64_t min = 0, v = 0;
    if (!find_path(&s, branch))
        return -1;
    set_block(&s, extent, block);
    for (int axis = 0; axis < KILN_AXIS_THREAD_X; axis++) {
        const kiln_site *loop = loop_of(&s, axis);
        if (loop != NULL && value_of(&s, loop->stmt->u.loop.min, 0, &min))
            set(&s, loop->stmt->u.loop.var, min + s.at[axis], true);
    }
    return value_of(&s, branch->stmt->u.branch.cond, 0, &v) ? v != 0 : -1;
}
