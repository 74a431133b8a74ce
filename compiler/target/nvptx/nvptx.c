/* PTX (NVIDIA, Parallel Thread Execution ISA): a text that the driver of a CUDA device
 * compiles for it. */
#include "compiler/target/target_internal.h"

const kiln_arch_def kiln_arch_nvptx = {
    .name = "nvptx",
    .title = "CUDA",
    .kind = KILN_TARGET_GPU,
    .memory = kiln_gpu_memory,
    .device = "cuda",
    .generator = "nvptx",
    .always_has_fma = true,
    .comment = "//",
    .code_step = 1,
};
