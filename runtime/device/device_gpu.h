/* What GPUs have in common: kernels by runtime/gpu_module.h, and queues that a driver's
 * streams do while the host goes on. A kind says how its driver does so
 * (kiln_gpu_driver); tickets, failures and modules are here.
 *
 * A queue keeps the last KILN_GPU_SLOTS operations' events and tags: telling it more
 * waits for the oldest. A failure that the driver tells at once makes the queue skip what
 * follows, without telling the driver; one that comes later is found where somebody
 * waits, and what was told in between has run on what there was. */
#ifndef KILN_RUNTIME_DEVICE_DEVICE_GPU_H
#define KILN_RUNTIME_DEVICE_DEVICE_GPU_H

#include "runtime/device.h"
#include "runtime/gpu_module.h"

enum { KILN_GPU_SLOTS = 64 };

typedef struct kiln_gpu_driver kiln_gpu_driver;
typedef struct kiln_gpu_graphs kiln_gpu_graphs; /* gpu_graph.h */

/* Begins what a kind's `open` makes. */
typedef struct kiln_gpu_device {
    kiln_device base;
    const kiln_gpu_driver *driver;
} kiln_gpu_device;

typedef struct kiln_gpu_queue {
    kiln_device_queue base;
    kiln_gpu_device *device;
    void *stream;                /* the driver's */
    void *event[KILN_GPU_SLOTS]; /* the driver's, by slot; whose meaning is its own */
    void *last;                  /* for the driver: of what was told last */
    void *timed[2]; /* for the driver: where the last launch began, ended */
    char is_timed;
    char in_span; /* launches are timed together; is_held: none has begun */
    char is_held;
    char is_noted;           /* the span's launches become a graph, run at its end */
    void *row;               /* that graph; NULL: none */
    void *gate;              /* for the driver: what holds the stream */
    kiln_gpu_graphs *graphs; /* NULL: none */
    char *workspace;         /* NULL: none */
    size_t workspace_bytes;
    uint64_t n_told, n_done; /* tickets given, and those known to be done */
    uint32_t tag[KILN_GPU_SLOTS];
    char is_marked[KILN_GPU_SLOTS]; /* there is an event to wait for */
    char has_failed;
    uint64_t failed_at; /* ticket */
    kiln_device_failure failure;
} kiln_gpu_queue;

/* Functions that return int return 0, or the driver's code, which `why` explains, or -1
 * with a reason where they take one. Those of a device may be called by several threads
 * at once. */
struct kiln_gpu_driver {
    kiln_gpu_language language;
    uint32_t machine_language; /* kiln_gpu_language that it takes too; 0: none */
    /* Around everything below, by the thread that calls it. NULL: nothing is to be done.
     */
    void (*enter)(kiln_gpu_device *d);
    void (*leave)(kiln_gpu_device *d);
    const char *(*why)(int code); /* lives as long as the program; NULL: unknown */

    /* The code made ready, and what a launch is told by. */
    int (*build)(kiln_gpu_device *d, const kiln_gpu_module *m, void **program,
                 char error[KILN_ERROR_TEXT]);
    void (*unbuild)(kiln_gpu_device *d, void *program);
    /* Its machine code, behind `room` bytes of the device's allocator that are the
     * caller's, and with a zero byte behind it. NULL: it gives none. */
    int (*translate)(kiln_gpu_device *d, const kiln_gpu_module *m, size_t room,
                     void **out, size_t *n, char error[KILN_ERROR_TEXT]);
    int (*entry)(kiln_gpu_device *d, void *program, const kiln_gpu_module *m,
                 const kiln_gpu_launch *l, void **entry, char error[KILN_ERROR_TEXT]);
    void (*release_entry)(kiln_gpu_device *d, void *entry);

    int (*stream)(kiln_gpu_queue *q); /* makes q->stream and what events need */
    void (*unstream)(kiln_gpu_queue *q);
    /* value[i]: the address of an operand or in the workspace, or the number. */
    int (*launch)(kiln_gpu_queue *q, void *entry, const kiln_gpu_launch *l,
                  const kiln_gpu_arg *arg, const uint64_t *value);
    int (*copy)(kiln_gpu_queue *q, void *to, const void *from, size_t bytes);
    int (*mark)(kiln_gpu_queue *q, uint32_t slot); /* the event: all told so far */
    int (*await)(kiln_gpu_queue *q, uint32_t slot);
    /* q waits for other's event; a failure there is one here, if the driver says so. */
    int (*follow)(kiln_gpu_queue *q, kiln_gpu_queue *other, uint32_t slot);
    int (*drain)(kiln_gpu_queue *q); /* until all is done */

