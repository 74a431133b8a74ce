/* A loop program becomes an object, through LLVM's C interface: module, short pass
 * pipeline, machine code. One context per call. */
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <string.h>

#include "compiler/codegen/llvm_cpu/emit.h"
#include "compiler/codegen/llvm_cpu/machine.h"

/* The code is vectorised and unrolled already. sroa makes registers of tiles; licm
 * needs the loops in rotated form, in which they are emitted. */
static const char pipeline[] =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-mssa(licm),"
    "simplifycfg,early-cse)";

/* Whatever a compilation holds in LLVM. */
typedef struct session {
    kiln_cg g;
    LLVMTargetMachineRef machine;
    kiln_codegen_text *text;
    const kiln_codegen_options *options;
} session;

/* Errors of the code generator proper come by this way, not as a return value. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    kiln_cg_fail(user, KILN_ERR_LIB, "LLVM: %s", text);
    LLVMDisposeMessage(text);
}

static void types_init(kiln_cg *g) {
    g->i1 = LLVMInt1TypeInContext(g->cx);
    g->i8 = LLVMInt8TypeInContext(g->cx);
    g->i16 = LLVMInt16TypeInContext(g->cx);
    g->i32 = LLVMInt32TypeInContext(g->cx);
    g->i64 = LLVMInt64TypeInContext(g->cx);
    g->f32 = LLVMFloatTypeInContext(g->cx);
    g->f64 = LLVMDoubleTypeInContext(g->cx);
    g->ptr = LLVMPointerTypeInContext(g->cx, 0);
    g->md_alias_scope = LLVMGetMDKindIDInContext(g->cx, "alias.scope", 11);
    g->md_no_alias = LLVMGetMDKindIDInContext(g->cx, "noalias", 7);
}

static void text_attribute(kiln_cg *g, LLVMValueRef fn, const char *name,
                           const char *value) {
    const LLVMAttributeRef a = LLVMCreateStringAttribute(
        g->cx, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, a);
}

void kiln_cg_function_attributes(kiln_cg *g, LLVMValueRef fn) {
    KILN_ASSERT(g->profile->vector_bytes > 0, "profile '%s' has vectors of %d bytes",
                g->profile->name, (int)g->profile->vector_bytes);
    const unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    const char *bits = kiln_format(g->arena, "%d", g->profile->vector_bytes * 8);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->cx, nounwind, 0));
    text_attribute(g, fn, "no-builtins", "");
    text_attribute(g, fn, "target-cpu", g->profile->cpu);
    text_attribute(g, fn, "target-features", g->profile->features);
    text_attribute(g, fn, "frame-pointer", "none");
    text_attribute(g, fn, "prefer-vector-width", bits);
    text_attribute(g, fn, "min-legal-vector-width", bits);
}

/* A name that an assembler and a linker take as it is. */
static bool is_symbol(const char *name) {
    if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9') ||
        strncmp(name, "llvm.", 5) == 0)
        return false;
    for (const char *p = name; *p != '\0'; p++)
        if (!(*p == '_' || *p == '.' || (*p >= '0' && *p <= '9') ||
              (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')))
            return false;
    return true;
}

/* ---- module ---------------------------------------------------------------------- */

static kiln_status open_machine(session *s) {
    kiln_cg *g = &s->g;
    KILN_TRY(kiln_cg_machine_take(g->profile, &s->machine, g->err));
    const LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(s->machine);
    LLVMSetModuleDataLayout(g->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(g->module, g->profile->triple);
    return KILN_OK;
}

static void emit_kernel(kiln_cg *g) {
    LLVMTypeRef param[2] = {g->ptr, g->ptr};
    const LLVMTypeRef type = LLVMFunctionType(g->i32, param, 2, false);
    g->now.fn = LLVMAddFunction(g->module, g->p->name, type);
    kiln_cg_function_attributes(g, g->now.fn);
    g->now.args = LLVMGetParam(g->now.fn, 0);
    g->now.ctx = LLVMGetParam(g->now.fn, 1);
    g->now.entry = kiln_cg_block(g);
    const LLVMBasicBlockRef start = kiln_cg_block(g);
    LLVMPositionBuilderAtEnd(g->b, start);
    g->now.scratch = LLVMBuildLoad2(g->b, g->ptr, kiln_cg_field(g, g->now.ctx, 8), "");
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

static kiln_status check_module(kiln_cg *g) {
    char *msg = NULL;
    kiln_status st = g->status;
    if (st == KILN_OK && LLVMVerifyModule(g->module, LLVMReturnStatusAction, &msg))
        st = kiln_fail(g->err, KILN_ERR_LIB, "LLVM refuses the module: %s", msg);
    if (msg != NULL)
        LLVMDisposeMessage(msg);
    return st;
}

static kiln_status optimise(session *s) {
    const LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    const LLVMErrorRef e = LLVMRunPasses(s->g.module, pipeline, s->machine, o);
    LLVMDisposePassBuilderOptions(o);
    if (e == NULL)
        return s->g.status;
    char *msg = LLVMGetErrorMessage(e);
    const kiln_status st =
        kiln_fail(s->g.err, KILN_ERR_LIB, "LLVM's passes failed: %s", msg);
    LLVMDisposeErrorMessage(msg);
    return st;
}

/* ---- output ---------------------------------------------------------------------- */

static kiln_status machine_code(session *s, LLVMModuleRef m, LLVMCodeGenFileType type,
                                kiln_str *out) {
    LLVMMemoryBufferRef bytes = NULL;
    char *msg = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(s->machine, m, type, &msg, &bytes)) {
        const kiln_status st =
            kiln_fail(s->g.err, KILN_ERR_LIB, "LLVM made no code: %s", msg);
        LLVMDisposeMessage(msg);
        return st;
    }
    const size_t n = LLVMGetBufferSize(bytes);
    *out = (kiln_str){kiln_arena_dup(s->g.arena, LLVMGetBufferStart(bytes), n), n};
    LLVMDisposeMemoryBuffer(bytes);
    return s->g.status;
}

static kiln_status emit_texts(session *s) {
    if (s->options == NULL || s->text == NULL)
        return KILN_OK;
    if (s->options->want_ir) {
        char *ir = LLVMPrintModuleToString(s->g.module);
        s->text->ir = kiln_str_from(kiln_str_dup(s->g.arena, ir));
        LLVMDisposeMessage(ir);
    }
    if (!s->options->want_assembly)
        return KILN_OK;
    /* Making code changes the module. */
    const LLVMModuleRef copy = LLVMCloneModule(s->g.module);
    const kiln_status st = machine_code(s, copy, LLVMAssemblyFile, &s->text->assembly);
    LLVMDisposeModule(copy);
    return st;
}

/* Runs `halves` and `expand` on a copy of the program. */
static kiln_status expand(kiln_cg *g) {
    const kiln_natives natives = kiln_cg_natives(g->profile);
    const kiln_loop_options options = {.natives = &natives};
    kiln_program *copy = kiln_new(g->arena, kiln_program);
    *copy = *g->p;
    copy->arena = g->arena;
    g->p = copy;
    KILN_TRY(kiln_loop_pass_halves.run(copy, &options, g->err));
    return kiln_loop_pass_expand.run(copy, &options, g->err);
}

static kiln_status compile(session *s, kiln_object *out) {
    kiln_object object = {.bytes = {NULL, 0}};
    KILN_TRY(expand(&s->g));
    types_init(&s->g);
    KILN_TRY(open_machine(s));
    kiln_cg_collect_scopes(&s->g);
    emit_kernel(&s->g);
    KILN_TRY(check_module(&s->g));
    KILN_TRY(optimise(s));
    KILN_TRY(emit_texts(s));
    KILN_TRY(machine_code(s, s->g.module, LLVMObjectFile, &object.bytes));
    KILN_TRY(kiln_object_check(object.bytes, s->g.err));
    object.workspace_bytes = s->g.max_workspace;
    object.scratch_bytes = s->g.max_scratch;
    *out = object;
    return KILN_OK;
}

static kiln_status generate(kiln_arena *a, const kiln_program *p,
                            const kiln_profile *profile, const kiln_codegen_options *o,
                            kiln_object *out, kiln_codegen_text *text, kiln_err *err) {
    session s = {.g = {.arena = a, .p = p, .profile = profile, .err = err},
                 .text = text,
                 .options = o};
    if (!is_symbol(p->name))
        return kiln_fail(err, KILN_ERR_ARG,
                         "the name of a kernel must be letters, digits, '_' and '.', "
                         "is '%s'",
                         p->name);
    s.g.cx = LLVMContextCreate();
    LLVMContextSetDiscardValueNames(s.g.cx, true);
    LLVMContextSetDiagnosticHandler(s.g.cx, on_diagnostic, &s.g);
    s.g.module = LLVMModuleCreateWithNameInContext(p->name, s.g.cx);
    s.g.b = LLVMCreateBuilderInContext(s.g.cx);
    const kiln_status st = compile(&s, out);
    LLVMDisposeBuilder(s.g.b);
    LLVMDisposeModule(s.g.module);
    LLVMContextDispose(s.g.cx);
    kiln_cg_machine_give(profile, s.machine);
    return st;
}

const kiln_generator kiln_generator_llvm_cpu = {
    .name = "llvm_cpu",
    .backend = &kiln_cg_backend,
    .natives = kiln_cg_natives,
    .generate = generate,
    .list = kiln_cg_list,
};
