/* Walking expressions: equality, hashing, visiting, rewriting, substitution. */
#include "compiler/tensor/tensor_expr.h"

#include <string.h>

/* ---- equality and hashing ------------------------------------------------------ */

static uint64_t float_bits(double v) {
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static bool same_vars(const kiln_turns *x, const kiln_turns *y) {
    bool same = x->n_state == y->n_state && x->n_local == y->n_local;
    for (int i = 0; same && i < x->n_state; i++)
        same = x->state[i] == y->state[i];
    for (int i = 0; same && i < x->n_local; i++)
        same = x->local[i] == y->local[i];
    return same;
}

static bool same_payload(const kiln_expr *x, const kiln_expr *y) {
    switch (x->kind) {
    case KILN_EXPR_INT:
        return x->u.i == y->u.i;
    case KILN_EXPR_FLOAT: /* bits: NaN equals itself, -0 differs from 0 */
        return float_bits(x->u.f) == float_bits(y->u.f);
    case KILN_EXPR_VAR:
        return x->u.var == y->u.var;
    case KILN_EXPR_CALL:
        return x->u.intrin == y->u.intrin;
    case KILN_EXPR_READ:
        return x->u.read.te == y->u.read.te && x->u.read.out == y->u.read.out;
    case KILN_EXPR_REDUCE:
        return x->u.reduce == y->u.reduce;
    case KILN_EXPR_LOAD:
        return x->u.load.buffer == y->u.load.buffer &&
               (x->u.load.mask == NULL) == (y->u.load.mask == NULL) &&
               (x->u.load.mask == NULL || kiln_expr_eq(x->u.load.mask, y->u.load.mask));
    case KILN_EXPR_SHUFFLE:
        return memcmp(x->u.lane, y->u.lane, (size_t)x->lanes * sizeof *x->u.lane) == 0;
    case KILN_EXPR_LET: /* other variables: another expression, though its value may be
                           the same */
        return memcmp(x->u.bound, y->u.bound,
                      ((size_t)x->n_arg - 1) * sizeof *x->u.bound) == 0;
    case KILN_EXPR_LOOP:
        return same_vars(x->u.turns, y->u.turns);
    case KILN_EXPR_TABLE:
        return x->u.table->n == y->u.table->n &&
               memcmp(x->u.table->v, y->u.table->v,
                      (size_t)x->u.table->n * sizeof *x->u.table->v) == 0;
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_SELECT:
    case KILN_EXPR_RAMP:
    case KILN_EXPR_BROADCAST:
        break;
    }
    return true;
}

bool kiln_expr_eq(const kiln_expr *x, const kiln_expr *y) {
    if (x == y)
        return true;
    if (x->kind != y->kind || x->dtype != y->dtype || x->lanes != y->lanes ||
        x->n_arg != y->n_arg || !same_payload(x, y))
        return false;
    for (int i = 0; i < x->n_arg; i++)
        if (!kiln_expr_eq(x->arg[i], y->arg[i]))
            return false;
    return true;
}

static uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
    return h * 0xFF51AFD7ED558CCDu;
}

static uint64_t payload_hash(const kiln_expr *e) {
    switch (e->kind) {
    case KILN_EXPR_INT:
        return (uint64_t)e->u.i;
    case KILN_EXPR_FLOAT:
        return float_bits(e->u.f);
    case KILN_EXPR_VAR:
        return (uint64_t)(uintptr_t)e->u.var;
    case KILN_EXPR_CALL:
        return (uint64_t)e->u.intrin;
    case KILN_EXPR_READ:
        return (uint64_t)(uintptr_t)e->u.read.te + (uint64_t)e->u.read.out;
    case KILN_EXPR_REDUCE:
        return (uint64_t)(uintptr_t)e->u.reduce;
    case KILN_EXPR_LOAD:
        return (uint64_t)(uintptr_t)e->u.load.buffer;
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPR_SELECT:
    case KILN_EXPRS_LANES:
    case KILN_EXPRS_SCOPED:
        break;
    }
    return 0;
}

/* Addresses take part: equal within one run, never for what is written down. */
uint64_t kiln_expr_hash(const kiln_expr *e) {
    uint64_t h = mix((uint64_t)e->kind * 64 + (uint64_t)e->dtype, payload_hash(e));
    h = mix(h, (uint64_t)e->lanes);
    for (int i = 0; i < e->n_arg; i++)
        h = mix(h, kiln_expr_hash(e->arg[i]));
    return h;
}

/* ---- visiting ------------------------------------------------------------------ */

static void visit_reduction(const kiln_reduction *r,
                            void (*fn)(void *, const kiln_expr *), void *user) {
    for (int i = 0; i < r->reducer->n; i++)
        kiln_expr_visit(r->source[i], fn, user);
    if (r->cond != NULL)
        kiln_expr_visit(r->cond, fn, user);
}

void kiln_expr_visit(const kiln_expr *e, void (*fn)(void *user, const kiln_expr *e),
                     void *user) {
    for (int i = 0; i < e->n_arg; i++)
        kiln_expr_visit(e->arg[i], fn, user);
    if (e->kind == KILN_EXPR_REDUCE)
        visit_reduction(e->u.reduce, fn, user);
    if (e->kind == KILN_EXPR_LOAD && e->u.load.mask != NULL)
        kiln_expr_visit(e->u.load.mask, fn, user);
    fn(user, e);
}

typedef struct use {
    const kiln_var *var;
    bool found;
} use;

static void find_use(void *user, const kiln_expr *e) {
    use *u = user;
    u->found = u->found || (e->kind == KILN_EXPR_VAR && e->u.var == u->var);
}

