/* Threads in schedules: loops that are bound to one axis share it, also across stages,
 * and where a stage's memory is decides which threads it is computed for.
 *
 * Shared memory is filled by all threads of a block together, so what they need is
 * taken together, and each thread axis around must be bound again to share the work.
 * Local memory, registers, and global memory inside a launch are one thread's: it
 * computes there what it reads itself (TVM, section 4.2; the ranks of memory and
 * threads are those of its bound inference). */
#include "compiler/schedule/schedule_internal.h"

enum {
    THREAD_AXES =
        1 << KILN_AXIS_THREAD_X | 1 << KILN_AXIS_THREAD_Y | 1 << KILN_AXIS_THREAD_Z
};

static unsigned axis_bit(const kiln_iter *x) {
    return x->loop == KILN_LOOP_THREAD ? 1u << kiln_launch_axis_of(x->tag) : 0;
}

static unsigned own_axes(const kiln_stage *st) {
    unsigned axes = 0;
    for (size_t i = 0; i < st->leaf.n; i++)
        axes |= axis_bit(st->leaf.v[i]);
    return axes;
}

/* Calls fn for every loop that st is computed inside, of other stages. */
static void each_around(const kiln_stage *st,
                        void (*fn)(void *user, const kiln_iter *x), void *user) {
    for (; st->attach == KILN_ATTACH_AT; st = st->at_stage)
        for (size_t i = 0; i < st->at_stage->leaf.n; i++) {
            fn(user, st->at_stage->leaf.v[i]);
            if (st->at_stage->leaf.v[i] == st->at_iter)
                break;
        }
}

static void add_axis(void *user, const kiln_iter *x) {
    unsigned *axes = user;
    *axes |= axis_bit(x);
}

static unsigned axes_around(const kiln_stage *st) {
    unsigned axes = 0;
    each_around(st, add_axis, &axes);
    return axes;
}

kiln_status kiln_check_bind(const kiln_stage *st, const kiln_iter *x, const char *tag,
                            kiln_err *err) {
    const int axis = kiln_launch_axis_of(tag);
    if (axis < 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "bind: there is no axis '%s' for loop '%s' of stage '%s'; "
                         "there are blockIdx.x, .y, .z and threadIdx.x, .y, .z",
                         tag, x->name, st->te->name);
    if ((own_axes(st) >> axis & 1u) != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "bind: a loop of stage '%s' is bound to %s already; fuse "
                         "'%s' with it, or bind it to another axis",
                         st->te->name, tag, x->name);
    return KILN_OK;
}

/* ---- what scopes allow ----------------------------------------------------------- */

/* The name of the lowest axis in the set. */
static const char *name_of(unsigned axes) {
    int i = 0;
    while (i + 1 < KILN_N_AXES && (axes >> i & 1u) == 0)
        i++;
    return kiln_launch_axis_name((kiln_launch_axis)i);
}

typedef struct outsider {
    const kiln_te *te; /* that reads; NULL: none does */
    unsigned axes;     /* of loops that the stage is not inside */
} outsider;

/* Who reads a stage inside loops that are bound to some of `axes`, without the stage
 * being inside of one too: what is one block's, or one thread's, was not filled there. */
static outsider outsider_of(const kiln_lowering *lo, size_t position, unsigned axes) {
    const kiln_stage *st = lo->stage[position].stage;
    const unsigned around = axes_around(st);
    for (size_t i = position + 1; i < lo->schedule->stage.n; i++) {
        const kiln_lowered_stage *reader = &lo->stage[i];
        if (reader->te == NULL || !kiln_te_reads(reader->te, st->origin))
            continue;
        const unsigned more =
            (own_axes(reader->stage) | axes_around(reader->stage)) & ~around & axes;
        if (more != 0)
            return (outsider){reader->te, more};
    }
    return (outsider){NULL, 0};
}

static kiln_status check_shared(const kiln_lowering *lo, size_t position, unsigned own,
                                unsigned around, kiln_err *err) {
    const kiln_stage *st = lo->stage[position].stage;
    const outsider x = outsider_of(lo, position, ~(unsigned)THREAD_AXES);
    if (around == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "lower: stage '%s' is in shared memory, which is one block's, "
                         "and is computed outside all loops that are bound to blocks "
                         "or threads; use compute_at",
                         st->te->name);
    if ((own & ~(unsigned)THREAD_AXES) != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "lower: stage '%s' is in one block's memory, and binds %s, "
                         "so that each block would fill a part of its own",
                         st->te->name, name_of(own & ~(unsigned)THREAD_AXES));
    if ((around & THREAD_AXES & ~own) != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "lower: stage '%s' is in shared memory and computed inside a "
                         "loop that is bound to %s: each of its threads would compute "
                         "all of it; bind a loop of the stage to %s",
                         st->te->name, name_of(around & THREAD_AXES & ~own),
                         name_of(around & THREAD_AXES & ~own));
    if (x.te != NULL)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "lower: stage '%s' is in one block's memory, and '%s' reads it "
            "inside a loop that is bound to %s: other blocks have not "
            "filled theirs; compute it inside that loop",
            st->te->name, x.te->name, name_of(x.axes));
    return KILN_OK;
}

