/* cuda: the first GPU that NVIDIA's driver shows (CUDA_VISIBLE_DEVICES chooses), by its
 * primary context, which other libraries of the process use too. The context is made
 * current around what is asked of the driver and no longer: the caller's thread finds
 * its own as it was. Events are made with a queue, so that operations make none. */
#include "runtime/device/cuda_api.h"
#include "runtime/device/device_gpu.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_TITLE = 128,
    LOG_BYTES = 4096,
    BEST_CODE = 4,
    SHARED_WITHOUT_ASKING = 48 << 10 /* CUDA programming guide, compute capabilities */
};

typedef struct cuda_device {
    kiln_gpu_device base;
    const kiln_cuda_api *cu;
    kiln_cu_context context;
    int device, sm; /* 80: compute capability 8.0 */
    char title[MOST_TITLE];
} cuda_device;

static const kiln_cuda_api *api_of(const kiln_gpu_queue *q) {
    return ((cuda_device *)q->device)->cu;
}

/* Where ours was not made current, what is asked next fails, and there is nothing to
 * take away again: the context below is somebody else's. */
static _Thread_local int is_ours;

static void enter(kiln_gpu_device *base) {
    const cuda_device *d = (cuda_device *)base;
    is_ours = d->cu->cuCtxPushCurrent_v2(d->context) == 0;
}

static void leave(kiln_gpu_device *base) {
    kiln_cu_context ours;
    if (is_ours)
        ((cuda_device *)base)->cu->cuCtxPopCurrent_v2(&ours);
}

/* ---- devices ---------------------------------------------------------------------- */

static int say(int code, const char *what, char *error) {
    const char *why = kiln_cuda_why(code);
    snprintf(error, KILN_ERROR_TEXT, "%.120s: error %d of CUDA's driver, %.100s", what,
             code, why != NULL ? why : "which has no name");
    return -1;
}

static int find_device(cuda_device *d, char *error) {
    const kiln_cuda_api *cu = d->cu;
    int n = 0, major = 0, minor = 0, is_unified = 0;
    int code = cu->cuInit(0);
    if (code == 0)
        code = cu->cuDeviceGetCount(&n);
    if (code != 0)
        return say(code, "device 'cuda' needs an NVIDIA GPU", error);
    if (n == 0) {
        snprintf(error, KILN_ERROR_TEXT,
                 "device 'cuda' needs an NVIDIA GPU: the driver shows none");
        return -1;
    }
    code = cu->cuDeviceGet(&d->device, 0);
    if (code == 0)
        code = cu->cuDeviceGetAttribute(&major, KILN_CU_DEVICE_COMPUTE_CAPABILITY_MAJOR,
                                        d->device);
    if (code == 0)
        code = cu->cuDeviceGetAttribute(&minor, KILN_CU_DEVICE_COMPUTE_CAPABILITY_MINOR,
                                        d->device);
    if (code == 0)
        code = cu->cuDeviceGetAttribute(&is_unified, KILN_CU_DEVICE_UNIFIED_ADDRESSING,
                                        d->device);
    if (code == 0)
        code = cu->cuDeviceGetName(d->title, MOST_TITLE - 1, d->device);
    if (code != 0)
        return say(code, "the GPU does not say what it is", error);
    if (!is_unified) {
        snprintf(error, KILN_ERROR_TEXT, "the GPU must have unified addressing");
        return -1;
    }
    d->sm = 10 * major + minor;
    return 0;
}

static const kiln_gpu_driver driver;

static int open_cuda(const kiln_allocator *allocator, kiln_device **out,
                     char error[KILN_ERROR_TEXT]) {
    const kiln_cuda_api *cu = kiln_cuda_api_open(error);
    if (cu == NULL)
        return -1;
    cuda_device *d = allocator->alloc(allocator->user, sizeof *d);
    if (d == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for a device");
        return -1;
    }
    *d = (cuda_device){.base = {{&kiln_device_kind_cuda, *allocator}, &driver},
                       .cu = cu};
    int failed = find_device(d, error);
    if (!failed) {
        const int code = cu->cuDevicePrimaryCtxRetain(&d->context, d->device);
        failed = code != 0 ? say(code, "the GPU cannot be used", error) : 0;
    }
    if (failed) {
        kiln_cpu_close(&d->base.base);
        return -1;
    }
    *out = &d->base.base;
    return 0;
}

