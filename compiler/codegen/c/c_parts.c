/* A store of a vector, cut where conditions that are numbers change: the first eight of
 * sixteen lanes hold what is computed, those of a block's tail are 0. Each part is a
 * vector by itself, without the condition, which compilers would make branches of. */
#include "compiler/codegen/c/print.h"

/* ---- what a lane is, without running anything ------------------------------------ */

static bool known_lane(const kiln_expr *e, int lane, int64_t *out) {
    int64_t x = 0, y = 0;
    switch (e->kind) {
    case KILN_EXPR_INT:
        *out = e->u.i;
        return true;
    case KILN_EXPR_BROADCAST:
        return known_lane(e->arg[0], 0, out);
    case KILN_EXPR_RAMP:
        if (!known_lane(e->arg[0], 0, &x) || !known_lane(e->arg[1], 0, &y))
            return false;
        return kiln_x_fold_int(KILN_EXPR_MUL, e->dtype, y, lane, &y) &&
               kiln_x_fold_int(KILN_EXPR_ADD, e->dtype, x, y, out);
    case KILN_EXPR_NOT:
        if (e->dtype != KILN_BOOL || !known_lane(e->arg[0], lane, &x))
            return false;
        *out = x == 0;
        return true;
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPRS_BITWISE:
        return !kiln_dtype_is_float(e->arg[0]->dtype) &&
               known_lane(e->arg[0], lane, &x) && known_lane(e->arg[1], lane, &y) &&
               kiln_x_fold_int(e->kind, e->arg[0]->dtype, x, y, out);
    case KILN_EXPRS_SCOPED:
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_BITCAST:
    case KILN_EXPR_CALL:
    case KILN_EXPR_CAST:
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_LOAD:
    case KILN_EXPR_SELECT:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPR_VAR:
        break;
    }
    return false;
}

/* Of lanes [first, first + n): 1, 0; -1: nobody knows, or some are and some are not. */
static int truth_of(const kiln_expr *cond, int first, int n) {
    int64_t all = 0, v = 0;
    if (!known_lane(cond, first, &all))
        return -1;
    for (int k = 1; cond->lanes > 1 && k < n; k++)
        if (!known_lane(cond, first + k, &v) || (v != 0) != (all != 0))
            return -1;
    return all != 0;
}

/* ---- where to cut ---------------------------------------------------------------- */

typedef struct cutting {
    bool is_edge[KILN_MAX_LANES + 1]; /* the lane is otherwise than the one before */
    bool found;
} cutting;

static void look_at(cutting *c, const kiln_expr *cond) {
    int64_t before = 0, v = 0;
    if (cond->lanes == 1 || !known_lane(cond, 0, &before))
        return;
    for (int k = 1; k < cond->lanes; k++) {
        if (!known_lane(cond, k, &v))
            return;
        if ((v != 0) != (before != 0))
            c->found = c->is_edge[k] = true;
        before = v;
    }
}

static void look(void *user, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_SELECT)
        look_at(user, e->arg[0]);
    if (e->kind == KILN_EXPR_LOAD && e->u.load.mask != NULL) {
        look_at(user, e->u.load.mask);
        kiln_expr_visit(e->u.load.mask, look, user);
    }
}

/* ---- a part ---------------------------------------------------------------------- */

typedef struct part {
    kiln_arena *arena;
    int first, n;
    bool failed;
} part;

static const kiln_expr *lanes_of(part *p, const kiln_expr *e);

static const kiln_expr *zero_of(const part *p, kiln_dtype d) {
    const kiln_expr *zero = kiln_x_number(p->arena, d, 0);
    return p->n == 1 ? zero : kiln_x_broadcast(p->arena, zero, p->n);
}

static const kiln_expr *ramp_of(const part *p, const kiln_expr *e) {
    const kiln_expr *skipped = kiln_x_binary(p->arena, KILN_EXPR_MUL, e->arg[1],
                                             kiln_x_int(p->arena, e->dtype, p->first));
    const kiln_expr *base = kiln_x_add(p->arena, e->arg[0], skipped);
    return p->n == 1 ? base : kiln_x_ramp(p->arena, base, e->arg[1], p->n);
}

