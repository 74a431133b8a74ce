/* Loads and stores. A vector of indexes that rises by one per lane becomes a vector
 * access, by zero a broadcast, by minus one a reversed vector access; any other goes
 * lane by lane. */
#include "compiler/codegen/llvm/emit.h"
#include "base/fault.h"

#include <inttypes.h>

const kiln_cg_mem *kiln_cg_memory_of(kiln_cg *g, const kiln_buffer *b) {
    for (size_t i = g->mem.n; i-- > 0;)
        if (g->mem.v[i].buffer == b)
            return &g->mem.v[i];
    kiln_cg_fail(g, KILN_ERR_ARG, "buffer '%s' is used where it does not exist",
                 b->name);
    return NULL;
}

/* ---- the shape of an index ------------------------------------------------------- */

/* Lane k is lane 0 plus k * *step? */
static bool is_linear(const kiln_expr *e, int64_t *step) {
    int64_t x = 0, y = 0, c = 0;
    *step = 0;
    if (e->lanes == 1 || e->kind == KILN_EXPR_BROADCAST)
        return true;
    switch (e->kind) {
    case KILN_EXPR_RAMP:
        return kiln_x_is_int(e->arg[1], step);
    case KILN_EXPR_ADD:
    case KILN_EXPR_SUB:
        if (!is_linear(e->arg[0], &x) || !is_linear(e->arg[1], &y))
            return false;
        *step = e->kind == KILN_EXPR_ADD ? x + y : x - y;
        return true;
    case KILN_EXPR_MUL:
        if (kiln_x_is_int(e->arg[1], &c) && is_linear(e->arg[0], &x)) {
            *step = x * c;
            return true;
        }
        if (kiln_x_is_int(e->arg[0], &c) && is_linear(e->arg[1], &y)) {
            *step = y * c;
            return true;
        }
        break;
    case KILN_EXPRS_CONSTANT:
    case KILN_EXPR_VAR:
    case KILN_EXPRS_DIVIDING:
    case KILN_EXPRS_EXTREME:
    case KILN_EXPRS_LOGICAL:
    case KILN_EXPRS_COMPOSED:
    case KILN_EXPR_BROADCAST:
    case KILN_EXPR_SHUFFLE:
        break;
    }
    return false;
}

/* Lane 0 of a linear index. */
static LLVMValueRef first_lane(kiln_cg *g, const kiln_expr *e) {
    if (e->lanes == 1)
        return kiln_cg_expr(g, e, NULL);
    if (e->kind == KILN_EXPR_RAMP || e->kind == KILN_EXPR_BROADCAST)
        return first_lane(g, e->arg[0]);
    KILN_ASSERT(e->kind == KILN_EXPR_ADD || e->kind == KILN_EXPR_SUB ||
                    e->kind == KILN_EXPR_MUL,
                "'%s' is no linear index", kiln_expr_kind_name(e->kind));
    const LLVMValueRef x = first_lane(g, e->arg[0]), y = first_lane(g, e->arg[1]);
    if (e->kind == KILN_EXPR_ADD)
        return LLVMBuildAdd(g->b, x, y, "");
    return e->kind == KILN_EXPR_SUB ? LLVMBuildSub(g->b, x, y, "")
                                    : LLVMBuildMul(g->b, x, y, "");
}

typedef struct place {
    const kiln_cg_mem *mem;
    LLVMTypeRef type; /* of one element in memory */
    bool is_linear;
    int64_t step; /* elements per lane, when linear */
    unsigned align;
    LLVMValueRef index; /* linear: of lane 0; else a vector */
} place;

/* Is lane 0 on whatever happens? Tails are known when code is made. */
static bool begins_on(LLVMValueRef mask) {
    if (!LLVMIsConstant(mask))
        return false;
    const LLVMValueRef first = LLVMGetAggregateElement(mask, 0);
    return first != NULL && LLVMIsAConstantInt(first) != NULL &&
           LLVMConstIntGetZExtValue(first) == 1;
}

/* Row-major address of all the indexes; flat buffers have one. What an index reads is
 * read for lane 0, so that must be on, or nothing be read. */
