/* x86-64: what its files share. */
#ifndef KILN_COMPILER_TARGET_X86_X86_H
#define KILN_COMPILER_TARGET_X86_X86_H

#include "compiler/target/target.h"

#if defined(__x86_64__)
kiln_status kiln_x86_detect(kiln_arena *a, kiln_profile *out, kiln_err *err);
#endif
unsigned kiln_x86_asm_flags(kiln_str op, kiln_str operand);
int kiln_x86_asm_register(kiln_str text, size_t i);

#endif
