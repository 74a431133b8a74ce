/* The interpreter's launches: how many blocks and threads a thread loop asks for, what
 * memory they share, and block after block in an order that is drawn. */
#include "compiler/loop/fragment.h"
#include "compiler/loop/loop_threads.h"

#include <inttypes.h>
#include <string.h>

enum {
    THREAD_AXES =
        1 << KILN_AXIS_THREAD_X | 1 << KILN_AXIS_THREAD_Y | 1 << KILN_AXIS_THREAD_Z,
    MAX_THREADS = 1 << 16,
    MAX_BLOCKS = 1 << 24
};

static const char *const axis_words[KILN_N_AXES] = {
    [KILN_AXIS_BLOCK_X] = "blockIdx.x",   [KILN_AXIS_BLOCK_Y] = "blockIdx.y",
    [KILN_AXIS_BLOCK_Z] = "blockIdx.z",   [KILN_AXIS_THREAD_X] = "threadIdx.x",
    [KILN_AXIS_THREAD_Y] = "threadIdx.y", [KILN_AXIS_THREAD_Z] = "threadIdx.z",
};

const char *kiln_launch_axis_name(kiln_launch_axis axis) { return axis_words[axis]; }

int kiln_launch_axis_of(const char *tag) {
    for (int i = 0; tag != NULL && i < KILN_N_AXES; i++)
        if (strcmp(tag, axis_words[i]) == 0)
            return i;
    return -1;
}

unsigned kiln_launch_bound_by(const kiln_stmt *s) {
    return s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD
               ? 1u << kiln_launch_axis_of(s->u.loop.tag)
               : 0;
}

kiln_status kiln_launch_needed(kiln_interp *in, const char *buffer) {
    return kiln_fail(in->err, KILN_ERR_ARG,
                     "shared memory for '%s' stands outside all thread loops, where "
                     "there is no block; allocate it inside one%s",
                     buffer, kiln_interp_where(in));
}

/* ---- what a launch holds --------------------------------------------------------- */

/* Axes of several threads that none of `bound` stands for. */
static unsigned missing(const kiln_launch *l, unsigned bound) {
    unsigned axes = 0;
    for (int i = 0; i < KILN_N_AXES; i++)
        if (l->extent[i] > 1 && (bound >> i & 1u) == 0)
            axes |= 1u << i;
    return axes;
}

bool kiln_launch_shares(const kiln_launch *l, const kiln_buffer *b, unsigned bound) {
    return b->scope == KILN_SCOPE_SHARED ||
           ((b->scope == KILN_SCOPE_GLOBAL || b->scope == KILN_SCOPE_FRAGMENT) &&
            missing(l, bound) != 0);
}

static void find_axis(void *user, const kiln_stmt *s) {
    kiln_launch *l = user;
    int64_t n = 0;
    if (s->kind != KILN_STMT_FOR || s->u.loop.kind != KILN_LOOP_THREAD)
        return;
    const int axis = kiln_launch_axis_of(s->u.loop.tag);
    if (axis < 0)
        kiln_interp_failed(
            l->in, KILN_ERR_UNSUPPORTED,
            "thread loop '%s' is bound to '%s'; there are blockIdx.x, .y, .z and "
            "threadIdx.x, .y, .z",
            s->u.loop.var->name, s->u.loop.tag != NULL ? s->u.loop.tag : "");
    else if (!kiln_x_is_int(s->u.loop.extent, &n))
        kiln_interp_failed(
            l->in, KILN_ERR_UNSUPPORTED,
            "the extent of thread loop '%s' must be a constant; guard its body "
            "instead",
            s->u.loop.var->name);
    else if (n > l->extent[axis])
        l->extent[axis] = n;
}

kiln_held *kiln_launch_held_of(kiln_launch *l, const kiln_buffer *b, unsigned bound) {
    for (size_t i = 0; i < l->held.n; i++)
        if (l->held.v[i].memory.buffer == b &&
            (l->held.v[i].bound == bound || b->scope == KILN_SCOPE_SHARED))
            return &l->held.v[i];
    return NULL;
}

