/* LLVM's target machines by profile. Any thread. */
#ifndef KILN_COMPILER_CODEGEN_LLVM_CPU_MACHINE_H
#define KILN_COMPILER_CODEGEN_LLVM_CPU_MACHINE_H

#include <llvm-c/TargetMachine.h>

#include "base/base.h"
#include "compiler/target/target.h"

/* LLVM's targets, once. */
void kiln_cg_initialise(void);
/* A machine for the profile that nobody else uses, until it is given back. */
kiln_status kiln_cg_machine_take(const kiln_profile *p, LLVMTargetMachineRef *out,
                                 kiln_err *err);
void kiln_cg_machine_give(const kiln_profile *p,
                          LLVMTargetMachineRef machine); /* NULL is fine */

#endif
