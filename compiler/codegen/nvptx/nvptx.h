/* What code of NVIDIA's GPUs has of its own: a grid of threads. */
#ifndef KILN_COMPILER_CODEGEN_NVPTX_NVPTX_H
#define KILN_COMPILER_CODEGEN_NVPTX_NVPTX_H

#include "compiler/codegen/codegen_gpu_module.h"
#include "compiler/codegen/llvm/emit.h"

/* PTX's state spaces, as LLVM numbers them. */
enum { KILN_NVPTX_GLOBAL = 1, KILN_NVPTX_SHARED = 3 };
/* Bytes that a thread has for itself: PTX's local memory, which is registers once the
 * indexes are known. What does not fit lies in the workspace. */
enum { KILN_NVPTX_PRIVATE = 65536 };

extern const kiln_backend kiln_nvptx_backend;

/* Where the thread stands along each axis, in the entry block; what the axis has. */
void kiln_nvptx_begin(kiln_cg *g, const int64_t *extent);
bool kiln_nvptx_stmt(kiln_cg *g, const kiln_stmt *s);
/* Where a block has more shared memory than code may declare: the launch gives it. */
void kiln_nvptx_ask(kiln_cg *g);
void kiln_nvptx_allocate(kiln_cg *g, const kiln_buffer *b, size_t bytes,
                         kiln_cg_mem *m);

/* ---- what a warp does together (nvptx_warps.c) ----------------------------------- */

/* What is looked up in a whole function: loops of threadIdx.x, copies that come later. */
void kiln_nvptx_find(kiln_cg *g);
void kiln_nvptx_fragment(kiln_cg *g, const kiln_buffer *b, kiln_cg_mem *m);
LLVMValueRef kiln_nvptx_load_fragment(kiln_cg *g, const kiln_expr *e);
void kiln_nvptx_call(kiln_cg *g, const kiln_stmt *s);
void kiln_nvptx_async(kiln_cg *g, const kiln_stmt *s);
void kiln_nvptx_wait(kiln_cg *g);
/* Emits a store as a copy that comes later; false: it is none. */
bool kiln_nvptx_copy(kiln_cg *g, const kiln_stmt *s);
/* The same to another place, so aligned; NULL: where the store says. */
bool kiln_nvptx_copy_to(kiln_cg *g, const kiln_stmt *s, LLVMValueRef to,
                        unsigned to_align);
/* Of what a thread holds of a fragment. */
LLVMValueRef kiln_nvptx_element(kiln_cg *g, const kiln_cg_mem *m, int64_t number);

/* ---- what four warps do together (nvptx_warpgroups.c) ---------------------------- */

enum { KILN_NVPTX_SWIZZLED = 1024 }; /* bytes that such a buffer is aligned to */

void kiln_nvptx_find_groups(kiln_cg *g);
/* Does a warpgroup multiply it? Then it is written by kiln_nvptx_swizzled_store, and by nobody
 * else. */
bool kiln_nvptx_is_swizzled(const kiln_cg *g, const kiln_buffer *b);
void kiln_nvptx_swizzled_store(kiln_cg *g, const kiln_stmt *s);
/* Adds to the fragment, from element `at` of what each thread holds on. */
void kiln_nvptx_group_call(kiln_cg *g, const kiln_stmt *s, const kiln_cg_mem *m,
                           int64_t at);
void kiln_nvptx_products(kiln_cg *g, const kiln_stmt *s);
/* Before a barrier. */
void kiln_nvptx_group_wait(kiln_cg *g);
/* Is there such a product in it? */
bool kiln_nvptx_has_groups(const kiln_program *p);

#endif
