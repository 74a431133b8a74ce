/* Walks a lowered program once and lists its loops, statements and accesses, with what
 * each access touches at each loop around it. */
#include "compiler/loop/loop_nest.h"

#include <stdlib.h>
#include <string.h>

/* What holds around the place that the walk is at. */
typedef struct place {
    int loop;  /* -1: none */
    int depth; /* loops around */
    double runs, share;
    uint64_t guarded; /* depths that the guards so far depend on */
} place;

typedef struct walk {
    kiln_nest *k;
    kiln_touch_vars vars;
} walk;

static void walk_stmt(walk *w, const kiln_stmt *s, place at);

/* ---- guards ---------------------------------------------------------------------- */

/* The part of lhs - rhs's range where lhs < rhs (or <=) holds. A guard on loops that
 * one around it depends on too says the same again. */
static void assume_less(walk *w, const kiln_expr *e, place *at) {
    kiln_form x, y;
    int64_t x_lo, x_hi, y_lo, y_hi;
    kiln_form_of(&w->vars, e->arg[0], &x);
    kiln_form_of(&w->vars, e->arg[1], &y);
    if (!kiln_form_range(&x, &x_lo, &x_hi) || !kiln_form_range(&y, &y_lo, &y_hi))
        return;
    const int64_t is_le = e->kind == KILN_EXPR_LE;
    const double lo = (double)x_lo - (double)y_hi - (double)is_le,
                 hi = (double)x_hi - (double)y_lo - (double)is_le;
    const uint64_t depths = kiln_form_depths(&x) | kiln_form_depths(&y);
    if (hi < 0 || lo >= 0 || (depths & at->guarded) == depths)
        return;
    at->share *= -lo / (hi - lo + 1);
    at->guarded |= depths;
}

static void assume(walk *w, const kiln_expr *cond, place *at) {
    if (cond->kind == KILN_EXPR_AND) {
        assume(w, cond->arg[0], at);
        assume(w, cond->arg[1], at);
    } else if (cond->kind == KILN_EXPR_LT || cond->kind == KILN_EXPR_LE) {
        assume_less(w, cond, at);
    }
}

/* ---- accesses -------------------------------------------------------------------- */

static int buffer_id(kiln_nest *k, const kiln_buffer *b) {
    for (size_t i = 0; i < k->buffers.n; i++)
        if (k->buffers.v[i] == b)
            return (int)i;
    kiln_vec_push(k->arena, &k->buffers, b);
    return (int)k->buffers.n - 1;
}

/* Different elements while the loops of depth >= from run. */
static double touched_from(const kiln_nest_access *x, int from) {
    double elems = 1;
    for (int d = 0; d < x->buffer->rank; d++) {
        const kiln_form *f = &x->index[d];
        const int64_t dim = kiln_buffer_dim(x->buffer, d);
        int64_t n = f->unknown >> from != 0 ? dim : kiln_form_count(f, from);
        n = n < dim ? n : dim;
        elems *= (double)(n > 1 ? n : 1);
    }
    return elems;
}

static void add_access(walk *w, const kiln_buffer *b, const kiln_expr *const *index,
                       bool is_store, const place *at) {
    kiln_nest *k = w->k;
    kiln_nest_access x = {.buffer = b,
                          .buffer_id = buffer_id(k, b),
                          .stmt = (int)k->stmts.n,
                          .is_store = is_store,
                          .index = kiln_array(k->arena, kiln_form, b->rank),
                          .stride = kiln_array(k->arena, int64_t, b->rank),
                          .touched = kiln_array(k->arena, double, at->depth + 1)};
    kiln_buffer_strides(b, x.stride);
    for (int d = 0; d < b->rank; d++)
        kiln_form_of(&w->vars, index[d], &x.index[d]);
    for (int from = 0; from <= at->depth; from++)
        x.touched[from] = touched_from(&x, from);
    x.roles |= b->scope == KILN_SCOPE_REGISTER ? 1U << KILN_ROLE_REGISTERS
                                               : 1U << KILN_ROLE_ALL;
    if (is_store && b->arg >= 0)
        x.roles |= 1U << KILN_ROLE_WRITTEN;
    else if (is_store && b->scope != KILN_SCOPE_REGISTER)
        x.roles |= 1U << KILN_ROLE_COPIED;
    kiln_vec_push(k->arena, &k->accesses, x);
}

