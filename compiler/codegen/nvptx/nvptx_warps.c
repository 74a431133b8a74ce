/* What a warp does together: matrix products of tensor cores, whose sums are fragments, and
 * copies to shared memory that come while threads go on.
 *
 * A fragment is a local variable of each thread, the elements that the thread holds
 * (compiler/loop/fragment.h); once loops are unrolled each has a known place in it, and so
 * becomes a register. Operands come from shared memory by ldmatrix, as one call after the
 * other wants them: LLVM takes equal ones together. */
#include "compiler/codegen/nvptx/nvptx.h"

#include "compiler/loop/fragment.h"

#include <inttypes.h>
#include <string.h>

/* An instruction on blocks of 16 x 16; b's terms along a row: not transposed. */
typedef struct product {
    const char *name; /* of the program that is called, up to the point */
    const char *mma;
    bool b_along_k;
    bool is_half2; /* operands are pairs of halves, else words */
    bool is_int;   /* sums are i32 */
} product;

static const product products[] = {
    {"mma_f16", "llvm.nvvm.mma.m16n8k16.row.col.f32.f32", false, true, false},
    {"mma_f16_t", "llvm.nvvm.mma.m16n8k16.row.col.f32.f32", true, true, false},
    {"mma_bf16", "llvm.nvvm.mma.m16n8k16.row.col.bf16", false, false, false},
    {"mma_bf16_t", "llvm.nvvm.mma.m16n8k16.row.col.bf16", true, false, false},
    {"mma_s8_t", "llvm.nvvm.mma.m16n8k32.row.col.s8", true, false, true},
};

/* Rows of an 8 x 8 matrix; words of ldmatrix.x4. */
enum { BYTES = 16, SIDE = 16, WORDS = 4, COLUMNS = 8 };

static const product *product_of(const char *name) {
    const size_t n = strcspn(name, ".");
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        if (strlen(products[i].name) == n && strncmp(products[i].name, name, n) == 0)
            return &products[i];
    return NULL;
}

/* ---- fragments ------------------------------------------------------------------- */

void kiln_nvptx_fragment(kiln_cg *g, const kiln_buffer *b, kiln_cg_mem *m) {
    m->place = KILN_CG_STACK;
    m->form = kiln_fragment_form_of(g->p->body, b);
    const int threads = KILN_WARP * (m->form.warps > 0 ? m->form.warps : 1);
    const int64_t elems = kiln_buffer_elems(b) / threads;
    if (m->form.row == 0 || elems < 1 || g->extent[KILN_AXIS_THREAD_X] != threads ||
        (g->bound >> KILN_AXIS_THREAD_X & 1u) != 0)
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "fragment '%s' must be made by matrix products of whole blocks, "
                     "in blocks of %d threads along threadIdx.x, outside their loops",
                     b->name, threads);
    const LLVMTypeRef t = LLVMArrayType2(kiln_cg_memory_type(g, b->dtype),
                                         (uint64_t)(elems < 1 ? 1 : elems));
    m->base = kiln_cg_local(g, t, BYTES);
    kiln_vec_push(g->arena, &g->fragments, *m);
}

LLVMValueRef kiln_nvptx_element(kiln_cg *g, const kiln_cg_mem *m, int64_t number) {
    LLVMValueRef at = kiln_cg_int(g, g->i64, number, 1);
    return LLVMBuildInBoundsGEP2(g->b, kiln_cg_memory_type(g, m->buffer->dtype),
                                 m->base, &at, 1, "");
}

static void find_across(void *user, const kiln_stmt *s) {
    kiln_cg *g = user;
    if (s->kind == KILN_STMT_FOR && s->u.loop.kind == KILN_LOOP_THREAD &&
        kiln_launch_axis_of(s->u.loop.tag) == KILN_AXIS_THREAD_X)
        kiln_vec_push(g->arena, &g->across, s->u.loop.var);
}