static void hold(kiln_launch *l, const kiln_stmt *s, unsigned bound) {
    const kiln_buffer *b = s->u.alloc.buffer;
    kiln_held h = {.bound = b->scope == KILN_SCOPE_SHARED ? 0 : bound, .copies = 1};
    if (b->scope >= KILN_SCOPE_TARGET) {
        kiln_interp_failed(
            l->in, KILN_ERR_UNSUPPORTED,
            "the interpreter has no scope%d memory for '%s' in thread loops: nobody "
            "says which threads share it; use shared, local or global memory",
            (int)b->scope, b->name);
        return;
    }
    if (!kiln_launch_shares(l, b, bound) || kiln_launch_held_of(l, b, bound) != NULL)
        return;
    if (b->scope != KILN_SCOPE_SHARED && (missing(l, bound) & ~THREAD_AXES) != 0) {
        kiln_interp_failed(
            l->in, KILN_ERR_UNSUPPORTED,
            "%s memory for '%s' is allocated where blocks would share it; "
            "allocate it %s the thread loops",
            kiln_scope_name(b->scope), b->name,
            b->scope == KILN_SCOPE_FRAGMENT ? "inside" : "outside");
        return;
    }
    for (int i = KILN_AXIS_THREAD_X; i < KILN_N_AXES; i++)
        if ((h.bound >> i & 1u) != 0)
            h.copies *= l->extent[i];
    h.memory = kiln_interp_allocate(l->in, b, h.copies);
    h.shadow = kiln_array(l->in->arena, kiln_shadow, h.copies);
    for (int64_t i = 0; i < h.copies && l->in->status == KILN_OK; i++) {
        h.shadow[i] = kiln_shadow_make(l->in->arena, b);
        h.shadow[i].starts_empty = true;
        if (b->scope == KILN_SCOPE_FRAGMENT)
            h.shadow[i].form = kiln_fragment_form_of(s->u.alloc.body, b);
    }
    kiln_vec_push(l->in->arena, &l->held, h);
}

/* Threads that come to a place, by axis. */
typedef struct come {
    int64_t n[KILN_N_AXES];
} come;

static void check_come(kiln_launch *l, const kiln_stmt *s, unsigned bound, come *c) {
    const int axis = kiln_launch_axis_of(s->u.loop.tag);
    int64_t n = 0;
    (void)kiln_x_is_int(s->u.loop.extent, &n);
    if ((bound >> axis & 1u) != 0 && n > c->n[axis])
        kiln_interp_failed(l->in, KILN_ERR_ARG,
                           "thread loop '%s' has %" PRId64 " iterations along %s, "
                           "inside a loop to which only %" PRId64 " threads come",
                           s->u.loop.var->name, n, s->u.loop.tag, c->n[axis]);
    c->n[axis] = n;
}

static void find_memory(kiln_launch *l, const kiln_stmt *s, unsigned bound, come c) {
    const kiln_stmt *part = NULL;
    if (kiln_launch_bound_by(s) != 0)
        check_come(l, s, bound, &c);
    bound |= kiln_launch_bound_by(s);
    if (s->kind == KILN_STMT_ALLOC)
        hold(l, s, bound);
    for (int i = 0; l->in->status == KILN_OK && (part = kiln_stmt_part(s, i)) != NULL;
         i++)
        find_memory(l, part, bound, c);
}

/* ---- launches -------------------------------------------------------------------- */

static int64_t product(const kiln_launch *l, kiln_launch_axis first) {
    return l->extent[first] * l->extent[first + 1] * l->extent[first + 2];
}

static void check_size(kiln_launch *l) {
    const int64_t most[2] = {MAX_BLOCKS, MAX_THREADS};
    for (int i = 0; i < KILN_N_AXES; i++)
        if (l->extent[i] > most[i / 3])
            l->extent[i] = most[i / 3] + 1; /* products stay below 2^63 */
    if (product(l, KILN_AXIS_BLOCK_X) > MAX_BLOCKS ||
        product(l, KILN_AXIS_THREAD_X) > MAX_THREADS)
        kiln_interp_failed(
            l->in, KILN_ERR_LIMIT,
            "the interpreter runs at most %d blocks of at most %d threads", MAX_BLOCKS,
            MAX_THREADS);
}

static void make_threads(kiln_launch *l) {
    kiln_interp *in = l->in;
    l->n = (int)product(l, KILN_AXIS_THREAD_X);
    l->order = kiln_array(in->arena, int, l->n);
    l->thread = kiln_array(in->arena, kiln_thread, l->n);
    for (int t = 0; t < l->n; t++) {
        kiln_thread *x = &l->thread[t];
        x->vars.v = kiln_array(in->arena, kiln_interp_var, in->vars.cap);
        x->vars.cap = in->vars.cap;
        x->memory.v = kiln_array(in->arena, kiln_interp_memory, in->memory.cap);
        x->memory.cap = in->memory.cap;
        int64_t rest = t;
        for (int i = KILN_AXIS_THREAD_X; i < KILN_N_AXES; i++) {
            x->at[i] = rest % l->extent[i];
            rest /= l->extent[i];
        }
    }
}