/* Arithmetic on numbers counts; indexes are i64 and do not. */
static bool is_operation(const kiln_expr *e) {
    if (e->dtype == KILN_I64)
        return false;
    return (e->kind >= KILN_EXPR_ADD && e->kind <= KILN_EXPR_MAX) ||
           e->kind == KILN_EXPR_CALL;
}

/* Functions that are one instruction, or one that keeps its port for long. */
static void sort_operation(const kiln_expr *e, kiln_nest_stmt *s) {
    static const bool is_instruction[KILN_N_INTRINS] = {
        [KILN_INTRIN_abs] = true,      [KILN_INTRIN_add_rn] = true,
        [KILN_INTRIN_ceil] = true,     [KILN_INTRIN_copysign] = true,
        [KILN_INTRIN_dot4] = true,     [KILN_INTRIN_floor] = true,
        [KILN_INTRIN_fma] = true,      [KILN_INTRIN_isnan] = true,
        [KILN_INTRIN_mul_rn] = true,   [KILN_INTRIN_prefetch] = true,
        [KILN_INTRIN_quotient] = true, [KILN_INTRIN_round] = true,
        [KILN_INTRIN_sub_rn] = true,   [KILN_INTRIN_trunc] = true};
    const bool is_call = e->kind == KILN_EXPR_CALL;
    const bool is_root = is_call && (e->u.intrin == KILN_INTRIN_sqrt ||
                                     e->u.intrin == KILN_INTRIN_rsqrt);
    s->n_divs += is_root || e->kind == KILN_EXPR_DIV;
    s->n_calls += is_call && !is_root && !is_instruction[e->u.intrin];
}

static void walk_value(walk *w, const kiln_expr *e, kiln_nest_stmt *s,
                       const place *at) {
    if (e->kind == KILN_EXPR_LOAD) {
        add_access(w, e->u.load.buffer, e->arg, false, at);
        return; /* indexes that load are counted with their buffer */
    }
    s->ops += is_operation(e) ? 1 : 0;
    if (is_operation(e))
        sort_operation(e, s);
    s->n_selects += e->kind == KILN_EXPR_SELECT;
    for (int i = 0; i < e->n_arg; i++)
        walk_value(w, e->arg[i], s, at);
}

static void add_stmt(walk *w, const kiln_stmt *s, const place *at) {
    kiln_nest *k = w->k;
    kiln_nest_stmt made = {.loop = at->loop,
                           .runs = at->runs,
                           .share = at->share,
                           .first = (int)k->accesses.n,
                           .has_store = s->kind == KILN_STMT_STORE};
    if (made.has_store)
        add_access(w, s->u.store.buffer, s->u.store.index, true, at);
    walk_value(w, made.has_store ? s->u.store.value : s->u.eval, &made, at);
    made.n = (int)k->accesses.n - made.first;
    made.computes = made.has_store && made.ops > 0;
    made.ops = made.ops > 1 ? made.ops : 1;
    for (int l = at->loop; l >= 0; l = k->loops.v[l].parent)
        k->loops.v[l].work += made.ops * made.runs / k->loops.v[l].topdown;
    kiln_vec_push(k->arena, &k->stmts, made);
}

/* ---- statements ------------------------------------------------------------------ */

