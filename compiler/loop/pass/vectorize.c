/* vectorize: loops marked so become vector expressions.
 *
 * The variable becomes a ramp, and what depends on it a vector. A condition that
 * depends on the lane becomes the mask of the stores that it guards, and of those loads
 * that are not inside their buffer in every lane. A loop stays serial when its body
 * stores to one place from several lanes, allocates, binds a variable to a vector that
 * loads, holds vectors already, decides by data what several statements do, or when its
 * masks would make an expression too long.
 *
 * What has been loaded needs no stricter mask when it is read again behind a condition:
 * else the conditions of nested selects, which load themselves, would be multiplied
 * into every load below them. A select by what holds in all lanes that are on anyway, as
 * stages inlined into one another's tail lanes have it, is its side. */
#include "base/fault.h"
#include "compiler/loop/backend.h"
#include "compiler/loop/loop_walk.h"

#include <inttypes.h>
#include <math.h>

/* A load of the scalar program, and what it has become. */
typedef struct loaded {
    const kiln_expr *from, *to;
} loaded;

typedef struct lanes {
    kiln_walk *w;
    kiln_arena *arena;
    const kiln_var *var;
    const kiln_expr *first, *ramp; /* the variable's value in lane 0, and in all */
    int n;
    bool has_whole;         /* guards of whole vectors are branches */
    bool failed;            /* the loop stays serial; what is returned means nothing */
    KILN_VEC(loaded) known; /* evaluated in every lane that is on here */
    KILN_VEC(kiln_subst) bound; /* by expressions: variables that have become vectors */
} lanes;

enum { MAX_LENGTH = 1 << 16 }; /* nodes of a stored value */

static const kiln_expr *expr(lanes *c, const kiln_expr *e, const kiln_expr *mask);
static const kiln_stmt *stmt(lanes *c, const kiln_stmt *s, const kiln_expr *mask);

static const kiln_expr *fail_expr(lanes *c, const kiln_expr *e) {
    c->failed = true;
    return e;
}

static const kiln_stmt *fail_stmt(lanes *c, const kiln_stmt *s) {
    c->failed = true;
    return s;
}

static const kiln_expr *and_mask(lanes *c, const kiln_expr *mask,
                                 const kiln_expr *cond) {
    return mask == NULL
               ? cond
               : kiln_vector_binary(&c->w->ranges, c->arena, KILN_EXPR_AND, mask, cond);
}

/* ---- expressions --------------------------------------------------------------- */

static bool is_inside(lanes *c, const kiln_buffer *b, const kiln_expr *const *index) {
    for (int i = 0; i < b->rank; i++) {
        const kiln_interval in = kiln_interval_of(&c->w->ranges, index[i]);
        if (in.min < 0 || in.max >= kiln_buffer_dim(b, i))
            return false;
    }
    return true;
}

static const kiln_expr *find_loaded(const lanes *c, const kiln_expr *e) {
    for (size_t i = 0; i < c->known.n; i++)
        if (kiln_expr_eq(c->known.v[i].from, e))
            return c->known.v[i].to;
    return NULL;
}

static const kiln_expr *load(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    const kiln_buffer *b = e->u.load.buffer;
    const kiln_expr *index[KILN_MAX_AXES] = {NULL};
    bool changed = false;
    if (e->u.load.mask != NULL)
        return fail_expr(c, e);
    const kiln_expr *known = find_loaded(c, e);
    if (known != NULL)
        return known;
    for (int i = 0; i < e->n_arg; i++) {
        index[i] = expr(c, e->arg[i], mask);
        changed = changed || index[i] != e->arg[i];
    }
    if (c->failed)
        return e;
    if (mask != NULL && is_inside(c, b, index))
        mask = NULL;
    const kiln_expr *to =
        changed || mask != NULL ? kiln_x_load(c->arena, b, index, e->n_arg, mask) : e;
    kiln_vec_push(c->arena, &c->known, ((loaded){e, to}));
    return to;
}

static bool is_zero(const kiln_expr *e) {
    int64_t v = 0;
    if (e->kind == KILN_EXPR_BROADCAST)
        e = e->arg[0];
    return e->kind == KILN_EXPR_FLOAT ? e->u.f == 0 && !signbit(e->u.f)
                                      : kiln_x_is_int(e, &v) && v == 0;
}

