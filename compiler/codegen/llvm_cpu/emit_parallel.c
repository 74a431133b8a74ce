/* A parallel loop becomes a function of its own, called through ctx->parallel_for. What
 * its body uses of the function around it travels in a closure on that function's
 * stack: one slot of eight bytes a variable or pointer. */
#include "compiler/codegen/llvm_cpu/cpu.h"
#include "base/fault.h"

enum { SLOT = 8 };

typedef struct use {
    kiln_cg *g;
} use;

static void use_buffer(kiln_cg *g, const kiln_buffer *b) {
    for (size_t i = g->mem.n; i-- > 0;) {
        if (g->mem.v[i].buffer == b) {
            g->mem.v[i].is_captured = true;
            return;
        }
    }
}

static void use_expr(void *user, const kiln_expr *e) {
    kiln_cg *g = ((use *)user)->g;
    if (e->kind == KILN_EXPR_LOAD) {
        use_buffer(g, e->u.load.buffer);
        if (e->u.load.mask != NULL)
            kiln_expr_visit(e->u.load.mask, use_expr, user);
    }
    if (e->kind != KILN_EXPR_VAR)
        return;
    for (size_t i = g->vars.n; i-- > 0;) {
        if (g->vars.v[i].var == e->u.var) {
            g->vars.v[i].is_captured = true;
            return;
        }
    }
}

static void use_all(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, use_expr, user);
}

static void use_stmt(void *user, const kiln_stmt *s) {
    use *u = user;
    if (s->kind == KILN_STMT_STORE)
        use_buffer(u->g, s->u.store.buffer);
    kiln_stmt_exprs(s, use_all, user);
}

/* The slots: captured variables, then captured buffers that the program's arguments do
 * not lead to. Stores them (closure of the function around) or loads them (in the
 * body's function). */
static void pass_slots(kiln_cg *g, LLVMValueRef closure, bool is_body) {
    int64_t at = 0;
    for (size_t i = 0; i < g->vars.n; i++) {
        kiln_cg_var *v = &g->vars.v[i];
        if (!v->is_captured)
            continue;
        const LLVMValueRef slot = kiln_cg_field(g, closure, at);
        if (is_body)
            v->value = LLVMBuildLoad2(g->b, LLVMTypeOf(v->value), slot, "");
        else
            LLVMBuildStore(g->b, v->value, slot);
        at += SLOT;
    }
    for (size_t i = 0; i < g->mem.n; i++) {
        kiln_cg_mem *m = &g->mem.v[i];
        if (!m->is_captured)
            continue;
        if (m->place == KILN_CG_ARG) {
            if (is_body)
                m->base = kiln_cg_tensor_pointer(g, m->buffer->arg);
            continue;
        }
        const LLVMValueRef slot = kiln_cg_field(g, closure, at);
        if (is_body)
            m->base = LLVMBuildLoad2(g->b, g->ptr, slot, "");
        else
            LLVMBuildStore(g->b, m->base, slot);
        at += SLOT;
    }
}

