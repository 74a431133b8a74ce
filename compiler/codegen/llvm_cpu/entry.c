/* A network as one function: its steps in order, each a call of a kernel by the ABI of
 * runtime/kernel.h. Arguments and context are on its stack, parameters are a constant of
 * the object, and all other memory is the caller's. Bytes are moved by a loop of its own,
 * so that nothing is imported. */
#include "compiler/codegen/llvm_cpu/cpu.h"

enum { ALIGN = 64 };

/* A block that is open: where it goes on, and what it counts by. */
typedef struct block {
    LLVMBasicBlockRef head, otherwise, after; /* head: of a loop, NULL: an if */
    LLVMValueRef turn;                        /* of a loop */
    uint64_t count;
} block;

typedef struct entry {
    kiln_cg *g;
    const kiln_entry *e;
    LLVMValueRef params, work, table, args, ctx, serial, copy;
    LLVMTypeRef kernel_type;
    LLVMBasicBlockRef failed;
    KILN_VEC(block) block;
} entry;

static LLVMValueRef number(const kiln_cg *g, uint64_t v) {
    return LLVMConstInt(g->i64, v, false);
}

static LLVMTypeRef function_type(const kiln_cg *g, LLVMTypeRef result, unsigned n_ptr,
                                 unsigned n_i64) {
    LLVMTypeRef *t = kiln_array(g->arena, LLVMTypeRef, n_ptr + n_i64 + 1);
    for (unsigned i = 0; i < n_ptr + n_i64; i++)
        t[i] = i < n_ptr ? g->ptr : g->i64;
    return LLVMFunctionType(result, t, n_ptr + n_i64, false);
}

static LLVMValueRef begin(kiln_cg *g, const char *name, LLVMTypeRef type,
                          LLVMLinkage linkage) {
    const LLVMValueRef fn = LLVMAddFunction(g->module, name, type);
    LLVMSetLinkage(fn, linkage);
    g->kind->attributes(g, fn);
    g->now = (kiln_cg_fn){.fn = fn};
    g->now.entry = kiln_cg_block(g);
    LLVMPositionBuilderAtEnd(g->b, g->now.entry);
    return fn;
}

/* All of a parallel loop by the calling thread: kiln_ctx.parallel_for. */
static LLVMValueRef emit_serial(kiln_cg *g) {
    const LLVMValueRef fn =
        begin(g, "serial", function_type(g, g->i32, 4, 1), LLVMInternalLinkage);
    LLVMTypeRef part[6] = {g->ptr, g->ptr, g->ptr, g->i64, g->i64, g->ptr};
    LLVMValueRef arg[6] = {
        LLVMGetParam(fn, 2), LLVMGetParam(fn, 0),
        LLVMGetParam(fn, 3), number(g, 0),
        LLVMGetParam(fn, 4), kiln_cg_pointer_at(g, LLVMGetParam(fn, 0), g->word)};
    LLVMBuildRet(g->b, LLVMBuildCall2(g->b, LLVMFunctionType(g->i32, part, 6, false),
                                      LLVMGetParam(fn, 1), arg, 6, ""));
    return fn;
}

/* for (i = 0; i < n; i += step): an element from `from` to `to`. Ends behind it. */
static void emit_moves(kiln_cg *g, LLVMValueRef from, LLVMValueRef n, LLVMTypeRef t,
                       uint64_t step) {
    const LLVMValueRef fn = g->now.fn;
    const LLVMBasicBlockRef body = kiln_cg_block(g), after = kiln_cg_block(g);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntULT, from, n, ""), body, after);
    LLVMPositionBuilderAtEnd(g->b, body);
    const LLVMValueRef i = LLVMBuildPhi(g->b, g->i64, "");
    LLVMAddIncoming(i, &from, &before, 1);
    LLVMValueRef at = i;
    const LLVMValueRef source =
        LLVMBuildGEP2(g->b, g->i8, LLVMGetParam(fn, 1), &at, 1, "");
    const LLVMValueRef target =
        LLVMBuildGEP2(g->b, g->i8, LLVMGetParam(fn, 0), &at, 1, "");
    const LLVMValueRef v = LLVMBuildLoad2(g->b, t, source, "");
    LLVMSetAlignment(v, 1);
    LLVMSetAlignment(LLVMBuildStore(g->b, v, target), 1);
    LLVMValueRef next = LLVMBuildAdd(g->b, i, number(g, step), "");
    LLVMAddIncoming(i, &next, &(LLVMBasicBlockRef){body}, 1);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntULT, next, n, ""), body, after);
    LLVMPositionBuilderAtEnd(g->b, after);
}

