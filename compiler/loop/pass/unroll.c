/* unroll: loops marked so become copies of their body, simplified with the value that
 * the variable has in each: indexes of register tiles become constants. */
#include "compiler/loop/loop_walk.h"
#include "base/fault.h"

#include <inttypes.h>

enum { DEFAULT_MAX_UNROLL = 4096 };

/* Statements that this becomes; saturates. What only holds others is none. */
static int64_t size_of(const kiln_stmt *s) {
    const int64_t many = INT32_MAX;
    const bool holds = s->kind == KILN_STMT_SEQ || s->kind == KILN_STMT_ALLOC ||
                       s->kind == KILN_STMT_ATTR;
    const kiln_stmt *part = NULL;
    int64_t n = 0, extent = 0;
    for (int i = 0; (part = kiln_stmt_part(s, i)) != NULL; i++)
        n += size_of(part);
    if (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_UNROLLED &&
        kiln_x_is_int(s->u.loop.extent, &extent))
        return extent > 0 && n > many / extent ? many : n * extent;
    n += holds ? 0 : 1;
    return n < many ? n : many;
}

static const kiln_stmt *serial(kiln_walk *w, const kiln_stmt *s) {
    const kiln_stmt *loop =
        kiln_s_for(w->arena, s->u.loop.var, s->u.loop.min, s->u.loop.extent,
                   KILN_LOOP_SERIAL, NULL, s->u.loop.body);
    return loop->kind == KILN_STMT_FOR ? kiln_walk_loop(w, loop) : loop;
}

static const kiln_stmt *loop_hook(kiln_walk *w, const kiln_stmt *s) {
    const kiln_loop_options *o = w->user;
    const int64_t most = o->max_unroll > 0 ? o->max_unroll : DEFAULT_MAX_UNROLL;
    int64_t first = 0, n = 0;
    if (s->u.loop.kind != KILN_LOOP_UNROLLED)
        return kiln_walk_loop(w, s);
    if (!kiln_x_is_int(kiln_walk_expr(w, s->u.loop.min), &first) ||
        !kiln_x_is_int(kiln_walk_expr(w, s->u.loop.extent), &n))
        return serial(w, s);
    const int64_t size = size_of(s);
    if (size > most) {
        if (o->keep_large_loops)
            return serial(w, s);
        w->status = kiln_fail(w->err, KILN_ERR_LIMIT,
                              "unroll: loop '%s' must become at most %" PRId64
                              " statements, becomes %" PRId64
                              "; unroll fewer loops or split it",
                              s->u.loop.var->name, most, size);
        return s;
    }
    const kiln_stmt **copy = kiln_array(w->arena, const kiln_stmt *, n);
    const kiln_walk_mark mark = kiln_walk_save(w);
    for (int64_t i = 0; i < n && w->status == KILN_OK; i++) {
        kiln_ranges_push(&w->ranges, s->u.loop.var, first + i, first + i);
        copy[i] = kiln_walk_stmt(w, s->u.loop.body);
        kiln_walk_restore(w, mark);
    }
    return w->status == KILN_OK
               ? kiln_s_seq(w->arena, copy, (int)n - (KILN_FAULT(unroll_last) ? 1 : 0))
               : s;
}

static kiln_status run(kiln_program *p, const kiln_loop_options *o, kiln_err *err) {
    kiln_loop_options options = {0};
    if (o != NULL)
        options = *o;
    kiln_walk w = kiln_walk_make(p->arena, loop_hook, &options, err);
    const kiln_stmt *body = kiln_walk_stmt(&w, p->body);
    if (w.status == KILN_OK)
        p->body = body;
    return w.status;
}

const kiln_loop_pass kiln_loop_pass_unroll = {
    .name = "unroll",
    .doc = "turns unrolled loops into copies of their body",
    .run = run,
};