/* Does cond hold in every lane that is on? */
static bool is_of_mask(const kiln_expr *mask, const kiln_expr *cond) {
    return mask != NULL &&
           (kiln_expr_eq(mask, cond) ||
            (mask->kind == KILN_EXPR_AND &&
             (is_of_mask(mask->arg[0], cond) || is_of_mask(mask->arg[1], cond))));
}

static const kiln_expr *select(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    const kiln_expr *cond = expr(c, e->arg[0], mask), *on = mask, *off = mask;
    /* Of lanes that are off nobody asks for the value. */
    if (!c->failed && cond->lanes > 1 && is_of_mask(mask, cond))
        return expr(c, e->arg[1], mask);
    if (cond->lanes > 1) {
        on = and_mask(c, mask, cond);
        off = and_mask(c, mask, kiln_x_not(c->arena, cond));
    }
    const size_t n_known = c->known.n; /* one side is evaluated */
    const kiln_expr *then = expr(c, e->arg[1], on);
    c->known.n = n_known;
    const kiln_expr *otherwise = expr(c, e->arg[2], off);
    c->known.n = n_known;
    if (c->failed || (cond == e->arg[0] && then == e->arg[1] && otherwise == e->arg[2]))
        return e;
    /* Lanes that are off load 0 already. */
    if (on != NULL && on != mask && then->kind == KILN_EXPR_LOAD &&
        then->u.load.mask == on && is_zero(otherwise))
        return then;
    return kiln_x_select(c->arena, cond, then, otherwise);
}

static bool divides(const kiln_expr *e) {
    return (e->kind == KILN_EXPR_DIV || e->kind == KILN_EXPR_FLOORDIV ||
            e->kind == KILN_EXPR_FLOORMOD) &&
           !kiln_dtype_is_float(e->dtype);
}

static const kiln_expr *binary(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    const kiln_expr *x = expr(c, e->arg[0], mask), *y = expr(c, e->arg[1], mask);
    int64_t v = 0;
    if (c->failed || (x == e->arg[0] && y == e->arg[1]))
        return e;
    /* Lanes that are off must not divide by whatever is there. */
    if (divides(e) && mask != NULL && !kiln_x_is_int(y, &v))
        y = kiln_x_select(c->arena, mask, y, kiln_x_number(c->arena, y->dtype, 1));
    return x->lanes == 1 && y->lanes == 1
               ? kiln_x_binary(c->arena, e->kind, x, y)
               : kiln_vector_binary(&c->w->ranges, c->arena, e->kind, x, y);
}

static const kiln_expr *unary(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    const kiln_expr *x = expr(c, e->arg[0], mask);
    if (x == e->arg[0])
        return e;
    if (e->kind == KILN_EXPR_NOT)
        return kiln_x_not(c->arena, x);
    return e->kind == KILN_EXPR_CAST ? kiln_x_cast(c->arena, e->dtype, x)
                                     : kiln_x_bitcast(c->arena, e->dtype, x);
}

static const kiln_expr *call(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    const kiln_expr *arg[4];
    bool changed = false;
    if (!kiln_intrin_get(e->u.intrin)->is_pure || e->n_arg > 4)
        return fail_expr(c, e);
    for (int i = 0; i < e->n_arg; i++) {
        arg[i] = expr(c, e->arg[i], mask);
        changed = changed || arg[i] != e->arg[i];
    }
    return changed && !c->failed ? kiln_x_call(c->arena, e->u.intrin, arg) : e;
}

static const kiln_expr *var(const lanes *c, const kiln_expr *e) {
    for (size_t i = c->bound.n; i-- > 0;)
        if (c->bound.v[i].var == e->u.var)
            return c->bound.v[i].value;
    return e->u.var == c->var ? c->ramp : e;
}

/* The variable that is a vector in the place of v, from here on. */
static const kiln_var *widened(lanes *c, const kiln_var *v) {
    KILN_ASSERT(v->lanes == 1, "'%s' is a vector already", v->name);
    const kiln_var *w = kiln_var_vector(c->arena, v->name, v->dtype, c->n);
    const kiln_subst s = {v, kiln_x_ref(c->arena, w)};
    kiln_vec_push(c->arena, &c->bound, s);
    return w;
}

