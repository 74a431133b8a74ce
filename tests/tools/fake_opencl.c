/* A library with the names of OpenCL's loader, for what a real one cannot be asked: every
 * call can be made to fail, a launch can fail late, and what is alive is counted. What is
 * enqueued is done at once. Kernels are those of tests/support/gpu/gpu_trial.h, by name. */
#include "runtime/device/opencl_api.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_OBJECTS = 4096, MAX_BLOCKS = 64, BLOCK_BYTES = 8192, MAX_ARGS = 3 };
enum { OUT_OF_RESOURCES = -5, NO_MEMORY = -4, BUILD_FAILED = -11, INVALID = -30 };
enum { NO_SUCH_KERNEL = -46, MADE_UP = -999 };

typedef enum object_kind {
    CONTEXT = 1,
    QUEUE,
    BUFFER,
    PROGRAM,
    KERNEL,
    EVENT
} object_kind;

/* Whatever a handle leads to. */
typedef struct object {
    object_kind kind;
    int n_refs; /* 0: free */
    char *at;   /* of a buffer */
    int which;  /* of a kernel */
    int32_t status;
    uint64_t value[MAX_ARGS];
} object;

static const char *const kernels[] = {"times5", "plus3", "mixed"};
static const uint32_t n_args[] = {3, 2, 3};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static object objects[MAX_OBJECTS];
static _Alignas(256) char memory[MAX_BLOCKS][BLOCK_BYTES];
static int is_taken[MAX_BLOCKS], faults;
static long n_calls, fail_at = -1, n_live;

/* ---- for tests -------------------------------------------------------------------- */

void fake_opencl_fail_at(long call);
void fake_opencl_fault(void);
long fake_opencl_live(void);

/* The call of that number from now on fails; -1: none does. */
void fake_opencl_fail_at(long call) {
    pthread_mutex_lock(&lock);
    n_calls = 0;
    fail_at = call;
    pthread_mutex_unlock(&lock);
}

/* The next launch fails, and its event tells. */
void fake_opencl_fault(void) { faults = 1; }

/* Of objects and memory. */
long fake_opencl_live(void) { return n_live; }

/* ---- objects ---------------------------------------------------------------------- */

static int32_t begin(void) {
    pthread_mutex_lock(&lock);
    return n_calls++ == fail_at ? MADE_UP : 0;
}

static int32_t end(int32_t code) {
    pthread_mutex_unlock(&lock);
    return code;
}

static object *make(object_kind kind) {
    int i = 0;
    while (i < MAX_OBJECTS && objects[i].n_refs > 0)
        i++;
    if (i == MAX_OBJECTS)
        return NULL;
    objects[i] = (object){.kind = kind, .n_refs = 1};
    n_live++;
    return &objects[i];
}

/* One that a function returns, or the code in its place. */
static void *made(object_kind kind, int32_t *code) {
    *code = begin();
    object *o = *code == 0 ? make(kind) : NULL;
    if (*code == 0 && o == NULL)
        *code = NO_MEMORY;
    end(0);
    return o;
}

static void give_back(object *o) {
    if (--o->n_refs > 0)
        return;
    n_live--;
    if (o->kind == BUFFER && o->which >= 0)
        is_taken[o->which] = 0;
}

/* What is released is gone, whatever is answered. */
static int32_t released(void *handle, object_kind kind) {
    object *o = handle;
    const int32_t code = begin();
    if (o->kind != kind || o->n_refs == 0)
        return end(INVALID);
    give_back(o);
    return end(code);
}

static int take_block(size_t bytes) {
    int i = 0;
    while (i < MAX_BLOCKS && is_taken[i])
        i++;
    if (i == MAX_BLOCKS || bytes > BLOCK_BYTES)
        return -1;
    is_taken[i] = 1;
    return i;
}

/* ---- calls ------------------------------------------------------------------------ */

#define KILN_CL(needed, result, name, parameters) result name parameters;
#include "runtime/device/opencl_api.def"
#undef KILN_CL

static int32_t tell(size_t n, void *value, size_t *has, const void *what,
                    size_t bytes) {
    if (has != NULL)
        *has = bytes;
    if (value != NULL && n >= bytes)
        memcpy(value, what, bytes);
    return value == NULL || n >= bytes ? 0 : INVALID;
}

int32_t clGetPlatformIDs(uint32_t n, kiln_cl_platform *p, uint32_t *has) {
    const int32_t code = begin();
    *has = 1;
    if (n > 0)
        p[0] = (kiln_cl_platform)(void *)&objects[0];
    return end(code);
}

