/* Checks of whole programs: what can be decided without running them.
 *
 * An index that is linear in loop variables takes its extremes, so where no guard, mask
 * or select stands around an access, its interval is exact and must lie inside the
 * buffer. With guards around, an access that is wrong for every value is refused unless
 * a guard rules it out. */
#include "compiler/loop/loop_walk.h"
#include "compiler/loop/loop_words.h"

#include <inttypes.h>

typedef struct verifier {
    kiln_walk w; /* ranges and conditions */
    kiln_arena scratch;
    kiln_err *err;
    kiln_status status;
    const kiln_program *program;
    KILN_VEC(const kiln_var *) bound;
    KILN_VEC(const kiln_buffer *) live, written;
    KILN_VEC(const kiln_stmt *) nest; /* loops around */
    int n_guards;                     /* branches, masks and selects around */
    bool ranges_exact;
} verifier;

#define fail_at(v, ...)                                                                \
    ((v)->status = (v)->status != KILN_OK                                              \
                       ? (v)->status                                                   \
                       : kiln_fail((v)->err, KILN_ERR_ARG, __VA_ARGS__))

static bool is_bound(const verifier *v, const kiln_var *x) {
    for (size_t i = v->bound.n; i-- > 0;)
        if (v->bound.v[i] == x)
            return true;
    return false;
}

static bool is_live(const verifier *v, const kiln_buffer *b) {
    for (size_t i = v->live.n; i-- > 0;)
        if (v->live.v[i] == b)
            return true;
    return false;
}

static bool is_written(const verifier *v, const kiln_buffer *b) {
    for (size_t i = v->written.n; i-- > 0;)
        if (v->written.v[i] == b)
            return true;
    return false;
}

/* ---- accesses ------------------------------------------------------------------ */

/* Who calls or launches the program knows its range. */
static bool is_param(const verifier *v, const kiln_var *x) {
    for (int i = 0; i < v->program->n_params; i++)
        if (v->program->param[i] == x)
            return true;
    return false;
}

/* The interval is what the index really takes: linear in variables whose ranges are
 * exact, each of them once. */
static bool is_exact(const verifier *v, const kiln_expr *e) {
    kiln_linear l;
    if (e->kind == KILN_EXPR_BROADCAST)
        e = e->arg[0];
    if (e->kind == KILN_EXPR_RAMP) {
        int64_t stride = 0;
        if (!kiln_x_is_int(e->arg[1], &stride))
            return false;
        e = e->arg[0];
    }
    if (!v->ranges_exact || !kiln_linear_of(e, &l))
        return false;
    for (int i = 0; i < l.n; i++)
        if (l.term[i].expr->kind != KILN_EXPR_VAR || is_param(v, l.term[i].expr->u.var))
            return false;
    return true;
}

static void check_access(verifier *v, const kiln_buffer *b,
                         const kiln_expr *const *index, int lanes, const char *what) {
    if (!is_live(v, b)) {
        fail_at(v, "buffer '%s' is %s where it does not exist", b->name, what);
        return;
    }
    for (int i = 0; i < b->rank && v->status == KILN_OK; i++) {
        if (index[i]->dtype != KILN_I64 || index[i]->lanes != lanes) {
            fail_at(v, "buffer '%s': index %d must be i64 of %d lanes, is %s of %d",
                    b->name, i, lanes, kiln_dtype_name(index[i]->dtype),
                    index[i]->lanes);
            return;
        }
        const kiln_interval in = kiln_interval_of(&v->w.ranges, index[i]);
        const int64_t dim = kiln_buffer_dim(b, i);
        const bool never = in.max < 0 || in.min >= dim;
        const bool somewhere = (in.min < 0 || in.max >= dim) && is_exact(v, index[i]);
        if (v->n_guards == 0 && (never || somewhere))
            fail_at(v,
                    "buffer '%s' is %s outside: index %d must be in [0, %" PRId64
                    "), is in [%" PRId64 ", %" PRId64 "]",
                    b->name, what, i, dim, in.min, in.max);
    }
}

/* What a launch writes is seen where it was copied to. */
static void check_memory(verifier *v, const kiln_buffer *b, const char *what) {
    if (b->scope == KILN_SCOPE_DEVICE)
        fail_at(v,
                "the host %s '%s', which lies in the device's memory; copy it to the "
                "host's first",
                what, b->name);
}

