/* A loop program becomes an object, through LLVM's C interface: module, short pass
 * pipeline, machine code. */
#include "compiler/codegen/llvm_cpu/cpu.h"

/* The code is vectorised and unrolled already. sroa makes registers of tiles; licm
 * needs the loops in rotated form, in which they are emitted, and moves no branches: the
 * first simplifycfg makes choices of those that early-cse has emptied of loads. */
static const char pipeline[] =
    "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm),simplifycfg,early-cse)";

typedef struct session {
    kiln_cg_session s;
    kiln_codegen_text *text;
    const kiln_codegen_options *options;
} session;

/* How many times the shortest they have, at least, where vectors are scalable: in the
 * attribute's upper half; below it stands at most, and 0 there is any. */
static void scale_attribute(kiln_cg *g, LLVMValueRef fn) {
    const int unit = kiln_arch_of(g->profile->arch)->scalable_bytes;
    const unsigned kind = LLVMGetEnumAttributeKindForName("vscale_range", 12);
    if (unit == 0 || g->profile->vector_bytes <= unit)
        return;
    const uint64_t least = (uint64_t)(g->profile->vector_bytes / unit);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->cx, kind, least << 32));
}

static void attributes(kiln_cg *g, LLVMValueRef fn) {
    KILN_ASSERT(g->profile->vector_bytes > 0, "profile '%s' has vectors of %d bytes",
                g->profile->name, (int)g->profile->vector_bytes);
    const unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    const char *bits = kiln_format(g->arena, "%d", g->profile->vector_bytes * 8);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->cx, nounwind, 0));
    scale_attribute(g, fn);
    kiln_cg_text_attribute(g, fn, "no-builtins", "");
    kiln_cg_text_attribute(g, fn, "target-cpu", g->profile->cpu);
    kiln_cg_text_attribute(g, fn, "target-features", g->profile->features);
    kiln_cg_text_attribute(g, fn, "frame-pointer", "none");
    kiln_cg_text_attribute(g, fn, "prefer-vector-width", bits);
    kiln_cg_text_attribute(g, fn, "min-legal-vector-width", bits);
}

static void prefetch(kiln_cg *g, LLVMValueRef address) {
    LLVMValueRef arg[4] = {address, LLVMConstInt(g->i32, 0, false),
                           LLVMConstInt(g->i32, 2, false), /* into the L2 cache */
                           LLVMConstInt(g->i32, 1, false)};
    LLVMTypeRef t = g->ptr;
    kiln_cg_intrinsic(g, "llvm.prefetch", &t, 1, arg, 4);
}

const kiln_cg_kind kiln_cg_cpu = {.prefix = "kiln.",
                                  .natives = kiln_cg_natives,
                                  .allocate = kiln_cg_allocate,
                                  .stmt = kiln_cg_parallel,
                                  .prefetch = prefetch,
                                  .attributes = attributes,
                                  .pipeline = pipeline};

static void emit_kernel(kiln_cg *g) {
    LLVMTypeRef param[2] = {g->ptr, g->ptr};
    const LLVMTypeRef type = LLVMFunctionType(g->i32, param, 2, false);
    g->now.fn = LLVMAddFunction(g->module, g->p->name, type);
    g->kind->attributes(g, g->now.fn);
    g->now.args = LLVMGetParam(g->now.fn, 0);
    g->now.ctx = LLVMGetParam(g->now.fn, 1);
    g->now.entry = kiln_cg_block(g);
    const LLVMBasicBlockRef start = kiln_cg_block(g);
    LLVMPositionBuilderAtEnd(g->b, start);
    g->now.scratch =
        LLVMBuildLoad2(g->b, g->ptr, kiln_cg_field(g, g->now.ctx, g->word), "");
    for (int i = 0; i < g->p->n_args; i++) {
        const kiln_cg_mem m = {.buffer = g->p->arg[i],
                               .place = KILN_CG_ARG,
                               .base = kiln_cg_tensor_pointer(g, i)};
        kiln_cg_push_memory(g, m);
    }
    kiln_cg_stmt(g, g->p->body);
    LLVMBuildRet(g->b, LLVMConstInt(g->i32, 0, false));
    LLVMPositionBuilderAtEnd(g->b, g->now.entry);
    LLVMBuildBr(g->b, start);
}

static kiln_status emit_texts(session *s) {
    if (s->options == NULL || s->text == NULL)
        return KILN_OK;
    if (s->options->want_ir) {
        char *ir = LLVMPrintModuleToString(s->s.g.module);
        s->text->ir = kiln_str_from(kiln_str_dup(s->s.g.arena, ir));
        LLVMDisposeMessage(ir);
    }
    if (!s->options->want_assembly)
        return KILN_OK;
    /* Making code changes the module. */
    const LLVMModuleRef copy = LLVMCloneModule(s->s.g.module);
    const kiln_status st =
        kiln_cg_machine_code(&s->s, copy, LLVMAssemblyFile, &s->text->assembly);
    LLVMDisposeModule(copy);
    return st;
}

static kiln_status compile(session *s, kiln_object *out) {
    kiln_cg *g = &s->s.g;
    kiln_object object = {.bytes = {NULL, 0}};
    kiln_cg_collect_scopes(g);
    emit_kernel(g);
    kiln_cg_wide(g);
    KILN_TRY(kiln_cg_optimise(&s->s));
    KILN_TRY(emit_texts(s));
    KILN_TRY(kiln_cg_machine_code(&s->s, g->module, LLVMObjectFile, &object.bytes));
    KILN_TRY(kiln_object_check(object.bytes, g->err));
    object.workspace_bytes = g->max_workspace;
    object.scratch_bytes = g->max_scratch;
    *out = object;
    return KILN_OK;
}

static kiln_status generate(kiln_arena *a, const kiln_program *p,
                            const kiln_profile *profile, const kiln_codegen_options *o,
                            kiln_object *out, kiln_codegen_text *text, kiln_err *err) {
    session s = {.s.g = {.kind = &kiln_cg_cpu,
                         .arena = a,
                         .p = p,
                         .profile = profile,
                         .err = err},
                 .text = text,
                 .options = o};
    KILN_TRY(kiln_cg_check_symbol(p->name, err));
    KILN_TRY(kiln_cg_expand(&s.s.g));
    kiln_status st = kiln_cg_open(&s.s, p->name);
    s.s.g.is_narrow = s.s.g.is_narrow || (o != NULL && o->narrow);
    if (st == KILN_OK)
        st = compile(&s, out);
    kiln_cg_close(&s.s);
    return st;
}

const kiln_generator kiln_generator_llvm_cpu = {
    .name = "llvm_cpu",
    .backend = &kiln_cg_cpu_backend,
    .natives = kiln_cg_natives,
    .generate = generate,
    .list = kiln_cg_list,
    .entry = kiln_cg_entry,
};
