/* What code of CPUs has of its own: arguments by a table of pointers, parallel loops. */
#ifndef KILN_COMPILER_CODEGEN_LLVM_CPU_CPU_H
#define KILN_COMPILER_CODEGEN_LLVM_CPU_CPU_H

#include "compiler/codegen/llvm/emit.h"

extern const kiln_backend kiln_cg_cpu_backend;
kiln_status kiln_cg_list(kiln_arena *a, kiln_str code, const kiln_profile *p,
                         kiln_buf *out, kiln_err *err);
kiln_status kiln_cg_entry(kiln_arena *a, const kiln_entry *e, const kiln_profile *p,
                          kiln_str *object, kiln_err *err);
/* With how a CPU's functions are told what they may use. */
extern const kiln_cg_kind kiln_cg_cpu;
LLVMValueRef kiln_cg_pointer_at(kiln_cg *g, LLVMValueRef base, int64_t offset);
LLVMValueRef kiln_cg_tensor_pointer(kiln_cg *g, int arg);
/* What a 32-bit machine calls for arithmetic of 64 bits becomes part of the module. */
void kiln_cg_wide(kiln_cg *g);
/* A parallel loop inside another is a plain one: false. */
bool kiln_cg_parallel(kiln_cg *g, const kiln_stmt *loop);
void kiln_cg_allocate(kiln_cg *g, const kiln_buffer *b, size_t bytes, kiln_cg_mem *m);

#endif
