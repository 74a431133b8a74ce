/* What a warpgroup, four warps, does together: products of tensor cores that read both
 * operands from shared memory by themselves and go on while threads do (wgmma.mma_async; NVIDIA,
 * PTX ISA 8.5, 9.7.14.7), which sm_90a alone has.
 *
 * Operands are swizzled: within 1024 bytes, eight rows of 128, piece p of 16 bytes of row r is
 * where piece p XOR r % 8 would be, so that rows beneath each other meet different banks. The
 * instruction does that with addresses by itself; threads write whole pieces, by
 * kiln_nvptx_swizzled_store. Nobody else may read or write such a buffer. */
#include "compiler/codegen/nvptx/nvptx.h"

#include "compiler/loop/fragment.h"

#include <inttypes.h>
#include <string.h>

enum {
    PIECE = 16,  /* bytes that keep together */
    HALF = 2,    /* bytes of an element */
    ROW = 64,    /* elements: 128 bytes */
    DEPTH = 16,  /* terms of one instruction */
    EIGHT = 512, /* elements of eight rows: places of pieces repeat */
    ROWS = KILN_WARPGROUP * KILN_FRAGMENT_ROWS,
    HELD = KILN_FRAGMENT_HELD,
    BLOCK_COLUMNS = 8
};

typedef struct product {
    const char *name; /* of the program that is called, up to the point */
    const char *type; /* of operands */
    bool b_along_k;
} product;

static const product products[] = {{"wgmma_f16", "f16", false},
                                   {"wgmma_f16_t", "f16", true},
                                   {"wgmma_bf16", "bf16", false},
                                   {"wgmma_bf16_t", "bf16", true}};

static const product *product_of(const char *name) {
    const size_t n = strcspn(name, ".");
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        if (strlen(products[i].name) == n && strncmp(products[i].name, name, n) == 0)
            return &products[i];
    return NULL;
}

/* ---- what is looked up in a whole function --------------------------------------- */

static bool is_update(const kiln_stmt *s) {
    return s->kind == KILN_STMT_CALL && kiln_program_warps(s->u.call.program) > 1 &&
           s->u.call.program->n_args > 1;
}

static void find(void *user, const kiln_stmt *s) {
    kiln_cg *g = user;
    int64_t n = 0;
    if (s->kind == KILN_STMT_ATTR && s->u.attr.key == KILN_STMT_ATTR_PRODUCTS) {
        (void)kiln_x_is_int(s->u.attr.value, &n);
        g->may_run = g->may_run < 0 || n < g->may_run ? n : g->may_run;
    }
    for (int i = 0; is_update(s) && i < s->u.call.program->n_args - 1; i++) {
        const kiln_buffer *b = s->u.call.arg[i]->u.load.buffer;
        if (!kiln_nvptx_is_swizzled(g, b))
            kiln_vec_push(g->arena, &g->swizzled, b);
    }
}

static void check_load(void *user, const kiln_expr *e) {
    kiln_cg *g = user;
    if (e->kind == KILN_EXPR_LOAD && kiln_nvptx_is_swizzled(g, e->u.load.buffer))
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "'%s' lies as warpgroups multiply it, and is read by a thread; "
                     "only products may",
                     e->u.load.buffer->name);
}

static void check_expr(void *user, const kiln_expr *e) {
    kiln_expr_visit(e, check_load, user);
}

static void check_loads(void *user, const kiln_stmt *s) {
    kiln_cg *g = user;
    if (!is_update(s))
        kiln_stmt_exprs(s, check_expr, g);
}

void kiln_nvptx_find_groups(kiln_cg *g) {
    g->swizzled.n = g->fragments.n = 0;
    g->may_run = -1;
    g->is_grouped = false;
    g->empty_groups = 0;
    kiln_stmt_visit(g->p->body, find, g);
    if (g->swizzled.n > 0)
        kiln_stmt_visit(g->p->body, check_loads, g);
}

bool kiln_nvptx_is_swizzled(const kiln_cg *g, const kiln_buffer *b) {
    for (size_t i = 0; i < g->swizzled.n; i++)
        if (g->swizzled.v[i] == b)
            return true;
    return false;
}

static void find_call(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || is_update(s);
}

bool kiln_nvptx_has_groups(const kiln_program *p) {
    bool found = false;
    kiln_stmt_visit(p->body, find_call, &found);
    return found;
}

/* ---- assembly -------------------------------------------------------------------- */

