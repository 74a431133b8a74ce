/* The interpreter's threads, a block at a time.
 *
 * Statements that hold no barrier, no thread loop and no memory of the block are run by
 * one thread after another, in an order that is drawn. All others are gone through by
 * the whole block in lock step, under a mask of the threads that come there: so a
 * barrier sees who is missing. The first thread along the axes that no loop around is
 * bound to decides for those behind it. */
#include "compiler/loop/loop_threads.h"

#include <inttypes.h>

static bool is_async(const kiln_stmt *s) {
    return s->kind == KILN_STMT_ATTR && s->u.attr.key == KILN_STMT_ATTR_ASYNC;
}

static bool is_products(const kiln_stmt *s) {
    return s->kind == KILN_STMT_ATTR && s->u.attr.key == KILN_STMT_ATTR_PRODUCTS;
}

/* Does the block go through s together? */
static bool is_collective(const kiln_launch *l, const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    bool is = s->kind == KILN_STMT_BARRIER || kiln_launch_bound_by(s) != 0 ||
              is_async(s) || is_products(s) ||
              (s->kind == KILN_STMT_ALLOC &&
               kiln_launch_shares(l, s->u.alloc.buffer, l->bound));
    for (int i = 0; !is && (part = kiln_stmt_part(s, i)) != NULL; i++)
        is = is_collective(l, part);
    return is;
}

/* ---- one thread ------------------------------------------------------------------ */

static void enter(kiln_launch *l, int t) {
    l->self = t;
    kiln_noter_thread(l->noter);
    l->in->vars = l->thread[t].vars;
    l->in->memory = l->thread[t].memory;
}

/* Does it do what stands outside loops of some axes? */
static bool is_first(const kiln_launch *l, int t) {
    for (int i = 0; i < KILN_N_AXES; i++)
        if (l->thread[t].at[i] != 0 && (l->bound >> i & 1u) == 0)
            return false;
    return true;
}

/* Who decides for t. */
static int leader(const kiln_launch *l, int t) {
    int64_t number = 0, stride = 1;
    for (int i = KILN_AXIS_THREAD_X; i < KILN_N_AXES; i++) {
        if ((l->bound >> i & 1u) != 0)
            number += stride * l->thread[t].at[i];
        stride *= l->extent[i];
    }
    return (int)number;
}

static void draw_order(kiln_launch *l) {
    const kiln_loop_run_options *o = l->in->options;
    const bool backwards = o != NULL && o->reverse_parallel;
    for (int i = 0; i < l->n; i++)
        l->order[i] = backwards ? l->n - 1 - i : i;
    for (int i = l->n - 1; o != NULL && o->seed != 0 && i > 0; i--) {
        const int64_t j = kiln_rng_range(&l->rng, 0, i);
        const int x = l->order[i];
        l->order[i] = l->order[j];
        l->order[j] = x;
    }
}

/* Each thread does all of the statements before the next does any. */
static void run_each(kiln_launch *l, const kiln_stmt *const *s, int n,
                     const bool *mask) {
    kiln_interp *in = l->in;
    draw_order(l);
    for (int i = 0; i < l->n && in->status == KILN_OK; i++) {
        const int t = l->order[i];
        if (!mask[t] || !is_first(l, t))
            continue;
        enter(l, t);
        for (int k = 0; k < n && in->status == KILN_OK; k++)
            kiln_interp_exec(in, s[k]);
    }
    kiln_noter_add_up(l);
}

/* The value of a scalar for every thread of the mask. */
static kiln_interp_var *values(kiln_launch *l, const kiln_var *v, const kiln_expr *e,
                               const bool *mask) {
    kiln_interp *in = l->in;
    kiln_interp_var *out = kiln_array(in->arena, kiln_interp_var, l->n);
    for (int t = 0; t < l->n && in->status == KILN_OK; t++) {
        out[t].var = v;
        if (!mask[t])
            continue;
        if (leader(l, t) != t) { /* which comes first */
            out[t] = out[leader(l, t)];
            continue;
        }
        enter(l, t);
        const kiln_arena_mark mark = kiln_arena_save(in->arena);
        if (e->lanes != 1)
            kiln_interp_failed(in, KILN_ERR_ARG,
                               "a vector stands where one value must");
        else
            out[t].value = kiln_interp_number(in, e);
        kiln_arena_rewind(in->arena, mark);
    }
    kiln_noter_add_up(l);
    return out;
}

/* ---- the block together ---------------------------------------------------------- */

static void together(kiln_launch *l, const kiln_stmt *s, const bool *mask);