/* Each block has its own. */
static void forget(kiln_held *h) {
    const size_t elems = (size_t)kiln_buffer_elems(h->memory.buffer);
    for (int64_t i = 0; i < h->copies; i++)
        memset(h->shadow[i].cell, 0, elems * sizeof *h->shadow[i].cell);
}

static void run_block(kiln_launch *l, const kiln_stmt *s, int64_t number,
                      const kiln_interp *outside) {
    bool *all = kiln_array(l->in->arena, bool, l->n);
    l->block = (uint32_t)number + 1;
    for (int t = 0; t < l->n; t++) {
        kiln_thread *x = &l->thread[t];
        int64_t rest = number;
        all[t] = true;
        for (int i = 0; i < KILN_AXIS_THREAD_X; i++) {
            x->at[i] = rest % l->extent[i];
            rest /= l->extent[i];
        }
        x->vars.n = outside->vars.n;
        x->memory.n = outside->memory.n;
        for (size_t i = 0; i < outside->vars.n; i++)
            x->vars.v[i] = outside->vars.v[i];
        for (size_t i = 0; i < outside->memory.n; i++)
            x->memory.v[i] = outside->memory.v[i];
    }
    for (size_t i = 0; i < l->held.n; i++)
        forget(&l->held.v[i]);
    kiln_launch_block(l, s, all);
}

/* Number k in the order of the seed. */
static int64_t *block_order(kiln_launch *l, int64_t n) {
    int64_t *order = kiln_array(l->in->arena, int64_t, n);
    const kiln_loop_run_options *o = l->in->options;
    for (int64_t i = 0; i < n; i++)
        order[i] = o != NULL && o->reverse_parallel ? n - 1 - i : i;
    for (int64_t i = n - 1; o != NULL && o->seed != 0 && i > 0; i--) {
        const int64_t j = kiln_rng_range(&l->rng, 0, i), x = order[i];
        order[i] = order[j];
        order[j] = x;
    }
    return order;
}

/* What was launched decides how many there are; the loops, how many do something. */
static void take_grid(kiln_launch *l, const int64_t *grid) {
    for (int i = 0; i < KILN_N_AXES && grid != NULL; i++) {
        if (grid[i] < l->extent[i])
            kiln_interp_failed(l->in, KILN_ERR_ARG,
                               "a launch of %" PRId64 " along %s is of fewer than the "
                               "%" PRId64 " that the program's loops take",
                               grid[i], axis_words[i], l->extent[i]);
        l->extent[i] = grid[i];
    }
}

void kiln_interp_launch(kiln_interp *in, const kiln_stmt *s) {
    const kiln_arena_mark mark = kiln_arena_save(in->arena);
    kiln_launch l = {.in = in, .extent = {1, 1, 1, 1, 1, 1}};
    if (in->launch != NULL) {
        kiln_interp_failed(in, KILN_ERR_ARG,
                           "one thread calls a program with thread loop '%s'",
                           s->u.loop.var->name);
        return;
    }
    kiln_stmt_visit(s, find_axis, &l);
    take_grid(&l, in->grid);
    check_size(&l);
    if (in->status == KILN_OK)
        find_memory(&l, s, 0, (come){{0}});
    if (in->status != KILN_OK)
        return;
    for (size_t i = 0; i < in->memory.n; i++) {
        in->memory.v[i].shadow = kiln_new(in->arena, kiln_shadow);
        *in->memory.v[i].shadow = kiln_shadow_make(in->arena, in->memory.v[i].buffer);
    }
    const int64_t n = product(&l, KILN_AXIS_BLOCK_X);
    const kiln_interp outside = *in;
    kiln_rng_init(&l.rng, in->options != NULL ? in->options->seed : 0);
    make_threads(&l);
    l.noter = kiln_noter_new(in);
    in->launch = &l;
    const int64_t *order = block_order(&l, n);
    for (int64_t i = 0; i < n && in->status == KILN_OK; i++)
        run_block(&l, s, order[i], &outside);
    kiln_noter_end(l.noter);
    in->launch = NULL;
    in->vars = outside.vars;
    in->memory = outside.memory;
    for (size_t i = 0; i < in->memory.n; i++)
        in->memory.v[i].shadow = NULL;
    kiln_arena_rewind(in->arena, mark);
}