/* copy(to, from, bytes): words, then bytes. Both may be the same, else they are apart. */
static LLVMValueRef emit_copy(kiln_cg *g) {
    enum { WORD = 8 };
    const LLVMValueRef fn =
        begin(g, "copy", function_type(g, LLVMVoidTypeInContext(g->cx), 2, 1),
              LLVMInternalLinkage);
    const LLVMValueRef n = LLVMGetParam(fn, 2);
    const LLVMValueRef words =
        LLVMBuildAnd(g->b, n, number(g, ~(uint64_t)(WORD - 1)), "");
    emit_moves(g, number(g, 0), words, g->i64, WORD);
    emit_moves(g, words, n, g->i8, 1);
    LLVMBuildRetVoid(g->b);
    return fn;
}

static LLVMValueRef emit_params(const entry *x) {
    kiln_cg *g = x->g;
    const kiln_str bytes = x->e->params;
    const LLVMValueRef v =
        LLVMConstStringInContext2(g->cx, bytes.n > 0 ? bytes.p : "", bytes.n, true);
    const LLVMValueRef global = LLVMAddGlobal(g->module, LLVMTypeOf(v), "parameters");
    LLVMSetInitializer(global, v);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetAlignment(global, ALIGN);
    return global;
}

static LLVMValueRef place_of(const entry *x, const kiln_entry_place *p) {
    kiln_cg *g = x->g;
    switch (p->base) {
    case KILN_ENTRY_BASE_PORT:
        return kiln_cg_field(g, LLVMGetParam(g->now.fn, p->port), (int64_t)p->at);
    case KILN_ENTRY_BASE_PARAMS:
        return kiln_cg_field(g, x->params, (int64_t)p->at);
    case KILN_ENTRY_BASE_WORK:
        break;
    }
    return kiln_cg_field(g, x->work, (int64_t)p->at);
}

static LLVMValueRef kernel_of(const entry *x, const char *symbol) {
    const LLVMValueRef found = LLVMGetNamedFunction(x->g->module, symbol);
    if (found != NULL)
        return found;
    const LLVMValueRef fn = LLVMAddFunction(x->g->module, symbol, x->kernel_type);
    LLVMSetVisibility(fn, LLVMHiddenVisibility);
    return fn;
}

static void leave_unless(const entry *x, LLVMValueRef good) {
    const LLVMBasicBlockRef next = kiln_cg_block(x->g);
    LLVMBuildCondBr(x->g->b, good, next, x->failed);
    LLVMPositionBuilderAtEnd(x->g->b, next);
}

static void put_call(const entry *x, const kiln_entry_step *s) {
    kiln_cg *g = x->g;
    LLVMValueRef arg[2] = {x->args, x->ctx};
    for (int i = 0; i < s->n_operands; i++)
        LLVMBuildStore(g->b, place_of(x, &s->operand[i]),
                       kiln_cg_field(g, x->table, (int64_t)i * g->word));
    const LLVMValueRef code =
        LLVMBuildCall2(g->b, x->kernel_type, kernel_of(x, s->symbol), arg, 2, "");
    leave_unless(x, LLVMBuildICmp(g->b, LLVMIntEQ, code, LLVMConstNull(g->i32), ""));
}

static LLVMValueRef turned(const entry *x, LLVMValueRef base, uint64_t bytes) {
    kiln_cg *g = x->g;
    const LLVMValueRef turn =
        LLVMBuildLoad2(g->b, g->i64, x->block.v[x->block.n - 1].turn, "");
    LLVMValueRef at = LLVMBuildMul(g->b, turn, number(g, bytes), "");
    return LLVMBuildGEP2(g->b, g->i8, base, &at, 1, "");
}