static void run_seq(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    const kiln_stmt *const *part = s->u.seq.stmt;
    for (int i = 0, n; i < s->u.seq.n && l->in->status == KILN_OK; i += n) {
        for (n = 0; i + n < s->u.seq.n && !is_collective(l, part[i + n]);)
            n++;
        if (n > 0)
            run_each(l, part + i, n, mask);
        else
            together(l, part[i + n++], mask);
    }
}

static void bind_all(kiln_launch *l, const kiln_interp_var *value) {
    for (int t = 0; t < l->n; t++)
        kiln_vec_push(l->in->arena, &l->thread[t].vars, value[t]);
}

static void unbind_all(kiln_launch *l) {
    for (int t = 0; t < l->n; t++)
        l->thread[t].vars.n--;
}

static bool some(const kiln_launch *l, const bool *mask) {
    for (int t = 0; t < l->n; t++)
        if (mask[t])
            return true;
    return false;
}

/* A loop in which iterations stand in no order has no place for a barrier. */
static void find_barrier(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || s->kind == KILN_STMT_BARRIER;
}

static void check_order(kiln_launch *l, const kiln_stmt *s) {
    bool has_barrier = false;
    kiln_stmt_visit(s, find_barrier, &has_barrier);
    if (has_barrier && (s->u.loop.kind == KILN_LOOP_PARALLEL ||
                        s->u.loop.kind == KILN_LOOP_VECTORIZED))
        kiln_interp_failed(
            l->in, KILN_ERR_ARG,
            "a barrier stands in loop '%s', whose iterations are not threads of a "
            "block",
            s->u.loop.var->name);
}

/* Iteration k of all threads that have so many. */
static void run_for(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    kiln_interp *in = l->in;
    const kiln_interp_var *min = values(l, s->u.loop.var, s->u.loop.min, mask);
    const kiln_interp_var *n = values(l, s->u.loop.var, s->u.loop.extent, mask);
    bool *here = kiln_array(in->arena, bool, l->n);
    check_order(l, s);
    if (in->status != KILN_OK)
        return;
    bind_all(l, min);
    const size_t slot = l->thread[0].vars.n - 1;
    for (int64_t k = 0; in->status == KILN_OK; k++) {
        for (int t = 0; t < l->n; t++) {
            here[t] = mask[t] && k < n[t].value.i;
            l->thread[t].vars.v[slot].value.i = min[t].value.i + k;
        }
        if (!some(l, here))
            break;
        together(l, s->u.loop.body, here);
    }
    unbind_all(l);
}

static void run_thread_loop(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    const int axis = kiln_launch_axis_of(s->u.loop.tag);
    const unsigned outside = l->bound;
    kiln_interp_var *v = values(l, s->u.loop.var, s->u.loop.min, mask);
    bool *here = kiln_array(l->in->arena, bool, l->n);
    int64_t n = 0;
    (void)kiln_x_is_int(s->u.loop.extent, &n);
    for (int t = 0; t < l->n; t++) {
        v[t].value.i += l->thread[t].at[axis];
        here[t] = mask[t] && l->thread[t].at[axis] < n;
    }
    bind_all(l, v);
    l->bound |= 1u << axis;
    if (some(l, here))
        together(l, s->u.loop.body, here);
    l->bound = outside;
    unbind_all(l);
}

static void run_if(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    const kiln_interp_var *c = values(l, NULL, s->u.branch.cond, mask);
    bool *here = kiln_array(l->in->arena, bool, l->n);
    const kiln_stmt *side[] = {s->u.branch.then, s->u.branch.otherwise};
    for (int i = 0; i < 2 && side[i] != NULL; i++) {
        for (int t = 0; t < l->n; t++)
            here[t] = mask[t] && (c[t].value.i != 0) == (i == 0);
        if (l->in->status == KILN_OK && some(l, here))
            together(l, side[i], here);
    }
}

static void run_let(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    bind_all(l, values(l, s->u.let.var, s->u.let.value, mask));
    if (l->in->status == KILN_OK)
        together(l, s->u.let.body, mask);
    unbind_all(l);
}

/* What was in it before is gone; who touched it before is remembered, as it is the same
 * storage. */