static void find_async(void *user, const kiln_stmt *s) {
    kiln_cg *g = user;
    int64_t n = 0;
    if (s->kind != KILN_STMT_ATTR || s->u.attr.key != KILN_STMT_ATTR_ASYNC)
        return;
    (void)kiln_x_is_int(s->u.attr.value, &n);
    g->may_miss = g->may_miss < 0 || n < g->may_miss ? n : g->may_miss;
}

void kiln_nvptx_find(kiln_cg *g) {
    g->across.n = 0;
    g->may_miss = -1;
    g->is_async = false;
    kiln_stmt_visit(g->p->body, find_across, g);
    if (kiln_gpu_has_mma(g->profile)) /* else copies come at once */
        kiln_stmt_visit(g->p->body, find_async, g);
    kiln_nvptx_find_groups(g);
}

/* The element that a thread of the warp reads; -1: more than the thread decides. */
static int64_t read_by(kiln_cg *g, const kiln_expr *index, int thread) {
    const kiln_ranges none = {.arena = g->arena};
    kiln_subst *map = kiln_array(g->arena, kiln_subst, g->across.n + 1);
    int64_t at = -1;
    for (size_t i = 0; i < g->across.n; i++)
        map[i] = (kiln_subst){g->across.v[i],
                              kiln_x_int(g->arena, g->across.v[i]->dtype, thread)};
    index = kiln_expr_substitute(g->arena, index, map, g->across.n);
    return kiln_x_is_int(kiln_simplify_expr(&none, g->arena, index), &at) ? at : -1;
}

/* Its place in what each thread holds; -1: not all threads read what they hold there. */
static int64_t held_at(kiln_cg *g, const kiln_expr *index, kiln_fragment_form form) {
    int64_t place = -1;
    for (int t = 0; t < KILN_WARP * form.warps; t++) {
        const int64_t at = read_by(g, index, t);
        if (at < 0 ||
            kiln_fragment_thread(at / form.row, at % form.row, form.warps) != t)
            return -1;
        const int64_t here = kiln_fragment_element(at / form.row, at % form.row, form);
        if (t > 0 && here != place)
            return -1;
        place = here;
    }
    return place;
}

static const kiln_expr *lane_of(kiln_arena *a, const kiln_expr *index, int lane) {
    if (index->lanes == 1)
        return index;
    return index->kind == KILN_EXPR_RAMP
               ? kiln_x_add(a, index->arg[0],
                            kiln_x_mul(a, index->arg[1], kiln_x_index(a, lane)))
               : NULL;
}

LLVMValueRef kiln_nvptx_load_fragment(kiln_cg *g, const kiln_expr *e) {
    const kiln_buffer *b = e->u.load.buffer;
    const kiln_cg_mem *m = kiln_cg_memory_of(g, b);
    const LLVMTypeRef one = kiln_cg_value_type(g, e->dtype);
    LLVMValueRef out = LLVMGetPoison(kiln_cg_vector(one, e->lanes));
    for (int i = 0; m != NULL && i < e->lanes && g->status == KILN_OK; i++) {
        const kiln_expr *index = lane_of(g->arena, e->arg[0], i);
        const int64_t place =
            index != NULL && m->form.row > 0 ? held_at(g, index, m->form) : -1;
        if (place < 0) {
            kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                         "elements of fragment '%s' must be read by the threads that "
                         "hold them, at places that are known once loops are unrolled",
                         b->name);
            break;
        }
        const LLVMValueRef v =
            LLVMBuildLoad2(g->b, one, kiln_nvptx_element(g, m, place), "");
        out = e->lanes == 1
                  ? v
                  : LLVMBuildInsertElement(
                        g->b, out, v, LLVMConstInt(g->i32, (unsigned)i, false), "");
    }
    return out;
}

/* ---- operands -------------------------------------------------------------------- */

/* Elements from a row of an operand to the next: a block of 16 rows is given from its
 * first element to its last. */
static int64_t row_of(const kiln_buffer *b, int64_t columns) {
    return (kiln_buffer_elems(b) - columns) / (SIDE - 1);
}

static LLVMValueRef number(kiln_cg *g, int64_t v) {
    return kiln_cg_int(g, g->i64, v, 1);
}

