/* A library with the names of CUDA's driver, for machines without a GPU: a stream does
 * nothing before somebody waits for it, and then no more than that takes, so that a
 * wait that is missing shows every time. Kernels are those of tests/support/gpu/gpu_trial.h,
 * by name. Every call can be made to fail, and what is alive is counted. */
#include "runtime/device/cuda_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_STREAMS = 64, MAX_OPERATIONS = 256, MAX_PARAMETERS = 3 };
enum {
    MAX_EVENTS = 64 * MAX_STREAMS,
    MAX_BLOCKS = 64,
    BLOCK_BYTES = 8192,
    MAX_LINKS = 8,
    MAX_GRAPHS = 64
};
enum { INVALID_VALUE = 1, NO_MEMORY = 2, INVALID_PTX = 218, NO_CONTEXT = 201 };
enum {
    PAGE = 4096,
    NOT_IN_A_CAPTURE = 900,
    NOT_FOUND = 500,
    FAULT = 700,
    MADE_UP = 999
};

typedef enum operation_kind { COPY, KERNEL, WAIT, HOST, GRAPH } operation_kind;
typedef struct operation {
    operation_kind kind;
    int which; /* kernel, or stream that is waited for */
    unsigned long long until;
    unsigned long long value[MAX_PARAMETERS];
    void (*fn)(void *user);
} operation;

typedef struct kiln_cu_stream_s {
    int is_open;
    struct kiln_cu_graph_s *capture;              /* what it is told goes there */
    unsigned long long n_told, n_done, n_counted; /* graphs by their launches */
    operation told[MAX_OPERATIONS];
} stream;
typedef struct kiln_cu_event_s {
    int is_open, is_timed;
    stream *stream; /* NULL: never recorded */
    unsigned long long at, counted;
} event;

static struct kiln_cu_link_s {
    int is_open;
    char text[BLOCK_BYTES];
    size_t bytes; /* 0: none yet */
    unsigned n;
    int *option;
    void **value;
} links[MAX_LINKS];
static const char translated[] = "made up machine code of: ";
/* One is a graph as captured, the other as it is run: a copy. */
typedef struct kiln_cu_graph_s {
    int is_open, n;
    operation told[MAX_OPERATIONS];
} graph;
static graph graphs[MAX_GRAPHS];
static const char *const kernels[] = {"times5", "plus3", "mixed", "fault", "add16"};
static const int n_parameters[] = {3, 2, 3, 0, 3};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static stream streams[MAX_STREAMS];
static event events[MAX_EVENTS];
static _Alignas(256) char memory[MAX_BLOCKS][BLOCK_BYTES];
static int is_taken[MAX_BLOCKS];
static struct kiln_cu_function_s { int which; } functions[N_KERNELS];
static long n_calls, fail_at = -1, n_live, n_contexts, n_graphs;
static int sticky;
static _Thread_local int depth; /* of contexts that are current here */

/* ---- for tests -------------------------------------------------------------------- */

void fake_cuda_fail_at(long call);
long fake_cuda_live(void);
long fake_cuda_graphs(void);
int fake_cuda_depth(void);

/* The call of that number from now on fails; -1: none does. */
void fake_cuda_fail_at(long call) {
    pthread_mutex_lock(&lock);
    n_calls = 0;
    fail_at = call;
    pthread_mutex_unlock(&lock);
}

/* Of contexts, memory, modules, streams and events. */
long fake_cuda_live(void) { return n_live; }
/* That were made ready to run, so far. */
long fake_cuda_graphs(void) { return n_graphs; }
int fake_cuda_depth(void) { return depth; }

/* ---- what streams do -------------------------------------------------------------- */

/* As long as events say, where a test asks for it: else nobody waits. */
static void take_time(void) {
    const struct timespec t = {.tv_nsec = 2100000};
    if (getenv("FAKE_CUDA_TAKES_TIME") != NULL)
        (void)nanosleep(&t, NULL);
}

/* z = x + y, of 16 floats. */
static void add16(const unsigned long long *value) {
    const float *x = (const float *)(uintptr_t)value[0],
                *y = (const float *)(uintptr_t)value[1];
    float *z = (float *)(uintptr_t)value[2];
    for (int i = 0; i < 16; i++)
        z[i] = x[i] + y[i];
}