static void expr(verifier *v, const kiln_expr *e);

static void check_lanes(verifier *v, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_SHUFFLE || e->kind == KILN_EXPR_RAMP ||
        e->kind == KILN_EXPR_BROADCAST || e->kind == KILN_EXPR_LET ||
        e->kind == KILN_EXPR_LOOP)
        return;
    const bool is_dot4 = e->kind == KILN_EXPR_CALL && e->u.intrin == KILN_INTRIN_dot4;
    for (int i = 0; i < e->n_arg; i++)
        if (e->arg[i]->lanes != (is_dot4 && i > 0 ? 4 * e->lanes : e->lanes))
            fail_at(v, "an expression of %d lanes has an operand of %d", e->lanes,
                    e->arg[i]->lanes);
}

static void guarded(verifier *v, const kiln_expr *e) {
    v->n_guards++;
    expr(v, e);
    v->n_guards--;
}

static void load(verifier *v, const kiln_expr *e) {
    const kiln_expr *mask = e->u.load.mask;
    const kiln_buffer *b = e->u.load.buffer;
    if (mask != NULL) {
        if (mask->dtype != KILN_BOOL || mask->lanes != e->lanes)
            fail_at(v, "the mask of a load from '%s' must be bool of %d lanes", b->name,
                    e->lanes);
        expr(v, mask);
        v->n_guards++;
    }
    for (int i = 0; i < e->n_arg; i++)
        expr(v, e->arg[i]);
    check_memory(v, b, "reads");
    if (v->status == KILN_OK)
        check_access(v, b, e->arg, e->lanes, "read");
    /* Behind a guard the read may be dead: what is never true need not be known as
     * such, and then there need be no write. */
    if (b->arg < 0 && v->n_guards == 0 && v->status == KILN_OK && !is_written(v, b))
        fail_at(v, "buffer '%s' is read before anything is written to it", b->name);
    if (mask != NULL)
        v->n_guards--;
}

static void bind(verifier *v, const kiln_var *x) {
    if (is_bound(v, x))
        fail_at(v, "variable '%s' is bound inside its own scope", x->name);
    kiln_vec_push(&v->scratch, &v->bound, x);
}

/* Dtypes and lanes are the builder's. Indexes that use what is bound have no exact
 * range. */
static void bound_expr(verifier *v, const kiln_expr *e) {
    const bool was_exact = v->ranges_exact;
    const size_t n_bound = v->bound.n;
    for (int i = 0; i + 1 < e->n_arg; i++) {
        expr(v, e->arg[i]);
        bind(v, e->u.bound[i]);
        v->ranges_exact = false;
    }
    expr(v, e->arg[e->n_arg - 1]);
    v->ranges_exact = was_exact;
    v->bound.n = n_bound;
}

/* Locals hold for the next state alone. That it ends, nobody knows. */
static void loop_expr(verifier *v, const kiln_expr *e) {
    const kiln_loop_parts p = kiln_x_loop_parts(e);
    const bool was_exact = v->ranges_exact;
    const size_t n_bound = v->bound.n;
    for (int i = 0; i < p.turns.n_state; i++)
        expr(v, p.init[i]);
    for (int i = 0; i < p.turns.n_state; i++)
        bind(v, p.turns.state[i]);
    v->ranges_exact = false;
    expr(v, p.cond);
    v->n_guards++; /* no turn may be taken */
    for (int i = 0; i < p.turns.n_local; i++) {
        expr(v, p.local[i]);
        bind(v, p.turns.local[i]);
    }
    for (int i = 0; i < p.turns.n_state; i++)
        expr(v, p.next[i]);
    v->n_guards--;
    v->bound.n = n_bound + (size_t)p.turns.n_state;
    expr(v, p.value);
    v->ranges_exact = was_exact;
    v->bound.n = n_bound;
}