/* Elements from the first to where thread `thread` begins. */
static LLVMValueRef named_by(kiln_cg *g, int thread, bool along_rows, int64_t row,
                             int64_t column) {
    int r = 0, c = 0;
    kiln_fragment_named(thread, along_rows, &r, &c);
    return number(g, r * row + c * column);
}

/* kiln_fragment_named of the thread, in elements: the low three bits of its number count rows,
 * each of the others adds what it alone would. */
static LLVMValueRef row_address(kiln_cg *g, int64_t row, int64_t column,
                                bool along_rows) {
    const LLVMValueRef t = g->axis[KILN_AXIS_THREAD_X];
    const LLVMValueRef low = LLVMBuildAnd(g->b, t, number(g, 7), "");
    const LLVMValueRef second =
        LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, t, number(g, 3), ""), number(g, 1), "");
    const LLVMValueRef third = LLVMBuildLShr(g->b, t, number(g, 4), "");
    const LLVMValueRef part[] = {
        LLVMBuildMul(g->b, low, number(g, row), ""),
        LLVMBuildMul(g->b, second, named_by(g, 8, along_rows, row, column), ""),
        LLVMBuildMul(g->b, third, named_by(g, 16, along_rows, row, column), "")};
    return LLVMBuildAdd(g->b, LLVMBuildAdd(g->b, part[0], part[1], ""), part[2], "");
}

/* A block of 16 rows of 32 bytes from shared memory: four words a thread. */
static bool load_block(kiln_cg *g, const kiln_stmt *s, int arg, bool along_rows,
                       bool transposes, LLVMValueRef out[WORDS]) {
    const kiln_expr *place = s->u.call.arg[arg];
    const kiln_buffer *b = place->u.load.buffer;
    const kiln_cg_mem *m = kiln_cg_memory_of(g, b);
    const int64_t bytes = (int64_t)kiln_dtype_bytes(b->dtype), each = BYTES / bytes;
    const int64_t row = row_of(s->u.call.program->arg[arg], 2 * each);
    if (m == NULL)
        return false;
    if (b->scope != KILN_SCOPE_SHARED || row % each != 0 ||
        kiln_expr_divisor(place->arg[0]) % each != 0) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "operand '%s' of '%s' must be in shared memory, in rows of whole "
                     "%d bytes",
                     b->name, s->u.call.program->name, BYTES);
        return false;
    }
    /* What differs between calls is added last, as the instruction's own offset. */
    const kiln_expr *base = place->arg[0];
    int64_t constant = 0;
    if (base->kind == KILN_EXPR_ADD && kiln_x_is_int(base->arg[1], &constant))
        base = base->arg[0];
    const LLVMTypeRef t = kiln_cg_memory_type(g, b->dtype);
    LLVMValueRef index = LLVMBuildAdd(g->b, kiln_cg_expr(g, base, NULL),
                                      row_address(g, row, each, along_rows), "");
    LLVMValueRef p = LLVMBuildGEP2(g->b, t, m->base, &index, 1, "");
    index = number(g, constant);
    p = LLVMBuildGEP2(g->b, t, p, &index, 1, "");
    LLVMTypeRef type = LLVMTypeOf(p);
    const LLVMValueRef all = kiln_cg_intrinsic(
        g,
        transposes ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                   : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16",
        &type, 1, &p, 1);
    for (unsigned i = 0; i < WORDS; i++)
        out[i] = LLVMBuildExtractValue(g->b, all, i, "");
    return true;
}

static LLVMValueRef as_operand(kiln_cg *g, const product *x, LLVMValueRef word) {
    if (!x->is_half2)
        return word;
    const LLVMTypeRef half = LLVMHalfTypeInContext(g->cx);
    return LLVMBuildBitCast(g->b, word, LLVMVectorType(half, 2), "");
}

/* ---- calls ----------------------------------------------------------------------- */