static void run_kernel(int which, const unsigned long long *value) {
    const unsigned *x = (const unsigned *)(uintptr_t)value[0];
    const unsigned *y = (const unsigned *)(uintptr_t)value[1];
    unsigned *out = (unsigned *)(uintptr_t)value[which == 2 ? 2 : 1];
    for (int i = 0; i < 192 && which < 3; i++)
        out[i] = which == 0 ? 5 * x[i] : which == 1 ? x[i] + 3 : x[i] + 7 * y[191 - i];
    if (which == 3)
        sticky = FAULT;
    if (which == 4)
        add16(value);
    take_time();
}

static void run_graph(const graph *g) {
    for (int i = 0; i < g->n && sticky == 0; i++)
        run_kernel(g->told[i].which, g->told[i].value);
}

/* Waits are for what was told before: they make no ring. */
static void run_until(stream *s, unsigned long long n) { /* NOLINT(misc-no-recursion) */
    while (s->n_done < n && sticky == 0) {
        const operation o = s->told[s->n_done % MAX_OPERATIONS];
        if (o.kind == WAIT)
            run_until(&streams[o.which], o.until);
        else if (o.kind == KERNEL)
            run_kernel(o.which, o.value);
        else if (o.kind == HOST)
            o.fn((void *)(uintptr_t)o.value[0]);
        else if (o.kind == GRAPH)
            run_graph(&graphs[o.which]);
        else
            memmove((void *)(uintptr_t)o.value[0], (const void *)(uintptr_t)o.value[1],
                    (size_t)o.value[2]);
        s->n_done++;
    }
}

/* Of a graph only kernels may be part. */
static int tell(stream *s, const operation *o) {
    if (s->capture != NULL) {
        if (o->kind != KERNEL || s->capture->n == MAX_OPERATIONS)
            return NOT_IN_A_CAPTURE;
        s->capture->told[s->capture->n++] = *o;
        return sticky;
    }
    if (s->n_told - s->n_done == MAX_OPERATIONS)
        run_until(s, s->n_done + 1);
    s->told[s->n_told++ % MAX_OPERATIONS] = *o;
    s->n_counted += o->kind == GRAPH ? (unsigned long long)graphs[o->which].n : 1;
    return sticky;
}

/* ---- calls ------------------------------------------------------------------------ */

/* Takes the lock; the code that the call is to fail with. */
static int begin(int wants_context) {
    pthread_mutex_lock(&lock);
    if (n_calls++ == fail_at)
        return MADE_UP;
    return wants_context && depth == 0 ? NO_CONTEXT : 0;
}

static int end(int code) {
    pthread_mutex_unlock(&lock);
    return code;
}

/* Every function is declared where its pointer is: here their names. */
#define KILN_CU(name, parameters) int name parameters;
#include "runtime/device/cuda_api.def"
#undef KILN_CU

int cuInit(unsigned flags) {
    (void)flags;
    return end(begin(0));
}

int cuGetErrorString(int code, const char **text) {
    *text = code == FAULT     ? "an illegal memory access was encountered"
            : code == MADE_UP ? "made up"
                              : NULL;
    return *text != NULL ? 0 : INVALID_VALUE;
}

int cuDeviceGetCount(int *n) {
    *n = getenv("FAKE_CUDA_NONE") == NULL;
    return end(begin(0));
}

int cuDeviceGet(int *device, int i) {
    *device = i + 40;
    return end(begin(0));
}

int cuDeviceGetName(char *name, int n, int device) {
    const int code = begin(0);
    snprintf(name, (size_t)n, "made up %d", device);
    return end(code);
}

int cuDeviceGetAttribute(int *value, int what, int device) {
    *value = what == KILN_CU_DEVICE_COMPUTE_CAPABILITY_MAJOR   ? 8
             : what == KILN_CU_DEVICE_COMPUTE_CAPABILITY_MINOR ? 6
                                                               : 1;
    const int code = begin(0);
    return end(code != 0 ? code : device == 40 ? 0 : INVALID_VALUE);
}