static bool locate(kiln_cg *g, const kiln_buffer *b, const kiln_expr *const *index,
                   LLVMValueRef mask, place *out) {
    int64_t stride[KILN_MAX_AXES], step = 0, div = 64;
    int lanes = 1;
    *out = (place){.mem = kiln_cg_memory_of(g, b), .is_linear = true};
    if (out->mem == NULL)
        return false;
    out->type = kiln_cg_memory_type(g, b->dtype);
    kiln_buffer_strides(b, stride);
    const bool may_read = mask == NULL || begins_on(mask);
    for (int i = 0; i < b->rank; i++) {
        out->is_linear = out->is_linear && is_linear(index[i], &step) &&
                         (may_read || !kiln_cg_is_unsafe(index[i]));
        out->step += step * stride[i];
        lanes = index[i]->lanes > lanes ? index[i]->lanes : lanes;
        const kiln_expr s = {.kind = KILN_EXPR_INT,
                             .dtype = KILN_I64,
                             .lanes = 1,
                             .u = {.i = stride[i]}};
        const int64_t d = kiln_expr_divisor(index[i]) * kiln_expr_divisor(&s);
        div = d < div ? d : div;
    }
    const int64_t bytes = div * (int64_t)kiln_dtype_bytes(b->dtype);
    out->align = (unsigned)(bytes < 64 ? bytes : 64);
    if (!out->is_linear)
        out->align = (unsigned)kiln_dtype_bytes(b->dtype);
    const int n = out->is_linear ? 1 : lanes;
    out->index = kiln_cg_int(g, g->i64, 0, n);
    for (int i = 0; i < b->rank; i++) {
        LLVMValueRef v =
            out->is_linear ? first_lane(g, index[i]) : kiln_cg_expr(g, index[i], mask);
        if (!out->is_linear && index[i]->lanes == 1)
            v = kiln_cg_splat(g, v, lanes);
        if (stride[i] != 1)
            v = LLVMBuildMul(g->b, v, kiln_cg_int(g, g->i64, stride[i], n), "");
        out->index = LLVMBuildAdd(g->b, out->index, v, "");
    }
    return true;
}

static LLVMValueRef address(kiln_cg *g, const place *at, LLVMValueRef index) {
    return LLVMBuildGEP2(g->b, at->type, at->mem->base, &index, 1, "");
}

/* Linear: the address of lane k; else lane k of the vector of indexes. */
static LLVMValueRef lane_address(kiln_cg *g, const place *at, int k) {
    LLVMValueRef index = at->index;
    if (!at->is_linear)
        index = LLVMBuildExtractElement(g->b, index,
                                        LLVMConstInt(g->i32, (unsigned)k, false), "");
    else if (k != 0)
        index = LLVMBuildAdd(g->b, index, kiln_cg_int(g, g->i64, at->step * k, 1), "");
    return address(g, at, index);
}

static LLVMValueRef lane_addresses(kiln_cg *g, const place *at, int lanes) {
    LLVMValueRef index = at->index;
    if (at->is_linear) {
        LLVMValueRef *k = kiln_array(g->arena, LLVMValueRef, lanes);
        for (int i = 0; i < lanes; i++)
            k[i] = kiln_cg_int(g, g->i64, at->step * i, 1);
        index = LLVMBuildAdd(g->b, kiln_cg_splat(g, index, lanes),
                             LLVMConstVector(k, (unsigned)lanes), "");
    }
    return address(g, at, index);
}

/* The address of the lowest element of a contiguous access. */
static LLVMValueRef lowest(kiln_cg *g, const place *at, int lanes) {
    return lane_address(g, at, at->step < 0 ? lanes - 1 : 0);
}

static LLVMValueRef tagged(kiln_cg *g, const kiln_cg_mem *m, LLVMValueRef access) {
    LLVMSetMetadata(access, g->md_alias_scope, m->alias_scope);
    if (m->no_alias != NULL)
        LLVMSetMetadata(access, g->md_no_alias, m->no_alias);
    return access;
}

static LLVMValueRef reversed(kiln_cg *g, LLVMValueRef v, int lanes) {
    LLVMValueRef *k = kiln_array(g->arena, LLVMValueRef, lanes);
    for (int i = 0; i < lanes; i++)
        k[i] = LLVMConstInt(g->i32, (unsigned)(lanes - 1 - i), false);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(k, (unsigned)lanes), "");
}

