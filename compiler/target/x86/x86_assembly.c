/* AT&T syntax, as LLVM writes it. */
#include "compiler/target/target_internal.h"
#include "compiler/target/x86/x86.h"

unsigned kiln_x86_asm_flags(kiln_str op, kiln_str operand) {
    const bool is_vector = kiln_asm_has(operand, "%xmm") ||
                           kiln_asm_has(operand, "%ymm") ||
                           kiln_asm_has(operand, "%zmm");
    const bool is_scalar = kiln_str_ends(op, "ss") || kiln_str_ends(op, "sd");
    /* vpdpbusd ends as scalar operations do, and is none. */
    const bool is_dot = kiln_str_starts(op, "vpdp") || kiln_str_starts(op, "vdpbf16");
    const bool is_fma = kiln_str_starts(op, "vfmadd") ||
                        kiln_str_starts(op, "vfmsub") || kiln_str_starts(op, "vfnm");
    const bool is_memory = kiln_asm_has(operand, "(");
    /* The destination is last. */
    const bool to_memory =
        is_memory && operand.n > 0 && operand.p[operand.n - 1] == ')';
    unsigned flags = 0;
    if (op.p[0] == 'j')
        flags |= KILN_ASM_BRANCH;
    if (is_dot || (is_fma && !is_scalar))
        flags |= KILN_ASM_FMA;
    if (is_vector && is_memory)
        flags |= to_memory ? KILN_ASM_STORE : KILN_ASM_LOAD;
    /* An array on the stack is walked by an index: "64(%rsp,%rax)". */
    if (kiln_asm_has(operand, "(%rsp)"))
        flags |= KILN_ASM_STACK;
    return flags;
}

/* %xmm3, %ymm3 and %zmm3 are one. */
int kiln_x86_asm_register(kiln_str text, size_t i) {
    if (i + 4 >= text.n || text.p[i] != '%' || text.p[i + 1] < 'x' ||
        text.p[i + 1] > 'z' || text.p[i + 2] != 'm' || text.p[i + 3] != 'm')
        return -1;
    return kiln_asm_number(text, i + 4);
}