/* What becomes a vector is another variable. */
static const kiln_expr *let_expr(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    const size_t n_bound = c->bound.n, n_known = c->known.n;
    const int n = e->n_arg - 1;
    const kiln_expr **value = kiln_array(c->arena, const kiln_expr *, n);
    const kiln_var **bound = kiln_array(c->arena, const kiln_var *, n);
    bool changed = false;
    for (int i = 0; i < n && !c->failed; i++) {
        value[i] = expr(c, e->arg[i], mask);
        changed = changed || value[i] != e->arg[i];
        bound[i] = e->u.bound[i];
        if (value[i]->lanes == 1)
            continue;
        bound[i] = widened(c, bound[i]);
    }
    const kiln_expr *body = expr(c, e->arg[n], mask);
    const bool has_vectors = c->bound.n > n_bound;
    c->bound.n = n_bound;
    c->known.n = n_known; /* what was loaded there may use what was bound */
    if (c->failed || (!changed && body == e->arg[n]))
        return e;
    if (has_vectors)
        body = kiln_x_broadcast(c->arena, body, c->n);
    return kiln_x_let(c->arena, bound, value, n, body);
}

/* As vectors altogether: in a loop of vectors that is what all depends on. */
static const kiln_expr *loop_expr(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    const kiln_loop_parts old = kiln_x_loop_parts(e);
    const int n = old.turns.n_state, m = old.turns.n_local;
    const size_t n_bound = c->bound.n, n_known = c->known.n;
    const kiln_expr **part = kiln_array(c->arena, const kiln_expr *, 2 * n + m);
    const kiln_var **var = kiln_array(c->arena, const kiln_var *, n + m);
    for (int i = 0; i < n; i++)
        part[i] = kiln_x_broadcast(c->arena, expr(c, old.init[i], mask), c->n);
    for (int i = 0; i < n; i++)
        var[i] = widened(c, old.turns.state[i]);
    const kiln_expr *cond = expr(c, old.cond, mask);
    for (int i = 0; i < m; i++) {
        part[n + i] = kiln_x_broadcast(c->arena, expr(c, old.local[i], mask), c->n);
        var[n + i] = widened(c, old.turns.local[i]);
    }
    for (int i = 0; i < n; i++)
        part[n + m + i] = kiln_x_broadcast(c->arena, expr(c, old.next[i], mask), c->n);
    const kiln_expr *value = expr(c, old.value, mask);
    c->bound.n = n_bound;
    c->known.n = n_known;
    if (c->failed)
        return e;
    const kiln_loop_parts new = {
        .turns = {.state = var, .local = var + n, .n_state = n, .n_local = m},
        .init = part,
        .local = part + n,
        .next = part + n + m,
        .cond = cond,
        .value = kiln_x_broadcast(c->arena, value, c->n)};
    return kiln_x_loop(c->arena, &new);
}

static const kiln_expr *table(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    const kiln_expr *index = expr(c, e->arg[0], mask);
    return index == e->arg[0] ? e : kiln_x_table(c->arena, e->u.table, index);
}

static const kiln_expr *expr(lanes *c, const kiln_expr *e, const kiln_expr *mask) {
    if (c->failed || e->lanes > 1)
        return fail_expr(c, e);
    switch (e->kind) {
    case KILN_EXPR_INT:
    case KILN_EXPR_FLOAT:
        return e;
    case KILN_EXPR_VAR:
        return var(c, e);
    case KILN_EXPR_NOT:
    case KILN_EXPR_CAST:
    case KILN_EXPR_BITCAST:
        return unary(c, e, mask);
    case KILN_EXPR_SELECT:
        return select(c, e, mask);
    case KILN_EXPR_CALL:
        return call(c, e, mask);
    case KILN_EXPR_LOAD:
        return load(c, e, mask);
    case KILN_EXPR_LET:
        return let_expr(c, e, mask);
    case KILN_EXPR_LOOP:
        return loop_expr(c, e, mask);
    case KILN_EXPR_TABLE:
        return table(c, e, mask);
    case KILN_EXPR_READ:
    case KILN_EXPR_REDUCE:
    case KILN_EXPR_RAMP:
    case KILN_EXPR_BROADCAST:
    case KILN_EXPR_SHUFFLE:
        return fail_expr(c, e);
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPRS_BITWISE:
        break;
    }
    return binary(c, e, mask);
}

