/* Expressions. */
#include "compiler/codegen/llvm/emit.h"

static bool is_float(kiln_dtype d) { return kiln_dtype_is_float(d); }
static bool is_signed(kiln_dtype d) { return kiln_dtype_get(d)->is_signed; }

LLVMValueRef kiln_cg_and_mask(const kiln_cg *g, LLVMValueRef x, LLVMValueRef y) {
    if (x == NULL || y == NULL)
        return x == NULL ? y : x;
    return LLVMBuildAnd(g->b, x, y, "");
}

/* By itself, whatever its arguments are. */
static bool may_trap(const kiln_expr *e) {
    int64_t v = 0;
    return e->kind == KILN_EXPR_LOAD ||
           ((e->kind == KILN_EXPR_DIV || e->kind == KILN_EXPR_FLOORDIV ||
             e->kind == KILN_EXPR_FLOORMOD) &&
            !is_float(e->dtype) && !kiln_x_is_int(e->arg[1], &v));
}

bool kiln_cg_is_unsafe(const kiln_expr *e) {
    if (may_trap(e))
        return true;
    for (int i = 0; i < e->n_arg; i++)
        if (kiln_cg_is_unsafe(e->arg[i]))
            return true;
    return false;
}

static LLVMTypeRef type_of(const kiln_cg *g, const kiln_expr *e) {
    return kiln_cg_vector(kiln_cg_value_type(g, e->dtype), e->lanes);
}

/* ---- branches inside expressions ------------------------------------------------- */

static LLVMValueRef join_of(kiln_cg *g, LLVMTypeRef t, LLVMValueRef *v,
                            LLVMBasicBlockRef *from, LLVMBasicBlockRef join) {
    LLVMPositionBuilderAtEnd(g->b, join);
    const LLVMValueRef phi = LLVMBuildPhi(g->b, t, "");
    LLVMAddIncoming(phi, v, from, 2);
    return phi;
}

/* e where cond holds, else zero. */
static LLVMValueRef only_if(kiln_cg *g, LLVMValueRef cond, const kiln_expr *e,
                            LLVMValueRef (*emit)(kiln_cg *, const kiln_expr *)) {
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(g->b), NULL};
    const LLVMBasicBlockRef then = kiln_cg_block(g), join = kiln_cg_block(g);
    LLVMBuildCondBr(g->b, cond, then, join);
    LLVMPositionBuilderAtEnd(g->b, then);
    LLVMValueRef v[2] = {LLVMConstNull(type_of(g, e)), emit(g, e)};
    from[1] = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    return join_of(g, type_of(g, e), v, from, join);
}

LLVMValueRef kiln_cg_any_lane(const kiln_cg *g, LLVMValueRef mask) {
    if (LLVMGetTypeKind(LLVMTypeOf(mask)) != LLVMVectorTypeKind)
        return mask;
    return kiln_cg_unary(g, "llvm.vector.reduce.or", mask);
}