int32_t clGetPlatformInfo(kiln_cl_platform p, uint32_t what, size_t n, void *value,
                          size_t *has) {
    (void)p;
    (void)what;
    return tell(n, value, has, "Made up", sizeof "Made up");
}

int32_t clGetDeviceIDs(kiln_cl_platform p, uint64_t type, uint32_t n, kiln_cl_device *d,
                       uint32_t *has) {
    const int32_t code = begin();
    (void)p;
    *has = type == KILN_CL_DEVICE_TYPE_ALL ? 3 : 0;
    for (uint32_t i = 0; i < *has && i < n; i++)
        d[i] = (kiln_cl_device)(void *)&memory[i];
    return end(code);
}

/* A processor, a GPU and an accelerator, in this order. */
int32_t clGetDeviceInfo(kiln_cl_device d, uint32_t what, size_t n, void *value,
                        size_t *has) {
    static const uint64_t types[] = {KILN_CL_DEVICE_TYPE_CPU, KILN_CL_DEVICE_TYPE_GPU,
                                     KILN_CL_DEVICE_TYPE_ACCELERATOR};
    static const char *const names[] = {"cpu", "gpu", "acc"};
    static const uint64_t svm = KILN_CL_SVM_COARSE_GRAIN_BUFFER;
    const int i = (void *)d == memory[0] ? 0 : (void *)d == memory[1] ? 1 : 2;
    return what == KILN_CL_DEVICE_TYPE ? tell(n, value, has, &types[i], sizeof types[i])
           : what == KILN_CL_DEVICE_NAME ? tell(n, value, has, names[i], 4)
                                         : tell(n, value, has, &svm, sizeof svm);
}

kiln_cl_context clCreateContext(const intptr_t *properties, uint32_t n,
                                const kiln_cl_device *d, kiln_cl_notify_fn *notify,
                                void *user, int32_t *code) {
    (void)notify;
    (void)user;
    kiln_cl_context c = made(CONTEXT, code);
    /* The GPU is chosen. */
    if (c != NULL && (properties == NULL || n != 1 || (void *)d[0] != memory[1]))
        *code = INVALID;
    return c;
}

int32_t clReleaseContext(kiln_cl_context c) { return released(c, CONTEXT); }

kiln_cl_queue clCreateCommandQueue(kiln_cl_context c, kiln_cl_device d,
                                   uint64_t properties, int32_t *code) {
    (void)c;
    (void)d;
    (void)properties;
    return made(QUEUE, code);
}

int32_t clReleaseCommandQueue(kiln_cl_queue q) { return released(q, QUEUE); }

static int32_t nothing(void) { return end(begin()); }
int32_t clFlush(kiln_cl_queue q) { return q != NULL ? nothing() : INVALID; }
int32_t clFinish(kiln_cl_queue q) { return q != NULL ? nothing() : INVALID; }

