/* Machine code as assembly: cheaper than asking LLVM for assembly, which makes the
 * code a second time, and the truth about what runs. Branch targets get labels, so that
 * kiln_asm_innermost_loops reads the text as it reads a compiler's.
 *
 * Two walks: the first learns where branches lead, the second prints. */
#include "compiler/codegen/llvm_cpu/cpu.h"
#include "compiler/codegen/llvm/llvm_machine.h"

#include <inttypes.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/DisassemblerTypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 256 };

typedef struct listing {
    kiln_str code;
    bool *is_target; /* by byte of the code, and its end */
    bool prints;
    char name[32]; /* of the target asked for last */
} listing;

/* LLVM asks what lies at an address that an instruction refers to. */
static const char *on_reference(void *user, uint64_t value, uint64_t *type, uint64_t pc,
                                const char **name) {
    listing *l = user;
    const bool is_branch = *type == LLVMDisassembler_ReferenceType_In_Branch;
    (void)pc;
    *type = LLVMDisassembler_ReferenceType_InOut_None;
    *name = NULL;
    if (!is_branch || value > l->code.n)
        return NULL;
    l->is_target[value] = true;
    if (!l->prints)
        return NULL;
    (void)snprintf(l->name, sizeof l->name, ".L%" PRIx64, value);
    return l->name;
}

static void walk(listing *l, LLVMDisasmContextRef dis, size_t step, kiln_buf *out) {
    char text[TEXT];
    uint8_t bytes[32];
    for (size_t at = 0; at < l->code.n;) {
        /* LLVM's argument is not const. */
        const size_t left = l->code.n - at;
        const size_t room = left < sizeof bytes ? left : sizeof bytes;
        memcpy(bytes, l->code.p + at, room);
        const size_t n = LLVMDisasmInstruction(dis, bytes, room, at, text, sizeof text);
        if (l->prints && l->is_target[at])
            kiln_buf_printf(out, ".L%zx:\n", at);
        if (l->prints && n > 0)
            kiln_buf_printf(out, "%s\n", text);
        at += n > 0 ? n : step; /* padding, or a constant */
    }
}

kiln_status kiln_cg_list(kiln_arena *a, kiln_str code, const kiln_profile *p,
                         kiln_buf *out, kiln_err *err) {
    listing l = {.code = code, .is_target = kiln_array(a, bool, code.n + 1)};
    kiln_cg_initialise();
    LLVMDisasmContextRef dis = LLVMCreateDisasmCPUFeatures(
        p->triple, p->cpu, p->features, &l, 0, NULL, on_reference);
    if (dis == NULL)
        return kiln_fail(err, KILN_ERR_LIB, "LLVM does not disassemble for '%s'",
                         p->triple);
    const size_t step = (size_t)kiln_arch_of(p->arch)->code_step;
    walk(&l, dis, step, out);
    l.prints = true;
    walk(&l, dis, step, out);
    LLVMDisasmDispose(dis);
    return KILN_OK;
}