static LLVMValueRef branched_select(kiln_cg *g, const kiln_expr *e, LLVMValueRef cond,
                                    LLVMValueRef mask) {
    const LLVMBasicBlockRef side[2] = {kiln_cg_block(g), kiln_cg_block(g)};
    const LLVMBasicBlockRef join = kiln_cg_block(g);
    LLVMValueRef v[2];
    LLVMBasicBlockRef from[2];
    LLVMBuildCondBr(g->b, cond, side[0], side[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(g->b, side[i]);
        v[i] = kiln_cg_expr(g, e->arg[i + 1], mask);
        from[i] = LLVMGetInsertBlock(g->b);
        LLVMBuildBr(g->b, join);
    }
    return join_of(g, type_of(g, e), v, from, join);
}

/* Is e computed wherever `whole` is? What a selection chooses from may not be, nor what a
 * loop's turns are. */
static bool is_part(const kiln_expr *e, const kiln_expr *whole) {
    if (e->kind == whole->kind && kiln_expr_eq(e, whole))
        return true;
    const int n = whole->kind == KILN_EXPR_SELECT ? 1
                  : whole->kind == KILN_EXPR_LOOP ? 0
                                                  : whole->n_arg;
    for (int i = 0; i < n; i++)
        if (is_part(e, whole->arg[i]))
            return true;
    return false;
}

/* May `side` trap where its condition does not? A value that is compared with a limit and
 * chosen where it is within need not be computed again for the lanes that it is chosen
 * in. */
static bool traps_beside(const kiln_expr *side, const kiln_expr *cond) {
    if (may_trap(side))
        return !is_part(side, cond);
    for (int i = 0; i < side->n_arg; i++)
        if (traps_beside(side->arg[i], cond))
            return true;
    return false;
}

static LLVMValueRef emit_select(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    const kiln_expr *cond = e->arg[0];
    const bool unsafe = kiln_cg_is_unsafe(e->arg[1]) || kiln_cg_is_unsafe(e->arg[2]);
    /* What is the same in all lanes is read ahead of the branch where some lane needs it
     * for sure. */
    if (unsafe && cond->kind == KILN_EXPR_BROADCAST &&
        (mask == NULL || !kiln_cg_is_unsafe(cond)))
        return branched_select(g, e, kiln_cg_expr(g, cond->arg[0], NULL), mask);
    const LLVMValueRef c = kiln_cg_expr(g, cond, mask);
    if (unsafe && e->lanes == 1)
        return branched_select(g, e, c, mask);
    LLVMValueRef v[2];
    for (int i = 0; i < 2; i++) {
        LLVMValueRef on = mask;
        if (traps_beside(e->arg[i + 1], cond))
            on = kiln_cg_and_mask(g, mask, i == 0 ? c : LLVMBuildNot(g->b, c, ""));
        v[i] = kiln_cg_expr(g, e->arg[i + 1], on);
    }
    return LLVMBuildSelect(g->b, c, v[0], v[1], "");
}

/* ---- arithmetic ------------------------------------------------------------------ */

static LLVMValueRef muladd(kiln_cg *g, LLVMValueRef x, LLVMValueRef y, LLVMValueRef z) {
    LLVMTypeRef t = LLVMTypeOf(x);
    LLVMValueRef arg[3] = {x, y, z};
    return kiln_cg_contract(kiln_cg_intrinsic(g, "llvm.fmuladd", &t, 1, arg, 3));
}

/* An add or subtraction that a multiply feeds: one operation where the machine has it.
 * NULL when it is no such thing. */
static LLVMValueRef fused(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    const kiln_expr *x = e->arg[0], *y = e->arg[1];
    if (x->kind != KILN_EXPR_MUL && y->kind != KILN_EXPR_MUL)
        return NULL;
    const bool right = y->kind == KILN_EXPR_MUL;
    const kiln_expr *mul = right ? y : x;
    LLVMValueRef p = kiln_cg_expr(g, mul->arg[0], mask);
    const LLVMValueRef q = kiln_cg_expr(g, mul->arg[1], mask);
    LLVMValueRef z = kiln_cg_expr(g, right ? x : y, mask);
    if (e->kind == KILN_EXPR_SUB && right)
        p = LLVMBuildFNeg(g->b, p, "");
    else if (e->kind == KILN_EXPR_SUB)
        z = LLVMBuildFNeg(g->b, z, "");
    return muladd(g, p, q, z);
}

/* The machine's instruction: y > x ? y : x, so x where either is NaN. Written as
 * selects it would be merged with the test for NaN into compares whose latency adds up
 * along a reduction: x is its accumulator, y is known ahead. NULL: no instruction of
 * this size.
 */
static LLVMValueRef native_min_max(kiln_cg *g, const kiln_expr *e, LLVMValueRef y,
                                   LLVMValueRef x) {
    const kiln_arch_intrinsics *names = &kiln_arch_of(g->profile->arch)->intrinsics;
    const unsigned current_direction = 4;
    const bool is_double = e->dtype == KILN_F64;
    const int bytes = e->lanes * (is_double ? 8 : 4);
    if ((e->dtype != KILN_F32 && !is_double) ||
        (bytes != 16 && bytes != 32 && bytes != 64) || bytes > g->profile->vector_bytes)
        return NULL;
    const int size = bytes == 16 ? 0 : bytes == 32 ? 1 : 2;
    const char *name =
        (e->kind == KILN_EXPR_MAX ? names->max : names->min)[is_double][size];
    if (name == NULL)
        return NULL;
    LLVMValueRef arg[3] = {y, x, LLVMConstInt(g->i32, current_direction, false)};
    return kiln_cg_intrinsic(g, name, NULL, 0, arg, size == 2 ? 3 : 2);
}

/* NaN when either is, as numpy's. A constant operand is never NaN: then one machine
 * instruction does it. */
static LLVMValueRef float_min_max(kiln_cg *g, const kiln_expr *e, LLVMValueRef x,
                                  LLVMValueRef y) {
    const bool is_max = e->kind == KILN_EXPR_MAX;
    if (kiln_arch_of(g->profile->arch)->intrinsics.has_nan_min_max) {
        LLVMTypeRef t = LLVMTypeOf(x);
        LLVMValueRef arg[2] = {x, y};
        return kiln_cg_intrinsic(g, is_max ? "llvm.maximum" : "llvm.minimum", &t, 1,
                                 arg, 2);
    }
    const kiln_expr *right = e->arg[1];
    while (right->kind == KILN_EXPR_BROADCAST)
        right = right->arg[0];
    const LLVMRealPredicate better = is_max ? LLVMRealOGT : LLVMRealOLT;
    if (right->kind == KILN_EXPR_FLOAT && right->u.f == right->u.f)
        return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, better, y, x, ""), y, x, "");
    const LLVMValueRef nan = LLVMBuildFCmp(g->b, LLVMRealUNO, y, y, "");
    const LLVMValueRef pick = native_min_max(g, e, y, x);
    if (pick != NULL)
        return LLVMBuildSelect(g->b, nan, y, pick, "");
    const LLVMValueRef wins = LLVMBuildFCmp(g->b, better, y, x, "");
    return LLVMBuildSelect(g->b, nan, y, LLVMBuildSelect(g->b, wins, y, x, ""), "");
}