static void close_cuda(kiln_device *base) {
    const cuda_device *d = (cuda_device *)base;
    d->cu->cuDevicePrimaryCtxRelease(d->device);
    kiln_cpu_close(base);
}

static const char *title_of(const kiln_device *d) {
    return ((const cuda_device *)d)->title;
}

static void *alloc(kiln_device *base, uint32_t memory, size_t bytes) {
    cuda_device *d = (cuda_device *)base;
    kiln_cu_address p = 0;
    (void)memory;
    enter(&d->base);
    const int code = d->cu->cuMemAlloc_v2(&p, bytes); /* 256-byte aligned */
    leave(&d->base);
    return code == 0 ? (void *)(uintptr_t)p : NULL;
}

static void release(kiln_device *base, uint32_t memory, void *block) {
    cuda_device *d = (cuda_device *)base;
    (void)memory;
    if (block == NULL)
        return;
    enter(&d->base);
    d->cu->cuMemFree_v2((kiln_cu_address)(uintptr_t)block);
    leave(&d->base);
}

static int pin(kiln_device *base, void *host, size_t bytes) {
    cuda_device *d = (cuda_device *)base;
    enter(&d->base);
    const int code = d->cu->cuMemHostRegister_v2(host, bytes, 0);
    leave(&d->base);
    return code == 0 ? 0 : -1;
}

static void unpin(kiln_device *base, void *host) {
    cuda_device *d = (cuda_device *)base;
    enter(&d->base);
    d->cu->cuMemHostUnregister(host);
    leave(&d->base);
}

/* ---- code ------------------------------------------------------------------------- */

/* How the driver is to compile, and where it says what is wrong. */
typedef struct compiling {
    char log[LOG_BYTES];
    int option[3];
    void *value[3];
} compiling;
enum { N_OPTIONS = 3 };

static void begin_compiling(compiling *c) {
    c->log[0] = '\0';
    c->option[0] = KILN_CU_JIT_ERROR_LOG_BUFFER;
    c->value[0] = c->log;
    c->option[1] = KILN_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
    c->value[1] = (void *)(uintptr_t)(sizeof c->log - 1);
    c->option[2] = KILN_CU_JIT_OPTIMIZATION_LEVEL;
    c->value[2] = (void *)(uintptr_t)BEST_CODE;
}

/* The log's first line: it says what is wrong, and where. */
static int say_log(const cuda_device *d, const compiling *c, int code, char *error) {
    const char *why = kiln_cuda_why(code), *line = c->log + strspn(c->log, "\n ");
    snprintf(error, KILN_ERROR_TEXT,
             "the PTX does not build for this GPU (sm_%d): %.*s", d->sm,
             line[0] != '\0' ? (int)strcspn(line, "\n") : 100,
             line[0] != '\0' ? line
             : why != NULL   ? why
                             : "an error without a name");
    return -1;
}

static int build(kiln_gpu_device *base, const kiln_gpu_module *m, void **program,
                 char error[KILN_ERROR_TEXT]) {
    const cuda_device *d = (cuda_device *)base;
    compiling c;
    begin_compiling(&c);
    const int code = d->cu->cuModuleLoadDataEx((kiln_cu_module *)program, m->code,
                                               N_OPTIONS, c.option, c.value);
    if (code == 0)
        return 0;
    *program = NULL;
    return say_log(d, &c, code, error);
}

/* A linker of one input: it runs nothing, and the cubin is its own until it goes. */
static int translate(kiln_gpu_device *base, const kiln_gpu_module *m, size_t room,
                     void **out, size_t *n, char error[KILN_ERROR_TEXT]) {
    const cuda_device *d = (cuda_device *)base;
    kiln_cu_link l = NULL;
    compiling c;
    void *cubin = NULL;
    size_t bytes = 0;
    begin_compiling(&c);
    int code = d->cu->cuLinkCreate_v2(N_OPTIONS, c.option, c.value, &l);
    if (code != 0)
        return say_log(d, &c, code, error);
    code =
        d->cu->cuLinkAddData_v2(l, KILN_CU_JIT_INPUT_PTX, (void *)(uintptr_t)m->code,
                                (size_t)m->header->code_bytes, "kernel", 0, NULL, NULL);
    if (code == 0)
        code = d->cu->cuLinkComplete(l, &cubin, &bytes);
    const size_t all = room + bytes + 1;
    char *whole = code == 0 ? kiln_cpu_alloc(&base->base, 0, all) : NULL;
    if (whole != NULL) {
        memcpy(whole + room, cubin, bytes);
        whole[all - 1] = '\0';
        *out = whole;
        *n = all;
    }
    d->cu->cuLinkDestroy(l);
    if (code != 0)
        return say_log(d, &c, code, error);
    if (whole != NULL)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "no memory for %zu bytes of machine code", bytes);
    return -1;
}

