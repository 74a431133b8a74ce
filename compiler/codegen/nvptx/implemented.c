/* What this back end implements. A construct without a row, and one that says why not, is
 * refused before anything is generated. */
#include "compiler/codegen/nvptx/nvptx.h"

const kiln_backend kiln_nvptx_backend = {
    .name = "nvptx",
    .stmt = {[KILN_STMT_FOR] = KILN_DOES,
             [KILN_STMT_SEQ] = KILN_DOES,
             [KILN_STMT_IF] = KILN_DOES,
             [KILN_STMT_LET] = KILN_DOES,
             [KILN_STMT_ALLOC] = KILN_DOES,
             [KILN_STMT_STORE] = KILN_DOES,
             [KILN_STMT_EVAL] = KILN_DOES,
             [KILN_STMT_ATTR] = KILN_DOES,
             [KILN_STMT_BARRIER] = KILN_DOES,
             [KILN_STMT_CALL] =
                 ("PTX has no such instruction; write out what it does (pass "
                  "tensorize)"),
             [KILN_STMT_LAUNCH] = KILN_DOES,
             [KILN_STMT_COPY] =
                 ("who runs the kernel copies, its arguments are the device's memory; "
                  "split it without host_memory")},
    .loop = {[KILN_LOOP_SERIAL] = KILN_DOES,
             [KILN_LOOP_PARALLEL] =
                 "a GPU's threads are axes; bind the loop to blockIdx or threadIdx",
             [KILN_LOOP_VECTORIZED] = KILN_DOES,
             [KILN_LOOP_UNROLLED] = KILN_DOES,
             [KILN_LOOP_THREAD] = KILN_DOES,
             [KILN_LOOP_VTHREAD] =
                 "virtual threads must have been interleaved; run the pass vthread"},
    .scope = {[KILN_SCOPE_GLOBAL] = KILN_DOES,
              [KILN_SCOPE_LOCAL] = KILN_DOES,
              [KILN_SCOPE_REGISTER] = KILN_DOES,
              [KILN_SCOPE_SHARED] = KILN_DOES,
              [KILN_SCOPE_DEVICE] =
                  ("all that the kernel has is the device's; use global memory, which "
                   "launches share"),
              [KILN_N_SCOPES - 1] =
                  ("PTX has four kinds of memory; use global, shared, local or "
                   "register")},
    .attr =
        {[KILN_STMT_ATTR_PRAGMA] = "no word of a pragma is known; leave it out",
         [KILN_STMT_ATTR_THREAD_EXTENT] =
             "how wide a launch is its loops say; leave it out",
         [KILN_STMT_ATTR_COPROC_SCOPE] = "there is no accelerator; leave it out",
         [KILN_STMT_ATTR_DOUBLE_BUFFER] =
             "what fills a buffer is moved ahead before; run the pass double_buffer",
         [KILN_STMT_ATTR_DEPENDENCE_SCOPE] =
             "PTX has no dependence tokens; leave it out",
         [KILN_STMT_ATTR_STAGE] = KILN_DOES,
         [KILN_STMT_ATTR_TENSORIZE] = KILN_DOES},
    .expr = {KILN_BACKEND_ALL_EXPRS},
    .effect = {[KILN_INTRIN_prefetch] = KILN_DOES},
    .param = "nobody launches the program with a number; store it to a buffer",
    .value = "a value that nobody keeps would be dropped; store it, or leave it out",
};
