/* Statements. Iterations of a parallel loop come one after another: C99 has no threads,
 * and any order of them is right. What passes left marked as vectorised or unrolled is a
 * loop too. */
#include "compiler/codegen/c/print.h"

#include <inttypes.h>
#include <string.h>

/* Small arrays are variables, so that compilers make registers of them; no more
 * together than a small stack has. The rest is in the workspace. */
enum { MAX_STACK_BUFFER = 2048, MAX_STACK = 4096, ALIGN = 64 };

/* ---- stores ---------------------------------------------------------------------- */

typedef struct reading {
    const kiln_buffer *buffer;
    const kiln_stmt *store;
    bool is_other; /* reads the buffer elsewhere than it stores */
} reading;

static void find_reading(void *user, const kiln_expr *e) {
    reading *r = user;
    if (e->kind != KILN_EXPR_LOAD)
        return;
    if (e->u.load.mask != NULL)
        kiln_expr_visit(e->u.load.mask, find_reading, user);
    if (e->u.load.buffer != r->buffer)
        return;
    for (int i = 0; i < r->buffer->rank; i++)
        r->is_other =
            r->is_other || !kiln_expr_eq(e->arg[i], r->store->u.store.index[i]);
}

static void find_readings(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, find_reading, user);
}

/* Would a lane that is stored change what another reads? Buffers of the function that
 * are the same memory are read where they are written. */
static bool reads_what_it_stores(const kiln_stmt *s) {
    reading r = {s->u.store.buffer, s, false};
    kiln_stmt_exprs(s, find_readings, &r);
    return r.is_other;
}

static const char *stored(kiln_c_printer *p, const kiln_stmt *s, kiln_c_text x) {
    return s->u.store.buffer->dtype == KILN_BOOL
               ? kiln_format(p->arena, "(uint8_t)%s", kiln_c_in(p, x, KILN_C_UNARY))
               : x.text;
}

/* One lane, behind its mask. */
static void put_lane(kiln_c_printer *p, const kiln_stmt *s, const char *lane) {
    const kiln_expr *mask = s->u.store.mask;
    kiln_c_block b = {0};
    if (mask != NULL) {
        const char *at = mask->lanes > 1 ? lane : NULL;
        kiln_c_line(p, "if (%s) {", kiln_c_expr(p, mask, at).text);
        b = kiln_c_open(p);
    }
    const kiln_c_text x = kiln_c_expr(p, s->u.store.value, lane);
    const kiln_c_text to = kiln_c_element(p, s->u.store.buffer, s->u.store.index, lane);
    kiln_c_line(p, "%s = %s;", to.text, stored(p, s, x));
    if (mask != NULL)
        kiln_c_close(p, b);
}

/* All values first, then the stores. */
static void put_lanes_apart(kiln_c_printer *p, const kiln_stmt *s) {
    const kiln_expr *value = s->u.store.value, *mask = s->u.store.mask;
    const char *lane = NULL;
    const char *name = kiln_c_name(p, "value");
    const char *on = mask != NULL ? kiln_c_name(p, "on") : NULL;
    kiln_c_line(p, "%s %s[%d];", kiln_c_value_type(value->dtype), name, value->lanes);
    if (mask != NULL)
        kiln_c_line(p, "int %s[%d];", on, value->lanes);
    kiln_c_block b = kiln_c_lanes(p, value->lanes, &lane), inner = {0};
    if (mask != NULL) {
        kiln_c_line(p, "%s[%s] = %s;", on, lane,
                    kiln_c_expr(p, mask, mask->lanes > 1 ? lane : NULL).text);
        kiln_c_line(p, "%s[%s] = 0;", name, lane);
        kiln_c_line(p, "if (%s[%s]) {", on, lane);
        inner = kiln_c_open(p);
    }
    kiln_c_line(p, "%s[%s] = %s;", name, lane, kiln_c_expr(p, value, lane).text);
    if (mask != NULL)
        kiln_c_close(p, inner);
    kiln_c_close(p, b);
    b = kiln_c_lanes(p, value->lanes, &lane);
    if (mask != NULL) {
        kiln_c_line(p, "if (%s[%s]) {", on, lane);
        inner = kiln_c_open(p);
    }
    const kiln_c_text to = kiln_c_element(p, s->u.store.buffer, s->u.store.index, lane);
    kiln_c_line(p, "%s = %s%s[%s];", to.text,
                value->dtype == KILN_BOOL ? "(uint8_t)" : "", name, lane);
    if (mask != NULL)
        kiln_c_close(p, inner);
    kiln_c_close(p, b);
}