static bool is_contiguous(const place *at) {
    return at->is_linear && (at->step == 1 || at->step == -1);
}

/* ---- loads ----------------------------------------------------------------------- */

static LLVMValueRef plain_load(kiln_cg *g, const place *at, LLVMTypeRef t,
                               LLVMValueRef p, unsigned align) {
    const LLVMValueRef v = tagged(g, at->mem, LLVMBuildLoad2(g->b, t, p, ""));
    if (at->mem->is_constant)
        LLVMSetMetadata(
            v, g->md_invariant,
            LLVMMetadataAsValue(g->cx, LLVMMDNodeInContext2(g->cx, NULL, 0)));
    LLVMSetAlignment(v, align);
    return v;
}

static unsigned elem_bytes(const place *at) {
    return (unsigned)kiln_dtype_bytes(at->mem->buffer->dtype);
}

/* Of one element: what follows it may be one access with it. */
static unsigned scalar_align(const kiln_cg *g, const place *at) {
    return g->kind->joins_scalars ? at->align : elem_bytes(at);
}

static LLVMValueRef masked_access(kiln_cg *g, const place *at, const char *name,
                                  LLVMValueRef p, LLVMValueRef mask, int lanes) {
    const LLVMTypeRef v = LLVMVectorType(at->type, (unsigned)lanes);
    LLVMTypeRef types[2] = {v, LLVMTypeOf(p)};
    LLVMValueRef arg[4] = {p, LLVMConstInt(g->i32, elem_bytes(at), false), mask,
                           LLVMConstNull(v)};
    return tagged(g, at->mem, kiln_cg_intrinsic(g, name, types, 2, arg, 4));
}

/* The first `to` lanes of v; where it has not so many, its first lane again. */
static LLVMValueRef resized(kiln_cg *g, LLVMValueRef v, int from, int to) {
    LLVMValueRef *k = kiln_array(g->arena, LLVMValueRef, to);
    for (int i = 0; i < to; i++)
        k[i] = LLVMConstInt(g->i32, (unsigned)(i < from ? i : 0), false);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(k, (unsigned)to), "");
}

/* Whole registers: LLVM 19 widens what is none by lanes without an index, and
 * may give such a gather one register for index and result, which is no instruction
 * (x86, AVX2 and AVX-512). */
static LLVMValueRef gather(kiln_cg *g, const place *at, int lanes, LLVMValueRef mask) {
    LLVMValueRef p = lane_addresses(g, at, lanes);
    int wide = 1;
    while (wide < lanes)
        wide *= 2;
    if (wide == lanes)
        return masked_access(g, at, "llvm.masked.gather", p, mask, lanes);
    p = resized(g, p, lanes, wide);
    mask = resized(g, mask, lanes, wide);
    return resized(g, masked_access(g, at, "llvm.masked.gather", p, mask, wide), wide,
                   lanes);
}

static LLVMValueRef masked_load(kiln_cg *g, const place *at, int lanes,
                                LLVMValueRef mask) {
    if (!is_contiguous(at))
        return gather(g, at, lanes, mask);
    const bool back = at->step < 0;
    const LLVMValueRef p = lowest(g, at, lanes);
    const LLVMValueRef on = back ? reversed(g, mask, lanes) : mask;
    const LLVMValueRef r = masked_access(g, at, "llvm.masked.load", p, on, lanes);
    return back ? reversed(g, r, lanes) : r;
}

static LLVMValueRef vector_load(kiln_cg *g, const place *at, int lanes) {
    const LLVMTypeRef v = LLVMVectorType(at->type, (unsigned)lanes);
    if (is_contiguous(at)) {
        const bool back = at->step < 0;
        const LLVMValueRef r = plain_load(g, at, v, lowest(g, at, lanes),
                                          back ? elem_bytes(at) : at->align);
        return back != KILN_FAULT(lane_order) ? reversed(g, r, lanes) : r;
    }
    if (at->is_linear && at->step == 0)
        return kiln_cg_splat(
            g, plain_load(g, at, at->type, address(g, at, at->index), elem_bytes(at)),
            lanes);
    LLVMValueRef out = LLVMGetPoison(v);
    for (int k = 0; k < lanes; k++)
        out = LLVMBuildInsertElement(
            g->b, out,
            plain_load(g, at, at->type, lane_address(g, at, k), elem_bytes(at)),
            LLVMConstInt(g->i32, (unsigned)k, false), "");
    return out;
}