static void expr(verifier *v, const kiln_expr *e) {
    if (v->status != KILN_OK)
        return;
    check_lanes(v, e);
    switch (e->kind) {
    case KILN_EXPR_VAR:
        if (!is_bound(v, e->u.var))
            fail_at(v, "variable '%s' is used where it has no value", e->u.var->name);
        return;
    case KILN_EXPR_READ:
    case KILN_EXPR_REDUCE:
        fail_at(v, "a loop program must not hold reads or reductions of tensor "
                   "expressions; lower it first");
        return;
    case KILN_EXPR_SELECT:
        expr(v, e->arg[0]);
        guarded(v, e->arg[1]);
        guarded(v, e->arg[2]);
        return;
    case KILN_EXPR_LOAD:
        load(v, e);
        return;
    case KILN_EXPR_LET:
        bound_expr(v, e);
        return;
    case KILN_EXPR_LOOP:
        loop_expr(v, e);
        return;
    case KILN_EXPR_CALL: /* a prefetch may lie anywhere */
        if (!kiln_intrin_get(e->u.intrin)->is_pure)
            return;
        break;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_UNARY:
    case KILN_EXPRS_LANES:
    case KILN_EXPR_TABLE:
        break;
    }
    for (int i = 0; i < e->n_arg; i++)
        expr(v, e->arg[i]);
}

/* ---- statements ---------------------------------------------------------------- */

static void stmt(verifier *v, const kiln_stmt *s);

static bool runs_at_once(kiln_loop_kind kind) {
    return kind == KILN_LOOP_PARALLEL || kind == KILN_LOOP_THREAD ||
           kind == KILN_LOOP_VTHREAD;
}

/* Iterations that run at once store to different places: an index that uses neither
 * the loop nor what is bound inside is the same in all of them. */
static void check_race(verifier *v, const kiln_buffer *b, const kiln_expr *const *index,
                       const kiln_expr *mask) {
    for (size_t i = v->nest.n; i-- > 0;) {
        const kiln_stmt *loop = v->nest.v[i];
        int64_t n = 0;
        if (loop->kind == KILN_STMT_ALLOC && loop->u.alloc.buffer == b)
            return; /* each iteration has its own */
        if (loop->kind != KILN_STMT_FOR || !runs_at_once(loop->u.loop.kind) ||
            !kiln_x_is_int(loop->u.loop.extent, &n) || n <= 1)
            continue;
        bool differs = v->n_guards > 0 || mask != NULL;
        for (int k = 0; k < b->rank && !differs; k++)
            for (size_t j = 0; j < v->bound.n && !differs; j++)
                if (v->bound.v[j] == loop->u.loop.var)
                    for (; j < v->bound.n && !differs; j++)
                        differs = kiln_expr_uses(index[k], v->bound.v[j]);
        if (!differs)
            fail_at(
                v, "every iteration of %s loop '%s' stores to the same place of '%s'",
                kiln_loop_words[loop->u.loop.kind], loop->u.loop.var->name, b->name);
    }
}

static void note_write(verifier *v, const kiln_buffer *b) {
    if (!is_written(v, b))
        kiln_vec_push(&v->scratch, &v->written, b);
}

static void store(verifier *v, const kiln_stmt *s) {
    const kiln_buffer *b = s->u.store.buffer;
    const kiln_expr *value = s->u.store.value, *mask = s->u.store.mask;
    if (value->dtype != b->dtype)
        fail_at(v, "buffer '%s' of %s stores %s", b->name, kiln_dtype_name(b->dtype),
                kiln_dtype_name(value->dtype));
    if (mask != NULL && (mask->dtype != KILN_BOOL || mask->lanes != value->lanes))
        fail_at(v, "the mask of a store to '%s' must be bool of %d lanes", b->name,
                value->lanes);
    if (b->arg >= 0 && !b->is_written)
        fail_at(v, "input '%s' is written", b->name);
    check_memory(v, b, "writes");
    if (v->status != KILN_OK)
        return;
    if (mask != NULL) {
        expr(v, mask);
        v->n_guards++;
    }
    expr(v, value);
    for (int i = 0; i < b->rank; i++)
        expr(v, s->u.store.index[i]);
    if (v->status == KILN_OK)
        check_access(v, b, s->u.store.index, value->lanes, "written");
    if (mask != NULL)
        v->n_guards--;
    if (v->status == KILN_OK)
        check_race(v, b, s->u.store.index, mask);
    note_write(v, b);
}

/* ---- calls and launches ---------------------------------------------------------- */

