/* x86-64: what its files share. */
#ifndef KILN_COMPILER_TARGET_X86_X86_H
#define KILN_COMPILER_TARGET_X86_X86_H

#include "compiler/target/target.h"

#if defined(__x86_64__)
kiln_status kiln_x86_detect(kiln_arena *a, kiln_profile *out, kiln_err *err);
#endif
/* Of a core by who made it, as cpuid has it ("GenuineIntel", the family with its
 * extension), and how wide its vectors are; false, and *out as it was, where the shipped
 * profile says it as well. */
bool kiln_x86_core(const char *vendor, int family, int vector_bytes, kiln_core *out);
unsigned kiln_x86_asm_flags(kiln_str op, kiln_str operand);
int kiln_x86_asm_register(kiln_str text, size_t i);

#endif