static LLVMValueRef from_memory(kiln_cg *g, kiln_dtype dtype, LLVMValueRef v) {
    if (dtype == KILN_BOOL)
        return LLVMBuildICmp(g->b, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "");
    return v;
}

static LLVMValueRef scalar_load(kiln_cg *g, const kiln_expr *e) {
    place at;
    if (!locate(g, e->u.load.buffer, e->arg, NULL, &at))
        return LLVMGetPoison(kiln_cg_value_type(g, e->dtype));
    const LLVMValueRef v =
        plain_load(g, &at, at.type, address(g, &at, at.index), scalar_align(g, &at));
    return from_memory(g, e->dtype, v);
}

/* One lane behind a branch; off gives 0. */
static LLVMValueRef guarded_load(kiln_cg *g, const kiln_expr *e, LLVMValueRef cond) {
    LLVMBasicBlockRef from[2] = {LLVMGetInsertBlock(g->b), NULL};
    const LLVMBasicBlockRef then = kiln_cg_block(g), join = kiln_cg_block(g);
    const LLVMTypeRef t = kiln_cg_value_type(g, e->dtype);
    LLVMBuildCondBr(g->b, cond, then, join);
    LLVMPositionBuilderAtEnd(g->b, then);
    LLVMValueRef v[2] = {LLVMConstNull(t), scalar_load(g, e)};
    from[1] = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
    const LLVMValueRef phi = LLVMBuildPhi(g->b, t, "");
    LLVMAddIncoming(phi, v, from, 2);
    return phi;
}

/* A vector at a fixed place in a tile of registers: it can be read whole, whatever
 * lanes are wanted of it. A masked load would keep the tile in memory. */
static bool is_of_registers(const kiln_expr *e) {
    const kiln_buffer *b = e->u.load.buffer;
    int64_t first = 0, step = 0;
    return b->scope == KILN_SCOPE_REGISTER && b->rank == 1 &&
           e->arg[0]->kind == KILN_EXPR_RAMP &&
           kiln_x_is_int(e->arg[0]->arg[0], &first) &&
           kiln_x_is_int(e->arg[0]->arg[1], &step) && step == 1 && first >= 0 &&
           first + e->lanes <= kiln_buffer_elems(b);
}

/* One vector as it lies, or one element. */
static bool is_one_access(const kiln_expr *e) {
    int64_t step = 0;
    return e->n_arg == 1 && is_linear(e->arg[0], &step) && step >= -1 && step <= 1;
}

LLVMValueRef kiln_cg_load(kiln_cg *g, const kiln_expr *e, LLVMValueRef mask) {
    place at;
    if (e->u.load.buffer->scope == KILN_SCOPE_FRAGMENT)
        return g->kind->load_fragment(g, e);
    if (is_of_registers(e))
        mask = NULL;
    if (e->u.load.mask != NULL)
        mask = kiln_cg_and_mask(g, mask, kiln_cg_expr(g, e->u.load.mask, mask));
    if (e->lanes == 1)
        return mask == NULL ? scalar_load(g, e) : guarded_load(g, e, mask);
    LLVMValueRef near =
        mask == NULL && !is_one_access(e) ? kiln_cg_load_near(g, e) : NULL;
    if (near == NULL && mask == NULL)
        near = kiln_cg_load_window(g, e);
    if (near != NULL)
        return near;
    if (!locate(g, e->u.load.buffer, e->arg, mask, &at))
        return LLVMGetPoison(kiln_cg_vector(kiln_cg_value_type(g, e->dtype), e->lanes));
    const LLVMValueRef v = mask == NULL ? vector_load(g, &at, e->lanes)
                                        : masked_load(g, &at, e->lanes, mask);
    return from_memory(g, e->dtype, v);
}

LLVMValueRef kiln_cg_address(kiln_cg *g, const kiln_buffer *b,
                             const kiln_expr *const *index, unsigned *align) {
    place at;
    if (!locate(g, b, index, NULL, &at) || !at.is_linear || at.step > 1 || at.step < 0)
        return NULL;
    *align = at.align;
    return address(g, &at, at.index);
}

