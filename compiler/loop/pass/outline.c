/* outline: what launches become programs of their own; what is left is the host's.
 *
 * Every outermost thread loop becomes a program for the device, whose arguments are the
 * buffers that it reads and writes, and whose parameters are the variables of loops and
 * lets around it. The host allocates the global memory between launches and launches
 * them, in order, with grids as wide as their loops; so its own loops are serial ones.
 *
 * The host touches no element: its arguments, as everything that it allocates, are the
 * device's memory. With host_memory the arguments are not: each has a twin in the device's
 * memory, which it is copied to before all launches, and back from after them where it is
 * written; an output goes there too, as what no thread writes keeps its value. What stands
 * outside all thread loops and loads or stores becomes a program for one thread. Where the host would
 * have to read to know what to launch, the program is refused.
 *
 *   for k in 0 .. +3 {                  program p.launch0(x: f32[8], out y: f32[8]; k: i64) {
 *     thread "threadIdx.x" t ... +8 {     thread "threadIdx.x" t in 0 .. +8 {
 *       y[t] = x[t] + f32(k)                y[t] = x[t] + f32(k)
 *     }                                   }}
 *   }                                   program p(x: f32[8], out y: f32[8]) {
 *                                         for k in 0 .. +3 {
 *                                           launch p.launch0[1, 1, 1; 8, 1, 1](x, y, k)
 *                                         }} */
#include "compiler/loop/loop_walk.h"
#include "compiler/loop/loop_words.h"

typedef struct splitting {
    kiln_program *p;
    kiln_arena *arena;
    int n; /* programs made */
    kiln_status status;
    kiln_err *err;
} splitting;

/* ---- what a statement uses ------------------------------------------------------- */

typedef struct used {
    const kiln_buffer *buffer;
    bool writes;
    const kiln_buffer *arg; /* of the program that is made */
} used;

typedef struct uses {
    kiln_arena *arena;
    KILN_VEC(used) buffer;
    KILN_VEC(const kiln_buffer *) own; /* allocated there */
    KILN_VEC(const kiln_var *) var, bound;
    int64_t extent[KILN_N_AXES];
} uses;

static void note_var(uses *u, const kiln_var *v, bool is_bound) {
    for (size_t i = 0; !is_bound && i < u->var.n; i++)
        if (u->var.v[i] == v)
            return;
    if (is_bound)
        kiln_vec_push(u->arena, &u->bound, v);
    else
        kiln_vec_push(u->arena, &u->var, v);
}

static used *note_buffer(uses *u, const kiln_buffer *b) {
    for (size_t i = 0; i < u->buffer.n; i++)
        if (u->buffer.v[i].buffer == b)
            return &u->buffer.v[i];
    kiln_vec_push(u->arena, &u->buffer, ((used){.buffer = b}));
    return &u->buffer.v[u->buffer.n - 1];
}

static void find_in_node(void *user, const kiln_expr *e) {
    uses *u = user;
    if (e->kind == KILN_EXPR_VAR)
        note_var(u, e->u.var, false);
    if (e->kind == KILN_EXPR_LOAD)
        (void)note_buffer(u, e->u.load.buffer);
    for (int i = 0; e->kind == KILN_EXPR_LET && i + 1 < e->n_arg; i++)
        note_var(u, e->u.bound[i], true);
    if (e->kind != KILN_EXPR_LOOP)
        return;
    for (int i = 0; i < e->u.turns->n_state; i++)
        note_var(u, e->u.turns->state[i], true);
    for (int i = 0; i < e->u.turns->n_local; i++)
        note_var(u, e->u.turns->local[i], true);
}

static void find_in_expr(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, find_in_node, user);
}

static void find_write(void *user, const kiln_buffer *b) {
    note_buffer(user, b)->writes = true;
}

static void find_uses(void *user, const kiln_stmt *s) {
    uses *u = user;
    int64_t n = 0;
    kiln_stmt_exprs(s, find_in_expr, u);
    kiln_stmt_writes(s, find_write, u);
    if (s->kind == KILN_STMT_ALLOC)
        kiln_vec_push(u->arena, &u->own, s->u.alloc.buffer);
    if (s->kind == KILN_STMT_ATTR && s->u.attr.buffer != NULL)
        (void)note_buffer(u, s->u.attr.buffer);
    if (s->kind == KILN_STMT_LET)
        note_var(u, s->u.let.var, true);
    if (s->kind != KILN_STMT_FOR)
        return;
    note_var(u, s->u.loop.var, true);
    const int axis = kiln_launch_axis_of(s->u.loop.tag);
    if (s->u.loop.kind == KILN_LOOP_THREAD && axis >= 0 &&
        kiln_x_is_int(s->u.loop.extent, &n) && n > u->extent[axis])
        u->extent[axis] = n;
}

static bool is_own(const uses *u, const kiln_buffer *b) {
    for (size_t i = 0; i < u->own.n; i++)
        if (u->own.v[i] == b)
            return true;
    return false;
}

static bool is_bound(const uses *u, const kiln_var *v) {
    for (size_t i = 0; i < u->bound.n; i++)
        if (u->bound.v[i] == v)
            return true;
    return false;
}

