/* OpenCL C 1.2 (Khronos, The OpenCL Specification, 1.2): a text that the driver of
 * whatever device compiles. */
#include "compiler/target/target_internal.h"

/* A text has no instructions. */
static unsigned asm_flags(kiln_str op, kiln_str operand) {
    (void)op;
    (void)operand;
    return 0;
}

const kiln_arch_def kiln_arch_opencl = {
    .name = "opencl",
    .title = "OpenCL",
    .kind = KILN_TARGET_GPU,
    .memory = kiln_gpu_memory,
    .device = "opencl",
    .generator = "opencl",
    .always_has_fma = true,
    .comment = "//",
    .code_step = 1,
    .asm_flags = asm_flags,
    .asm_register = kiln_asm_no_register,
};