/* It is done by all threads of the warps at once, where it stands. */
static LLVMValueRef assembly(kiln_cg *g, LLVMTypeRef result, const char *text,
                             const char *takes, LLVMValueRef *arg, unsigned n) {
    LLVMTypeRef *type = kiln_array(g->arena, LLVMTypeRef, n + 1);
    for (unsigned i = 0; i < n; i++)
        type[i] = LLVMTypeOf(arg[i]);
    const LLVMTypeRef f = LLVMFunctionType(result, type, n, false);
    const LLVMValueRef v =
        LLVMBuildCall2(g->b, f,
                       LLVMGetInlineAsm(f, text, strlen(text), takes, strlen(takes),
                                        true, false, LLVMInlineAsmDialectATT, false),
                       arg, n, "");
    const unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
    LLVMAddCallSiteAttribute(v, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(g->cx, kind, 0));
    return v;
}

static void instruction(kiln_cg *g, const char *text) {
    (void)assembly(g, LLVMVoidTypeInContext(g->cx), text, "~{memory}", NULL, 0);
}

/* Of an instruction on registers that are sums before and after it, and on `more` numbers of
 * 64 bits. */
static const char *takes_sums(kiln_cg *g, int64_t sums, int more) {
    kiln_buf out;
    kiln_buf_init(&out, g->arena);
    for (int64_t i = 0; i < sums; i++)
        kiln_buf_puts(&out, "=f,");
    for (int64_t i = 0; i < sums; i++)
        kiln_buf_printf(&out, "%" PRId64 ",", i);
    for (int i = 0; i < more; i++)
        kiln_buf_puts(&out, "l,");
    kiln_buf_puts(&out, "~{memory}");
    return out.p;
}

/* `count` sums of a fragment, from the `first` that a thread holds on, go through it. */
typedef struct sums {
    const kiln_cg_mem *m;
    int64_t first, count;
} sums;

static void through(kiln_cg *g, const sums *list, size_t n_list, const char *text,
                    const LLVMValueRef *more, int n_more) {
    int64_t n = 0;
    unsigned k = 0;
    for (size_t i = 0; i < n_list; i++)
        n += list[i].count;
    LLVMValueRef *arg = kiln_array(g->arena, LLVMValueRef, n + n_more + 1);
    LLVMTypeRef *type = kiln_array(g->arena, LLVMTypeRef, n + 1);
    for (size_t i = 0; i < n_list; i++)
        for (int64_t e = 0; e < list[i].count; e++, k++) {
            arg[k] = LLVMBuildLoad2(
                g->b, g->f32, kiln_nvptx_element(g, list[i].m, list[i].first + e), "");
            type[k] = g->f32;
        }
    for (int i = 0; i < n_more; i++)
        arg[k + (unsigned)i] = more[i];
    const LLVMValueRef all =
        assembly(g, LLVMStructTypeInContext(g->cx, type, k, false), text,
                 takes_sums(g, n, n_more), arg, k + (unsigned)n_more);
    k = 0;
    for (size_t i = 0; i < n_list; i++)
        for (int64_t e = 0; e < list[i].count; e++, k++)
            LLVMBuildStore(g->b, LLVMBuildExtractValue(g->b, all, k, ""),
                           kiln_nvptx_element(g, list[i].m, list[i].first + e));
}

/* Until at most n groups go on; sums are not looked at before. */
static void wait_for(kiln_cg *g, int64_t n) {
    sums *list = kiln_array(g->arena, sums, g->fragments.n + 1);
    for (size_t i = 0; i < g->fragments.n; i++) {
        const kiln_cg_mem *m = &g->fragments.v[i];
        list[i] = (sums){
            m, 0, kiln_buffer_elems(m->buffer) / ((int64_t)KILN_WARP * m->form.warps)};
    }
    through(g, list, g->fragments.n,
            kiln_format(g->arena, "wgmma.wait_group.sync.aligned %" PRId64 ";", n),
            NULL, 0);
}

/* ---- operands -------------------------------------------------------------------- */

static LLVMValueRef number(kiln_cg *g, int64_t v) {
    return kiln_cg_int(g, g->i64, v, 1);
}

/* What differs between unrolled places is added last: the index without it. */
static const kiln_expr *without_constant(const kiln_expr *e, int64_t *constant) {
    *constant = 0;
    return e->kind == KILN_EXPR_ADD && kiln_x_is_int(e->arg[1], constant) ? e->arg[0]
                                                                          : e;
}

/* Is it a multiple of eight rows, whatever its variables are? */
static bool is_of_eights(const kiln_expr *e) {
    int64_t v = 0;
    if (kiln_x_is_int(e, &v))
        return v % EIGHT == 0;
    if (e->kind == KILN_EXPR_ADD || e->kind == KILN_EXPR_SUB)
        return is_of_eights(e->arg[0]) && is_of_eights(e->arg[1]);
    return e->kind == KILN_EXPR_MUL &&
           (is_of_eights(e->arg[0]) || is_of_eights(e->arg[1]));
}

