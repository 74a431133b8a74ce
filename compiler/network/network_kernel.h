/* Code for one choice, by itself, and what its hot loops hold. */
#ifndef KILN_COMPILER_NETWORK_NETWORK_KERNEL_H
#define KILN_COMPILER_NETWORK_NETWORK_KERNEL_H

#include "compiler/codegen/codegen.h"
#include "compiler/network/network_choose.h"

typedef struct kiln_kernel {
    const kiln_op_work *work;
    kiln_choice choice;
    kiln_scheduled scheduled;
    kiln_program *program;
    kiln_object object;
    kiln_codegen_text text; /* assembly; IR where asked for */
    int64_t lower_ns, codegen_ns;
} kiln_kernel;

kiln_status kiln_kernel_make(kiln_arena *a, const kiln_op_work *w,
                             const kiln_choice *choice, const kiln_profile *p,
                             kiln_kernel *out, kiln_err *err);
/* The same, but text.assembly is the object's listing: half the time, and no comments.
 */
kiln_status kiln_kernel_make_listed(kiln_arena *a, const kiln_op_work *w,
                                    const kiln_choice *choice, const kiln_profile *p,
                                    kiln_kernel *out, kiln_err *err);
/* What the innermost loops hold that do the work: those with multiply-adds, or where
 * there is none, with vector memory accesses, or any. */
typedef struct kiln_hot_loops {
    kiln_asm_loop *loop; /* all innermost loops, in order of the text */
    size_t n;
    const kiln_asm_loop *hot; /* the one with most multiply-adds (then instructions);
                                 NULL: no loop */
    int spills;               /* of all loops with multiply-adds */
    int vector_registers;     /* different ones named in the hot loop */
} kiln_hot_loops;
kiln_status kiln_kernel_loops(kiln_arena *a, const kiln_kernel *k,
                              const kiln_profile *p, kiln_hot_loops *out,
                              kiln_err *err);
/* Lines [begin, end] of a text, counted from 1. */
kiln_str kiln_text_lines(kiln_str text, int begin, int end);

#endif