/* Where the sums of both blocks of 8 columns lie in what a thread holds; -1: unknown. */
static int64_t sums_at(kiln_cg *g, const kiln_stmt *s, const kiln_cg_mem *m) {
    const kiln_program *p = s->u.call.program;
    const kiln_ranges none = {.arena = g->arena};
    const int rows = KILN_FRAGMENT_ROWS * kiln_program_warps(p);
    int64_t at = 0;
    if (m == NULL || m->form.row == 0 ||
        !kiln_x_is_int(
            kiln_simplify_expr(&none, g->arena, s->u.call.arg[p->n_args - 1]->arg[0]),
            &at) ||
        at / m->form.row % rows != 0 || at % m->form.row % KILN_FRAGMENT_COLUMNS != 0) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "'%s' must add to whole blocks of a fragment, at places that are "
                     "known once loops are unrolled",
                     p->name);
        return -1;
    }
    return kiln_fragment_element(at / m->form.row, at % m->form.row, m->form);
}

static void reset(kiln_cg *g, const kiln_cg_mem *m, int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        LLVMBuildStore(g->b, LLVMConstNull(kiln_cg_memory_type(g, m->buffer->dtype)),
                       kiln_nvptx_element(g, m, at + i));
}

/* One instruction: 16 x 8. */
static void multiply(kiln_cg *g, const product *x, const kiln_cg_mem *m, int64_t at,
                     const LLVMValueRef a[WORDS], const LLVMValueRef b[2]) {
    LLVMValueRef arg[WORDS + 2 + KILN_FRAGMENT_HELD];
    const LLVMTypeRef t = kiln_cg_memory_type(g, m->buffer->dtype);
    unsigned n = 0;
    for (int i = 0; i < WORDS; i++)
        arg[n++] = as_operand(g, x, a[i]);
    for (int i = 0; i < 2; i++)
        arg[n++] = as_operand(g, x, b[i]);
    for (int i = 0; i < KILN_FRAGMENT_HELD; i++)
        arg[n++] = LLVMBuildLoad2(g->b, t, kiln_nvptx_element(g, m, at + i), "");
    const LLVMValueRef sums = kiln_cg_intrinsic(g, x->mma, NULL, 0, arg, n);
    for (unsigned i = 0; i < KILN_FRAGMENT_HELD; i++)
        LLVMBuildStore(g->b, LLVMBuildExtractValue(g->b, sums, i, ""),
                       kiln_nvptx_element(g, m, at + i));
}

void kiln_nvptx_call(kiln_cg *g, const kiln_stmt *s) {
    const kiln_program *p = s->u.call.program;
    const product *x = product_of(p->name);
    LLVMValueRef a[WORDS], b[WORDS];
    const kiln_cg_mem *m =
        kiln_cg_memory_of(g, s->u.call.arg[p->n_args - 1]->u.load.buffer);
    const int64_t at = sums_at(g, s, m);
    if (at < 0)
        return;
    if (p->n_args == 1) {
        reset(g, m, at, kiln_program_columns(p) / COLUMNS * KILN_FRAGMENT_HELD);
        return;
    }
    if (kiln_program_warps(p) > 1) {
        kiln_nvptx_group_call(g, s, m, at);
        return;
    }
    KILN_ASSERT(x != NULL, "kiln_backend_check refuses a call of '%s'", p->name);
    if (!kiln_gpu_has_mma(g->profile)) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED, "'%s' has no tensor cores for '%s'",
                     g->profile->name, p->name);
        return;
    }
    if (!load_block(g, s, 0, false, false, a) ||
        !load_block(g, s, 1, x->b_along_k, !x->b_along_k, b))
        return;
    multiply(g, x, m, at, a, b);
    multiply(g, x, m, at + KILN_FRAGMENT_HELD, a, b + 2);
}

/* ---- copies that come later ------------------------------------------------------ */

void kiln_nvptx_async(kiln_cg *g, const kiln_stmt *s) {
    g->is_async = g->may_miss >= 0;
    kiln_cg_stmt(g, s->u.attr.body);
    g->is_async = false;
    if (g->may_miss >= 0)
        (void)kiln_cg_intrinsic(g, "llvm.nvvm.cp.async.commit.group", NULL, 0, NULL, 0);
}

