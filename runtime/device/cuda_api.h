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
typedef struct kiln_cu_link_s *kiln_cu_link;
typedef struct kiln_cu_graph_s *kiln_cu_graph;
typedef struct kiln_cu_graph_run_s *kiln_cu_graph_run; /* CUgraphExec */
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
    KILN_CU_JIT_OPTIMIZATION_LEVEL = 7, /* 0 to 4 */
    KILN_CU_JIT_INPUT_PTX = 1,
    KILN_CU_ERROR_OUT_OF_MEMORY = 2,
    KILN_CU_CAPTURE_RELAXED = 2, /* other threads may ask for memory meanwhile */
    KILN_CU_STREAM_NON_BLOCKING = 1,
    KILN_CU_EVENT_DISABLE_TIMING = 2
};

typedef struct kiln_cuda_api {
#define KILN_CU(name, parameters) int(*name) parameters;
#include "runtime/device/cuda_api.def"
#undef KILN_CU
} kiln_cuda_api;

/* The functions of this machine's driver, opened once. NULL with the reason. */
const kiln_cuda_api *kiln_cuda_api_open(char error[KILN_ERROR_TEXT]);
/* The driver's text for an error; NULL: it has none. */
const char *kiln_cuda_why(int code);

#endif