static void hand_out(kiln_launch *l, kiln_held *h) {
    const int64_t elems = kiln_buffer_elems(h->memory.buffer);
    const size_t bytes = (size_t)elems * kiln_dtype_bytes(h->memory.buffer->dtype);
    kiln_interp_poison(&h->memory, elems * h->copies);
    for (int64_t i = 0; i < h->copies; i++)
        for (int64_t k = 0; k < elems; k++)
            h->shadow[i].cell[k].is_written = false;
    for (int t = 0; t < l->n; t++) {
        kiln_interp_memory m = h->memory;
        int64_t copy = 0, stride = 1;
        for (int i = KILN_AXIS_THREAD_X; i < KILN_N_AXES; i++)
            if ((h->bound >> i & 1u) != 0) {
                copy += stride * l->thread[t].at[i];
                stride *= l->extent[i];
            }
        m.data += (size_t)copy * bytes;
        m.shadow = &h->shadow[copy];
        kiln_vec_push(l->in->arena, &l->thread[t].memory, m);
    }
}

static void run_alloc(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    const kiln_buffer *b = s->u.alloc.buffer;
    if (kiln_launch_shares(l, b, l->bound)) {
        hand_out(l, kiln_launch_held_of(l, b, l->bound));
    } else {
        for (int t = 0; t < l->n; t++)
            kiln_vec_push(l->in->arena, &l->thread[t].memory,
                          kiln_interp_allocate(l->in, b, 1));
    }
    if (l->in->status == KILN_OK)
        together(l, s->u.alloc.body, mask);
    for (int t = 0; t < l->n; t++)
        l->thread[t].memory.n--;
}

static void wait_here(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    int there = 0, absent = 0;
    while (!mask[there])
        there++;
    while (absent < l->n && mask[absent])
        absent++;
    if (absent == l->n) {
        l->phase[s->u.barrier == KILN_SCOPE_SHARED ? KILN_PHASES_SHARED
                                                   : KILN_PHASES_GLOBAL]++;
        if (l->groups - l->arrived > l->may_miss)
            l->arrived = l->groups - l->may_miss;
        if (l->products - l->done > l->may_run)
            l->done = l->products - l->may_run;
        return;
    }
    const int64_t *x = l->thread[there].at, *y = l->thread[absent].at;
    enter(l, there);
    kiln_interp_failed(
        l->in, KILN_ERR_ARG,
        "divergent barrier: thread (%" PRId64 ", %" PRId64 ", %" PRId64
        ") of block (%" PRId64 ", %" PRId64 ", %" PRId64
        ") waits where thread (%" PRId64 ", %" PRId64 ", %" PRId64 ") does not come%s",
        x[3], x[4], x[5], x[0], x[1], x[2], y[3], y[4], y[5], kiln_interp_where(l->in));
}

/* One group of copies. */
static void run_async(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    int64_t n = 0;
    (void)kiln_x_is_int(s->u.attr.value, &n);
    if (l->is_async)
        kiln_interp_failed(l->in, KILN_ERR_ARG,
                           "copies that need not wait stand inside such copies%s",
                           kiln_interp_where(l->in));
    l->is_async = true;
    together(l, s->u.attr.body, mask);
    l->is_async = false;
    l->groups++;
    l->may_miss = (uint32_t)n;
}

/* One group of products. */
static void run_products(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    int64_t n = 0;
    (void)kiln_x_is_int(s->u.attr.value, &n);
    if (l->multiplies)
        kiln_interp_failed(l->in, KILN_ERR_ARG,
                           "products that may go on stand inside such products%s",
                           kiln_interp_where(l->in));
    l->multiplies = true;
    together(l, s->u.attr.body, mask);
    l->multiplies = false;
    l->products++;
    l->may_run = (uint32_t)n;
}

static void together(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    const kiln_arena_mark mark = kiln_arena_save(l->in->arena);
    if (!kiln_interp_step(l->in))
        return;
    if (!is_collective(l, s))
        run_each(l, &s, 1, mask);
    else if (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD)
        run_thread_loop(l, s, mask);
    else if (s->kind == KILN_STMT_FOR)
        run_for(l, s, mask);
    else if (s->kind == KILN_STMT_SEQ)
        run_seq(l, s, mask);
    else if (s->kind == KILN_STMT_IF)
        run_if(l, s, mask);
    else if (s->kind == KILN_STMT_LET)
        run_let(l, s, mask);
    else if (s->kind == KILN_STMT_ALLOC)
        run_alloc(l, s, mask);
    else if (is_async(s))
        run_async(l, s, mask);
    else if (is_products(s))
        run_products(l, s, mask);
    else if (s->kind == KILN_STMT_ATTR)
        together(l, s->u.attr.body, mask);
    else if (s->kind == KILN_STMT_BARRIER)
        wait_here(l, s, mask);
    else
        KILN_ASSERT(false, "statement %d is one thread's", (int)s->kind);
    kiln_arena_rewind(l->in->arena, mark);
}

void kiln_launch_block(kiln_launch *l, const kiln_stmt *s, const bool *mask) {
    together(l, s, mask);
}
