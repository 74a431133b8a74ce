/* The part of OpenCL that the runtime uses, declared from the specification (Khronos, The
 * OpenCL Specification 1.2 and 2.0), so that building needs no package and linking no
 * library: functions are found in the loader's library (ICD) when a device is opened. */
#ifndef KILN_RUNTIME_DEVICE_OPENCL_API_H
#define KILN_RUNTIME_DEVICE_OPENCL_API_H

#include "runtime/kiln.h"

/* The specification's handles, each of its own type. */
typedef struct kiln_cl_platform_s *kiln_cl_platform;
typedef struct kiln_cl_device_s *kiln_cl_device;
typedef struct kiln_cl_context_s *kiln_cl_context;
typedef struct kiln_cl_queue_s *kiln_cl_queue;
typedef struct kiln_cl_mem_s *kiln_cl_mem;
typedef struct kiln_cl_program_s *kiln_cl_program;
typedef struct kiln_cl_kernel_s *kiln_cl_kernel;
typedef struct kiln_cl_event_s *kiln_cl_event;

enum {
    KILN_CL_PLATFORM_NAME = 0x0902,
    KILN_CL_DEVICE_TYPE = 0x1000,
    KILN_CL_DEVICE_NAME = 0x102B,
    KILN_CL_DEVICE_SVM_CAPABILITIES = 0x1053,
    KILN_CL_SVM_COARSE_GRAIN_BUFFER = 1,
    KILN_CL_MEM_READ_WRITE = 1,
    KILN_CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
    KILN_CL_PROGRAM_BUILD_LOG = 0x1183,
    KILN_CL_KERNEL_NUM_ARGS = 0x1191,
    KILN_CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    KILN_CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    KILN_CL_CONTEXT_PLATFORM = 0x1084,
    KILN_CL_QUEUE_PROFILING_ENABLE = 2,
    KILN_CL_PROFILING_COMMAND_START = 0x1282,
    KILN_CL_PROFILING_COMMAND_END = 0x1283
};
#define KILN_CL_DEVICE_TYPE_CPU ((uint64_t)2)
#define KILN_CL_DEVICE_TYPE_GPU ((uint64_t)4)
#define KILN_CL_DEVICE_TYPE_ACCELERATOR ((uint64_t)8)
#define KILN_CL_DEVICE_TYPE_ALL ((uint64_t)0xFFFFFFFF)

typedef struct kiln_cl_region {
    size_t origin, size;
} kiln_cl_region;

typedef void kiln_cl_notify_fn(const char *text, const void *own, size_t n, void *user);
typedef void kiln_cl_built_fn(kiln_cl_program p, void *user);

typedef struct kiln_opencl_api {
#define KILN_CL(needed, result, name, parameters) result(*name) parameters;
#include "runtime/device/opencl_api.def"
#undef KILN_CL
} kiln_opencl_api;

/* The functions of this machine's loader, opened once. NULL with the reason. */
const kiln_opencl_api *kiln_opencl_api_open(char error[KILN_ERROR_TEXT]);
/* "CL_OUT_OF_RESOURCES"; NULL: none of the specification's. */
const char *kiln_opencl_why(int code);

#endif
