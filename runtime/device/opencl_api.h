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
    KILN_CL_CONTEXT_PLATFORM = 0x1084
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

/* x(needed, result, name, parameters). What is not needed is of version 2.0. */
#define KILN_CL_FUNCTIONS(x)                                                                                                       \
    x(1, int32_t, clGetPlatformIDs,                                                                                                \
      (uint32_t n, kiln_cl_platform * p,                                                                                           \
       uint32_t * has)) x(1, int32_t, clGetPlatformInfo,                                                                           \
                          (kiln_cl_platform p, uint32_t what, size_t n, void *value,                                               \
                           size_t *has))                                                                                           \
        x(1, int32_t, clGetDeviceIDs,                                                                                              \
          (kiln_cl_platform p, uint64_t type, uint32_t n, kiln_cl_device * d,                                                      \
           uint32_t * has)) x(1, int32_t, clGetDeviceInfo,                                                                         \
                              (kiln_cl_device d, uint32_t what, size_t n, void *value,                                             \
                               size_t *has)) x(1, kiln_cl_context, clCreateContext,                                                \
                                               (const intptr_t *properties,                                                        \
                                                uint32_t n, const kiln_cl_device *d,                                               \
                                                kiln_cl_notify_fn *notify, void *user,                                             \
                                                int32_t *code)) x(1, int32_t,                                                      \
                                                                  clReleaseContext,                                                \
                                                                  (kiln_cl_context c))                                             \
            x(1, kiln_cl_queue, clCreateCommandQueue,                                                                              \
              (                                                                                                                    \
                  kiln_cl_context                                                                                                  \
                      c,                                                                                                           \
                  kiln_cl_device                                                                                                   \
                      d,                                                                                                           \
                  uint64_t                                                                                                         \
                      properties,                                                                                                  \
                  int32_t *                                                                                                        \
                      code)) x(1, int32_t, clReleaseCommandQueue,                                                                  \
                               (kiln_cl_queue q)) x(1, int32_t, clFlush, (kiln_cl_queue q))                                        \
                x(1, int32_t, clFinish, (kiln_cl_queue q)) x(                                                                      \
                    1, kiln_cl_mem,                                                                                                \
                    clCreateBuffer,                                                                                                \
                    (kiln_cl_context c, uint64_t flags, size_t bytes, void *host,                                                  \
                     int32_t                                                                                                       \
                         *code)) x(1, kiln_cl_mem, clCreateSubBuffer,                                                              \
                                   (kiln_cl_mem m, uint64_t flags, uint32_t type, const void *region, int32_t *code))              \
                    x(1, int32_t, clReleaseMemObject, (kiln_cl_mem m)) x(                                                          \
                        1, kiln_cl_program,                                                                                        \
                        clCreateProgramWithSource,                                                                                 \
                        (kiln_cl_context c, uint32_t n, const char **text,                                                         \
                         const size_t                                                                                              \
                             *bytes,                                                                                               \
                         int32_t                                                                                                   \
                             *code))                                                                                               \
                        x(1, int32_t, clBuildProgram,                                                                              \
                          (kiln_cl_program p, uint32_t n, const kiln_cl_device *d,                                                 \
                           const char                                                                                              \
                               *options,                                                                                           \
                           kiln_cl_built_fn                                                                                        \
                               *built,                                                                                             \
                           void                                                                                                    \
                               *user)) x(1, int32_t, clGetProgramBuildInfo,                                                        \
                                         (kiln_cl_program p, kiln_cl_device d, uint32_t what, size_t n, void *value, size_t *has)) \
                            x(1, int32_t, clReleaseProgram, (kiln_cl_program p)) x(                                                \
                                1, kiln_cl_kernel,                                                                                 \
                                clCreateKernel,                                                                                    \
                                (kiln_cl_program p, const char *name, int32_t *code))                                              \
                                x(1, int32_t, clReleaseKernel, (kiln_cl_kernel k)) x(                                              \
                                    1, int32_t,                                                                                    \
                                    clGetKernelInfo,                                                                               \
                                    (kiln_cl_kernel k, uint32_t what, size_t n,                                                    \
                                     void                                                                                          \
                                         *value,                                                                                   \
                                     size_t                                                                                        \
                                         *has))                                                                                    \
                                    x(1, int32_t, clGetKernelWorkGroupInfo,                                                        \
                                      (kiln_cl_kernel k, kiln_cl_device d,                                                         \
                                       uint32_t what,                                                                              \
                                       size_t n,                                                                                   \
                                       void *value,                                                                                \
                                       size_t *                                                                                    \
                                           has)) x(1, int32_t, clSetKernelArg,                                                     \
                                                   (kiln_cl_kernel k, uint32_t i, size_t bytes, const void *value))                \
                                        x(1, int32_t, clEnqueueNDRangeKernel,                                                      \
                                          (kiln_cl_queue q, kiln_cl_kernel k,                                                      \
                                           uint32_t axes,                                                                          \
                                           const size_t                                                                            \
                                               *offset,                                                                            \
                                           const size_t                                                                            \
                                               *all,                                                                               \
                                           const size_t                                                                            \
                                               *group,                                                                             \
                                           uint32_t n,                                                                             \
                                           const kiln_cl_event                                                                     \
                                               *wait,                                                                              \
                                           kiln_cl_event                                                                           \
                                               *event))                                                                            \
                                            x(1, int32_t, clEnqueueReadBuffer,                                                     \
                                              (kiln_cl_queue q, kiln_cl_mem m,                                                     \
                                               uint32_t blocks,                                                                    \
                                               size_t at,                                                                          \
                                               size_t bytes,                                                                       \
                                               void *to,                                                                           \
                                               uint32_t n,                                                                         \
                                               const kiln_cl_event                                                                 \
                                                   *wait,                                                                          \
                                               kiln_cl_event                                                                       \
                                                   *event))                                                                        \
                                                x(1, int32_t, clEnqueueWriteBuffer,                                                \
                                                  (kiln_cl_queue q, kiln_cl_mem m,                                                 \
                                                   uint32_t blocks,                                                                \
                                                   size_t at,                                                                      \
                                                   size_t bytes,                                                                   \
                                                   const void                                                                      \
                                                       *from,                                                                      \
                                                   uint32_t n,                                                                     \
                                                   const kiln_cl_event                                                             \
                                                       *wait,                                                                      \
                                                   kiln_cl_event                                                                   \
                                                       *event))                                                                    \
                                                    x(1, int32_t, clEnqueueCopyBuffer,                                             \
                                                      (kiln_cl_queue q,                                                            \
                                                       kiln_cl_mem                                                                 \
                                                           from,                                                                   \
                                                       kiln_cl_mem                                                                 \
                                                           to,                                                                     \
                                                       size_t from_at,                                                             \
                                                       size_t to_at,                                                               \
                                                       size_t bytes,                                                               \
                                                       uint32_t n,                                                                 \
                                                       const kiln_cl_event                                                         \
                                                           *wait,                                                                  \
                                                       kiln_cl_event                                                               \
                                                           *event))                                                                \
                                                        x(1, int32_t,                                                              \
                                                          clEnqueueMarkerWithWaitList,                                             \
                                                          (kiln_cl_queue q,                                                        \
                                                           uint32_t n,                                                             \
                                                           const kiln_cl_event                                                     \
                                                               *wait,                                                              \
                                                           kiln_cl_event                                                           \
                                                               *event))                                                            \
                                                            x(1, int32_t,                                                          \
                                                              clEnqueueBarrierWithWaitList,                                        \
                                                              (kiln_cl_queue q,                                                    \
                                                               uint32_t n,                                                         \
                                                               const kiln_cl_event                                                 \
                                                                   *wait,                                                          \
                                                               kiln_cl_event                                                       \
                                                                   *                                                               \
                                                                       event)) x(1, int32_t, clWaitForEvents,                      \
                                                                                 (uint32_t n, const kiln_cl_event *event))         \
                                                                x(1, int32_t,                                                      \
                                                                  clGetEventInfo,                                                  \
                                                                  (kiln_cl_event e,                                                \
                                                                   uint32_t what,                                                  \
                                                                   size_t n,                                                       \
                                                                   void *value,                                                    \
                                                                   size_t                                                          \
                                                                       *has))                                                      \
                                                                    x(1, int32_t,                                                  \
                                                                      clGetEventProfilingInfo,                                     \
                                                                      (kiln_cl_event                                               \
                                                                           e,                                                      \
                                                                       uint32_t what,                                              \
                                                                       size_t n,                                                   \
                                                                       void *value,                                                \
                                                                       size_t *                                                    \
                                                                           has)) x(1, int32_t, clReleaseEvent,                     \
                                                                                   (kiln_cl_event e))                              \
                                                                        x(0, void *,                                               \
                                                                          clSVMAlloc,                                              \
                                                                          (kiln_cl_context                                         \
                                                                               c,                                                  \
                                                                           uint64_t                                                \
                                                                               flags,                                              \
                                                                           size_t                                                  \
                                                                               bytes,                                              \
                                                                           uint32_t                                                \
                                                                               alignment))                                         \
                                                                            x(0, void,                                             \
                                                                              clSVMFree,                                           \
                                                                              (kiln_cl_context                                     \
                                                                                   c,                                              \
                                                                               void *                                              \
                                                                                   p))                                             \
                                                                                x(0,                                               \
                                                                                  int32_t,                                         \
                                                                                  clSetKernelArgSVMPointer,                        \
                                                                                  (kiln_cl_kernel                                  \
                                                                                       k,                                          \
                                                                                   uint32_t                                        \
                                                                                       i,                                          \
                                                                                   const void                                      \
                                                                                       *p))                                        \
                                                                                    x(0,                                           \
                                                                                      int32_t,                                     \
                                                                                      clEnqueueSVMMemcpy,                          \
                                                                                      (kiln_cl_queue                               \
                                                                                           q,                                      \
                                                                                       uint32_t                                    \
                                                                                           blocks,                                 \
                                                                                       void *                                      \
                                                                                           to,                                     \
                                                                                       const void                                  \
                                                                                           *from,                                  \
                                                                                       size_t                                      \
                                                                                           bytes,                                  \
                                                                                       uint32_t                                    \
                                                                                           n,                                      \
                                                                                       const kiln_cl_event                         \
                                                                                           *wait,                                  \
                                                                                       kiln_cl_event                               \
                                                                                           *event))

typedef struct kiln_opencl_api {
#define KILN_CL_FUNCTION(needed, result, name, parameters) result(*name) parameters;
    KILN_CL_FUNCTIONS(KILN_CL_FUNCTION)
#undef KILN_CL_FUNCTION
} kiln_opencl_api;

/* The functions of this machine's loader, opened once. NULL with the reason. */
const kiln_opencl_api *kiln_opencl_api_open(char error[KILN_ERROR_TEXT]);
/* "CL_OUT_OF_RESOURCES"; NULL: none of the specification's. */
const char *kiln_opencl_why(int code);

#endif
