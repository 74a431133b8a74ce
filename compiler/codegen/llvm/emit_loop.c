/* Loops and tables in expressions. */
#include "compiler/codegen/llvm/emit.h"

/* ---- loops ----------------------------------------------------------------------- */

typedef struct turning {
    kiln_cg *g;
    const kiln_expr *e;
    kiln_loop_parts p;
    LLVMValueRef mask;
    size_t n_vars; /* that are known outside */
} turning;

/* What all lanes share is computed whatever the mask says. */
static LLVMValueRef part(const turning *t, const kiln_expr *x) {
    return kiln_cg_expr(t->g, x, x->lanes == t->e->lanes ? t->mask : NULL);
}

static void bind_state(const turning *t, const LLVMValueRef *state) {
    t->g->vars.n = t->n_vars;
    for (int i = 0; i < t->p.turns.n_state; i++)
        kiln_cg_bind(t->g, t->p.turns.state[i], state[i]);
}

/* Lanes that are off do not go on. */
static LLVMValueRef goes_on(const turning *t) {
    LLVMValueRef c = part(t, t->p.cond);
    if (t->p.cond->lanes == t->e->lanes)
        c = kiln_cg_and_mask(t->g, t->mask, c);
    return kiln_cg_any_lane(t->g, c);
}

static void one_turn(const turning *t, LLVMValueRef *state) {
    for (int i = 0; i < t->p.turns.n_local; i++)
        kiln_cg_bind(t->g, t->p.turns.local[i], part(t, t->p.local[i]));
    for (int i = 0; i < t->p.turns.n_state; i++)
        state[i] = part(t, t->p.next[i]);
}

/* Where two ways meet: of each value, what it is on the first. */
static void meet(const kiln_cg *g, const LLVMValueRef *first, int n,
                 LLVMBasicBlockRef from, LLVMValueRef *phi) {
    for (int i = 0; i < n; i++) {
        LLVMValueRef v = first[i];
        phi[i] = LLVMBuildPhi(g->b, LLVMTypeOf(v), "");
        LLVMAddIncoming(phi[i], &v, &from, 1);
    }
}

static void arrive(LLVMValueRef *phi, const LLVMValueRef *value, int n,
                   LLVMBasicBlockRef from) {
    for (int i = 0; i < n; i++) {
        LLVMValueRef v = value[i];
        LLVMAddIncoming(phi[i], &v, &from, 1);
    }
}

/* The test stands before the loop and at its end: what does not change in it leaves it
 * only where a turn is taken. */
LLVMValueRef kiln_cg_loop(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    const turning t = {g, e, kiln_x_loop_parts(e), mask, g->vars.n};
    const int n = t.p.turns.n_state;
    LLVMValueRef *init = kiln_array(g->arena, LLVMValueRef, n);
    LLVMValueRef *phi = kiln_array(g->arena, LLVMValueRef, n);
    LLVMValueRef *next = kiln_array(g->arena, LLVMValueRef, n);
    LLVMValueRef *last = kiln_array(g->arena, LLVMValueRef, n);
    for (int i = 0; i < n; i++)
        init[i] = part(&t, t.p.init[i]);
    bind_state(&t, init);
    const LLVMValueRef begins = goes_on(&t);
    const LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    const LLVMBasicBlockRef body = kiln_cg_block(g), done = kiln_cg_block(g);
    LLVMBuildCondBr(g->b, begins, body, done);
    LLVMPositionBuilderAtEnd(g->b, done);
    meet(g, init, n, before, last);
    LLVMPositionBuilderAtEnd(g->b, body);
    meet(g, init, n, before, phi);
    bind_state(&t, phi);
    one_turn(&t, next);
    bind_state(&t, next);
    const LLVMValueRef again = goes_on(&t);
    const LLVMBasicBlockRef end = LLVMGetInsertBlock(g->b);
    LLVMBuildCondBr(g->b, again, body, done);
    arrive(phi, next, n, end);
    arrive(last, next, n, end);
    LLVMPositionBuilderAtEnd(g->b, done);
    bind_state(&t, last);
    const LLVMValueRef v = kiln_cg_expr(g, t.p.value, mask);
    g->vars.n = t.n_vars;
    return v;
}

/* ---- tables ---------------------------------------------------------------------- */

/* One constant for each table, however often it is used. */
static LLVMValueRef constant(kiln_cg *g, const kiln_table *t) {
    for (size_t i = 0; i < g->tables.n; i++)
        if (g->tables.v[i].table == t)
            return g->tables.v[i].constant;
    const LLVMTypeRef elem = kiln_cg_value_type(g, t->dtype);
    const LLVMTypeRef type = LLVMArrayType2(elem, (uint64_t)t->n);
    LLVMValueRef *v = kiln_array(g->arena, LLVMValueRef, t->n);
    for (int i = 0; i < t->n; i++)
        v[i] = LLVMConstInt(elem, (unsigned long long)t->v[i], true);
    const char *prefix = g->prefix != NULL ? g->prefix : g->kind->prefix;
    const LLVMValueRef c = LLVMAddGlobalInAddressSpace(
        g->module, type, kiln_format(g->arena, "%stable%zu", prefix, g->tables.n),
        g->kind->constants);
    LLVMSetInitializer(c, LLVMConstArray2(elem, v, (uint64_t)t->n));
    LLVMSetGlobalConstant(c, true);
    LLVMSetLinkage(c, LLVMInternalLinkage);
    kiln_vec_push(g->arena, &g->tables, ((kiln_cg_table){t, c}));
    return c;
}

/* Lane by lane. */
LLVMValueRef kiln_cg_table_at(kiln_cg *g, const kiln_expr *e) {
    const LLVMValueRef table = constant(g, e->u.table);
    const LLVMTypeRef elem = kiln_cg_value_type(g, e->dtype);
    const LLVMValueRef index = kiln_cg_expr(g, e->arg[0], NULL);
    LLVMValueRef v = LLVMGetPoison(kiln_cg_vector(elem, e->lanes));
    for (int i = 0; i < e->lanes; i++) {
        const LLVMValueRef lane = LLVMConstInt(g->i32, (unsigned)i, false);
        LLVMValueRef at =
            e->lanes == 1 ? index : LLVMBuildExtractElement(g->b, index, lane, "");
        const LLVMValueRef p = LLVMBuildGEP2(g->b, elem, table, &at, 1, "");
        const LLVMValueRef c = LLVMBuildLoad2(g->b, elem, p, "");
        v = e->lanes == 1 ? c : LLVMBuildInsertElement(g->b, v, c, lane, "");
    }
    return v;
}