/* Before a barrier. */
void kiln_nvptx_wait(kiln_cg *g) {
    LLVMValueRef n = LLVMConstInt(g->i32, (unsigned long long)g->may_miss, false);
    if (g->may_miss >= 0)
        (void)kiln_cg_intrinsic(g, "llvm.nvvm.cp.async.wait.group", NULL, 0, &n, 1);
    kiln_nvptx_group_wait(g);
}

static bool is_zero(const kiln_expr *e) {
    return (e->kind == KILN_EXPR_INT && e->u.i == 0) ||
           (e->kind == KILN_EXPR_FLOAT && e->u.f == 0);
}

/* The load that is copied; with a condition: zeros, where that does not hold. NULL: it is
 * none of these. */
static const kiln_expr *copied(const kiln_expr *e, const kiln_expr **cond) {
    *cond = NULL;
    if (e->kind == KILN_EXPR_SELECT && e->lanes == 1 && is_zero(e->arg[2]) &&
        !kiln_cg_is_unsafe(e->arg[0])) {
        *cond = e->arg[0];
        e = e->arg[1];
    }
    if (e->kind != KILN_EXPR_LOAD || e->u.load.mask != NULL)
        return NULL;
    for (int i = 0; *cond != NULL && i < e->u.load.buffer->rank; i++)
        if (kiln_cg_is_unsafe(e->arg[i]))
            return NULL;
    return e;
}

/* How many of the bytes are copied, others are zeros; what is not read is not asked for
 * at an address behind the buffer either. */
static LLVMValueRef bytes_where(kiln_cg *g, const kiln_expr *cond, int64_t bytes,
                                const kiln_buffer *from, LLVMValueRef *address) {
    const LLVMValueRef c = kiln_cg_expr(g, cond, NULL);
    *address = LLVMBuildSelect(g->b, c, *address, kiln_cg_memory_of(g, from)->base, "");
    return LLVMBuildSelect(g->b, c, kiln_cg_int(g, g->i32, bytes, 1),
                           LLVMConstNull(g->i32), "");
}

bool kiln_nvptx_copy_to(kiln_cg *g, const kiln_stmt *s, LLVMValueRef to,
                        unsigned to_align) {
    static const char *const copies[][2] = {
        {"llvm.nvvm.cp.async.ca.shared.global.4",
         "llvm.nvvm.cp.async.ca.shared.global.4.s"},
        {"llvm.nvvm.cp.async.ca.shared.global.8",
         "llvm.nvvm.cp.async.ca.shared.global.8.s"},
        {"llvm.nvvm.cp.async.cg.shared.global.16",
         "llvm.nvvm.cp.async.cg.shared.global.16.s"}};
    if (!g->is_async || s->u.store.mask != NULL ||
        s->u.store.buffer->scope != KILN_SCOPE_SHARED)
        return false;
    const kiln_expr *cond, *from = copied(s->u.store.value, &cond);
    if (from == NULL)
        return false;
    const int64_t bytes =
        (int64_t)kiln_dtype_bytes(s->u.store.buffer->dtype) * from->lanes;
    unsigned align[2] = {to_align, 0};
    if (bytes != 4 && bytes != 8 && bytes != BYTES)
        return false;
    LLVMValueRef arg[3] = {
        to != NULL ? to
                   : kiln_cg_address(g, s->u.store.buffer, s->u.store.index, &align[0]),
        kiln_cg_address(g, from->u.load.buffer, from->arg, &align[1])};
    if (arg[0] == NULL || arg[1] == NULL || align[0] < bytes || align[1] < bytes ||
        LLVMGetPointerAddressSpace(LLVMTypeOf(arg[1])) != KILN_NVPTX_GLOBAL)
        return false;
    if (cond != NULL)
        arg[2] = bytes_where(g, cond, bytes, from->u.load.buffer, &arg[1]);
    (void)kiln_cg_intrinsic(g, copies[bytes == BYTES ? 2 : bytes / 8][cond != NULL],
                            NULL, 0, arg, cond != NULL ? 3 : 2);
    return true;
}

bool kiln_nvptx_copy(kiln_cg *g, const kiln_stmt *s) {
    return kiln_nvptx_copy_to(g, s, NULL, 0);
}