int cuDevicePrimaryCtxRetain(kiln_cu_context *c, int device) {
    static int context;
    const int code = begin(0);
    if (code == 0) {
        n_contexts++;
        n_live++;
        *c = (kiln_cu_context)(void *)&context;
    }
    return end(code != 0 ? code : device == 40 ? 0 : INVALID_VALUE);
}

/* What is released is gone, whatever is answered. */
int cuDevicePrimaryCtxRelease(int device) {
    const int code = begin(0);
    n_live--;
    if (--n_contexts == 0)
        sticky = 0;
    return end(code != 0 ? code : device == 40 ? 0 : INVALID_VALUE);
}

int cuCtxPushCurrent_v2(kiln_cu_context c) {
    const int code = c != NULL ? begin(0) : begin(0) | INVALID_VALUE;
    depth += code == 0;
    return end(code);
}

int cuCtxPopCurrent_v2(kiln_cu_context *c) {
    *c = NULL;
    depth--;
    return 0;
}

int cuMemAlloc_v2(kiln_cu_address *p, size_t bytes) {
    int code = begin(1), i = 0;
    while (i < MAX_BLOCKS && is_taken[i])
        i++;
    if (code == 0 && (i == MAX_BLOCKS || bytes > BLOCK_BYTES))
        code = NO_MEMORY;
    if (code == 0) {
        is_taken[i] = 1;
        n_live++;
        *p = (kiln_cu_address)(uintptr_t)memory[i];
    }
    return end(code);
}

int cuMemFree_v2(kiln_cu_address p) {
    const int code = begin(1);
    is_taken[((uintptr_t)p - (uintptr_t)memory) / BLOCK_BYTES] = 0;
    n_live--;
    return end(code);
}

int cuMemcpyAsync(kiln_cu_address to, kiln_cu_address from, size_t bytes,
                  kiln_cu_stream s) {
    const operation o = {COPY, 0, 0, {to, from, bytes}, NULL};
    const int code = begin(1);
    return end(code != 0 ? code : tell(s, &o));
}

/* What is wrong with the code, told as the driver does. */
static int look_at(const char *code, unsigned n, const int *option, void **value) {
    const char *wrong = strstr(code, "nonesuch");
    for (unsigned i = 0; i < n && wrong != NULL; i++)
        if (option[i] == KILN_CU_JIT_ERROR_LOG_BUFFER)
            (void)snprintf(value[i], (size_t)(uintptr_t)value[i + 1],
                           "ptxas application ptx input, line 1; error: %.20s\n",
                           wrong);
    return wrong != NULL ? INVALID_PTX : 0;
}

int cuModuleLoadDataEx(kiln_cu_module *m, const void *image, unsigned n, int *option,
                       void **value) {
    int code = begin(1);
    if (code == 0)
        code = look_at(image, n, option, value);
    if (code == 0)
        n_live++;
    *m = (kiln_cu_module)(uintptr_t)image;
    return end(code);
}

/* A linker keeps its options: the log is theirs. */
int cuLinkCreate_v2(unsigned n, int *option, void **value, kiln_cu_link *l) {
    int code = begin(1), i = 0;
    while (i < MAX_LINKS && links[i].is_open)
        i++;
    if (code == 0 && i == MAX_LINKS)
        code = NO_MEMORY;
    if (code == 0) {
        *l = &links[i];
        (*l)->is_open = 1;
        (*l)->bytes = 0;
        (*l)->n = n;
        (*l)->option = option;
        (*l)->value = value;
        n_live++;
    }
    return end(code);
}

int cuLinkAddData_v2(kiln_cu_link l, int type, void *data, size_t bytes,
                     const char *name, unsigned n, int *option, void **value) {
    const size_t ahead = sizeof translated - 1;
    int code = begin(1);
    if (code == 0 &&
        (type != KILN_CU_JIT_INPUT_PTX || name == NULL || n != 0 || option != NULL ||
         value != NULL || l->bytes > 0 || bytes > sizeof l->text - ahead))
        code = INVALID_VALUE;
    if (code == 0)
        code = look_at(data, l->n, l->option, l->value);
    if (code == 0) {
        memcpy(l->text, translated, ahead);
        memcpy(l->text + ahead, data, bytes);
        l->bytes = bytes + ahead;
    }
    return end(code);
}