/* As a tree, which is what code generators walk. */
static bool is_longer(const kiln_expr *e, int *left) {
    if (--*left < 0)
        return true;
    for (int i = 0; i < e->n_arg; i++)
        if (is_longer(e->arg[i], left))
            return true;
    return e->kind == KILN_EXPR_LOAD && e->u.load.mask != NULL &&
           is_longer(e->u.load.mask, left);
}

/* ---- statements ---------------------------------------------------------------- */

static const kiln_stmt *store(lanes *c, const kiln_stmt *s, const kiln_expr *mask) {
    const kiln_buffer *b = s->u.store.buffer;
    const kiln_expr *index[KILN_MAX_AXES] = {NULL};
    bool is_spread = false;
    for (int i = 0; i < b->rank; i++) {
        index[i] = expr(c, s->u.store.index[i], mask);
        KILN_ASSERT(index[i]->lanes == 1 || index[i]->lanes == c->n,
                    "'%s' is stored to by %d lanes of %d", b->name, index[i]->lanes,
                    c->n);
        is_spread = is_spread || index[i]->lanes > 1;
    }
    if (!is_spread || s->u.store.mask != NULL)
        return fail_stmt(c, s);
    const kiln_expr *value = expr(c, s->u.store.value, mask);
    int left = MAX_LENGTH;
    if (c->failed || is_longer(value, &left))
        return fail_stmt(c, s);
    /* Memory that must become registers is never written in part: lanes that are off
     * keep what they hold. Elsewhere another thread may own them. */
    if (mask != NULL && b->scope == KILN_SCOPE_REGISTER && is_inside(c, b, index)) {
        const kiln_expr *old = kiln_x_load(c->arena, b, index, b->rank, NULL);
        value = kiln_x_select(c->arena, mask, value, old);
        mask = NULL;
    }
    if (mask != NULL && KILN_FAULT(vector_mask))
        mask = NULL;
    return kiln_s_store(c->arena, b, index, value, mask);
}

typedef struct lane_guard {
    lanes *c;
    const kiln_expr *mask;            /* of the statements around */
    const kiln_expr *uniform, *lanes; /* NULL: none */
} lane_guard;

/* i + lane < n, where i and n are multiples of at least the lanes: i < n says it. NULL: it
 * is nothing of the kind. */
static const kiln_expr *of_whole_vector(lanes *c, const kiln_expr *e) {
    int64_t step = 0, least = 0;
    if (e->kind != KILN_EXPR_LT || e->arg[0]->kind != KILN_EXPR_RAMP ||
        e->arg[1]->kind != KILN_EXPR_BROADCAST ||
        !kiln_x_is_int(e->arg[0]->arg[1], &step) || step != 1)
        return NULL;
    const kiln_expr *i = e->arg[0]->arg[0], *n = e->arg[1]->arg[0];
    least = kiln_expr_divisor(i) < kiln_expr_divisor(n) ? kiln_expr_divisor(i)
                                                        : kiln_expr_divisor(n);
    return least >= c->n ? kiln_x_binary(c->arena, KILN_EXPR_LT, i, n) : NULL;
}

static void sort_guard(void *user, const kiln_expr *e) {
    lane_guard *g = user;
    const kiln_expr *x = expr(g->c, e, g->mask);
    if (g->c->failed)
        return;
    const kiln_expr *whole = g->c->has_whole ? of_whole_vector(g->c, x) : NULL;
    if (whole != NULL)
        x = whole;
    if (x->lanes == 1)
        g->uniform = kiln_conjunction(g->c->arena, g->uniform, x);
    else
        g->lanes = and_mask(g->c, g->lanes, x);
}

