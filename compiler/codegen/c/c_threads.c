/* Threads of a launch. Each runs the whole function: a thread loop is a test and a name for
 * where the thread stands along its axis, and what stands outside all loops of an axis is
 * done by the threads that stand at 0 there. Barriers are outside all such tests, as every
 * thread of the block must come to them. */
#include "compiler/codegen/c/print.h"

#include <inttypes.h>

/* Of one thread: what blocks of it have on a stack stays below a mebibyte. */
enum { MAX_PRIVATE = 16384, MAX_PRIVATE_BLOCK = 1 << 20, ALIGN = 64 };
static const int64_t max_memory = (int64_t)1 << 40;

static const char *const place[KILN_N_AXES] = {
    [KILN_AXIS_BLOCK_X] = "get_group_id(0)",  [KILN_AXIS_BLOCK_Y] = "get_group_id(1)",
    [KILN_AXIS_BLOCK_Z] = "get_group_id(2)",  [KILN_AXIS_THREAD_X] = "get_local_id(0)",
    [KILN_AXIS_THREAD_Y] = "get_local_id(1)", [KILN_AXIS_THREAD_Z] = "get_local_id(2)",
};

/* "get_local_id(0) == 0 && ...": of the axes that no loop around stands for. NULL: of
 * all of them one does. */
static const char *first_of_others(kiln_c_printer *p) {
    const char *all = NULL;
    for (int i = 0; i < KILN_N_AXES; i++)
        if (p->extent[i] > 1 && (p->bound >> i & 1u) == 0)
            all = all == NULL ? kiln_format(p->arena, "%s == 0", place[i])
                              : kiln_format(p->arena, "%s && %s == 0", all, place[i]);
    return all;
}

bool kiln_c_alone(kiln_c_printer *p, const kiln_stmt *s) {
    if (p->extent == NULL || p->is_alone || s->kind == KILN_STMT_SEQ ||
        kiln_stmt_is_collective(s))
        return false;
    const char *guard = first_of_others(p);
    p->is_alone = true;
    if (guard != NULL) {
        kiln_c_line(p, "if (%s) {", guard);
        const kiln_c_block b = kiln_c_open(p);
        kiln_c_stmt(p, s, true);
        kiln_c_close(p, b);
    } else {
        kiln_c_stmt(p, s, false);
    }
    p->is_alone = false;
    return true;
}

/* ---- loops ----------------------------------------------------------------------- */

static void put_bound(kiln_c_printer *p, const kiln_stmt *s, kiln_launch_axis axis,
                      bool is_last) {
    const kiln_var *v = s->u.loop.var;
    int64_t min = -1;
    const bool is_index = v->dtype == KILN_I64 && kiln_c_is_index(p, s->u.loop.min);
    const bool is_known = kiln_x_is_int(s->u.loop.min, &min);
    const char *type = is_index ? "ptrdiff_t" : kiln_c_type(v->dtype);
    const kiln_c_text first = is_index ? kiln_c_index(p, s->u.loop.min, NULL)
                                       : kiln_c_expr(p, s->u.loop.min, NULL);
    const char *name = kiln_c_name(p, v->name);
    const unsigned outside = p->bound;
    const size_t n_vars = p->vars.n;
    if (p->extent[axis] == 1)
        kiln_c_line(p, "const %s %s = %s;", type, name, first.text);
    else if (is_known && min == 0)
        kiln_c_line(p, "const %s %s = (%s)%s;", type, name, type, place[axis]);
    else
        kiln_c_line(p, "const %s %s = (%s)(%s + (%s)%s);", type, name, type,
                    kiln_c_in(p, first, KILN_C_SUM), type, place[axis]);
    const kiln_c_var x = {.var = v,
                          .text = {.text = name, .binds = KILN_C_PRIMARY},
                          .is_index = is_index,
                          .is_never_negative = is_known && min >= 0};
    kiln_c_line(p, "(void)%s;", name);
    kiln_vec_push(p->arena, &p->vars, x);
    p->bound |= 1u << axis;
    kiln_c_stmt(p, s->u.loop.body, is_last);
    p->bound = outside;
    p->vars.n = n_vars;
}

void kiln_c_thread_loop(kiln_c_printer *p, const kiln_stmt *s, bool is_last) {
    const int axis = kiln_launch_axis_of(s->u.loop.tag);
    int64_t n = 0;
    if (axis < 0 || !kiln_x_is_int(s->u.loop.extent, &n) || n > p->extent[axis]) {
        kiln_c_fail(p, KILN_ERR_ARG,
                    "thread loop '%s' must be bound to an axis of the launch and be no "
                    "longer than it",
                    s->u.loop.var->name);
        return;
    }
    kiln_c_check_together(p, s->u.loop.min);
    if (n == p->extent[axis]) {
        put_bound(p, s, (kiln_launch_axis)axis, is_last);
        return;
    }
    if (axis >= KILN_AXIS_THREAD_X && kiln_stmt_has_barrier(s->u.loop.body))
        kiln_c_fail(p, KILN_ERR_ARG,
                    "divergent barrier: %" PRId64 " of %" PRId64
                    " threads along %s come to the one in loop '%s'",
                    n, p->extent[axis], s->u.loop.tag, s->u.loop.var->name);
    kiln_c_line(p, "if (%s < %" PRId64 ") {", place[axis], n);
    const kiln_c_block b = kiln_c_open(p);
    put_bound(p, s, (kiln_launch_axis)axis, true);
    kiln_c_close(p, b);
}