static void prepare_store(kiln_c_printer *p, const kiln_stmt *s) {
    const kiln_expr *mask = s->u.store.mask;
    if (mask != NULL)
        kiln_c_prepare(p, mask);
    for (int i = 0; i <= s->u.store.buffer->rank; i++) {
        const kiln_expr *e =
            i == s->u.store.buffer->rank ? s->u.store.value : s->u.store.index[i];
        if (mask != NULL)
            kiln_c_prepare_where(p, e, mask);
        else
            kiln_c_prepare(p, e);
    }
}

/* Arrays of its own are in braces. */
static void put_whole_store(kiln_c_printer *p, const kiln_stmt *s) {
    const int lanes = s->u.store.value->lanes;
    const bool is_apart = lanes > 1 && reads_what_it_stores(s);
    const bool has_arrays = kiln_c_is_mixed(s) || is_apart;
    const char *lane = NULL;
    kiln_c_block own = {0}, in = {0};
    if (lanes > 1 && kiln_c_vector_store(p, s))
        return;
    if (has_arrays) {
        kiln_c_line(p, "{");
        own = kiln_c_open(p);
        prepare_store(p, s);
    }
    if (is_apart)
        put_lanes_apart(p, s);
    else {
        if (lanes > 1)
            in = kiln_c_lanes(p, lanes, &lane);
        put_lane(p, s, lane);
        if (lanes > 1)
            kiln_c_close(p, in);
    }
    if (has_arrays)
        kiln_c_close(p, own);
}

static void put_store(kiln_c_printer *p, const kiln_stmt *s) {
    const kiln_stmt *part[KILN_C_MAX_PARTS] = {s};
    int n = 1;
    if (s->u.store.value->lanes > 1 && !reads_what_it_stores(s))
        n = kiln_c_parts(p, s, part);
    for (int i = 0; i < n; i++)
        put_whole_store(p, part[i]);
}

/* ---- memory ---------------------------------------------------------------------- */

typedef struct keeping {
    const kiln_buffer *buffer;
    bool found;
} keeping;

static bool is_element(const kiln_expr *e, const kiln_stmt *store) {
    if (e->kind != KILN_EXPR_LOAD || e->u.load.buffer != store->u.store.buffer)
        return false;
    for (int i = 0; i < store->u.store.buffer->rank; i++)
        if (!kiln_expr_eq(e->arg[i], store->u.store.index[i]))
            return false;
    return true;
}

static void find_keeping(void *user, const kiln_stmt *s) {
    keeping *k = user;
    if (s->kind != KILN_STMT_STORE || s->u.store.buffer != k->buffer)
        return;
    const kiln_expr *e = s->u.store.value;
    k->found = k->found || (e->kind == KILN_EXPR_SELECT &&
                            (is_element(e->arg[1], s) || is_element(e->arg[2], s)));
}

static void find_store(void *user, const kiln_stmt *s) {
    keeping *k = user;
    k->found =
        k->found || (s->kind == KILN_STMT_STORE && s->u.store.buffer == k->buffer);
}

static void find_guarded(void *user, const kiln_stmt *s) {
    if (s->kind == KILN_STMT_IF)
        kiln_stmt_visit(s, find_store, user);
}

/* Lanes that nobody uses keep what they have, which compilers take for a use; nor do all
 * see that what is read under a condition was written under the same one. Then there must
 * be something. */
static bool wants_elements(const kiln_buffer *b, const kiln_stmt *body) {
    keeping k = {b, false};
    kiln_stmt_visit(body, find_keeping, &k);
    kiln_stmt_visit(body, find_guarded, &k);
    return k.found;
}

static void find_loads(void *user, const kiln_expr *e) {
    keeping *k = user;
    k->found = k->found || kiln_expr_loads(e, k->buffer);
}

static void find_loads_of(void *user, const kiln_stmt *s) {
    kiln_stmt_exprs(s, find_loads, user);
}

/* Compilers warn of what is written only. */
static bool is_read(const kiln_buffer *b, const kiln_stmt *body) {
    keeping k = {b, false};
    kiln_stmt_visit(body, find_loads_of, &k);
    return k.found;
}

