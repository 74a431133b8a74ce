/* Shared by the files of the kind "opencl". */
#ifndef KILN_RUNTIME_DEVICE_DEVICE_OPENCL_H
#define KILN_RUNTIME_DEVICE_DEVICE_OPENCL_H

#include "runtime/device/device_gpu.h"
#include "runtime/device/opencl_api.h"

#include <pthread.h>

/* A block of memory where the device has no addresses that the host could compute with:
 * a buffer, and a range of numbers that stands for it. */
typedef struct kiln_opencl_block {
    struct kiln_opencl_block *next;
    uint64_t at;
    size_t bytes;
    kiln_cl_mem buffer;
    struct kiln_opencl_part *part; /* sub-buffers, made when they are asked for first */
} kiln_opencl_block;

enum { KILN_OPENCL_TITLE = 256 };

typedef struct kiln_opencl_device {
    kiln_gpu_device base;
    const kiln_opencl_api *cl;
    kiln_cl_device id;
    kiln_cl_context context;
    char title[KILN_OPENCL_TITLE]; /* "PLATFORM: DEVICE" */
    int has_svm; /* then addresses are those of shared virtual memory */
    pthread_mutex_t lock;
    /* Under the lock: */
    kiln_opencl_block *block;
    uint64_t next_at;
} kiln_opencl_device;

/* The device to use: as KILN_OPENCL_DEVICE says, part of "PLATFORM: DEVICE", else the
 * first GPU, accelerator or processor, in this order; and its name. -1 with the reason. */
int kiln_opencl_pick(const kiln_opencl_api *cl, kiln_cl_platform *platform,
                     kiln_cl_device *device, char title[KILN_OPENCL_TITLE],
                     char error[KILN_ERROR_TEXT]);

/* Of the kind (opencl_memory.c). */
void *kiln_opencl_alloc(kiln_device *base, uint32_t memory, size_t bytes);
void kiln_opencl_release(kiln_device *base, uint32_t memory, void *block);
/* Where there is no shared virtual memory: the buffer that an address is in, and where
 * there. NULL: it is the host's. */
kiln_cl_mem kiln_opencl_buffer_at(kiln_opencl_device *d, uint64_t address, size_t *at);
/* A buffer that begins there: borrowed for as long as the block lives. 0, or the
 * driver's code. */
int kiln_opencl_part_at(kiln_opencl_device *d, uint64_t address, kiln_cl_mem *out);

#endif
