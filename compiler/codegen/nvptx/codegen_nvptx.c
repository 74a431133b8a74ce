/* PTX through LLVM: each launch of the program is a kernel function of a text, which the
 * driver compiles. Nothing of a toolkit is needed to make it. */
#include "compiler/codegen/nvptx/nvptx.h"

#include <inttypes.h>

/* As for CPUs; what threads have in local variables becomes registers by sroa. */
static const char pipeline[] =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),"
    "simplifycfg,early-cse)";

enum {
    MAX_GRID_YZ = 65535,
    MAX_BLOCK_Z = 64
}; /* CUDA C++ Programming Guide, Table 21 */

static void enum_attribute(kiln_cg *g, LLVMValueRef fn, unsigned index,
                           const char *name, size_t n) {
    const unsigned kind = LLVMGetEnumAttributeKindForName(name, n);
    LLVMAddAttributeAtIndex(fn, index, LLVMCreateEnumAttribute(g->cx, kind, 0));
}

static void attributes(kiln_cg *g, LLVMValueRef fn) {
    enum_attribute(g, fn, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 8);
    kiln_cg_text_attribute(g, fn, "no-builtins", "");
    kiln_cg_text_attribute(g, fn, "target-cpu", g->profile->cpu);
    kiln_cg_text_attribute(g, fn, "target-features", g->profile->features);
}

static void prefetch(kiln_cg *g, LLVMValueRef address) {
    static const char text[] = "prefetch.global.L2 [$0];", takes[] = "l";
    LLVMTypeRef t = LLVMTypeOf(address);
    if (LLVMGetPointerAddressSpace(t) != KILN_NVPTX_GLOBAL)
        return; /* it is near already */
    const LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(g->cx), &t, 1, false);
    const LLVMValueRef f =
        LLVMGetInlineAsm(type, text, sizeof text - 1, takes, sizeof takes - 1, true,
                         false, LLVMInlineAsmDialectATT, false);
    (void)LLVMBuildCall2(g->b, type, f, &address, 1, "");
}

static const kiln_cg_kind kind = {.prefix = "",
                                  .constants = KILN_NVPTX_GLOBAL,
                                  .natives = kiln_cg_natives,
                                  .allocate = kiln_nvptx_allocate,
                                  .stmt = kiln_nvptx_stmt,
                                  .prefetch = prefetch,
                                  .load_fragment = kiln_nvptx_load_fragment,
                                  .attributes = attributes,
                                  .pipeline = pipeline,
                                  .joins_scalars = true,
                                  .is_narrow = true};

/* ---- functions ------------------------------------------------------------------- */

/* !{ptr @fn, !"word", i32 value}: what LLVM's back end reads of a kernel. */
static void annotate(kiln_cg *g, LLVMValueRef fn, const char *word, size_t n,
                     int64_t value) {
    LLVMMetadataRef part[3] = {
        LLVMValueAsMetadata(fn), LLVMMDStringInContext2(g->cx, word, n),
        LLVMValueAsMetadata(LLVMConstInt(g->i32, (unsigned long long)value, false))};
    LLVMAddNamedMetadataOperand(
        g->module, "nvvm.annotations",
        LLVMMetadataAsValue(g->cx, LLVMMDNodeInContext2(g->cx, part, 3)));
}

typedef struct needs {
    size_t bytes; /* of what threads have for themselves */
    bool has_global;
} needs;

static void find_memory(void *user, const kiln_stmt *s) {
    needs *n = user;
    if (s->kind != KILN_STMT_ALLOC || s->u.alloc.buffer->scope == KILN_SCOPE_SHARED ||
        s->u.alloc.buffer->scope == KILN_SCOPE_FRAGMENT)
        return;
    const kiln_buffer *b = s->u.alloc.buffer;
    const int64_t elems = kiln_buffer_elems(b);
    const bool is_huge = elems < 0 || elems > KILN_NVPTX_PRIVATE;
    n->has_global = n->has_global || b->scope == KILN_SCOPE_GLOBAL || is_huge;
    n->bytes += is_huge ? 0 : (size_t)elems * kiln_dtype_bytes(b->dtype);
}

static bool needs_workspace(const kiln_program *p) {
    needs n = {0, false};
    kiln_stmt_visit(p->body, find_memory, &n);
    return n.has_global || n.bytes > KILN_NVPTX_PRIVATE;
}

