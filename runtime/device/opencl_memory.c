/* OpenCL memory by addresses. Devices with shared virtual memory have them. The others
 * have buffers: a range of numbers stands for each, from where no process has memory, and
 * a kernel's argument is the sub-buffer that begins at the operand and goes to the
 * block's end. It is made when the address is first used, and kept with the block. */
#include "runtime/device/device_opencl.h"

#include <assert.h>
#include <string.h>

/* Above what a 64-bit machine maps for its programs. */
#define FIRST_ADDRESS ((uint64_t)1 << 62)
enum { APART = 4096 };

typedef struct kiln_opencl_part {
    struct kiln_opencl_part *next;
    size_t at;
    kiln_cl_mem buffer;
} kiln_opencl_part;

static void *take_block(kiln_opencl_device *d, size_t bytes) {
    int32_t code = 0;
    kiln_opencl_block *b = kiln_cpu_alloc(&d->base.base, 0, sizeof *b);
    if (b == NULL)
        return NULL;
    *b = (kiln_opencl_block){.bytes = bytes};
    b->buffer =
        d->cl->clCreateBuffer(d->context, KILN_CL_MEM_READ_WRITE, bytes, NULL, &code);
    if (b->buffer == NULL || code != 0) {
        kiln_cpu_release(&d->base.base, 0, b);
        return NULL;
    }
    pthread_mutex_lock(&d->lock);
    b->at = d->next_at != 0 ? d->next_at : FIRST_ADDRESS;
    d->next_at = b->at + (bytes / APART + 2) * APART;
    b->next = d->block;
    d->block = b;
    pthread_mutex_unlock(&d->lock);
    return (void *)(uintptr_t)b->at;
}

void *kiln_opencl_alloc(kiln_device *base, uint32_t memory, size_t bytes) {
    kiln_opencl_device *d = (kiln_opencl_device *)base;
    (void)memory;
    /* 0: aligned for the largest type, of 128 bytes. */
    return d->has_svm ? d->cl->clSVMAlloc(d->context, KILN_CL_MEM_READ_WRITE, bytes, 0)
                      : take_block(d, bytes);
}

static void release_block(kiln_opencl_device *d, kiln_opencl_block *b) {
    kiln_opencl_part *next;
    for (kiln_opencl_part *p = b->part; p != NULL; p = next) {
        next = p->next;
        d->cl->clReleaseMemObject(p->buffer);
        kiln_cpu_release(&d->base.base, 0, p);
    }
    d->cl->clReleaseMemObject(b->buffer);
    kiln_cpu_release(&d->base.base, 0, b);
}

void kiln_opencl_release(kiln_device *base, uint32_t memory, void *block) {
    kiln_opencl_device *d = (kiln_opencl_device *)base;
    (void)memory;
    if (block == NULL)
        return;
    if (d->has_svm) {
        d->cl->clSVMFree(d->context, block);
        return;
    }
    pthread_mutex_lock(&d->lock);
    kiln_opencl_block **at = &d->block;
    while (*at != NULL && (*at)->at != (uint64_t)(uintptr_t)block)
        at = &(*at)->next;
    kiln_opencl_block *found = *at;
    if (found != NULL)
        *at = found->next;
    pthread_mutex_unlock(&d->lock);
    if (found != NULL)
        release_block(d, found);
}

/* Under the lock. */
static kiln_opencl_block *block_at(const kiln_opencl_device *d, uint64_t address) {
    kiln_opencl_block *b = d->block;
    while (b != NULL && (address < b->at || address - b->at > b->bytes))
        b = b->next;
    return b;
}

kiln_cl_mem kiln_opencl_buffer_at(kiln_opencl_device *d, uint64_t address, size_t *at) {
    *at = 0;
    if (address < FIRST_ADDRESS)
        return NULL;
    pthread_mutex_lock(&d->lock);
    const kiln_opencl_block *b = block_at(d, address);
    if (b != NULL)
        *at = (size_t)(address - b->at);
    kiln_cl_mem buffer = b != NULL ? b->buffer : NULL;
    pthread_mutex_unlock(&d->lock);
    return buffer;
}

/* Under the lock. */
static int make_part(kiln_opencl_device *d, kiln_opencl_block *b, size_t at,
                     kiln_cl_mem *out) {
    assert(at > 0 && at < b->bytes);
    const kiln_cl_region region = {at, b->bytes - at};
    int32_t code = 0;
    kiln_opencl_part *p = kiln_cpu_alloc(&d->base.base, 0, sizeof *p);
    if (p == NULL)
        return -6; /* CL_OUT_OF_HOST_MEMORY */
    *p = (kiln_opencl_part){.next = b->part, .at = at};
    p->buffer =
        d->cl->clCreateSubBuffer(b->buffer, KILN_CL_MEM_READ_WRITE,
                                 KILN_CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code != 0 || p->buffer == NULL) {
        kiln_cpu_release(&d->base.base, 0, p);
        return code != 0 ? code : -6;
    }
    b->part = p;
    *out = p->buffer;
    return 0;
}

int kiln_opencl_part_at(kiln_opencl_device *d, uint64_t address, kiln_cl_mem *out) {
    int code = 0;
    pthread_mutex_lock(&d->lock);
    kiln_opencl_block *b = block_at(d, address);
    const size_t at = b != NULL ? (size_t)(address - b->at) : 0;
    kiln_opencl_part *p = b != NULL ? b->part : NULL;
    while (p != NULL && p->at != at)
        p = p->next;
    if (b == NULL || at >= b->bytes) /* an operand of no bytes at a block's end */
        *out = b != NULL ? b->buffer : NULL;
    else if (at == 0 || p != NULL)
        *out = p != NULL ? p->buffer : b->buffer;
    else
        code = make_part(d, b, at, out);
    pthread_mutex_unlock(&d->lock);
    return code;
}