/* The innermost loop: blocks of ifs in it share its turn. */
static void put_copy(const entry *x, const kiln_entry_step *s) {
    kiln_cg *g = x->g;
    LLVMValueRef arg[3] = {place_of(x, &s->operand[1]), place_of(x, &s->operand[0]),
                           number(g, s->bytes)};
    if (s->kind == KILN_ENTRY_STEP_TAKE)
        arg[1] = turned(x, arg[1], s->bytes);
    if (s->kind == KILN_ENTRY_STEP_PUT)
        arg[0] = turned(x, arg[0], s->bytes);
    LLVMBuildCall2(g->b, LLVMGlobalGetValueType(x->copy), x->copy, arg, 3, "");
}

static void put_if(entry *x, const kiln_entry_step *s) {
    kiln_cg *g = x->g;
    const LLVMValueRef around = x->block.n > 0 ? x->block.v[x->block.n - 1].turn : NULL;
    const block b = {
        .otherwise = kiln_cg_block(g), .after = kiln_cg_block(g), .turn = around};
    const LLVMBasicBlockRef then = kiln_cg_block(g);
    const LLVMValueRef c = LLVMBuildLoad2(g->b, g->i8, place_of(x, &s->operand[0]), "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, c, LLVMConstNull(g->i8), ""),
                    then, b.otherwise);
    LLVMPositionBuilderAtEnd(g->b, then);
    kiln_vec_push(g->arena, &x->block, b);
}

static void put_else(entry *x) {
    block *b = &x->block.v[x->block.n - 1];
    LLVMBuildBr(x->g->b, b->after);
    LLVMPositionBuilderAtEnd(x->g->b, b->otherwise);
    b->otherwise = NULL;
}

static void put_loop(entry *x, const kiln_entry_step *s) {
    kiln_cg *g = x->g;
    const block b = {.head = kiln_cg_block(g),
                     .after = kiln_cg_block(g),
                     .turn = kiln_cg_local(g, g->i64, 8),
                     .count = s->count};
    const LLVMBasicBlockRef body = kiln_cg_block(g);
    LLVMBuildStore(g->b, number(g, 0), b.turn);
    LLVMBuildBr(g->b, b.head);
    LLVMPositionBuilderAtEnd(g->b, b.head);
    const LLVMValueRef turn = LLVMBuildLoad2(g->b, g->i64, b.turn, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntULT, turn, number(g, b.count), ""),
                    body, b.after);
    LLVMPositionBuilderAtEnd(g->b, body);
    kiln_vec_push(g->arena, &x->block, b);
}

static void put_end(entry *x) {
    kiln_cg *g = x->g;
    const block b = x->block.v[--x->block.n];
    if (b.head != NULL) {
        const LLVMValueRef turn = LLVMBuildLoad2(g->b, g->i64, b.turn, "");
        LLVMBuildStore(g->b, LLVMBuildAdd(g->b, turn, number(g, 1), ""), b.turn);
    }
    LLVMBuildBr(g->b, b.head != NULL ? b.head : b.after);
    if (b.otherwise != NULL) { /* an if without an else */
        LLVMPositionBuilderAtEnd(g->b, b.otherwise);
        LLVMBuildBr(g->b, b.after);
    }
    LLVMPositionBuilderAtEnd(g->b, b.after);
}

static void put_step(entry *x, const kiln_entry_step *s) {
    switch (s->kind) {
    case KILN_ENTRY_STEP_CALL:
        put_call(x, s);
        break;
    case KILN_ENTRY_STEP_COPY:
    case KILN_ENTRY_STEP_TAKE:
    case KILN_ENTRY_STEP_PUT:
        put_copy(x, s);
        break;
    case KILN_ENTRY_STEP_IF:
        put_if(x, s);
        break;
    case KILN_ENTRY_STEP_ELSE:
        put_else(x);
        break;
    case KILN_ENTRY_STEP_LOOP:
        put_loop(x, s);
        break;
    case KILN_ENTRY_STEP_END:
        put_end(x);
        break;
    }
}

