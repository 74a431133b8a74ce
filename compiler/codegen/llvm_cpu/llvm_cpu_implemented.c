/* What this back end implements; README.md says how. A construct without a row, and one
 * that says why not, is refused before anything is generated. */
#include "compiler/codegen/llvm_cpu/cpu.h"

#define NO_THREADS "a CPU has no axes of hardware threads; make the loop parallel"

/* Vectorised and unrolled loops that reach it mean what serial ones do. */
const kiln_backend kiln_cg_cpu_backend = {
    .name = "llvm_cpu",
    .stmt =
        {[KILN_STMT_FOR] = KILN_DOES,
         [KILN_STMT_SEQ] = KILN_DOES,
         [KILN_STMT_IF] = KILN_DOES,
         [KILN_STMT_LET] = KILN_DOES,
         [KILN_STMT_ALLOC] = KILN_DOES,
         [KILN_STMT_STORE] = KILN_DOES,
         [KILN_STMT_EVAL] = KILN_DOES,
         [KILN_STMT_ATTR] = KILN_DOES,
         [KILN_STMT_BARRIER] = NO_THREADS,
         [KILN_STMT_CALL] =
             ("there is no instruction for it here; use an intrinsic that becomes "
              "operations of vectors"),
         [KILN_STMT_LAUNCH] =
             "a CPU launches nothing; make the loops parallel before they are split",
         [KILN_STMT_COPY] = "a CPU has no device to copy to; leave it out"},
    .loop = {[KILN_LOOP_SERIAL] = KILN_DOES,
             [KILN_LOOP_PARALLEL] = KILN_DOES,
             [KILN_LOOP_VECTORIZED] = KILN_DOES,
             [KILN_LOOP_UNROLLED] = KILN_DOES,
             [KILN_LOOP_THREAD] = NO_THREADS,
             [KILN_LOOP_VTHREAD] =
                 "virtual threads must have been interleaved; run the pass vthread"},
    .scope = {[KILN_SCOPE_GLOBAL] = KILN_DOES,
              [KILN_SCOPE_LOCAL] = KILN_DOES,
              [KILN_SCOPE_REGISTER] = KILN_DOES,
              [KILN_SCOPE_SHARED] = ("a CPU has no memory of a block of threads; use "
                                     "local memory, or global memory where threads "
                                     "share it"),
              [KILN_SCOPE_DEVICE] =
                  ("a CPU is its own device; use global memory, which "
                   "it reads and writes itself"),
              [KILN_SCOPE_FRAGMENT] =
                  ("a CPU has no warps that hold a matrix between them; use local "
                   "memory"),
              [KILN_N_SCOPES - 1] =
                  ("a CPU has no memory but its own; use global, local "
                   "or register")},
    .attr =
        {[KILN_STMT_ATTR_PRAGMA] = "no word of a pragma is known here; leave it out",
         [KILN_STMT_ATTR_THREAD_EXTENT] = NO_THREADS,
         [KILN_STMT_ATTR_COPROC_SCOPE] =
             "a CPU has no queues of an accelerator; leave it out",
         [KILN_STMT_ATTR_DOUBLE_BUFFER] =
             "what fills a buffer is moved ahead before; run the pass double_buffer",
         [KILN_STMT_ATTR_DEPENDENCE_SCOPE] =
             "a CPU has no dependence tokens; leave it out",
         [KILN_STMT_ATTR_STAGE] = KILN_DOES,
         [KILN_STMT_ATTR_TENSORIZE] = KILN_DOES,
         [KILN_STMT_ATTR_ASYNC] = "what a CPU copies is there at once; leave it out",
         [KILN_STMT_ATTR_PRODUCTS] = "a CPU has no warpgroups; leave it out",
         [KILN_STMT_ATTR_SWING] = KILN_DOES},
    .expr = {KILN_BACKEND_ALL_EXPRS},
    .effect = {[KILN_INTRIN_prefetch] = KILN_DOES},
    .param = "kernels are given buffers; store the scalar to one",
    .value = "a value that nobody keeps would be dropped; store it, or leave it out",
};