static void unbuild(kiln_gpu_device *d, void *program) {
    ((cuda_device *)d)->cu->cuModuleUnload(program);
}

static int make_entry(kiln_gpu_device *base, void *program, const kiln_gpu_module *m,
                      const kiln_gpu_launch *l, void **out,
                      char error[KILN_ERROR_TEXT]) {
    const cuda_device *d = (cuda_device *)base;
    const char *name = m->string + l->entry;
    const uint64_t n_threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    kiln_cu_function f = NULL;
    int most = 0;
    int code = d->cu->cuModuleGetFunction(&f, program, name);
    if (code != 0) {
        snprintf(error, KILN_ERROR_TEXT, "the PTX has no entry '%.80s' (error %d)",
                 name, code);
        return -1;
    }
    code = d->cu->cuFuncGetAttribute(&most, KILN_CU_FUNCTION_MAX_THREADS_PER_BLOCK, f);
    if (code == 0 && n_threads > (uint64_t)most) {
        snprintf(
            error, KILN_ERROR_TEXT,
            "entry '%.80s' wants blocks of %llu threads, this GPU runs at most %d of "
            "it: build the package for its profile",
            name, (unsigned long long)n_threads, most);
        return -1;
    }
    if (code == 0 && l->shared_bytes > SHARED_WITHOUT_ASKING)
        code = d->cu->cuFuncSetAttribute(
            f, KILN_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)l->shared_bytes);
    *out = f;
    return code == 0 ? 0 : say(code, name, error);
}

/* The module's. */
static void release_entry(kiln_gpu_device *d, void *entry) {
    (void)d;
    (void)entry;
}

/* ---- queues ----------------------------------------------------------------------- */

static int make_stream(kiln_gpu_queue *q) {
    const kiln_cuda_api *cu = api_of(q);
    int code =
        cu->cuStreamCreate((kiln_cu_stream *)&q->stream, KILN_CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < KILN_GPU_SLOTS && code == 0; i++)
        code = cu->cuEventCreate((kiln_cu_event *)&q->event[i],
                                 KILN_CU_EVENT_DISABLE_TIMING);
    for (int i = 0; i < 2 && q->is_timed && code == 0; i++)
        code = cu->cuEventCreate((kiln_cu_event *)&q->timed[i], 0);
    if (q->is_timed && code == 0) {
        q->gate = kiln_cpu_alloc(&q->device->base, 0, sizeof(sem_t));
        code = q->gate != NULL && sem_init(q->gate, 0, 0) == 0
                   ? 0
                   : KILN_CU_ERROR_OUT_OF_MEMORY;
    }
    return code;
}

static void release_stream(kiln_gpu_queue *q) {
    const kiln_cuda_api *cu = api_of(q);
    for (int i = 0; i < KILN_GPU_SLOTS; i++)
        if (q->event[i] != NULL)
            cu->cuEventDestroy_v2(q->event[i]);
    for (int i = 0; i < 2; i++)
        if (q->timed[i] != NULL)
            cu->cuEventDestroy_v2(q->timed[i]);
    if (q->stream != NULL)
        cu->cuStreamDestroy_v2(q->stream);
    kiln_cpu_release(&q->device->base, 0, q->gate);
}

static int launch(kiln_gpu_queue *q, void *entry, const kiln_gpu_launch *l,
                  const kiln_gpu_arg *arg, const uint64_t *value) {
    void *parameter[KILN_GPU_MAX_ARGS]; /* addresses and numbers are of 8 bytes alike */
    (void)arg;
    for (uint32_t i = 0; i < l->n_args; i++)
        parameter[i] = (void *)(uintptr_t)&value[i];
    return api_of(q)->cuLaunchKernel(entry, l->grid[0], l->grid[1], l->grid[2],
                                     l->block[0], l->block[1], l->block[2],
                                     l->shared_bytes, q->stream, parameter, NULL);
}