static const kiln_expr *load_of(part *p, const kiln_expr *e) {
    const kiln_expr *mask = e->u.load.mask;
    const int truth = mask == NULL ? 1 : truth_of(mask, p->first, p->n);
    const kiln_expr **index = kiln_array(p->arena, const kiln_expr *, e->n_arg);
    if (truth == 0)
        return zero_of(p, e->dtype);
    for (int i = 0; i < e->n_arg; i++)
        index[i] = lanes_of(p, e->arg[i]);
    mask = truth == 1 ? NULL : lanes_of(p, mask);
    return p->failed ? e
                     : kiln_x_load(p->arena, e->u.load.buffer, index, e->n_arg, mask);
}

static const kiln_expr *node_of(part *p, const kiln_expr *e) {
    kiln_expr *out = kiln_new(p->arena, kiln_expr);
    *out = *e;
    out->lanes = p->n;
    out->arg = kiln_array(p->arena, const kiln_expr *, e->n_arg);
    for (int i = 0; i < e->n_arg; i++)
        out->arg[i] = lanes_of(p, e->arg[i]);
    return out;
}

static const kiln_expr *lanes_of(part *p, const kiln_expr *e) {
    int truth = -1;
    if (e->lanes == 1)
        return e;
    switch (e->kind) {
    case KILN_EXPR_BROADCAST:
        return p->n == 1 ? e->arg[0] : kiln_x_broadcast(p->arena, e->arg[0], p->n);
    case KILN_EXPR_RAMP:
        return ramp_of(p, e);
    case KILN_EXPR_LOAD:
        return load_of(p, e);
    case KILN_EXPR_SELECT:
        truth = truth_of(e->arg[0], p->first, p->n);
        return truth < 0 ? node_of(p, e) : lanes_of(p, e->arg[truth == 1 ? 1 : 2]);
    case KILN_EXPR_CALL:
        p->failed = p->failed || e->u.intrin == KILN_INTRIN_dot4;
        return node_of(p, e);
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_BITWISE:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPR_BITCAST:
    case KILN_EXPR_CAST:
    case KILN_EXPR_NOT:
        return node_of(p, e);
    case KILN_EXPRS_SCOPED: /* what is bound has all lanes */
    case KILN_EXPRS_TENSOR:
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_INT:
    case KILN_EXPR_SHUFFLE:
    case KILN_EXPR_VAR:
        break;
    }
    p->failed = true;
    return e;
}

/* NULL: nothing is stored there. */
static const kiln_stmt *store_of(part *p, const kiln_stmt *s) {
    const kiln_expr *mask = s->u.store.mask;
    const kiln_buffer *b = s->u.store.buffer;
    const int truth = mask == NULL ? 1 : truth_of(mask, p->first, p->n);
    const kiln_expr **index = kiln_array(p->arena, const kiln_expr *, b->rank);
    if (truth == 0)
        return NULL;
    for (int i = 0; i < b->rank; i++)
        index[i] = lanes_of(p, s->u.store.index[i]);
    const kiln_expr *value = lanes_of(p, s->u.store.value);
    mask = truth == 1 ? NULL : lanes_of(p, mask);
    return p->failed ? s : kiln_s_store(p->arena, b, index, value, mask);
}

/* The largest power of two that is no more. */
static int power_below(int n) {
    int out = 1;
    while (2 * out <= n)
        out *= 2;
    return out;
}

int kiln_c_parts(kiln_c_printer *p, const kiln_stmt *s,
                 const kiln_stmt *out[KILN_C_MAX_PARTS]) {
    const int lanes = s->u.store.value->lanes;
    cutting *c = kiln_new(p->arena, cutting);
    int n = 0;
    out[0] = s;
    kiln_expr_visit(s->u.store.value, look, c);
    if (s->u.store.mask != NULL)
        look_at(c, s->u.store.mask);
    if (!c->found)
        return 1;
    c->is_edge[lanes] = true;
    for (int at = 0; at < lanes;) {
        int end = at + 1;
        while (!c->is_edge[end])
            end++;
        part x = {p->arena, at, power_below(end - at), false};
        const kiln_stmt *one = store_of(&x, s);
        if (x.failed || (one != NULL && n == KILN_C_MAX_PARTS)) {
            out[0] = s;
            return 1;
        }
        if (one != NULL)
            out[n++] = one;
        at += x.n;
    }
    return n;
}
