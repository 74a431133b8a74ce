/* opencl: the first GPU that this machine's OpenCL knows, or else another device of it,
 * such as PoCL's, which is the processor. Memory and choice are opencl_memory.c's and
 * opencl_pick.c's.
 *
 * A launch sets a kernel object's arguments and enqueues it, under its lock: objects are
 * shared by queues, and their arguments are taken when they are enqueued
 * (clSetKernelArg, clEnqueueNDRangeKernel: notes). */
#include "runtime/device/device_opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOG = 1 << 20, FLUSH_EACH = 8 };

/* What a launch is told by. */
typedef struct entry {
    kiln_cl_kernel kernel;
    pthread_mutex_t lock;
} entry;

static kiln_opencl_device *device_of(const kiln_gpu_queue *q) {
    return (kiln_opencl_device *)q->device;
}

/* ---- devices ---------------------------------------------------------------------- */

/* KILN_OPENCL_MEMORY=buffers does without, for drivers that do not do as they say. */
static int has_svm(const kiln_opencl_device *d) {
    const kiln_opencl_api *cl = d->cl;
    const char *wanted = getenv("KILN_OPENCL_MEMORY");
    uint64_t can = 0;
    if (wanted != NULL && strcmp(wanted, "buffers") == 0)
        return 0;
    if (cl->clSVMAlloc == NULL || cl->clSVMFree == NULL ||
        cl->clSetKernelArgSVMPointer == NULL || cl->clEnqueueSVMMemcpy == NULL)
        return 0;
    return cl->clGetDeviceInfo(d->id, KILN_CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can,
                               NULL) == 0 &&
           (can & KILN_CL_SVM_COARSE_GRAIN_BUFFER) != 0;
}

static const kiln_gpu_driver driver;

static int open_opencl(const kiln_allocator *allocator, kiln_device **out,
                       char error[KILN_ERROR_TEXT]) {
    kiln_cl_platform platform;
    kiln_cl_device id;
    int32_t code = 0;
    char title[KILN_OPENCL_TITLE];
    const kiln_opencl_api *cl = kiln_opencl_api_open(error);
    if (cl == NULL || kiln_opencl_pick(cl, &platform, &id, title, error) != 0)
        return -1;
    kiln_opencl_device *d = allocator->alloc(allocator->user, sizeof *d);
    if (d == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a device");
        return -1;
    }
    *d = (kiln_opencl_device){
        .base = {{&kiln_device_kind_opencl, *allocator}, &driver}, .cl = cl, .id = id};
    memcpy(d->title, title, sizeof title);
    const intptr_t properties[] = {KILN_CL_CONTEXT_PLATFORM, (intptr_t)platform, 0};
    d->context = cl->clCreateContext(properties, 1, &d->id, NULL, NULL, &code);
    if (d->context == NULL || code != 0 || pthread_mutex_init(&d->lock, NULL) != 0) {
        const char *why = kiln_opencl_why(code);
        snprintf(error, KILN_ERROR_TEXT, "the OpenCL device cannot be used: %d, %s",
                 code, why != NULL ? why : "which has no name");
        if (d->context != NULL)
            cl->clReleaseContext(d->context);
        allocator->release(allocator->user, d);
        return -1;
    }
    d->has_svm = has_svm(d);
    *out = &d->base.base;
    return 0;
}

static void close_opencl(kiln_device *base) {
    kiln_opencl_device *d = (kiln_opencl_device *)base;
    d->cl->clReleaseContext(d->context);
    pthread_mutex_destroy(&d->lock);
    kiln_cpu_close(base);
}

static const char *title_of(const kiln_device *d) {
    return ((const kiln_opencl_device *)d)->title;
}

/* ---- code ------------------------------------------------------------------------- */

/* The line that says what is wrong, or the first one. */
static void say_log(const char *log, char *error) {
    const char *line = strstr(log, "error");
    while (line != NULL && line > log && line[-1] != '\n')
        line--;
    if (line == NULL)
        line = log + strspn(log, "\n ");
    snprintf(error, KILN_ERROR_TEXT, "the OpenCL code does not build: %.*s",
             (int)strcspn(line, "\n"), line);
}