void kiln_c_barrier(kiln_c_printer *p, const kiln_stmt *s) {
    KILN_ASSERT(p->extent != NULL, "kiln_backend_check refuses barriers of no threads");
    kiln_c_line(p, "barrier(%s);",
                s->u.barrier == KILN_SCOPE_SHARED ? "CLK_LOCAL_MEM_FENCE"
                                                  : "CLK_GLOBAL_MEM_FENCE");
}

/* ---- what all of them evaluate --------------------------------------------------- */

void kiln_c_check_together(kiln_c_printer *p, const kiln_expr *e) {
    if (p->extent == NULL || p->is_alone || first_of_others(p) == NULL)
        return;
    const kiln_buffer *found = kiln_expr_unsettled(e);
    if (found != NULL)
        kiln_c_fail(p, KILN_ERR_UNSUPPORTED,
                    "what '%s' does outside loops of all axes depends on '%s', which "
                    "it writes; put that inside the thread loops",
                    p->p->name, found->name);
}

/* ---- memory ---------------------------------------------------------------------- */

/* In front of the function's statements, as OpenCL C has it: where a loop was unrolled,
 * its copies have the same memory. */
static const char *put_shared(kiln_c_printer *p, const kiln_buffer *b, const char *name,
                              size_t bytes) {
    const int64_t elems = kiln_buffer_elems(b);
    for (size_t i = 0; i < p->declared.n; i++)
        if (p->declared.v[i].buffer == b)
            return p->declared.v[i].name;
    const kiln_c_memory m = {.buffer = b, .name = name};
    kiln_vec_push(p->arena, &p->declared, m);
    p->shared_bytes += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    kiln_buf_printf(&p->shared,
                    "    %s%s %s[%" PRId64 "] __attribute__((aligned(%d)));\n",
                    p->unit->dialect->shared, kiln_c_type(b->dtype), name,
                    elems > 0 ? elems : 1, ALIGN);
    return name;
}

/* Of these axes, as one number; *n: how many there are. */
static const char *numbered(kiln_c_printer *p, unsigned axes, int64_t *n) {
    const char *all = "0";
    *n = 1;
    for (int i = 0; i < KILN_N_AXES; i++) {
        if (p->extent[i] == 1 || (axes >> i & 1u) == 0)
            continue;
        all = *n == 1
                  ? place[i]
                  : kiln_format(p->arena, "%s + %" PRId64 " * %s", all, *n, place[i]);
        *n = *n > max_memory / p->extent[i] ? max_memory : *n * p->extent[i];
    }
    return all;
}

/* One for each that there is of these axes. */
static void put_workspace(kiln_c_printer *p, const kiln_buffer *b, const char *name,
                          size_t bytes, unsigned axes) {
    const size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    const char *type = kiln_c_type(b->dtype), *global = p->unit->dialect->global;
    int64_t n = 1;
    const char *at = numbered(p, axes, &n);
    if (room > 0 && n > max_memory / (int64_t)room) {
        kiln_c_fail(p, KILN_ERR_LIMIT, "the memory of '%s' must stay below %" PRId64,
                    p->p->name, max_memory);
        return;
    }
    const char *behind =
        n > 1 ? kiln_format(p->arena, " + (size_t)(%s) * %zu", at, room) : "";
    kiln_c_line(p, "%s%s *const %s = (%s%s *)(work + %zu%s);", global, type, name,
                global, type, p->workspace, behind);
    p->workspace += room * (size_t)n;
}

const char *kiln_c_thread_memory(kiln_c_printer *p, const char *name, size_t bytes) {
    KILN_ASSERT(p->memory.n > 0, "'%s' is memory of nothing", name);
    kiln_c_memory *m = &p->memory.v[p->memory.n - 1];
    const kiln_buffer *b = m->buffer;
    const int64_t *n = p->extent + KILN_AXIS_THREAD_X;
    const int64_t most = MAX_PRIVATE_BLOCK / (n[0] * n[1] * n[2]);
    const bool is_own = b->scope != KILN_SCOPE_GLOBAL && b->scope != KILN_SCOPE_SHARED;
    const bool fits = p->stack + bytes <= MAX_PRIVATE &&
                      (int64_t)(p->stack + bytes) <= (most > 1024 ? most : 1024);
    if (b->scope == KILN_SCOPE_SHARED) {
        m->space = p->unit->dialect->shared;
        m->name = put_shared(p, b, name, bytes);
    } else if (is_own && fits) {
        const int64_t elems = kiln_buffer_elems(b);
        kiln_c_line(p, "%s %s[%" PRId64 "] __attribute__((aligned(%d)));",
                    kiln_c_type(b->dtype), name, elems > 0 ? elems : 1, ALIGN);
        p->stack += bytes;
    } else {
        m->space = p->unit->dialect->global;
        put_workspace(p, b, name, bytes, is_own ? ~0u : p->bound);
    }
    return m->name;
}