int cuLinkComplete(kiln_cu_link l, void **cubin, size_t *bytes) {
    const int code = begin(1);
    *cubin = l->text;
    *bytes = l->bytes;
    return end(code != 0 ? code : l->bytes > 0 ? 0 : INVALID_VALUE);
}

int cuLinkDestroy(kiln_cu_link l) {
    const int code = begin(1);
    n_live--;
    l->is_open = 0;
    return end(code);
}

int cuModuleUnload(kiln_cu_module m) {
    const int code = begin(1);
    n_live--;
    return end(code != 0 ? code : m != NULL ? 0 : INVALID_VALUE);
}

int cuModuleGetFunction(kiln_cu_function *f, kiln_cu_module m, const char *name) {
    int code = begin(1);
    if (code == 0 && strstr((const char *)m, name) == NULL)
        code = NOT_FOUND;
    for (int i = 0; i < N_KERNELS && code == 0; i++)
        if (strcmp(name, kernels[i]) == 0) {
            functions[i].which = i;
            *f = &functions[i];
        }
    return end(code);
}

int cuFuncGetAttribute(int *value, int what, kiln_cu_function f) {
    const int code = begin(1);
    *value = 1024;
    return end(code != 0 ? code
               : what == KILN_CU_FUNCTION_MAX_THREADS_PER_BLOCK && f != NULL
                   ? 0
                   : INVALID_VALUE);
}

int cuFuncSetAttribute(kiln_cu_function f, int what, int value) {
    const int code = begin(1);
    return end(code != 0 ? code
               : what == KILN_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES && f != NULL &&
                       value <= 96 << 10
                   ? 0
                   : INVALID_VALUE);
}

int cuLaunchKernel(kiln_cu_function f, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, kiln_cu_stream s,
                   void **parameter, void **extra) {
    operation o = {KERNEL, f->which, 0, {0}, NULL};
    const unsigned all = grid_x * grid_y * grid_z * block_x * block_y * block_z;
    const int code = begin(1);
    (void)shared;
    for (int i = 0; i < n_parameters[f->which]; i++)
        memcpy(&o.value[i], parameter[i], sizeof o.value[i]);
    return end(code != 0                                        ? code
               : extra == NULL && (all == 192 || f->which >= 3) ? tell(s, &o)
                                                                : INVALID_VALUE);
}

int cuLaunchHostFunc(kiln_cu_stream s, void (*fn)(void *user), void *user) {
    const operation o = {HOST, 0, 0, {(unsigned long long)(uintptr_t)user}, fn};
    const int code = begin(1);
    return end(code != 0 ? code : tell(s, &o));
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags) {
    int code = begin(1);
    if (code == 0 && (bytes == 0 || flags != 0 || (uintptr_t)p % PAGE != 0))
        code = INVALID_VALUE;
    n_live += code == 0;
    return end(code);
}

int cuMemHostUnregister(void *p) {
    const int code = begin(1);
    n_live--;
    return end(code != 0 ? code : p != NULL ? 0 : INVALID_VALUE);
}

int cuStreamCreate(kiln_cu_stream *s, unsigned flags) {
    int code = begin(1), i = 0;
    while (i < MAX_STREAMS && streams[i].is_open)
        i++;
    if (code == 0 && (i == MAX_STREAMS || flags != KILN_CU_STREAM_NON_BLOCKING))
        code = INVALID_VALUE;
    if (code == 0) {
        streams[i].is_open = 1;
        streams[i].capture = NULL;
        streams[i].n_told = streams[i].n_done = 0;
        *s = &streams[i];
        n_live++;
    }
    return end(code);
}

int cuStreamDestroy_v2(kiln_cu_stream s) {
    const int code = begin(1);
    s->is_open = 0;
    n_live--;
    return end(code);
}

static int take_graph(graph **out) {
    for (int i = 0; i < MAX_GRAPHS; i++)
        if (!graphs[i].is_open) {
            *out = &graphs[i];
            (*out)->is_open = 1;
            (*out)->n = 0;
            n_live++;
            return 0;
        }
    return NO_MEMORY;
}