static void say_why_not_built(kiln_opencl_device *d, kiln_cl_program p, int code,
                              char *error) {
    size_t n = 0;
    const char *why = kiln_opencl_why(code);
    snprintf(error, KILN_ERROR_TEXT, "the OpenCL code does not build: %d, %s", code,
             why != NULL ? why : "which has no name");
    if (d->cl->clGetProgramBuildInfo(p, d->id, KILN_CL_PROGRAM_BUILD_LOG, 0, NULL,
                                     &n) != 0 ||
        n <= 1 || n > MAX_LOG)
        return;
    char *log = kiln_cpu_alloc(&d->base.base, 0, n + 1);
    if (log == NULL)
        return;
    memset(log, 0, n + 1);
    if (d->cl->clGetProgramBuildInfo(p, d->id, KILN_CL_PROGRAM_BUILD_LOG, n, log,
                                     NULL) == 0 &&
        log[0] != '\0')
        say_log(log, error);
    kiln_cpu_release(&d->base.base, 0, log);
}

/* Not -cl-fast-relaxed-math: a package computes what it was proved to compute. */
static int build(kiln_gpu_device *base, const kiln_gpu_module *m, void **program,
                 char error[KILN_ERROR_TEXT]) {
    kiln_opencl_device *d = (kiln_opencl_device *)base;
    const char *text = m->code;
    const size_t bytes = (size_t)m->header->code_bytes - 1;
    int32_t code = 0;
    kiln_cl_program p =
        d->cl->clCreateProgramWithSource(d->context, 1, &text, &bytes, &code);
    if (p == NULL || code != 0) {
        snprintf(error, KILN_ERROR_TEXT, "OpenCL does not take the code: %d", code);
        return -1;
    }
    code = d->cl->clBuildProgram(p, 1, &d->id, "-cl-std=CL1.2", NULL, NULL);
    if (code != 0) {
        say_why_not_built(d, p, code, error);
        d->cl->clReleaseProgram(p);
        return -1;
    }
    *program = p;
    return 0;
}

static void unbuild(kiln_gpu_device *d, void *program) {
    ((kiln_opencl_device *)d)->cl->clReleaseProgram(program);
}

/* Does the code's entry take what the launch gives it, on this device? */
static int check_entry(kiln_opencl_device *d, kiln_cl_kernel k, const char *name,
                       const kiln_gpu_launch *l, char *error) {
    uint32_t n_args = 0;
    size_t most = 0;
    const uint32_t wanted = l->n_args + (l->shared_bytes > 0);
    const uint64_t n_threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (d->cl->clGetKernelInfo(k, KILN_CL_KERNEL_NUM_ARGS, sizeof n_args, &n_args,
                               NULL) != 0 ||
        n_args != wanted) {
        snprintf(error, KILN_ERROR_TEXT,
                 "entry '%.80s' of the OpenCL code has %u arguments, its launch %u",
                 name, n_args, wanted);
        return -1;
    }
    if (d->cl->clGetKernelWorkGroupInfo(k, d->id, KILN_CL_KERNEL_WORK_GROUP_SIZE,
                                        sizeof most, &most, NULL) != 0 ||
        n_threads > most) {
        snprintf(
            error, KILN_ERROR_TEXT,
            "entry '%.80s' wants groups of %llu work items, this OpenCL device has "
            "at most %zu: build the package for its profile",
            name, (unsigned long long)n_threads, most);
        return -1;
    }
    return 0;
}

static int make_entry(kiln_gpu_device *base, void *program, const kiln_gpu_module *m,
                      const kiln_gpu_launch *l, void **out,
                      char error[KILN_ERROR_TEXT]) {
    kiln_opencl_device *d = (kiln_opencl_device *)base;
    const char *name = m->string + l->entry;
    int32_t code = 0;
    kiln_cl_kernel k = d->cl->clCreateKernel(program, name, &code);
    if (k == NULL || code != 0) {
        snprintf(error, KILN_ERROR_TEXT, "the OpenCL code has no entry '%.80s' (%d)",
                 name, code);
        return -1;
    }
    if (check_entry(d, k, name, l, error) != 0) {
        d->cl->clReleaseKernel(k);
        return -1;
    }
    entry *e = kiln_cpu_alloc(&base->base, 0, sizeof *e);
    if (e == NULL || pthread_mutex_init(&e->lock, NULL) != 0) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for entry '%.80s'", name);
        kiln_cpu_release(&base->base, 0, e);
        d->cl->clReleaseKernel(k);
        return -1;
    }
    e->kernel = k;
    *out = e;
    return 0;
}

static void release_entry(kiln_gpu_device *d, void *p) {
    entry *e = p;
    ((kiln_opencl_device *)d)->cl->clReleaseKernel(e->kernel);
    pthread_mutex_destroy(&e->lock);
    kiln_cpu_release(&d->base, 0, e);
}

