/* What threads of a block do together, for back ends. */
#include "compiler/loop/backend.h"
#include "compiler/loop/fragment.h"

static bool is_shared(const kiln_stmt *s) {
    return s->kind == KILN_STMT_ALLOC && s->u.alloc.buffer->scope == KILN_SCOPE_SHARED;
}

bool kiln_stmt_is_collective(const kiln_stmt *s) {
    const kiln_stmt *part = NULL;
    bool is =
        s->kind == KILN_STMT_BARRIER || is_shared(s) || kiln_stmt_is_warps(s) ||
        (s->kind == KILN_STMT_ATTR && (s->u.attr.key == KILN_STMT_ATTR_ASYNC ||
                                       s->u.attr.key == KILN_STMT_ATTR_PRODUCTS)) ||
        (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD);
    for (int i = 0; !is && (part = kiln_stmt_part(s, i)) != NULL; i++)
        is = kiln_stmt_is_collective(part);
    return is;
}

static void find_barrier(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || s->kind == KILN_STMT_BARRIER;
}

bool kiln_stmt_has_barrier(const kiln_stmt *s) {
    bool found = false;
    kiln_stmt_visit(s, find_barrier, &found);
    return found;
}

static void find_unsettled(void *user, const kiln_expr *e) {
    const kiln_buffer **found = user;
    if (e->kind == KILN_EXPR_LOAD &&
        (e->u.load.buffer->arg < 0 || e->u.load.buffer->is_written))
        *found = e->u.load.buffer;
}

const kiln_buffer *kiln_expr_unsettled(const kiln_expr *e) {
    const kiln_buffer *found = NULL;
    kiln_expr_visit(e, find_unsettled, &found);
    return found;
}
