#include "runtime/device/cuda_api.h"

#include "runtime/device/driver.h"

#include <pthread.h>
#include <stddef.h>

static const kiln_driver_symbol symbols[] = {
#define KILN_CU(name, parameters) {#name, offsetof(kiln_cuda_api, name), 1},
#define KILN_CU_NEWER(name, parameters) {#name, offsetof(kiln_cuda_api, name), 0},
#include "runtime/device/cuda_api.def"
#undef KILN_CU
};

static const kiln_driver_library library = {
    .file = "libcuda.so.1",
    .variable = "KILN_CUDA_LIBRARY",
    .remedy = "device 'cuda' needs an NVIDIA GPU and its driver: install that (Debian: "
              "nvidia-driver and libcuda1)",
    .symbol = symbols,
    .n_symbols = sizeof symbols / sizeof symbols[0],
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kiln_cuda_api api;
static int is_open;

const kiln_cuda_api *kiln_cuda_api_open(char error[KILN_ERROR_TEXT]) {
    pthread_mutex_lock(&lock);
    is_open = is_open || kiln_driver_open(&library, &api, error) == 0;
    const kiln_cuda_api *result = is_open ? &api : NULL;
    pthread_mutex_unlock(&lock);
    return result;
}

const char *kiln_cuda_why(int code) {
    const char *text = NULL;
    return api.cuGetErrorString(code, &text) == 0 ? text : NULL;
}