void kiln_cg_prefetch(kiln_cg *g, const kiln_expr *load) {
    place at;
    if (load->kind != KILN_EXPR_LOAD || load->lanes != 1) {
        kiln_cg_fail(g, KILN_ERR_ARG, "prefetch takes a load of one element");
        return;
    }
    if (!locate(g, load->u.load.buffer, load->arg, NULL, &at))
        return;
    g->kind->prefetch(g, address(g, &at, at.index));
}

/* ---- stores ---------------------------------------------------------------------- */

static void plain_store(kiln_cg *g, const place *at, LLVMValueRef v, LLVMValueRef p,
                        unsigned align) {
    LLVMSetAlignment(tagged(g, at->mem, LLVMBuildStore(g->b, v, p)), align);
}

static void vector_store(kiln_cg *g, const place *at, LLVMValueRef v, int lanes) {
    if (is_contiguous(at)) {
        const bool back = at->step < 0;
        const LLVMValueRef all = back ? reversed(g, v, lanes) : v;
        plain_store(g, at, all, lowest(g, at, lanes),
                    back ? elem_bytes(at) : at->align);
        return;
    }
    for (int k = 0; k < lanes; k++) {
        const LLVMValueRef lane = LLVMBuildExtractElement(
            g->b, v, LLVMConstInt(g->i32, (unsigned)k, false), "");
        plain_store(g, at, lane, lane_address(g, at, k), elem_bytes(at));
    }
}

static void masked_store(kiln_cg *g, const place *at, LLVMValueRef v, int lanes,
                         LLVMValueRef mask) {
    const bool whole = is_contiguous(at), back = whole && at->step < 0;
    const LLVMValueRef p = whole ? lowest(g, at, lanes) : lane_addresses(g, at, lanes);
    LLVMTypeRef types[2] = {LLVMTypeOf(v), LLVMTypeOf(p)};
    const LLVMValueRef all = back ? reversed(g, v, lanes) : v;
    const LLVMValueRef on = back ? reversed(g, mask, lanes) : mask;
    LLVMValueRef arg[4] = {all, p, LLVMConstInt(g->i32, elem_bytes(at), false), on};
    tagged(g, at->mem,
           kiln_cg_intrinsic(g, whole ? "llvm.masked.store" : "llvm.masked.scatter",
                             types, 2, arg, 4));
}

static LLVMValueRef to_memory(kiln_cg *g, kiln_dtype dtype, LLVMValueRef v, int lanes) {
    if (dtype == KILN_BOOL)
        return LLVMBuildZExt(g->b, v, kiln_cg_vector(g->i8, lanes), "");
    return v;
}

static void store_where(kiln_cg *g, const kiln_stmt *s, LLVMValueRef mask) {
    const int lanes = s->u.store.value->lanes;
    const kiln_dtype dtype = s->u.store.buffer->dtype;
    place at;
    const LLVMValueRef v =
        to_memory(g, dtype, kiln_cg_expr(g, s->u.store.value, mask), lanes);
    if (!locate(g, s->u.store.buffer, s->u.store.index, mask, &at))
        return;
    if (lanes == 1)
        plain_store(g, &at, v, address(g, &at, at.index), scalar_align(g, &at));
    else if (mask == NULL)
        vector_store(g, &at, v, lanes);
    else
        masked_store(g, &at, v, lanes, mask);
}

void kiln_cg_store(kiln_cg *g, const kiln_stmt *s) {
    KILN_ASSERT(s->kind == KILN_STMT_STORE, "a statement of kind %d stores nothing",
                (int)s->kind);
    if (s->u.store.mask == NULL) {
        store_where(g, s, NULL);
        return;
    }
    const LLVMValueRef mask = kiln_cg_expr(g, s->u.store.mask, NULL);
    if (s->u.store.value->lanes > 1) {
        store_where(g, s, mask);
        return;
    }
    const LLVMBasicBlockRef then = kiln_cg_block(g), join = kiln_cg_block(g);
    LLVMBuildCondBr(g->b, mask, then, join);
    LLVMPositionBuilderAtEnd(g->b, then);
    store_where(g, s, NULL);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}