/* Pointers of the arguments, parameters as numbers of 64 bits, the workspace. */
static LLVMValueRef declare(kiln_cg *g, const kiln_gpu_entry *e, bool has_work) {
    const kiln_program *p = e->program;
    const int n = p->n_args + p->n_params + has_work;
    LLVMTypeRef *param = kiln_array(g->arena, LLVMTypeRef, n + 1);
    const LLVMTypeRef pointer = LLVMPointerTypeInContext(g->cx, KILN_NVPTX_GLOBAL);
    for (int i = 0; i < n; i++)
        param[i] = i >= p->n_args && i < p->n_args + p->n_params ? g->i64 : pointer;
    const LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(g->cx), param, (unsigned)n, false);
    const LLVMValueRef fn = LLVMAddFunction(g->module, e->name, type);
    attributes(g, fn);
    annotate(g, fn, "kernel", 6, 1);
    annotate(g, fn, "reqntidx", 8, e->extent[KILN_AXIS_THREAD_X]);
    annotate(g, fn, "reqntidy", 8, e->extent[KILN_AXIS_THREAD_Y]);
    annotate(g, fn, "reqntidz", 8, e->extent[KILN_AXIS_THREAD_Z]);
    /* One block a processor is enough: else the assembler spills a few registers of large
     * tiles, to have room for more blocks. */
    annotate(g, fn, "minctasm", 8, 1);
    for (int i = 0; i < n; i++)
        if (param[i] == pointer)
            enum_attribute(g, fn, (unsigned)i + 1, "noalias", 7);
    return fn;
}

static void bind_arguments(kiln_cg *g) {
    const kiln_program *p = g->p;
    for (int i = 0; i < p->n_args; i++) {
        const kiln_cg_mem m = {.buffer = p->arg[i],
                               .place = KILN_CG_ARG,
                               .base = LLVMGetParam(g->now.fn, (unsigned)i),
                               .is_constant = i < p->n_inputs};
        kiln_cg_push_memory(g, m);
    }
    for (int i = 0; i < p->n_params; i++) {
        const kiln_var *v = p->param[i];
        if (kiln_dtype_is_float(v->dtype))
            kiln_cg_fail(g, KILN_ERR_UNSUPPORTED,
                         "parameter '%s' of '%s' is no integer; store it to memory",
                         v->name, p->name);
        else
            kiln_cg_bind(g, v,
                         LLVMBuildIntCast2(
                             g->b, LLVMGetParam(g->now.fn, (unsigned)(p->n_args + i)),
                             kiln_cg_value_type(g, v->dtype), true, ""));
    }
}

/* One function more. */
static kiln_status emit_entry(kiln_cg *g, kiln_gpu_entry *e) {
    const bool has_work = needs_workspace(e->program);
    g->p = e->program;
    g->prefix = kiln_format(g->arena, "%s_", e->name);
    g->vars.n = g->ranges.stack.n = g->mem.n = g->tables.n = 0;
    g->n_scopes = g->shared_memory.n = 0;
    g->workspace = g->max_workspace = g->stack = g->shared = 0;
    g->bound = 0;
    g->is_alone = false;
    KILN_TRY(kiln_cg_expand(g));
    kiln_cg_collect_scopes(g);
    kiln_nvptx_find(g);
    kiln_nvptx_ask(g);
    g->now = (kiln_cg_fn){.fn = declare(g, e, has_work)};
    g->now.entry = kiln_cg_block(g);
    const LLVMBasicBlockRef start = kiln_cg_block(g);
    LLVMPositionBuilderAtEnd(g->b, start);
    kiln_nvptx_begin(g, e->extent);
    bind_arguments(g);
    if (has_work)
        g->work = LLVMGetParam(g->now.fn, (unsigned)(g->p->n_args + g->p->n_params));
    kiln_cg_stmt(g, g->p->body);
    LLVMBuildRetVoid(g->b);
    LLVMPositionBuilderAtEnd(g->b, g->now.entry);
    LLVMBuildBr(g->b, start);
    e->workspace_bytes = g->max_workspace;
    if (has_work && e->workspace_bytes == 0)
        e->workspace_bytes = 64; /* the parameter is there */
    e->shared_bytes = g->shared;
    e->asks_for_shared = g->asked != NULL;
    return g->status;
}