static LLVMValueRef float_binary(kiln_cg *g, const kiln_expr *e, LLVMValueRef x,
                                 LLVMValueRef y) {
    switch (e->kind) {
    case KILN_EXPR_ADD:
        return kiln_cg_contract(LLVMBuildFAdd(g->b, x, y, ""));
    case KILN_EXPR_SUB:
        return kiln_cg_contract(LLVMBuildFSub(g->b, x, y, ""));
    case KILN_EXPR_MUL:
        return kiln_cg_contract(LLVMBuildFMul(g->b, x, y, ""));
    case KILN_EXPR_DIV:
        return LLVMBuildFDiv(g->b, x, y, "");
    case KILN_EXPR_MIN:
    case KILN_EXPR_MAX:
        return float_min_max(g, e, x, y);
    case KILN_EXPR_EQ:
        return LLVMBuildFCmp(g->b, LLVMRealOEQ, x, y, "");
    case KILN_EXPR_NE:
        return LLVMBuildFCmp(g->b, LLVMRealUNE, x, y, "");
    case KILN_EXPR_LT:
        return LLVMBuildFCmp(g->b, LLVMRealOLT, x, y, "");
    case KILN_EXPR_LE:
        return LLVMBuildFCmp(g->b, LLVMRealOLE, x, y, "");
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
    case KILN_EXPRS_BITWISE:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    kiln_cg_fail(g, KILN_ERR_ARG, "operator %d is not for floats", (int)e->kind);
    return LLVMGetPoison(type_of(g, e));
}

/* The smallest number divided by -1 wraps, where the machine would trap: by -1 becomes
 * the negated number by 1. Any other known divisor is left alone. */
static void avoid_overflow(kiln_cg *g, const kiln_expr *e, LLVMValueRef *x,
                           LLVMValueRef *y) {
    int64_t d = 0;
    if (!is_signed(e->dtype) || (kiln_x_is_int(e->arg[1], &d) && d != -1))
        return;
    const LLVMTypeRef t = kiln_cg_value_type(g, e->dtype);
    const LLVMValueRef minus =
        LLVMBuildICmp(g->b, LLVMIntEQ, *y, kiln_cg_int(g, t, -1, e->lanes), "");
    *x = LLVMBuildSelect(g->b, minus, LLVMBuildNeg(g->b, *x, ""), *x, "");
    *y = LLVMBuildSelect(g->b, minus, kiln_cg_int(g, t, 1, e->lanes), *y, "");
}

/* Truncating division corrected where it rounded up. */
static LLVMValueRef floor_div(kiln_cg *g, const kiln_expr *e, LLVMValueRef x,
                              LLVMValueRef y) {
    const bool is_mod = e->kind == KILN_EXPR_FLOORMOD;
    const LLVMTypeRef t = LLVMTypeOf(x);
    int64_t d = 0;
    const bool is_const = kiln_x_is_int(e->arg[1], &d);
    if (!is_signed(e->dtype))
        return is_mod ? LLVMBuildURem(g->b, x, y, "") : LLVMBuildUDiv(g->b, x, y, "");
    if (is_const && d > 0 && (d & (d - 1)) == 0) {
        int shift = 0;
        while (((int64_t)1 << shift) < d)
            shift++;
        const LLVMTypeRef st = kiln_cg_value_type(g, e->dtype);
        return is_mod ? LLVMBuildAnd(g->b, x, kiln_cg_int(g, st, d - 1, e->lanes), "")
                      : LLVMBuildAShr(g->b, x, kiln_cg_int(g, st, shift, e->lanes), "");
    }
    avoid_overflow(g, e, &x, &y);
    const LLVMValueRef zero = LLVMConstNull(t);
    const LLVMValueRef r = LLVMBuildSRem(g->b, x, y, "");
    const LLVMValueRef differ =
        LLVMBuildICmp(g->b, LLVMIntSLT, LLVMBuildXor(g->b, r, y, ""), zero, "");
    const LLVMValueRef up =
        LLVMBuildAnd(g->b, LLVMBuildICmp(g->b, LLVMIntNE, r, zero, ""), differ, "");
    if (is_mod)
        return LLVMBuildSelect(g->b, up, LLVMBuildAdd(g->b, r, y, ""), r, "");
    const LLVMValueRef quotient = LLVMBuildSDiv(g->b, x, y, "");
    return LLVMBuildAdd(g->b, quotient, LLVMBuildSExt(g->b, up, t, ""), "");
}

static LLVMValueRef int_compare(kiln_cg *g, const kiln_expr *e, LLVMValueRef x,
                                LLVMValueRef y) {
    const bool sign = is_signed(e->arg[0]->dtype);
    LLVMIntPredicate how = LLVMIntEQ;
    if (e->kind == KILN_EXPR_NE)
        how = LLVMIntNE;
    else if (e->kind == KILN_EXPR_LT || e->kind == KILN_EXPR_MIN)
        how = sign ? LLVMIntSLT : LLVMIntULT;
    else if (e->kind == KILN_EXPR_MAX)
        how = sign ? LLVMIntSGT : LLVMIntUGT;
    else if (e->kind == KILN_EXPR_LE)
        how = sign ? LLVMIntSLE : LLVMIntULE;
    return LLVMBuildICmp(g->b, how, x, y, "");
}

static LLVMValueRef int_binary(kiln_cg *g, const kiln_expr *e, LLVMValueRef x,
                               LLVMValueRef y) {
    const bool sign = is_signed(e->dtype);
    switch (e->kind) {
    case KILN_EXPR_ADD:
        return LLVMBuildAdd(g->b, x, y, "");
    case KILN_EXPR_SUB:
        return LLVMBuildSub(g->b, x, y, "");
    case KILN_EXPR_MUL:
        return LLVMBuildMul(g->b, x, y, "");
    case KILN_EXPR_DIV:
        avoid_overflow(g, e, &x, &y);
        return sign ? LLVMBuildSDiv(g->b, x, y, "") : LLVMBuildUDiv(g->b, x, y, "");
    case KILN_EXPR_FLOORDIV:
    case KILN_EXPR_FLOORMOD:
        return floor_div(g, e, x, y);
    case KILN_EXPR_MIN:
    case KILN_EXPR_MAX:
        return LLVMBuildSelect(g->b, int_compare(g, e, x, y), x, y, "");
    case KILN_EXPR_AND:
        return LLVMBuildAnd(g->b, x, y, "");
    case KILN_EXPR_OR:
        return LLVMBuildOr(g->b, x, y, "");
    case KILN_EXPR_XOR:
        return LLVMBuildXor(g->b, x, y, "");
    case KILN_EXPR_SHL:
        return LLVMBuildShl(g->b, x, y, "");
    case KILN_EXPR_SHR:
        return sign ? LLVMBuildAShr(g->b, x, y, "") : LLVMBuildLShr(g->b, x, y, "");
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_COMPARING:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPRS_LANES:
        break;
    }
    return int_compare(g, e, x, y);
}

/* By zero there is no quotient, whoever asks: but no trap either, also in lanes that
 * are off and may hold anything. */
static LLVMValueRef safe_divisor(kiln_cg *g, const kiln_expr *e, LLVMValueRef y) {
    int64_t d = 0;
    if (kiln_x_is_int(e->arg[1], &d) && d != 0)
        return y;
    const LLVMTypeRef t = kiln_cg_value_type(g, e->dtype);
    return LLVMBuildSelect(
        g->b, LLVMBuildICmp(g->b, LLVMIntEQ, y, LLVMConstNull(LLVMTypeOf(y)), ""),
        kiln_cg_int(g, t, 1, e->lanes), y, "");
}

/* A count that is too large is the caller's fault: taken modulo the bits, it is at
 * least a number. */
static LLVMValueRef safe_count(kiln_cg *g, const kiln_expr *e, LLVMValueRef y) {
    const int bits = 8 * (int)kiln_dtype_bytes(e->dtype);
    int64_t n = 0;
    if (kiln_x_is_int(e->arg[1], &n) && n >= 0 && n < bits)
        return y;
    return LLVMBuildAnd(
        g->b, y, kiln_cg_int(g, kiln_cg_value_type(g, e->dtype), bits - 1, e->lanes),
        "");
}

static bool is_comparison(const kiln_expr *e) {
    return e->kind == KILN_EXPR_EQ || e->kind == KILN_EXPR_NE ||
           e->kind == KILN_EXPR_LT || e->kind == KILN_EXPR_LE;
}

static LLVMValueRef emit_binary(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    const kiln_dtype d = e->arg[0]->dtype;
    LLVMValueRef narrow[2];
    const LLVMValueRef index = kiln_cg_narrowed(g, e);
    if (index != NULL)
        return index;
    if (is_comparison(e) && kiln_cg_narrow_pair(g, e, &narrow[0], &narrow[1]))
        return int_compare(g, e, narrow[0], narrow[1]);
    if (is_float(d)) {
        if (e->kind == KILN_EXPR_ADD || e->kind == KILN_EXPR_SUB) {
            const LLVMValueRef v = fused(g, e, mask);
            if (v != NULL)
                return v;
        }
        const LLVMValueRef x = kiln_cg_expr(g, e->arg[0], mask);
        return float_binary(g, e, x, kiln_cg_expr(g, e->arg[1], mask));
    }
    const LLVMValueRef x = kiln_cg_expr(g, e->arg[0], mask);
    LLVMValueRef y = kiln_cg_expr(g, e->arg[1], mask);
    if (e->kind == KILN_EXPR_DIV || e->kind == KILN_EXPR_FLOORDIV ||
        e->kind == KILN_EXPR_FLOORMOD)
        y = safe_divisor(g, e, y);
    else if (e->kind == KILN_EXPR_SHL || e->kind == KILN_EXPR_SHR)
        y = safe_count(g, e, y);
    return int_binary(g, e, x, y);
}

/* ---- conversion ------------------------------------------------------------------ */

static LLVMValueRef emit_cast(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    const LLVMValueRef x = kiln_cg_expr(g, e->arg[0], mask);
    const kiln_dtype from = e->arg[0]->dtype;
    if (from == e->dtype)
        return x;
    if (is_float(from) && !is_float(e->dtype))
        return kiln_cg_float_to_int(g, e, x);
    if (is_float(from))
        return kiln_dtype_bytes(e->dtype) > kiln_dtype_bytes(from)
                   ? LLVMBuildFPExt(g->b, x, type_of(g, e), "")
                   : LLVMBuildFPTrunc(g->b, x, type_of(g, e), "");
    if (is_float(e->dtype))
        return is_signed(from) ? LLVMBuildSIToFP(g->b, x, type_of(g, e), "")
                               : LLVMBuildUIToFP(g->b, x, type_of(g, e), "");
    if (e->dtype == KILN_BOOL)
        return LLVMBuildICmp(g->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
    return LLVMBuildIntCast2(g->b, x, type_of(g, e), is_signed(from), "");
}

static LLVMValueRef emit_bitcast(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    LLVMValueRef x = kiln_cg_expr(g, e->arg[0], mask);
    const kiln_dtype from = e->arg[0]->dtype;
    if (from == KILN_BOOL)
        x = LLVMBuildZExt(g->b, x, kiln_cg_vector(g->i8, e->lanes), "");
    x = LLVMBuildBitCast(
        g->b, x, kiln_cg_vector(kiln_cg_memory_type(g, e->dtype), e->lanes), "");
    if (e->dtype == KILN_BOOL)
        return LLVMBuildICmp(g->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
    return x;
}

/* ---- vectors --------------------------------------------------------------------- */

static LLVMValueRef emit_ramp(kiln_cg *g, const kiln_expr *e) {
    const LLVMTypeRef t = kiln_cg_value_type(g, e->dtype);
    LLVMValueRef *lane = kiln_array(g->arena, LLVMValueRef, e->lanes);
    for (int i = 0; i < e->lanes; i++)
        lane[i] = LLVMConstInt(t, (unsigned long long)i, false);
    const LLVMValueRef base = kiln_cg_expr(g, e->arg[0], NULL);
    const LLVMValueRef step = kiln_cg_expr(g, e->arg[1], NULL);
    const LLVMValueRef steps =
        LLVMBuildMul(g->b, LLVMConstVector(lane, (unsigned)e->lanes),
                     kiln_cg_splat(g, step, e->lanes), "");
    return LLVMBuildAdd(g->b, kiln_cg_splat(g, base, e->lanes), steps, "");
}

static LLVMValueRef emit_broadcast(kiln_cg *g, const kiln_expr *e) {
    return kiln_cg_splat(g, kiln_cg_expr(g, e->arg[0], NULL), e->lanes);
}

/* Lane by lane for several sources: instcombine makes shuffles of it. */
/* Two vectors as one operation: extracted and inserted lane by lane, LLVM 19 makes one
 * shuffle of several that follow each other, and two of none that the machine has. */
static LLVMValueRef shuffle_of_two(kiln_cg *g, const kiln_expr *e) {
    LLVMValueRef *lane = kiln_array(g->arena, LLVMValueRef, e->lanes);
    const LLVMValueRef x = kiln_cg_expr(g, e->arg[0], NULL);
    const LLVMValueRef y = kiln_cg_expr(g, e->arg[1], NULL);
    for (int k = 0; k < e->lanes; k++)
        lane[k] = LLVMConstInt(g->i32, (unsigned)e->u.lane[k], false);
    return LLVMBuildShuffleVector(g->b, x, y, LLVMConstVector(lane, (unsigned)e->lanes),
                                  "");
}

static LLVMValueRef emit_shuffle(kiln_cg *g, const kiln_expr *e) {
    LLVMValueRef *lane = kiln_array(g->arena, LLVMValueRef, e->lanes);
    LLVMValueRef out = LLVMGetPoison(type_of(g, e));
    int begin = 0;
    for (int i = 0; i < e->n_arg; i++) {
        const kiln_expr *a = e->arg[i];
        const LLVMValueRef v = kiln_cg_expr(g, a, NULL);
        for (int k = 0; k < e->lanes; k++) {
            const int at = e->u.lane[k] - begin;
            if (at < 0 || at >= a->lanes)
                continue;
            lane[k] = a->lanes == 1
                          ? v
                          : LLVMBuildExtractElement(
                                g->b, v, LLVMConstInt(g->i32, (unsigned)at, false), "");
        }
        begin += a->lanes;
    }
    for (int k = 0; k < e->lanes; k++) {
        if (lane[k] == NULL) {
            kiln_cg_fail(g, KILN_ERR_ARG, "a shuffle takes lane %d of %d", e->u.lane[k],
                         begin);
            return LLVMGetPoison(type_of(g, e));
        }
        out =
            e->lanes == 1
                ? lane[k]
                : LLVMBuildInsertElement(g->b, out, lane[k],
                                         LLVMConstInt(g->i32, (unsigned)k, false), "");
    }
    return out;
}

/* ---- the rest -------------------------------------------------------------------- */

static LLVMValueRef emit_var(kiln_cg *g, const kiln_expr *e) {
    for (size_t i = g->vars.n; i-- > 0;)
        if (g->vars.v[i].var == e->u.var)
            return g->vars.v[i].value;
    kiln_cg_fail(g, KILN_ERR_ARG, "variable '%s' is used where it has no value",
                 e->u.var->name);
    return LLVMGetPoison(type_of(g, e));
}

static LLVMValueRef emit_unmasked(kiln_cg *g, const kiln_expr *e) {
    return kiln_cg_expr(g, e, NULL);
}

static LLVMValueRef emit_call(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    LLVMValueRef arg[3] = {NULL, NULL, NULL};
    if (e->u.intrin == KILN_INTRIN_prefetch) {
        kiln_cg_fail(g, KILN_ERR_ARG, "prefetch has no value");
        return LLVMGetPoison(type_of(g, e));
    }
    for (int i = 0; i < e->n_arg; i++)
        arg[i] = kiln_cg_expr(g, e->arg[i], mask);
    if (e->u.intrin == KILN_INTRIN_dot4)
        return kiln_cg_dot4(g, e, arg);
    return kiln_cg_call(g, e, arg);
}

/* What has one lane for all of them is evaluated where any is on. */
static LLVMValueRef emit_let(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    const size_t n_vars = g->vars.n;
    for (int i = 0; i + 1 < e->n_arg; i++) {
        const kiln_expr *x = e->arg[i];
        LLVMValueRef v = NULL;
        if (mask != NULL && x->lanes != e->lanes)
            v = kiln_cg_is_unsafe(x)
                    ? only_if(g, kiln_cg_any_lane(g, mask), x, emit_unmasked)
                    : kiln_cg_expr(g, x, NULL);
        else
            v = kiln_cg_expr(g, x, mask);
        kiln_cg_bind(g, e->u.bound[i], v);
    }
    const LLVMValueRef v = kiln_cg_expr(g, e->arg[e->n_arg - 1], mask);
    g->vars.n = n_vars;
    return v;
}

static LLVMValueRef emit_whole(kiln_cg *g, const kiln_expr *e) {
    if (e->kind == KILN_EXPR_RAMP)
        return emit_ramp(g, e);
    if (e->kind == KILN_EXPR_BROADCAST)
        return emit_broadcast(g, e);
    const bool is_pair = e->n_arg == 2 && e->lanes > 1 && e->arg[0]->lanes > 1 &&
                         e->arg[0]->lanes == e->arg[1]->lanes;
    return is_pair ? shuffle_of_two(g, e) : emit_shuffle(g, e);
}

LLVMValueRef kiln_cg_expr(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    switch (e->kind) {
    case KILN_EXPR_INT:
        return LLVMConstInt(kiln_cg_value_type(g, e->dtype), (unsigned long long)e->u.i,
                            true);
    case KILN_EXPR_FLOAT:
        return LLVMConstReal(kiln_cg_value_type(g, e->dtype), e->u.f);
    case KILN_EXPR_VAR:
        return emit_var(g, e);
    case KILN_EXPR_NOT:
        return LLVMBuildNot(g->b, kiln_cg_expr(g, e->arg[0], mask), "");
    case KILN_EXPR_CAST:
        return emit_cast(g, e, mask);
    case KILN_EXPR_BITCAST:
        return emit_bitcast(g, e, mask);
    case KILN_EXPR_SELECT:
        return emit_select(g, e, mask);
    case KILN_EXPR_CALL:
        return emit_call(g, e, mask);
    case KILN_EXPR_LOAD:
        return kiln_cg_load(g, e, mask);
    case KILN_EXPR_LET:
        return emit_let(g, e, mask);
    case KILN_EXPR_LOOP:
        return kiln_cg_loop(g, e, mask);
    case KILN_EXPR_TABLE:
        return kiln_cg_table_at(g, e);
    case KILN_EXPR_RAMP:
    case KILN_EXPR_BROADCAST:
    case KILN_EXPR_SHUFFLE:
        /* Their parts have other lanes than the mask: all or nothing. */
        return mask != NULL && kiln_cg_is_unsafe(e)
                   ? only_if(g, kiln_cg_any_lane(g, mask), e, emit_whole)
                   : emit_whole(g, e);
    case KILN_EXPR_READ:
    case KILN_EXPR_REDUCE:
        kiln_cg_fail(g, KILN_ERR_ARG,
                     "a loop program must not hold reads or reductions of tensor "
                     "expressions; lower it first");
        return LLVMGetPoison(type_of(g, e));
    case KILN_EXPRS_ARITHMETIC:
    case KILN_EXPRS_LOGICAL:
        break;
    }
    return emit_binary(g, e, mask);
}