/* A loop's variable is its begin plus the iteration. */
static void push_loop(walk *w, const kiln_stmt *s, int depth, int64_t extent) {
    kiln_touch_var v = {.var = s->u.loop.var, .depth = depth, .extent = extent};
    int64_t min;
    if (!kiln_x_is_int(s->u.loop.min, &min) || min != 0) {
        kiln_form *f = kiln_new(w->k->arena, kiln_form);
        kiln_form_of(&w->vars, s->u.loop.min, f);
        kiln_vec_push(w->k->arena, &w->vars.stack, v);
        kiln_form iteration, sum = *f;
        const kiln_expr var = {
            .kind = KILN_EXPR_VAR, .dtype = KILN_I64, .lanes = 1, .u.var = v.var};
        kiln_form_of(&w->vars, &var, &iteration);
        w->vars.stack.n--;
        kiln_form_add(&sum, &iteration, 1);
        *f = sum;
        v.form = f;
    }
    kiln_vec_push(w->k->arena, &w->vars.stack, v);
}

static int64_t extent_of(walk *w, const kiln_expr *e) {
    int64_t lo, hi;
    kiln_form f;
    if (kiln_x_is_int(e, &hi))
        return hi > 1 ? hi : 1;
    kiln_form_of(&w->vars, e, &f);
    return kiln_form_range(&f, &lo, &hi) && hi > 1 ? hi : 1;
}

static int axis_of(const kiln_stmt *s) {
    return s->u.loop.kind == KILN_LOOP_THREAD ? kiln_launch_axis_of(s->u.loop.tag) : -1;
}

/* The loop around that is bound to the same axis; -1: there is none. */
static int same_axis(const kiln_nest *k, int loop, int axis) {
    while (axis >= 0 && loop >= 0 && k->loops.v[loop].axis != axis)
        loop = k->loops.v[loop].parent;
    return axis >= 0 ? loop : -1;
}

/* Its variable is that of the loop around; so many of its iterations run. */
static void walk_again(walk *w, const kiln_stmt *s, int loop, int64_t extent,
                       place at) {
    const kiln_nest_loop *around = &w->k->loops.v[loop];
    const kiln_expr var = {
        .kind = KILN_EXPR_VAR, .dtype = KILN_I64, .lanes = 1, .u.var = around->var};
    kiln_form *f = kiln_new(w->k->arena, kiln_form);
    kiln_form_of(&w->vars, &var, f);
    const kiln_touch_var v = {.var = s->u.loop.var, .form = f};
    at.runs *= (double)extent / (double)around->extent;
    kiln_vec_push(w->k->arena, &w->vars.stack, v);
    walk_stmt(w, s->u.loop.body, at);
    w->vars.stack.n--;
}

static void walk_loop(walk *w, const kiln_stmt *s, place at) {
    const int64_t extent = extent_of(w, s->u.loop.extent);
    const int axis = axis_of(s), again = same_axis(w->k, at.loop, axis);
    if (again >= 0) {
        walk_again(w, s, again, extent, at);
        return;
    }
    if (at.depth == KILN_MAX_DEPTH) {
        at.runs *= (double)extent;
        walk_stmt(w, s->u.loop.body, at);
        return;
    }
    const kiln_nest_loop loop = {.extent = extent,
                                 .kind = s->u.loop.kind,
                                 .parent = at.loop,
                                 .depth = at.depth,
                                 .axis = axis,
                                 .var = s->u.loop.var,
                                 .topdown = at.runs};
    kiln_vec_push(w->k->arena, &w->k->loops, loop);
    push_loop(w, s, at.depth, extent);
    at.loop = (int)w->k->loops.n - 1;
    at.depth++;
    at.runs *= (double)extent;
    walk_stmt(w, s->u.loop.body, at);
    w->vars.stack.n--;
}

static void walk_let(walk *w, const kiln_stmt *s, const place *at) {
    kiln_form *f = kiln_new(w->k->arena, kiln_form);
    kiln_form_of(&w->vars, s->u.let.value, f);
    const kiln_touch_var v = {.var = s->u.let.var, .form = f};
    kiln_vec_push(w->k->arena, &w->vars.stack, v);
    walk_stmt(w, s->u.let.body, *at);
    w->vars.stack.n--;
}

