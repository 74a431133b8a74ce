/* The part of CUDA's driver interface that the runtime uses, declared from NVIDIA's CUDA
 * Driver API reference (versions 11 and 12), so that building needs no toolkit and
 * linking no library: functions are found in the driver's when a device is opened. Where
 * the reference's header renames a function (cuMemAlloc is cuMemAlloc_v2), the name here
 * is the library's. */
#ifndef KILN_RUNTIME_DEVICE_CUDA_API_H
#define KILN_RUNTIME_DEVICE_CUDA_API_H

#include "runtime/kiln.h"

typedef struct kiln_cu_context_s *kiln_cu_context;
typedef struct kiln_cu_module_s *kiln_cu_module;
typedef struct kiln_cu_function_s *kiln_cu_function;
typedef struct kiln_cu_stream_s *kiln_cu_stream;
typedef struct kiln_cu_event_s *kiln_cu_event;
/* Addresses, of the device's memory or, since addressing is unified, the host's. */
typedef unsigned long long kiln_cu_address;

enum {
    KILN_CU_DEVICE_COMPUTE_CAPABILITY_MAJOR = 75,
    KILN_CU_DEVICE_COMPUTE_CAPABILITY_MINOR = 76,
    KILN_CU_DEVICE_UNIFIED_ADDRESSING = 41,
    KILN_CU_FUNCTION_MAX_THREADS_PER_BLOCK = 0,
    KILN_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    KILN_CU_JIT_ERROR_LOG_BUFFER = 5,
    KILN_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    KILN_CU_STREAM_NON_BLOCKING = 1,
    KILN_CU_EVENT_DISABLE_TIMING = 2
};

/* x(name, parameters); all return 0 or an error. */
#define KILN_CU_FUNCTIONS(x)                                                           \
    x(cuInit, (unsigned flags)) x(cuGetErrorString, (int code, const char **text)) x(  \
        cuDeviceGetCount, (int *n)) x(cuDeviceGet, (int *device, int i))               \
        x(cuDeviceGetAttribute, (int *value, int what, int device)) x(                 \
            cuDevicePrimaryCtxRetain,                                                  \
            (kiln_cu_context * c, int device)) x(cuDevicePrimaryCtxRelease,            \
                                                 (int device)) x(cuCtxPushCurrent_v2,  \
                                                                 (kiln_cu_context c))  \
            x(cuCtxPopCurrent_v2, (kiln_cu_context * c)) x(                            \
                cuMemAlloc_v2, (kiln_cu_address * p, size_t bytes))                    \
                x(cuMemFree_v2, (kiln_cu_address p)) x(                                \
                    cuMemcpyAsync,                                                     \
                    (kiln_cu_address to, kiln_cu_address from, size_t bytes,           \
                     kiln_cu_stream s))                                                \
                    x(cuModuleLoadDataEx,                                              \
                      (kiln_cu_module * m, const void *image, unsigned n, int *option, \
                       void **value)) x(cuModuleUnload, (kiln_cu_module m))            \
                        x(cuModuleGetFunction,                                         \
                          (kiln_cu_function * f, kiln_cu_module m, const char *name))  \
                            x(cuFuncGetAttribute,                                      \
                              (int *value, int what, kiln_cu_function f))              \
                                x(cuFuncSetAttribute,                                  \
                                  (kiln_cu_function f, int what, int value))           \
                                    x(cuLaunchKernel,                                  \
                                      (kiln_cu_function f, unsigned grid_x,            \
                                       unsigned grid_y, unsigned grid_z,               \
                                       unsigned block_x, unsigned block_y,             \
                                       unsigned block_z, unsigned shared,              \
                                       kiln_cu_stream s, void **parameter,             \
                                       void **extra)) x(cuStreamCreate,                \
                                                        (kiln_cu_stream * s,           \
                                                         unsigned flags))              \
                                        x(cuStreamDestroy_v2, (kiln_cu_stream s)) x(   \
                                            cuStreamSynchronize, (kiln_cu_stream s))   \
                                            x(cuStreamWaitEvent,                       \
                                              (kiln_cu_stream s, kiln_cu_event e,      \
                                               unsigned flags))                        \
                                                x(cuEventCreate,                       \
                                                  (kiln_cu_event * e, unsigned flags)) \
                                                    x(cuEventDestroy_v2,               \
                                                      (kiln_cu_event e))               \
                                                        x(cuEventRecord,               \
                                                          (kiln_cu_event e,            \
                                                           kiln_cu_stream s))          \
                                                            x(cuEventSynchronize,      \
                                                              (kiln_cu_event e))

typedef struct kiln_cuda_api {
#define KILN_CU_FUNCTION(name, parameters) int(*name) parameters;
    KILN_CU_FUNCTIONS(KILN_CU_FUNCTION)
#undef KILN_CU_FUNCTION
} kiln_cuda_api;

/* The functions of this machine's driver, opened once. NULL with the reason. */
const kiln_cuda_api *kiln_cuda_api_open(char error[KILN_ERROR_TEXT]);
/* The driver's text for an error; NULL: it has none. */
const char *kiln_cuda_why(int code);

#endif
