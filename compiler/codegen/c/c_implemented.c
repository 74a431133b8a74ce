/* What the C printer implements. A construct without a row, and one that says why not, is
 * refused before anything is printed. */
#include "compiler/codegen/c/c.h"

#define NO_THREADS "C99 has no hardware threads; make the loop parallel"

/* A parallel loop's iterations come one after another: one thread is a right number of
 * them, as for packages that run on one. */
const kiln_backend kiln_c_backend = {
    .name = "c",
    .stmt = {[KILN_STMT_FOR] = KILN_DOES,
             [KILN_STMT_SEQ] = KILN_DOES,
             [KILN_STMT_IF] = KILN_DOES,
             [KILN_STMT_LET] = KILN_DOES,
             [KILN_STMT_ALLOC] = KILN_DOES,
             [KILN_STMT_STORE] = KILN_DOES,
             [KILN_STMT_EVAL] = KILN_DOES,
             [KILN_STMT_ATTR] = KILN_DOES,
             [KILN_STMT_BARRIER] = NO_THREADS,
             [KILN_STMT_CALL] =
                 "C has no such instruction; write out what it does (pass tensorize)",
             [KILN_STMT_LAUNCH] =
                 "C launches nothing; make the loops parallel before they are split",
             [KILN_STMT_COPY] = "there is no device to copy to; leave it out"},
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
              [KILN_SCOPE_SHARED] = ("C has no memory of a block of threads; use local "
                                     "memory, or global memory where threads share it"),
              [KILN_SCOPE_DEVICE] =
                  "there is no device; use global memory, which C reads and writes",
              [KILN_SCOPE_FRAGMENT] =
                  "C has no warps that hold a matrix between them; use local memory",
              [KILN_N_SCOPES - 1] =
                  "C has one kind of memory; use global, local or register"},
    .attr =
        {[KILN_STMT_ATTR_PRAGMA] = "no word of a pragma is known; leave it out",
         [KILN_STMT_ATTR_THREAD_EXTENT] = NO_THREADS,
         [KILN_STMT_ATTR_COPROC_SCOPE] = "there is no accelerator; leave it out",
         [KILN_STMT_ATTR_DOUBLE_BUFFER] =
             "what fills a buffer is moved ahead before; run the pass double_buffer",
         [KILN_STMT_ATTR_DEPENDENCE_SCOPE] = "C has no dependence tokens; leave it out",
         [KILN_STMT_ATTR_STAGE] = KILN_DOES,
         [KILN_STMT_ATTR_TENSORIZE] = KILN_DOES,
         [KILN_STMT_ATTR_ASYNC] = "what C copies is there at once; leave it out",
         [KILN_STMT_ATTR_PRODUCTS] = "C has no warpgroups; leave it out",
         [KILN_STMT_ATTR_SWING] = KILN_DOES},
    .expr = {KILN_BACKEND_ALL_EXPRS},
    .effect = {[KILN_INTRIN_prefetch] = KILN_DOES},
    .param = "functions are given buffers; store the scalar to one",
    .value = "a value that nobody keeps would be dropped; store it, or leave it out",
};
