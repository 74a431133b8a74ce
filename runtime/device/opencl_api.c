#include "runtime/device/opencl_api.h"

#include "runtime/device/driver.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

static const kiln_driver_symbol symbols[] = {
#define KILN_CL(needed, result, name, parameters)                                      \
    {#name, offsetof(kiln_opencl_api, name), needed},
#include "runtime/device/opencl_api.def"
#undef KILN_CL
};

static const kiln_driver_library library = {
    .file = "libOpenCL.so.1",
    .variable = "KILN_OPENCL_LIBRARY",
    .remedy = "device 'opencl' needs OpenCL: install its loader (Debian: "
              "ocl-icd-libopencl1) and the device's driver",
    .symbol = symbols,
    .n_symbols = sizeof symbols / sizeof symbols[0],
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kiln_opencl_api api;
static int is_open;

const kiln_opencl_api *kiln_opencl_api_open(char error[KILN_ERROR_TEXT]) {
    pthread_mutex_lock(&lock);
    is_open = is_open || kiln_driver_open(&library, &api, error) == 0;
    const kiln_opencl_api *result = is_open ? &api : NULL;
    pthread_mutex_unlock(&lock);
    return result;
}

/* Those that a device may meet; programming errors of the runtime's own have numbers. */
static const struct {
    int code;
    const char *text;
} names[] = {
    {-1, "the device's"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE: the device has too little memory"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-13,
     "CL_MISALIGNED_SUB_BUFFER_OFFSET: the device has no shared virtual memory and "
     "its buffers want operands farther apart than 64 bytes"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: what was waited for failed"},
    {-30, "CL_INVALID_VALUE"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-46, "CL_INVALID_KERNEL_NAME: the code has no such entry"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-61, "CL_INVALID_BUFFER_SIZE: the device has no block of that size"},
};

const char *kiln_opencl_why(int code) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            return names[i].text;
    return NULL;
}