kiln_cl_mem clCreateBuffer(kiln_cl_context c, uint64_t flags, size_t bytes, void *host,
                           int32_t *code) {
    (void)c;
    (void)flags;
    (void)host;
    object *o = made(BUFFER, code);
    if (o == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    o->which = take_block(bytes);
    o->at = o->which >= 0 ? memory[o->which] : NULL;
    pthread_mutex_unlock(&lock);
    return (kiln_cl_mem)(void *)o;
}

kiln_cl_mem clCreateSubBuffer(kiln_cl_mem m, uint64_t flags, uint32_t type,
                              const void *region, int32_t *code) {
    const kiln_cl_region *r = region;
    (void)flags;
    object *o = type == KILN_CL_BUFFER_CREATE_TYPE_REGION ? made(BUFFER, code) : NULL;
    if (o == NULL)
        return NULL;
    o->which = -1;
    o->at = ((object *)(void *)m)->at + r->origin;
    return (kiln_cl_mem)(void *)o;
}

int32_t clReleaseMemObject(kiln_cl_mem m) { return released(m, BUFFER); }

kiln_cl_program clCreateProgramWithSource(kiln_cl_context c, uint32_t n,
                                          const char **text, const size_t *bytes,
                                          int32_t *code) {
    (void)c;
    kiln_cl_program p = made(PROGRAM, code);
    if (p != NULL && (n != 1 || strlen(text[0]) != bytes[0]))
        *code = INVALID;
    return p;
}

int32_t clBuildProgram(kiln_cl_program p, uint32_t n, const kiln_cl_device *d,
                       const char *options, kiln_cl_built_fn *built, void *user) {
    const int32_t code = begin();
    (void)n;
    (void)d;
    (void)options;
    (void)built;
    (void)user;
    return end(code != 0 ? BUILD_FAILED : p != NULL ? 0 : INVALID);
}

int32_t clGetProgramBuildInfo(kiln_cl_program p, kiln_cl_device d, uint32_t what,
                              size_t n, void *value, size_t *has) {
    static const char log[] = "\n warning: first\nline 2: error: made up\nlast\n";
    (void)p;
    (void)d;
    return what == KILN_CL_PROGRAM_BUILD_LOG ? tell(n, value, has, log, sizeof log)
                                             : INVALID;
}

int32_t clReleaseProgram(kiln_cl_program p) { return released(p, PROGRAM); }

kiln_cl_kernel clCreateKernel(kiln_cl_program p, const char *name, int32_t *code) {
    int which = 0;
    (void)p;
    while (which < N_KERNELS && strcmp(name, kernels[which]) != 0)
        which++;
    object *o = which < N_KERNELS ? made(KERNEL, code) : NULL;
    if (o != NULL)
        o->which = which;
    else if (which == N_KERNELS)
        *code = NO_SUCH_KERNEL;
    return (kiln_cl_kernel)(void *)o;
}

int32_t clReleaseKernel(kiln_cl_kernel k) { return released(k, KERNEL); }

int32_t clGetKernelInfo(kiln_cl_kernel k, uint32_t what, size_t n, void *value,
                        size_t *has) {
    const object *o = (object *)(void *)k;
    const int32_t code = end(begin());
    return code != 0 || what != KILN_CL_KERNEL_NUM_ARGS
               ? MADE_UP
               : tell(n, value, has, &n_args[o->which], sizeof n_args[0]);
}

int32_t clGetKernelWorkGroupInfo(kiln_cl_kernel k, kiln_cl_device d, uint32_t what,
                                 size_t n, void *value, size_t *has) {
    static const size_t most = 256;
    const int32_t code = end(begin());
    (void)k;
    (void)d;
    return code != 0 || what != KILN_CL_KERNEL_WORK_GROUP_SIZE
               ? MADE_UP
               : tell(n, value, has, &most, sizeof most);
}

int32_t clSetKernelArg(kiln_cl_kernel k, uint32_t i, size_t bytes, const void *value) {
    object *o = (object *)(void *)k;
    const int32_t code = begin();
    uint64_t word = 0;
    if (i >= MAX_ARGS || bytes != sizeof word)
        return end(INVALID);
    memcpy(&word, value, sizeof word);
    if (o->which != 0 || i != 2) /* the address that the buffer has */
        word = (uint64_t)(uintptr_t)((object *)(uintptr_t)word)->at;
    o->value[i] = word;
    return end(code);
}

int32_t clSetKernelArgSVMPointer(kiln_cl_kernel k, uint32_t i, const void *p) {
    const int32_t code = begin();
    if (i >= MAX_ARGS)
        return end(INVALID);
    ((object *)(void *)k)->value[i] = (uint64_t)(uintptr_t)p;
    return end(code);
}

/* What was done, with the event that was asked for; under the lock, which it ends. */
static int32_t done(int32_t code, int32_t status, kiln_cl_event *event) {
    object *o = code == 0 ? make(EVENT) : NULL;
    if (o != NULL) {
        o->status = status;
        *event = (kiln_cl_event)(void *)o;
    }
    return end(code == 0 && o == NULL ? NO_MEMORY : code);
}

static void run_kernel(int which, const uint64_t *value) {
    const uint32_t *x = (const uint32_t *)(uintptr_t)value[0];
    const uint32_t *y = (const uint32_t *)(uintptr_t)value[1];
    uint32_t *out = (uint32_t *)(uintptr_t)value[which == 2 ? 2 : 1];
    for (int i = 0; i < 192; i++)
        out[i] = which == 0 ? 5 * x[i] : which == 1 ? x[i] + 3 : x[i] + 7 * y[191 - i];
}

int32_t clEnqueueNDRangeKernel(kiln_cl_queue q, kiln_cl_kernel k, uint32_t axes,
                               const size_t *offset, const size_t *all,
                               const size_t *group, uint32_t n,
                               const kiln_cl_event *wait, kiln_cl_event *event) {
    const object *o = (object *)(void *)k;
    int32_t code = begin();
    const int fails = faults;
    const int follows = n == 1 && ((object *)(void *)wait[0])->status < 0;
    (void)q;
    if (axes != 3 || offset != NULL || n > 1 || all[0] * all[1] * all[2] != 192 ||
        all[0] % group[0] != 0)
        code = INVALID;
    if (code == 0 && !fails && !follows)
        run_kernel(o->which, o->value);
    if (code == 0)
        faults = 0;
    return done(code, fails ? OUT_OF_RESOURCES : follows ? -14 : 0, event);
}

static int32_t move(void *to, const void *from, size_t bytes, kiln_cl_event *event) {
    const int32_t code = begin();
    if (code == 0)
        memmove(to, from, bytes);
    return done(code, 0, event);
}

int32_t clEnqueueReadBuffer(kiln_cl_queue q, kiln_cl_mem m, uint32_t blocks, size_t at,
                            size_t bytes, void *to, uint32_t n,
                            const kiln_cl_event *wait, kiln_cl_event *event) {
    (void)q;
    (void)wait;
    return n + blocks == 0 ? move(to, ((object *)(void *)m)->at + at, bytes, event)
                           : INVALID;
}

int32_t clEnqueueWriteBuffer(kiln_cl_queue q, kiln_cl_mem m, uint32_t blocks, size_t at,
                             size_t bytes, const void *from, uint32_t n,
                             const kiln_cl_event *wait, kiln_cl_event *event) {
    (void)q;
    (void)wait;
    return n + blocks == 0 ? move(((object *)(void *)m)->at + at, from, bytes, event)
                           : INVALID;
}

int32_t clEnqueueCopyBuffer(kiln_cl_queue q, kiln_cl_mem from, kiln_cl_mem to,
                            size_t from_at, size_t to_at, size_t bytes, uint32_t n,
                            const kiln_cl_event *wait, kiln_cl_event *event) {
    (void)q;
    (void)wait;
    return n == 0 ? move(((object *)(void *)to)->at + to_at,
                         ((object *)(void *)from)->at + from_at, bytes, event)
                  : INVALID;
}

int32_t clEnqueueSVMMemcpy(kiln_cl_queue q, uint32_t blocks, void *to, const void *from,
                           size_t bytes, uint32_t n, const kiln_cl_event *wait,
                           kiln_cl_event *event) {
    (void)q;
    (void)wait;
    return n + blocks == 0 ? move(to, from, bytes, event) : INVALID;
}

int32_t clEnqueueMarkerWithWaitList(kiln_cl_queue q, uint32_t n,
                                    const kiln_cl_event *wait, kiln_cl_event *event) {
    const int32_t code = begin();
    (void)q;
    (void)wait;
    return done(n == 0 ? code : INVALID, 0, event);
}

/* What waits for something that failed fails. */
int32_t clEnqueueBarrierWithWaitList(kiln_cl_queue q, uint32_t n,
                                     const kiln_cl_event *wait, kiln_cl_event *event) {
    const int32_t code = begin();
    (void)q;
    return done(n == 1 ? code : INVALID,
                n == 1 && ((object *)(void *)wait[0])->status < 0 ? -14 : 0, event);
}

int32_t clWaitForEvents(uint32_t n, const kiln_cl_event *event) {
    const int32_t code = begin();
    const object *o = (object *)(void *)event[0];
    return end(code != 0                                      ? code
               : n != 1 || o->kind != EVENT || o->n_refs == 0 ? INVALID
               : o->status < 0                                ? -14
                                                              : 0);
}

int32_t clGetEventInfo(kiln_cl_event e, uint32_t what, size_t n, void *value,
                       size_t *has) {
    const int32_t code = end(begin());
    const object *o = (object *)(void *)e;
    return code != 0 || what != KILN_CL_EVENT_COMMAND_EXECUTION_STATUS
               ? MADE_UP
               : tell(n, value, has, &o->status, sizeof o->status);
}

/* A microsecond, from beginning to end. */
int32_t clGetEventProfilingInfo(kiln_cl_event e, uint32_t what, size_t n, void *value,
                                size_t *has) {
    const uint64_t ns = what == KILN_CL_PROFILING_COMMAND_START ? 5000 : 6000;
    const int32_t code = end(begin());
    return code != 0 || e == NULL ? MADE_UP : tell(n, value, has, &ns, sizeof ns);
}

int32_t clRetainEvent(kiln_cl_event e) {
    const int32_t code = begin();
    if (code == 0)
        ((object *)(void *)e)->n_refs++;
    return end(code);
}

int32_t clReleaseEvent(kiln_cl_event e) { return released(e, EVENT); }

void *clSVMAlloc(kiln_cl_context c, uint64_t flags, size_t bytes, uint32_t alignment) {
    const int32_t code = begin();
    (void)c;
    (void)flags;
    (void)alignment;
    const int block = code == 0 ? take_block(bytes) : -1;
    n_live += block >= 0;
    end(0);
    return block >= 0 ? memory[block] : NULL;
}

void clSVMFree(kiln_cl_context c, void *p) {
    (void)c;
    pthread_mutex_lock(&lock);
    is_taken[((uintptr_t)p - (uintptr_t)memory) / BLOCK_BYTES] = 0;
    n_live--;
    pthread_mutex_unlock(&lock);
}
