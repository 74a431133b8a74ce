/* A module of LLVM's: begun, held against its verifier, through its passes, to machine code.
 * One context per call. */
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <string.h>

#include "compiler/codegen/llvm/emit.h"
#include "compiler/codegen/llvm/llvm_machine.h"

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
    g->md_invariant = LLVMGetMDKindIDInContext(g->cx, "invariant.load", 14);
}

void kiln_cg_text_attribute(kiln_cg *g, LLVMValueRef fn, const char *name,
                            const char *value) {
    const LLVMAttributeRef a = LLVMCreateStringAttribute(
        g->cx, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, a);
}

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

kiln_status kiln_cg_check_symbol(const char *name, kiln_err *err) {
    if (is_symbol(name))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG,
                     "the name of a kernel must be letters, digits, '_' and '.', "
                     "is '%s'",
                     name);
}

static kiln_status open_machine(kiln_cg_session *s) {
    kiln_cg *g = &s->g;
    KILN_TRY(kiln_cg_machine_take(g->profile, &s->machine, g->err));
    const LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(s->machine);
    LLVMSetModuleDataLayout(g->module, layout);
    g->word = LLVMPointerSize(layout);
    g->is_narrow = g->kind->is_narrow || g->word < sizeof(int64_t);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(g->module, g->profile->triple);
    return KILN_OK;
}

kiln_status kiln_cg_open(kiln_cg_session *s, const char *name) {
    kiln_cg *g = &s->g;
    g->cx = LLVMContextCreate();
    LLVMContextSetDiscardValueNames(g->cx, true);
    LLVMContextSetDiagnosticHandler(g->cx, on_diagnostic, g);
    g->module = LLVMModuleCreateWithNameInContext(name, g->cx);
    g->b = LLVMCreateBuilderInContext(g->cx);
    types_init(g);
    return open_machine(s);
}

void kiln_cg_close(kiln_cg_session *s) {
    LLVMDisposeBuilder(s->g.b);
    LLVMDisposeModule(s->g.module);
    LLVMContextDispose(s->g.cx);
    kiln_cg_machine_give(s->g.profile, s->machine);
}

kiln_status kiln_cg_expand(kiln_cg *g) {
    const kiln_natives natives = g->kind->natives(g->profile);
    const kiln_loop_options options = {.natives = &natives};
    kiln_program *copy = kiln_new(g->arena, kiln_program);
    *copy = *g->p;
    copy->arena = g->arena;
    g->p = copy;
    KILN_TRY(kiln_loop_pass_halves.run(copy, &options, g->err));
    return kiln_loop_pass_expand.run(copy, &options, g->err);
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

kiln_status kiln_cg_optimise(kiln_cg_session *s) {
    KILN_TRY(check_module(&s->g));
    const LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    const LLVMErrorRef e =
        LLVMRunPasses(s->g.module, s->g.kind->pipeline, s->machine, o);
    LLVMDisposePassBuilderOptions(o);
    if (e == NULL)
        return s->g.status;
    char *msg = LLVMGetErrorMessage(e);
    const kiln_status st =
        kiln_fail(s->g.err, KILN_ERR_LIB, "LLVM's passes failed: %s", msg);
    LLVMDisposeErrorMessage(msg);
    return st;
}

kiln_status kiln_cg_machine_code(kiln_cg_session *s, LLVMModuleRef m,
                                 LLVMCodeGenFileType type, kiln_str *out) {
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