/* ---- the whole ------------------------------------------------------------------- */

static kiln_status check_entry(const kiln_gpu_entry *e, const kiln_profile *profile,
                               kiln_err *err) {
    if ((int64_t)e->shared_bytes > kiln_gpu_shared_most(profile))
        return kiln_fail(
            err, KILN_ERR_UNSUPPORTED,
            "blocks of '%s' take %zu bytes of shared memory, '%s' has %" PRId64,
            e->program->name, e->shared_bytes, profile->name,
            kiln_gpu_shared_most(profile));
    if (e->extent[KILN_AXIS_BLOCK_Y] > MAX_GRID_YZ ||
        e->extent[KILN_AXIS_BLOCK_Z] > MAX_GRID_YZ ||
        e->extent[KILN_AXIS_THREAD_Z] > MAX_BLOCK_Z)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "'%s' is launched with %" PRId64 " x %" PRId64
                         " blocks along y "
                         "and z and %" PRId64 " threads along z; there are at most %d, "
                         "and %d threads",
                         e->program->name, e->extent[KILN_AXIS_BLOCK_Y],
                         e->extent[KILN_AXIS_BLOCK_Z], e->extent[KILN_AXIS_THREAD_Z],
                         MAX_GRID_YZ, MAX_BLOCK_Z);
    return KILN_OK;
}

/* Products of warpgroups are in no architecture but this, which no later GPU runs: only who
 * uses them asks for it. */
static const kiln_profile *profile_of(kiln_arena *a, const kiln_gpu_split *split,
                                      const kiln_profile *p) {
    bool has_groups = false;
    for (size_t i = 0; i < split->entry.n; i++)
        has_groups = has_groups || kiln_nvptx_has_groups(split->entry.v[i].program);
    if (!has_groups || !kiln_gpu_has_wgmma(p))
        return p;
    kiln_profile *out = kiln_new(a, kiln_profile);
    *out = *p;
    out->cpu = "sm_90a";
    out->features = "+ptx80";
    return out;
}

static kiln_status compile(kiln_cg_session *s, kiln_gpu_split *split,
                           const kiln_codegen_options *o, kiln_codegen_text *text,
                           kiln_str *out) {
    kiln_cg *g = &s->g;
    for (size_t i = 0; i < split->entry.n; i++) {
        KILN_TRY(emit_entry(g, &split->entry.v[i]));
        KILN_TRY(check_entry(&split->entry.v[i], g->profile, g->err));
    }
    KILN_TRY(kiln_cg_optimise(s));
    if (o != NULL && text != NULL && o->want_ir) {
        char *ir = LLVMPrintModuleToString(g->module);
        text->ir = kiln_str_from(kiln_str_dup(g->arena, ir));
        LLVMDisposeMessage(ir);
    }
    KILN_TRY(kiln_cg_machine_code(s, g->module, LLVMAssemblyFile, out));
    if (o != NULL && text != NULL && o->want_assembly)
        text->assembly = *out;
    return KILN_OK;
}

static kiln_status generate(kiln_arena *a, const kiln_program *p,
                            const kiln_profile *profile, const kiln_codegen_options *o,
                            kiln_object *out, kiln_codegen_text *text, kiln_err *err) {
    kiln_cg_session s = {
        .g = {.kind = &kind, .arena = a, .p = p, .profile = profile, .err = err}};
    kiln_gpu_split split;
    kiln_str code = {"", 0};
    KILN_TRY(kiln_gpu_split_program(a, p, &split, err));
    s.g.profile = profile_of(a, &split, profile);
    kiln_status st = kiln_cg_open(&s, p->name);
    if (st == KILN_OK)
        st = compile(&s, &split, o, text, &code);
    kiln_cg_close(&s);
    if (st == KILN_OK)
        st = kiln_gpu_object(a, &split, KILN_GPU_PTX, code, out, err);
    return st;
}

const kiln_generator kiln_generator_nvptx = {
    .name = "nvptx",
    .backend = &kiln_nvptx_backend,
    .language = KILN_GPU_PTX,
    .natives = kiln_cg_natives,
    .generate = generate,
    .list = kiln_gpu_list,
};