    /* Of timed queues: around the launches of a kernel, and how long they took. */
    int (*begin_timing)(kiln_gpu_queue *q);
    int (*end_timing)(kiln_gpu_queue *q);
    uint64_t (*elapsed_ns)(kiln_gpu_queue *q); /* 0: unknown */
    /* What is told behind `hold` does not begin before `let_go`. NULL: no spans. */
    int (*hold)(kiln_gpu_queue *q);
    void (*let_go)(kiln_gpu_queue *q);
    /* Launches told in between are not done, but made a graph, which does all of them
     * when it is run. end_graph: out NULL: they are forgotten. NULL: no graphs. */
    int (*has_graphs)(const kiln_gpu_device *d); /* NULL: it does */
    int (*begin_graph)(kiln_gpu_queue *q);
    int (*end_graph)(kiln_gpu_queue *q, void **out);
    int (*run_graph)(kiln_gpu_queue *q, void *graph);
    void (*release_graph)(kiln_gpu_queue *q, void *graph);
};

/* Members of the row of a kind that is one. */
#define KILN_GPU_CODE_AND_QUEUES                                                       \
    .has_driver = 1, .module_open = kiln_gpu_module_open,                              \
    .module_kernel = kiln_gpu_module_kernel, .module_close = kiln_gpu_module_close,    \
    .queue_open = kiln_gpu_queue_open, .queue_close = kiln_gpu_queue_close,            \
    .launch = kiln_gpu_queue_launch, .copy = kiln_gpu_queue_copy,                      \
    .order = kiln_gpu_queue_order, .finish = kiln_gpu_queue_finish,                    \
    .last_ns = kiln_gpu_queue_last_ns, .workspace = kiln_gpu_queue_workspace,          \
    .begin = kiln_gpu_queue_begin_run, .end = kiln_gpu_queue_end_run,                  \
    .n_replayed = kiln_gpu_queue_n_replayed

int kiln_gpu_module_open(kiln_device *base, const kiln_device_image *image,
                         kiln_device_module **out, char error[KILN_ERROR_TEXT]);
int kiln_gpu_module_kernel(kiln_device_module *base, const char *symbol,
                           kiln_device_kernel *out);
void kiln_gpu_module_close(kiln_device_module *base);
/* Of kinds whose driver translates. */
int kiln_gpu_module_translate(kiln_device *base, const kiln_device_image *image,
                              void **bytes, size_t *n, char error[KILN_ERROR_TEXT]);
int kiln_gpu_queue_open(kiln_device *d, const kiln_device_queue_options *o,
                        kiln_device_queue **out, char error[KILN_ERROR_TEXT]);
void kiln_gpu_queue_close(kiln_device_queue *base);
uint64_t kiln_gpu_queue_launch(kiln_device_queue *base, const kiln_device_launch *l);
uint64_t kiln_gpu_queue_copy(kiln_device_queue *base, const kiln_device_copy *c);
void kiln_gpu_queue_order(kiln_device_queue *base, kiln_device_queue *base_of_other,
                          uint64_t ticket);
int kiln_gpu_queue_finish(kiln_device_queue *base, uint64_t ticket,
                          kiln_device_failure *out);
uint64_t kiln_gpu_queue_last_ns(kiln_device_queue *base);
void kiln_gpu_queue_begin_run(kiln_device_queue *base);
void kiln_gpu_queue_end_run(kiln_device_queue *base);
uint64_t kiln_gpu_queue_n_replayed(kiln_device_queue *base, const char **why);
void *kiln_gpu_queue_workspace(kiln_device_queue *base);
/* Of kinds whose driver can hold a stream. */
void kiln_gpu_queue_span(kiln_device_queue *base, int begins);

/* A kernel's handle: which one it is, and what its launches are told by. */
typedef struct kiln_gpu_handle {
    const kiln_gpu_module *module;
    const kiln_gpu_kernel *kernel;
    void *const *entry; /* by launch of the kernel */
} kiln_gpu_handle;

#endif
