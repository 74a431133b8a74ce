/* Statements that every machine has. What passes left marked as vectorised or unrolled is
 * a plain loop. */
#include "compiler/codegen/llvm/emit.h"

#include <inttypes.h>
#include <stdio.h>

/* Of a kernel's workspace or a thread's scratch. */
static const int64_t max_memory = (int64_t)1 << 40;

void kiln_cg_bind(kiln_cg *g, const kiln_var *v, LLVMValueRef value) {
    KILN_ASSERT(value != NULL, "variable '%s' has no value", v->name);
    kiln_cg_bind_within(g, v, value, (kiln_interval){INT64_MIN, INT64_MAX});
}

LLVMValueRef kiln_cg_field(kiln_cg *g, LLVMValueRef base, int64_t offset) {
    LLVMValueRef at = kiln_cg_int(g, g->i64, offset, 1);
    return LLVMBuildInBoundsGEP2(g->b, g->i8, base, &at, 1, "");
}

/* ---- alias scopes ---------------------------------------------------------------- */

typedef struct allocated {
    const kiln_buffer **list; /* NULL: counted only */
    size_t n;
} allocated;

static void collect(void *user, const kiln_stmt *s) {
    allocated *all = user;
    if (s->kind != KILN_STMT_ALLOC)
        return;
    if (all->list != NULL)
        all->list[all->n] = s->u.alloc.buffer;
    all->n++;
}

/* Scopes are named by number: a string makes a metadata node its own. */
void kiln_cg_collect_scopes(kiln_cg *g) {
    allocated all = {NULL, 0};
    kiln_stmt_visit(g->p->body, collect, &all);
    const size_t n = all.n + (size_t)g->p->n_args;
    g->scope_buffer = kiln_array(g->arena, const kiln_buffer *, n);
    g->scope_of = kiln_array(g->arena, LLVMMetadataRef, n);
    for (int i = 0; i < g->p->n_args; i++)
        g->scope_buffer[g->n_scopes++] = g->p->arg[i];
    all = (allocated){g->scope_buffer, g->n_scopes};
    kiln_stmt_visit(g->p->body, collect, &all);
    g->n_scopes = all.n;
    LLVMMetadataRef name = LLVMMDStringInContext2(g->cx, "kernel", 6);
    const LLVMMetadataRef domain = LLVMMDNodeInContext2(g->cx, &name, 1);
    for (size_t i = 0; i < n; i++) {
        char text[24];
        const int len = snprintf(text, sizeof text, "%zu", i);
        LLVMMetadataRef part[2] = {LLVMMDStringInContext2(g->cx, text, (size_t)len),
                                   domain};
        g->scope_of[i] = LLVMMDNodeInContext2(g->cx, part, 2);
    }
}

/* With very many buffers the lists would be quadratic; nothing then says that they do
 * not overlap. */
enum { MAX_ALIAS_BUFFERS = 256 };

void kiln_cg_push_memory(kiln_cg *g, kiln_cg_mem m) {
    LLVMMetadataRef others[MAX_ALIAS_BUFFERS], own = NULL;
    size_t n = 0;
    KILN_ASSERT(m.buffer != NULL, "memory of no buffer in '%s'", g->p->name);
    for (size_t i = 0; i < g->n_scopes && g->n_scopes <= MAX_ALIAS_BUFFERS; i++) {
        if (g->scope_buffer[i] == m.buffer)
            own = g->scope_of[i];
        else
            others[n++] = g->scope_of[i];
    }
    if (own != NULL) {
        m.alias_scope =
            LLVMMetadataAsValue(g->cx, LLVMMDNodeInContext2(g->cx, &own, 1));
        if (n > 0)
            m.no_alias =
                LLVMMetadataAsValue(g->cx, LLVMMDNodeInContext2(g->cx, others, n));
    }
    kiln_vec_push(g->arena, &g->mem, m);
}

/* ---- memory ---------------------------------------------------------------------- */

static void emit_alloc(kiln_cg *g, const kiln_stmt *s) {
    const kiln_buffer *b = s->u.alloc.buffer;
    const size_t workspace = g->workspace, scratch = g->scratch;
    const int64_t elems = kiln_buffer_elems(b);
    kiln_cg_mem m;
    if (elems < 0 || elems > max_memory / 8) {
        kiln_cg_fail(g, KILN_ERR_LIMIT,
                     "buffer '%s' must have at most %" PRId64 " elements, has %" PRId64,
                     b->name, max_memory / 8, elems);
        return;
    }
    const size_t bytes = (size_t)elems * kiln_dtype_bytes(b->dtype);
    g->kind->allocate(g, b, bytes, &m);
    if (g->workspace > (size_t)max_memory || g->scratch > (size_t)max_memory)
        kiln_cg_fail(g, KILN_ERR_LIMIT, "the memory of '%s' must stay below %" PRId64,
                     g->p->name, max_memory);
    kiln_cg_push_memory(g, m);
    kiln_cg_stmt(g, s->u.alloc.body);
    KILN_ASSERT(g->mem.n > 0, "more buffers end than begin in '%s'", g->p->name);
    g->mem.n--;
    g->workspace = workspace;
    g->scratch = scratch;
}

/* ---- control --------------------------------------------------------------------- */

