/* Cortex-A, 64 bits, at exception level 1. With translation off all memory counts as a
 * device's, where loads must be aligned; so each address is mapped to itself: the first
 * GiB (devices), and the second one, which is memory. */
    .section .vectors, "ax"
    .globl start
start:
    mrs x0, cpacr_el1 /* floating point may be used */
    orr x0, x0, #(3 << 20)
    msr cpacr_el1, x0
    ldr x0, =stack_top
    mov sp, x0
    ldr x0, =vectors
    msr vbar_el1, x0
    ldr x0, =0x00FF /* attribute 0: memory, cached; 1: a device's */
    msr mair_el1, x0
    ldr x0, =0x00803520 /* 32 bits of addresses, pages of 4 KiB, no second half */
    msr tcr_el1, x0
    ldr x0, =map
    msr ttbr0_el1, x0
    isb
    mrs x0, sctlr_el1
    ldr x1, =0x1005 /* translation, caches */
    orr x0, x0, x1
    msr sctlr_el1, x0
    isb
    bl bare_main

    .balign 2048
vectors:
    .rept 16
    bl bare_fault
    .balign 128
    .endr

    .text
    .globl bare_ask
bare_ask: /* Arm, Semihosting for AArch32 and AArch64 */
    hlt #0xF000
    ret

    .section .rodata
    .balign 4096
map:
    .quad 0x0000000000000705
    .quad 0x0000000040000701
    .quad 0
    .quad 0

    .section .note.GNU-stack, ""
