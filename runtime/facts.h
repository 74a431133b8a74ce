/* What the GPUs of this machine say of themselves, by their drivers: whoever makes code
 * for one wants to know, and no device is opened for it. */
#ifndef KILN_RUNTIME_FACTS_H
#define KILN_RUNTIME_FACTS_H

#include "runtime/kiln.h"

enum { KILN_FACTS_TITLE = 256 };

/* 0: the driver does not say. Registers have 32 bits. */
typedef struct kiln_gpu_facts {
    const char *kind;             /* of device: "cuda" */
    char title[KILN_FACTS_TITLE]; /* "NVIDIA H200" */
    int is_processor; /* what OpenCL shows is a CPU, whose threads are loops */
    int has_f16;
    int32_t capability; /* CUDA's compute capability: 90 */
    int32_t warp, block_threads;
    int32_t shared_bytes;      /* that a block may have */
    int32_t shared_most_bytes; /* that one gets which asks for it when it is launched */
    int32_t processors, processor_threads, processor_registers;
    int32_t clock_khz, memory_clock_khz, memory_bus_bits;
    int64_t l2_bytes;
} kiln_gpu_facts;

/* The i-th of this kind: 0; 1 where there are no more; -1 with the reason where there is
 * none at all: no driver, no such device. */
typedef int kiln_gpu_facts_fn(uint32_t i, kiln_gpu_facts *out,
                              char error[KILN_ERROR_TEXT]);
kiln_gpu_facts_fn kiln_cuda_facts, kiln_opencl_facts;

#endif