static void emit_body(kiln_cg *g, const kiln_stmt *s, LLVMValueRef at) {
    const LLVMTypeRef t = kiln_cg_value_type(g, s->u.loop.var->dtype);
    if (LLVMTypeOf(at) != t)
        at = LLVMBuildSExt(g->b, at, t, "");
    kiln_cg_bind_within(g, s->u.loop.var, at, kiln_cg_turns(g, s));
    kiln_cg_stmt(g, s->u.loop.body);
    g->vars.n--;
}

/* As a number of 32 bits where the loop's bounds are. */
static LLVMValueRef bound(kiln_cg *g, const kiln_expr *e, bool is_narrow) {
    return is_narrow ? kiln_cg_narrow(g, e) : kiln_cg_expr(g, e, NULL);
}

static void emit_for(kiln_cg *g, const kiln_stmt *s) {
    const kiln_expr *extent = s->u.loop.extent;
    int64_t n = 0;
    const bool is_const = kiln_x_is_int(extent, &n);
    if (is_const && n <= 0)
        return;
    if (is_const && n == 1) {
        emit_body(g, s, kiln_cg_expr(g, s->u.loop.min, NULL));
        return;
    }
    const bool is_narrow = kiln_cg_turns(g, s).max < INT32_MAX &&
                           kiln_cg_narrow(g, s->u.loop.min) != NULL &&
                           kiln_cg_narrow(g, extent) != NULL;
    const LLVMTypeRef t =
        is_narrow ? g->i32 : kiln_cg_value_type(g, s->u.loop.var->dtype);
    const LLVMValueRef min = bound(g, s->u.loop.min, is_narrow);
    const LLVMValueRef count = bound(g, extent, is_narrow);
    const LLVMValueRef end = LLVMBuildAdd(g->b, min, count, "");
    const LLVMBasicBlockRef body = kiln_cg_block(g), done = kiln_cg_block(g);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    if (is_const)
        LLVMBuildBr(g->b, body);
    else
        LLVMBuildCondBr(g->b,
                        LLVMBuildICmp(g->b, LLVMIntSGT, count, LLVMConstNull(t), ""),
                        body, done);
    LLVMPositionBuilderAtEnd(g->b, body);
    const LLVMValueRef i = LLVMBuildPhi(g->b, t, "");
    LLVMValueRef start = min;
    LLVMAddIncoming(i, &start, &from, 1);
    emit_body(g, s, i);
    LLVMValueRef next = LLVMBuildNSWAdd(g->b, i, LLVMConstInt(t, 1, false), "");
    from = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, next, end, ""), body, done);
    LLVMAddIncoming(i, &next, &from, 1);
    LLVMPositionBuilderAtEnd(g->b, done);
}

static void emit_if(kiln_cg *g, const kiln_stmt *s) {
    const LLVMValueRef cond = kiln_cg_expr(g, s->u.branch.cond, NULL);
    const bool has_else = s->u.branch.otherwise != NULL;
    const LLVMBasicBlockRef then = kiln_cg_block(g);
    const LLVMBasicBlockRef other = has_else ? kiln_cg_block(g) : NULL;
    const LLVMBasicBlockRef join = kiln_cg_block(g);
    LLVMBuildCondBr(g->b, cond, then, has_else ? other : join);
    LLVMPositionBuilderAtEnd(g->b, then);
    kiln_cg_stmt(g, s->u.branch.then);
    LLVMBuildBr(g->b, join);
    if (has_else) {
        LLVMPositionBuilderAtEnd(g->b, other);
        kiln_cg_stmt(g, s->u.branch.otherwise);
        LLVMBuildBr(g->b, join);
    }
    LLVMPositionBuilderAtEnd(g->b, join);
}

/* Whatever else has an effect was refused before (the table of the kind). */
static void emit_eval(kiln_cg *g, const kiln_expr *e) {
    KILN_ASSERT(e->kind == KILN_EXPR_CALL && e->u.intrin == KILN_INTRIN_prefetch,
                "'%s' holds a statement that is not generated", g->p->name);
    kiln_cg_prefetch(g, e->arg[0]);
}

void kiln_cg_stmt(kiln_cg *g, const kiln_stmt *s) {
    if (g->status != KILN_OK || g->kind->stmt(g, s))
        return;
    switch (s->kind) {
    case KILN_STMT_FOR:
        emit_for(g, s);
        break;
    case KILN_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            kiln_cg_stmt(g, s->u.seq.stmt[i]);
        break;
    case KILN_STMT_IF:
        emit_if(g, s);
        break;
    case KILN_STMT_LET:
        kiln_cg_bind_within(g, s->u.let.var, kiln_cg_expr(g, s->u.let.value, NULL),
                            kiln_cg_range(g, s->u.let.value));
        kiln_cg_stmt(g, s->u.let.body);
        g->vars.n--;
        break;
    case KILN_STMT_ALLOC:
        emit_alloc(g, s);
        break;
    case KILN_STMT_STORE:
        kiln_cg_store(g, s);
        break;
    case KILN_STMT_EVAL:
        emit_eval(g, s->u.eval);
        break;
    case KILN_STMT_ATTR:
        kiln_cg_stmt(g, s->u.attr.body);
        break;
    case KILN_STMT_BARRIER:
    case KILN_STMT_CALL:
    case KILN_STMT_COPY:
    case KILN_STMT_LAUNCH:
        KILN_ASSERT(false,
                    "kiln_backend_check refuses barriers, calls, launches and copies "
                    "of '%s'",
                    g->p->name);
        break;
    }
}