static int copy(kiln_gpu_queue *q, void *to, const void *from, size_t bytes) {
    return api_of(q)->cuMemcpyAsync((kiln_cu_address)(uintptr_t)to,
                                    (kiln_cu_address)(uintptr_t)from, bytes, q->stream);
}

static int mark(kiln_gpu_queue *q, uint32_t slot) {
    return api_of(q)->cuEventRecord(q->event[slot], q->stream);
}

static int await(kiln_gpu_queue *q, uint32_t slot) {
    return api_of(q)->cuEventSynchronize(q->event[slot]);
}

static int follow(kiln_gpu_queue *q, kiln_gpu_queue *other, uint32_t slot) {
    return api_of(q)->cuStreamWaitEvent(q->stream, other->event[slot], 0);
}

static int drain(kiln_gpu_queue *q) {
    return api_of(q)->cuStreamSynchronize(q->stream);
}

static int begin_timing(kiln_gpu_queue *q) {
    return api_of(q)->cuEventRecord(q->timed[0], q->stream);
}

static int end_timing(kiln_gpu_queue *q) {
    return api_of(q)->cuEventRecord(q->timed[1], q->stream);
}

static uint64_t elapsed_ns(kiln_gpu_queue *q) {
    float ms = 0;
    const int code = api_of(q)->cuEventElapsedTime(&ms, q->timed[0], q->timed[1]);
    return code == 0 && ms > 0 ? (uint64_t)((double)ms * 1e6) : 0;
}

/* A thread of the driver's waits in the stream's place. */
static void wait_at_gate(void *gate) {
    while (sem_wait(gate) != 0) /* interrupted */
        ;
}

static int hold(kiln_gpu_queue *q) {
    return api_of(q)->cuLaunchHostFunc(q->stream, wait_at_gate, q->gate);
}

static void let_go(kiln_gpu_queue *q) { (void)sem_post(q->gate); }

/* ---- graphs ----------------------------------------------------------------------- */

static int has_graphs(const kiln_gpu_device *d) {
    const kiln_cuda_api *cu = ((const cuda_device *)d)->cu;
    return cu->cuStreamBeginCapture_v2 != NULL && cu->cuStreamEndCapture != NULL &&
           cu->cuGraphInstantiateWithFlags != NULL && cu->cuGraphLaunch != NULL &&
           cu->cuGraphDestroy != NULL && cu->cuGraphExecDestroy != NULL;
}

static int begin_graph(kiln_gpu_queue *q) {
    return api_of(q)->cuStreamBeginCapture_v2(q->stream, KILN_CU_CAPTURE_RELAXED);
}

static int end_graph(kiln_gpu_queue *q, void **out) {
    const kiln_cuda_api *cu = api_of(q);
    kiln_cu_graph graph = NULL;
    kiln_cu_graph_run run = NULL;
    int code = cu->cuStreamEndCapture(q->stream, &graph);
    if (code == 0 && out != NULL)
        code = cu->cuGraphInstantiateWithFlags(&run, graph, 0);
    if (graph != NULL)
        cu->cuGraphDestroy(graph);
    if (out != NULL)
        *out = code == 0 ? run : NULL;
    return code;
}

static int run_graph(kiln_gpu_queue *q, void *graph) {
    return api_of(q)->cuGraphLaunch(graph, q->stream);
}

static void release_graph(kiln_gpu_queue *q, void *graph) {
    api_of(q)->cuGraphExecDestroy(graph);
}

static const kiln_gpu_driver driver = {
    .language = KILN_GPU_PTX,
    .machine_language = KILN_GPU_CUBIN,
    .enter = enter,
    .leave = leave,
    .why = kiln_cuda_why,
    .build = build,
    .unbuild = unbuild,
    .translate = translate,
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
    .hold = hold,
    .let_go = let_go,
    .has_graphs = has_graphs,
    .begin_graph = begin_graph,
    .end_graph = end_graph,
    .run_graph = run_graph,
    .release_graph = release_graph,
};

const kiln_device_kind kiln_device_kind_cuda = {
    .name = "cuda",
    .n_memories = 1,
    .is_apart = 1,
    .open = open_cuda,
    .close = close_cuda,
    .title = title_of,
    .alloc = alloc,
    .release = release,
    .translate = kiln_gpu_module_translate,
    .span = kiln_gpu_queue_span,
    .pin = pin,
    .unpin = unpin,
    KILN_GPU_CODE_AND_QUEUES,
};
