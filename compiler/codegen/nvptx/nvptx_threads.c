/* Threads of a launch. Each runs the whole function: a thread loop is a test and a value, and
 * what stands outside all loops of an axis is done by the threads that stand at 0 there.
 * Barriers are outside all such tests. */
#include "compiler/codegen/nvptx/nvptx.h"

#include "compiler/loop/fragment.h"

#include <inttypes.h>

enum { ALIGN = 64 };
static const int64_t max_memory = (int64_t)1 << 40;

/* ---- where a thread stands ------------------------------------------------------- */

static const char *const reg[KILN_N_AXES] = {
    [KILN_AXIS_BLOCK_X] = "llvm.nvvm.read.ptx.sreg.ctaid.x",
    [KILN_AXIS_BLOCK_Y] = "llvm.nvvm.read.ptx.sreg.ctaid.y",
    [KILN_AXIS_BLOCK_Z] = "llvm.nvvm.read.ptx.sreg.ctaid.z",
    [KILN_AXIS_THREAD_X] = "llvm.nvvm.read.ptx.sreg.tid.x",
    [KILN_AXIS_THREAD_Y] = "llvm.nvvm.read.ptx.sreg.tid.y",
    [KILN_AXIS_THREAD_Z] = "llvm.nvvm.read.ptx.sreg.tid.z",
};

void kiln_nvptx_begin(kiln_cg *g, const int64_t *extent) {
    const unsigned range = LLVMGetMDKindIDInContext(g->cx, "range", 5);
    g->extent = extent;
    for (int i = 0; i < KILN_N_AXES; i++) {
        g->axis[i] = LLVMConstNull(g->i64);
        if (extent[i] == 1)
            continue;
        LLVMMetadataRef part[2] = {LLVMValueAsMetadata(LLVMConstNull(g->i32)),
                                   LLVMValueAsMetadata(LLVMConstInt(
                                       g->i32, (unsigned long long)extent[i], false))};
        const LLVMValueRef v = kiln_cg_intrinsic(g, reg[i], NULL, 0, NULL, 0);
        LLVMSetMetadata(
            v, range, LLVMMetadataAsValue(g->cx, LLVMMDNodeInContext2(g->cx, part, 2)));
        g->axis[i] = LLVMBuildZExt(g->b, v, g->i64, "");
    }
}

/* i1: does it stand at 0 along the axes that no loop around stands for? NULL: of all of
 * them one does. */
static LLVMValueRef is_first(kiln_cg *g) {
    LLVMValueRef all = NULL;
    for (int i = 0; i < KILN_N_AXES; i++)
        if (g->extent[i] > 1 && (g->bound >> i & 1u) == 0)
            all = kiln_cg_and_mask(
                g, all,
                LLVMBuildICmp(g->b, LLVMIntEQ, g->axis[i], LLVMConstNull(g->i64), ""));
    return all;
}

/* ---- statements ------------------------------------------------------------------ */

static void only_where(kiln_cg *g, LLVMValueRef cond, const kiln_stmt *s) {
    if (cond == NULL) {
        kiln_cg_stmt(g, s);
        return;
    }
    const LLVMBasicBlockRef then = kiln_cg_block(g), join = kiln_cg_block(g);
    LLVMBuildCondBr(g->b, cond, then, join);
    LLVMPositionBuilderAtEnd(g->b, then);
    kiln_cg_stmt(g, s);
    LLVMBuildBr(g->b, join);
    LLVMPositionBuilderAtEnd(g->b, join);
}

static void alone(kiln_cg *g, const kiln_stmt *s) {
    g->is_alone = true;
    only_where(g, is_first(g), s);
    g->is_alone = false;
}

static void thread_loop(kiln_cg *g, const kiln_stmt *s) {
    const int axis = kiln_launch_axis_of(s->u.loop.tag);
    const LLVMTypeRef t = kiln_cg_value_type(g, s->u.loop.var->dtype);
    const unsigned outside = g->bound;
    LLVMValueRef inside = NULL;
    int64_t n = 0;
    if (axis < 0 || !kiln_x_is_int(s->u.loop.extent, &n) || n > g->extent[axis]) {
        kiln_cg_fail(
            g, KILN_ERR_ARG,
            "thread loop '%s' must be bound to an axis of the launch and be no "
            "longer than it",
            s->u.loop.var->name);
        return;
    }
    if (n < g->extent[axis] && axis >= KILN_AXIS_THREAD_X &&
        kiln_stmt_has_barrier(s->u.loop.body))
        kiln_cg_fail(g, KILN_ERR_ARG,
                     "divergent barrier: %" PRId64 " of %" PRId64
                     " threads along %s come to the one in loop '%s'",
                     n, g->extent[axis], s->u.loop.tag, s->u.loop.var->name);
    if (n < g->extent[axis])
        inside = LLVMBuildICmp(g->b, LLVMIntSLT, g->axis[axis],
                               kiln_cg_int(g, g->i64, n, 1), "");
    const LLVMValueRef at = LLVMBuildIntCast2(g->b, g->axis[axis], t, true, "");
    const kiln_interval min = kiln_cg_range(g, s->u.loop.min);
    int64_t first = 0;
    const bool is_from_zero = kiln_x_is_int(s->u.loop.min, &first) && first == 0;
    kiln_cg_bind_within(
        g, s->u.loop.var,
        is_from_zero ? at
                     : LLVMBuildAdd(g->b, kiln_cg_expr(g, s->u.loop.min, NULL), at, ""),
        (kiln_interval){min.min, min.max < INT32_MAX ? min.max + n - 1 : INT64_MAX});
    g->bound |= 1u << axis;
    only_where(g, inside, s->u.loop.body);
    g->bound = outside;
    g->vars.n--;
}