/* One warp's: its threads are one loop further in, of those that read. */
static kiln_status check_fragment(const kiln_lowering *lo, size_t position,
                                  unsigned own, unsigned around, kiln_err *err) {
    const kiln_stage *st = lo->stage[position].stage;
    const unsigned x = 1u << KILN_AXIS_THREAD_X;
    if (own != 0 || (around & x) != 0 || around == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "lower: stage '%s' is a warp's fragment, so it must be "
                         "computed inside loops that are bound to blocks and warps, "
                         "and no loop of it, nor one around, to threadIdx.x",
                         st->te->name);
    const outsider reader = outsider_of(lo, position, ~x);
    if (reader.te != NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "lower: stage '%s' is a warp's fragment, and '%s' reads it "
                         "inside a loop that is bound to %s; compute it inside that "
                         "loop",
                         st->te->name, reader.te->name, name_of(reader.axes));
    return KILN_OK;
}

/* One thread's memory: nobody else fills it, nobody else reads it. */
static kiln_status check_own(const kiln_lowering *lo, size_t position, unsigned own,
                             kiln_err *err) {
    const kiln_stage *st = lo->stage[position].stage;
    if (own != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "lower: stage '%s' is in one thread's memory, so no loop of "
                         "it can be bound to %s; put it in shared memory",
                         st->te->name, name_of(own));
    const outsider x = outsider_of(lo, position, ~0u);
    if (x.te != NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "lower: stage '%s' is in one thread's memory, and '%s' reads "
                         "it inside a loop that is bound to %s; compute it inside that "
                         "loop, or put it in shared memory",
                         st->te->name, x.te->name, name_of(x.axes));
    return KILN_OK;
}

kiln_status kiln_check_threads(const kiln_lowering *lo, kiln_err *err) {
    for (size_t i = 0; i < lo->schedule->stage.n; i++) {
        const kiln_stage *st = lo->stage[i].stage;
        if (lo->stage[i].te == NULL)
            continue;
        const unsigned own = own_axes(st), around = axes_around(st);
        if (st->scope == KILN_SCOPE_SHARED)
            KILN_TRY(check_shared(lo, i, own, around, err));
        else if (st->scope == KILN_SCOPE_FRAGMENT)
            KILN_TRY(check_fragment(lo, i, own, around, err));
        else if (st->scope != KILN_SCOPE_GLOBAL || around != 0)
            KILN_TRY(check_own(lo, i, own, err));
    }
    return KILN_OK;
}

typedef struct width {
    const kiln_lowering *lo;
    const kiln_extent *leaf; /* that is bound */
    const kiln_iter *narrow; /* around it, bound to the same axis; NULL: none */
} width;

static const kiln_range *range_of(const kiln_lowering *lo, const kiln_var *v) {
    for (size_t i = lo->ranges.stack.n; i-- > 0;)
        if (lo->ranges.stack.v[i].var == v)
            return &lo->ranges.stack.v[i];
    return NULL;
}

static void find_narrow(void *user, const kiln_iter *x) {
    width *w = user;
    const kiln_range *r = range_of(w->lo, x->var);
    if ((axis_bit(x) & axis_bit(w->leaf->iter)) != 0 && r != NULL &&
        r->interval.max + 1 < w->leaf->extent)
        w->narrow = x;
}

/* Inside a loop of few threads no more threads come. */
kiln_status kiln_check_widths(const kiln_lowering *lo, const kiln_lowered_stage *l,
                              kiln_err *err) {
    for (size_t i = 0; i < l->stage->leaf.n; i++) {
        width w = {.lo = lo, .leaf = &l->leaf[i]};
        if (axis_bit(w.leaf->iter) != 0)
            each_around(l->stage, find_narrow, &w);
        if (w.narrow != NULL)
            return kiln_fail(err, KILN_ERR_ARG,
                             "lower: loop '%s' of stage '%s' needs more threads along "
                             "%s than come there: it is computed inside loop '%s', "
                             "which has fewer; split it by what that has",
                             w.leaf->iter->name, l->te->name, w.leaf->iter->tag,
                             w.narrow->name);
    }
    return KILN_OK;
}

/* ---- bounds by scope ------------------------------------------------------------- */

typedef struct relaxing {
    const kiln_lowering *lo;
    kiln_ranges *relaxed;
} relaxing;

static void relax_thread(void *user, const kiln_iter *x) {
    const relaxing *r = user;
    if ((axis_bit(x) & THREAD_AXES) == 0)
        return;
    const kiln_range *known = range_of(r->lo, x->var);
    if (known != NULL)
        kiln_ranges_push(r->relaxed, x->var, known->interval.min, known->interval.max);
}

void kiln_relax_threads(const kiln_lowering *lo, const kiln_stage *st,
                        kiln_ranges *relaxed) {
    relaxing r = {lo, relaxed};
    if (st->scope == KILN_SCOPE_SHARED)
        each_around(st, relax_thread, &r);
}

bool kiln_fills_shared(const kiln_lowering *lo, const kiln_stage *within) {
    for (size_t i = 0; i < lo->schedule->stage.n; i++) {
        const kiln_stage *st = lo->stage[i].stage;
        if (lo->stage[i].te == NULL || st->scope != KILN_SCOPE_SHARED)
            continue;
        while (st != within && st->attach == KILN_ATTACH_AT)
            st = st->at_stage;
        if (st == within)
            return true;
    }
    return false;
}