bool kiln_expr_uses(const kiln_expr *e, const kiln_var *v) {
    use u = {v, false};
    kiln_expr_visit(e, find_use, &u);
    return u.found;
}

/* ---- rewriting ----------------------------------------------------------------- */

static const kiln_expr *rebuild_loop(kiln_arena *a, const kiln_expr *e,
                                     const kiln_expr **arg) {
    kiln_expr with = *e;
    with.arg = arg;
    const kiln_loop_parts parts = kiln_x_loop_parts(&with);
    return kiln_x_loop(a, &parts);
}

/* Builds the node again over new arguments, through the builders, so that what has
 * become constant folds. */
static const kiln_expr *rebuild(kiln_arena *a, const kiln_expr *e,
                                const kiln_expr **arg, const kiln_expr *mask) {
    switch (e->kind) {
    case KILN_EXPR_NOT:
        return kiln_x_not(a, arg[0]);
    case KILN_EXPR_CAST:
        return kiln_x_cast(a, e->dtype, arg[0]);
    case KILN_EXPR_BITCAST:
        return kiln_x_bitcast(a, e->dtype, arg[0]);
    case KILN_EXPR_SELECT:
        return kiln_x_select(a, arg[0], arg[1], arg[2]);
    case KILN_EXPR_CALL:
        return kiln_x_call(a, e->u.intrin, arg);
    case KILN_EXPR_READ:
        return kiln_x_read(a, e->u.read.te, e->u.read.out, arg, e->n_arg);
    case KILN_EXPR_LOAD:
        return kiln_x_load(a, e->u.load.buffer, arg, e->n_arg, mask);
    case KILN_EXPR_RAMP:
        return kiln_x_ramp(a, arg[0], arg[1], e->lanes);
    case KILN_EXPR_BROADCAST:
        return kiln_x_broadcast(a, arg[0], e->lanes);
    case KILN_EXPR_SHUFFLE:
        return kiln_x_shuffle(a, arg, e->n_arg, e->u.lane, e->lanes);
    case KILN_EXPR_LET:
        return kiln_x_let(a, e->u.bound, arg, e->n_arg - 1, arg[e->n_arg - 1]);
    case KILN_EXPR_LOOP:
        return rebuild_loop(a, e, arg);
    case KILN_EXPR_TABLE:
        return kiln_x_table(a, e->u.table, arg[0]);
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPR_REDUCE:
        break;
    }
    return kiln_x_binary(a, e->kind, arg[0], arg[1]);
}

static const kiln_expr *map_reduction(kiln_arena *a, const kiln_expr *e,
                                      kiln_expr_fn fn, void *user) {
    const kiln_reduction *r = e->u.reduce;
    const kiln_expr **source = kiln_array(a, const kiln_expr *, r->reducer->n);
    bool changed = false;
    for (int i = 0; i < r->reducer->n; i++) {
        source[i] = fn(user, a, r->source[i]);
        changed = changed || source[i] != r->source[i];
    }
    const kiln_expr *cond = r->cond != NULL ? fn(user, a, r->cond) : NULL;
    if (!changed && cond == r->cond)
        return e;
    return kiln_x_reduce(a, r->reducer, source, r->axis, r->n_axes, cond, r->index);
}

/* fn of the children into `arg`; true when one of them is new. */
static bool map_args(kiln_arena *a, const kiln_expr *e, kiln_expr_fn fn, void *user,
                     const kiln_expr **arg, const kiln_expr **mask) {
    bool changed = false;
    for (int i = 0; i < e->n_arg; i++) {
        arg[i] = fn(user, a, e->arg[i]);
        changed = changed || arg[i] != e->arg[i];
    }
    *mask = NULL;
    if (e->kind == KILN_EXPR_LOAD && e->u.load.mask != NULL) {
        *mask = fn(user, a, e->u.load.mask);
        changed = changed || *mask != e->u.load.mask;
    }
    return changed;
}

const kiln_expr *kiln_expr_map(kiln_arena *a, const kiln_expr *e, kiln_expr_fn fn,
                               void *user) {
    enum {
        ON_STACK = 16
    }; /* more arguments than any index has; shuffles may have more */
    const kiln_expr *few[ON_STACK], **arg = few, *mask = NULL;
    if (e->kind == KILN_EXPR_REDUCE)
        return map_reduction(a, e, fn, user);
    if (e->n_arg > ON_STACK)
        arg = kiln_array(a, const kiln_expr *, e->n_arg);
    return map_args(a, e, fn, user, arg, &mask) ? rebuild(a, e, arg, mask) : e;
}

typedef struct bottom_up {
    kiln_expr_fn fn;
    void *user;
} bottom_up;

static const kiln_expr *rewrite(void *user, kiln_arena *a, const kiln_expr *e) {
    const bottom_up *b = user;
    return b->fn(b->user, a, kiln_expr_map(a, e, rewrite, user));
}

const kiln_expr *kiln_expr_rewrite(kiln_arena *a, const kiln_expr *e, kiln_expr_fn fn,
                                   void *user) {
    return rewrite(&(bottom_up){fn, user}, a, e);
}

const kiln_expr *kiln_subst_var(void *list, kiln_arena *a, const kiln_expr *e) {
    (void)a;
    const kiln_subst_list *m = list;
    if (e->kind != KILN_EXPR_VAR)
        return e;
    for (size_t i = 0; i < m->n; i++)
        if (m->s[i].var == e->u.var)
            return m->s[i].value;
    return e;
}

const kiln_expr *kiln_expr_substitute(kiln_arena *a, const kiln_expr *e,
                                      const kiln_subst *s, size_t n) {
    return n == 0 ? e
                  : kiln_expr_rewrite(a, e, kiln_subst_var, &(kiln_subst_list){s, n});
}