/* All threads evaluate what decides for some of them. */
static void check_together(kiln_cg *g, const kiln_expr *e) {
    const kiln_buffer *found = kiln_expr_unsettled(e);
    if (found != NULL && is_first(g) != NULL)
        kiln_cg_fail(
            g, KILN_ERR_UNSUPPORTED,
            "what '%s' does outside loops of all axes depends on '%s', which it "
            "writes; put that inside the thread loops",
            g->p->name, found->name);
}

static void check_expr(void *user, const kiln_expr *e) { check_together(user, e); }

/* All threads of the warps that stand at 0 along the other axes. */
static void by_warps(kiln_cg *g, const kiln_stmt *s) {
    const unsigned outside = g->bound, x = 1u << KILN_AXIS_THREAD_X;
    if ((outside & x) != 0) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "'%s' is a warp's, and is called inside a loop of threadIdx.x",
                     s->u.call.program->name);
        return;
    }
    g->bound |= x;
    const LLVMValueRef cond = is_first(g);
    g->bound = outside;
    const LLVMBasicBlockRef then = cond != NULL ? kiln_cg_block(g) : NULL,
                            join = cond != NULL ? kiln_cg_block(g) : NULL;
    if (cond != NULL) {
        LLVMBuildCondBr(g->b, cond, then, join);
        LLVMPositionBuilderAtEnd(g->b, then);
    }
    kiln_nvptx_call(g, s);
    if (cond != NULL) {
        LLVMBuildBr(g->b, join);
        LLVMPositionBuilderAtEnd(g->b, join);
    }
}

bool kiln_nvptx_stmt(kiln_cg *g, const kiln_stmt *s) {
    if (s->kind == KILN_STMT_LAUNCH) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "'%s' launches '%s' from a device; let the host launch it",
                     g->p->name, s->u.call.program->name);
        return true;
    }
    if (s->kind == KILN_STMT_STORE && s->u.store.buffer->scope == KILN_SCOPE_FRAGMENT) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "fragment '%s' is written by a thread; only matrix products may",
                     s->u.store.buffer->name);
        return true;
    }
    if (s->kind == KILN_STMT_STORE && (g->is_alone || is_first(g) == NULL)) {
        if (kiln_nvptx_is_swizzled(g, s->u.store.buffer)) {
            kiln_nvptx_swizzled_store(g, s);
            return true;
        }
        if (kiln_nvptx_copy(g, s))
            return true;
    }
    if (g->is_alone || s->kind == KILN_STMT_SEQ)
        return false;
    if (!kiln_stmt_is_collective(s)) {
        alone(g, s);
        return true;
    }
    if (kiln_stmt_is_warps(s)) {
        by_warps(g, s);
        return true;
    }
    kiln_stmt_exprs(s, check_expr, g);
    if (s->kind == KILN_STMT_BARRIER) { /* orders both kinds of memory */
        kiln_nvptx_wait(g);
        (void)kiln_cg_intrinsic(g, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
    } else if (s->kind == KILN_STMT_ATTR && s->u.attr.key == KILN_STMT_ATTR_ASYNC)
        kiln_nvptx_async(g, s);
    else if (s->kind == KILN_STMT_ATTR && s->u.attr.key == KILN_STMT_ATTR_PRODUCTS)
        kiln_nvptx_products(g, s);
    else if (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD)
        thread_loop(g, s);
    else
        return false;
    return true;
}

/* ---- memory ---------------------------------------------------------------------- */

static LLVMTypeRef array_of(kiln_cg *g, const kiln_buffer *b, size_t bytes) {
    const size_t n = bytes / kiln_dtype_bytes(b->dtype);
    return LLVMArrayType2(kiln_cg_memory_type(g, b->dtype), n > 0 ? n : 1);
}

static size_t align_of(const kiln_cg *g, const kiln_buffer *b) {
    return kiln_nvptx_is_swizzled(g, b) ? KILN_NVPTX_SWIZZLED : ALIGN;
}

static LLVMValueRef shared_variable(kiln_cg *g, LLVMTypeRef t, const char *name,
                                    size_t align) {
    const LLVMValueRef v =
        LLVMAddGlobalInAddressSpace(g->module, t, name, KILN_NVPTX_SHARED);
    LLVMSetAlignment(v, (unsigned)align);
    return v;
}