/* ---- queues ----------------------------------------------------------------------- */

static int make_stream(kiln_gpu_queue *q) {
    const kiln_opencl_device *d = device_of(q);
    int32_t code = 0;
    q->stream = d->cl->clCreateCommandQueue(
        d->context, d->id, q->is_timed ? KILN_CL_QUEUE_PROFILING_ENABLE : 0, &code);
    return code;
}

static void release_event(const kiln_gpu_queue *q, void **event) {
    if (*event != NULL)
        device_of(q)->cl->clReleaseEvent(*event);
    *event = NULL;
}

static void release_stream(kiln_gpu_queue *q) {
    for (int i = 0; i < KILN_GPU_SLOTS; i++)
        release_event(q, &q->event[i]);
    release_event(q, &q->last);
    release_event(q, &q->timed[0]);
    release_event(q, &q->timed[1]);
    if (q->stream != NULL)
        device_of(q)->cl->clReleaseCommandQueue(q->stream);
}

/* Where the next operation's event goes. */
static kiln_cl_event *fresh(kiln_gpu_queue *q) {
    release_event(q, &q->last);
    return (kiln_cl_event *)&q->last;
}

static int set_address(kiln_opencl_device *d, kiln_cl_kernel k, uint32_t i,
                       uint64_t address) {
    kiln_cl_mem buffer = NULL;
    if (d->has_svm)
        return d->cl->clSetKernelArgSVMPointer(k, i, (void *)(uintptr_t)address);
    const int code = kiln_opencl_part_at(d, address, &buffer);
    return code != 0 ? code : d->cl->clSetKernelArg(k, i, sizeof buffer, &buffer);
}

static int set_args(kiln_opencl_device *d, kiln_cl_kernel k, const kiln_gpu_launch *l,
                    const kiln_gpu_arg *arg, const uint64_t *value) {
    int code = 0;
    for (uint32_t i = 0; i < l->n_args && code == 0; i++)
        code = arg[i].kind == KILN_GPU_I64
                   ? d->cl->clSetKernelArg(k, i, sizeof value[i], &value[i])
                   : set_address(d, k, i, value[i]);
    if (l->shared_bytes > 0 && code == 0) /* the code's last one: __local */
        code = d->cl->clSetKernelArg(k, l->n_args, l->shared_bytes, NULL);
    return code;
}

static int begin_timing(kiln_gpu_queue *q) {
    release_event(q, &q->timed[0]);
    release_event(q, &q->timed[1]);
    return 0;
}

/* The event of the first launch, and that of the last one so far. */
static int keep_times(kiln_gpu_queue *q) {
    for (int i = q->timed[0] != NULL; i < 2; i++) {
        release_event(q, &q->timed[i]);
        const int code = device_of(q)->cl->clRetainEvent(q->last);
        if (code != 0)
            return code;
        q->timed[i] = q->last;
    }
    return 0;
}

static int end_timing(kiln_gpu_queue *q) {
    (void)q;
    return 0;
}

static uint64_t elapsed_ns(kiln_gpu_queue *q) {
    const kiln_opencl_api *cl = device_of(q)->cl;
    uint64_t begin = 0, end = 0;
    if (q->timed[0] == NULL || q->timed[1] == NULL ||
        cl->clGetEventProfilingInfo(q->timed[0], KILN_CL_PROFILING_COMMAND_START,
                                    sizeof begin, &begin, NULL) != 0 ||
        cl->clGetEventProfilingInfo(q->timed[1], KILN_CL_PROFILING_COMMAND_END,
                                    sizeof end, &end, NULL) != 0)
        return 0;
    return end > begin ? end - begin : 0;
}

/* A launch of a kernel waits for the one before it, which the queue's order would do too,
 * so that it fails where that does: only the last one's event is kept. */
static int enqueue(kiln_gpu_queue *q, kiln_cl_kernel k, const kiln_gpu_launch *l) {
    const kiln_opencl_api *cl = device_of(q)->cl;
    size_t all[KILN_GPU_AXES], group[KILN_GPU_AXES];
    void *before = q->last;
    for (int i = 0; i < KILN_GPU_AXES; i++) {
        group[i] = l->block[i];
        all[i] = group[i] * l->grid[i];
    }
    q->last = NULL;
    const int code = cl->clEnqueueNDRangeKernel(
        q->stream, k, KILN_GPU_AXES, NULL, all, group, before != NULL,
        before != NULL ? (kiln_cl_event *)&before : NULL, (kiln_cl_event *)&q->last);
    release_event(q, &before);
    return code;
}