int cuStreamBeginCapture_v2(kiln_cu_stream s, int mode) {
    int code = begin(1);
    if (code == 0 && (mode != KILN_CU_CAPTURE_RELAXED || s->capture != NULL))
        code = INVALID_VALUE;
    if (code == 0)
        code = take_graph(&s->capture);
    return end(code);
}

/* One that fails ends the capture as well. */
int cuStreamEndCapture(kiln_cu_stream s, kiln_cu_graph *g) {
    const int code = begin(1);
    graph *made = s->capture;
    s->capture = NULL;
    if (code != 0 && made != NULL) {
        made->is_open = 0;
        n_live--;
    }
    *g = code == 0 ? made : NULL;
    return end(code != 0 ? code : made != NULL ? 0 : INVALID_VALUE);
}

int cuGraphInstantiateWithFlags(kiln_cu_graph_run *r, kiln_cu_graph g,
                                unsigned long long flags) {
    graph *made = NULL;
    int code = begin(1);
    if (code == 0)
        code = flags == 0 && g != NULL ? take_graph(&made) : INVALID_VALUE;
    if (code == 0) {
        *made = *g;
        *r = (kiln_cu_graph_run)(void *)made;
        n_graphs++;
    }
    return end(code);
}

int cuGraphLaunch(kiln_cu_graph_run r, kiln_cu_stream s) {
    const graph *g = (const graph *)(const void *)r;
    const operation o = {GRAPH, (int)(g - graphs), 0, {0}, NULL};
    const int code = begin(1);
    return end(code != 0 ? code : g->is_open ? tell(s, &o) : INVALID_VALUE);
}

static int destroy(graph *g) {
    const int code = begin(1);
    g->is_open = 0;
    n_live--;
    return end(code);
}

int cuGraphDestroy(kiln_cu_graph g) { return destroy(g); }

int cuGraphExecDestroy(kiln_cu_graph_run r) { return destroy((graph *)(void *)r); }

int cuStreamSynchronize(kiln_cu_stream s) {
    int code = s->capture != NULL ? begin(1) | NOT_IN_A_CAPTURE : begin(1);
    if (code == 0)
        run_until(s, s->n_told);
    return end(code != 0 ? code : sticky);
}

int cuStreamWaitEvent(kiln_cu_stream s, kiln_cu_event e, unsigned flags) {
    const int code = begin(1);
    operation o = {WAIT, 0, e->at, {0}, NULL};
    if (code == 0 && flags == 0 && e->stream != NULL) {
        o.which = (int)(e->stream - streams);
        tell(s, &o);
    }
    return end(code != 0 ? code : sticky);
}

int cuEventCreate(kiln_cu_event *e, unsigned flags) {
    int code = begin(1), i = 0;
    while (i < MAX_EVENTS && events[i].is_open)
        i++;
    if (code == 0 &&
        (i == MAX_EVENTS || (flags != 0 && flags != KILN_CU_EVENT_DISABLE_TIMING)))
        code = INVALID_VALUE;
    if (code == 0) {
        events[i] = (event){.is_open = 1, .is_timed = flags == 0};
        *e = &events[i];
        n_live++;
    }
    return end(code);
}

int cuEventDestroy_v2(kiln_cu_event e) {
    const int code = begin(1);
    e->is_open = 0;
    n_live--;
    return end(code);
}

/* A millisecond for everything that was told in between, each launch of a graph. */
int cuEventElapsedTime(float *milliseconds, kiln_cu_event from, kiln_cu_event to) {
    const int code = begin(1);
    const int is_good = from->is_timed && to->is_timed && from->stream != NULL &&
                        from->stream == to->stream && to->stream->n_done >= to->at;
    *milliseconds = is_good ? (float)(to->counted - from->counted) : 0;
    return end(code != 0 ? code : is_good ? 0 : INVALID_VALUE);
}

int cuEventRecord(kiln_cu_event e, kiln_cu_stream s) {
    const int code = begin(1);
    if (code == 0) {
        e->stream = s;
        e->at = s->n_told;
        e->counted = s->n_counted;
    }
    return end(code != 0 ? code : sticky);
}

int cuEventSynchronize(kiln_cu_event e) {
    const int code = begin(1);
    if (code == 0 && e->stream != NULL)
        run_until(e->stream, e->at);
    return end(code != 0 ? code : sticky);
}