typedef struct shares {
    kiln_cg *g;
    KILN_VEC(const kiln_buffer *) buffer;
    int64_t bytes;
} shares;

static void add_shared(void *user, const kiln_stmt *s) {
    shares *x = user;
    if (s->kind != KILN_STMT_ALLOC || s->u.alloc.buffer->scope != KILN_SCOPE_SHARED)
        return;
    const kiln_buffer *b = s->u.alloc.buffer;
    for (size_t i = 0; i < x->buffer.n; i++)
        if (x->buffer.v[i] == b)
            return;
    kiln_vec_push(x->g->arena, &x->buffer, b);
    const int64_t elems = kiln_buffer_elems(b);
    if (elems > 0 && elems < max_memory / 8)
        x->bytes +=
            elems * (int64_t)kiln_dtype_bytes(b->dtype) + (int64_t)align_of(x->g, b);
}

void kiln_nvptx_ask(kiln_cg *g) {
    shares x = {.g = g};
    kiln_stmt_visit(g->p->body, add_shared, &x);
    g->asked = x.bytes > g->profile->gpu.shared_bytes
                   ? shared_variable(g, LLVMArrayType2(g->i8, 0),
                                     kiln_format(g->arena, "%sasked", g->prefix),
                                     g->swizzled.n > 0 ? KILN_NVPTX_SWIZZLED : ALIGN)
                   : NULL;
}

static void in_shared(kiln_cg *g, const kiln_buffer *b, size_t bytes, kiln_cg_mem *m) {
    const LLVMTypeRef t = array_of(g, b, bytes);
    for (size_t i = 0; i < g->shared_memory.n; i++)
        if (g->shared_memory.v[i].buffer == b) { /* a loop around it was unrolled */
            *m = g->shared_memory.v[i];
            return;
        }
    const size_t align = align_of(g, b);
    m->place = KILN_CG_SHARED;
    g->shared = (g->shared + align - 1) / align * align;
    if (g->asked != NULL) {
        LLVMValueRef at = kiln_cg_int(g, g->i64, (int64_t)g->shared, 1);
        m->base = LLVMConstInBoundsGEP2(g->i8, g->asked, &at, 1);
    } else {
        m->base = shared_variable(
            g, t, kiln_format(g->arena, "%sshared%zu", g->prefix, g->shared_memory.n),
            align);
        LLVMSetLinkage(m->base, LLVMInternalLinkage);
        LLVMSetInitializer(m->base, LLVMGetUndef(t));
    }
    g->shared += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    kiln_vec_push(g->arena, &g->shared_memory, *m);
}

/* One for each that there is of these axes. */
static void in_workspace(kiln_cg *g, size_t bytes, unsigned axes, kiln_cg_mem *m) {
    const size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    LLVMValueRef at = LLVMConstNull(g->i64);
    int64_t n = 1;
    for (int i = 0; i < KILN_N_AXES; i++) {
        if (g->extent[i] == 1 || (axes >> i & 1u) == 0)
            continue;
        at = LLVMBuildAdd(
            g->b, at, LLVMBuildMul(g->b, g->axis[i], kiln_cg_int(g, g->i64, n, 1), ""),
            "");
        n = n > max_memory / g->extent[i] ? max_memory : n * g->extent[i];
    }
    if (room > 0 && n > max_memory / (int64_t)room) {
        kiln_cg_fail(g, KILN_ERR_LIMIT, "the memory of '%s' must stay below %" PRId64,
                     g->p->name, max_memory);
        n = 1;
    }
    at = LLVMBuildMul(g->b, at, kiln_cg_int(g, g->i64, (int64_t)room, 1), "");
    at = LLVMBuildAdd(g->b, at, kiln_cg_int(g, g->i64, (int64_t)g->workspace, 1), "");
    m->place = KILN_CG_WORKSPACE;
    m->base = LLVMBuildInBoundsGEP2(g->b, g->i8, g->work, &at, 1, "");
    g->workspace += room * (size_t)n;
    if (g->workspace > g->max_workspace)
        g->max_workspace = g->workspace;
}

void kiln_nvptx_allocate(kiln_cg *g, const kiln_buffer *b, size_t bytes,
                         kiln_cg_mem *m) {
    const bool is_own = b->scope != KILN_SCOPE_GLOBAL;
    *m = (kiln_cg_mem){.buffer = b};
    if (b->scope == KILN_SCOPE_FRAGMENT) {
        kiln_nvptx_fragment(g, b, m);
    } else if (b->scope == KILN_SCOPE_SHARED) {
        in_shared(g, b, bytes, m);
    } else if (is_own && bytes <= KILN_NVPTX_PRIVATE - g->stack) {
        m->place = KILN_CG_STACK;
        m->base = kiln_cg_local(g, array_of(g, b, bytes), ALIGN);
        g->stack += bytes;
    } else {
        in_workspace(g, bytes, is_own ? ~0u : g->bound, m);
    }
}