/* ---- programs for the device ----------------------------------------------------- */

static const kiln_buffer *arg_of(const uses *u, const kiln_buffer *b) {
    for (size_t i = 0; i < u->buffer.n; i++)
        if (u->buffer.v[i].buffer == b && u->buffer.v[i].arg != NULL)
            return u->buffer.v[i].arg;
    return b;
}

static const kiln_expr *device_expr(void *user, kiln_arena *a, const kiln_expr *e) {
    if (e->kind != KILN_EXPR_LOAD)
        return e;
    const kiln_buffer *b = arg_of(user, e->u.load.buffer);
    return b == e->u.load.buffer ? e
                                 : kiln_x_load(a, b, e->arg, e->n_arg, e->u.load.mask);
}

static const kiln_stmt *device_stmt(void *user, kiln_arena *a, const kiln_stmt *s) {
    if (s->kind == KILN_STMT_STORE)
        return kiln_s_store(a, arg_of(user, s->u.store.buffer), s->u.store.index,
                            s->u.store.value, s->u.store.mask);
    if (s->kind == KILN_STMT_ATTR && s->u.attr.buffer != NULL)
        return kiln_s_attr(a, s->u.attr.key, s->u.attr.text,
                           arg_of(user, s->u.attr.buffer), s->u.attr.value,
                           s->u.attr.body);
    return s;
}

/* The first element of all that is given. */
static const kiln_expr *whole(kiln_arena *a, const kiln_buffer *b) {
    const kiln_expr *index[KILN_MAX_AXES];
    for (int i = 0; i < b->rank; i++)
        index[i] = kiln_x_index(a, 0);
    return kiln_x_load(a, b, index, b->rank, NULL);
}

/* Inputs in front. */
static void take_args(splitting *x, uses *u, kiln_program *made,
                      const kiln_expr **arg) {
    for (int written = 0; written < 2; written++)
        for (size_t i = 0; i < u->buffer.n; i++) {
            used *b = &u->buffer.v[i];
            if (is_own(u, b->buffer) || b->writes != (written != 0))
                continue;
            if (b->buffer->scope != KILN_SCOPE_GLOBAL && x->status == KILN_OK)
                x->status =
                    kiln_fail(x->err, KILN_ERR_ARG,
                              "outline: %s memory '%s' is allocated by the host "
                              "and used by a launch; allocate it inside",
                              b->buffer->scope < KILN_SCOPE_TARGET
                                  ? kiln_scope_name(b->buffer->scope)
                                  : "target",
                              b->buffer->name);
            kiln_buffer *as = kiln_new(x->arena, kiln_buffer);
            *as = *b->buffer;
            as->arg = made->n_args;
            as->is_written = b->writes;
            b->arg = as;
            arg[made->n_args] = whole(x->arena, b->buffer);
            made->arg[made->n_args++] = as;
            made->n_inputs += written == 0;
        }
}

static const kiln_stmt *outlined(splitting *x, const kiln_stmt *s) {
    kiln_arena *a = x->arena;
    uses u = {.arena = a, .extent = {1, 1, 1, 1, 1, 1}};
    kiln_stmt_visit(s, find_uses, &u);
    kiln_program *made = kiln_new(a, kiln_program);
    const kiln_expr **arg = kiln_array(a, const kiln_expr *, u.buffer.n + u.var.n);
    const kiln_var **param = kiln_array(a, const kiln_var *, u.var.n);
    const kiln_expr *grid[KILN_N_AXES];
    made->name = kiln_format(a, "%s.launch%d", x->p->name, x->n++);
    made->arena = a;
    made->is_flat = x->p->is_flat;
    made->arg = kiln_array(a, const kiln_buffer *, u.buffer.n);
    made->param = param;
    take_args(x, &u, made, arg);
    KILN_ASSERT((size_t)made->n_args <= u.buffer.n && made->n_inputs <= made->n_args,
                "'%s' takes %d of %zu buffers, %d of them to read", made->name,
                made->n_args, u.buffer.n, made->n_inputs);
    for (size_t i = 0; i < u.var.n; i++)
        if (!is_bound(&u, u.var.v[i])) {
            arg[made->n_args + made->n_params] = kiln_x_ref(a, u.var.v[i]);
            param[made->n_params++] = u.var.v[i];
        }
    made->body = kiln_stmt_rewritten(
        a, s,
        &(kiln_stmt_rewrite){.stmt = device_stmt, .expr = device_expr, .user = &u});
    for (int i = 0; i < KILN_N_AXES; i++)
        grid[i] = kiln_x_index(a, u.extent[i]);
    return kiln_s_launch(a, made, arg, grid);
}

/* ---- the host -------------------------------------------------------------------- */

static void find_thread(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD);
}

static bool has_threads(const kiln_stmt *s) {
    bool found = false;
    kiln_stmt_visit(s, find_thread, &found);
    return found;
}