/* Elements from a panel of an operand to the next; -1: it does not lie so. */
static int64_t panel_of(const product *x, const kiln_program *p, int arg) {
    const int64_t n = kiln_buffer_elems(p->arg[arg]),
                  panels = kiln_program_columns(p) / KILN_WARPGROUP_COLUMNS;
    if (arg == 0)
        return n == (ROWS - 1) * ROW + DEPTH ? 0 : -1;
    const int64_t last =
        x->b_along_k ? (KILN_WARPGROUP_COLUMNS - 1) * ROW + DEPTH : DEPTH * ROW;
    const int64_t panel = panels > 1 ? (n - last) / (panels - 1) : EIGHT;
    const bool is_whole = panels * panel - panel + last == n && panel % EIGHT == 0;
    return is_whole && (!x->b_along_k || panels == 1 || panel == (int64_t)ROWS * ROW)
               ? panel
               : -1;
}

/* What tells the instruction of an operand: where it begins; from a panel to the next, and
 * from eight rows to the next, in pieces; 1: places change in rows of 128 bytes. NULL:
 * refused. (9.7.14.5.1 "Shared Memory Matrix Layout", "Matrix Descriptor Format".) */
static LLVMValueRef descriptor(kiln_cg *g, const kiln_stmt *s, const product *x,
                               int arg) {
    enum { ADDRESS = 0x3ffff, PANEL_AT = 16, EIGHT_AT = 32, SWIZZLE_AT = 62 };
    const kiln_program *p = s->u.call.program;
    const kiln_expr *place = s->u.call.arg[arg];
    const kiln_buffer *b = place->u.load.buffer;
    const kiln_cg_mem *m = kiln_cg_memory_of(g, b);
    const int64_t panel = panel_of(x, p, arg);
    const bool in_rows = arg == 0 || x->b_along_k;
    int64_t constant = 0;
    const kiln_expr *base = without_constant(place->arg[0], &constant);
    const int64_t within = constant % EIGHT;
    if (m == NULL)
        return NULL;
    if (b->scope != KILN_SCOPE_SHARED || panel < 0 || !is_of_eights(base) ||
        constant < 0 ||
        (in_rows ? within % DEPTH != 0 || within >= ROW : within != 0)) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "operand '%s' of '%s' must be in shared memory, in rows of %d "
                     "elements from a multiple of eight rows on",
                     b->name, p->name, ROW);
        return NULL;
    }
    LLVMValueRef index = kiln_cg_expr(g, base, NULL);
    const LLVMValueRef at =
        LLVMBuildGEP2(g->b, kiln_cg_memory_type(g, b->dtype), m->base, &index, 1, "");
    LLVMValueRef d = LLVMBuildPtrToInt(g->b, at, g->i64, "");
    d = LLVMBuildAnd(g->b, d, number(g, ADDRESS), "");
    d = LLVMBuildLShr(g->b, d, number(g, 4), "");
    const uint64_t rest = (uint64_t)(in_rows ? 1 : panel * HALF / PIECE) << PANEL_AT |
                          (uint64_t)(EIGHT * HALF / PIECE) << EIGHT_AT |
                          (uint64_t)1 << SWIZZLE_AT;
    return LLVMBuildAdd(
        g->b, d,
        LLVMConstInt(g->i64, rest + (uint64_t)(constant * HALF / PIECE), false), "");
}

/* Where a piece of 16 bytes goes that lies at `index` for everybody else; NULL: it is
 * none. */
static LLVMValueRef swizzled(kiln_cg *g, const kiln_cg_mem *m, const kiln_expr *index,
                             int64_t bytes) {
    int64_t constant = 0, step = 1;
    if (index->kind == KILN_EXPR_RAMP) {
        (void)kiln_x_is_int(index->arg[1], &step);
        index = index->arg[0];
    }
    if (bytes != PIECE || step != 1 || kiln_expr_divisor(index) % (PIECE / HALF) != 0)
        return NULL;
    const kiln_expr *base = without_constant(index, &constant);
    if (constant % EIGHT != 0) {
        base = index;
        constant = 0;
    }
    LLVMValueRef at =
        LLVMBuildMul(g->b, kiln_cg_expr(g, base, NULL), number(g, HALF), "");
    const LLVMValueRef row = LLVMBuildLShr(g->b, at, number(g, 3), "");
    at = LLVMBuildXor(g->b, at, LLVMBuildAnd(g->b, row, number(g, 0x70), ""), "");
    const LLVMValueRef p = LLVMBuildGEP2(g->b, g->i8, m->base, &at, 1, "");
    at = number(g, constant * HALF);
    return LLVMBuildGEP2(g->b, g->i8, p, &at, 1, "");
}