/* Kernels count on what they are given being aligned. */
static void check_alignment(const entry *x) {
    kiln_cg *g = x->g;
    LLVMValueRef bits = number(g, 0);
    for (int i = 0; i <= x->e->n_ports; i++)
        bits = LLVMBuildOr(
            g->b, bits,
            LLVMBuildPtrToInt(g->b, LLVMGetParam(g->now.fn, (unsigned)i), g->i64, ""),
            "");
    bits = LLVMBuildAnd(g->b, bits, number(g, ALIGN - 1), "");
    leave_unless(x, LLVMBuildICmp(g->b, LLVMIntEQ, bits, number(g, 0), ""));
}

/* kiln_args and kiln_ctx, for all calls. */
static void put_context(entry *x) {
    kiln_cg *g = x->g;
    const LLVMTypeRef two = LLVMArrayType2(g->ptr, 2);
    const LLVMTypeRef four = LLVMArrayType2(g->ptr, 4);
    uint64_t most = 1;
    for (size_t i = 0; i < x->e->n_steps; i++)
        if ((uint64_t)x->e->step[i].n_operands > most)
            most = (uint64_t)x->e->step[i].n_operands;
    x->table = kiln_cg_local(g, LLVMArrayType2(g->ptr, most), g->word);
    x->args = kiln_cg_local(g, two, g->word);
    x->ctx = kiln_cg_local(g, four, g->word);
    LLVMBuildStore(g->b, x->table, x->args);
    LLVMBuildStore(g->b, kiln_cg_field(g, x->work, (int64_t)x->e->workspace_at),
                   kiln_cg_field(g, x->args, g->word));
    LLVMBuildStore(g->b, x->serial, x->ctx);
    LLVMBuildStore(g->b, kiln_cg_field(g, x->work, (int64_t)x->e->scratch_at),
                   kiln_cg_field(g, x->ctx, g->word));
    LLVMBuildStore(g->b, LLVMConstInt(g->i32, 1, false), /* n_threads */
                   kiln_cg_field(g, x->ctx, 2 * (int64_t)g->word));
}

static void emit_run(entry *x) {
    kiln_cg *g = x->g;
    const unsigned n = (unsigned)x->e->n_ports;
    x->params = emit_params(x);
    x->serial = emit_serial(g);
    x->copy = emit_copy(g);
    x->kernel_type = function_type(g, g->i32, 2, 0);
    const LLVMValueRef fn =
        begin(g, x->e->name, function_type(g, g->i32, n + 1, 0), LLVMExternalLinkage);
    x->failed = kiln_cg_block(g);
    const LLVMBasicBlockRef start = kiln_cg_block(g);
    LLVMPositionBuilderAtEnd(g->b, start);
    x->work = LLVMGetParam(fn, n);
    check_alignment(x);
    put_context(x);
    for (size_t i = 0; i < x->e->n_steps; i++)
        put_step(x, &x->e->step[i]);
    LLVMBuildRet(g->b, LLVMConstNull(g->i32));
    LLVMPositionBuilderAtEnd(g->b, x->failed);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 1, false));
    LLVMPositionBuilderAtEnd(g->b, g->now.entry);
    LLVMBuildBr(g->b, start);
}

kiln_status kiln_cg_entry(kiln_arena *a, const kiln_entry *e, const kiln_profile *p,
                          kiln_str *object, kiln_err *err) {
    kiln_cg_session s = {
        .g = {.kind = &kiln_cg_cpu, .arena = a, .profile = p, .err = err}};
    entry x = {.g = &s.g, .e = e};
    kiln_status st = kiln_cg_check_symbol(e->name, err);
    if (st != KILN_OK)
        return st;
    st = kiln_cg_open(&s, e->name);
    if (st == KILN_OK) {
        emit_run(&x);
        st = kiln_cg_optimise(&s);
    }
    if (st == KILN_OK)
        st = kiln_cg_machine_code(&s, s.g.module, LLVMObjectFile, object);
    kiln_cg_close(&s);
    return st;
}