static const kiln_stmt *branch(lanes *c, const kiln_stmt *s, const kiln_expr *mask) {
    const kiln_stmt *then = s->u.branch.then, *otherwise = s->u.branch.otherwise;
    lane_guard g = {.c = c, .mask = mask};
    kiln_conjuncts(s->u.branch.cond, sort_guard, &g);
    if (c->failed)
        return s;
    if (g.lanes != NULL && (otherwise != NULL || then->kind != KILN_STMT_STORE) &&
        kiln_expr_loads(g.lanes, NULL))
        return fail_stmt(c, s); /* what decides may change before all has used it */
    if (g.lanes != NULL && g.uniform != NULL && otherwise != NULL)
        return fail_stmt(c, s);
    const kiln_walk_mark mark = kiln_walk_save(c->w);
    if (g.uniform != NULL)
        kiln_walk_assume(c->w, g.uniform, true);
    then = stmt(c, then, g.lanes != NULL ? and_mask(c, mask, g.lanes) : mask);
    kiln_walk_restore(c->w, mark);
    if (otherwise != NULL)
        otherwise = stmt(
            c, otherwise,
            g.lanes != NULL ? and_mask(c, mask, kiln_x_not(c->arena, g.lanes)) : mask);
    if (c->failed)
        return s;
    if (g.lanes == NULL)
        return kiln_s_if(c->arena, g.uniform, then, otherwise);
    if (otherwise != NULL) {
        const kiln_stmt *both[] = {then, otherwise};
        return kiln_s_seq(c->arena, both, 2);
    }
    return g.uniform != NULL ? kiln_s_if(c->arena, g.uniform, then, NULL) : then;
}

static const kiln_stmt *loop(lanes *c, const kiln_stmt *s, const kiln_expr *mask) {
    const kiln_expr *min = expr(c, s->u.loop.min, mask),
                    *extent = expr(c, s->u.loop.extent, mask);
    if (c->failed || min->lanes > 1 || extent->lanes > 1 ||
        s->u.loop.kind == KILN_LOOP_VECTORIZED || s->u.loop.kind == KILN_LOOP_THREAD)
        return fail_stmt(c, s); /* of nested ones, the innermost becomes vectors */
    const kiln_walk_mark mark = kiln_walk_save(c->w);
    kiln_walk_enter(c->w, s->u.loop.var, min, extent);
    const kiln_stmt *body = stmt(c, s->u.loop.body, mask);
    kiln_walk_restore(c->w, mark);
    return kiln_s_for(c->arena, s->u.loop.var, min, extent, s->u.loop.kind,
                      s->u.loop.tag, body);
}

static const kiln_stmt *let(lanes *c, const kiln_stmt *s, const kiln_expr *mask) {
    const kiln_expr *value = expr(c, s->u.let.value, mask);
    if (c->failed)
        return s;
    if (value->lanes == 1)
        return kiln_s_let(c->arena, s->u.let.var, value, stmt(c, s->u.let.body, mask));
    if (kiln_expr_loads(s->u.let.value, NULL))
        return fail_stmt(c, s);
    const kiln_subst map = {s->u.let.var, s->u.let.value};
    return stmt(c, kiln_stmt_substitute(c->arena, s->u.let.body, &map, 1), mask);
}

static const kiln_stmt *stmt(lanes *c, const kiln_stmt *s, const kiln_expr *mask) {
    const kiln_subst first = {c->var, c->first};
    const kiln_stmt **part = NULL;
    const kiln_expr *e = NULL;
    if (c->failed)
        return s;
    c->known.n = 0; /* statements before may have stored */
    switch (s->kind) {
    case KILN_STMT_FOR:
        return loop(c, s, mask);
    case KILN_STMT_SEQ:
        part = kiln_array(c->arena, const kiln_stmt *, s->u.seq.n);
        for (int i = 0; i < s->u.seq.n; i++)
            part[i] = stmt(c, s->u.seq.stmt[i], mask);
        return kiln_s_seq(c->arena, part, s->u.seq.n);
    case KILN_STMT_IF:
        return branch(c, s, mask);
    case KILN_STMT_LET:
        return let(c, s, mask);
    case KILN_STMT_ALLOC:
        return fail_stmt(c, s);
    case KILN_STMT_STORE:
        return store(c, s, mask);
    case KILN_STMT_EVAL: /* prefetches: lanes lie in one cache line or nearly so */
        if (s->u.eval->kind != KILN_EXPR_CALL ||
            s->u.eval->u.intrin != KILN_INTRIN_prefetch)
            return fail_stmt(c, s);
        return kiln_s_eval(c->arena,
                           kiln_expr_substitute(c->arena, s->u.eval, &first, 1));
    case KILN_STMT_ATTR:
        e = s->u.attr.value != NULL ? expr(c, s->u.attr.value, mask) : NULL;
        if (e != NULL && e->lanes > 1)
            return fail_stmt(c, s);
        return kiln_s_attr(c->arena, s->u.attr.key, s->u.attr.text, s->u.attr.buffer, e,
                           stmt(c, s->u.attr.body, mask));
    case KILN_STMT_BARRIER:
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        return fail_stmt(c, s);
    }
    return s;
}