static LLVMValueRef declare_body(kiln_cg *g, LLVMTypeRef *type) {
    LLVMTypeRef param[6] = {g->ptr, g->ptr, g->ptr, g->i64, g->i64, g->ptr};
    char *name = kiln_format(g->arena, "%s.parallel%d", g->p->name, g->n_parallel++);
    *type = LLVMFunctionType(g->i32, param, 6, false);
    const LLVMValueRef fn = LLVMAddFunction(g->module, name, *type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    g->kind->attributes(g, fn);
    return fn;
}

/* begin <= i < end as the iteration that is done then: begin + end - 1 - i where the turn
 * is odd (KILN_STMT_ATTR_SWING). */
static LLVMValueRef swung(kiln_cg *g, LLVMValueRef turn, LLVMValueRef i) {
    if (turn == NULL)
        return i;
    const LLVMValueRef fn = g->now.fn, one = LLVMConstInt(g->i64, 1, false);
    const LLVMValueRef both =
        LLVMBuildAdd(g->b, LLVMGetParam(fn, 3), LLVMGetParam(fn, 4), "");
    const LLVMValueRef back =
        LLVMBuildSub(g->b, LLVMBuildSub(g->b, both, one, ""), i, "");
    const LLVMValueRef odd =
        LLVMBuildAnd(g->b, turn, LLVMConstInt(LLVMTypeOf(turn), 1, false), "");
    const LLVMValueRef is_odd =
        LLVMBuildICmp(g->b, LLVMIntNE, odd, LLVMConstNull(LLVMTypeOf(turn)), "");
    return LLVMBuildSelect(g->b, is_odd, back, i, "");
}

/* for i in [min + begin, min + end): the body, in its own function; `swing` is the
 * attribute around it, or NULL. */
static void emit_body(kiln_cg *g, LLVMValueRef fn, const kiln_stmt *loop,
                      const kiln_stmt *swing) {
    const LLVMBasicBlockRef around = LLVMGetInsertBlock(g->b);
    const kiln_cg_fn outer = g->now;
    const size_t stack = g->stack, n_vars = g->vars.n, n_mem = g->mem.n;
    kiln_cg_var *vars = kiln_arena_dup(g->arena, g->vars.v, n_vars * sizeof *vars);
    kiln_cg_mem *mem = kiln_arena_dup(g->arena, g->mem.v, n_mem * sizeof *mem);
    g->now = (kiln_cg_fn){.fn = fn,
                          .args = LLVMGetParam(fn, 0),
                          .ctx = LLVMGetParam(fn, 1),
                          .scratch = LLVMGetParam(fn, 5),
                          .is_parallel_body = true};
    g->stack = 0;
    g->now.entry = kiln_cg_block(g);
    const LLVMBasicBlockRef start = kiln_cg_block(g), exit = kiln_cg_block(g);
    LLVMPositionBuilderAtEnd(g->b, start);
    pass_slots(g, LLVMGetParam(fn, 2), true);
    const LLVMValueRef min = kiln_cg_expr(g, loop->u.loop.min, NULL);
    const LLVMValueRef turn =
        swing != NULL ? kiln_cg_expr(g, swing->u.attr.value, NULL) : NULL;
    const LLVMValueRef end = LLVMGetParam(fn, 4);
    LLVMValueRef begin = LLVMGetParam(fn, 3);
    const LLVMBasicBlockRef body = kiln_cg_block(g);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, begin, end, ""), body, exit);
    LLVMPositionBuilderAtEnd(g->b, body);
    const LLVMValueRef i = LLVMBuildPhi(g->b, g->i64, "");
    LLVMAddIncoming(i, &begin, &from, 1);
    kiln_cg_bind_within(g, loop->u.loop.var,
                        LLVMBuildAdd(g->b, min, swung(g, turn, i), ""),
                        kiln_cg_turns(g, loop));
    kiln_cg_stmt(g, loop->u.loop.body);
    LLVMValueRef next = LLVMBuildNSWAdd(g->b, i, LLVMConstInt(g->i64, 1, false), "");
    from = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, next, end, ""), body, exit);
    LLVMAddIncoming(i, &next, &from, 1);
    LLVMPositionBuilderAtEnd(g->b, exit);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, false));
    LLVMPositionBuilderAtEnd(g->b, g->now.entry);
    LLVMBuildBr(g->b, start);
    g->now = outer;
    g->stack = stack;
    for (size_t k = 0; k < n_vars; k++)
        g->vars.v[k] = vars[k];
    for (size_t k = 0; k < n_mem; k++)
        g->mem.v[k] = mem[k];
    g->vars.n = n_vars;
    g->mem.n = n_mem;
    LLVMPositionBuilderAtEnd(g->b, around);
}

bool kiln_cg_parallel(kiln_cg *g, const kiln_stmt *s) {
    const bool is_swung = s->kind == KILN_STMT_ATTR &&
                          s->u.attr.key == KILN_STMT_ATTR_SWING &&
                          s->u.attr.value != NULL;
    const kiln_stmt *loop = is_swung ? s->u.attr.body : s;
    if (loop->kind != KILN_STMT_FOR || loop->u.loop.kind != KILN_LOOP_PARALLEL ||
        g->now.is_parallel_body)
        return false;
    use u = {g};
    LLVMTypeRef type;
    size_t n_slots = 1; /* an empty array has no address */
    if (loop->u.loop.var->dtype != KILN_I64) {
        kiln_cg_fail(g, KILN_ERR_ARG,
                     "the variable '%s' of a parallel loop must be i64",
                     loop->u.loop.var->name);
        return true;
    }
    kiln_stmt_visit(s, use_stmt, &u);
    for (size_t i = 0; i < g->vars.n; i++)
        n_slots += g->vars.v[i].is_captured;
    for (size_t i = 0; i < g->mem.n; i++)
        n_slots += g->mem.v[i].is_captured;
    const LLVMValueRef closure =
        kiln_cg_local(g, LLVMArrayType2(g->i64, n_slots), SLOT);
    const LLVMValueRef fn = declare_body(g, &type);
    pass_slots(g, closure, false);
    LLVMValueRef n = kiln_cg_expr(g, loop->u.loop.extent, NULL);
    if (KILN_FAULT(parallel_last))
        n = LLVMBuildSub(g->b, n, kiln_cg_int(g, g->i64, 1, 1), "");
    emit_body(g, fn, loop, is_swung ? s : NULL);
    for (size_t i = 0; i < g->vars.n; i++)
        g->vars.v[i].is_captured = false;
    for (size_t i = 0; i < g->mem.n; i++)
        g->mem.v[i].is_captured = false;
    LLVMTypeRef param[5] = {g->ptr, g->ptr, g->ptr, g->ptr, g->i64};
    const LLVMTypeRef parallel_for = LLVMFunctionType(g->i32, param, 5, false);
    const LLVMValueRef callee =
        LLVMBuildLoad2(g->b, g->ptr, kiln_cg_field(g, g->now.ctx, 0), "");
    LLVMValueRef arg[5] = {g->now.ctx, fn, g->now.args, closure, n};
    const LLVMValueRef r = LLVMBuildCall2(g->b, parallel_for, callee, arg, 5, "");
    const LLVMBasicBlockRef failed = kiln_cg_block(g), go_on = kiln_cg_block(g);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, r, LLVMConstNull(g->i32), ""),
                    failed, go_on);
    LLVMPositionBuilderAtEnd(g->b, failed);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 1, false));
    LLVMPositionBuilderAtEnd(g->b, go_on);
    return true;
}