static void put_alloc(kiln_c_printer *p, const kiln_stmt *s) {
    const kiln_buffer *b = s->u.alloc.buffer;
    const int64_t elems = kiln_buffer_elems(b), most = (int64_t)1 << 40;
    const size_t workspace = p->workspace, stack = p->stack;
    size_t end = 0;
    if (elems < 0 || elems > most / 8) {
        kiln_c_fail(p, KILN_ERR_LIMIT,
                    "buffer '%s' must have at most %" PRId64 " elements, has %" PRId64,
                    b->name, most / 8, elems);
        return;
    }
    const size_t bytes = (size_t)elems * kiln_dtype_bytes(b->dtype);
    const bool is_small = bytes <= MAX_STACK_BUFFER && p->stack + bytes <= MAX_STACK;
    const char *name = kiln_c_name(p, b->name), *type = kiln_c_type(b->dtype);
    bool *is_used = kiln_new(p->arena, bool);
    const kiln_c_memory m = {b, name, is_used, ""};
    kiln_buf *out = p->out, body;
    kiln_buf_init(&body, p->arena);
    kiln_vec_push(p->arena, &p->memory, m);
    if (p->extent != NULL) {
        name = kiln_c_thread_memory(p, name, bytes);
        end = p->workspace;
    } else if (b->scope != KILN_SCOPE_GLOBAL && is_small) {
        kiln_c_line(p, "%s %s[%" PRId64 "]%s;", type, name, elems > 0 ? elems : 1,
                    wants_elements(b, s->u.alloc.body) ? " = {0}" : "");
        p->stack += bytes;
    } else {
        kiln_c_line(p, "%s%s *%sconst %s = (%s%s *)(void *)(work + %zu);",
                    p->unit->dialect->global, type, p->unit->dialect->restricted, name,
                    p->unit->dialect->global, type, p->workspace);
        end = p->workspace + bytes; /* nothing is behind the last one */
        p->workspace += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    if (p->workspace > (size_t)most)
        kiln_c_fail(p, KILN_ERR_LIMIT, "the memory of '%s' must stay below %" PRId64,
                    p->p->name, most);
    if (end > p->max_workspace)
        p->max_workspace = end;
    p->out = &body;
    kiln_c_stmt(p, s->u.alloc.body, true);
    p->out = out;
    if (!*is_used || !is_read(b, s->u.alloc.body))
        kiln_c_line(p, "(void)%s;", name);
    if (body.n > 0)
        kiln_buf_add(p->out, body.p, body.n);
    p->memory.n--;
    p->workspace = workspace;
    p->stack = stack;
}

/* ---- control --------------------------------------------------------------------- */

/* A variable of a loop of one iteration is its bound. */
static bool put_once(kiln_c_printer *p, const kiln_stmt *s, bool is_last) {
    const kiln_expr *min = s->u.loop.min;
    int64_t n = 0, first = 0;
    if (!kiln_x_is_int(s->u.loop.extent, &n) || n != 1 || !kiln_x_is_int(min, &first) ||
        !kiln_c_is_index(p, min))
        return false;
    const size_t n_vars = p->vars.n;
    kiln_c_var v = {.var = s->u.loop.var,
                    .text = kiln_c_index(p, min, NULL),
                    .is_index = true,
                    .is_never_negative = first >= 0};
    kiln_vec_push(p->arena, &p->vars, v);
    kiln_c_stmt(p, s->u.loop.body, is_last);
    p->vars.n = n_vars;
    return true;
}

static void put_for(kiln_c_printer *p, const kiln_stmt *s, bool is_last) {
    if (s->u.loop.kind == KILN_LOOP_THREAD) {
        kiln_c_thread_loop(p, s, is_last);
        return;
    }
    kiln_c_check_together(p, s->u.loop.min);
    kiln_c_check_together(p, s->u.loop.extent);
    const kiln_expr *min = s->u.loop.min, *extent = s->u.loop.extent;
    const bool is_index = s->u.loop.var->dtype == KILN_I64 && kiln_c_is_index(p, min) &&
                          kiln_c_is_index(p, extent);
    const char *type = is_index ? "ptrdiff_t" : kiln_c_type(s->u.loop.var->dtype);
    int64_t first = -1, n = 0;
    if (put_once(p, s, is_last))
        return;
    const bool is_known = kiln_x_is_int(min, &first) && kiln_x_is_int(extent, &n);
    const kiln_c_text begin =
        is_index ? kiln_c_index(p, min, NULL) : kiln_c_expr(p, min, NULL);
    const kiln_c_text count =
        is_index ? kiln_c_index(p, extent, NULL) : kiln_c_expr(p, extent, NULL);
    const char *name = kiln_c_name(p, s->u.loop.var->name);
    const char *end = NULL;
    if (is_known)
        end = kiln_format(p->arena, "%" PRId64, first + n);
    else {
        end = kiln_c_name(p, kiln_format(p->arena, "%s_end", name));
        kiln_c_line(p, "const %s %s = (%s)(%s + %s);", type, end, type, begin.text,
                    kiln_c_in(p, count, KILN_C_PRODUCT));
    }
    kiln_c_line(p, "for (%s %s = %s; %s < %s; %s++) {", type, name, begin.text, name,
                end, name);
    const kiln_c_block b = kiln_c_open(p);
    const kiln_c_var v = {.var = s->u.loop.var,
                          .text = {.text = name, .binds = KILN_C_PRIMARY},
                          .is_index = is_index,
                          .is_never_negative = is_known && first >= 0};
    kiln_vec_push(p->arena, &p->vars, v);
    kiln_c_stmt(p, s->u.loop.body, true);
    kiln_c_close(p, b);
}

static void put_if(kiln_c_printer *p, const kiln_stmt *s) {
    kiln_c_check_together(p, s->u.branch.cond);
    kiln_c_prepare(p, s->u.branch.cond);
    kiln_c_line(p, "if (%s) {", kiln_c_expr(p, s->u.branch.cond, NULL).text);
    const kiln_c_block b = kiln_c_open(p);
    kiln_c_stmt(p, s->u.branch.then, true);
    kiln_c_close(p, b);
    if (s->u.branch.otherwise == NULL)
        return;
    kiln_c_line(p, "else {");
    const kiln_c_block other = kiln_c_open(p);
    kiln_c_stmt(p, s->u.branch.otherwise, true);
    kiln_c_close(p, other);
}

typedef struct using {
    const kiln_var *var;
    bool found;
}
using;

static void find_use(void *user, const kiln_expr *e) {
    using *u = user;
    u->found = u->found || kiln_expr_uses(e, u->var);
}

static void find_uses(void *user, const kiln_stmt *s) {
    kiln_stmt_exprs(s, find_use, user);
}

static void put_let(kiln_c_printer *p, const kiln_stmt *s, bool is_last) {
    kiln_c_check_together(p, s->u.let.value);
    using u = {s->u.let.var, false};
    kiln_stmt_visit(s->u.let.body, find_uses, &u);
    kiln_c_prepare(p, s->u.let.value);
    kiln_c_declare(p, s->u.let.var, s->u.let.value, NULL, u.found);
    kiln_c_stmt(p, s->u.let.body, is_last);
}

/* Whatever else has an effect was refused before. */
static void put_eval(kiln_c_printer *p, const kiln_expr *e) {
    KILN_ASSERT(e->kind == KILN_EXPR_CALL && e->u.intrin == KILN_INTRIN_prefetch,
                "'%s' holds a statement that is not printed", p->p->name);
    const kiln_expr *load = e->arg[0];
    if (load->kind != KILN_EXPR_LOAD || load->lanes != 1) {
        kiln_c_fail(p, KILN_ERR_ARG, "prefetch takes a load of one element");
        return;
    }
    const char *f = kiln_c_helper(p, "prefetch", KILN_I32);
    if (p->extent != NULL && load->u.load.buffer->scope != KILN_SCOPE_GLOBAL)
        return; /* it is near already */
    if (p->extent != NULL)
        f = "prefetch_global";
    kiln_c_line(p, "%s(&%s);", f,
                kiln_c_element(p, load->u.load.buffer, load->arg, NULL).text);
}

/* An array lives as long as its block, which is its own unless it ends with it. */
static void put_scoped(kiln_c_printer *p, const kiln_stmt *s, bool is_last) {
    kiln_c_block b = {0};
    if (!is_last) {
        kiln_c_line(p, "{");
        b = kiln_c_open(p);
    }
    put_alloc(p, s);
    if (!is_last)
        kiln_c_close(p, b);
}

void kiln_c_stmt(kiln_c_printer *p, const kiln_stmt *s, bool is_last) {
    if (p->status != KILN_OK || kiln_c_alone(p, s))
        return;
    switch (s->kind) {
    case KILN_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            kiln_c_stmt(p, s->u.seq.stmt[i], is_last && i + 1 == s->u.seq.n);
        break;
    case KILN_STMT_FOR:
        put_for(p, s, is_last);
        break;
    case KILN_STMT_IF:
        put_if(p, s);
        break;
    case KILN_STMT_LET:
        put_let(p, s, is_last);
        break;
    case KILN_STMT_ALLOC:
        put_scoped(p, s, is_last);
        break;
    case KILN_STMT_STORE:
        put_store(p, s);
        break;
    case KILN_STMT_EVAL:
        put_eval(p, s->u.eval);
        break;
    case KILN_STMT_ATTR:
        kiln_c_stmt(p, s->u.attr.body, is_last);
        break;
    case KILN_STMT_BARRIER:
        kiln_c_barrier(p, s);
        break;
    case KILN_STMT_LAUNCH:
        kiln_c_fail(p, KILN_ERR_UNSUPPORTED,
                    "'%s' launches '%s' from a device; let the host launch it",
                    p->p->name, s->u.call.program->name);
        break;
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
        KILN_ASSERT(false, "kiln_backend_check refuses calls and copies");
        break;
    }
}