/* ---- loops --------------------------------------------------------------------- */

/* `n` iterations from `first` on as vectors; NULL: not possible. */
static const kiln_stmt *as_vectors(kiln_walk *w, const kiln_stmt *s,
                                   const kiln_expr *first, int n) {
    const kiln_loop_options *o = w->user;
    lanes c = {.w = w,
               .arena = w->arena,
               .var = s->u.loop.var,
               .first = first,
               .n = n,
               .has_whole = o != NULL && o->whole_vectors};
    KILN_ASSERT(n > 0 && n <= KILN_MAX_LANES, "loop '%s' becomes vectors of %d lanes",
                c.var->name, n);
    c.ramp = kiln_x_ramp(w->arena, first, kiln_x_index(w->arena, 1), n);
    const kiln_stmt *done = stmt(&c, s->u.loop.body, NULL);
    return c.failed ? NULL : done;
}

/* Loops wider than `most`: whole vectors in a loop, and the rest. */
static const kiln_stmt *in_chunks(kiln_walk *w, const kiln_stmt *s,
                                  const kiln_expr *min, int64_t n, int most) {
    kiln_arena *a = w->arena;
    const int64_t chunks = n / most, rest = n % most;
    const kiln_stmt *both[2] = {kiln_s_nothing(a), kiln_s_nothing(a)};
    if (chunks > 0) {
        const kiln_expr *lo = kiln_x_index(a, 0), *count = kiln_x_index(a, chunks);
        const kiln_expr *first = min;
        kiln_var *v = NULL;
        const kiln_walk_mark mark = kiln_walk_save(w);
        if (chunks > 1) {
            v = kiln_var_new(a, s->u.loop.var->name, KILN_I64);
            kiln_walk_enter(w, v, lo, count);
            first = kiln_x_add(a, min,
                               kiln_x_mul(a, kiln_x_ref(a, v), kiln_x_index(a, most)));
        }
        const kiln_stmt *body = as_vectors(w, s, first, most);
        kiln_walk_restore(w, mark);
        if (body == NULL)
            return NULL;
        both[0] = v == NULL ? body
                            : kiln_s_for(a, v, lo, count, KILN_LOOP_SERIAL, NULL, body);
    }
    if (rest > 0) {
        both[1] =
            as_vectors(w, s, kiln_x_add(a, min, kiln_x_index(a, n - rest)), (int)rest);
        if (both[1] == NULL)
            return NULL;
    }
    return kiln_s_seq(a, both, 2);
}

static const kiln_stmt *loop_hook(kiln_walk *w, const kiln_stmt *s) {
    const kiln_loop_options *o = w->user;
    int most =
        o != NULL && o->max_vector_lanes > 0 ? o->max_vector_lanes : KILN_MAX_LANES;
    most = most > KILN_MAX_LANES ? KILN_MAX_LANES : most;
    int64_t n = 0;
    if (s->u.loop.kind != KILN_LOOP_VECTORIZED)
        return kiln_walk_loop(w, s);
    const kiln_expr *min = kiln_walk_expr(w, s->u.loop.min);
    const kiln_expr *extent = kiln_walk_expr(w, s->u.loop.extent);
    if (kiln_x_is_int(extent, &n) && n > 1) {
        const kiln_stmt *done = in_chunks(w, s, min, n, most);
        if (done != NULL)
            return done;
        KILN_LOG(DEBUG, "vectorize", "loop '%s' of %" PRId64 " stays serial",
                 s->u.loop.var->name, n);
    }
    const kiln_stmt *serial = kiln_s_for(w->arena, s->u.loop.var, min, extent,
                                         KILN_LOOP_SERIAL, NULL, s->u.loop.body);
    return serial->kind == KILN_STMT_FOR ? kiln_walk_loop(w, serial) : serial;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    kiln_loop_options options = {0};
    if (o != NULL)
        options = *o;
    kiln_walk w = kiln_walk_make(p->arena, loop_hook, &options, err);
    p->body = kiln_walk_stmt(&w, p->body);
    return w.status;
}

const kiln_loop_pass kiln_loop_pass_vectorize = {
    .name = "vectorize",
    .doc = "turns vectorized loops into vector expressions, guards into masks",
    .run = run,
};
