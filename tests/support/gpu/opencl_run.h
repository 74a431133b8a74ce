/* Kernels of a GPU's module on this machine's first OpenCL device, by the loader's library:
 * opened when it is asked for, so that nothing is needed to build. */
#ifndef KILN_TESTS_SUPPORT_GPU_OPENCL_RUN_H
#define KILN_TESTS_SUPPORT_GPU_OPENCL_RUN_H

#include "compiler/codegen/codegen_gpu_module.h"

typedef struct opencl_operand {
    void *data; /* copied there before the launches, and back after them */
    size_t bytes;
} opencl_operand;

/* Why nothing runs here; NULL: it does. */
const char *opencl_missing(void);

typedef struct opencl_code opencl_code;
/* Compiled for the device; KILN_ERR_LIB has what its compiler says. The module must
 * outlive it. */
kiln_status opencl_open(kiln_arena *a, const kiln_gpu_module *m, opencl_code **out,
                        kiln_err *err);
void opencl_close(opencl_code *c);
/* All launches of a kernel, in order. */
kiln_status opencl_run(opencl_code *c, const char *symbol,
                       const opencl_operand *operand, int n, kiln_err *err);

#endif