void kiln_nvptx_swizzled_store(kiln_cg *g, const kiln_stmt *s) {
    const kiln_buffer *b = s->u.store.buffer;
    const kiln_expr *value = s->u.store.value;
    const kiln_cg_mem *m = kiln_cg_memory_of(g, b);
    const LLVMValueRef at =
        m != NULL && s->u.store.mask == NULL
            ? swizzled(g, m, s->u.store.index[0],
                       value->lanes * (int64_t)kiln_dtype_bytes(b->dtype))
            : NULL;
    if (m == NULL)
        return;
    if (at == NULL) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "'%s' lies as warpgroups multiply it, and must be written in "
                     "whole pieces of %d bytes",
                     b->name, PIECE);
        return;
    }
    if (kiln_nvptx_copy_to(g, s, at, PIECE))
        return;
    LLVMSetAlignment(LLVMBuildStore(g->b, kiln_cg_expr(g, value, NULL), at), PIECE);
}

/* ---- calls ----------------------------------------------------------------------- */

static const char *text_of(kiln_cg *g, const product *x, int64_t columns) {
    const int64_t n = columns / BLOCK_COLUMNS * HELD;
    kiln_buf out;
    kiln_buf_init(&out, g->arena);
    kiln_buf_printf(&out,
                    "{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, 1, 0;\n\t"
                    "wgmma.mma_async.sync.aligned.m64n%" PRId64 "k16.f32.%s.%s {",
                    columns, x->type, x->type);
    for (int64_t i = 0; i < n; i++)
        kiln_buf_printf(&out, "%s$%" PRId64, i > 0 ? ", " : "", i);
    kiln_buf_printf(&out, "}, $%" PRId64 ", $%" PRId64 ", adds, 1, 1, 0, %d;\n\t}",
                    2 * n, 2 * n + 1, x->b_along_k ? 0 : 1);
    return out.p;
}

void kiln_nvptx_group_call(kiln_cg *g, const kiln_stmt *s, const kiln_cg_mem *m,
                           int64_t at) {
    const kiln_program *p = s->u.call.program;
    const product *x = product_of(p->name);
    const int64_t columns = kiln_program_columns(p);
    KILN_ASSERT(x != NULL, "kiln_backend_check refuses a call of '%s'", p->name);
    if (!kiln_gpu_has_wgmma(g->profile)) {
        kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                     "'%s' has no warpgroups' tensor cores for '%s'", g->profile->name,
                     p->name);
        return;
    }
    const LLVMValueRef operand[2] = {descriptor(g, s, x, 0), descriptor(g, s, x, 1)};
    if (operand[0] == NULL || operand[1] == NULL)
        return;
    const sums all = {m, at, columns / BLOCK_COLUMNS * HELD};
    if (!g->is_grouped) {
        instruction(g, "fence.proxy.async;");
        instruction(g, "wgmma.fence.sync.aligned;");
    }
    through(g, &all, 1, text_of(g, x, columns), operand, 2);
    if (!g->is_grouped) {
        instruction(g, "wgmma.commit_group.sync.aligned;");
        wait_for(g, 0);
    }
}

static void find_any(void *user, const kiln_stmt *s) {
    bool *found = user;
    *found = *found || is_update(s);
}

/* Of an empty group behind another all that is left is that the next barrier waits for one
 * more, which the assembler understands; where barriers leave one at most, groups in front
 * of both need not be counted. */
void kiln_nvptx_products(kiln_cg *g, const kiln_stmt *s) {
    bool has_any = false;
    kiln_stmt_visit(s->u.attr.body, find_any, &has_any);
    if (!has_any && g->may_run <= 1) {
        g->empty_groups++;
        return;
    }
    g->empty_groups = 0;
    g->is_grouped = true;
    instruction(g, "wgmma.fence.sync.aligned;");
    kiln_cg_stmt(g, s->u.attr.body);
    instruction(g, "wgmma.commit_group.sync.aligned;");
    g->is_grouped = false;
}

void kiln_nvptx_group_wait(kiln_cg *g) {
    if (g->may_run >= 0)
        wait_for(g, g->may_run > g->empty_groups ? g->may_run - g->empty_groups : 0);
    if (g->swizzled.n > 0) /* what threads wrote is seen by who multiplies */
        instruction(g, "fence.proxy.async.shared::cta;");
}
