/* Indexes of 64 bits computed with 32 where they fit: GPUs and CPUs of 32 bits have no
 * multiplier of 64, and a division by a constant takes one. What a variable holds is known from its loop
 * (kiln_cg_bind_within); an operation is narrow where its own value and those of all its
 * parts fit, so nothing overflows and the result is the same number. */
#include "compiler/codegen/llvm/emit.h"

static bool fits(kiln_interval x) { return x.min >= INT32_MIN && x.max <= INT32_MAX; }

/* Whoever leaves a variable's statement drops it from vars alone. */
static kiln_interval range_of(kiln_cg *g, const kiln_expr *e) {
    KILN_ASSERT(g->ranges.stack.n >= g->vars.n, "variables of '%s' have no range",
                g->p->name);
    g->ranges.stack.n = g->vars.n;
    return kiln_interval_of(&g->ranges, e);
}

kiln_interval kiln_cg_range(kiln_cg *g, const kiln_expr *e) {
    return g->is_narrow ? range_of(g, e) : (kiln_interval){INT64_MIN, INT64_MAX};
}

void kiln_cg_bind_within(kiln_cg *g, const kiln_var *v, LLVMValueRef value,
                         kiln_interval range) {
    KILN_ASSERT(range.min <= range.max, "'%s' has no value", v->name);
    if (g->is_narrow) {
        g->ranges.arena = g->arena;
        g->ranges.stack.n = g->vars.n;
        kiln_ranges_push(&g->ranges, v, range.min, range.max);
    }
    kiln_vec_push(g->arena, &g->vars, ((kiln_cg_var){v, value, false}));
}

kiln_interval kiln_cg_turns(kiln_cg *g, const kiln_stmt *loop) {
    const kiln_interval min = kiln_cg_range(g, loop->u.loop.min);
    const kiln_interval n = kiln_cg_range(g, loop->u.loop.extent);
    kiln_interval all = {min.min, INT64_MAX};
    if (n.max < INT32_MAX && min.max < INT32_MAX)
        all.max = min.max + (n.max > 0 ? n.max - 1 : 0);
    return all;
}

/* Of what was made wider, the narrow value that it was. */
static LLVMValueRef truncated(const kiln_cg *g, LLVMValueRef v) {
    const LLVMValueRef is = LLVMIsAInstruction(v);
    if (is != NULL && (LLVMGetInstructionOpcode(is) == LLVMSExt ||
                       LLVMGetInstructionOpcode(is) == LLVMZExt)) {
        const LLVMValueRef x = LLVMGetOperand(is, 0);
        if (LLVMTypeOf(x) == g->i32)
            return x;
    }
    return LLVMBuildTrunc(g->b, v, g->i32, "");
}

/* Rounding down; what is never negative divides as unsigned numbers do. */
static LLVMValueRef divided(kiln_cg *g, const kiln_expr *e, LLVMValueRef x, int32_t d) {
    const bool is_mod = e->kind == KILN_EXPR_FLOORMOD;
    const LLVMValueRef y = kiln_cg_int(g, g->i32, d, 1);
    if (range_of(g, e->arg[0]).min >= 0)
        return is_mod ? LLVMBuildURem(g->b, x, y, "") : LLVMBuildUDiv(g->b, x, y, "");
    const LLVMValueRef zero = LLVMConstNull(g->i32);
    const LLVMValueRef r = LLVMBuildSRem(g->b, x, y, "");
    const LLVMValueRef is_below = LLVMBuildICmp(g->b, LLVMIntSLT, r, zero, "");
    if (is_mod)
        return LLVMBuildSelect(g->b, is_below, LLVMBuildAdd(g->b, r, y, ""), r, "");
    return LLVMBuildAdd(g->b, LLVMBuildSDiv(g->b, x, y, ""),
                        LLVMBuildSExt(g->b, is_below, g->i32, ""), "");
}

static LLVMValueRef binary(kiln_cg *g, const kiln_expr *e) {
    const LLVMValueRef x = kiln_cg_narrow(g, e->arg[0]);
    const LLVMValueRef y = x == NULL ? NULL : kiln_cg_narrow(g, e->arg[1]);
    if (y == NULL)
        return NULL;
    if (e->kind == KILN_EXPR_ADD)
        return LLVMBuildNSWAdd(g->b, x, y, "");
    if (e->kind == KILN_EXPR_SUB)
        return LLVMBuildNSWSub(g->b, x, y, "");
    if (e->kind == KILN_EXPR_MUL)
        return LLVMBuildNSWMul(g->b, x, y, "");
    const LLVMValueRef c = LLVMBuildICmp(
        g->b, e->kind == KILN_EXPR_MIN ? LLVMIntSLT : LLVMIntSGT, x, y, "");
    return LLVMBuildSelect(g->b, c, x, y, "");
}

static LLVMValueRef by_number(kiln_cg *g, const kiln_expr *e) {
    int64_t d = 0;
    if (!kiln_x_is_int(e->arg[1], &d) || d <= 0 || d > INT32_MAX)
        return NULL;
    const LLVMValueRef x = kiln_cg_narrow(g, e->arg[0]);
    return x == NULL ? NULL : divided(g, e, x, (int32_t)d);
}

LLVMValueRef kiln_cg_narrow(kiln_cg *g, const kiln_expr *e) {
    if (!g->is_narrow || e->dtype != KILN_I64 || e->lanes != 1 || !fits(range_of(g, e)))
        return NULL;
    switch (e->kind) {
    case KILN_EXPR_INT:
        return kiln_cg_int(g, g->i32, e->u.i, 1);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
    case KILN_EXPR_MUL:
    case KILN_EXPRS_EXTREME:
        return binary(g, e);
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return by_number(g, e);
    case KILN_EXPR_VAR:
        return truncated(g, kiln_cg_expr(g, e, NULL));
    case KILN_EXPR_FLOAT:
    case KILN_EXPR_DIV:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return NULL;
}

static bool is_arithmetic(const kiln_expr *e) {
    return e->kind == KILN_EXPR_ADD || e->kind == KILN_EXPR_SUB ||
           e->kind == KILN_EXPR_MUL || e->kind == KILN_EXPR_FLOORDIV ||
           e->kind == KILN_EXPR_FLOORMOD || e->kind == KILN_EXPR_MIN ||
           e->kind == KILN_EXPR_MAX;
}

LLVMValueRef kiln_cg_narrowed(kiln_cg *g, const kiln_expr *e) {
    if (!is_arithmetic(e))
        return NULL;
    const LLVMValueRef v = kiln_cg_narrow(g, e);
    return v == NULL ? NULL : LLVMBuildSExt(g->b, v, g->i64, "");
}

bool kiln_cg_narrow_pair(kiln_cg *g, const kiln_expr *e, LLVMValueRef *x,
                         LLVMValueRef *y) {
    *x = kiln_cg_narrow(g, e->arg[0]);
    *y = *x == NULL ? NULL : kiln_cg_narrow(g, e->arg[1]);
    return *y != NULL;
}
