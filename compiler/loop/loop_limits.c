/* Launches against what a target has: memories by scope, threads of a block. */
#include "compiler/loop/loop.h"
#include "compiler/loop/loop_words.h"

#include <inttypes.h>

typedef struct checker {
    const kiln_launch_limits *limits;
    int64_t extent[KILN_N_AXES]; /* of the launch around; 0: none is */
    kiln_status status;
    kiln_err *err;
} checker;

static int64_t bytes_of(const kiln_buffer *b) {
    return kiln_buffer_elems(b) * (int64_t)kiln_dtype_bytes(b->dtype);
}

/* `live`: bytes that the block has in shared memory already. */
static void check_buffer(checker *c, const kiln_buffer *b, int64_t live) {
    const kiln_memory *m = kiln_memory_of(c->limits->memory, (int)b->scope);
    const int64_t bytes = bytes_of(b);
    if (c->status != KILN_OK)
        return;
    if (m == NULL && b->scope >= KILN_SCOPE_TARGET)
        c->status = kiln_fail(c->err, KILN_ERR_UNSUPPORTED,
                              "the target has no scope%d memory for '%s'",
                              (int)b->scope, b->name);
    else if (m == NULL)
        c->status = kiln_fail(c->err, KILN_ERR_UNSUPPORTED,
                              "the target has no %s memory for '%s'",
                              kiln_scope_name(b->scope), b->name);
    else if (m->bytes > 0 && bytes > m->bytes - live)
        c->status =
            kiln_fail(c->err, KILN_ERR_UNSUPPORTED,
                      "buffer '%s' takes %" PRId64 " bytes of %s memory, beside "
                      "%" PRId64 " that are taken; there are %" PRId64,
                      b->name, bytes, m->name, live, m->bytes);
}

static void find_extent(void *user, const kiln_stmt *s) {
    checker *c = user;
    int64_t n = 0;
    if (s->kind != KILN_STMT_FOR || s->u.loop.kind != KILN_LOOP_THREAD ||
        c->status != KILN_OK)
        return;
    const int axis = kiln_launch_axis_of(s->u.loop.tag);
    if (axis < 0 || !kiln_x_is_int(s->u.loop.extent, &n))
        c->status =
            kiln_fail(c->err, KILN_ERR_UNSUPPORTED,
                      "thread loop '%s' must be bound to an axis that there is, "
                      "and have a constant extent",
                      s->u.loop.var->name);
    else if (n > c->extent[axis])
        c->extent[axis] = n;
}

/* `what`: "loop 'i'", or the program that is launched. */
static void check_threads(checker *c, const char *what, const char *name) {
    int64_t n = 1;
    if (c->status == KILN_OK && c->limits->threads == 0)
        c->status = kiln_fail(c->err, KILN_ERR_UNSUPPORTED,
                              "the target has no threads for %s'%s'; make it parallel",
                              what, name);
    for (int i = KILN_AXIS_THREAD_X; i < KILN_N_AXES && c->status == KILN_OK; i++) {
        if (c->extent[i] > c->limits->threads / n)
            c->status =
                kiln_fail(c->err, KILN_ERR_UNSUPPORTED,
                          "the launch of %s'%s' has blocks of %" PRId64 " x %" PRId64
                          " x %" PRId64 " threads; the target has %" PRId64 " a block",
                          what, name, c->extent[KILN_AXIS_THREAD_X],
                          c->extent[KILN_AXIS_THREAD_Y], c->extent[KILN_AXIS_THREAD_Z],
                          c->limits->threads);
        n *= c->extent[i];
    }
}

static void check_launch(checker *c, const kiln_stmt *s) {
    for (int i = 0; i < KILN_N_AXES; i++)
        c->extent[i] = 1;
    kiln_stmt_visit(s, find_extent, c);
    check_threads(c, "loop ", s->u.loop.var->name);
}

/* Of a grid that is known: its loops are looked at as well. */
static void check_grid(checker *c, const kiln_stmt *s) {
    for (int i = 0; i < KILN_N_AXES; i++)
        if (!kiln_x_is_int(s->u.call.grid[i], &c->extent[i]))
            c->extent[i] = 1;
    check_threads(c, "", s->u.call.program->name);
}

static void check_program(checker *c, const kiln_program *p);

static void check(checker *c, const kiln_stmt *s, int64_t live, bool is_launched) {
    const kiln_stmt *part = NULL;
    const bool is_thread =
        s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD;
    if (is_thread && !is_launched)
        check_launch(c, s);
    if (s->kind == KILN_STMT_ALLOC) {
        const kiln_buffer *b = s->u.alloc.buffer;
        const bool is_shared = b->scope == KILN_SCOPE_SHARED;
        check_buffer(c, b, is_shared ? live : 0);
        live += is_shared ? bytes_of(b) : 0;
    }
    if (s->kind == KILN_STMT_LAUNCH)
        check_program(c, s->u.call.program);
    if (s->kind == KILN_STMT_LAUNCH && c->status == KILN_OK)
        check_grid(c, s);
    for (int i = 0; c->status == KILN_OK && (part = kiln_stmt_part(s, i)) != NULL; i++)
        check(c, part, live, is_launched || is_thread);
}

static void check_program(checker *c, const kiln_program *p) {
    for (int i = 0; i < p->n_args; i++)
        check_buffer(c, p->arg[i], 0);
    if (c->status == KILN_OK)
        check(c, p->body, 0, false);
}

/* How much a block shares is the profile's. */
kiln_launch_limits kiln_launch_limits_of(kiln_arena *a, const kiln_profile *profile) {
    const kiln_memory *all = kiln_arch_of(profile->arch)->memory;
    size_t n = 1;
    for (const kiln_memory *m = all; m->name != NULL; m++)
        n++;
    kiln_memory *own = kiln_array(a, kiln_memory, n);
    for (size_t i = 0; i < n; i++) {
        own[i] = all[i];
        if (all[i].name != NULL && all[i].scope == KILN_SCOPE_SHARED &&
            profile->gpu.shared_bytes > 0)
            own[i].bytes = kiln_gpu_shared_most(profile);
    }
    return (kiln_launch_limits){own, profile->gpu.block_threads};
}

kiln_status kiln_program_check_limits(const kiln_program *p,
                                      const kiln_launch_limits *limits, kiln_err *err) {
    checker c = {.limits = limits, .err = err};
    check_program(&c, p);
    return c.status;
}
