/* Where a CPU's buffers are: arguments by the table of the call, the workspace, a thread's
 * scratch, the stack. */
#include "compiler/codegen/llvm_cpu/cpu.h"
#include "base/fault.h"

/* Local buffers up to this size live on the stack, and no more than this together: a
 * thread's stack is not ours to fill. Register tiles are smaller than 32 registers of
 * 64 bytes; what is larger would be spilled anyhow. */
enum { MAX_STACK_BUFFER = 4096, MAX_STACK = 32768, ALIGN = 64 };

LLVMValueRef kiln_cg_pointer_at(kiln_cg *g, LLVMValueRef base, int64_t offset) {
    return LLVMBuildLoad2(g->b, g->ptr, kiln_cg_field(g, base, offset), "");
}

LLVMValueRef kiln_cg_tensor_pointer(kiln_cg *g, int arg) {
    const LLVMValueRef tensors = kiln_cg_pointer_at(g, g->now.args, 0);
    return kiln_cg_pointer_at(g, tensors, (int64_t)arg * g->word);
}

void kiln_cg_allocate(kiln_cg *g, const kiln_buffer *b, size_t bytes, kiln_cg_mem *m) {
    const bool small = bytes <= MAX_STACK_BUFFER && g->stack + bytes <= MAX_STACK;
    const size_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    *m = (kiln_cg_mem){.buffer = b};
    if (small && (b->scope == KILN_SCOPE_REGISTER || b->scope == KILN_SCOPE_LOCAL)) {
        const LLVMTypeRef t =
            LLVMArrayType2(kiln_cg_memory_type(g, b->dtype),
                           (uint64_t)(bytes / kiln_dtype_bytes(b->dtype)));
        m->place = KILN_CG_STACK;
        m->base = kiln_cg_local(g, t, ALIGN);
        g->stack += bytes;
    } else if (b->scope == KILN_SCOPE_GLOBAL && !g->now.is_parallel_body) {
        m->place = KILN_CG_WORKSPACE;
        m->offset = g->workspace;
        m->base = kiln_cg_field(g, kiln_cg_pointer_at(g, g->now.args, g->word),
                                (int64_t)m->offset);
        g->workspace += KILN_FAULT(workspace_overlap) ? 0 : room;
    } else { /* each thread has its own */
        m->place = KILN_CG_SCRATCH;
        m->offset = g->scratch;
        m->base = kiln_cg_field(g,
                                KILN_FAULT(scratch_shared)
                                    ? kiln_cg_pointer_at(g, g->now.args, g->word)
                                    : g->now.scratch,
                                (int64_t)m->offset);
        g->scratch += KILN_FAULT(scratch_overlap) ? 0 : room;
    }
    if (g->workspace > g->max_workspace)
        g->max_workspace = g->workspace / (KILN_FAULT(workspace_size) ? 2 : 1);
    if (g->scratch > g->max_scratch)
        g->max_scratch = g->scratch;
}