static int launch(kiln_gpu_queue *q, void *p, const kiln_gpu_launch *l,
                  const kiln_gpu_arg *arg, const uint64_t *value) {
    kiln_opencl_device *d = device_of(q);
    entry *e = p;
    pthread_mutex_lock(&e->lock);
    int code = set_args(d, e->kernel, l, arg, value);
    if (code == 0)
        code = enqueue(q, e->kernel, l);
    pthread_mutex_unlock(&e->lock);
    return code == 0 && q->is_timed ? keep_times(q) : code;
}

static int copy(kiln_gpu_queue *q, void *to, const void *from, size_t bytes) {
    kiln_opencl_device *d = device_of(q);
    const kiln_opencl_api *cl = d->cl;
    size_t to_at, from_at;
    if (d->has_svm)
        return cl->clEnqueueSVMMemcpy(q->stream, 0, to, from, bytes, 0, NULL, fresh(q));
    kiln_cl_mem in = kiln_opencl_buffer_at(d, (uint64_t)(uintptr_t)from, &from_at),
                out = kiln_opencl_buffer_at(d, (uint64_t)(uintptr_t)to, &to_at);
    if (in != NULL && out != NULL)
        return cl->clEnqueueCopyBuffer(q->stream, in, out, from_at, to_at, bytes, 0,
                                       NULL, fresh(q));
    if (out != NULL)
        return cl->clEnqueueWriteBuffer(q->stream, out, 0, to_at, bytes, from, 0, NULL,
                                        fresh(q));
    if (in != NULL)
        return cl->clEnqueueReadBuffer(q->stream, in, 0, from_at, bytes, to, 0, NULL,
                                       fresh(q));
    const int code = cl->clFinish(q->stream); /* both ends are the host's */
    if (code == 0)
        memmove(to, from, bytes);
    return code;
}

static int mark(kiln_gpu_queue *q, uint32_t slot) {
    const kiln_opencl_api *cl = device_of(q)->cl;
    int code = 0;
    release_event(q, &q->event[slot]);
    if (q->last != NULL)
        q->event[slot] = q->last;
    else /* an operation that is nothing */
        code = cl->clEnqueueMarkerWithWaitList(q->stream, 0, NULL,
                                               (kiln_cl_event *)&q->event[slot]);
    q->last = NULL;
    return code == 0 && slot % FLUSH_EACH == 0 ? cl->clFlush(q->stream) : code;
}

static int await(kiln_gpu_queue *q, uint32_t slot) {
    const kiln_opencl_api *cl = device_of(q)->cl;
    kiln_cl_event event = q->event[slot];
    int32_t status = 0;
    int code = cl->clWaitForEvents(1, &event);
    if (code == 0 || code == -14) /* the event's own status says more */
        code = cl->clGetEventInfo(event, KILN_CL_EVENT_COMMAND_EXECUTION_STATUS,
                                  sizeof status, &status, NULL);
    release_event(q, &q->event[slot]);
    return code != 0 ? code : status < 0 ? status : 0;
}

/* The other queue must be on its way: nothing else tells it to be. */
static int follow(kiln_gpu_queue *q, kiln_gpu_queue *other, uint32_t slot) {
    const kiln_opencl_api *cl = device_of(q)->cl;
    kiln_cl_event event = other->event[slot];
    const int code = cl->clFlush(other->stream);
    return code != 0 ? code
                     : cl->clEnqueueBarrierWithWaitList(q->stream, 1, &event, fresh(q));
}

static int drain(kiln_gpu_queue *q) { return device_of(q)->cl->clFinish(q->stream); }

static const kiln_gpu_driver driver = {
    .language = KILN_GPU_OPENCL_C,
    .why = kiln_opencl_why,
    .build = build,
    .unbuild = unbuild,
    .entry = make_entry,
    .release_entry = release_entry,
    .stream = make_stream,
    .unstream = release_stream,
    .launch = launch,
    .copy = copy,
    .mark = mark,
    .await = await,
    .follow = follow,
    .drain = drain,
    .begin_timing = begin_timing,
    .end_timing = end_timing,
    .elapsed_ns = elapsed_ns,
};

const kiln_device_kind kiln_device_kind_opencl = {
    .name = "opencl",
    .n_memories = 1,
    .open = open_opencl,
    .close = close_opencl,
    .title = title_of,
    .alloc = kiln_opencl_alloc,
    .release = kiln_opencl_release,
    KILN_GPU_CODE_AND_QUEUES,
};
