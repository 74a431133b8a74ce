/* Cortex-M: what the processor reads when it is reset, and how it asks the emulator. */
    .syntax unified
    .thumb

    .section .vectors, "a"
    .word stack_top
    .word reset
    .rept 14
    .word fault
    .endr

    .text
    .thumb_func
    .globl reset
reset:
    ldr r0, =0xE000ED88 /* CPACR: the FPU may be used, where there is one */
    ldr r1, [r0]
    orr r1, r1, #0x00F00000
    str r1, [r0]
    dsb
    isb
    bl bare_main

    .thumb_func
fault:
    bl bare_fault

    .thumb_func
    .globl bare_ask
bare_ask: /* Arm, Semihosting for AArch32 and AArch64 */
    bkpt 0xAB
    bx lr