/* The block that argument `arg` of what is called lies in. */
static void block(verifier *v, const kiln_stmt *s, int arg) {
    const kiln_program *called = s->u.call.program;
    const kiln_expr *place = s->u.call.arg[arg];
    const kiln_buffer *b = place->u.load.buffer, *as = called->arg[arg];
    const kiln_effect effect = kiln_program_effect(called, arg);
    const int64_t n = kiln_buffer_elems(as);
    if (place->u.load.mask != NULL || place->lanes != 1 ||
        kiln_dtype_bytes(as->dtype) != kiln_dtype_bytes(b->dtype))
        fail_at(v, "argument '%s' of '%s' must be a place among %s, without a mask",
                as->name, called->name, kiln_dtype_name(as->dtype));
    if (effect.writes && b->arg >= 0 && !b->is_written)
        fail_at(v, "input '%s' is written by '%s'", b->name, called->name);
    for (int i = 0; i < place->n_arg; i++)
        expr(v, place->arg[i]);
    if (v->status == KILN_OK && (n > 0 || kiln_buffer_elems(b) > 0))
        check_access(v, b, place->arg, 1, "given away"); /* nothing lies nowhere */
    if (v->status == KILN_OK && b->rank == 1 && n > 0) {
        const kiln_expr *last =
            kiln_x_add(&v->scratch, place->arg[0], kiln_x_index(&v->scratch, n - 1));
        check_access(v, b, &last, 1, "given away");
    }
    if (v->status == KILN_OK && n > kiln_buffer_elems(b))
        fail_at(v, "'%s' takes %" PRId64 " elements, buffer '%s' has %" PRId64,
                called->name, n, b->name, kiln_buffer_elems(b));
    if (effect.reads && b->arg < 0 && v->n_guards == 0 && !is_written(v, b))
        fail_at(v, "buffer '%s' is read by '%s' before anything is written to it",
                b->name, called->name);
    if (effect.writes && v->status == KILN_OK)
        check_race(v, b, place->arg, NULL);
}

static bool is_in_launch(const verifier *v) {
    for (size_t i = 0; i < v->nest.n; i++)
        if (v->nest.v[i]->kind == KILN_STMT_FOR &&
            v->nest.v[i]->u.loop.kind == KILN_LOOP_THREAD)
            return true;
    return false;
}

static void find_device_memory(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || (s->kind == KILN_STMT_ALLOC &&
                        s->u.alloc.buffer->scope == KILN_SCOPE_DEVICE);
}

/* On which side an operand must lie. */
static void check_side(verifier *v, const kiln_stmt *s, const kiln_buffer *b) {
    const bool on_device = b->scope == KILN_SCOPE_DEVICE;
    bool has_device = false;
    if (s->kind == KILN_STMT_CALL && on_device)
        fail_at(v,
                "'%s' is called by the host on '%s', which lies in the device's "
                "memory; launch it, or copy that to the host's first",
                s->u.call.program->name, b->name);
    if (s->kind != KILN_STMT_LAUNCH || on_device)
        return;
    kiln_stmt_visit(v->program->body, find_device_memory, &has_device);
    if (has_device)
        fail_at(v,
                "'%s' is launched on '%s', which lies in the host's memory; copy it "
                "to the device's first",
                s->u.call.program->name, b->name);
}

static void check_copy(verifier *v, const kiln_stmt *s) {
    const kiln_buffer *from = s->u.call.arg[0]->u.load.buffer,
                      *to = s->u.call.arg[1]->u.load.buffer;
    if (is_in_launch(v))
        fail_at(v, "'%s' is copied inside a thread loop; the host copies", from->name);
    if (from == to ||
        (from->scope != KILN_SCOPE_DEVICE && to->scope != KILN_SCOPE_DEVICE))
        fail_at(v,
                "a copy must be to a device's memory or from it; '%s' and '%s' are "
                "the host's, or the same",
                to->name, from->name);
}

static void find_thread_loop(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || s->kind == KILN_STMT_LAUNCH ||
             (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD);
}