static void check_host_expr(void *user, const kiln_expr *e) {
    splitting *x = user;
    if (x->status == KILN_OK && kiln_expr_loads(e, NULL))
        x->status =
            kiln_fail(x->err, KILN_ERR_ARG,
                      "outline: what '%s' launches depends on an element in the "
                      "device's memory, which the host does not read; put the "
                      "loop or branch inside the thread loop",
                      x->p->name);
}

static const kiln_stmt *host(splitting *x, const kiln_stmt *s);

static const kiln_stmt *host_part(void *user, kiln_arena *a, const kiln_stmt *s) {
    (void)a;
    return host(user, s);
}

/* Neighbours without threads are one program. */
static const kiln_stmt *host_seq(splitting *x, const kiln_stmt *s) {
    const int n = s->u.seq.n;
    const kiln_stmt **made = kiln_array(x->arena, const kiln_stmt *, n);
    int n_made = 0;
    for (int i = 0, k; i < n; i = k) {
        for (k = i; k < n && !has_threads(s->u.seq.stmt[k]);)
            k++;
        made[n_made++] =
            k > i ? outlined(x, kiln_s_seq(x->arena, s->u.seq.stmt + i, k - i))
                  : host(x, s->u.seq.stmt[k++]);
    }
    return kiln_s_seq(x->arena, made, n_made);
}

static const kiln_stmt *host(splitting *x, const kiln_stmt *s) {
    if (x->status != KILN_OK)
        return s;
    if (!has_threads(s) ||
        (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD))
        return outlined(x, s);
    if (s->kind == KILN_STMT_SEQ)
        return host_seq(x, s);
    kiln_stmt_exprs(s, check_host_expr, x);
    s = kiln_stmt_map(x->arena, s, &(kiln_stmt_rewrite){.stmt = host_part, .user = x});
    if (s->kind != KILN_STMT_FOR || s->u.loop.kind != KILN_LOOP_PARALLEL)
        return s;
    return kiln_s_for(x->arena, s->u.loop.var, s->u.loop.min, s->u.loop.extent,
                      KILN_LOOP_SERIAL, NULL, s->u.loop.body);
}

/* ---- copies ---------------------------------------------------------------------- */

typedef struct twin {
    const kiln_buffer *host, *device;
} twin;

typedef struct twins {
    kiln_arena *arena;
    KILN_VEC(twin) of;
} twins;

static const kiln_buffer *twin_of(twins *t, const kiln_buffer *b) {
    for (size_t i = 0; i < t->of.n; i++)
        if (t->of.v[i].host == b)
            return t->of.v[i].device;
    kiln_buffer *made = kiln_new(t->arena, kiln_buffer);
    *made = *b;
    made->arg = -1;
    made->is_written = false;
    made->scope = KILN_SCOPE_DEVICE;
    if (b->arg >= 0)
        made->name = kiln_format(t->arena, "%s.device", b->name);
    kiln_vec_push(t->arena, &t->of, ((twin){b, made}));
    return made;
}

/* All that the host's expressions load are places that launches are given. */
static const kiln_expr *twin_expr(void *user, kiln_arena *a, const kiln_expr *e) {
    return e->kind == KILN_EXPR_LOAD
               ? kiln_x_load(a, twin_of(user, e->u.load.buffer), e->arg, e->n_arg, NULL)
               : e;
}

static const kiln_stmt *twin_stmt(void *user, kiln_arena *a, const kiln_stmt *s) {
    return s->kind == KILN_STMT_ALLOC
               ? kiln_s_alloc(a, twin_of(user, s->u.alloc.buffer), s->u.alloc.body)
               : s;
}

static const kiln_stmt *copied(kiln_arena *a, const kiln_buffer *to,
                               const kiln_buffer *from) {
    const int64_t n = kiln_buffer_elems(from);
    return n > 0 ? kiln_s_copy(a, whole(a, to), whole(a, from), n) : kiln_s_nothing(a);
}

static const kiln_stmt *with_copies(kiln_arena *a, const kiln_stmt *body) {
    twins t = {.arena = a};
    body = kiln_stmt_rewritten(
        a, body,
        &(kiln_stmt_rewrite){.stmt = twin_stmt, .expr = twin_expr, .user = &t});
    for (size_t i = 0; i < t.of.n; i++) {
        const twin *x = &t.of.v[i];
        if (x->host->arg < 0)
            continue;
        const kiln_stmt *part[] = {copied(a, x->device, x->host), body,
                                   x->host->is_written ? copied(a, x->host, x->device)
                                                       : kiln_s_nothing(a)};
        body = kiln_s_alloc(a, x->device, kiln_s_seq(a, part, 3));
    }
    return body;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    splitting x = {.p = p, .arena = p->arena, .err = err};
    if (!has_threads(p->body))
        return KILN_OK;
    const kiln_stmt *body = host(&x, p->body);
    if (x.status == KILN_OK)
        p->body = o != NULL && o->host_memory ? with_copies(p->arena, body) : body;
    return x.status;
}

const kiln_loop_pass kiln_loop_pass_outline = {
    .name = "outline",
    .doc = "makes programs for a device of what launches, and the host's of the rest",
    .run = run,
};