static void walk_stmt(walk *w, const kiln_stmt *s, place at) {
    const kiln_stmt *part = NULL;
    switch (s->kind) {
    case KILN_STMT_FOR:
        walk_loop(w, s, at);
        return;
    case KILN_STMT_IF:
        w->k->n_guards++;
        if (s->u.branch.otherwise != NULL)
            walk_stmt(w, s->u.branch.otherwise, at);
        assume(w, s->u.branch.cond, &at);
        walk_stmt(w, s->u.branch.then, at);
        return;
    case KILN_STMT_LET:
        walk_let(w, s, &at);
        return;
    case KILN_STMT_STORE:
    case KILN_STMT_EVAL:
        add_stmt(w, s, &at);
        return;
    case KILN_STMT_SEQ:
    case KILN_STMT_ALLOC:
    case KILN_STMT_ATTR:
    case KILN_STMT_BARRIER:
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        break;
    }
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        walk_stmt(w, part, at);
}

/* ---- the hot statement ----------------------------------------------------------- */

int64_t kiln_nest_step(const kiln_nest_access *x, int depth) {
    KILN_ASSERT(depth >= 0, "a step of loop %d", depth);
    int64_t step = 0;
    for (int d = 0; d < x->buffer->rank; d++)
        if (x->index[d].unknown == 0)
            step += x->stride[d] * kiln_form_step(&x->index[d], depth);
    return step;
}

/* The operand that moves along the vector, and the other one that is the larger. */
static void find_operands(kiln_nest *k) {
    const kiln_nest_stmt *s = &k->stmts.v[k->hot];
    const int depth = k->vector_loop < 0 ? -1 : k->loops.v[k->vector_loop].depth;
    for (int i = s->first; i < s->first + s->n; i++) {
        const kiln_nest_access *x = &k->accesses.v[i];
        if (x->is_store ||
            (s->has_store && x->buffer == k->accesses.v[s->first].buffer))
            continue;
        const bool moves = depth >= 0 && kiln_nest_step(x, depth) != 0;
        int *best = moves ? &k->vector : &k->broadcast;
        if (*best < 0 || x->touched[0] > k->accesses.v[*best].touched[0])
            *best = i;
    }
    if (k->vector >= 0)
        k->accesses.v[k->vector].roles |= 1U << KILN_ROLE_VECTOR;
    if (k->broadcast >= 0)
        k->accesses.v[k->broadcast].roles |= 1U << KILN_ROLE_BROADCAST;
}

static void find_hot(kiln_nest *k) {
    double most = 0;
    for (size_t i = 0; i < k->stmts.n; i++) {
        const kiln_nest_stmt *s = &k->stmts.v[i];
        if (s->runs * s->ops > most) {
            most = s->runs * s->ops;
            k->hot = (int)i;
        }
    }
    if (k->hot < 0)
        return;
    k->vector_loop = k->stmts.v[k->hot].loop;
    for (int l = k->vector_loop; l >= 0; l = k->loops.v[l].parent)
        if (k->loops.v[l].kind == KILN_LOOP_VECTORIZED) {
            k->vector_loop = l;
            break;
        }
    find_operands(k);
}

void kiln_nest_of(kiln_arena *scratch, const kiln_program *p, kiln_nest *out) {
    KILN_ASSERT(p->body != NULL, "program '%s' was not lowered", p->name);
    *out = (kiln_nest){
        .arena = scratch, .hot = -1, .vector_loop = -1, .vector = -1, .broadcast = -1};
    walk w = {.k = out, .vars = {.arena = scratch}};
    walk_stmt(&w, p->body, (place){.loop = -1, .runs = 1, .share = 1});
    find_hot(out);
    KILN_ASSERT(out->hot < (int)out->stmts.n, "statement %d of %zu is hot", out->hot,
                out->stmts.n);
}