static void call(verifier *v, const kiln_stmt *s) {
    const kiln_program *called = s->u.call.program;
    bool has_threads = false;
    kiln_stmt_visit(called->body, find_thread_loop, &has_threads);
    if (s->kind == KILN_STMT_CALL && has_threads)
        fail_at(v, "'%s' is called by one thread, and has threads of its own",
                called->name);
    if (s->kind == KILN_STMT_LAUNCH && is_in_launch(v))
        fail_at(v, "'%s' is launched inside a thread loop", called->name);
    if (s->kind == KILN_STMT_COPY)
        check_copy(v, s);
    for (int i = 0; i < called->n_args && v->status == KILN_OK; i++) {
        check_side(v, s, s->u.call.arg[i]->u.load.buffer);
        block(v, s, i);
    }
    for (int i = 0; i < called->n_params && v->status == KILN_OK; i++) {
        const kiln_expr *e = s->u.call.arg[called->n_args + i];
        if (e->dtype != called->param[i]->dtype || e->lanes != 1)
            fail_at(v, "parameter '%s' of '%s' must be one %s", called->param[i]->name,
                    called->name, kiln_dtype_name(called->param[i]->dtype));
        expr(v, e);
    }
    for (int i = 0; i < KILN_N_AXES && s->kind == KILN_STMT_LAUNCH; i++)
        expr(v, s->u.call.grid[i]);
    if (v->status == KILN_OK)
        v->status = kiln_program_verify(called, v->err);
    for (int i = 0; i < called->n_args && v->status == KILN_OK; i++)
        if (kiln_program_effect(called, i).writes)
            note_write(v, s->u.call.arg[i]->u.load.buffer);
}

static void loop(verifier *v, const kiln_stmt *s) {
    int64_t min = 0, n = 0;
    const bool was_exact = v->ranges_exact;
    expr(v, s->u.loop.min);
    expr(v, s->u.loop.extent);
    if (s->u.loop.min->lanes != 1 || s->u.loop.extent->lanes != 1)
        fail_at(v, "loop '%s' has vectors as bounds", s->u.loop.var->name);
    bind(v, s->u.loop.var);
    if (v->status != KILN_OK)
        return;
    v->ranges_exact = was_exact && kiln_x_is_int(s->u.loop.min, &min) &&
                      kiln_x_is_int(s->u.loop.extent, &n) && n > 0;
    const kiln_walk_mark mark = kiln_walk_save(&v->w);
    kiln_walk_enter(&v->w, s->u.loop.var, s->u.loop.min, s->u.loop.extent);
    kiln_vec_push(&v->scratch, &v->nest, s);
    stmt(v, s->u.loop.body);
    if (v->status == KILN_OK) /* else the message names the loops around */
        v->nest.n--;
    kiln_walk_restore(&v->w, mark);
    v->ranges_exact = was_exact;
    v->bound.n--;
}

static void let(verifier *v, const kiln_stmt *s) {
    const bool was_exact = v->ranges_exact;
    const kiln_var *x = s->u.let.var;
    expr(v, s->u.let.value);
    if (s->u.let.value->lanes != 1 || s->u.let.value->dtype != x->dtype)
        fail_at(v, "variable '%s' of %s is bound to %d lanes of %s", x->name,
                kiln_dtype_name(x->dtype), s->u.let.value->lanes,
                kiln_dtype_name(s->u.let.value->dtype));
    bind(v, x);
    v->ranges_exact = false;
    if (v->status == KILN_OK)
        stmt(v, s->u.let.body);
    v->ranges_exact = was_exact;
    v->bound.n--;
}

static void alloc(verifier *v, const kiln_stmt *s) {
    const kiln_buffer *b = s->u.alloc.buffer;
    if (is_live(v, b))
        fail_at(v, "buffer '%s' is allocated inside its own scope", b->name);
    /* What an earlier scope of the same buffer held is gone. */
    for (size_t i = v->written.n; i-- > 0;)
        if (v->written.v[i] == b)
            v->written.v[i] = v->written.v[--v->written.n];
    kiln_vec_push(&v->scratch, &v->live, b);
    kiln_vec_push(&v->scratch, &v->nest, s);
    stmt(v, s->u.alloc.body);
    if (v->status == KILN_OK) /* else the message names the loops around */
        v->nest.n--;
    v->live.n--;
}

