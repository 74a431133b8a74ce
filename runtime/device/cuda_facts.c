/* What CUDA's driver says of its GPUs. The numbers of attributes are those of the Driver
 * API reference, cuDeviceGetAttribute. */
#include "runtime/device/cuda_api.h"
#include "runtime/facts.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct attribute {
    int what;
    size_t at;
} attribute;

#define FACT(what, member)                                                             \
    { what, offsetof(kiln_gpu_facts, member) }
static const attribute attributes[] = {
    FACT(1, block_threads),
    FACT(8, shared_bytes),
    FACT(10, warp),
    FACT(13, clock_khz),
    FACT(16, processors),
    FACT(36, memory_clock_khz),
    FACT(37, memory_bus_bits),
    FACT(39, processor_threads),
    FACT(82, processor_registers),
    FACT(97, shared_most_bytes),
};
enum { L2_CACHE_BYTES = 38 };

static int say(int code, char *error) {
    const char *why = kiln_cuda_why(code);
    snprintf(error, KILN_ERROR_TEXT, "CUDA's driver shows no GPU: error %d, %.100s",
             code, why != NULL ? why : "which has no name");
    return -1;
}

/* What a driver does not know, because it is older, is 0. */
static int32_t ask(const kiln_cuda_api *cu, int what, int device) {
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, what, device) == 0 && value > 0 ? value : 0;
}

int kiln_cuda_facts(uint32_t i, kiln_gpu_facts *out, char error[KILN_ERROR_TEXT]) {
    const kiln_cuda_api *cu = kiln_cuda_api_open(error);
    int n = 0, device = 0;
    if (cu == NULL)
        return -1;
    int code = cu->cuInit(0);
    if (code == 0)
        code = cu->cuDeviceGetCount(&n);
    if (code == 0 && n <= 0) {
        snprintf(error, KILN_ERROR_TEXT, "CUDA's driver shows no GPU");
        return -1;
    }
    if (code == 0 && i >= (uint32_t)n)
        return 1;
    *out = (kiln_gpu_facts){.kind = "cuda"};
    if (code == 0)
        code = cu->cuDeviceGet(&device, (int)i);
    if (code == 0)
        code = cu->cuDeviceGetName(out->title, KILN_FACTS_TITLE - 1, device);
    if (code != 0)
        return say(code, error);
    out->capability = 10 * ask(cu, KILN_CU_DEVICE_COMPUTE_CAPABILITY_MAJOR, device) +
                      ask(cu, KILN_CU_DEVICE_COMPUTE_CAPABILITY_MINOR, device);
    out->has_f16 = out->capability >= 53; /* CUDA programming guide, capabilities */
    for (size_t k = 0; k < sizeof attributes / sizeof attributes[0]; k++) {
        const int32_t value = ask(cu, attributes[k].what, device);
        memcpy((char *)out + attributes[k].at, &value, sizeof value);
    }
    out->l2_bytes = ask(cu, L2_CACHE_BYTES, device);
    return 0;
}