static void branch(verifier *v, const kiln_stmt *s) {
    const kiln_expr *cond = s->u.branch.cond;
    expr(v, cond);
    if (cond->dtype != KILN_BOOL || cond->lanes != 1)
        fail_at(v, "a branch must decide by one bool, decides by %d lanes of %s",
                cond->lanes, kiln_dtype_name(cond->dtype));
    v->n_guards++;
    stmt(v, s->u.branch.then);
    if (s->u.branch.otherwise != NULL)
        stmt(v, s->u.branch.otherwise);
    v->n_guards--;
}

/* Threads wait for each other only where there are threads, and where all of them come:
 * not in iterations that may run in any order or at once. */
static void barrier(verifier *v) {
    bool has_threads = false;
    for (size_t i = 0; i < v->nest.n; i++) {
        const kiln_stmt *s = v->nest.v[i];
        if (s->kind != KILN_STMT_FOR)
            continue;
        const kiln_loop_kind kind = s->u.loop.kind;
        has_threads = has_threads || kind == KILN_LOOP_THREAD;
        if (!has_threads) /* around the launch */
            continue;
        if (kind == KILN_LOOP_PARALLEL || kind == KILN_LOOP_VECTORIZED)
            fail_at(v,
                    "a barrier must not stand in the %s loop '%s', whose iterations "
                    "are not threads of a block",
                    kiln_loop_words[kind], s->u.loop.var->name);
    }
    if (!has_threads)
        fail_at(v, "a barrier must stand in a thread loop; there is none around it");
}

static void stmt(verifier *v, const kiln_stmt *s) {
    if (v->status != KILN_OK)
        return;
    switch (s->kind) {
    case KILN_STMT_FOR:
        loop(v, s);
        break;
    case KILN_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            stmt(v, s->u.seq.stmt[i]);
        break;
    case KILN_STMT_IF:
        branch(v, s);
        break;
    case KILN_STMT_LET:
        let(v, s);
        break;
    case KILN_STMT_ALLOC:
        alloc(v, s);
        break;
    case KILN_STMT_STORE:
        store(v, s);
        break;
    case KILN_STMT_EVAL:
        expr(v, s->u.eval);
        break;
    case KILN_STMT_ATTR:
        if (s->u.attr.value != NULL)
            expr(v, s->u.attr.value);
        if (s->u.attr.buffer != NULL && !is_live(v, s->u.attr.buffer))
            fail_at(v, "buffer '%s' is named by an attribute where it does not exist",
                    s->u.attr.buffer->name);
        stmt(v, s->u.attr.body);
        break;
    case KILN_STMT_BARRIER:
        barrier(v);
        break;
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        call(v, s);
        break;
    }
}

/* "for i in 0 .. +4, for j in 0 .. +8": the loops around what is wrong. */
static void note_nest(verifier *v) {
    kiln_buf text;
    kiln_buf_init(&text, &v->scratch);
    for (size_t i = 0; i < v->nest.n; i++) {
        const kiln_stmt *s = v->nest.v[i];
        if (s->kind != KILN_STMT_FOR)
            continue;
        kiln_buf_printf(&text, "%sfor %s in ", text.n > 0 ? ", " : "",
                        s->u.loop.var->name);
        kiln_expr_print(&text, s->u.loop.min);
        kiln_buf_puts(&text, " .. +");
        kiln_expr_print(&text, s->u.loop.extent);
    }
    if (text.n > 0)
        kiln_note(v->err, "inside %s", text.p);
    kiln_note(v->err, "verifying program '%s'", v->program->name);
}

kiln_status kiln_program_verify(const kiln_program *p, kiln_err *err) {
    KILN_ASSERT(p->body != NULL, "program '%s' was not lowered", p->name);
    verifier v = {.err = err, .program = p, .ranges_exact = true};
    kiln_arena_init(&v.scratch);
    v.w = kiln_walk_make(&v.scratch, NULL, NULL, err);
    for (int i = 0; i < p->n_args; i++)
        kiln_vec_push(&v.scratch, &v.live, p->arg[i]);
    for (int i = 0; i < p->n_params; i++)
        bind(&v, p->param[i]);
    stmt(&v, p->body);
    if (v.status != KILN_OK)
        note_nest(&v);
    kiln_arena_fini(&v.scratch);
    return v.status;
}
